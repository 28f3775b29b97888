"""What follows from what is known, for one player count and one choice of options.

A claim follows from the ranges of its parts, or from a few facts together; nothing searches further."""

from collections.abc import Iterable, Mapping

from attrs import define, field, fields

from rulelang.core import nodes as core
from rulelang.core.types import BOOL, MaybeT, NoneT, NumberT, SetT, plain
from rulelang.graph.layout import make_layout
from rulelang.prove.facts import RANGES, SKIPPED, START, Atom, Because, Bounds, Facts, Lin, all_of, computes, made, number, substituted
from rulelang.prove.numbers import DEPTH, Numbers, read_by, size_of
from rulelang.runtime.budget import Cost
from rulelang.runtime.program import with_pieces
from rulelang.source import Span

TRIES = 300  # combinations of facts that are tried for one claim
FLIPPED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def negated(e: core.Expr) -> core.Expr:
    match e:
        case core.Not():
            return e.item
        case core.Compare():
            return core.Compare(FLIPPED[e.op], e.left, e.right, type=BOOL, span=e.span)
    return core.Not(e, type=BOOL, span=e.span)


@define(eq=False)
class Reader(Numbers):
    known: dict[Atom, tuple[Lin, ...]] = field(factory=dict)
    swings: dict[int, tuple[object, dict[core.Place, Bounds]]] = field(factory=dict)  # see loops.py
    cost: Cost = field(init=False)  # what the runtime takes values to look at
    others: dict[tuple[Atom, int], tuple[core.PlaceRef, bool]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.cost = Cost(with_pieces(make_layout(self.game, self.players, self.settings)))

    # ------------------------------------------------------------ what follows

    def holds(self, goal: Lin, facts: Facts) -> Because | None:
        """Is `goal` 0 or more?  And if so, why."""
        if self._sure(goal, None):
            return RANGES
        if self._sure(goal, facts):
            return START
        left = [TRIES]
        return self._search(goal, facts, 3, left)

    def _search(self, goal: Lin, facts: Facts, depth: int, left: list[int]) -> Because | None:
        wanted = dict(goal.terms)
        near = [f for f in facts.at_least if any(wanted.get(a, 0) * n > 0 for a, n in f.terms)]
        near.extend(f for a in wanted for f in self.about(a) if any(wanted.get(b, 0) * n > 0 for b, n in f.terms))
        near.extend(self._kept(goal))
        later = []
        for f in near:
            left[0] -= 1
            if left[0] < 0:
                return None
            factor = next((wanted[a] // n for a, n in f.terms if wanted.get(a, 0) * n > 0 and wanted[a] % n == 0), 1)
            rest = goal - f * max(1, factor)
            if self._sure(rest, None):
                return f.because
            if self._sure(rest, facts):
                return f.because.and_(START)
            later.append((f, rest))
        for f, rest in later if depth > 1 else ():
            found = self._search(rest, facts, depth - 1, left)
            if found is not None:
                return found.and_(f.because)
        return None

    def quick(self, goal: Lin, facts: Facts) -> bool:
        """Does it follow from ranges and one fact?  For the many facts that are compared where ways meet."""
        return self._sure(goal, facts) or any(self._sure(goal - f, facts) for f in facts.at_least if not f.terms.isdisjoint(goal.terms))

    def touched(self, atom: Atom, ref: core.PlaceRef) -> bool:
        """May this be another value after a change there?"""
        if ref.place not in atom.places:
            return False
        found = self.others.get((atom, id(ref)))
        if found is None:
            found = self.others[atom, id(ref)] = (ref, self.apart(atom.expr, ref))
        return not found[1]

    def apart(self, e: object, ref: core.PlaceRef, bases: Mapping[core.Variable, core.Expr] | None = None) -> bool:
        """Does a value read other slots of this place only?"""
        bases = bases or {}
        match e:
            case core.PlaceRef():
                if e.place is ref.place and not self._differ(e, ref, bases):
                    return False
                return self.apart((e.owner, *e.keys), ref, bases)
            case core.Filter() | core.Exists() | core.ForAll() | core.Over():
                inner = e.value if isinstance(e, core.Over) else e.test
                return self.apart(e.base, ref, bases) and self.apart(inner, ref, {**bases, e.var: e.base})
            case core.Call():
                opened = self.opened(e)
                return opened is not None and self.apart(opened, ref, bases)
            case core.LetIn():
                return not computes(e) and self.apart(substituted(e.body, {e.var: e.value}), ref, bases)
            case core.Compute():
                return False
            case tuple():
                return all(self.apart(x, ref, bases) for x in e)
            case core.Value():
                return all(self.apart(getattr(e, f.name), ref, bases) for f in fields(type(e)) if f.name not in SKIPPED)
        return True

    def _differ(self, a: core.PlaceRef, b: core.PlaceRef, bases: Mapping[core.Variable, core.Expr]) -> bool:
        """`their points`, of opponents, is never `your points`."""
        for x, y in zip((a.owner, *a.keys), (b.owner, *b.keys), strict=False):
            if isinstance(x, core.Const) and isinstance(y, core.Const) and x.value != y.value:
                return True
            base = bases.get(x.var) if isinstance(x, core.Var) else None
            while isinstance(base, core.Arranged | core.Reversed | core.Filter):
                base = base.base
            if isinstance(base, core.Others) and y is not None and self.atoms.of(base.player) is self.atoms.of(y):
                return True
        return False

    def about(self, atom: Atom) -> tuple[Lin, ...]:
        """What always holds of a value: part and whole, quotient and remainder, a table and its keys."""
        if atom not in self.known:
            self.known[atom] = ()
            self.known[atom] = tuple(self._about(atom.expr, Lin(frozenset(((atom, 1),)), 0)))
        return self.known[atom]

    def _about(self, e: core.Expr, me: Lin) -> Iterable[Lin]:
        match e:
            case core.Count(base=core.Filter() | core.OfKind() as part):
                yield self.lin(size_of(part.base)) - me
            case core.Count(base=core.Span_() as span):
                yield me - (self.lin(span.high) - self.lin(span.low) + number(1))
            case core.TableAt():
                for i, (k, t) in enumerate(zip(e.keys, e.table.keys, strict=True)):
                    if isinstance(t, NumberT):
                        gaps = [key - v for key, v in self._by_key(e.table, i)]
                        yield self.lin(k) - me - number(min(gaps))
                        yield me - self.lin(k) + number(max(gaps))
            case core.Quotient():
                right = self.lin(e.right)
                if not right.terms and right.const > 0:
                    rest = self.lin(e.left) - me * right.const
                    yield rest + number(right.const - 1 if e.up else 0)
                    yield rest * -1 + number(0 if e.up else right.const - 1)
                elif self._sure(right, None) and self._sure(self.lin(e.left), None):
                    yield self.lin(e.left) - me
            case core.Remainder():
                if self._sure(self.lin(e.right), None) and self._sure(self.lin(e.left), None):
                    yield self.lin(e.left) - me
                    yield self.lin(e.right) - me - number(1)
            case core.Over(op="total"):
                low, high = self.bounds(e.value)
                size = self.lin(size_of(e.base))
                if low is not None:
                    yield me - size * low
                if high is not None:
                    yield size * high - me
            case core.Case():
                yield from self._ends_of(me, e, Facts())
            case core.Call() if isinstance(inner := self.opened(e), core.Case | core.Quotient | core.Remainder):
                yield from self._about(inner, me)

    def called(self, e: core.Expr, me: Lin) -> tuple[Lin, ...]:
        """What holds of a value, said of the name that it was given."""
        return tuple(self._about(self.atoms.canonical(e), me))

    def _by_key(self, table: core.Table, index: int) -> list[tuple[int, int]]:
        dims = [self.many(t) or 1 for t in table.keys]
        t = table.keys[index]
        low = t.low or 0 if isinstance(t, NumberT) else 0
        found = []
        for flat, v in enumerate(table.values):
            for dim in reversed(dims[index + 1 :]):
                flat //= dim
            found.append((low + flat % dims[index], v))
        return found

    def _kept(self, goal: Lin) -> list[Lin]:
        """Pieces that never leave their owner: what lies here does not lie there."""
        lying = [(a, ref) for a, n in goal.terms if n < 0 and (ref := read_by(a.expr)) is not None and ref.place in self.settled]
        found = []
        for i, (a, ref) in enumerate(lying):
            same = [b for b, other in lying[i + 1 :] if other.owner == ref.owner and self._apart(other.place, ref.place)]
            if same:
                whole = made([(a, -1), *((b, -1) for b in same)], self.settled[ref.place])
                found.append(whole.by(Because(words=f"{self.settled[ref.place]} pieces in all, which stay with their owner")))
        return found

    @staticmethod
    def _apart(a: core.Place, b: core.Place) -> bool:
        return a is not b and a.type == b.type

    def _ends_of(self, me: Lin, e: core.Case, facts: Facts) -> Iterable[Lin]:
        """Of `smaller(a, b)` that it is neither more than a nor more than b."""
        ways, left = [], facts
        for test, v in e.cases:
            ways.append((self.lin(v), self.assume(test, True, left)))
            left = self.assume(test, False, left)
        ways.append((self.lin(e.default), left))
        for end, _ in ways:
            if all(self.holds(end - v, known) is not None for v, known in ways):
                yield end - me
            if all(self.holds(v - end, known) is not None for v, known in ways):
                yield me - end

    # ------------------------------------------------------------ conditions

    def follows(self, test: core.Expr, facts: Facts, depth: int = 0) -> Because | None:
        """Does a condition hold here?"""
        if (held := facts.held.get(self.atoms.of(test))) is not None:
            return held
        match test:
            case core.All():
                return all_of(*(self.follows(x, facts, depth) for x in test.items))
            case core.AnyOf():
                return next((b for x in test.items if (b := self.follows(x, facts, depth)) is not None), None)
            case core.Const():
                return RANGES if test.value else None
            case core.ForAll():
                return self.follows(test.test, self.element(core.Var(test.var, type=test.var.type), test.base, facts), depth)
            case core.Exists():
                return self.has_members(core.Filter(test.var, test.base, test.test, type=test.base.type), facts)
            case core.Compare():
                return self._compares(test, facts)
            case core.Call() if depth < DEPTH and (inner := self.opened(test)) is not None:
                return self.follows(inner, facts, depth + 1)
            case core.Not(item=core.Exists() as some):
                every = core.ForAll(some.var, some.base, negated(some.test), type=BOOL)
                return self.follows(every, facts, depth)
            case core.Not(item=core.Call() as call) if depth < DEPTH and (inner := self.opened(call)) is not None:
                return self.follows(negated(inner), facts, depth + 1)
            case core.Not(item=core.AnyOf() as some):
                return all_of(*(self.follows(negated(x), facts, depth) for x in some.items))
            case core.Not(item=core.All() as every):
                return next((b for x in every.items if (b := self.follows(negated(x), facts, depth)) is not None), None)
        return None

    def _compares(self, test: core.Compare, facts: Facts) -> Because | None:
        if test.op == "!=" and isinstance(test.left.type, MaybeT) and isinstance(test.right.type, NoneT):
            return self.is_there(test.left, facts)
        if not isinstance(plain(test.left.type), NumberT) or not isinstance(plain(test.right.type), NumberT):
            if self.atoms.of(test.left) is self.atoms.of(test.right):
                return RANGES if test.op == "==" else None
            if isinstance(test.left, core.Const) and isinstance(test.right, core.Const):
                return RANGES if (test.left.value == test.right.value) == (test.op == "==") else None
            return None
        x = self.lin(test.left) - self.lin(test.right)
        match test.op:
            case ">=":
                return self.holds(x, facts)
            case ">":
                return self.holds(x - number(1), facts)
            case "<=":
                return self.holds(x * -1, facts)
            case "<":
                return self.holds(x * -1 - number(1), facts)
            case "==":
                return all_of(self.holds(x, facts), self.holds(x * -1, facts))
        return self.holds(x - number(1), facts) or self.holds(x * -1 - number(1), facts)

    def meant(self, e: core.Expr, facts: Facts) -> core.Expr:
        """A value with what its names stand for, and the names in that."""
        for _ in range(3):
            e = substituted(e, {v: value for v, (value, _) in facts.names.items()})
        return e

    def is_there(self, e: core.Expr, facts: Facts) -> Because | None:
        """Is this not none?"""
        if isinstance(e.type, NoneT):
            return None
        if not isinstance(e.type, MaybeT):
            return RANGES
        atom = self.atoms.of(e)
        if atom in facts.there:
            return facts.held.get(atom, RANGES)
        match e:
            case core.Sure():
                return RANGES
            case core.Within():
                return self.is_there(e.item, facts)
            case core.FirstOf():
                return self.has_members(e.base, facts)
            case core.Nth():
                index, size = self.lin(e.index), self.lin(self.size(e.place))
                if not index.terms and index.const < 0:
                    return self.holds(size - number(1), facts)
                return all_of(self.holds(size - index, facts), self.holds(index - number(1), facts))
            case core.Read() if e.place.place.word == "slot":
                return self.holds(self.lin(self.size(e.place)) - number(1), facts)
            case core.Call() if (inner := self.opened(e)) is not None:
                return self.is_there(inner, facts)
            case core.Case():
                found: Because | None = RANGES
                for test, v in e.cases:
                    found = all_of(found, self.is_there(v, self.assume(test, True, facts)))
                    facts = self.assume(test, False, facts)
                return all_of(found, self.is_there(e.default, facts))
            case core.LetIn() if not computes(e.body):
                return self.is_there(substituted(e.body, {e.var: e.value}), facts)
            case core.Demand():
                return self.is_there(e.body, self.assume(e.test, True, facts))
            case core.Var() if e.var in facts.names:
                return self.is_there(facts.names[e.var][0], facts)
            case core.FieldOf():
                return RANGES if min(self.printed(e), default=-1) >= 0 else None
            case core.TableAt():
                return RANGES if min(self.cells(e), default=-1) >= 0 else None
        return None

    def has_members(self, e: core.Expr, facts: Facts, n: Lin | None = None, depth: int = 0) -> Because | None:
        """Has this group at least so many members?"""
        n = number(1) if n is None else n
        one = not n.terms and n.const <= 1
        match e:
            case core.Arranged() | core.Reversed():
                return self.has_members(e.base, facts, n, depth)
            case core.Span_():
                return self.holds(self.lin(e.high) - self.lin(e.low) + number(1) - n, facts)
            case core.Call() if depth < DEPTH and (inner := self.opened(e)) is not None:
                return self.has_members(inner, facts, n, depth + 1)
            case core.Case():
                found: Because | None = RANGES
                for test, v in e.cases:
                    found = all_of(found, self.has_members(v, self.assume(test, True, facts), n, depth + 1))
                    facts = self.assume(test, False, facts)
                return all_of(found, self.has_members(e.default, facts, n, depth + 1))
            case core.LetIn() if not computes(e.body):
                return self.has_members(substituted(e.body, {e.var: e.value}), facts, n, depth + 1)
            case core.Var() if e.var in facts.names and depth < DEPTH:
                found = self.has_members(facts.names[e.var][0], facts, n, depth + 1)
                if found is not None:
                    return found
            case core.Filter() if one and depth < 3:
                found = self._best(e, facts, depth) or self._chosen(e, facts, depth)
                if found is not None:
                    return found
                me = self.element(core.Var(e.var, type=e.var.type), e.base, facts)
                found = all_of(self.has_members(e.base, facts, n, depth + 1), self.follows(e.test, me, DEPTH - 2))
                if found is not None:
                    return found
        return self.holds(self.lin(size_of(e)) - n, facts)

    def _best(self, e: core.Filter, facts: Facts, depth: int) -> Because | None:
        """`x in group where every y in group has score of y <= score of x`: in a group that is not empty one is best."""
        test = e.test
        if not isinstance(test, core.ForAll) or not isinstance(test.test, core.Compare) or test.test.op not in ("<=", ">="):
            return None
        if self.atoms.of(test.base) is not self.atoms.of(e.base):
            return None
        for own, other in ((test.test.left, test.test.right), (test.test.right, test.test.left)):
            turned = substituted(own, {e.var: core.Var(test.var, type=test.var.type)})
            if self.atoms.of(turned) is self.atoms.of(other) and test.var not in self.atoms.of(own).variables:
                return self.has_members(e.base, facts, None, depth + 1)
        return None

    def _chosen(self, e: core.Filter, facts: Facts, depth: int) -> Because | None:
        """`p in players after holder where p is in front`: as many as there are in front."""
        test, whole = e.test, e.base
        while isinstance(whole, core.Arranged | core.Reversed):
            whole = whole.base
        if not isinstance(test, core.Contains) or not isinstance(test.item, core.Var) or test.item.var is not e.var:
            return None
        if e.var in self.atoms.of(test.base).variables or not isinstance(test.base.type, SetT):
            return None
        everybody = isinstance(whole, core.Players) or (
            isinstance(whole, core.Const) and isinstance(whole.type, SetT) and whole.value.bit_count() == self.many(whole.type.item)
        )
        return self.has_members(test.base, facts, None, depth + 1) if everybody else None

    # ------------------------------------------------------------ assuming

    def assume(self, e: core.Expr, yes: bool, facts: Facts, depth: int = 0) -> Facts:
        """The facts where a condition holds, or where it does not."""
        if depth > DEPTH:
            return facts
        if isinstance(e, core.Not):
            return self.assume(e.item, not yes, facts, depth + 1)
        because = Because((e.span,)) if isinstance(e.span, Span) and e.span.source.path else RANGES
        known = self.atoms.of(e if yes else negated(e))
        if known in facts.held:
            return facts
        facts = self._resolved(facts.and_held(known, because), depth)
        match e:
            case core.All() | core.AnyOf():
                if isinstance(e, core.All) == yes:
                    for item in e.items:
                        facts = self.assume(item, yes, facts, depth + 1)
            case core.Compare():
                return self._compared(e, yes, facts, because)
            case core.Call() if (inner := self.opened(e)) is not None:
                return self.assume(inner, yes, facts, depth + 1)
            case core.Exists() | core.ForAll() if isinstance(e, core.Exists) == yes:
                test = e.test if yes else negated(e.test)
                some = core.Filter(e.var, e.base, test, type=e.base.type)
                for group in (some, e.base):
                    facts = facts.and_((self.lin(size_of(group)) - number(1)).by(because))
            case core.Exists() | core.ForAll():
                test = e.test if not yes else negated(e.test)
                none = core.Filter(e.var, e.base, test, type=e.base.type)
                facts = facts.and_((self.lin(size_of(none)) * -1).by(because))
            case core.Contains() if yes:
                return self.element(e.item, e.base, facts, because)
            case core.Case():
                for test, value in e.cases:
                    if isinstance(value, core.Const) and bool(value.value) != yes:
                        facts = self.assume(test, False, facts, depth + 1)
                    else:
                        return facts
                return self.assume(e.default, yes, facts, depth + 1)
            case core.LetIn() if not computes(e.body):
                return self.assume(substituted(e.body, {e.var: e.value}), yes, facts, depth + 1)
        return facts

    def _resolved(self, facts: Facts, depth: int) -> Facts:
        """Of `a or b`, where not a: b."""
        for atom in facts.held:
            if isinstance(atom.expr, core.AnyOf):
                left = [x for x in atom.expr.items if self.atoms.of(negated(x)) not in facts.held]
                if len(left) == 1 and self.atoms.of(left[0]) not in facts.held:
                    facts = self.assume(left[0], True, facts, depth + 1)
        return facts

    def _compared(self, e: core.Compare, yes: bool, facts: Facts, because: Because) -> Facts:
        for one, other in ((e.left, e.right), (e.right, e.left)):
            if isinstance(other.type, NoneT):
                return self.found(one, facts, because) if (e.op == "!=") == yes else facts
        if not isinstance(plain(e.left.type), NumberT) or not isinstance(plain(e.right.type), NumberT):
            for one, other in ((e.left, e.right), (e.right, e.left)):
                if (e.op == "==") == yes and isinstance(one.type, MaybeT) and not isinstance(other.type, MaybeT):
                    facts = self.found(one, facts, because)
            return facts
        if isinstance(e.left.type, MaybeT) or isinstance(e.right.type, MaybeT):
            return facts
        op = e.op if yes else FLIPPED[e.op]
        x = self.lin(e.left) - self.lin(e.right)
        match op:
            case ">=":
                return facts.and_(x.by(because))
            case ">":
                return facts.and_((x - number(1)).by(because))
            case "<=":
                return facts.and_((x * -1).by(because))
            case "<":
                return facts.and_((x * -1 - number(1)).by(because))
            case "==":
                return facts.and_(x.by(because), (x * -1).by(because))
        if self.holds(x, facts) is not None:
            return facts.and_((x - number(1)).by(because))
        return facts.and_((x * -1 - number(1)).by(because)) if self.holds(x * -1, facts) is not None else facts

    def found(self, e: core.Expr, facts: Facts, because: Because) -> Facts:
        """What is known of something once it is known that it is there."""
        atom = self.atoms.of(e)
        if atom in facts.there:
            return facts
        facts = facts.and_there(atom).and_held(atom, because)
        value = facts.names[e.var][0] if isinstance(e, core.Var) and e.var in facts.names else e
        while isinstance(value, core.Call) and (inner := self.opened(value)) is not None:
            value = inner
        if isinstance(value, core.FirstOf):
            return self.element(e, value.base, facts, because)
        if isinstance(value, core.Nth):
            facts = facts.and_((self.lin(self.size(value.place)) - number(1)).by(because))
        if isinstance(value, core.Read) and value.place.place.word == "slot":
            facts = facts.and_((self.lin(self.size(value.place)) - number(1)).by(because))
        return facts

    def element(self, me: core.Expr, base: core.Expr, facts: Facts, because: Because = RANGES, depth: int = 0) -> Facts:
        """What is known of a member of a group."""
        match base:
            case core.Filter():
                facts = self.element(me, base.base, facts, because, depth)
                return self.assume(substituted(base.test, {base.var: me}), True, facts)
            case core.Span_():
                return facts.and_((self.lin(me) - self.lin(base.low)).by(because), (self.lin(base.high) - self.lin(me)).by(because))
            case core.Arranged() | core.Reversed() | core.OfKind():
                return self.element(me, base.base, facts, because, depth)
            case core.Call() if depth < DEPTH and (inner := self.opened(base)) is not None:
                return self.element(me, inner, facts, because, depth + 1)
            case core.Var() if base.var in facts.names and depth < DEPTH:
                facts = facts.and_((self.lin(size_of(base)) - number(1)).by(because))
                return self.element(me, facts.names[base.var][0], facts, because, depth + 1)
            case core.Read() if base.place.place.holds_pieces:
                facts = facts.and_((self.lin(self.size(base.place)) - number(1)).by(because))
                if isinstance(me, core.Var):
                    return facts.and_held(self.lying(me, base.place), because)
            case core.Nth() | core.FirstOf():
                return facts
        return facts

    def lying(self, e: core.Expr, here: core.PlaceRef) -> Atom:
        """That this piece, or all pieces of this group, lie there."""
        return self.atoms.of(core.Contains(e, core.Read(here, type=here.place.type), type=BOOL))
