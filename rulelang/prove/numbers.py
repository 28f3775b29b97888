"""Numbers that the rules name, for one player count and one choice of options: as sums, and their ranges."""

from collections.abc import Iterable
from math import comb, perm

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.types import BoolT, KindT, NumberT, PieceT, PlayerT, SetT, Type, plain
from rulelang.prove.facts import SIZE, Atom, Atoms, Bounds, Facts, Lin, computes, content, hull, meet, number, plus, substituted, times
from rulelang.prove.laid import Laid

DEPTH = 12  # definitions inside one another that are looked into
ENDLESS = 10**15  # more than anybody counts
LINEAR = (core.Const, core.Sum, core.Product, core.Read, core.Count, core.Call, core.TableAt, core.Over, core.FieldOf)


def size_of(e: core.Expr) -> core.Count:
    return core.Count(e, type=SIZE)


def read_by(e: core.Expr) -> core.PlaceRef | None:
    """The counter or the place whose number of pieces this is."""
    read = e.base if isinstance(e, core.Count) else e
    if isinstance(read, core.Read) and isinstance(e, core.Count) == read.place.place.holds_pieces:
        return read.place if isinstance(e, core.Count) or read.place.place.word == "counter" else None
    return None


@define(eq=False)
class Numbers:
    game: core.Game
    players: int
    settings: dict[str, int]
    atoms: Atoms
    asked: set[str] = field(factory=set)  # the options that were looked at
    laid: dict[core.Place, tuple[Laid, ...]] = field(factory=dict)  # places into which nothing comes twice
    settled: dict[core.Place, int] = field(factory=dict)  # places whose pieces never leave their owner: how many he has
    lins: dict[int, tuple[core.Expr, Lin]] = field(factory=dict)
    ends: dict[int, tuple[core.Expr, Bounds]] = field(factory=dict)

    # ------------------------------------------------------------ numbers

    def lin(self, e: core.Expr) -> Lin:
        found = self.lins.get(id(e))
        if found is None:
            found = self.lins[id(e)] = (e, self._lin(e, 0))
        return found[1]

    def _lin(self, e: core.Expr, depth: int) -> Lin:
        match e:
            case core.Const():
                return number(e.value)
            case core.PlayerCount():
                return number(self.players)
            case core.OptionValue():
                self.asked.add(e.option.name)
                return number(self.settings[e.option.name])
            case core.Sure() | core.Within():
                return self._lin(e.item, depth)
            case core.Sum():
                whole = number(0)
                for sign, term in e.terms:
                    whole = whole + self._lin(term, depth) * sign
                return whole
            case core.Product():
                left, right = self._lin(e.left, depth), self._lin(e.right, depth)
                if not left.terms:
                    return right * left.const
                if not right.terms:
                    return left * right.const
            case core.Call() if depth < DEPTH:
                inner = self.opened(e)
                if isinstance(inner, LINEAR):
                    return self._lin(inner, depth + 1)
            case core.TableAt() | core.FieldOf():
                low, high = self.bounds(e)
                if low is not None and low == high:
                    return number(low)
            case core.Count() if isinstance(e.base, core.Players | core.Others):
                return number(self.players - isinstance(e.base, core.Others))
            case core.Count() if isinstance(e.base, core.Arranged | core.Reversed):
                return self._lin(size_of(e.base.base), depth)
            case core.Count() if isinstance(e.base, core.Span_):
                length = self._lin(e.base.high, depth) - self._lin(e.base.low, depth) + number(1)
                if self._sure(length, None):
                    return length
            case core.Count() if isinstance(e.base, core.Const):
                return number(e.base.value.bit_count())
            case core.Count() if isinstance(e.base, core.Call) and depth < DEPTH and (inner := self.opened(e.base)) is not None:
                return self._lin(size_of(inner), depth + 1)
        return Lin(frozenset(((self.atoms.of(e), 1),)), 0)

    def opened(self, e: core.Call) -> core.Expr | None:
        """What a definition stands for at this call."""
        found = self.atoms.calls.get(id(e))
        if found is None:
            body, inner = e.function.body, None
            if body is not None and not computes(body):
                inner = substituted(body, dict(zip(e.function.params, e.args, strict=True)))
            found = self.atoms.calls[id(e)] = (e, inner)
        return found[1]

    def size(self, ref: core.PlaceRef) -> core.Count:
        return content(self.atoms, ref)

    def bounds(self, e: core.Expr) -> Bounds:
        """The range of a number, whatever happened before."""
        found = self.ends.get(id(e))
        if found is None:
            self.ends[id(e)] = (e, (None, None))
            found = self.ends[id(e)] = (e, self._bounds(e))
        return found[1]

    def _bounds(self, e: core.Expr) -> Bounds:
        match e:
            case core.Const():
                return e.value, e.value
            case core.PlayerCount():
                return self.players, self.players
            case core.Count():
                return self._size(e.base)
            case core.Read() if e.place.place.word == "counter":
                place = e.place.place
                low = None if place.low is None else self.bounds(place.low)[0]
                return low, None if place.high is None else self.bounds(place.high)[1]
            case core.TableAt():
                return _cells(self.cells(e))
            case core.FieldOf():
                return _cells(self.printed(e))
            case core.Sum() | core.Product():
                lin = self.lin(e)
                if any(a.expr == self.atoms.canonical(e) for a, _ in lin.terms):
                    return multiplied(self.bounds(e.left), self.bounds(e.right)) if isinstance(e, core.Product) else (None, None)
                return self.range(lin)
            case core.Call() if (inner := self.opened(e)) is not None:
                return self.bounds(inner)
            case core.Case():
                found = self.bounds(e.default)
                for _, v in e.cases:
                    found = hull(found, self.bounds(v))
                return found
            case core.LetIn():
                return self.bounds(e.body) if computes(e.body) else self.bounds(substituted(e.body, {e.var: e.value}))
            case core.Demand():
                return self.bounds(e.body)
            case core.Over():
                low, high = self.bounds(e.value)
                if e.op != "total":
                    return low, high
                fewest, most = self._size(e.base)
                least = None if low is None else low * (fewest or 0) if low >= 0 else None if most is None else low * most
                return least, None if high is None or most is None else max(high, 0) * most
            case core.Remainder():
                below, above = self.bounds(e.right)
                if below is None or below < 0:  # by 0 nothing is divided: the match would stop there
                    return None, None
                return 0, None if above is None else above - 1
            case core.Quotient():
                low, high = self.bounds(e.left)
                least = self.bounds(e.right)[0]
                if least is None or least < 0 or low is None or low < 0:
                    return None, None
                least = max(1, least)
                return 0, None if high is None else -(-high // least) if e.up else high // least
            case core.Sure():
                return self.bounds(e.item)
            case core.Within():
                return meet(self.bounds(e.item), (e.low, e.high))
            case core.Var() if e.var.name == "?":
                return None, None
        t = plain(e.type)
        return (t.low, t.high) if isinstance(t, NumberT) else (None, None)

    def held(self, e: core.Within) -> tuple[Lin, ...]:
        """That a number is in the range to which it is held."""
        ends = ((e.low, 1), (e.high, -1))
        return tuple((self.lin(e.item) - number(end)) * sign for end, sign in ends if end is not None)

    def members(self, e: core.Expr) -> Bounds:
        """The range of the numbers in a group."""
        match e:
            case core.Span_():
                return self.bounds(e.low)[0], self.bounds(e.high)[1]
            case core.Filter() | core.Arranged() | core.Reversed():
                return self.members(e.base)
            case core.ListOf():
                return self._hull(self.bounds(x) for x in e.items)
            case core.Call() if (inner := self.opened(e)) is not None:
                return self.members(inner)
            case core.Case():
                return self._hull(self.members(v) for v in (*(v for _, v in e.cases), e.default))
            case core.LetIn() | core.Demand():
                return self.members(e.body)
        item = plain(e.type.item) if isinstance(e.type, SetT) else plain(e.type)
        return (item.low, item.high) if isinstance(item, NumberT) else (None, None)

    @staticmethod
    def _hull(found: Iterable[Bounds]) -> Bounds:
        first, *rest = found
        for b in rest:
            first = hull(first, b)
        return first

    def _size(self, e: core.Expr) -> Bounds:
        """How many members a group has."""
        match e:
            case core.Players():
                return self.players, self.players
            case core.Others():
                return self.players - 1, self.players - 1
            case core.Const():
                return e.value.bit_count(), e.value.bit_count()
            case core.Arranged() | core.Reversed():
                return self._size(e.base)
            case core.Read() if e.place.place.holds_pieces:
                return 0, 1 if e.place.place.word == "slot" else least_of(self.pieces(e.place.place), self.laid_at(e.place))
            case core.Filter() | core.OfKind():
                return 0, self._size(e.base)[1]
            case core.Span_():
                low, high = self.bounds(e.low)[0], self.bounds(e.high)[1]
                return 0, None if low is None or high is None else max(0, high - low + 1)
            case core.FieldOf() | core.TableAt() if isinstance(e.type, SetT) and not e.type.ordered:
                return _cells(v.bit_count() for v in (self.printed(e) if isinstance(e, core.FieldOf) else self.cells(e)))
            case core.ListOf():
                return min(1, len(e.items)), len(e.items)
            case core.Call() if (inner := self.opened(e)) is not None:
                return self._size(inner)
            case core.Case():
                found = self._size(e.default)
                for _, v in e.cases:
                    found = hull(found, self._size(v))
                return found
            case core.LetIn() | core.Demand():
                return self._size(e.body)
        t = e.type
        return 0, self.many(t.item) if isinstance(t, SetT) else None

    def many(self, t: Type) -> int | None:
        """How many values a type has."""
        match plain(t):
            case PlayerT():
                return self.players
            case BoolT():
                return 2
            case KindT() as k:
                return len(self.game.kinds[k.kind].members)
            case NumberT(low, high) if low is not None and high is not None:
                return high - low + 1
            case PieceT() as p:
                return self._sum(self.copies(k) for k in p.kinds)
        return None

    @staticmethod
    def _sum(found: Iterable[int | None]) -> int | None:
        numbers = list(found)
        return None if None in numbers else sum(n for n in numbers if n is not None)

    def copies(self, kind: str, owned: bool = False) -> int | None:
        """How many pieces of a kind there are; with `owned` of one owner."""
        pieces = self.game.pieces[kind]
        if pieces.count is None:
            each: int | None = sum(n for _, n in pieces.rows)
        else:
            low, each = self.bounds(pieces.count)
            each = None if low is None or low != each else each
        return each if each is None or owned or not pieces.per_player else each * self.players

    def laid_at(self, ref: core.PlaceRef) -> int | None:
        """The most that can have been laid into a slot into which nothing comes twice."""
        most: int | None = None
        if ref.place in self.laid:
            most = 0
            for line in self.laid[ref.place]:
                here = self.bounds(line.at(ref))[1]
                most = None if most is None or here is None else most + max(0, here)
        return most

    def slots(self, place: core.Place) -> int:
        """How many numbers a place stands for."""
        found = self.players if place.per_player else 1
        for t in place.keys:
            found *= self.many(t) or 1
        return found

    def pieces(self, place: core.Place) -> int | None:
        """The most that a place can hold: all pieces of its kinds."""
        if place in self.settled:
            return self.settled[place]
        return self.many(place.type.item if isinstance(place.type, SetT) else place.type)

    def cells(self, e: core.TableAt) -> Iterable[int]:
        """The cells of a table that this may be, by the ranges of its keys."""
        ways = [0]
        for k, t in zip(e.keys, e.table.keys, strict=True):
            dim = self.many(t) or 1
            low = t.low or 0 if isinstance(t, NumberT) else 0
            at: Iterable[int] = range(dim)
            if isinstance(k, core.PlayerCount):
                at = [self.players - low]
            elif isinstance(t, NumberT):
                a, b = self.bounds(k)
                at = range(max(0, (low if a is None else a) - low), min(dim, (low + dim - 1 if b is None else b) - low + 1))
            elif isinstance(k, core.Const):
                at = [k.value]
            ways = [w * dim + x for w in ways for x in at if 0 <= x < dim]
        return [e.table.values[w] for w in ways] or e.table.values

    def printed(self, e: core.FieldOf) -> Iterable[int]:
        """The printed values that a field can have."""
        t = plain(e.item.type)
        if isinstance(t, KindT):
            rows = self.game.kinds[t.kind].fields[e.name].values
            if isinstance(e.item, core.Const):
                rows = rows[e.item.value : e.item.value + 1]
            return [v for row in rows for v in row]
        fields = [p.fields[e.name] for p in self.game.pieces.values() if e.name in p.fields]
        return [v for f in fields for row in f.values for v in row]

    def range(self, x: Lin, facts: Facts | None = None) -> Bounds:
        found: Bounds = (x.const, x.const)
        for atom, n in x.terms:
            found = plus(found, times(self.bounds_at(atom, facts), n))
            if found == (None, None):
                break
        return found

    def bounds_at(self, atom: Atom, facts: Facts | None) -> Bounds:
        found = self.bounds(atom.expr)
        if facts is not None and facts.ranges and (ref := read_by(atom.expr)) is not None:
            for slots, b in facts.ranges.items():
                if slots.means(ref):
                    found = meet(found, b)
        return found

    def _sure(self, x: Lin, facts: Facts | None) -> bool:
        low = self.range(x, facts)[0]
        return low is not None and low >= 0


def multiplied(x: Bounds, y: Bounds) -> Bounds:
    """The range of a product."""
    (a, b), (c, d) = x, y
    if a is not None and b is not None and c is not None and d is not None:
        ends = (a * c, a * d, b * c, b * d)
        return min(ends), max(ends)
    return (a * c, None) if a is not None and c is not None and a >= 0 and c >= 0 else (None, None)


def groups_of(size: int, least: int, most: int, ordered: bool) -> int:
    """How many groups of so many there are among `size`; ENDLESS stands for as many and more."""
    found = 0
    for k in range(least, min(most, size) + 1):
        far = k if ordered else min(k, size - k)
        found += ENDLESS if far > 64 else (perm if ordered else comb)(size, k)
        if found >= ENDLESS:
            return ENDLESS
    return found


def product(found: Iterable[int | None]) -> int | None:
    whole = 1
    for n in found:
        if n is None:
            return None
        whole = min(whole * n, ENDLESS)
    return whole


def least_of(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _cells(values: Iterable[int]) -> Bounds:
    found = list(values)
    return (min(found), max(found)) if found else (None, None)
