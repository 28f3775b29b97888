"""Core actions to closures that change the state in place.  With `emit` each also reports what it did: that is the
traced build; the fast build has no trace of it."""

from collections.abc import Callable, Sequence

from attrs import define

from rulelang.core import nodes as core
from rulelang.core.types import NumberT
from rulelang.graph.layout import Universe, error_at
from rulelang.limits import MEMBERS, NUMBER
from rulelang.runtime.events import AnyEvent, Became, Counted, Moved, Said
from rulelang.runtime.values import Fn, State, Values, rep

Effect = Callable[[State], None]
Emit = Callable[[AnyEvent], None]
NO_LIMIT = NUMBER


@define(eq=False)
class Effects(Values):
    emit: Emit | None = None
    ruled: frozenset[int] = frozenset()  # moves that say themselves which pieces they take

    def as_run(self, body: tuple[core.Statement, ...]) -> tuple[core.Statement, ...]:
        """The statements as this build runs them."""
        return body

    def effect(self, a: core.Action) -> Effect:
        match a:
            case core.Change():
                return self._change(a)
            case core.SetTo():
                return self._set(a)
            case core.MovePieces():
                return self._move(a)
            case core.MoveCount():
                return self._move_count(a)
            case core.Bind():
                return self._bind(a)
            case core.Need():
                return self._need(a)
            case core.Say():
                return self._say(a)
        raise AssertionError(a)

    # ------------------------------------------------------------ values

    def limits(self, place: core.Place) -> tuple[int, int]:
        low = -NO_LIMIT if place.low is None else self.settled(place.low)
        return low, NO_LIMIT if place.high is None else self.settled(place.high)

    def _change(self, a: core.Change) -> Effect:
        slot, amount = self.slot(a.place), self.expr(a.amount)
        place = a.place.place
        low, high = self.limits(place)
        at, by, sign, origin = slot.fn, amount.fn, a.sign, a.origin
        stops_low, stops_high, emit = place.stops_low, place.stops_high, self.emit

        def change(s: State) -> None:
            i = at(s)
            old = s[i]
            new = wanted = old + sign * by(s)
            if new > high:
                if not stops_high:
                    raise error_at(f"`{place.name}` would be {new}, beyond {high}", origin)
                new = high
            elif new < low:
                if not stops_low:
                    raise error_at(f"`{place.name}` would be {new}, below {low}", origin)
                new = low
            s[i] = new
            if emit is not None and (new != old or wanted != new):
                emit(Counted(origin, place, i, old, new, wanted - new))

        if emit is None and slot.const and amount.const:  # the commonest line of a rulebook: raise this by that
            i, step = slot.value, sign * amount.value
            if step >= 0:

                def up(s: State) -> None:
                    new = s[i] + step
                    if new > high:
                        if not stops_high:
                            raise error_at(f"`{place.name}` would be {new}, beyond {high}", origin)
                        new = high
                    s[i] = new

                return up
        return change

    def _set(self, a: core.SetTo) -> Effect:
        place, origin, emit = a.place.place, a.origin, self.emit
        value = self.as_type(a.value, place.type)
        get, keep = value.fn, self.store(place.type, a.value.span)
        if place.keys and not a.place.keys and place.visibility == "local":
            first, size = self.layout.slots[place], self.layout.sizes[place]

            def start(s: State) -> None:
                s[first : first + size] = [keep(get(s))] * size

            return start
        at = self.slot(a.place).fn
        is_counter = place.word == "counter"
        low, high = self.limits(place) if is_counter else _status_range(place)
        local = place.visibility == "local"

        def put(s: State) -> None:
            new = keep(get(s))
            if not low <= new <= high:
                if not is_counter or (new > high and not place.stops_high) or (new < low and not place.stops_low):
                    shown = new if new.bit_length() < 100 else "so much"
                    raise error_at(f"`{place.name}` would be {shown}, outside of its range", origin)
                new = max(low, min(high, new))
            i = at(s)
            old = s[i]
            s[i] = new
            if emit is not None and new != old and not local:
                emit((Counted(origin, place, i, old, new, 0)) if is_counter else Became(origin, place, i, old, new))

        return put

    def _bind(self, a: core.Bind) -> Effect:
        at = self.variable(a.var)
        get, keep = self.as_type(a.value, a.var.type).fn, self.store(a.var.type, a.value.span)
        if keep is int:

            def bind(s: State) -> None:
                s[at] = get(s)

            return bind

        def bind_packed(s: State) -> None:
            s[at] = keep(get(s))

        return bind_packed

    def _need(self, a: core.Need) -> Effect:
        test, origin = self.expr(a.test).fn, a.origin

        def need(s: State) -> None:
            if not test(s):
                raise error_at("what this rule needs does not hold: `" + origin.span.text.removeprefix("needs ") + "`", origin)

        return need

    def _say(self, a: core.Say) -> Effect:
        values, emit = self.told(a.text), self.emit
        assert emit is not None

        def say(s: State) -> None:
            emit(Said(a.origin, a.text, values(s)))

        return say

    def told(self, text: core.Text) -> Callable[[State], tuple[int, ...]]:
        """The values in a text, as they are stored."""
        parts = [(self.expr(e).fn, self.store(e.type, e.span)) for e in text.values]
        return lambda s: tuple(keep(get(s)) for get, keep in parts)

    # ------------------------------------------------------------ pieces

    def _move(self, a: core.MovePieces) -> Effect:
        universe = self.layout.universe(a.source.place.type)
        what = self.expr(a.what)
        form = rep(a.what.type)
        source, goal, origin = self.slot(a.source), self.slot(a.goal), a.origin
        if form in ("bag", "int") and a.source.place.word == "zone" and a.goal.place.word == "zone":
            return self._zone_to_zone(a, universe, what.fn, form, source.fn, goal.fn)
        pieces = self._pieces(a.what, universe)
        take, put = self._taker(a.source.place, universe, origin), self._putter(a.goal.place, universe, a.under, origin)
        get_source, get_goal, emit = source.fn, goal.fn, self.emit
        source_place, goal_place, under, ruled = a.source.place, a.goal.place, a.under, id(a) in self.ruled

        def move(s: State) -> None:
            classes = pieces(s)
            if not classes:
                return
            i, j = get_source(s), get_goal(s)
            taken = take(s, i, classes)
            put(s, j, classes)
            if emit is not None:
                emit(Moved(origin, tuple(classes), source_place, i, goal_place, j, under, taken, ruled))

        return move

    def _zone_to_zone(self, a: core.MovePieces, universe: Universe, what: Fn, form: str, source: Fn, goal: Fn) -> Effect:
        units = universe.units
        single, narrow, origin, emit, ruled = form == "int", universe.width == 1, a.origin, self.emit, id(a) in self.ruled
        sure = isinstance(a.what, core.Read) and a.what.place == a.source

        def move(s: State) -> None:
            x = what(s)
            if single:
                if x < 0:
                    raise error_at("there is nothing to move", origin)
                x = units[x]
            i, j = source(s), goal(s)
            have = s[i]
            if not sure and (x & ~have if narrow else not _within(universe, x, have)):
                raise error_at(f"these pieces do not lie in `{a.source.place.name}`", origin)
            s[i] = have - x
            s[j] += x
            if emit is not None and x:
                classes = tuple(c for c, n in universe.items(x) for _ in range(n))
                emit(Moved(origin, classes, a.source.place, i, a.goal.place, j, False, (), ruled))

        return move

    def _pieces(self, e: core.Expr, universe: Universe) -> Callable[[State], Sequence[int]]:
        fn, form = self.expr(e).fn, rep(e.type)
        if form == "int":

            def one(s: State) -> Sequence[int]:
                c = fn(s)
                if c < 0:
                    raise error_at("there is nothing to move", core.Origin(e.span))
                return (c,)

            return one
        if form == "bag":
            return lambda s: [c for c, n in universe.items(fn(s)) for _ in range(n)]
        return lambda s: tuple(fn(s))

    def _taker(self, place: core.Place, universe: Universe, origin: core.Origin) -> Callable[[State, int, Sequence[int]], tuple[int, ...]]:
        def from_zone(s: State, i: int, classes: Sequence[int]) -> tuple[int, ...]:
            x = universe.bag(tuple(classes))
            if not _within(universe, x, s[i]):
                raise error_at(f"these pieces do not lie in `{place.name}`", origin)
            s[i] -= x
            return ()

        def from_pile(s: State, i: int, classes: Sequence[int]) -> tuple[int, ...]:
            bits = universe.item_bits
            if len(classes) == 1 and (s[i] & ((1 << bits) - 1)) - 1 == classes[0]:
                s[i] >>= bits
                return (0,)
            rest, taken = list(universe.unpack(s[i])), []
            for c in classes:
                if c not in rest:
                    raise error_at(f"these pieces do not lie in `{place.name}`", origin)
                at = rest.index(c)
                taken.append(at)
                rest[at] = -1
            s[i] = universe.pack([c for c in rest if c >= 0])
            return tuple(taken)

        def from_slot(s: State, i: int, classes: Sequence[int]) -> tuple[int, ...]:
            if len(classes) != 1 or s[i] != classes[0]:
                raise error_at(f"this piece does not lie in `{place.name}`", origin)
            s[i] = -1
            return ()

        return {"zone": from_zone, "pile": from_pile, "slot": from_slot}[place.word]

    def _putter(
        self, place: core.Place, universe: Universe, under: bool, origin: core.Origin
    ) -> Callable[[State, int, Sequence[int]], None]:
        def to_zone(s: State, i: int, classes: Sequence[int]) -> None:
            s[i] += universe.bag(tuple(classes))

        def to_pile(s: State, i: int, classes: Sequence[int]) -> None:
            bits = universe.item_bits
            if under:
                s[i] |= universe.pack(tuple(classes)) << (bits * universe.length(s[i]))
            else:
                s[i] = (s[i] << (bits * len(classes))) | universe.pack(tuple(classes))

        def to_slot(s: State, i: int, classes: Sequence[int]) -> None:
            if s[i] >= 0 or len(classes) != 1:
                raise error_at(f"`{place.name}` holds one piece only", origin)
            s[i] = classes[0]

        return {"zone": to_zone, "pile": to_pile, "slot": to_slot}[place.word]

    def _move_count(self, a: core.MoveCount) -> Effect:
        universe = self.layout.universe(a.source.place.type)
        count, source, goal, origin = self.expr(a.count).fn, self.slot(a.source).fn, self.slot(a.goal).fn, a.origin
        take, put = self._taker(a.source.place, universe, origin), self._putter(a.goal.place, universe, a.under, origin)
        word, name, emit, ruled = a.source.place.word, a.source.place.name, self.emit, id(a) in self.ruled

        def some(s: State, n: int, i: int) -> Sequence[int]:
            if word == "pile":
                return universe.unpack(s[i])[:n]
            if word == "slot":
                return (s[i],) if s[i] >= 0 and n else ()
            items = universe.items(s[i])
            if len(items) > 1 and universe.size(s[i]) > n:
                raise error_at(f"the pieces in `{name}` have different owners: which ones?", origin)
            return [c for c, k in items for _ in range(k)][:n]

        def move(s: State) -> None:
            n = count(s)
            if n < 0:
                raise error_at(f"{n} pieces cannot be moved", origin)
            if n == 0:
                return
            i, j = source(s), goal(s)
            classes = some(s, n, i)
            if len(classes) < n:
                raise error_at(f"`{name}` holds {len(classes)}, not {n}", origin)
            taken = take(s, i, classes)
            put(s, j, classes)
            if emit is not None:
                emit(Moved(origin, tuple(classes), a.source.place, i, a.goal.place, j, a.under, taken, ruled))

        if word == "pile":

            def from_top(s: State, i: int, classes: Sequence[int]) -> tuple[int, ...]:
                s[i] >>= universe.item_bits * len(classes)
                return tuple(range(len(classes)))

            take = from_top
        return move


def _status_range(place: core.Place) -> tuple[int, int]:
    if isinstance(place.type, NumberT):
        low, high = place.type.low, place.type.high
        return (-NO_LIMIT if low is None else low), (NO_LIMIT if high is None else high)
    return -1, 1 << (MEMBERS * 17)  # a group as one integer, in the longest form that it can have


def _within(universe: Universe, x: int, have: int) -> bool:
    if universe.width == 1:
        return not x & ~have
    return all((have >> (c * universe.width)) & universe.modulus >= n for c, n in universe.items(x))
