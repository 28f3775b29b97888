"""Every place where a match could stop, and whether the rules alone show that it cannot.

The flow is read line by line with what is known there.  A loop is read once, knowing only what its body leaves as it
is; a thread of `together` knows the table of the entry."""

from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

from rulelang.core import nodes as core
from rulelang.core.threads import own_places, walk
from rulelang.core.types import BOOL, MaybeT, NoneT, NumberT, PieceT, SetT, Type, plain
from rulelang.prove.facts import Facts, Lin, Reader, canonical, number, parts, reads, substituted
from rulelang.source import Span

SIZE = NumberT(0, None)
Outcome = Facts | None  # nothing: this line is never passed


@frozen
class Claim:
    """A line at which a match could stop: why it would, and whether it is proved that it does not"""

    sort: str
    what: str
    span: Span = field(eq=False)
    proved: bool


@define(eq=False)
class _Walk:
    reader: Reader
    claims: dict[tuple[str, str, str], Claim] = field(factory=dict)
    ends: dict[core.Target, list[Facts]] = field(factory=dict)
    checked: dict[tuple[core.Function, bool], bool] = field(factory=dict)
    depth: int = 0
    shared: set[core.Place] = field(factory=set)  # what several threads change

    def claim(self, sort: str, what: str, span: Span, proved: bool) -> None:
        """One line can be read in several ways (a verb at several calls): all of them count."""
        key = (sort, what, str(span))
        old = self.claims.get(key)
        self.claims[key] = Claim(sort, what, span, proved and (old is None or old.proved))

    # ------------------------------------------------------------ values

    def value(self, e: core.Expr, facts: Facts) -> None:
        """The claims inside a value, each with what is known where it is read."""
        r = self.reader
        match e:
            case core.All() | core.AnyOf():
                for item in e.items:
                    self.value(item, facts)
                    facts = r.assume(item, isinstance(e, core.All), facts)
                return
            case core.Case():
                for test, value in e.cases:
                    self.value(test, facts)
                    self.value(value, r.assume(test, True, facts))
                    facts = r.assume(test, False, facts)
                self.value(e.default, facts)
                return
            case core.LetIn():
                self.value(e.value, facts)
                self.value(e.body, self.bound(e.var, e.value, facts))
                return
            case core.Demand():
                self.value(e.test, facts)
                self.claim("needs", _words(e.test), e.span, self.follows(e.test, facts))
                self.value(e.body, r.assume(e.test, True, facts))
                return
            case core.Filter() | core.Exists() | core.ForAll():
                self.value(e.base, facts)
                self.value(e.test, self.element(e.var, e.base, facts))
                return
            case core.Over():
                self.value(e.base, facts)
                self.value(e.value, self.element(e.var, e.base, facts))
                if e.op != "total":
                    self.claim("empty", f"the {e.op} of nothing", e.span, r.has_members(e.base, facts))
                return
            case core.Call():
                self.call(e, facts)
            case core.Sure():
                self.claim("none", f"`{e.span.text}` is none", e.span, r.is_there(e.item, facts))
            case core.Quotient() | core.Remainder():
                proved = r.holds(r.lin(e.right) - number(1), facts) or r.holds(r.lin(e.right) * -1 - number(1), facts)
                self.claim("division", "divided by 0", e.span, proved)
            case core.TableAt():
                self.inside(f"`{e.table.name}` has no value for this", e.keys, e.table.keys, e.span, facts)
            case core.Read() | core.Nth() | core.PositionOf():
                self.inside(f"`{e.place.place.name}` has no such key", e.place.keys, e.place.place.keys, e.span, facts)
        for part in parts(e):
            self.value(part, facts)

    def call(self, e: core.Call, facts: Facts) -> None:
        """A definition is read by itself; only what cannot be proved so is read anew at each call."""
        f = e.function
        if f.body is None:
            return
        alone = self.checked.get((f, True))
        if alone is None:
            trial = _Walk(self.reader, checked=self.checked, depth=self.depth + 1)
            self.checked[f, True] = True  # a definition that is being read
            if self.depth < 12:
                trial.value(f.body, Facts())
            alone = all(c.proved for c in trial.claims.values())
            self.checked[f, True] = alone
            if alone:
                self.claims.update({k: c for k, c in trial.claims.items() if k not in self.claims})
        if not alone and self.depth < 12:
            self.depth += 1
            self.value(self.reader.opened(e), facts)
            self.depth -= 1

    def follows(self, test: core.Expr, facts: Facts) -> bool:
        """Does a condition hold here?"""
        r = self.reader
        match test:
            case core.All():
                return all(self.follows(x, facts) for x in test.items)
            case core.AnyOf():
                return any(self.follows(x, facts) for x in test.items)
            case core.Const():
                return bool(test.value)
            case core.ForAll():
                return self.follows(test.test, self.element(test.var, test.base, facts))
            case core.Exists():
                some = core.Filter(test.var, test.base, test.test, type=test.base.type)
                return r.holds(r.lin(core.Count(some, type=SIZE)) - number(1), facts)
            case core.Compare():
                if test.op == "!=" and isinstance(test.left.type, MaybeT) and isinstance(test.right, core.Const) and test.right.value < 0:
                    return r.is_there(test.left, facts)
                if not isinstance(plain(test.left.type), NumberT):
                    same = test.left == test.right or (
                        isinstance(test.left, core.Const) and test.left.value == getattr(test.right, "value", None)
                    )
                    return same and test.op == "=="
                x = r.lin(test.left) - r.lin(test.right)
                match test.op:
                    case ">=":
                        return r.holds(x, facts)
                    case ">":
                        return r.holds(x - number(1), facts)
                    case "<=":
                        return r.holds(x * -1, facts)
                    case "<":
                        return r.holds(x * -1 - number(1), facts)
                    case "==":
                        return r.holds(x, facts) and r.holds(x * -1, facts)
                    case "!=":
                        return r.holds(x - number(1), facts) or r.holds(x * -1 - number(1), facts)
            case core.Call() if test.function.body is not None:
                return self.follows(r.opened(test), facts)
        return False

    def element(self, var: core.Variable, base: core.Expr, facts: Facts) -> Facts:
        """What is known of a member of a group."""
        r = self.reader
        me = core.Var(var, type=var.type)
        match base:
            case core.Filter():
                facts = self.element(var, base.base, facts)
                return r.assume(substituted(base.test, {base.var: me}), True, facts)
            case core.Span_():
                return facts.and_(r.lin(me) - r.lin(base.low), r.lin(base.high) - r.lin(me))
            case core.Arranged() | core.Reversed():
                return self.element(var, base.base, facts)
            case core.Call() if base.function.body is not None and self.depth < 12:
                return self.element(var, r.opened(base), facts)
            case core.Read() if not isinstance(base.type, SetT) or isinstance(plain(base.type.item), PieceT):
                return self.lying(var, base, facts.and_(r.lin(core.Count(base, type=SIZE)) - number(1)))
        return facts

    def bound(self, var: core.Variable, value: core.Expr, facts: Facts) -> Facts:
        r = self.reader
        facts = facts.without(set(), {var})
        me = core.Var(var, type=value.type)
        if isinstance(plain(value.type), NumberT):
            x = r.lin(me) - r.lin(value)
            facts = facts.and_(x, x * -1, *self.ends_of(r.lin(me), value, facts))
        elif isinstance(value.type, SetT):
            x = r.lin(core.Count(core.Var(var, type=var.type), type=SIZE)) - r.lin(core.Count(value, type=SIZE))
            facts = facts.and_(x, x * -1)
        if isinstance(value.type, MaybeT) and r.is_there(value, facts):
            facts = facts.and_there(core.Var(var, type=var.type))
        return self.lying(var, value, facts)

    def ends_of(self, me: Lin, value: core.Expr, facts: Facts) -> Iterator[Lin]:
        """The range of a value; of `smaller(a, b)` that it is neither more than a nor more than b."""
        r = self.reader
        low, high = r.bounds(value)
        if low is not None:
            yield me - number(low)
        if high is not None:
            yield number(high) - me
        opened = r.opened(value) if isinstance(value, core.Call) and value.function.body is not None else value
        if isinstance(opened, core.Case):
            ways, left = [], facts
            for test, v in opened.cases:
                ways.append((r.lin(v), r.assume(test, True, left)))
                left = r.assume(test, False, left)
            ways.append((r.lin(opened.default), left))
            for end, _ in ways:
                if all(r.holds(end - v, known) for v, known in ways):
                    yield end - me
                if all(r.holds(v - end, known) for v, known in ways):
                    yield me - end

    # ------------------------------------------------------------ statements

    def block(self, body: Iterable[core.Statement], facts: Outcome) -> Outcome:
        for s in body:
            if facts is None:
                return None
            facts = self.statement(s, facts)
        return facts

    def statement(self, s: core.Statement, facts: Facts) -> Outcome:
        r = self.reader
        match s:
            case core.Change():
                return self.change(s, facts)
            case core.SetTo():
                return self.set(s, facts)
            case core.MovePieces() | core.MoveCount():
                return self.move(s, facts)
            case core.Shuffle():
                return facts.without({s.place.place}, set(), sizes_stay=True)
            case core.Bind():
                self.value(s.value, facts)
                return self.bound(s.var, s.value, facts)
            case core.BindRandom():
                self.value(s.base, facts)
                self.claim("empty", "chance has nothing to pick from", s.origin.span, r.has_members(s.base, facts))
                return self.element(s.var, s.base, facts.without(set(), {s.var}))
            case core.Branch():
                self.value(s.test, facts)
                yes, no = r.assume(s.test, True, facts), r.assume(s.test, False, facts)
                if isinstance(s.test, core.Const | core.Compare | core.Call) and self.follows(s.test, facts):
                    return self.block(s.then, yes)
                return self.joined([self.block(s.then, yes), self.block(s.otherwise, no)])
            case core.Block():
                self.ends[s.target] = []
                after = self.block(s.body, facts)
                return self.joined([after, *self.ends.pop(s.target)])
            case core.Loop():
                return self.loop(s, facts)
            case core.ForEach() | core.Together():
                self.value(s.base, facts)
                places, variables = _written(s.body)
                own = own_places(s.body, s.var)
                member = self.element(s.var, s.base, facts.without(set(), {s.var}))
                if isinstance(s, core.Together):
                    outer, self.shared = self.shared, self.shared | (places - own)
                    self.block(s.body, member.without(set(), variables - {s.var}))
                    self.shared = outer
                else:  # of what is each member's own, nobody before has changed it
                    self.block(s.body, member.without(places, variables - {s.var}).begins(own, member))
                return facts.without(places, variables)
            case core.Decide():
                return self.decide(s, facts)
            case core.Need():
                self.value(s.test, facts)
                self.claim("needs", _words(s.test), s.origin.span, self.follows(s.test, facts))
                return r.assume(s.test, True, facts)
            case core.End():
                self.ends.setdefault(s.target, []).append(facts)
                return None
            case core.Say():
                for e in s.text.values:
                    self.value(e, facts)
        return facts

    def loop(self, s: core.Loop, facts: Facts) -> Outcome:
        places, variables = _written(s.body)
        left = facts.without(places, variables | {s.count})
        me = core.Var(s.count, type=NumberT(0, None))
        inside = left.and_(self.reader.lin(me) - number(1))
        if s.times is not None:
            self.value(s.times, facts)
            inside = inside.and_(self.reader.lin(s.times) - self.reader.lin(me))
        else:
            self.claim("end", f"`{s.target.label}` may go on for ever", s.origin.span, _can_be_left(s))
        self.ends[s.target] = []
        self.block(s.body, inside)
        ends = self.ends.pop(s.target)
        return self.joined([*([left] if s.times is not None else []), *ends])

    def joined(self, outcomes: list[Outcome]) -> Outcome:
        """What is known after several ways: what each of them knows."""
        found = [x for x in outcomes if x is not None]
        if not found:
            return None
        first, *rest = found
        kept = {x for one in found for x in one.at_least if all(x in o.at_least or self.reader.holds(x, o) for o in found)}
        there = first.there
        for o in rest:
            there = there & o.there
        start = first.start
        for o in rest:
            start = start & o.start
        return Facts(frozenset(kept), there, start)

    def change(self, s: core.Change, facts: Facts) -> Facts:
        r, place = self.reader, s.place.place
        self.value(s.amount, facts)
        self.keys(s.place, facts)
        me = r.lin(core.Read(s.place, type=place.type))
        new = me + r.lin(s.amount) * s.sign
        self.in_range(place, new, new - me, s.origin.span, facts)
        if place.stops_low or place.stops_high:
            return facts.without({place}, set())
        after = self.shifted(canonical(core.Read(s.place, type=place.type)), new - me, place, facts)
        low, high = r.bounds(core.Read(s.place, type=place.type))
        by = new - me
        if any(place in reads(a)[0] for a, _ in by.terms):
            return after
        known = [me - by - number(low)] if low is not None else []  # it was in its range before
        return after.and_(*known, *([number(high) + by - me] if high is not None else []))

    def in_range(self, place: core.Place, new: Lin, by: Lin, span: Span, facts: Facts) -> None:
        """Of what several threads change, none knows what the others do: it stays in range where it only goes the other way."""
        r = self.reader
        if place.low is not None and not place.stops_low:
            left = by if place in self.shared else new - r.lin(place.low)
            self.claim("range", f"`{place.name}` goes below its range", span, r.holds(left, facts))
        if place.high is not None and not place.stops_high:
            left = by * -1 if place in self.shared else r.lin(place.high) - new
            self.claim("range", f"`{place.name}` goes beyond its range", span, r.holds(left, facts))

    def shifted(self, atom: core.Expr, by: Lin, place: core.Place, facts: Facts) -> Facts:
        """Facts about what was raised by so much, as facts about what it is now."""
        depends = any(place in reads(a)[0] for a, _ in by.terms)
        was = facts.begun(atom)
        if was is not None:
            x = Lin(frozenset(((atom, 1),)), -was)
            facts = facts.and_(x, x * -1)
        kept = []
        for f in facts.at_least:
            n = next((c for a, c in f.terms if a == atom), 0)
            others = [a for a, _ in f.terms if a != atom]
            if any(place in reads(a)[0] for a in others) or (n and depends):
                continue
            kept.append(f - by * n)
        there = frozenset(e for e in facts.there if place not in reads(e)[0])
        return Facts(frozenset(kept), there, frozenset((p, n) for p, n in facts.start if p is not place))

    def set(self, s: core.SetTo, facts: Facts) -> Facts:
        r, place = self.reader, s.place.place
        self.value(s.value, facts)
        self.keys(s.place, facts)
        if place.word == "counter":
            new = r.lin(s.value)
            self.in_range(place, new, new - r.lin(core.Read(s.place, type=place.type)), s.origin.span, facts)
        elif isinstance(bounds := plain(place.type), NumberT) and not isinstance(s.value.type, NoneT):
            for end, sign in ((bounds.low, 1), (bounds.high, -1)):
                if end is not None:
                    inside = r.holds((r.lin(s.value) - number(end)) * sign, facts)
                    self.claim("range", f"`{place.name}` leaves its range", s.origin.span, inside)
        there = isinstance(place.type, MaybeT) and r.is_there(s.value, facts)
        left = facts.without({place}, set())
        me = core.Read(s.place, type=place.type)
        if isinstance(plain(place.type), NumberT) and place not in reads(s.value)[0]:
            x = r.lin(me) - r.lin(s.value)
            left = left.and_(x, x * -1)
        return left.and_there(me) if there else left

    def move(self, s: core.MovePieces | core.MoveCount, facts: Facts) -> Facts:
        r = self.reader
        for ref in (s.source, s.goal):
            self.keys(ref, facts)
        source = canonical(core.Count(core.Read(s.source, type=s.source.place.type), type=SIZE))
        goal = canonical(core.Count(core.Read(s.goal, type=s.goal.place.type), type=SIZE))
        if isinstance(s, core.MoveCount):
            self.value(s.count, facts)
            n = r.lin(s.count)
            self.claim(
                "move", f"`{s.source.place.name}` holds fewer", s.origin.span, r.holds(r.lin(source) - n, facts) and r.holds(n, facts)
            )
        else:
            self.value(s.what, facts)
            one = not isinstance(s.what.type, SetT)
            n = number(1) if one else r.lin(core.Count(s.what, type=SIZE))
            self.claim("lies", f"this lies no longer in `{s.source.place.name}`", s.origin.span, self.lies(s.what, s.source, facts))
            if one and isinstance(s.what.type, MaybeT):
                self.claim("move", "there is nothing to move", s.origin.span, r.is_there(s.what, facts))
        if s.goal.place.word == "slot":
            self.claim("slot", f"`{s.goal.place.name}` holds a piece already", s.origin.span, r.holds(r.lin(goal) * -1, facts))
        left = self.shifted(source, n * -1, s.source.place, facts)
        after = self.shifted(goal, n, s.goal.place, left)
        moving = {s.source.place, s.goal.place}
        return after if any(not moving.isdisjoint(reads(a)[0]) for a, _ in n.terms) else after.and_(r.lin(goal) - n)

    def lies(self, e: core.Expr, source: core.PlaceRef, facts: Facts) -> bool:
        """Do these pieces lie in that place now?"""
        here = canonical(core.Read(source, type=source.place.type))
        match e:
            case core.Read():
                return canonical(e) == here
            case core.Nth():
                return canonical(core.Read(e.place, type=e.place.place.type)) == here
            case core.Filter() | core.OfKind() | core.FirstOf() | core.Arranged() | core.Reversed():
                return self.lies(e.base, source, facts)
            case core.Sure():
                return self.lies(e.item, source, facts)
            case core.Call() if e.function.body is not None and self.depth < 12:
                return self.lies(self.reader.opened(e), source, facts)
        return canonical(core.Contains(e, here, type=BOOL)) in facts.there

    def lying(self, var: core.Variable, base: core.Expr, facts: Facts) -> Facts:
        """A variable for pieces of a place: there they lie, until something is moved."""
        if base.source is None or not self.lies(base, base.source, facts):
            return facts
        here = core.Read(base.source, type=base.source.place.type)
        return facts.and_there(core.Contains(core.Var(var, type=var.type), here, type=BOOL))

    def keys(self, ref: core.PlaceRef, facts: Facts) -> None:
        for k in (*ref.keys, *(() if ref.owner is None else (ref.owner,))):
            self.value(k, facts)
        self.inside(f"`{ref.place.name}` has no such key", ref.keys, ref.place.keys, ref.span, facts)

    def inside(self, what: str, keys: tuple[core.Expr, ...], types: tuple[Type, ...], span: Span, facts: Facts) -> None:
        r = self.reader
        for k, t in zip(keys, types, strict=False):
            if isinstance(t, NumberT):
                found = r.holds(r.lin(k) - number(t.low or 0), facts) and r.holds(number(t.high or 0) - r.lin(k), facts)
                self.claim("key", what, span, found)

    # ------------------------------------------------------------ decisions

    def decide(self, s: core.Decide, facts: Facts) -> Outcome:
        r = self.reader
        for c in s.choices:
            if c.again:  # after an option of a window one is asked again
                facts = facts.without(*_written(c.body))
        sure = False
        after: list[Outcome] = []
        for c in s.choices:
            here = facts
            offered = True
            if c.only_if is not None:
                self.value(c.only_if, here)
                offered = self.follows(c.only_if, here)
                here = r.assume(c.only_if, True, here)
            for p in c.picks:
                offered = self.offers(p, here) and offered
                here = self.picked(p, here)
            sure = sure or offered
            outcome = self.block(c.body, here)
            if not c.again:
                after.append(outcome)
        self.claim("options", f"nothing can be chosen at `{s.name}`", s.origin.span, sure)
        return self.joined(after)

    def offers(self, p: core.Pick, facts: Facts) -> bool:
        """Is there always something to pick?"""
        if p.such_that is not None:
            return False
        match p.quantity:
            case "one":
                return self.reader.has_members(p.base, facts)
            case "exactly" | "at least":
                assert p.count is not None
                return self.reader.has_members(p.base, facts, self.reader.lin(p.count))
        return True

    def picked(self, p: core.Pick, facts: Facts) -> Facts:
        r = self.reader
        self.value(p.base, facts)
        facts = facts.without(set(), {p.var})
        if p.quantity == "one":
            facts = self.element(p.var, p.base, facts)
        else:
            facts = self.lying(p.var, p.base, facts)
            size = r.lin(core.Count(core.Var(p.var, type=p.var.type), type=SIZE))
            facts = facts.and_(r.lin(core.Count(p.base, type=SIZE)) - size)
            if p.count is not None:
                self.value(p.count, facts)
                n = r.lin(p.count)
                facts = facts.and_(*([size - n] if p.quantity != "up to" else []), *([n - size] if p.quantity != "at least" else []))
        if p.such_that is not None:
            self.value(p.such_that, facts)
            facts = r.assume(p.such_that, True, facts)
        return facts


def claims(game: core.Game, players: int, settings: dict[str, int]) -> list[Claim]:
    """Every line at which a match of so many players could stop."""
    reader = Reader(game, players, settings)
    made = _Walk(reader)
    made.block(game.flow, Facts(start=frozenset(_begin(reader))))
    return sorted(made.claims.values(), key=lambda c: (c.span.source.path, c.span.start))


def _can_be_left(loop: core.Loop) -> bool:
    """Is somebody asked in every pass who may end it?"""
    for s in loop.body:
        if isinstance(s, core.Decide):
            return any(isinstance(x, core.End) and x.target is loop.target for c in s.choices if not c.picks for x in c.body)
        if isinstance(s, core.Block) and s.body and isinstance(s.body[0], core.Decide):
            return any(isinstance(x, core.End) and x.target is loop.target for c in s.body[0].choices if not c.picks for x in c.body)
    return False


def _begin(reader: Reader) -> Iterator[tuple[core.Place, int]]:
    """How many pieces lie where at first, and what the counters show."""
    for place in reader.game.places.values():
        if place.starts_with is not None:
            kind = reader.game.pieces[place.starts_with]
            copies = sum(n for _, n in kind.rows) if kind.count is None else reader.range(reader.lin(kind.count))[0]
            if copies is not None:
                yield place, copies
        elif place.holds_pieces:
            yield place, 0
        elif place.word == "counter" and place.starts_at is not None:
            low, high = reader.range(reader.lin(place.starts_at))
            if low is not None and low == high:
                yield place, low


def _written(body: tuple[core.Statement, ...]) -> tuple[set[core.Place], set[core.Variable]]:
    places: set[core.Place] = set()
    variables: set[core.Variable] = set()
    for s in walk(body):
        match s:
            case core.Change() | core.SetTo() | core.Shuffle():
                places.add(s.place.place)
            case core.MovePieces() | core.MoveCount():
                places.update((s.source.place, s.goal.place))
            case core.Bind() | core.BindRandom() | core.ForEach() | core.Together():
                variables.add(s.var)
            case core.Loop():
                variables.add(s.count)
            case core.Decide():
                variables.update(p.var for c in s.choices for p in c.picks)
            case _:
                pass
    return places, variables


def _words(test: core.Expr) -> str:
    return f"it does not hold that {test.span.text}"
