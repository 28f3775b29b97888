"""Why it is all the same who of several comes first: every `together` and `secretly` of a game with what its threads
change, as lines of `check --proofs`.  What cannot be shown to be all the same is refused (R330); `permute.py` shows on a
match how the order would matter."""

from collections.abc import Iterator

from rulelang.core import nodes as core
from rulelang.core.threads import merged, walk

WHY = {
    "own": "each changes only their own {}",
    "added": "{} is only raised and lowered, and the differences are added up",
    "laid": "into {} pieces are only laid",
    "passed": "from {} each takes only what was their own at the entry",
    "local": "each has a {} of their own",
}


def togethers(game: core.Game) -> dict[str, list[core.Together]]:
    """By the line that says it: a verb may be used at several places."""
    found: dict[str, list[core.Together]] = {}
    for s in walk(game.flow):
        if isinstance(s, core.Together):
            found.setdefault(str(s.origin.span), []).append(s)
    return found


def reasons(t: core.Together) -> str:
    """each changes only their own `points`; into `box` pieces are only laid"""
    by: dict[str, list[str]] = {}
    for m in merged(t):
        by.setdefault(m.why, []).append(f"`{m.place.name}`")
    said = [WHY[why].format(" and ".join(dict.fromkeys(names))) for why, names in by.items()]
    if t.isolate:
        said.append("what others change is seen as it was at the entry")
    return "; ".join(said) or "nothing is changed"


def lines(game: core.Game) -> Iterator[tuple[int, str]]:
    found = togethers(game)
    if found:
        yield 1, f"an order among those who act at once: {len(found)} of {len(found)} proved that it does not matter"
    for place, all_ in found.items():
        for said in dict.fromkeys(reasons(t) for t in all_):
            yield 2, f"proved: {place}: {said}"
