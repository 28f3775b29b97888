"""What may be done before somebody is asked: steps of the flow, and things that are looked at one by one.

A step costs one.  A clause or sum (`some c in City where ...`) costs nothing while all that it can look at is little;
where ranges, kinds and definitions inside one another could make it much, it pays for what it really looks at."""

from collections.abc import Callable
from typing import Any

from attrs import Factory, define, field, fields, has

from rulelang.core import nodes as core
from rulelang.core.types import BoolT, KindT, NumberT, PieceT, PlayerT, SetT, plain
from rulelang.graph.layout import Layout, error_at

LITTLE = 4_000  # things looked at that are not counted
BY = 4  # as many things that are looked at cost as much as one step
ENDLESS = 1 << 60

State = list[int]
Seq = Callable[[State], Any]


@define(eq=False)
class Budget:
    """What is left until the next decision"""

    whole: int
    left: int = field(default=Factory(lambda self: self.whole, takes_self=True))

    def renew(self) -> None:
        self.left = self.whole

    def spend(self, cost: int, origin: core.Origin | None) -> None:
        self.left -= cost
        if self.left < 0:
            raise error_at(f"more than {self.whole} steps without asking anybody", origin)


@define(eq=False)
class Cost:
    """How many things a value looks at, at most, for one player count"""

    layout: Layout
    known: dict[int, int] = field(factory=dict)

    def of(self, e: object) -> int:
        match e:
            case core.Filter() | core.Exists() | core.ForAll():
                return self.of(e.base) + self.members(e.base) * (1 + self.of(e.test))
            case core.Over():
                return self.of(e.base) + self.members(e.base) * (1 + self.of(e.value))
            case core.Reversed() | core.SameSet():
                return sum(self.of(x) + self.members(x) for x in ((e.base,) if isinstance(e, core.Reversed) else (e.left, e.right)))
            case core.Call():
                return self.of(e.args) + self.function(e.function)
            case core.Compute():
                return ENDLESS
            case tuple():
                return sum(self.of(x) for x in e)
            case core.PlaceRef():
                return self.of((e.owner, *e.keys))
            case core.Value() if has(type(e)):
                return sum(self.of(getattr(e, f.name)) for f in fields(type(e)) if f.name not in ("span", "source", "type", "var"))
        return 0

    def function(self, function: core.Function) -> int:
        found = self.known.get(id(function))
        if found is None:
            found = self.known[id(function)] = self.of(function.body)
        return found

    def members(self, base: core.Expr) -> int:
        """How many members a group has, at most."""
        if isinstance(base, core.Filter):
            return self.members(base.base)
        if isinstance(base, core.ListOf):
            return len(base.items)
        item = plain(base.type.item if isinstance(base.type, SetT) else base.type)
        match item:
            case KindT():
                return len(self.layout.game.kinds[item.kind].members)
            case PlayerT():
                return self.layout.players
            case BoolT():
                return 2
            case PieceT():
                return sum(c.count for c in self.layout.universe(item).classes)
            case NumberT() if item.low is not None and item.high is not None:
                return max(0, item.high - item.low + 1)
        return ENDLESS

    def paid(self, e: core.Expr, base: core.Expr, each: Seq, budget: Budget) -> Seq:
        """The members of a group that a value looks at, one after the other; paid for where they could be many."""
        if self.of(e) <= LITTLE:
            return each
        parts = getattr(e, "test", None) or getattr(e, "value", None)
        cost, origin = 1 + min(self.of(parts), LITTLE), core.Origin(e.span)

        def counted(s: State) -> Any:
            found = each(s)
            budget.spend(len(found) * cost // BY, origin)
            return found

        return counted
