"""What is known at one line of the rules: inequalities over what the rules read, and what is not none.

`talers >= sail_price` becomes `talers - 1 >= 0`.  What a line changes is forgotten, or carried over where the change is
known.  Nothing here searches: a claim follows from the ranges of its parts, from one fact, or from two together."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from attrs import evolve, fields, frozen, has

from rulelang.core import nodes as core
from rulelang.core.threads import refs_in, variables_in
from rulelang.core.types import MaybeT, NoneT, NumberT, SetT, plain

Bounds = tuple[int | None, int | None]
LIMIT = 60  # facts that are kept at one line
DEPTH = 12  # definitions inside one another that are looked into


@frozen
class Lin:
    """`talers - 1`: numbers of things that the rules read, and a number"""

    terms: frozenset[tuple[core.Expr, int]]
    const: int

    def __add__(self, other: "Lin") -> "Lin":
        return made([*self.terms, *other.terms], self.const + other.const)

    def __mul__(self, n: int) -> "Lin":
        return made([(a, c * n) for a, c in self.terms], self.const * n)

    def __sub__(self, other: "Lin") -> "Lin":
        return self + other * -1


def made(terms: Iterable[tuple[core.Expr, int]], const: int) -> Lin:
    found: dict[core.Expr, int] = {}
    for atom, n in terms:
        found[atom] = found.get(atom, 0) + n
    return Lin(frozenset((a, n) for a, n in found.items() if n), const)


def number(n: int) -> Lin:
    return Lin(frozenset(), n)


@frozen
class Facts:
    """Each of `at_least` is 0 or more; each of `there` is not none"""

    at_least: frozenset[Lin] = frozenset()
    there: frozenset[core.Expr] = frozenset()
    start: frozenset[tuple[core.Place, int]] = frozenset()  # counters and sizes that are still as they began, for every key

    def and_(self, *lins: Lin) -> "Facts":
        new = frozenset(x for x in lins if x.terms)
        return self if len(self.at_least) > LIMIT else evolve(self, at_least=self.at_least | new)

    def and_there(self, e: core.Expr) -> "Facts":
        return evolve(self, there=self.there | {canonical(e)})

    def without(self, places: set[core.Place], variables: set[core.Variable], sizes_stay: bool = False) -> "Facts":
        """What is left when these have changed."""

        def kept(e: core.Expr) -> bool:
            if sizes_stay and isinstance(e, core.Count) and isinstance(e.base, core.Read):
                return True
            return reads(e)[0].isdisjoint(places) and reads(e)[1].isdisjoint(variables)

        return Facts(
            frozenset(x for x in self.at_least if all(kept(a) for a, _ in x.terms)),
            frozenset(e for e in self.there if kept(e)),
            self.start if sizes_stay else frozenset((p, n) for p, n in self.start if p not in places),
        )

    def begins(self, places: set[core.Place], before: "Facts") -> "Facts":
        """With what these places were at the start, where that was known before."""
        return evolve(self, start=self.start | {(p, n) for p, n in before.start if p in places})

    def begun(self, e: core.Expr) -> int | None:
        """What a counter or a size is, where nothing has changed it since the start."""
        read = e.base if isinstance(e, core.Count) else e
        if not isinstance(read, core.Read) or isinstance(e, core.Count) != read.place.place.holds_pieces:
            return None
        return next((n for p, n in self.start if p is read.place.place), None)


@lru_cache(maxsize=20_000)
def canonical(e: core.Expr) -> core.Expr:
    """The same thing read at two lines is one expression."""
    changed: dict[str, Any] = {}
    for f in fields(type(e)):
        if f.name not in ("span", "source", "type", "lines", "var"):
            old = getattr(e, f.name)
            new = _canonical(old)
            if new is not old:
                changed[f.name] = new
    match e:
        case core.Count():
            changed["type"] = NumberT(0, None)
        case core.Read():
            changed["type"] = e.place.place.type
        case core.Var():
            changed["type"] = e.var.type
        case core.Sure():
            return canonical(e.item)
    found: core.Expr = _with(e, changed)
    return found


def _with(x: Any, changed: dict[str, Any]) -> Any:
    return evolve(x, **changed) if changed else x


def _canonical(x: object) -> object:
    if isinstance(x, core.Value):
        return canonical(x)
    if isinstance(x, core.PlaceRef):
        owner = None if x.owner is None else canonical(x.owner)
        return evolve(x, owner=owner, keys=tuple(canonical(k) for k in x.keys))
    if isinstance(x, tuple):
        return tuple(map(_canonical, x))
    return x


@lru_cache(maxsize=20_000)
def reads(e: core.Expr) -> tuple[frozenset[core.Place], frozenset[core.Variable]]:
    return frozenset(r.place for r in refs_in(e)), frozenset(variables_in(e))


def substituted(e: core.Expr, bound: dict[core.Variable, core.Expr]) -> core.Expr:
    """The body of a definition with what it was called with."""

    def new(x: object) -> object:
        if isinstance(x, core.Var):
            return bound.get(x.var, x)
        if isinstance(x, tuple):
            return tuple(map(new, x))
        if isinstance(x, core.PlaceRef | core.Value) and has(type(x)):
            parts = {f.name: new(getattr(x, f.name)) for f in fields(type(x)) if f.name not in ("span", "source", "type", "var", "place_")}
            changed = {k: v for k, v in parts.items() if v is not getattr(x, k)}
            return _with(x, changed)
        return x

    found = new(e)
    assert isinstance(found, core.Value)
    return found  # type: ignore[return-value]


@frozen(eq=False)
class Reader:
    """Reads expressions for one player count and one choice of options."""

    game: core.Game
    players: int
    settings: dict[str, int]

    # ------------------------------------------------------------ numbers

    def lin(self, e: core.Expr, depth: int = 0) -> Lin:
        match e:
            case core.Const():
                return number(e.value)
            case core.PlayerCount():
                return number(self.players)
            case core.OptionValue():
                return number(self.settings[e.option.name])
            case core.Sure():
                return self.lin(e.item, depth)
            case core.Sum():
                total = number(0)
                for sign, term in e.terms:
                    total = total + self.lin(term, depth) * sign
                return total
            case core.Product():
                left, right = self.lin(e.left, depth), self.lin(e.right, depth)
                if not left.terms:
                    return right * left.const
                if not right.terms:
                    return left * right.const
            case core.Call() if depth < DEPTH and e.function.body is not None:
                inner = self.opened(e)
                if isinstance(inner, core.Const | core.Sum | core.Product | core.Read | core.Count | core.Call | core.TableAt):
                    return self.lin(inner, depth + 1)
            case core.TableAt():
                low, high = self.bounds(e)
                if low is not None and low == high:
                    return number(low)
            case core.Count() if isinstance(e.base, core.Players | core.Others):
                return number(self.players - isinstance(e.base, core.Others))
        return Lin(frozenset(((canonical(e), 1),)), 0)

    def opened(self, e: core.Call) -> core.Expr:
        """What a definition stands for at this call."""
        assert e.function.body is not None
        return substituted(e.function.body, dict(zip(e.function.params, e.args, strict=True)))

    def bounds(self, e: core.Expr, depth: int = 0) -> Bounds:
        """The range of a number, whatever happened before."""
        match e:
            case core.Const():
                return e.value, e.value
            case core.Count():
                return (0, 1) if isinstance(e.base, core.Read) and e.base.place.place.word == "slot" else (0, None)
            case core.Read() if e.place.place.word == "counter":
                place = e.place.place
                low = None if place.low is None else self.bounds(place.low, depth + 1)[0]
                return low, None if place.high is None else self.bounds(place.high, depth + 1)[1]
            case core.TableAt():
                return self._cells(
                    e.table.values if not all(isinstance(k, core.Const | core.PlayerCount) for k in e.keys) else self._cell(e)
                )
            case core.FieldOf():
                printed = [k.fields for k in self.game.pieces.values()] + [k.fields for k in self.game.kinds.values()]
                return self._cells(v for f in printed if e.name in f for row in f[e.name].values for v in row)
            case core.Sum() | core.Product() | core.Call() if depth < DEPTH:
                lin = self.lin(e)
                if lin.terms == frozenset(((canonical(e), 1),)):
                    return self._opened_bounds(e, depth)
                return self.range(lin, depth + 1)
            case core.Case() if depth < DEPTH:
                return _wider([self.bounds(v, depth + 1) for v in (*(v for _, v in e.cases), e.default)])
            case core.LetIn() | core.Demand() if depth < DEPTH:
                return self.bounds(e.body, depth + 1)
            case core.Over() if depth < DEPTH:
                low, high = self.bounds(e.value, depth + 1)
                return ((0, None) if low is not None and low >= 0 else (None, None)) if e.op == "total" else (low, high)
            case core.Remainder():
                high = self.bounds(e.right, depth + 1)[1]
                return 0, None if high is None else high - 1
            case core.Quotient():
                low = self.bounds(e.left, depth + 1)[0]
                return (0 if low is not None and low >= 0 else None), self.bounds(e.left, depth + 1)[1]
            case core.Sure():
                return self.bounds(e.item, depth)
        t = plain(e.type)
        return (t.low, t.high) if isinstance(t, NumberT) else (None, None)

    def _opened_bounds(self, e: core.Expr, depth: int) -> Bounds:
        if isinstance(e, core.Call) and e.function.body is not None:
            return self.bounds(self.opened(e), depth + 1)
        if isinstance(e, core.Product):
            (a, b), (c, d) = self.bounds(e.left, depth + 1), self.bounds(e.right, depth + 1)
            if a is not None and c is not None and a >= 0 and c >= 0:
                return a * c, None if b is None or d is None else b * d
        return None, None

    def _cell(self, e: core.TableAt) -> Iterable[int]:
        at = 0
        for k, t in zip(e.keys, e.table.keys, strict=True):
            value = self.players if isinstance(k, core.PlayerCount) else k.value if isinstance(k, core.Const) else 0
            low = t.low or 0 if isinstance(t, NumberT) else 0
            size = self._size(t)
            if not 0 <= value - low < size:
                return e.table.values
            at = at * size + value - low
        return e.table.values[at : at + 1]

    def _size(self, t: object) -> int:
        match t:
            case NumberT():
                return (t.high or 0) - (t.low or 0) + 1
        kind = getattr(t, "kind", None)
        return len(self.game.kinds[kind].members) if kind else self.players

    @staticmethod
    def _cells(values: Iterable[int]) -> Bounds:
        found = list(values)
        return (min(found), max(found)) if found else (None, None)

    def range(self, x: Lin, depth: int = 0) -> Bounds:
        low: int | None = x.const
        high: int | None = x.const
        for atom, n in x.terms:
            a, b = self.bounds(atom, depth)
            least, most = (a, b) if n > 0 else (b, a)
            low = None if low is None or least is None else low + n * least
            high = None if high is None or most is None else high + n * most
        return low, high

    # ------------------------------------------------------------ what follows

    def holds(self, goal: Lin, facts: Facts) -> bool:
        """Is `goal` 0 or more?"""
        known = [(a, n, facts.begun(a)) for a, n in goal.terms]
        at_start = made([(a, n) for a, n, k in known if k is None], goal.const + sum(n * k for _, n, k in known if k is not None))
        return self._follows(goal, facts) or (at_start != goal and self._follows(at_start, facts))

    def _follows(self, goal: Lin, facts: Facts) -> bool:
        if self._sure(goal):
            return True
        near = [f for f in facts.at_least if not {a for a, _ in f.terms}.isdisjoint({a for a, _ in goal.terms})]
        if any(self._sure(goal - f) for f in near):
            return True
        return any(self._sure(goal - f - g) for f in near for g in facts.at_least)

    def _sure(self, x: Lin) -> bool:
        low = self.range(x)[0]
        return low is not None and low >= 0

    def is_there(self, e: core.Expr, facts: Facts) -> bool:
        """Is this not none?"""
        if canonical(e) in facts.there or not isinstance(e.type, MaybeT):
            return True
        match e:
            case core.FirstOf():
                return self.has_members(e.base, facts)
            case core.Nth():
                index = self.lin(e.index)
                size = self.lin(core.Count(core.Read(e.place, type=e.place.place.type), type=NumberT(0, None)))
                return self.holds(size - number(1), facts) if index.const < 0 and not index.terms else self.holds(size - index, facts)
            case core.Read() if e.place.place.word == "slot":
                return self.holds(self.lin(core.Count(e, type=NumberT(0, None))) - number(1), facts)
            case core.Call() if e.function.body is not None:
                return self.is_there(self.opened(e), facts)
            case core.Case():
                return all(self.is_there(v, facts) for v in (*(v for _, v in e.cases), e.default))
            case core.LetIn():
                return self.is_there(e.body, facts)
        return False

    def has_members(self, e: core.Expr, facts: Facts, n: Lin | None = None) -> bool:
        """Has this group at least so many members?"""
        n = number(1) if n is None else n
        match e:
            case core.Arranged() | core.Reversed():
                if not (isinstance(e, core.Arranged) and e.after and isinstance(e.base, core.Filter)):
                    return self.has_members(e.base, facts, n)
            case core.Const() if isinstance(e.type, SetT):
                return self.holds(number(bin(e.value).count("1")) - n, facts)
            case core.ListOf():
                return self.holds(number(1 if e.items else 0) - n, facts)
            case core.Span_():
                return self.holds(self.lin(e.high) - self.lin(e.low) + number(1) - n, facts)
            case core.Call() if e.function.body is not None:
                return self.has_members(self.opened(e), facts, n)
        size = core.Count(e, type=NumberT(0, None))
        return self.holds(self.lin(size) - n, facts)

    # ------------------------------------------------------------ assuming

    def assume(self, e: core.Expr, yes: bool, facts: Facts, depth: int = 0) -> Facts:
        """The facts where a condition holds, or where it does not."""
        if depth > DEPTH:
            return facts
        match e:
            case core.All() | core.AnyOf():
                if isinstance(e, core.All) == yes:
                    for item in e.items:
                        facts = self.assume(item, yes, facts, depth + 1)
            case core.Not():
                return self.assume(e.item, not yes, facts, depth + 1)
            case core.Compare():
                return self._compared(e, yes, facts)
            case core.Call() if e.function.body is not None:
                return self.assume(self.opened(e), yes, facts, depth + 1)
            case core.Exists() if yes:
                some = core.Filter(e.var, e.base, e.test, type=e.base.type)
                facts = facts.and_(self.lin(core.Count(some, type=NumberT(0, None))) - number(1))
                return facts.and_(self.lin(core.Count(e.base, type=NumberT(0, None))) - number(1))
            case core.Case():
                for test, value in e.cases:
                    if isinstance(value, core.Const) and bool(value.value) != yes:
                        facts = self.assume(test, False, facts, depth + 1)
                    else:
                        return facts
                return self.assume(e.default, yes, facts, depth + 1)
        return facts

    def _compared(self, e: core.Compare, yes: bool, facts: Facts) -> Facts:
        for one, other in ((e.left, e.right), (e.right, e.left)):
            if isinstance(other.type, NoneT):
                return facts.and_there(one) if (e.op == "!=") == yes else facts
        if not isinstance(plain(e.left.type), NumberT) or not isinstance(plain(e.right.type), NumberT):
            if (e.op == "==") == yes and isinstance(e.left.type, MaybeT) and not isinstance(e.right.type, MaybeT):
                return facts.and_there(e.left)
            return facts
        op = e.op if yes else {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}[e.op]
        x = self.lin(e.left) - self.lin(e.right)
        match op:
            case ">=":
                return facts.and_(x)
            case ">":
                return facts.and_(x - number(1))
            case "<=":
                return facts.and_(x * -1)
            case "<":
                return facts.and_(x * -1 - number(1))
            case "==":
                return facts.and_(x, x * -1)
        if self.holds(x, facts):
            return facts.and_(x - number(1))
        return facts.and_(x * -1 - number(1)) if self.holds(x * -1, facts) else facts


def _wider(all_bounds: list[Bounds]) -> Bounds:
    lows, highs = [b[0] for b in all_bounds], [b[1] for b in all_bounds]
    low = None if any(x is None for x in lows) else min(x for x in lows if x is not None)
    return low, None if any(x is None for x in highs) else max(x for x in highs if x is not None)


def parts(e: object) -> Iterator[core.Expr]:
    """The expressions right below one."""
    for f in fields(type(e)) if has(type(e)) else ():  # type: ignore[arg-type]
        if f.name not in ("span", "source", "type", "lines", "origin", "var"):
            yield from _expressions(getattr(e, f.name))


def _expressions(x: object) -> Iterator[core.Expr]:
    if isinstance(x, core.Value):
        yield x  # type: ignore[misc]
    elif isinstance(x, core.PlaceRef):
        yield from x.keys
        if x.owner is not None:
            yield x.owner
    elif isinstance(x, tuple):
        for y in x:
            yield from _expressions(y)
