"""A decision as a domain: how many options, the k-th, and its values.  Nobody builds a list that nobody reads."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, combinations, islice
from math import comb
from typing import Any

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.sight import Origins
from rulelang.core.threads import refs_in, variables_in
from rulelang.core.types import PieceT, SetT, plain
from rulelang.errors import RuleError
from rulelang.graph.layout import error_at
from rulelang.limits import NUMBER
from rulelang.runtime.budget import BY, LITTLE
from rulelang.runtime.effects import Effects
from rulelang.runtime.values import Fn, State, mask_of, pack_seq, rep, told_at

Items = tuple[tuple[int, int], ...]  # (what, how many of it)


@lru_cache(maxsize=4096)
def count_groups(items: Items, low: int, high: int, most: int) -> int:
    """How many sub-multisets have between `low` and `high` members; where there are more than `most`, some number above it."""
    total = sum(n for _, n in items)
    low, high = max(0, low), min(high, total)
    if high - low >= most:
        return high - low + 1  # of every size there is one
    # There are as many groups of a size as of what each leaves behind, and the more the nearer to the middle.
    sizes = [min(k, total - k) for k in range(low, high + 1)]
    middle = next(k for k in range(1, 64) if comb(2 * k, k) > most)
    if len(items) >= 2 * middle and max(sizes, default=0) >= middle:
        return most + 1
    longest = max(sizes, default=0)
    if all(n == 1 for _, n in items):
        ways = [comb(len(items), k) for k in range(longest + 1)]
    else:
        ways = [1] + [0] * longest
        for _, n in items:
            upto = list(accumulate(ways))
            ways = [min(upto[k] - (upto[k - n - 1] if k > n else 0), most + 1) for k in range(longest + 1)]
    return sum(ways[k] for k in sizes)


@lru_cache(maxsize=512)
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


def arrangements(group: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """A group in every order, each order once, from the lowest to the highest."""
    row = sorted(group)
    while True:
        yield tuple(row)
        at = next((i for i in range(len(row) - 2, -1, -1) if row[i] < row[i + 1]), None)
        if at is None:
            return
        other = next(i for i in range(len(row) - 1, at, -1) if row[i] > row[at])
        row[at], row[other] = row[other], row[at]
        row[at + 1 :] = reversed(row[at + 1 :])


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
    most: int
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
            if total > self.most:
                return total
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
    most: int

    def counts(self, s: State) -> tuple[int, ...]:
        """How many options each choice stands for."""
        if len(self.choices) == 1:
            found: tuple[int, ...] = (self.choices[0].count(s),)
        else:
            found = tuple([c.count(s) for c in self.choices])
        if sum(found) > self.most:
            raise error_at(f"`{self.decide.name}` has more than {self.most} options", self.decide.origin)
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
        return AskCode(d, player, tuple(self.choice(c) for c in d.choices), bodies, self._silent(d), self.most)

    @property
    def most(self) -> int:
        return self.layout.game.limits.options

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
        return ChoiceCode(c, guard, tuple(picks), self.most, self.told(c.text) if c.text is not None else lambda s: ())

    def _pick(self, p: core.Pick, free: bool) -> PickCode:
        slot = self.variable(p.var)
        if p.quantity == "one":
            values = self._affordable(self.distinct(p.base), p)
            if p.such_that is not None:
                values = self._such_that(p, slot, values)
            return PickCode(p, slot, lambda s: len(values(s)), values, free)
        items = self._items(p.base)
        low, high = self._sizes(p)
        whole = isinstance(p.base.type, SetT) and isinstance(plain(p.base.type.item), PieceT)
        universe = self.layout.universe(p.base.type) if whole else None
        ordered, origin, most_options = p.ordered, core.Origin(p.span), self.most

        known: dict[tuple[Items, int, int], Sequence[int]] = {}

        packed, masked = told_at(p.span, pack_seq), told_at(p.span, mask_of)

        def keep(group: tuple[int, ...]) -> int:
            if ordered:
                return packed(group)
            return universe.bag(group) if universe is not None else masked(group)

        def too_many() -> RuleError:
            return error_at(f"more than {most_options} options", origin)

        def every(s: State) -> Sequence[int]:
            have, least, most = items(s), low(s), high(s)
            if count_groups(have, least, most, most_options) > most_options:
                raise too_many()
            if ordered:
                rows = list(islice((g for group in groups(have, least, most) for g in arrangements(group)), most_options + 1))
                if len(rows) > most_options:
                    raise too_many()
                return [keep(g) for g in rows]
            found = groups(have, least, most)
            made = known.get((have, least, most))
            if made is None:
                if len(known) > 1024 or len(found) > 100:
                    known.clear()
                made = known[have, least, most] = tuple(keep(group) for group in found)
            return made

        listed = every if p.such_that is None else self._such_that(p, slot, every)
        if p.such_that is not None or ordered:
            return PickCode(p, slot, lambda s: len(listed(s)), listed, free)
        if rep(p.base.type) == "bag" and p.quantity == "exactly":
            return self._exactly(p, slot, listed, free)
        return PickCode(p, slot, lambda s: count_groups(items(s), low(s), high(s), most_options), listed, free)

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
                found = listed(s)
                if len(found) < 500:
                    known[key] = found
            return found

        def number(s: State) -> int:
            found = known.get((base(s), count(s)))
            return count_groups(items(s), count(s), count(s), self.most) if found is None else len(found)

        return PickCode(p, slot, number, values, free)

    def _affordable(self, values: Fn, p: core.Pick) -> Fn:
        """What is picked from is looked through one by one where it depends on an earlier pick or has a condition."""
        if self.cost.members(p.base) <= LITTLE:
            return values
        budget, origin = self.budget, core.Origin(p.span)

        def paid(s: State) -> Any:
            found = values(s)
            budget.spend(len(found) // BY, origin)
            return found

        return paid

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
        each, most, origin = self.seq(base), self.most, core.Origin(base.span)

        def of_seq(s: State) -> Items:
            counts: dict[int, int] = {}
            found = each(s)
            if len(found) > most:
                raise error_at(f"more than {most} to pick from", origin)
            for x in found:
                counts[x] = counts.get(x, 0) + 1
            return tuple(counts.items())

        return of_seq

    def _sizes(self, p: core.Pick) -> tuple[Fn, Fn]:
        n = self.expr(p.count).fn if p.count is not None else (lambda s: 0)
        no_end = lambda s: NUMBER
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
