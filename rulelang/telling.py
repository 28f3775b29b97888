"""A match as text: its story with the headings of the rulebook, and its result with how each score came about."""

from collections.abc import Iterator
from contextlib import suppress

from rulelang.api import Match
from rulelang.runtime.words import readable

OPTIONS = 12  # of a decision that are listed


def story(match: Match) -> Iterator[tuple[int, str]]:
    """What happened, as (level, text): passes of loops, below them headings, below those what the rules did."""
    for line in match.story:
        if line.startswith("== "):
            yield 0, line[3:]
        elif line.startswith("-- "):
            yield 1, line[3:]
        else:
            yield 2, line


def result(match: Match) -> Iterator[tuple[int, str]]:
    """The ranking, and how each score came about, as (level, text)."""
    ranking = match.game.core.ranking
    measure = readable(ranking.items[0][2]) if ranking is not None else "points"
    scores = match.scores
    yield 0, "Result" if match.is_over else "So far"
    for rank, seats in enumerate(match.ranking):
        place = 1 + sum(len(r) for r in match.ranking[:rank])
        for seat in seats:
            yield 1, f"{place}. {match.names[seat]}: {scores[seat]} {measure}{_tie_break(match, seat)}"
            parts = match.account(seat)
            width = max((len(why) for why, _ in parts), default=0)
            for why, n in parts:
                yield 2, f"{why:<{width}}  {n:>4}"


def asked(match: Match) -> Iterator[tuple[int, str]]:
    """Who chooses next in a match that is not over, and among what, as (level, text)."""
    for n, decision in enumerate(match.decisions):
        if n == 0:
            yield 0, "Next"
        labels = [o.label for o in decision.options[:OPTIONS]]
        more = f", ... ({len(decision.options)} in all)" if len(decision.options) > OPTIONS else ""
        yield 1, f"{match.names[decision.player]} chooses {readable(decision.name)}: {', '.join(labels)}{more}"


def _tie_break(match: Match, seat: int) -> str:
    """What decided among seats with the same score, where it has a name."""
    ranking = match.game.core.ranking
    if ranking is None or match.scores.count(match.scores[seat]) < 2:
        return ""
    shown = []
    for _, _, name in ranking.items[1:]:
        with suppress(KeyError):
            shown.append(f"{match.get(name, player=seat)} {readable(name)}")
    return f" ({', '.join(shown)})" if shown else ""
