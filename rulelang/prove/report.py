"""What is proved and what is not, as lines for the reader of `check --proofs`."""

from collections.abc import Iterator

from rulelang.core import nodes as core
from rulelang.prove.told import secrets_kept
from rulelang.prove.walk import Claim, claims
from rulelang.runtime.settings import combinations

ABOUT = {
    "options": "a decision without an option",
    "end": "a loop without an end",
    "range": "a number out of its range",
    "move": "more moved than there is",
    "slot": "a second piece in a slot",
    "lies": "a piece that lies somewhere else",
    "none": "none where something must be",
    "empty": "the best of nothing",
    "key": "a key that is not there",
    "division": "a division by 0",
    "needs": "a need that is not met",
}


def open_claims(game: core.Game) -> tuple[list[Claim], dict[str, list[int]]]:
    """Every place where a match could stop; and for those that are not proved, with how many players."""
    found: dict[str, Claim] = {}
    unproved: dict[str, list[int]] = {}
    for players in game.players:
        for settings in combinations(game, players):
            for claim in claims(game, players, settings):
                key = f"{claim.span}: {claim.what}"
                found.setdefault(key, claim)
                if not claim.proved and players not in unproved.setdefault(key, []):
                    unproved[key].append(players)
    return list(found.values()), {key: counts for key, counts in unproved.items() if counts}


def lines(game: core.Game, played: bool = False) -> Iterator[tuple[int, str]]:
    """The report, as (level, text); `played`: random matches were, and none of them stopped."""
    found, unproved = open_claims(game)
    counts = f"{game.players[0]} to {game.players[-1]}"
    yield (
        0,
        f"{game.title}: a match could stop in {len(found)} places; for {len(found) - len(unproved)} of them it is proved that it does not",
    )
    for sort, about in ABOUT.items():
        here = [c for c in found if c.sort == sort]
        left = [c for c in here if f"{c.span}: {c.what}" in unproved]
        if here:
            yield 1, f"{about}: {len(here) - len(left)} of {len(here)} proved"
        for c in left:
            players = unproved[f"{c.span}: {c.what}"]
            shown = counts if players == list(game.players) else ", ".join(map(str, players))
            status = "not proved, and no random match stopped there" if played else "not proved"
            yield 2, f"{status}: {c.span}: {c.what} ({shown} players)"
    yield from secrets_kept(game)
