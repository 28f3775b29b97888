"""A decision as a domain: how many options, the k-th, and its values.  Nobody builds a list that nobody reads."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, permutations
from math import comb

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.sight import Origins
from rulelang.core.threads import refs_in, variables_in
from rulelang.core.types import PieceT, SetT, plain
from rulelang.graph.layout import error_at
from rulelang.runtime.effects import Effects
from rulelang.runtime.values import Fn, State, pack_seq, rep

MAX_OPTIONS = 10_000

Items = tuple[tuple[int, int], ...]  # (what, how many of it)


@lru_cache(maxsize=4096)
def count_groups(items: Items, low: int, high: int) -> int:
    """How many sub-multisets have between `low` and `high` members."""
    if all(n == 1 for _, n in items):
        m = len(items)
        return sum(comb(m, k) for k in range(max(0, low), min(high, m) + 1))
    ways = [1]
    for _, n in items:
        grown = [0] * (len(ways) + n)
        for size, w in enumerate(ways):
            for k in range(n + 1):
                grown[size + k] += w
        ways = grown
    return sum(ways[max(0, low) : high + 1])


@lru_cache(maxsize=4096)
def groups(items: Items, low: int, high: int) -> tuple[tuple[int, ...], ...]:
    """All of them, smaller first, then in the order of the items."""
    found: list[tuple[int, ...]] = []
    for size in range(max(0, low), min(high, sum(n for _, n in items)) + 1):
        if all(n == 1 for _, n in items):
            found.extend(combinations([x for x, _ in items], size))
        else:
            found.extend(_of_size(items, size))
    return tuple(found)


def _of_size(items: Items, size: int) -> Iterator[tuple[int, ...]]:
    if size == 0:
        yield ()
        return
    if not items:
        return
    (x, n), rest = items[0], items[1:]
    if sum(k for _, k in items) < size:
        return
    for take in range(min(n, size), -1, -1):
        for tail in _of_size(rest, size - take):
            yield (x,) * take + tail


@define(eq=False)
class PickCode:
    """One pick: its domain in this state, as values of its variable."""

    pick: core.Pick
    slot: int
    count: Callable[[State], int]
    values: Callable[[State], Sequence[int]]
    free: bool  # no later pick looks at this one


@define(eq=False)
class ChoiceCode:
    """One option of a decision."""

    choice: core.Choice
    guard: Fn | None
    picks: tuple[PickCode, ...]
    told: Callable[[State], tuple[int, ...]]  # the values in its text

    def count(self, s: State, at: int = 0) -> int:
        if at == 0 and self.guard is not None and not self.guard(s):
            return 0
        picks = self.picks
        if at == len(picks):
            return 1
        pick = picks[at]
        if at + 1 == len(picks):
            return pick.count(s)
        if pick.free:
            found = pick.count(s)
            return found and found * self.count(s, at + 1)
        total = 0
        for value in pick.values(s):
            s[pick.slot] = value
            total += self.count(s, at + 1)
        return total

    def bind(self, s: State, k: int) -> None:
        """Puts the k-th combination of picks into the state."""
        picks = self.picks
        for at, pick in enumerate(picks):
            if at + 1 == len(picks):
                s[pick.slot] = pick.values(s)[k]
                return
            if pick.free:
                values = pick.values(s)
                s[pick.slot] = values[0]
                each = self.count(s, at + 1)
                s[pick.slot] = values[k // each]
                k %= each
            else:
                for value in pick.values(s):
                    s[pick.slot] = value
                    here = self.count(s, at + 1)
                    if k < here:
                        break
                    k -= here


@define(eq=False)
class AskCode:
    """A whole decision: who, and the options with the nodes that they lead to."""

    decide: core.Decide
    player: Fn
    choices: tuple[ChoiceCode, ...]
    bodies: tuple[int, ...]
    silent: bool  # a forced choice tells nobody anything

    def counts(self, s: State) -> tuple[int, ...]:
        """How many options each choice stands for."""
        if len(self.choices) == 1:
            found: tuple[int, ...] = (self.choices[0].count(s),)
        else:
            found = tuple([c.count(s) for c in self.choices])
        if sum(found) > MAX_OPTIONS:
            raise error_at(f"`{self.decide.name}` has more than {MAX_OPTIONS} options", self.decide.origin)
        return found

    def pick(self, s: State, k: int, counts: tuple[int, ...] | None = None) -> int:
        """Carries out the k-th option's picks; answers which choice it is."""
        for index, here in enumerate(counts or self.counts(s)):
            if k < here:
                if self.choices[index].picks:
                    self.choices[index].bind(s, k)
                return index
            k -= here
        raise IndexError(k)


@define(eq=False)
class Choices(Effects):
    origins: Origins = field(factory=dict)  # what each variable was made from
    untold: frozenset[core.Variable] = frozenset()  # what was picked or drawn, and is not shown

    def apart(self) -> "Choices":
        """For claims, which look at the table and are no rules."""
        return self

    def ask(self, d: core.Decide, bodies: tuple[int, ...]) -> AskCode:
        player = self.expr(d.player).fn
        return AskCode(d, player, tuple(self.choice(c) for c in d.choices), bodies, self._silent(d))

    def choice(self, c: core.Choice) -> ChoiceCode:
        guard = None
        if c.only_if is not None:
            code = self.expr(c.only_if)
            guard = None if code.const and code.value else code.fn
        picks = []
        for index, p in enumerate(c.picks):
            later = [(q.base, q.count, q.such_that) for q in c.picks[index + 1 :]]
            free = not self._mentions(tuple(x for q in later for x in q if x is not None), p.var)
            picks.append(self._pick(p, free))
        return ChoiceCode(c, guard, tuple(picks), self.told(c.text) if c.text is not None else lambda s: ())

    def _pick(self, p: core.Pick, free: bool) -> PickCode:
        slot = self.variable(p.var)
        if p.quantity == "one":
            values = self.distinct(p.base)
            if p.such_that is not None:
                values = self._such_that(p, slot, values)
            return PickCode(p, slot, lambda s: len(values(s)), values, free)
        items = self._items(p.base)
        low, high = self._sizes(p)
        whole = isinstance(p.base.type, SetT) and isinstance(plain(p.base.type.item), PieceT)
        universe = self.layout.universe(p.base.type) if whole else None
        ordered, span = p.ordered, p.span

        known: dict[tuple[Items, int, int], Sequence[int]] = {}

        def keep(group: tuple[int, ...]) -> int:
            if ordered:
                return pack_seq(group)
            return universe.bag(group) if universe is not None else sum(1 << x for x in group)

        def every(s: State) -> Sequence[int]:
            have, least, most = items(s), low(s), high(s)
            if count_groups(have, least, most) > MAX_OPTIONS:
                raise error_at(f"more than {MAX_OPTIONS} options", core.Origin(span))
            found = groups(have, least, most)
            if ordered:
                return [keep(g) for group in found for g in sorted(set(permutations(group)))]
            made = known.get((have, least, most))
            if made is None:
                if len(known) > 1024:
                    known.clear()
                made = known[have, least, most] = tuple(keep(group) for group in found)
            return made

        listed = every if p.such_that is None else self._such_that(p, slot, every)
        if p.such_that is not None or ordered:
            return PickCode(p, slot, lambda s: len(listed(s)), listed, free)
        if rep(p.base.type) == "bag" and p.quantity == "exactly":
            return self._exactly(p, slot, listed, free)
        return PickCode(p, slot, lambda s: count_groups(items(s), low(s), high(s)), listed, free)

    def _exactly(self, p: core.Pick, slot: int, listed: Fn, free: bool) -> PickCode:
        """`exactly 2 cards in hand`: the same hand comes again and again, so the groups are kept."""
        assert p.count is not None
        base, count = self.expr(p.base).fn, self.expr(p.count).fn
        items = self._items(p.base)
        known: dict[tuple[int, int], Sequence[int]] = {}

        def values(s: State) -> Sequence[int]:
            key = (base(s), count(s))
            found = known.get(key)
            if found is None:
                if len(known) > 1024:
                    known.clear()
                found = known[key] = listed(s)
            return found

        def number(s: State) -> int:
            found = known.get((base(s), count(s)))
            return count_groups(items(s), count(s), count(s)) if found is None else len(found)

        return PickCode(p, slot, number, values, free)

    def _such_that(self, p: core.Pick, slot: int, values: Fn) -> Fn:
        assert p.such_that is not None
        test = self.expr(p.such_that).fn

        def passing(s: State) -> list[int]:
            found = []
            for value in values(s):
                s[slot] = value
                if test(s):
                    found.append(value)
            return found

        return passing

    def _items(self, base: core.Expr) -> Callable[[State], Items]:
        if rep(base.type) == "bag":
            universe, fn = self.layout.universe(base.type), self.expr(base).fn
            memo: dict[int, Items] = {}

            def of_bag(s: State) -> Items:
                bag = fn(s)
                found = memo.get(bag)
                if found is None:
                    if len(memo) > 4096:
                        memo.clear()
                    found = memo[bag] = universe.items(bag)
                return found

            return of_bag
        each = self.seq(base)

        def of_seq(s: State) -> Items:
            counts: dict[int, int] = {}
            for x in each(s):
                counts[x] = counts.get(x, 0) + 1
            return tuple(counts.items())

        return of_seq

    def _sizes(self, p: core.Pick) -> tuple[Fn, Fn]:
        n = self.expr(p.count).fn if p.count is not None else (lambda s: 0)
        no_end = lambda s: 1 << 20
        zero = lambda s: 0
        return {"exactly": (n, n), "up to": (zero, n), "at least": (n, no_end), "any number": (zero, no_end)}[p.quantity]

    def _silent(self, d: core.Decide) -> bool:
        """Does everybody know how many options there are?  Then a forced choice may go unasked."""
        own = frozenset(p.var for c in d.choices for p in c.picks)
        for c in d.choices:
            if c.only_if is not None and self._tells(c.only_if, own):
                return False
            for p in c.picks:
                if (p.count is not None and self._tells(p.count, own)) or (p.such_that is not None and self._tells(p.such_that, own)):
                    return False
                if not self._size_is_public(p.base) and self._tells(p.base, own):
                    return False
        return True

    def _size_is_public(self, base: core.Expr) -> bool:
        """All pieces differ, and their number is public: so is the number of options."""
        if not (isinstance(base, core.Read) and base.place.place.counted):
            return False
        return all(cls.count == 1 for cls in self.layout.universe(base.type).classes)

    def _tells(self, e: core.Expr, own: frozenset[core.Variable], seen: frozenset[core.Variable] = frozenset()) -> bool:
        """Does this value depend on what not everybody sees, also through a `let`, a loop or an earlier pick?  The
        `own` picks of the decision are not made yet: they stand for all that can be picked."""
        read = variables_in(e)
        if any(r.place.visibility != "public" for r in refs_in(e, sizes=False)) or not self.untold.isdisjoint(read - own):
            return True
        return any(self._tells(x, own, seen | {var}) for var in read - seen for x in self.origins.get(var, ()))
