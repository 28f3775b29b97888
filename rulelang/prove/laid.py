"""What is laid into a place once and never comes back: no more can lie there than was laid.

A line that no loop repeats is come to once; a loop over players or members comes once to the slots of each of them."""

from collections.abc import Iterator

from attrs import frozen

from rulelang.core import nodes as core
from rulelang.core.types import NumberT
from rulelang.prove.facts import substituted

DISTINCT = (core.Players, core.Const, core.Others)


@frozen(eq=False)
class Laid:
    """A `move` that every slot of its goal sees once at most: the slot that it means, and how many pieces it takes"""

    goal: core.PlaceRef
    count: core.Expr

    def at(self, ref: core.PlaceRef) -> core.Expr:
        """How many it lays into that slot."""
        pairs = zip((self.goal.owner, *self.goal.keys), (ref.owner, *ref.keys), strict=True)
        return substituted(self.count, {mine.var: e for mine, e in pairs if isinstance(mine, core.Var) and e is not None})


def laid_once(game: core.Game) -> dict[core.Place, tuple[Laid, ...]]:
    """The places into which pieces come by such lines only, with all of those lines."""
    found: dict[core.Place, list[Laid] | None] = {
        p: [] for p in game.places.values() if p.holds_pieces and p.starts_with is None and p.word != "slot"
    }
    for s, loops in _moves(game.flow, ()):
        place = s.goal.place
        lines = found.get(place)
        if lines is not None:
            once = all(v is not None and _names(s.goal, v) for v in loops)
            count = s.count if isinstance(s, core.MoveCount) else core.Count(s.what, type=NumberT(0, None))
            found[place] = [*lines, Laid(s.goal, count)] if once else None
    return {p: tuple(lines) for p, lines in found.items() if lines is not None}


def _names(goal: core.PlaceRef, var: core.Variable) -> bool:
    return any(isinstance(k, core.Var) and k.var is var for k in (goal.owner, *goal.keys))


def _moves(
    body: tuple[core.Statement, ...], loops: tuple[core.Variable | None, ...]
) -> Iterator[tuple[core.MovePieces | core.MoveCount, tuple[core.Variable | None, ...]]]:
    """Every move, with the loops around it by whom they are about; none stands for one that repeats what it does."""
    for s in body:
        match s:
            case core.MovePieces() | core.MoveCount():
                yield s, loops
            case core.Branch():
                yield from _moves((*s.then, *s.otherwise), loops)
            case core.Block():
                yield from _moves(s.body, loops)
            case core.Loop():
                yield from _moves(s.body, (*loops, None))
            case core.ForEach() | core.Together():
                yield from _moves(s.body, (*loops, s.var if _distinct(s.base) else None))
            case core.Decide():
                for c in s.choices:
                    yield from _moves(c.body, (*loops, None) if c.again else loops)
            case _:
                pass


def _distinct(base: core.Expr) -> bool:
    while isinstance(base, core.Filter | core.Arranged | core.Reversed):
        base = base.base
    return isinstance(base, DISTINCT)
