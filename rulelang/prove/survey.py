"""Every claim for every player count and every combination of options; where the answer is the same, it is given once."""

from attrs import frozen

from rulelang.core import nodes as core
from rulelang.prove.facts import Atoms
from rulelang.prove.verdict import Claim, Verdict
from rulelang.prove.walk import claims
from rulelang.runtime.settings import combinations

Settings = tuple[tuple[str, int], ...]


@frozen
class Tables:
    """So many players, with these options; no options: with all that are allowed"""

    players: int
    settings: tuple[Settings, ...] = ()


@frozen
class Answer:
    """One claim, and the tables for which the verdict is this"""

    claim: Claim
    verdict: Verdict
    tables: tuple[Tables, ...]


def survey(game: core.Game) -> list[Answer]:
    first: dict[tuple[str, str, str], Claim] = {}
    where: dict[tuple[tuple[str, str, str], str], list[tuple[int, Settings]]] = {}
    verdicts: dict[tuple[tuple[str, str, str], str], Verdict] = {}
    every: dict[int, list[Settings]] = {}
    for players in game.players:
        allowed = combinations(game, players)
        every[players] = [tuple(s.items()) for s in allowed]
        for settings, found in _each(game, players, allowed):
            for c in found:
                first.setdefault(c.key, c)
                at = (c.key, c.verdict.status)
                verdicts[at] = verdicts[at].and_(c.verdict) if at in verdicts else c.verdict
                where.setdefault(at, []).append((players, tuple(settings.items())))
    order = {key: n for n, key in enumerate(first)}
    answers = [Answer(first[at[0]], verdicts[at], _grouped(where[at], every)) for at in verdicts]
    return sorted(answers, key=lambda a: (order[a.claim.key], a.verdict.status))


def _each(game: core.Game, players: int, allowed: list[dict[str, int]]) -> list[tuple[dict[str, int], list[Claim]]]:
    """An option that no proof asks for changes no proof."""
    read: list[tuple[dict[str, int], list[Claim]]] = []
    found = []
    atoms = Atoms()
    for settings in allowed:
        known = next((cs for asked, cs in read if all(settings[n] == v for n, v in asked.items())), None)
        if known is None:
            asked: set[str] = set()
            known = claims(game, players, settings, atoms, asked)
            read.append(({n: settings[n] for n in asked}, known))
        found.append((settings, known))
    return found


def _grouped(found: list[tuple[int, Settings]], every: dict[int, list[Settings]]) -> tuple[Tables, ...]:
    made = []
    for players in sorted({n for n, _ in found}):
        here = [s for n, s in found if n == players]
        made.append(Tables(players, () if len(here) == len(every[players]) else tuple(here)))
    return tuple(made)
