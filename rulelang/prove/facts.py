"""What is known at one line of the rules: inequalities over what the rules read, conditions that hold, ranges of places.

`talers >= sail_price` becomes `talers - 1 >= 0`.  What a line changes is forgotten, or carried over where the change is
known.  Every fact remembers the line that it comes from, so that a proof can say what it rests on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

from attrs import define, evolve, field, fields, frozen, has

from rulelang.core import nodes as core
from rulelang.core.types import NumberT, Type
from rulelang.source import Span

Bounds = tuple[int | None, int | None]
LIMIT = 80  # facts that are kept at one line
SKIPPED = frozenset(("span", "source", "type", "lines", "origin"))
SIZE = NumberT(0, None)


@frozen
class Because:
    """What a proof rests on: lines of the rules, how the table was laid out, what a measure says; or on ranges alone"""

    lines: tuple[Span, ...] = ()
    start: bool = False
    words: str = ""

    def and_(self, other: "Because") -> "Because":
        lines = tuple({str(x): x for x in (*self.lines, *other.lines)}.values())
        return Because(lines, self.start or other.start, self.words or other.words)


RANGES = Because()
START = Because(start=True)


def all_of(*found: "Because | None") -> "Because | None":
    """One proof of several, or none where one is missing."""
    whole = RANGES
    for x in found:
        if x is None:
            return None
        whole = whole.and_(x)
    return whole


# ---------------------------------------------------------------- what the rules read


@frozen(eq=False)
class Atom:
    """Something that the rules read; read at two lines it is one atom"""

    expr: core.Expr
    places: frozenset[core.Place]
    variables: frozenset[core.Variable]


@define(eq=False)
class Atoms:
    """The atoms of one game.  Bound names are numbered, so that `g in box where ...` and `m in box where ...` are the same."""

    by_expr: dict[core.Expr, Atom] = field(factory=dict)
    by_id: dict[int, tuple[core.Expr, core.Expr]] = field(factory=dict)  # the first keeps the id alive
    standard: dict[tuple[int, Type], core.Variable] = field(factory=dict)
    level: dict[core.Variable, int] = field(factory=dict)
    inside: dict[core.Function, frozenset[core.Place]] = field(factory=dict)
    written: dict[int, tuple[object, tuple[frozenset[core.Place], frozenset[core.Variable]]]] = field(factory=dict)
    calls: dict[int, tuple[core.Call, core.Expr | None]] = field(factory=dict)  # what definitions stand for
    sizes: dict[int, tuple[core.PlaceRef, core.Count]] = field(factory=dict)

    def of(self, e: core.Expr) -> Atom:
        plain = self.canonical(e)
        found = self.by_expr.get(plain)
        if found is None:
            places: set[core.Place] = set()
            variables: set[core.Variable] = set()
            self._scan(plain, places, variables)
            found = self.by_expr[plain] = Atom(plain, frozenset(places), frozenset(variables))
        return found

    def canonical(self, e: core.Expr) -> core.Expr:
        known = self.by_id.get(id(e))
        if known is None:
            known = self.by_id[id(e)] = (e, self._canonical(e))
        return known[1]

    def _canonical(self, e: core.Expr) -> core.Expr:
        match e:
            case core.Sure() | core.Within():
                return self.canonical(e.item)
            case core.LetIn() if not computes(e.body):
                return self.canonical(substituted(e.body, {e.var: e.value}))
            case core.Filter() | core.Exists() | core.ForAll():
                var, test = self._renamed(e.var, e.test)
                return evolve(e, var=var, base=self.canonical(e.base), test=test)
            case core.Over():
                var, value = self._renamed(e.var, e.value)
                return evolve(e, var=var, base=self.canonical(e.base), value=value)
            case core.Compute():
                return e
        changed: dict[str, Any] = {}
        for f in fields(type(e)):
            if f.name not in SKIPPED and f.name != "var":
                old = getattr(e, f.name)
                new = self._part(old)
                if new is not old:
                    changed[f.name] = new
        match e:
            case core.Count():
                changed["type"] = SIZE
            case core.Read():
                changed["type"] = e.place.place.type
            case core.Var():
                changed["type"] = e.var.type
            case core.Product() if repr(changed.get("left", e.left)) > repr(changed.get("right", e.right)):
                changed["left"], changed["right"] = changed.get("right", e.right), changed.get("left", e.left)
        return evolve(e, **changed) if changed else e

    def _part(self, x: object) -> object:
        if isinstance(x, core.Value):
            return self.canonical(x)  # type: ignore[arg-type]
        if isinstance(x, core.PlaceRef):
            return evolve(x, owner=None if x.owner is None else self.canonical(x.owner), keys=tuple(map(self.canonical, x.keys)))
        return tuple(map(self._part, x)) if isinstance(x, tuple) else x

    def _renamed(self, var: core.Variable, body: core.Expr) -> tuple[core.Variable, core.Expr]:
        plain = self.canonical(body)
        if computes(plain):
            return var, plain
        found: set[core.Variable] = set()
        self._scan(plain, set(), found)
        key = (1 + max((self.level[v] for v in found if v in self.level), default=0), var.type)
        if key not in self.standard:
            self.standard[key] = core.Variable(f"#{key[0]}", var.type)
            self.level[self.standard[key]] = key[0]
        new = self.standard[key]
        return new, substituted(plain, {var: core.Var(new, type=var.type)})

    def _scan(self, x: object, places: set[core.Place], variables: set[core.Variable]) -> None:
        if isinstance(x, core.Variable):
            variables.add(x)
        elif isinstance(x, core.Place):
            places.add(x)
        elif isinstance(x, core.Function):
            places |= self._of(x)
        elif isinstance(x, tuple):
            for y in x:
                self._scan(y, places, variables)
        elif isinstance(x, core.Value | core.PlaceRef | core.Action | core.Pick | core.Choice | core.Order):
            for f in fields(type(x)):
                if f.name not in SKIPPED:
                    self._scan(getattr(x, f.name), places, variables)

    def _of(self, f: core.Function) -> frozenset[core.Place]:
        if f not in self.inside:
            found: set[core.Place] = set()
            self.inside[f] = frozenset()
            self._scan(f.body, found, set())
            self.inside[f] = frozenset(found)
        return self.inside[f]


def content(atoms: Atoms, ref: core.PlaceRef) -> core.Count:
    """`number of hand`"""
    found = atoms.sizes.get(id(ref))
    if found is None:
        made_ = core.Count(core.Read(ref, type=ref.place.type, span=ref.span), type=SIZE)
        found = atoms.sizes[id(ref)] = (ref, made_)
    return found[1]


def substituted(e: core.Expr, bound: Mapping[core.Variable, core.Expr]) -> core.Expr:
    """The body of a definition with what it was called with."""

    def new(x: object) -> object:
        if isinstance(x, core.Var):
            return bound.get(x.var, x)
        if isinstance(x, core.Compute):  # names cannot be put into its statements: nothing is known of it
            return core.Var(core.Variable("?", x.type), type=x.type, span=x.span)
        if isinstance(x, tuple):
            found = tuple(map(new, x))
            return x if all(a is b for a, b in zip(found, x, strict=True)) else found
        if isinstance(x, core.PlaceRef | core.Value) and has(type(x)):
            parts = {f.name: new(getattr(x, f.name)) for f in fields(type(x)) if f.name not in SKIPPED - {"source"} and f.name != "var"}
            changed: dict[str, Any] = {k: v for k, v in parts.items() if v is not getattr(x, k)}
            return evolve(x, **changed) if changed else x
        return x

    found = new(e)
    assert isinstance(found, core.Value)
    return found  # type: ignore[return-value]


def computes(e: object) -> bool:
    """Is there a definition with loops in it?"""
    if isinstance(e, core.Compute):
        return True
    if isinstance(e, tuple):
        return any(map(computes, e))
    if isinstance(e, core.Value | core.PlaceRef):
        return any(computes(getattr(e, f.name)) for f in fields(type(e)) if f.name not in SKIPPED)
    return False


# ---------------------------------------------------------------- inequalities


@frozen(cache_hash=True)
class Lin:
    """`talers - 1`: numbers of things that the rules read, and a number"""

    terms: frozenset[tuple[Atom, int]]
    const: int
    because: Because = field(eq=False, default=RANGES)

    def __add__(self, other: "Lin") -> "Lin":
        return made([*self.terms, *other.terms], self.const + other.const)

    def __mul__(self, n: int) -> "Lin":
        return made([(a, c * n) for a, c in self.terms], self.const * n)

    def __sub__(self, other: "Lin") -> "Lin":
        return self + other * -1

    def by(self, because: Because) -> "Lin":
        return evolve(self, because=because)


def made(terms: Iterable[tuple[Atom, int]], const: int) -> Lin:
    found: dict[Atom, int] = {}
    for atom, n in terms:
        found[atom] = found.get(atom, 0) + n
    return Lin(frozenset((a, n) for a, n in found.items() if n), const)


def number(n: int) -> Lin:
    return Lin(frozenset(), n)


# ---------------------------------------------------------------- what is known


@frozen(cache_hash=True)
class Slots:
    """All slots of a place; or, in a loop over its keys, the slots of the member whose turn it is"""

    place: core.Place
    var: core.Variable | None = None
    at: int = -1  # the key that is the member: -1 is the owner

    def means(self, ref: core.PlaceRef) -> bool:
        if ref.place is not self.place:
            return False
        if self.var is None:
            return True
        key = ref.owner if self.at < 0 else ref.keys[self.at]
        return isinstance(key, core.Var) and key.var is self.var

    def single(self) -> bool:
        """Is this one slot and no more?"""
        dims = self.place.per_player + len(self.place.keys)
        return dims == (self.var is not None)


@frozen(eq=False)
class Facts:
    """Each of `at_least` is 0 or more; `there` is not none; `held` are conditions that hold; what names stand for"""

    at_least: frozenset[Lin] = frozenset()
    there: frozenset[Atom] = frozenset()
    held: Mapping[Atom, Because] = field(factory=dict)
    names: Mapping[core.Variable, tuple[core.Expr, Atom]] = field(factory=dict)
    ranges: Mapping[Slots, Bounds] = field(factory=dict)

    def and_(self, *lins: Lin) -> "Facts":
        new = frozenset(x for x in lins if x.terms)
        return self if not new or len(self.at_least) > LIMIT else evolve(self, at_least=self.at_least | new)

    def and_there(self, atom: Atom) -> "Facts":
        return evolve(self, there=self.there | {atom})

    def and_held(self, atom: Atom, because: Because) -> "Facts":
        return self if atom in self.held or len(self.held) > LIMIT else evolve(self, held={**self.held, atom: because})

    def named(self, var: core.Variable, value: core.Expr, atom: Atom) -> "Facts":
        return evolve(self, names={**self.names, var: (value, atom)})

    def ranging(self, slots: Slots, bounds: Bounds) -> "Facts":
        return evolve(self, ranges={**self.ranges, slots: bounds})

    def where(self, kept: Callable[[Atom], bool]) -> "Facts":
        """Only the facts that speak of nothing else; ranges are left as they are."""
        return Facts(
            frozenset(x for x in self.at_least if all(kept(a) for a, _ in x.terms)),
            frozenset(a for a in self.there if kept(a)),
            {a: b for a, b in self.held.items() if kept(a)},
            {v: (e, a) for v, (e, a) in self.names.items() if kept(a)},
            self.ranges,
        )

    def without(self, places: Set[core.Place], variables: Set[core.Variable]) -> "Facts":
        """What is left when these have changed, in whatever way."""

        def kept(a: Atom) -> bool:
            return a.places.isdisjoint(places) and a.variables.isdisjoint(variables)

        left = self.where(kept)
        names = {v: x for v, x in left.names.items() if v not in variables}
        ranges = {s: b for s, b in self.ranges.items() if s.place not in places and s.var not in variables}
        return evolve(left, names=names, ranges=ranges)


def hull(a: Bounds, b: Bounds) -> Bounds:
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    return low, None if a[1] is None or b[1] is None else max(a[1], b[1])


def meet(a: Bounds, b: Bounds) -> Bounds:
    low = b[0] if a[0] is None else a[0] if b[0] is None else max(a[0], b[0])
    return low, b[1] if a[1] is None else a[1] if b[1] is None else min(a[1], b[1])


def plus(a: Bounds, b: Bounds) -> Bounds:
    return None if a[0] is None or b[0] is None else a[0] + b[0], None if a[1] is None or b[1] is None else a[1] + b[1]


def times(a: Bounds, n: int) -> Bounds:
    low, high = None if a[0] is None else a[0] * n, None if a[1] is None else a[1] * n
    return (low, high) if n >= 0 else (high, low)


def parts(e: object) -> Iterator[core.Expr]:
    """The expressions right below one."""
    for f in fields(type(e)) if has(type(e)) else ():  # type: ignore[arg-type]
        if f.name not in SKIPPED and f.name != "var":
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
