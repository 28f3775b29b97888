"""Every place where a match could stop, and whether the rules alone show that it cannot.

The flow is read line by line with what is known there.  Before a loop is read, what was known is tried out on its body:
what a pass leaves true is true in every pass.  A thread of `together` knows the table of the entry."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import define, evolve

from rulelang.core import nodes as core
from rulelang.core.threads import own_positions, walk
from rulelang.core.types import BOOL, MaybeT, NoneT, NumberT, PieceT, SetT, Type, plain
from rulelang.limits import MEMBERS
from rulelang.prove.facts import RANGES, START, Atom, Atoms, Because, Bounds, Facts, Lin, Slots, all_of, hull, meet, number, plus, times
from rulelang.prove.laid import laid_once
from rulelang.prove.loops import (
    STEPS,
    ended,
    kinds_narrowed,
    looked_at,
    parts_of,
    row_length,
    settled_places,
    swings,
    values_of,
    work,
    written,
)  # fmt: skip
from rulelang.prove.numbers import ENDLESS, groups_of, least_of, product, read_by, size_of
from rulelang.prove.reader import Reader
from rulelang.prove.values import Outcome, Values, text_of
from rulelang.prove.verdict import BOUNDED, OPEN, PROVED, Claim, Verdict, Ways, judged
from rulelang.runtime.choices import count_groups
from rulelang.runtime.effects import NO_LIMIT
from rulelang.runtime.values import LARGEST, rep
from rulelang.source import Span

LISTED = 200  # sorts of pieces that are counted group by group


@define(eq=False)
class _Walk(Values):
    # ------------------------------------------------------------ statements

    def block(self, body: Iterable[core.Statement], facts: Outcome) -> Outcome:
        for s in body:
            if facts is None:
                return None
            facts = self.statement(s, facts)
        return facts

    def statement(self, s: core.Statement, facts: Facts) -> Outcome:
        r = self.reader
        for e in () if self.trying else values_of(s):
            steps = looked_at(r, e)
            if steps is None or steps > STEPS:
                self.claim("work", text_of(e), e.span, Verdict(OPEN, note="" if steps is None else f"it may take {steps:,} steps"))
        match s:
            case core.Change():
                return self.change(s, facts)
            case core.SetTo():
                return self.set(s, facts)
            case core.MovePieces() | core.MoveCount():
                return self.move(s, facts)
            case core.Shuffle():
                self.keys(s.place, facts)
                return facts.where(lambda a: s.place.place not in a.places or read_by(a.expr) is not None)
            case core.Bind():
                self.value(s.value, facts)
                self.kept(s.value, s.var.type, facts)
                return self.bound(s.var, s.value, facts)
            case core.BindRandom():
                self.value(s.base, facts)
                self.claim("chance", s.var.name, s.origin.span, judged(r.has_members(s.base, facts)))
                self.few("drawn", s.var.name, s.base, r.game.limits.cells, s.origin.span, facts)
                return self.member(s.var, s.base, facts)
            case core.Branch():
                self.value(s.test, facts)
                yes, no = r.assume(s.test, True, facts), r.assume(s.test, False, facts)
                if isinstance(s.test, core.Const | core.Compare | core.Call) and r.follows(s.test, facts) is not None:
                    return self.block(s.then, yes)
                return self.joined([self.block(s.then, yes), self.block(s.otherwise, no)])
            case core.Block():
                self.ends[s.target] = []
                after = self.block(s.body, facts)
                return self.joined([after, *self.ends.pop(s.target)])
            case core.Loop():
                return self.loop(s, facts)
            case core.ForEach():
                return self.in_turn(s, facts)
            case core.Together():
                return self.together(s, facts)
            case core.Decide():
                return self.decide(s, facts)
            case core.Need():
                self.value(s.test, facts)
                if not self.trying:
                    self.claim("needs", s.test.span.text, s.origin.span, judged(r.follows(s.test, facts)))
                return r.assume(s.test, True, facts)
            case core.End():
                self.ends.setdefault(s.target, []).append(facts)
                return None
            case core.Say():
                self.text(s.text, facts)
        return facts

    def text(self, text: core.Text, facts: Facts) -> None:
        for e in text.values:
            self.value(e, facts)
            self.kept(e, e.type, facts)

    def few(self, sort: str, about: str, base: core.Expr, most: int, span: Span, facts: Facts) -> None:
        """No more of them than that; claimed where the declared ranges leave it open."""
        if self.trying or _at_most(self.reader.bounds(size_of(base))[1], most):
            return
        there = self.reader.range(self.reader.lin(size_of(base)), facts)[1]
        note = "" if there is None else f"there may be up to {there:,}"
        self.claim(sort, about, span, judged(START if _at_most(there, most) else None, note=note))

    # ------------------------------------------------------------ loops

    def loop(self, s: core.Loop, facts: Facts) -> Outcome:
        r = self.reader
        most = None
        me = r.lin(core.Var(s.count, type=NumberT(0, None)))
        more = [me - number(1)]
        if s.times is not None:
            self.value(s.times, facts)
            most = least_of(r.range(r.lin(s.times), facts)[1], r.bounds(r.meant(s.times, facts))[1])
            if written(r.atoms, s.body)[0].isdisjoint(r.atoms.of(s.times).places):
                more.append(r.lin(s.times) - me)
        every, kept = self.every(s.body, {s.count}, facts, most, lambda known: known.and_(*more))
        if not self.trying:
            self.claim("end", s.target.label, s.origin.span, self.comes_to_end(s, every.and_(*more), most))
        self.ends[s.target] = []
        self.block(s.body, every.and_(*more))
        ends = self.ends.pop(s.target)
        after = self.widened(every, s.body, facts, most, kept=kept)
        return self.joined([*([after] if s.times is not None else []), *ends])

    def comes_to_end(self, s: core.Loop, every: Facts, most: int | None) -> Verdict:
        if s.times is None:
            return ended(self, s, every)
        steps = work(self.reader, s, most)
        if steps is not None and steps <= STEPS:
            return Verdict(PROVED, Because(words=f"it is repeated {most} times at most" if most != 1 else "it happens once at most"))
        return Verdict(BOUNDED, note=f"as often as `{s.times.span.text}` says, unless that is more than a million steps without a question")

    def in_turn(self, s: core.ForEach, facts: Facts) -> Outcome:
        r = self.reader
        self.value(s.base, facts)
        self.small(s.base, LARGEST, MEMBERS, s.origin.span, facts)
        places, variables = written(r.atoms, s.body)
        entry = self.member(s.var, s.base, facts)
        if s.order is not None:
            for _, e in s.order.items:
                self.value(e, self.member(s.order.var, s.base, facts))
        own = own_positions(s.body, s.var)
        each = entry.without(places, variables - {s.var})
        for place, at in own.items():  # of what is each member's own, nobody before has changed it
            for slots, b in facts.ranges.items():
                if at and slots.place is place and slots.var is None:
                    each = each.ranging(Slots(place, s.var, min(at)), b)
        me = core.Var(s.var, type=s.var.type)
        if (here := self.untouched(s)) is not None and r.lying(me, here) in entry.held:
            each = each.and_held(r.lying(me, here), entry.held[r.lying(me, here)])

        def inside(known: Facts) -> Facts:
            guarded = {x: b for x, b in each.ranges.items() if x.var is s.var}
            held = {**known.held, **each.held}
            names = {**known.names, **each.names}
            return Facts(known.at_least | each.at_least, known.there | each.there, held, names, {**known.ranges, **guarded})

        most = r.bounds(size_of(s.base))[1]
        every, kept = self.every(s.body, {s.var}, facts, most, inside)
        self.block(s.body, inside(every))
        return self.widened(every, s.body, facts, most, s.var, kept)

    def untouched(self, s: core.ForEach) -> core.PlaceRef | None:
        """`each disc in berth(d)` where nothing else leaves that place: who comes later still lies there."""
        r = self.reader
        here = s.base.source
        if here is None:
            return None
        if {v for k in here.keys for v in r.atoms.of(k).variables} & written(r.atoms, s.body)[1]:
            return None
        inner = [x for y in s.body if isinstance(y, core.Loop | core.ForEach | core.Together | core.Decide) for x in walk((y,))]
        for x in walk(s.body):
            if isinstance(x, core.MovePieces | core.MoveCount) and x.source.place is here.place:
                mine = isinstance(x, core.MovePieces) and isinstance(x.what, core.Var) and x.what.var is s.var
                if not mine or any(x is y for y in inner):
                    return None
        return here

    def together(self, s: core.Together, facts: Facts) -> Outcome:
        r = self.reader
        self.value(s.base, facts)
        self.at_once(s, facts)
        places, variables = written(r.atoms, s.body)
        own = own_positions(s.body, s.var)
        member = self.member(s.var, s.base, facts).without(set(), variables - {s.var})
        most = r.bounds(size_of(s.base))[1]
        outer, self.shared = self.shared, {**self.shared, **self.sums(s, facts, own, most)}
        self.block(s.body, member)
        for place, reach in self.sums(s, facts, own, most).items():
            if place.word == "counter" and not (place.stops_low or place.stops_high):
                fine = hull(reach, self.declared(place)) == self.declared(place)
                self.claim("join", place.name, s.origin.span, judged(START if fine else None))
        self.shared = outer
        return self.widened(facts.without(places, variables), s.body, facts, most, s.var)

    def at_once(self, s: core.Together, facts: Facts) -> None:
        """Each of several who are asked, or who could see one another, has a table of its own."""
        r = self.reader
        if not s.asks and not s.isolate:
            self.small(s.base, LARGEST, MEMBERS, s.origin.span, facts)
            return
        limits = r.game.limits
        self.few("threads", s.var.name, s.base, min(limits.threads, 10 * limits.cells // row_length(r)), s.origin.span, facts)

    def sums(self, s: core.Together, facts: Facts, own: dict[core.Place, set[int]], most: int | None) -> dict[core.Place, Bounds]:
        """How far all threads together can take what is not each one's own."""
        found = {}
        for place, swing in swings(self.reader, s.body).items():
            if not own.get(place):
                now = meet(facts.ranges.get(Slots(place), (None, None)), self.declared(place))
                far = (0 if swing[0] == 0 else None, 0 if swing[1] == 0 else None) if most is None else times(swing, most)
                found[place] = plus(now, far)
        return found

    def every(
        self, body: tuple[core.Statement, ...], names: set[core.Variable], facts: Facts, most: int | None, inside: Callable[[Facts], Facts]
    ) -> tuple[Facts, Mapping[Slots, Bounds]]:
        """What is true at the beginning of every pass: of what was known before, what a pass leaves true."""
        places, variables = written(self.reader.atoms, body)
        sure = self.widened(facts.without(places, variables | names), body, facts, None if most is None else max(0, most - 1))
        trial = facts.without(set(), variables | names)
        if self.trying or (trial.at_least == sure.at_least and trial.held.keys() == sure.held.keys() and trial.ranges == sure.ranges):
            return sure, {}
        outer = self.ends
        for _ in range(3):
            self.trying, self.ends = True, {k: [] for k in outer}
            after = self.block(body, inside(trial))
            self.trying, self.ends = False, outer
            if after is None:
                return trial, dict(trial.ranges)
            left = self.agreed(trial, after, sure)
            if left.at_least == trial.at_least and left.held.keys() == trial.held.keys() and left.ranges == trial.ranges:
                same = left.there == trial.there and left.names.keys() == trial.names.keys()
                kept = {x: b for x, b in trial.ranges.items() if x in after.ranges and hull(after.ranges[x], b) == b}
                return trial if same else self._plain(left, sure), kept
            trial = left
        return sure, {}

    @staticmethod
    def _plain(left: Facts, sure: Facts) -> Facts:
        return evolve(left, there=sure.there, names=sure.names)

    def agreed(self, trial: Facts, after: Facts, sure: Facts) -> Facts:
        r = self.reader
        ranges = {}
        for slots, b in trial.ranges.items():
            found = after.ranges.get(slots)
            if found is not None and hull(found, b) == b:
                ranges[slots] = b
            elif slots in sure.ranges:
                ranges[slots] = sure.ranges[slots]
        return Facts(
            frozenset(x for x in trial.at_least if x in after.at_least or x in sure.at_least or r.quick(x, after)),
            frozenset(a for a in trial.there if a in after.there or a in sure.there),
            {a: b for a, b in trial.held.items() if a in after.held or a in sure.held},
            {v: x for v, x in trial.names.items() if v in sure.names or (v in after.names and after.names[v][1] is x[1])},
            ranges,
        )

    def widened(
        self,
        left: Facts,
        body: tuple[core.Statement, ...],
        facts: Facts,
        most: int | None,
        var: core.Variable | None = None,
        kept: Mapping[Slots, Bounds] | None = None,
    ) -> Facts:
        """The ranges of places after up to so many passes; `kept` are those that a pass does not leave."""
        kept = kept or {}
        own = own_positions(body, var) if var is not None else {}
        moves = swings(self.reader, body)
        ranges = {s: b for s, b in left.ranges.items() if s.place not in moves}
        for slots, b in facts.ranges.items():
            if slots.place in moves and (var is None or slots.var is not var):
                swing = moves[slots.place]
                n = 1 if own.get(slots.place) else most
                far = (0 if swing[0] == 0 else None, 0 if swing[1] == 0 else None) if n is None else times(swing, n)
                ranges[slots] = plus(b, far)
                if slots in kept:
                    ranges[slots] = meet(ranges[slots], kept[slots])
        return evolve(left, ranges=ranges).without(set(), {var} if var is not None else set())

    def joined(self, outcomes: list[Outcome]) -> Outcome:
        """What is known after several ways: what each of them knows."""
        found = [x for x in outcomes if x is not None]
        if not found:
            return None
        first, *rest = found
        if not rest:
            return first
        kept = {x for one in found for x in one.at_least if all(x in o.at_least or self.reader.quick(x, o) for o in found)}
        ranges = {}
        for slots, b in first.ranges.items():
            if all(slots in o.ranges for o in rest):
                for o in rest:
                    b = hull(b, o.ranges[slots])
                ranges[slots] = b
        return Facts(
            frozenset(kept),
            frozenset(a for a in first.there if all(a in o.there for o in rest)),
            {a: b for a, b in first.held.items() if all(a in o.held for o in rest)},
            {v: x for v, x in first.names.items() if all(v in o.names and o.names[v][1] is x[1] for o in rest)},
            ranges,
        )

    # ------------------------------------------------------------ numbers

    def change(self, s: core.Change, facts: Facts) -> Facts:
        r, place = self.reader, s.place.place
        self.value(s.amount, facts)
        self.keys(s.place, facts)
        me = r.lin(core.Read(s.place, type=place.type))
        by = r.lin(s.amount) * s.sign
        if not self.trying:
            self.in_range(place, me + by, by, s.origin.span, facts)
        after = self.moved_on(s.place, core.Read(s.place, type=place.type), by, facts)
        low, high = r.bounds(core.Read(s.place, type=place.type))
        if place.stops_low or place.stops_high or any(place in a.places for a, _ in by.terms):
            return after
        known = [me - by - number(low)] if low is not None else []  # it was in its range before
        return after.and_(*known, *([number(high) + by - me] if high is not None else []))

    def moved_on(self, ref: core.PlaceRef, e: core.Expr, by: Lin, facts: Facts) -> Facts:
        """Facts about what was raised by so much, as facts about what it is now."""
        r, place = self.reader, ref.place
        me = r.atoms.of(e)
        step = r.range(by, facts)
        clamped = place.stops_low or place.stops_high
        depends = clamped or any(place in a.places for a, _ in by.terms)
        ranges = {}
        for slots, b in facts.ranges.items():
            if slots.place is place:
                new = plus(b, hull(step, (0, 0)) if clamped else step)
                b = meet(new if slots.means(ref) and slots.single() else hull(b, new), self.declared(place))
            ranges[slots] = b
        was = self.exactly(me, facts)
        known = facts.at_least
        if was is not None and not depends:
            x = Lin(frozenset(((me, 1),)), -was, START)
            known = known | {x, (x * -1).by(START)}
        kept = []
        for f in known:
            n = next((c for a, c in f.terms if a is me), 0)
            if any(self.reader.touched(a, ref) for a, _ in f.terms if a is not me) or (n and depends):
                continue
            kept.append((f - by * n).by(f.because) if n else f)
        left = facts.where(lambda a: not self.reader.touched(a, ref))
        return evolve(left, at_least=frozenset(kept), ranges=ranges)

    def declared(self, place: core.Place) -> Bounds:
        if place.holds_pieces:
            return 0, 1 if place.word == "slot" else self.reader.pieces(place)
        low = None if place.low is None else self.reader.bounds(place.low)[0]
        return low, None if place.high is None else self.reader.bounds(place.high)[1]

    def exactly(self, atom: Atom, facts: Facts) -> int | None:
        low, high = self.reader.bounds_at(atom, facts)
        return low if low is not None and low == high else None

    def in_range(self, place: core.Place, new: Lin, by: Lin, span: Span, facts: Facts) -> None:
        """Of what several threads change, none knows what the others do: then their sum counts."""
        r = self.reader
        least, most = self.declared(place)
        together = self.shared.get(place)
        if place.low is not None and not place.stops_low:
            if together is not None and not (least is not None and together[0] is not None and together[0] >= least):
                self.shown("below", place.name, span, by, facts)
            else:
                self.shown("below", place.name, span, new - r.lin(place.low), facts)
        if place.high is not None and not place.stops_high:
            if together is not None and not (most is not None and together[1] is not None and together[1] <= most):
                self.shown("beyond", place.name, span, by * -1, facts)
            else:
                self.shown("beyond", place.name, span, r.lin(place.high) - new, facts)
        if (place.high is None and not place.stops_high) or (place.low is None and not place.stops_low):
            low, high = r.range(by, facts)
            far = None if high is None or (low is None and place.low is None) else max(high, 1, -(low or 0))
            self.claim("limit", place.name, place.span, Verdict(OPEN) if far is None else Verdict(BOUNDED, bound=NO_LIMIT // far))

    def set(self, s: core.SetTo, facts: Facts) -> Facts:
        r, place = self.reader, s.place.place
        self.value(s.value, facts)
        self.kept(s.value, place.type, facts)
        self.keys(s.place, facts)
        me = core.Read(s.place, type=place.type)
        if not self.trying:
            if place.word == "counter":
                new = r.lin(s.value)
                self.in_range(place, new, new, s.origin.span, facts)
            elif isinstance(bounds := plain(place.type), NumberT) and not isinstance(s.value.type, NoneT):
                for end, sign in ((bounds.low, 1), (bounds.high, -1)):
                    if end is not None:
                        self.shown("outside", place.name, s.origin.span, (r.lin(s.value) - number(end)) * sign, facts)
        there = r.is_there(s.value, facts) if isinstance(place.type, MaybeT) else None
        left = facts.where(lambda a: not self.reader.touched(a, s.place))
        value = r.range(r.lin(s.value), facts) if place.word == "counter" else (None, None)
        ranges = dict(facts.ranges)
        for slots, b in facts.ranges.items():
            if slots.place is place:
                ranges[slots] = meet(value if slots.means(s.place) and slots.single() else hull(b, value), self.declared(place))
        if place.word == "counter" and not place.keys and not place.per_player:
            ranges[Slots(place)] = meet(value, self.declared(place))
        left = evolve(left, ranges=ranges)
        if place in r.atoms.of(s.value).places:
            return left
        if isinstance(place.type, NumberT) and not (place.stops_low or place.stops_high):
            x = r.lin(me) - r.lin(s.value)
            left = left.and_(x.by(Because((s.origin.span,))), (x * -1).by(Because((s.origin.span,))))
        return r.found(me, left, Because((s.origin.span,))) if there is not None else left

    # ------------------------------------------------------------ pieces

    def move(self, s: core.MovePieces | core.MoveCount, facts: Facts) -> Facts:
        r = self.reader
        for ref in (s.source, s.goal):
            self.keys(ref, facts)
        here, there = self.reader.size(s.source), self.reader.size(s.goal)
        one = isinstance(s, core.MovePieces) and not isinstance(s.what.type, SetT)
        if isinstance(s, core.MoveCount):
            self.value(s.count, facts)
            n = r.lin(s.count)
        else:
            self.value(s.what, facts)
            n = number(1) if one else r.lin(size_of(s.what))
        if not self.trying:
            self.can_move(s, n, one, facts)
        if s.goal.place in self.own and not self.is_own(s, facts):
            self.mixed.add(s.goal.place)
        left = self.moved_on(s.source, here, n * -1, facts)
        known = {a: b for a, b in left.held.items() if isinstance(a.expr, core.Contains)}
        more = [f for f in left.at_least if self.grows(f, s.goal)]
        after = self.moved_on(s.goal, there, n, left).and_(*more)
        if s.source.place is not s.goal.place:  # what lay there lies there still
            for a, b in known.items():
                if isinstance(a.expr, core.Contains) and isinstance(a.expr.item, core.Var):
                    after = after.and_held(a, b)
        if isinstance(s, core.MovePieces) and isinstance(s.what, core.Var):
            after = after.and_held(r.lying(s.what, s.goal), RANGES)
        moving = {s.source.place, s.goal.place}
        return after if any(not moving.isdisjoint(a.places) for a, _ in n.terms) else after.and_(r.lin(there) - n)

    def grows(self, f: Lin, goal: core.PlaceRef) -> bool:
        """A fact that cannot become wrong when pieces come to a place: there are at least so many of a sort."""
        touched = [(a, n) for a, n in f.terms if self.reader.touched(a, goal)]
        for a, n in touched:
            part = a.expr.base if isinstance(a.expr, core.Count) else None
            if n < 0 or not isinstance(part, core.Filter) or not isinstance(part.base, core.Read):
                return False
            if any(goal.place in self.reader.atoms.of(x).places for x in (part.test, *part.base.place.keys)):
                return False
        return bool(touched)

    def can_move(self, s: core.MovePieces | core.MoveCount, n: Lin, one: bool, facts: Facts) -> None:
        r, name, span = self.reader, s.source.place.name, s.origin.span
        if isinstance(s, core.MoveCount):
            self.shown("fewer", name, span, r.lin(self.reader.size(s.source)) - n, facts)
            self.shown("negative", name, span, n, facts)
            if s.source.place.word == "zone" and any(k.per_player for k in self.kinds(s.source.place.type)):
                whole = r.holds(n - r.lin(self.reader.size(s.source)), facts)
                self.claim("owners", name, span, judged(RANGES if s.source.place in self.own else whole))
        else:
            self.claim("lies", name, span, judged(self.lies(s.what, s.source, facts)))
            if one and isinstance(s.what.type, MaybeT):
                at = span if s.source.place.word == s.goal.place.word == "zone" else s.what.span
                self.claim("nothing", s.what.span.text, at, judged(r.is_there(s.what, facts)))
        if s.goal.place.word == "slot":
            free = all_of(r.holds(r.lin(self.reader.size(s.goal)) * -1, facts), r.holds(number(1) - n, facts))
            self.claim("slot", s.goal.place.name, span, judged(free, r.lin(self.reader.size(s.goal)) * -1))

    def is_own(self, s: core.MovePieces | core.MoveCount, facts: Facts) -> bool:
        """Do only pieces of their owner come to this place?"""
        r, owner = self.reader, s.goal.owner
        assert owner is not None
        who = r.atoms.of(owner)
        if s.source.place in self.own and s.source.owner is not None and r.atoms.of(s.source.owner) is who:
            return True
        if isinstance(s, core.MoveCount):
            return False
        if isinstance(owner, core.OwnerOf) and r.atoms.of(owner.item) is r.atoms.of(s.what):
            return True
        his = core.Compare("==", core.OwnerOf(s.what, type=owner.type), owner, type=BOOL)
        turned = core.Compare("==", owner, core.OwnerOf(s.what, type=owner.type), type=BOOL)
        if not isinstance(s.what.type, SetT):
            return any(r.atoms.of(x) in facts.held for x in (his, turned))
        if s.source.place.word == "slot" and self.lies(s.what, s.source, facts) is not None:
            for a in facts.held:
                e = a.expr
                if isinstance(e, core.Exists) and self.lies(e.base, s.source, facts) is not None and isinstance(e.test, core.Compare):
                    mine = core.OwnerOf(core.Var(e.var, type=e.var.type), type=owner.type)
                    ways = ((e.test.left, e.test.right), (e.test.right, e.test.left))
                    if e.test.op == "==" and any(r.atoms.of(x) is r.atoms.of(mine) and r.atoms.of(y) is who for x, y in ways):
                        return True
        return False

    # ------------------------------------------------------------ decisions

    def decide(self, s: core.Decide, facts: Facts) -> Outcome:
        r = self.reader
        self.value(s.player, facts)
        for c in s.choices:
            if c.again:  # after an option of a window one is asked again
                facts = self.widened(facts.without(*written(r.atoms, c.body)), c.body, facts, None)
        sure: Because | None = None
        ways: list[Ways] = []
        after: list[Outcome] = []
        for c in s.choices:
            here = facts
            offered: Because | None = RANGES
            if c.only_if is not None:
                self.value(c.only_if, here)
                offered = None if self.trying else r.follows(c.only_if, here)
                here = r.assume(c.only_if, True, here)
            picks: list[tuple[str, int | None]] = []
            for p in c.picks:
                offered = None if offered is None or self.trying else all_of(offered, self.offers(p, here))
                if not self.trying:
                    picks.append((p.var.name, self.options(p, here)))
                here = self.picked(p, here)
            sure = sure if sure is not None else offered
            ways.append(Ways(r.players, product(n for _, n in picks), c.name, tuple(picks)))
            if c.text is not None:
                self.text(c.text, here)
            outcome = self.block(c.body, here)
            if not c.again:
                after.append(outcome)
        self.claim("options", s.name, s.origin.span, judged(sure))
        self.claim("many", s.name, s.origin.span, _not_many(ways, r.game.limits.options))
        return self.joined(after)

    def offers(self, p: core.Pick, facts: Facts) -> Because | None:
        """Is there always something to pick?"""
        r = self.reader
        if p.such_that is not None:
            return None
        match p.quantity:
            case "one":
                return r.has_members(p.base, facts)
            case "exactly" | "at least":
                assert p.count is not None
                n = r.lin(p.count)
                return all_of(r.has_members(p.base, facts, n), r.holds(n, facts) if p.quantity == "exactly" else RANGES)
        assert p.quantity in ("up to", "any number")
        return RANGES if p.count is None else r.holds(r.lin(p.count), facts)

    def options(self, p: core.Pick, facts: Facts) -> int | None:
        """In how many ways this can be picked, at the most."""
        r = self.reader
        size = r.range(r.lin(size_of(p.base)), facts)[1]
        pieces = isinstance(p.base.type, SetT) and isinstance(plain(p.base.type.item), PieceT)
        apart = self.classes(p.base.type) if pieces else None
        if p.quantity == "one":
            return least_of(size, None if apart is None else len(apart))
        ways = None
        if size is not None:
            low, high = (0, size) if p.count is None else r.range(r.lin(p.count), facts)
            least = 0 if p.quantity in ("up to", "any number") else max(0, low or 0)
            most = size if p.quantity in ("at least", "any number") or high is None else min(size, high)
            ways = groups_of(size, least, most, p.ordered)
            if apart is not None and not p.ordered and len(apart) <= LISTED and most <= LISTED:
                ways = min(ways, count_groups(apart, least, most, ENDLESS))
        limit, name = r.game.limits.options, p.var.name
        self.claim("many", name, p.span, _not_many([Ways(r.players, ways, picks=((name, ways),))], limit))
        if rep(p.base.type) != "bag":
            self.few("from", name, p.base, limit, p.base.span, facts)
        if p.ordered or not pieces:
            self.small(p.base, LARGEST if p.ordered else MEMBERS, MEMBERS if p.ordered else None, p.span, facts)
        return ways

    def classes(self, t: Type) -> tuple[tuple[int, int], ...] | None:
        """Pieces that can be told apart, each with how many there are."""
        found: list[int] = []
        for k in self.kinds(t):
            alike = self.reader.bounds(k.count)[1] if k.count is not None else None
            if k.count is not None and alike is None:
                return None
            copies = [alike] if alike is not None else [n for _, n in k.rows]
            found.extend(copies * (self.reader.players if k.per_player else 1))
        return tuple(enumerate(found))

    def picked(self, p: core.Pick, facts: Facts) -> Facts:
        r = self.reader
        self.value(p.base, facts)
        facts = facts.without(set(), {p.var})
        line = Because((p.span,))
        me = core.Var(p.var, type=p.var.type)
        if p.quantity == "one":
            facts = r.element(me, p.base, facts, line)
        else:
            if p.base.source is not None and self.lies(p.base, p.base.source, facts) is not None:
                facts = facts.and_held(r.lying(me, p.base.source), line)
            size = r.lin(size_of(me))
            facts = facts.and_((r.lin(size_of(p.base)) - size).by(line))
            if p.count is not None:
                self.value(p.count, facts)
                n = r.lin(p.count)
                facts = facts.and_(
                    *([(size - n).by(line)] if p.quantity != "up to" else []), *([(n - size).by(line)] if p.quantity != "at least" else [])
                )
        if p.such_that is not None:
            self.value(p.such_that, facts)
            facts = r.assume(p.such_that, True, facts)
        return facts


def _at_most(n: int | None, most: int) -> bool:
    return n is not None and n <= most


def _not_many(ways: list[Ways], most: int) -> Verdict:
    """Of a decision with these options, each with its ways."""
    if not ways:
        return Verdict(PROVED)
    counts = [w.most for w in ways]
    worst = ways[0]
    for w in ways[1:]:
        worst = worst.worse(w)
    total = None if None in counts else min(ENDLESS, sum(n for n in counts if n is not None))
    return Verdict(PROVED if _at_most(total, most) else OPEN, ways=(evolve(worst, most=total),))


def claims(
    game: core.Game, players: int, settings: dict[str, int], atoms: Atoms | None = None, asked: set[str] | None = None
) -> list[Claim]:
    """Every line at which a match of so many players could stop; `asked` are the options that the proofs looked at."""
    seen = set() if asked is None else asked
    mixed: set[core.Place] = set()
    while True:
        reader = Reader(game, players, settings, atoms or Atoms(), seen)
        reader.settled = settled_places(reader)
        reader.laid = laid_once(game)
        own = {p for p in game.places.values() if p.per_player and p.holds_pieces and _begins_own(game, p)} - mixed
        made = _Walk(reader, own=own, narrowed=kinds_narrowed(game, parts_of(game)))
        after = made.block(game.flow, Facts(ranges=dict(_begin(reader))))
        if not made.mixed:
            break
        mixed |= made.mixed
    for place in game.places.values():
        if place.word == "counter" and place.starts_at is not None:
            start, whole = reader.range(reader.lin(place.starts_at)), made.declared(place)
            fine = hull(start, whole) == whole
            made.claim("start", place.name, place.span, judged(RANGES if fine else None))
    if game.ranking is not None and after is not None:
        for _, e, _ in game.ranking.items:
            made.value(e, after)
    for shown in game.shown:
        if shown.function.body is not None:
            made.value(shown.function.body, Facts())
    return sorted(made.claims.values(), key=lambda c: (c.span.source.path, c.span.start, c.sort))


def _begins_own(game: core.Game, place: core.Place) -> bool:
    return place.starts_with is None or game.pieces[place.starts_with].per_player


def _begin(reader: Reader) -> Iterator[tuple[Slots, Bounds]]:
    """How many pieces lie where at first, and what the counters show."""
    for place in reader.game.places.values():
        if place.starts_with is not None:
            copies = reader.copies(place.starts_with, owned=place.per_player and reader.game.pieces[place.starts_with].per_player)
            if copies is not None:
                yield Slots(place), (copies, copies)
        elif place.holds_pieces:
            yield Slots(place), (0, 0)
        elif place.word == "counter":
            yield Slots(place), reader.range(reader.lin(place.starts_at)) if place.starts_at is not None else (None, None)
