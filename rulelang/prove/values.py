"""The claims inside values, each with what is known where it is read."""

from collections.abc import Iterable, Iterator

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.types import MaybeT, NumberT, PieceT, SetT, Type, plain
from rulelang.limits import MEMBERS, NUMBER
from rulelang.prove.facts import RANGES, START, Because, Bounds, Facts, Lin, all_of, number, parts
from rulelang.prove.numbers import multiplied, size_of
from rulelang.prove.reader import Reader
from rulelang.prove.verdict import BOUNDED, Claim, Verdict, judged
from rulelang.runtime.values import LARGEST, rep
from rulelang.source import Span

Outcome = Facts | None  # nothing: this line is never passed


@define(eq=False)
class Values:
    reader: Reader
    claims: dict[tuple[str, str, str], Claim] = field(factory=dict)
    ends: dict[core.Target, list[Facts]] = field(factory=dict)
    checked: dict[core.Function, dict[tuple[str, str, str], Claim]] = field(factory=dict)
    own: set[core.Place] = field(factory=set)  # places of a player in which only his own pieces lie
    mixed: set[core.Place] = field(factory=set)  # those of them of which it turned out otherwise
    narrowed: bool = False
    depth: int = 0
    trying: bool = False  # what holds in every pass is being found out: nothing is claimed
    shared: dict[core.Place, Bounds] = field(factory=dict)  # what several threads change, and how far together

    def block(self, body: Iterable[core.Statement], facts: Outcome) -> Outcome:
        """What is known after these statements."""
        raise NotImplementedError

    def claim(self, sort: str, about: str, span: Span, verdict: Verdict) -> None:
        """One line can be read in several ways (a verb at several calls): all of them count."""
        if self.trying:
            return
        key = (sort, about, str(span))
        old = self.claims.get(key)
        self.claims[key] = Claim(sort, about, span, verdict if old is None else old.verdict.and_(verdict))

    def shown(self, sort: str, about: str, span: Span, goal: Lin, facts: Facts) -> None:
        """A claim that is one inequality."""
        if not self.trying:
            self.claim(sort, about, span, judged(self.reader.holds(goal, facts), goal))

    # ------------------------------------------------------------ values

    def value(self, e: core.Expr, facts: Facts) -> None:
        """The claims inside a value, each with what is known where it is read."""
        if self.trying:
            return
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
                for v in (*(v for _, v in e.cases), e.default):
                    self.kept(v, e.type, facts, stored=False)
                return
            case core.LetIn():
                self.kept(e.value, e.var.type, facts)
                self.value(e.value, facts)
                self.value(e.body, self.bound(e.var, e.value, facts))
                return
            case core.Demand():
                self.value(e.test, facts)
                self.claim("needs", e.test.span.text, e.span, judged(r.follows(e.test, facts)))
                self.value(e.body, r.assume(e.test, True, facts))
                return
            case core.Filter() | core.Exists() | core.ForAll():
                self.value(e.base, facts)
                self.value(e.test, self.member(e.var, e.base, facts))
                return
            case core.Over():
                self.value(e.base, facts)
                self.value(e.value, self.member(e.var, e.base, facts))
                if e.op != "total":
                    self.claim("empty", e.op, e.span, judged(r.has_members(e.base, facts)))
                return
            case core.Compute():
                outer, self.ends = self.ends, {}
                after = self.block(e.body, facts)
                self.ends = outer
                if after is not None:
                    self.value(e.result, after)
                return
            case core.Call():
                for a, p in zip(e.args, e.function.params, strict=True):
                    self.kept(a, p.type, facts)
                self.call(e, facts)
            case core.Product():
                self.product(e, facts)
            case core.ListOf() if rep(e.type) == "mask":
                self.small(e, MEMBERS, None, e.span, facts)
            case core.Sure():
                self.claim("none", e.span.text, e.span, judged(r.is_there(e.item, facts)))
            case core.Within():
                self.claim("argument", e.about, e.span, judged(all_of(*(r.holds(x, facts) for x in r.held(e)))))
            case core.Quotient() | core.Remainder():
                right = r.lin(e.right)
                proof = r.holds(right - number(1), facts) or r.holds(right * -1 - number(1), facts)
                self.claim("division", e.right.span.text, e.span, judged(proof, right - number(1)))
            case core.TableAt():
                self.inside("table", e.table.name, e.keys, e.table.keys, e.span, facts)
            case core.FieldOf():
                self.printed(e, facts)
            case core.OwnerOf():
                owned = all(k.per_player for k in self.kinds(e.item.type))
                self.claim("owner", e.item.span.text, e.span, judged(all_of(RANGES if owned else None, r.is_there(e.item, facts))))
            case core.PositionOf():
                self.claim("position", e.place.place.name, e.span, judged(self.lies(e.item, e.place, facts)))
                self.keys(e.place, facts, deep=False)
            case core.Nth():
                index = r.lin(e.index)
                if index.terms or index.const != 1:
                    self.shown("nth", e.place.place.name, e.span, r.lin(self.reader.size(e.place)) - index, facts)
                    if index.terms or not index.const < 0:
                        self.shown("nth", e.place.place.name, e.span, index - number(1), facts)
                self.keys(e.place, facts, deep=False)
            case core.Read():
                self.keys(e.place, facts, deep=False)
        for part in parts(e):
            self.value(part, facts)

    def product(self, e: core.Product, facts: Facts) -> None:
        """Nothing is claimed where the declared ranges keep it small."""
        r = self.reader
        if _within(r.bounds(e), -NUMBER, NUMBER):
            return
        sides = [r.range(r.lin(x), facts) for x in (e.left, e.right)]
        me = r.lin(e)
        proof = START if _within(multiplied(*sides), -NUMBER, NUMBER) else None
        low = all_of(*(r.holds(r.lin(x), facts) for x in (e.left, e.right))) or r.holds(me + number(NUMBER), facts)
        proof = proof or all_of(r.holds(number(NUMBER) - me, facts), low)
        verdict = judged(proof)
        if proof is None:
            ends = [max(-low, high) if low is not None and high is not None else None for low, high in sides]
            open_ = [x for x, end in zip((e.left, e.right), ends, strict=True) if end is None]
            known = next((end for end in ends if end is not None), 0)
            if len(open_) == 1:
                verdict = Verdict(BOUNDED, note=f"as long as `{text_of(open_[0])}` is {NUMBER // max(1, known):,} at most")
        self.claim("number", text_of(e), e.span, verdict)

    def kept(self, e: core.Expr, t: Type, facts: Facts, stored: bool = True) -> None:
        """A group that is given a name, laid down or handed over: it must be one that can be kept as one number."""
        if rep(t) == "seq" and stored:
            self.small(e, LARGEST, MEMBERS, e.span, facts)
        elif rep(t) == "mask" and rep(e.type) == "seq":
            self.small(e, MEMBERS, None, e.span, facts)

    def small(self, e: core.Expr, largest: int, most: int | None, span: Span, facts: Facts) -> None:
        """Of numbers none is larger than that, and there are no more than `most`; claimed where the ranges leave it open."""
        r = self.reader
        if self.trying:
            return
        item = plain(e.type.item) if isinstance(e.type, SetT) else plain(e.type)
        fits = not isinstance(item, NumberT) or _within(r.members(e), 0, largest)
        few = most is None or _within(r.bounds(size_of(e)), 0, most)
        if not (fits and few):
            few = few or _within(r.range(r.lin(size_of(e)), facts), 0, most)
            self.claim("kept", text_of(e), span, judged(START if fits and few else None))

    def kinds(self, t: Type) -> list[core.Pieces]:
        """The kinds of pieces that this may be: those of its type, or, where pieces went to a place that is not for
        them, all."""
        item = plain(t)
        item = plain(item.item) if isinstance(item, SetT) else item
        if not isinstance(item, PieceT) or self.narrowed:
            return list(self.reader.game.pieces.values())
        return [self.reader.game.pieces[k] for k in item.kinds]

    def printed(self, e: core.FieldOf, facts: Facts) -> None:
        keys: tuple[Type, ...] = ()
        if isinstance(plain(e.item.type), PieceT):
            have = [k.fields.get(e.name) for k in self.kinds(e.item.type)]
            self.claim("field", e.name, e.span, judged(None if None in have else RANGES))
            keys = next((f.keys for f in have if f is not None), ())
        elif (kind := getattr(plain(e.item.type), "kind", None)) is not None:
            keys = self.reader.game.kinds[kind].fields[e.name].keys
        if isinstance(e.item.type, MaybeT):
            self.claim("none", e.item.span.text, e.span, judged(self.reader.is_there(e.item, facts)))
        self.inside("field", e.name, e.keys, keys, e.span, facts)

    def call(self, e: core.Call, facts: Facts) -> None:
        """A definition is read by itself; only what cannot be proved so is read anew at each call."""
        f, r = e.function, self.reader
        if f.body is None:
            return
        if f not in self.checked:
            trial = type(self)(r, checked=self.checked, own=self.own, narrowed=self.narrowed, depth=self.depth + 1)
            self.checked[f] = {}  # a definition that is being read
            trial.value(f.body, Facts())
            self.checked[f] = trial.claims
        alone = self.checked[f]
        inner = r.opened(e)
        if all(c.proved for c in alone.values()) or inner is None or self.depth > 12:
            for c in alone.values():
                self.claim(c.sort, c.about, c.span, c.verdict)
            return
        facts = facts.and_(*(x for a in e.args if isinstance(a, core.Within) for x in r.held(a)))
        self.depth += 1
        self.value(inner, facts)
        self.depth -= 1

    def member(self, var: core.Variable, base: core.Expr, facts: Facts) -> Facts:
        me = core.Var(var, type=var.type)
        facts = facts.without(set(), {var})
        return self.reader.element(me, base, facts)

    def bound(self, var: core.Variable, value: core.Expr, facts: Facts) -> Facts:
        """What is known of a name once it is given."""
        r = self.reader
        facts = facts.without(set(), {var})
        me = core.Var(var, type=var.type)
        atom = r.atoms.of(value)
        if isinstance(plain(value.type), NumberT) and not isinstance(value.type, MaybeT):
            x, y = r.lin(me), r.lin(value)
            low, high = r.range(y, facts)
            ends = [x - number(low)] if low is not None else []
            facts = facts.and_(x - y, y - x, *ends, *([number(high) - x] if high is not None else []))
            facts = facts.and_(*self.parted(me, x, value, facts))
        elif isinstance(value.type, SetT):
            x = r.lin(size_of(me)) - r.lin(size_of(value))
            facts = facts.and_(x, x * -1)
        there = r.is_there(value, facts) if isinstance(value.type, MaybeT) else None
        if value.source is not None and (proof := self.lies(value, value.source, facts)) is not None and not isinstance(value.type, MaybeT):
            facts = facts.and_held(r.lying(me, value.source), proof)
        if var not in atom.variables:
            facts = facts.named(var, value, atom)
        return r.found(me, facts, there) if there is not None else facts

    def parted(self, me: core.Expr, x: Lin, value: core.Expr, facts: Facts) -> Iterator[Lin]:
        """Of `smaller(limit, pool / n rounded down)` that n times as much is in the pool."""
        r = self.reader
        facts = facts.and_(*r.called(value, x))
        for f in facts.at_least:
            for atom, n in f.terms:
                q = atom.expr
                part = n == 1 and isinstance(q, core.Quotient) and not q.up and f == Lin(frozenset(((atom, 1), *(x * -1).terms)), 0)
                if part and isinstance(q, core.Quotient) and r.holds(r.lin(q.right) - number(1), facts) is not None:
                    yield r.lin(q.left) - r.lin(core.Product(me, q.right, type=NumberT()))

    def lies(self, e: core.Expr, source: core.PlaceRef, facts: Facts, depth: int = 0) -> Because | None:
        """Do these pieces lie in that place now?"""
        r = self.reader
        here = r.atoms.of(core.Read(source, type=source.place.type))
        match e:
            case core.Read():
                return RANGES if r.atoms.of(e) is here else None
            case core.Nth():
                return RANGES if r.atoms.of(core.Read(e.place, type=e.place.place.type)) is here else None
            case core.Filter() | core.OfKind() | core.FirstOf() | core.Arranged() | core.Reversed():
                return self.lies(e.base, source, facts, depth)
            case core.Sure():
                return self.lies(e.item, source, facts, depth)
            case core.Call() if depth < 12 and (inner := r.opened(e)) is not None:
                return self.lies(inner, source, facts, depth + 1)
        known = facts.held.get(r.lying(e, source))
        if known is None and isinstance(e, core.Var) and e.var in facts.names:
            return self.lies(facts.names[e.var][0], source, facts, depth + 1)
        return known

    def keys(self, ref: core.PlaceRef, facts: Facts, deep: bool = True) -> None:
        if self.trying:
            return
        for k in (*ref.keys, *(() if ref.owner is None else (ref.owner,))) if deep else ():
            self.value(k, facts)
        self.inside("key", ref.place.name, ref.keys, ref.place.keys, ref.span, facts)

    def inside(self, sort: str, name: str, keys: tuple[core.Expr, ...], types: tuple[Type, ...], span: Span, facts: Facts) -> None:
        r = self.reader
        for k, t in zip(keys, types, strict=False):
            if isinstance(t, NumberT):
                self.shown(sort, name, span, r.lin(k) - number(t.low or 0), facts)
                self.shown(sort, name, span, number(t.high or 0) - r.lin(k), facts)


def _within(b: Bounds, low: int, high: int | None) -> bool:
    return b[0] is not None and b[0] >= low and (high is None or (b[1] is not None and b[1] <= high))


def text_of(e: core.Expr) -> str:
    if isinstance(e, core.Var):
        return e.var.name
    return " ".join(e.span.text.split()) if e.span.source.path else "this"
