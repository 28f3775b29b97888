"""The shortest match that goes wrong in the same way: other matches that are shorter from the start, then the same one
with choices left out.  Nothing here looks at a clock, so that the same match is found again."""

from attrs import define, evolve

from rulelang.errors import RuleError
from rulelang.playouts import Mishap, Pick, Watched, at_random, watched

AGAIN = 20_000  # choices spent on other matches
CUT = 20_000  # choices spent on leaving some out


@define(eq=False)
class _Search:
    table: Watched
    best: Mishap
    spent: int = 0

    def attempt(self, seed: str, pick: Pick) -> bool:
        """A match that may not be as long as the best so far: does it go wrong in the same way?"""
        outcome = self.table.play(seed, pick, len(self.best.choices) - 1)
        self.spent += len(outcome.choices) + 1
        found = outcome.found.get(self.best.item)
        if found is None:
            return False
        message, heading, after = found
        self.best = evolve(self.best, message=message, heading=heading, seed=seed, choices=tuple(outcome.choices[:after]))
        return True


def shrink(mishap: Mishap) -> Mishap:
    """The same mishap after as few choices as can be found."""
    try:
        search = _Search(watched(mishap.way, False), mishap)
    except RuleError:
        return mishap  # these rules cannot even begin
    n = 0
    while search.best.choices and search.spent < AGAIN:
        seed = f"{mishap.seed}.{n}"
        search.attempt(seed, at_random(seed))
        n += 1
    search.spent = 0
    _leave_out(search)
    return search.best


def _leave_out(search: _Search) -> None:
    """First half of the choices at once, at last single ones; those that follow are made as far as they are offered."""
    size = max(1, len(search.best.choices) // 2)
    while search.best.choices and search.spent < CUT:
        at, shorter = 0, False
        while at < len(search.best.choices) and search.spent < CUT:
            kept = [k for _, k in (*search.best.choices[:at], *search.best.choices[at + size :])]
            if search.attempt(search.best.seed, _tape(kept)):
                shorter = True
            else:
                at += size
        if size == 1 and not shorter:
            return
        size = max(1, size // 2)


def _tape(choices: list[int]) -> Pick:
    left = iter(choices)

    def pick(count: int) -> int | None:
        k = next(left, None)
        return None if k is None else k % count

    return pick
