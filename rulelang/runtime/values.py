"""Core values to closures over the state: `fn(s) -> int`.  What is constant for this player count is folded here,
calls are unfolded where their arguments are plain, and a clause that reads only printed fields becomes a mask."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from attrs import Factory, define, field, fields, has

from rulelang.core import nodes as core
from rulelang.core.types import KindT, MaybeT, NumberT, PieceT, PlayerT, SetT, Type, plain
from rulelang.errors import RuleError
from rulelang.graph.layout import Layout, error_at, field_values
from rulelang.limits import MEMBERS, NUMBER
from rulelang.runtime.budget import LITTLE, Budget, Cost
from rulelang.source import Span

State = list[int]
Fn = Callable[[State], Any]
SEQ_BITS = 16
LARGEST = 0xFFFE  # number in a group with an order
KEPT = 256  # members of a group that is remembered once it was listed


def members(mask: int) -> tuple[int, ...]:
    """The members of a set, in order."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


small_members = lru_cache(maxsize=1 << 16)(members)


def pack_seq(items: Sequence[int]) -> int:
    """A group in its order as one integer."""
    if len(items) > MEMBERS:
        raise RuleError(f"a group of {len(items)} in an order: at most {MEMBERS} can be kept")
    made = 0
    for x in reversed(items):
        if not 0 <= x <= LARGEST:
            raise RuleError(f"{x} in a group with an order: only numbers from 0 to {LARGEST} can be kept in one")
        made = (made << SEQ_BITS) | (x + 1)
    return made


def told_at(span: Span, made: Callable[[Any], int]) -> Callable[[Any], int]:
    """The same, and what stops it is told at the value that is written there."""

    def kept(items: Any) -> int:
        try:
            return made(items)
        except RuleError as err:
            if err.origin is not None:  # one of the items stopped it
                raise
            raise error_at(str(err), core.Origin(span)) from None

    return kept


def mask_of(items: Iterable[int]) -> int:
    """A group of numbers or members as one integer, a bit for each."""
    made = 0
    for x in items:
        if not 0 <= x <= MEMBERS:
            raise RuleError(f"{x} in a group: only numbers from 0 to {MEMBERS} can be kept in one")
        made |= 1 << x
    return made


@lru_cache(maxsize=1 << 12)
def unpack_seq(packed: int) -> tuple[int, ...]:
    found = []
    while packed:
        found.append((packed & 0xFFFF) - 1)
        packed >>= SEQ_BITS
    return tuple(found)


@define(eq=False)
class Code:
    """A closure; a constant keeps its value beside it."""

    fn: Fn
    const: bool = False
    value: Any = None


def constant(value: Any) -> Code:
    return Code(lambda s: value, True, value)


def rep(t: Type) -> str:
    """How a value of this type looks: int, mask, bag or seq."""
    if isinstance(t, SetT):
        return "seq" if t.ordered else "bag" if isinstance(plain(t.item), PieceT) else "mask"
    return "int"


@define(eq=False)
class Values:
    """Compiles values for one layout.  `env` maps parameters of an unfolded call to what they stand for."""

    layout: Layout
    env: dict[core.Variable, core.Expr] = field(factory=dict)
    unfolded: dict[tuple[int, tuple[object, ...]], Code] = field(factory=dict)
    called: dict[int, tuple[list[int], list[Fn]]] = field(factory=dict)
    scratch_base: int = 0
    run_pure: "Callable[[Any, tuple[core.Statement, ...]], Fn] | None" = None
    budget: Budget = field(default=Factory(lambda self: Budget(self.layout.game.limits.steps), takes_self=True))
    cost: Cost = field(default=Factory(lambda self: Cost(self.layout), takes_self=True))

    # ------------------------------------------------------------ slots

    def variable(self, var: core.Variable) -> int:
        found = self.layout.variables.get(var)
        if found is not None:
            return found
        if var not in self.layout.scratch:
            self.layout.scratch[var] = self.scratch_base + len(self.layout.scratch)
        return self.layout.scratch[var]

    def dummy(self) -> State:
        return [0] * (self.scratch_base + len(self.layout.scratch) + 64)

    def fold(self, fn: Fn, *parts: Code) -> Code:
        if all(p.const for p in parts):
            return constant(fn(self.dummy()))
        return Code(fn)

    def settled(self, e: core.Expr) -> int:
        """A value that no match changes: the end of a range, the number of pieces."""
        return int(self.expr(e).fn(self.dummy()))

    def slot(self, ref: core.PlaceRef) -> Code:
        """The number of the slot that a place reference means."""
        base = self.layout.slots[ref.place]
        strides = self.layout.strides[ref.place]
        keys = [*(() if ref.owner is None else (ref.owner,)), *ref.keys]
        lows = [*((0,) if ref.owner is not None else ()), *(self.layout.key_low(t) for t in ref.place.keys)]
        sizes = [*((self.layout.players,) if ref.owner is not None else ()), *(self.layout.key_size(t) for t in ref.place.keys)]
        at, moving = base, []
        for key, stride, low, size in zip(keys, strides, lows, sizes, strict=True):
            code = self.expr(key)
            if code.const:
                self._in_range(code.value - low, size, ref)
                at += (code.value - low) * stride
            else:
                moving.append((code, stride, low, size, self._is_safe(key)))
        if not moving:
            return constant(at)
        if len(moving) == 1:
            code, stride, low, size, safe = moving[0]
            fn, offset = code.fn, at - low * stride
            if safe and isinstance(key := self.resolve(keys[[self.expr(k).const for k in keys].index(False)]), core.Var):
                v = self.variable(key.var)
                if stride == 1:
                    return Code(lambda s: offset + s[v])
                return Code(lambda s: offset + stride * s[v])

            def one(s: State) -> Any:
                k = fn(s)
                if not 0 <= k - low < size:
                    self._in_range(k - low, size, ref)
                return offset + stride * k

            return Code(one)
        table = tuple((c.fn, stride, low, size) for c, stride, low, size, _ in moving)

        def many(s: State) -> int:
            found = at
            for fn, stride, low, size in table:
                k = fn(s) - low
                if not 0 <= k < size:
                    self._in_range(k, size, ref)
                found += k * stride
            return found

        return Code(many)

    def address(self, ref: core.PlaceRef) -> tuple[int, int] | None:
        """(offset, variable) where a place of one player or member is read: `s[offset + s[variable]]`."""
        keys = [*(() if ref.owner is None else (ref.owner,)), *ref.keys]
        if len(keys) != 1 or not self._is_safe(keys[0]):
            return None
        key = self.resolve(keys[0])
        assert isinstance(key, core.Var)
        return self.layout.slots[ref.place], self.variable(key.var)

    def _is_safe(self, key: core.Expr) -> bool:
        key = self.resolve(key)
        return isinstance(key, core.Var) and isinstance(key.type, PlayerT | KindT)

    def _in_range(self, k: int, size: int, ref: core.PlaceRef) -> None:
        if not 0 <= k < size:
            raise error_at(f"`{ref.place.name}` has no such key", core.Origin(ref.span))

    def resolve(self, e: core.Expr) -> core.Expr:
        while isinstance(e, core.Var) and e.var in self.env:
            e = self.env[e.var]
        return e

    # ------------------------------------------------------------ collections

    def seq(self, e: core.Expr) -> Fn:
        """A closure that gives the elements, each piece by itself."""
        code = self.expr(e)
        return self._to_seq(code.fn, rep(e.type), e.type)

    def _to_seq(self, fn: Fn, form: str, t: Type) -> Fn:
        if form == "seq":
            return fn
        if form == "mask":
            listed = self._lister(t)
            return lambda s: listed(fn(s))
        if form == "bag":
            universe = self.layout.universe(t)
            if universe.width == 1:
                listed = self._lister(t)
                return lambda s: listed(fn(s))
            return lambda s: tuple(c for c, n in universe.items(fn(s)) for _ in range(n))
        return lambda s: () if fn(s) < 0 else (fn(s),)

    def _lister(self, t: Type) -> Callable[[int], tuple[int, ...]]:
        """Groups of a few are listed once, and remembered."""
        item = plain(t.item) if isinstance(t, SetT) else t
        if isinstance(item, KindT):
            size = len(self.layout.game.kinds[item.kind].members)
        else:
            size = len(self.layout.universe(t).classes) if isinstance(item, PieceT) else KEPT + isinstance(item, NumberT)
        return small_members if size <= KEPT else members

    def looked(self, e: core.Expr, base: core.Expr, each: Fn) -> Fn:
        return self.cost.paid(e, base, each, self.budget)

    def distinct(self, e: core.Expr) -> Fn:
        """A closure that gives the elements that can be told apart, once each."""
        code = self.expr(e)
        form = rep(e.type)
        fn = code.fn
        if form == "bag":
            universe = self.layout.universe(e.type)
            if universe.width > 1:
                return lambda s: tuple(c for c, _ in universe.items(fn(s)))
        if form == "seq" and isinstance(e.type, SetT) and isinstance(plain(e.type.item), PieceT):
            return lambda s: tuple(sorted(set(fn(s))))
        return self._to_seq(fn, form, e.type)

    def as_type(self, e: core.Expr, t: Type) -> Code:
        """The value in the form that `t` has."""
        code = self.expr(e)
        have, need = rep(e.type), rep(t)
        if have == need:
            return code
        fn = code.fn
        if need == "seq":
            return self.fold(self._to_seq(fn, have, e.type), code)
        if have == "seq":
            if need == "bag":
                universe = self.layout.universe(t)
                return self.fold(lambda s: universe.bag(tuple(fn(s))), code)
            masked = told_at(e.span, mask_of)
            return self.fold(lambda s: masked(fn(s)), code)
        if need == "bag" and have == "int":  # a slot as the set of what it holds
            universe = self.layout.universe(t)
            return self.fold(lambda s: 0 if fn(s) < 0 else universe.unit(fn(s)), code)
        return code

    def store(self, t: Type, span: Span) -> Callable[[Any], int]:
        """How a value of this type is kept in one slot; `span` is where it is written."""
        return told_at(span, pack_seq) if rep(t) == "seq" else int

    # ------------------------------------------------------------ values

    def expr(self, e: core.Expr) -> Code:
        made: Code = getattr(self, "_" + type(e).__name__)(e)
        return made

    def test(self, e: core.Expr) -> Fn:
        return self.expr(e).fn

    def _Const(self, e: core.Const) -> Code:
        return constant(unpack_seq(e.value) if rep(e.type) == "seq" else e.value)

    def _Var(self, e: core.Var) -> Code:
        bound = self.resolve(e)
        if bound is not e:
            return self.as_type(bound, e.type)
        at = self.variable(e.var)
        if rep(e.var.type) == "seq":
            return Code(lambda s: unpack_seq(s[at]))
        return Code(itemgetter(at))

    def _Read(self, e: core.Read) -> Code:
        place = e.place.place
        slot = self.slot(e.place)
        address = self.address(e.place)
        if slot.const:
            i = slot.value
            get: Fn = itemgetter(i)
        elif address is not None:
            offset, v = address

            def get(s: State) -> int:
                return s[offset + s[v]]

        else:
            f = slot.fn

            def get(s: State) -> int:
                return s[f(s)]

        if place.word == "pile":
            universe = self.layout.universe(place.type)
            inner = get
            return Code(lambda s: universe.unpack(inner(s)))
        if place.word == "slot" and isinstance(e.type, SetT):
            universe = self.layout.universe(place.type)
            held = get
            return Code(lambda s: 0 if held(s) < 0 else universe.unit(held(s)))
        if place.word == "status" and rep(place.type) == "seq":
            packed = get
            return Code(lambda s: unpack_seq(packed(s)))
        return Code(get)

    def _PlayerCount(self, e: core.PlayerCount) -> Code:
        return constant(self.layout.players)

    def _Players(self, e: core.Players) -> Code:
        return constant((1 << self.layout.players) - 1)

    def _OptionValue(self, e: core.OptionValue) -> Code:
        return constant(self.layout.options[e.option.name])

    def _Count(self, e: core.Count) -> Code:
        base = e.base
        if isinstance(base, core.Read) and base.place.place.word == "pile":
            universe = self.layout.universe(base.place.place.type)
            slot = self.slot(base.place).fn
            return Code(lambda s: universe.length(s[slot(s)]))
        if isinstance(base, core.Filter) and rep(base.type) == "seq":
            return self._count_those(base)
        code = self.expr(base)
        fn, form = code.fn, rep(base.type)
        if isinstance(base, core.Span_):
            return self.fold(lambda s: len(fn(s)), code)
        if form == "mask":
            return self.fold(lambda s: fn(s).bit_count(), code)
        if form == "bag":
            universe = self.layout.universe(base.type)
            if universe.width == 1:
                return self.fold(lambda s: fn(s).bit_count(), code)
            modulus = universe.modulus
            return self.fold(lambda s: fn(s) % modulus, code)
        return self.fold(lambda s: len(fn(s)), code)

    def _count_those(self, e: core.Filter) -> Code:
        """`number of opponents who ...`: counted without being listed."""
        each, at, test = self.looked(e, e.base, self.seq(e.base)), self.variable(e.var), self.expr(e.test).fn

        def fn(s: State) -> int:
            n = 0
            for x in each(s):
                s[at] = x
                if test(s):
                    n += 1
            return n

        return Code(fn)

    def _FieldOf(self, e: core.FieldOf) -> Code:
        values, keys = field_values(self.layout, e.item.type, e.name)
        item = self.expr(e.item)
        sequence = rep(e.type) == "seq"
        codes = [self.expr(k) for k in e.keys]
        get, span, name = item.fn, e.span, e.name
        dims = [self.layout.key_size(t) for t in keys]
        lows = [self.layout.key_low(t) for t in keys]
        if all(c.const for c in codes):
            at = 0
            for c, dim, low in zip(codes, dims, lows, strict=True):
                at = at * dim + c.value - low
            column = tuple(row[at] if at < len(row) else None for row in values)

            def plain_field(s: State) -> Any:
                k = get(s)
                found = column[k] if k >= 0 else None
                if found is None:
                    raise self._no_field(k, name, span)
                return found

            fn: Fn = plain_field
            if None not in column and not isinstance(e.item.type, MaybeT):

                def fn(s: State) -> Any:
                    return column[get(s)]

        else:
            fns = tuple((c.fn, dim, low) for c, dim, low in zip(codes, dims, lows, strict=True))

            def fn(s: State) -> Any:
                k = get(s)
                at = 0
                for f, dim, low in fns:
                    at = at * dim + f(s) - low
                row = values[k] if k >= 0 else ()
                if not 0 <= at < len(row):
                    raise self._no_field(k, name, span)
                return row[at]

        if sequence:
            packed = fn
            return self.fold(lambda s: unpack_seq(packed(s)), item, *codes)
        return self.fold(fn, item, *codes)

    @staticmethod
    def _no_field(k: int, name: str, span: Span) -> Exception:
        return error_at(f"`{name}` of none" if k < 0 else f"this has no `{name}`", core.Origin(span))

    def _TableAt(self, e: core.TableAt) -> Code:
        codes = [self.expr(k) for k in e.keys]
        dims = [self.layout.key_size(t) for t in e.table.keys]
        lows = [self.layout.key_low(t) for t in e.table.keys]
        values, name, span = e.table.values, e.table.name, e.span
        parts = tuple((c.fn, dim, low) for c, dim, low in zip(codes, dims, lows, strict=True))

        def fn(s: State) -> int:
            at = 0
            for f, dim, low in parts:
                k = f(s) - low
                if not 0 <= k < dim:
                    raise error_at(f"`{name}` has no value for {k + low}", core.Origin(span))
                at = at * dim + k
            return values[at]

        return self.fold(fn, *codes)

    # ------------------------------------------------------------ arithmetic and tests

    def _Sum(self, e: core.Sum) -> Code:
        terms = [(sign, self.expr(x)) for sign, x in e.terms]
        base = sum(sign * c.value for sign, c in terms if c.const)
        moving = [(sign, c.fn) for sign, c in terms if not c.const]
        if not moving:
            return constant(base)
        if len(moving) == 1:
            sign, f = moving[0]
            return Code((lambda s: base + f(s)) if sign > 0 else (lambda s: base - f(s)))
        if len(moving) == 2 and base == 0:
            (a, f), (b, g) = moving
            if a > 0 and b > 0:
                return Code(lambda s: f(s) + g(s))
            if a > 0:
                return Code(lambda s: f(s) - g(s))
        table = tuple(moving)

        def fn(s: State) -> Any:
            total = base
            for sign, f in table:
                total += sign * f(s)
            return total

        return Code(fn)

    def _Product(self, e: core.Product) -> Code:
        left, right = self.expr(e.left), self.expr(e.right)
        f, g, span = left.fn, right.fn, e.span

        def times(s: State) -> int:
            found = int(f(s) * g(s))
            if not -NUMBER <= found <= NUMBER:
                raise error_at("a number beyond 2 to the power of 53", core.Origin(span))
            return found

        return self.fold(times, left, right)

    def _Quotient(self, e: core.Quotient) -> Code:
        left, right = self.expr(e.left), self.expr(e.right)
        f, g, up, span = left.fn, right.fn, e.up, e.span

        def fn(s: State) -> int:
            by = g(s)
            if by == 0:
                raise error_at("divided by 0", core.Origin(span))
            return int(-(-f(s) // by) if up else f(s) // by)

        return Code(fn) if right.const and right.value == 0 else self.fold(fn, left, right)

    def _Remainder(self, e: core.Remainder) -> Code:
        left, right = self.expr(e.left), self.expr(e.right)
        f, g, span = left.fn, right.fn, e.span

        def fn(s: State) -> int:
            by = g(s)
            if by == 0:
                raise error_at("divided by 0", core.Origin(span))
            return int(f(s) % by)

        return Code(fn) if right.const and right.value == 0 else self.fold(fn, left, right)

    def _Compare(self, e: core.Compare) -> Code:
        left, right = self.expr(e.left), self.expr(e.right)
        f, g = left.fn, right.fn
        if right.const and not left.const:
            k = right.value
            table: dict[str, Fn] = {
                "==": lambda s: f(s) == k, "!=": lambda s: f(s) != k, "<": lambda s: f(s) < k,
                "<=": lambda s: f(s) <= k, ">": lambda s: f(s) > k, ">=": lambda s: f(s) >= k,
            }  # fmt: skip
            return Code(table[e.op])
        both: dict[str, Fn] = {
            "==": lambda s: f(s) == g(s), "!=": lambda s: f(s) != g(s), "<": lambda s: f(s) < g(s),
            "<=": lambda s: f(s) <= g(s), ">": lambda s: f(s) > g(s), ">=": lambda s: f(s) >= g(s),
        }  # fmt: skip
        return self.fold(both[e.op], left, right)

    def _SameSet(self, e: core.SameSet) -> Code:
        left, right = self.expr(e.left), self.expr(e.right)
        f, g = self._to_seq(left.fn, rep(e.left.type), e.left.type), self._to_seq(right.fn, rep(e.right.type), e.right.type)
        f, g = self.looked(e, e.left, f), self.looked(e, e.right, g)
        return self.fold(lambda s: sorted(f(s)) == sorted(g(s)), left, right)

    def _All(self, e: core.All) -> Code:
        codes = [self.expr(x) for x in e.items]
        if any(c.const and not c.value for c in codes):
            return constant(False)
        moving = tuple(c.fn for c in codes if not c.const)
        if not moving:
            return constant(True)
        if len(moving) == 1:
            return Code(moving[0])
        if len(moving) == 2:
            f, g = moving
            return Code(lambda s: f(s) and g(s))
        return Code(lambda s: all(f(s) for f in moving))

    def _AnyOf(self, e: core.AnyOf) -> Code:
        codes = [self.expr(x) for x in e.items]
        if any(c.const and c.value for c in codes):
            return constant(True)
        moving = tuple(c.fn for c in codes if not c.const)
        if not moving:
            return constant(False)
        if len(moving) == 1:
            return Code(moving[0])
        if len(moving) == 2:
            f, g = moving
            return Code(lambda s: f(s) or g(s))
        return Code(lambda s: any(f(s) for f in moving))

    def _Not(self, e: core.Not) -> Code:
        item = self.expr(e.item)
        f = item.fn
        return self.fold(lambda s: not f(s), item)

    # ------------------------------------------------------------ clauses

    def _printed_mask(self, var: core.Variable, base: core.Expr, test: core.Expr) -> int | None:
        """Where a clause reads nothing but the candidate's printed fields: the mask of those who pass it."""
        if rep(base.type) == "seq" or not isinstance(base.type, SetT):
            return None
        item = plain(base.type.item)
        if not isinstance(item, KindT | PieceT) or not self._reads_only(test, var):
            return None
        code = self.expr(test)
        at = self.variable(var)
        s = self.dummy()
        mask = 0
        if isinstance(item, KindT):
            for k in range(len(self.layout.game.kinds[item.kind].members)):
                s[at] = k
                mask |= (1 << k) if code.fn(s) else 0
            return mask
        universe = self.layout.universe(item)
        for c, cls in enumerate(universe.classes):
            if cls.kind in item.kinds:
                s[at] = c
                mask |= universe.field_mask(c) if code.fn(s) else 0
        return mask

    def _reads_only(self, e: object, var: core.Variable) -> bool:
        if isinstance(e, core.Var):
            e = self.resolve(e)
            return e.var is var if isinstance(e, core.Var) else self._reads_only(e, var)
        if isinstance(
            e,
            core.Read
            | core.Nth
            | core.PositionOf
            | core.Call
            | core.LetIn
            | core.Compute
            | core.Filter
            | core.Exists
            | core.ForAll
            | core.Over,
        ):
            return False
        if isinstance(e, tuple):
            return all(self._reads_only(x, var) for x in e)
        if isinstance(e, core.Value) and has(type(e)):
            return all(self._reads_only(getattr(e, f.name), var) for f in fields(type(e)) if f.name not in ("span", "source", "type"))
        return True

    def _by_field(self, var: core.Variable, base: core.Expr, test: core.Expr) -> tuple[tuple[int, ...], Fn] | None:
        """`where role is r`: one mask for each value of the printed field."""
        if not (isinstance(test, core.Compare) and test.op == "==" and rep(base.type) in ("bag", "mask")):
            return None
        left, right = test.left, test.right
        if not (isinstance(left, core.FieldOf) and isinstance(left.item, core.Var) and left.item.var is var and not left.keys):
            return None
        if self._mentions(right, var) or not isinstance(plain(right.type), KindT) or not isinstance(base.type, SetT):
            return None
        kind = plain(right.type)
        assert isinstance(kind, KindT)
        values, _ = field_values(self.layout, left.item.type, left.name)
        item = plain(base.type.item)
        unit = self.layout.universe(item).field_mask if isinstance(item, PieceT) else (lambda k: 1 << k)
        masks = [0] * len(self.layout.game.kinds[kind.kind].members)
        for c, row in enumerate(values):
            if row and row[0] >= 0:
                masks[row[0]] |= unit(c)
        return tuple(masks), self.expr(right).fn

    def _mentions(self, e: object, var: core.Variable) -> bool:
        if isinstance(e, core.Var):
            e = self.resolve(e)
            return e.var is var if isinstance(e, core.Var) else self._mentions(e, var)
        if isinstance(e, tuple):
            return any(self._mentions(x, var) for x in e)
        if isinstance(e, core.PlaceRef):
            return self._mentions((e.owner, e.keys), var)
        if isinstance(e, core.Value) and has(type(e)):
            return any(self._mentions(getattr(e, f.name), var) for f in fields(type(e)) if f.name not in ("span", "source", "type"))
        return False

    def _Filter(self, e: core.Filter) -> Code:
        base = self.expr(e.base)
        get, form = base.fn, rep(e.base.type)
        mask = self._printed_mask(e.var, e.base, e.test)
        if mask is not None:
            return self.fold(lambda s: get(s) & mask, base)
        chosen = self._by_field(e.var, e.base, e.test)
        if chosen is not None:
            masks, value = chosen
            return Code(lambda s: get(s) & masks[value(s)])
        at, test = self.variable(e.var), self.expr(e.test).fn
        if form == "seq":
            through = self.looked(e, e.base, get)

            def sequence(s: State) -> tuple[int, ...]:
                found = []
                for x in through(s):
                    s[at] = x
                    if test(s):
                        found.append(x)
                return tuple(found)

            return Code(sequence)
        if form == "bag":
            universe = self.layout.universe(e.base.type)
            fields_of = universe.field_masks
            each = self.looked(e, e.base, self.distinct(e.base))

            def bag(s: State) -> int:
                whole, found = get(s), 0
                for c in each(s):
                    s[at] = c
                    if test(s):
                        found |= whole & fields_of[c]
                return found

            return Code(bag)

        through = self.looked(e, e.base, self._to_seq(get, form, e.base.type))
        if base.const and self.cost.of(e) <= LITTLE:  # players, or a whole kind: one closure call for each, and nothing else
            bits = tuple((x, 1 << x) for x in members(base.value))

            def mask_of_all(s: State) -> int:
                found = 0
                for x, bit in bits:
                    s[at] = x
                    if test(s):
                        found |= bit
                return found

            return Code(mask_of_all)

        def mask_passing(s: State) -> int:
            found = 0
            for x in through(s):
                s[at] = x
                if test(s):
                    found |= 1 << x
            return found

        return Code(mask_passing)

    def _Exists(self, e: core.Exists) -> Code:
        base = self.expr(e.base)
        get = base.fn
        mask = self._printed_mask(e.var, e.base, e.test)
        if mask is not None:
            address = self.address(e.base.place) if isinstance(e.base, core.Read) and e.base.place.place.word == "zone" else None
            if address is not None:
                offset, v = address
                return Code(lambda s: s[offset + s[v]] & mask != 0)
            return self.fold(lambda s: get(s) & mask != 0, base)
        chosen = self._by_field(e.var, e.base, e.test)
        if chosen is not None:
            masks, value = chosen
            return Code(lambda s: get(s) & masks[value(s)] != 0)
        at, test, each = self.variable(e.var), self.expr(e.test).fn, self.looked(e, e.base, self.distinct(e.base))

        def fn(s: State) -> bool:
            for x in each(s):
                s[at] = x
                if test(s):
                    return True
            return False

        return Code(fn)

    def _ForAll(self, e: core.ForAll) -> Code:
        at, test, each = self.variable(e.var), self.expr(e.test).fn, self.looked(e, e.base, self.distinct(e.base))

        def fn(s: State) -> bool:
            for x in each(s):
                s[at] = x
                if not test(s):
                    return False
            return True

        return Code(fn)

    def _FirstOf(self, e: core.FirstOf) -> Code:
        if isinstance(e.base, core.Filter) and not e.last:
            inner = e.base
            at, test, each = self.variable(inner.var), self.expr(inner.test).fn, self.distinct(inner.base)
            if rep(inner.base.type) == "seq":
                each = self.seq(inner.base)
            each = self.looked(inner, inner.base, each)

            def first(s: State) -> int:
                for x in each(s):
                    s[at] = x
                    if test(s):
                        return int(x)
                return -1

            return Code(first)
        code = self.expr(e.base)
        items = self.seq(e.base)
        index = -1 if e.last else 0

        def fn(s: State) -> int:
            found = items(s)
            return found[index] if len(found) else -1

        return self.fold(fn, code)

    def _Over(self, e: core.Over) -> Code:
        at, value, op, span = self.variable(e.var), self.expr(e.value).fn, e.op, e.span
        if op == "total" and rep(e.base.type) == "bag":
            universe = self.layout.universe(e.base.type)
            if universe.width > 1:
                get = self.expr(e.base).fn
                items = self.looked(e, e.base, lambda s: universe.items(get(s)))

                def weighted(s: State) -> int:
                    total = 0
                    for c, n in items(s):
                        s[at] = c
                        total += n * value(s)
                    return total

                return Code(weighted)
        each = self.looked(e, e.base, self.seq(e.base))
        if op == "total":

            def total_of(s: State) -> int:
                total = 0
                for x in each(s):
                    s[at] = x
                    total += value(s)
                return total

            return Code(total_of)
        best = max if op == "largest" else min

        def extreme(s: State) -> int:
            found: list[int] = []
            for x in each(s):
                s[at] = x
                found.append(value(s))
            if not found:
                raise error_at(f"the {op} of nothing", core.Origin(span))
            return best(found)

        return Code(extreme)

    def _Contains(self, e: core.Contains) -> Code:
        item, base = self.expr(e.item), self.expr(e.base)
        f, g, form = item.fn, base.fn, rep(e.base.type)
        if form == "mask":
            return self.fold(lambda s: f(s) >= 0 and g(s) >> f(s) & 1 == 1, item, base)
        if form == "bag":
            universe = self.layout.universe(e.base.type)
            return self.fold(lambda s: f(s) >= 0 and g(s) & universe.field_mask(f(s)) != 0, item, base)
        return self.fold(lambda s: f(s) in g(s), item, base)

    # ------------------------------------------------------------ groups

    def _ListOf(self, e: core.ListOf) -> Code:
        codes = [self.expr(x) for x in e.items]
        if rep(e.type) == "bag":
            universe = self.layout.universe(e.type)
            return self.fold(lambda s: sum(universe.unit(c.fn(s)) for c in codes), *codes)

        masked = told_at(e.span, mask_of)
        return self.fold(lambda s: masked(c.fn(s) for c in codes), *codes)

    def _Span_(self, e: core.Span_) -> Code:
        low, high = self.expr(e.low), self.expr(e.high)
        f, g = low.fn, high.fn
        return self.fold(lambda s: range(f(s), g(s) + 1), low, high)

    def _ring(self, t: Type) -> int:
        item = plain(t.item if isinstance(t, SetT) else t)
        return len(self.layout.game.kinds[item.kind].members) if isinstance(item, KindT) else self.layout.players

    def _Arranged(self, e: core.Arranged) -> Code:
        base, start = self.expr(e.base), self.expr(e.start)
        items, f, n, shift = self.seq(e.base), start.fn, self._ring(e.type), 1 if e.after else 0
        if base.const:
            whole = tuple(base.fn(self.dummy())) if rep(e.base.type) == "seq" else members(base.value)
            table = tuple(tuple(sorted(whole, key=lambda x: (x - at - shift) % n)) for at in range(n))
            return self.fold(lambda s: table[f(s)], start)

        def turned(s: State) -> tuple[int, ...]:
            first = f(s) + shift
            return tuple(sorted(items(s), key=lambda x: (x - first) % n))

        return Code(turned)

    def _Reversed(self, e: core.Reversed) -> Code:
        base = self.expr(e.base)
        items = self.looked(e, e.base, self.seq(e.base))
        return self.fold(lambda s: items(s)[::-1], base)

    def _Others(self, e: core.Others) -> Code:
        player = self.expr(e.player)
        f, n = player.fn, self.layout.players
        table = tuple(tuple((p + k) % n for k in range(1, n)) for p in range(n))
        return self.fold(lambda s: table[f(s)], player)

    def _OfKind(self, e: core.OfKind) -> Code:
        base = self.expr(e.base)
        get = base.fn
        universe = self.layout.universe(e.type)
        good = {c for c, cls in enumerate(universe.classes) if cls.kind in e.kinds}
        if rep(e.base.type) == "seq":
            return Code(lambda s: universe.bag([c for c in get(s) if c in good]))
        mask = sum(universe.field_mask(c) for c in good)
        return self.fold(lambda s: get(s) & mask, base)

    # ------------------------------------------------------------ definitions

    def _Case(self, e: core.Case) -> Code:
        cases = [(self.expr(t), self.as_type(v, e.type)) for t, v in e.cases]
        default = self.as_type(e.default, e.type)
        moving: list[tuple[Fn, Fn]] = []
        for test, value in cases:
            if test.const:
                if test.value:
                    default = value
                    break
                continue
            moving.append((test.fn, value.fn))
        if not moving:
            return default
        if len(moving) == 1:
            (t, v), d = moving[0], default.fn
            return Code(lambda s: v(s) if t(s) else d(s))
        table, last = tuple(moving), default.fn

        def fn(s: State) -> Any:
            for t, v in table:
                if t(s):
                    return v(s)
            return last(s)

        return Code(fn)

    def _LetIn(self, e: core.LetIn) -> Code:
        value = self.as_type(e.value, e.var.type)
        at, f, keep = self.variable(e.var), value.fn, self.store(e.var.type, e.value.span)
        body = self.expr(e.body).fn
        if keep is int:

            def fn(s: State) -> Any:
                s[at] = f(s)
                return body(s)

        else:

            def fn(s: State) -> Any:
                s[at] = keep(f(s))
                return body(s)

        return Code(fn)

    def _Demand(self, e: core.Demand) -> Code:
        test, body, span = self.expr(e.test).fn, self.expr(e.body).fn, e.span

        def fn(s: State) -> Any:
            if not test(s):
                raise error_at(f"what this definition needs does not hold: `{span.text.removeprefix('needs ')}`", core.Origin(span))
            return body(s)

        return Code(fn)

    def _Call(self, e: core.Call) -> Code:
        args = [self.resolve(a) for a in e.args]
        assert e.function.body is not None
        if all(isinstance(a, core.Var | core.Const | core.PlayerCount | core.OptionValue) for a in args):
            return self._unfold(e, args)
        return self._call(e)

    def _unfold(self, e: core.Call, args: Sequence[core.Expr]) -> Code:
        """Arguments that cannot change are put in place of the parameters: `laid guards` becomes one mask."""
        key = (id(e.function), tuple(a.var if isinstance(a, core.Var) else (type(a), getattr(a, "value", None)) for a in args))
        found = self.unfolded.get(key)
        if found is None:
            if len(self.unfolded) > 5000:
                return self._call(e)
            outer = self.env
            self.env = {**outer, **dict(zip(e.function.params, args, strict=True))}
            assert e.function.body is not None
            found = self.expr(e.function.body)
            self.env = outer
            self.unfolded[key] = found
        return found

    def _call(self, e: core.Call) -> Code:
        """Arguments into slots of their own, then the one closure of the definition."""
        known = self.called.get(id(e.function))
        if known is None:
            slots = [self.variable(p) for p in e.function.params]
            holder: list[Fn] = []
            self.called[id(e.function)] = (slots, holder)
            outer, self.env = self.env, {k: v for k, v in self.env.items() if k not in e.function.params}
            assert e.function.body is not None
            holder.append(self.expr(e.function.body).fn)
            self.env = outer
            known = (slots, holder)
        slots, holder = known
        body = holder[0]
        fns = [self.as_type(a, p.type).fn for a, p in zip(e.args, e.function.params, strict=True)]
        keeps = [self.store(p.type, a.span) for a, p in zip(e.args, e.function.params, strict=True)]
        if len(slots) == 1 and keeps[0] is int:
            at, f = slots[0], fns[0]

            def one(s: State) -> Any:
                s[at] = f(s)
                return body(s)

            return Code(one)

        def fn(s: State) -> Any:
            values = [keep(f(s)) for f, keep in zip(fns, keeps, strict=True)]
            for at, value in zip(slots, values, strict=True):
                s[at] = value
            return body(s)

        return Code(fn)

    def _Compute(self, e: core.Compute) -> Code:
        assert self.run_pure is not None
        body = self.run_pure(self, e.body)
        result = self.expr(e.result).fn

        def fn(s: State) -> Any:
            body(s)
            return result(s)

        return Code(fn)

    # ------------------------------------------------------------ pieces

    def _Nth(self, e: core.Nth) -> Code:
        universe = self.layout.universe(e.place.place.type)
        slot, index, span = self.slot(e.place).fn, self.expr(e.index), e.span
        bits, mask = universe.item_bits, (1 << universe.item_bits) - 1
        if index.const and index.value == 1:
            return Code(lambda s: (s[slot(s)] & mask) - 1)
        f = index.fn

        def fn(s: State) -> int:
            packed, i = s[slot(s)], f(s)
            if i < 0:
                i = universe.length(packed)
                return -1 if i == 0 else ((packed >> (bits * (i - 1))) & mask) - 1
            if not 1 <= i <= universe.length(packed):
                raise error_at(f"there is no number {i} in this pile", core.Origin(span))
            return int((packed >> (bits * (i - 1))) & mask) - 1

        return Code(fn)

    def _OwnerOf(self, e: core.OwnerOf) -> Code:
        item = self.expr(e.item)
        universe = self.layout.universe(e.item.type)
        owners = tuple(c.owner for c in universe.classes)
        f, span = item.fn, e.span

        def fn(s: State) -> int:
            c = f(s)
            owner = owners[c] if c >= 0 else -1
            if owner < 0:
                raise error_at("this piece has no owner", core.Origin(span))
            return owner

        return self.fold(fn, item)

    def _Sure(self, e: core.Sure) -> Code:
        item = self.expr(e.item)
        f, span = item.fn, e.span

        def fn(s: State) -> Any:
            found = f(s)
            if found == -1:
                raise error_at(f"`{span.text}` is none here", core.Origin(span))
            return found

        return Code(fn)

    def _Within(self, e: core.Within) -> Code:
        item = self.expr(e.item)
        f, about, span = item.fn, e.about, e.span
        low, high = -NUMBER if e.low is None else e.low, NUMBER if e.high is None else e.high
        maybe = isinstance(e.type, MaybeT)
        shown = f"{'' if e.low is None else e.low}..{'' if e.high is None else e.high}"

        def fn(s: State) -> int:
            found: int = f(s)
            if not low <= found <= high and not (maybe and found == -1):
                raise error_at(f"{about} would be {found}, outside of {shown}", core.Origin(span))
            return found

        return Code(fn)

    def _PositionOf(self, e: core.PositionOf) -> Code:
        universe = self.layout.universe(e.place.place.type)
        slot, item, span = self.slot(e.place).fn, self.expr(e.item).fn, e.span

        def fn(s: State) -> int:
            c = item(s)
            lying = universe.unpack(s[slot(s)])
            if c not in lying:
                raise error_at("this piece does not lie in the pile", core.Origin(span))
            return lying.index(c) + 1

        return Code(fn)
