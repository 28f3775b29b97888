"""What can never happen, by declared ranges alone: a condition that never holds, an option that is never offered, a row of
a table that nobody asks for.

Every value is read as the range in which it lies for all player counts and options at once.  Of numbers only those count
that stand in the line itself: one that has a name (`define bonus = 0`) is there for variants to change, and one that a
verb is called with may be another at the next call.  What a test says holds until something on the table may change."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from attrs import define, field, frozen

from rulelang.core import nodes as core
from rulelang.core.threads import walk
from rulelang.core.types import BoolT, KindT, MaybeT, NumberT, PieceT, PlayerT, SetT, Type, plain
from rulelang.prove.facts import computes, parts, substituted
from rulelang.prove.laid import Laid, laid_once
from rulelang.prove.loops import kinds_narrowed, parts_of
from rulelang.source import NOWHERE, Span

Range = tuple[int | None, int | None]
ANY: Range = (None, None)
MAYBE: Range = (0, 1)
DEPTH = 30
Keys = tuple[core.Expr, ...]
READ = 2_000  # definitions that are read with what they are called with, for one key


@frozen
class Never:
    """`if talers > 20`, where `talers` is 0..10: what never happens, and the range that says so"""

    sort: str  # if, otherwise, give, below, offer, pick
    span: Span = field(eq=False)
    why: str
    heading: str
    name: str  # of an option


@define(eq=False)
class _Seen:
    """One line at all places where it is used: could the condition hold, could it fail?"""

    sort: str
    span: Span
    heading: str
    name: str
    why: str
    yes: bool = False
    no: bool = False
    others: bool = False  # something happens otherwise
    dead: tuple[core.Statement, ...] = ()  # what never happens if it never holds


@define(eq=False)
class Reach:
    """Reads a game once."""

    game: core.Game
    lets: set[core.Variable] = field(factory=set)
    seen: dict[tuple[str, int], _Seen] = field(factory=dict)
    env: dict[core.Variable, Range] = field(factory=dict)
    reached: set[tuple[str, int]] = field(factory=set)  # steps, by file and place
    counts: set[core.Variable] = field(factory=set)  # of loops: they change as places do
    values: dict[core.Function, Range] = field(factory=dict)
    facts: tuple[tuple[core.Expr, Range], ...] = ()
    fields: dict[str, Range] = field(factory=dict)
    ended: set[core.Target] = field(factory=set)
    here: Span = NOWHERE  # the line that is read
    around: tuple[Span, ...] = ()  # the lines that call the definition which is read
    exact: "Exact | None" = None  # of keys: printed numbers, pieces and what definitions are called with count as well
    left: int = READ
    depth: int = 0

    # ------------------------------------------------------------ ranges of values

    def range(self, e: core.Expr) -> Range:
        """Where a value lies; truth is 0 or 1, a member its number."""
        found = self._range(e)
        for known, (low, high) in self.facts:
            if type(known) is type(e) and known == e:
                found = _most(found[0], low), _least(found[1], high)
        return found

    def _range(self, e: core.Expr) -> Range:
        match e:
            case core.Const():
                return (e.value, e.value) if self._stands_here(e) else self._of_type(e.type)
            case core.Compare():
                return self._compare(e)
            case core.All() | core.AnyOf():
                return self._joined(e)
            case core.Not():
                low, high = self.range(e.item)
                return (None if high is None else 1 - high), (None if low is None else 1 - low)
            case core.Read():
                return self._of_place(e.place.place)
            case core.Var():
                return self.env[e.var] if e.var in self.env else self._of_name(e)
            case core.PlayerCount():
                return self.game.players[0], self.game.players[-1]
            case core.OptionValue():
                return self._of_option(e.option)
            case core.Call():
                return self._call(e)
            case core.Count():
                return self._count(e.base)
            case core.FieldOf():
                if self.exact and isinstance(e.item, core.Const) and isinstance(plain(e.item.type), KindT) and not e.keys:
                    return self._printed(e, e.item)
                return self._of_field(e.name)
            case core.Sum():
                total: Range = (0, 0)
                for sign, term in e.terms:
                    total = _add(total, self.range(term), sign)
                return total
            case core.Product():
                return _times(self.range(e.left), self.range(e.right))
            case core.Remainder():
                low, high = self.range(e.right)
                return (0, high - 1) if low is not None and low > 0 and high is not None else ANY
            case core.Quotient():
                (low, high), by = self.range(e.left), self.range(e.right)[0]
                return (0, high) if low is not None and low >= 0 and by is not None and by > 0 else ANY
            case core.Exists() | core.ForAll():
                low, high = self.range(e.test)
                empty = self._count(e.base)
                if isinstance(e, core.Exists):
                    return (0, 0) if high == 0 or empty[1] == 0 else MAYBE
                return (1, 1) if low == 1 or empty[1] == 0 else MAYBE
            case core.Case():
                return self._cases(e)
            case core.LetIn():
                outer = dict(self.env)
                self.env[e.var] = self.range(e.value)
                found = self.range(e.body)
                self.env = outer if self.exact is not None else self.env
                return found
            case core.Demand():
                return self.range(e.body)
            case core.Over() if e.op == "total":
                low = self.range(e.value)[0]
                return (0, None) if low is not None and low >= 0 else ANY
            case core.Within():
                low, high = self.range(e.item)
                return low if e.low is None else _most(low, e.low), high if e.high is None else _least(high, e.high)
            case core.Sure():
                low, high = self.range(e.item)
                return (None if low is None else max(low, 0)) if isinstance(plain(e.type), KindT | PlayerT) else low, high
        return self._of_type(e.type)

    def _stands_here(self, e: core.Const) -> bool:
        here, at = self.here, e.span
        return not isinstance(e.type, SetT) and any(
            at.source is line.source and line.start <= at.start and at.end <= line.end for line in (here, *self.around)
        )

    def within(self, e: core.Expr, span: Span) -> Range:
        """The range of what is written there."""
        outer, self.here = self.here, span
        found = self.range(e)
        self.here = outer
        return found

    def _of_type(self, t: Type) -> Range:
        """Numbers are open: their range is read where they come from."""
        low = -1 if isinstance(t, MaybeT) else 0
        match plain(t):
            case BoolT():
                return low, 1
            case KindT() as kind:
                return low, len(self.game.kinds[kind.kind].members) - 1
            case PlayerT():
                return low, self.game.players[-1] - 1
        return ANY

    def _of_place(self, place: core.Place) -> Range:
        if place.word == "counter":
            low = None if place.low is None else self.within(place.low, place.span)[0]
            return low, None if place.high is None else self.within(place.high, place.span)[1]
        t = place.type
        return (t.low, t.high) if isinstance(t, NumberT) else self._of_type(t)

    def _of_option(self, option: core.Option) -> Range:
        return self._of_type(option.type) if isinstance(option.type, PlayerT) else (min(option.values), max(option.values))

    def _of_field(self, name: str) -> Range:
        if name not in self.fields:
            everywhere = [*(k.fields for k in self.game.kinds.values()), *(k.fields for k in self.game.pieces.values())]
            printed = [known[name] for known in everywhere if name in known]
            found = [(f.type.low, f.type.high) if isinstance(f.type, NumberT) else self._of_type(f.type) for f in printed]
            self.fields[name] = _hull(found) if found else ANY
        return self.fields[name]

    def _of_name(self, e: core.Var) -> Range:
        value = None if self.exact is None else self.exact.named.get(e.var)
        if value is None or self.depth >= DEPTH:
            return self._of_type(e.var.type)
        self.depth += 1
        found = self.range(value)
        self.depth -= 1
        return found

    def _printed(self, e: core.FieldOf, member: core.Const) -> Range:
        kind = plain(member.type)
        assert isinstance(kind, KindT)
        (value,) = self.game.kinds[kind.kind].fields[e.name].values[member.value]
        return (value, value) if isinstance(e.type, NumberT) else self._of_field(e.name)

    def _opened(self, e: core.Call) -> Range:
        """A definition with what it is called with; the numbers of the call stand in its line."""
        body = e.function.body
        self.left -= 1
        if body is None or isinstance(body, core.Const) or computes(body) or self.depth >= DEPTH or self.left < 0:
            return self._of_type(e.function.type)
        outer, self.around = self.around, (*self.around, self.here)
        facts, self.facts = self.facts, ()
        self.depth += 1
        found = self.within(substituted(body, dict(zip(e.function.params, e.args, strict=True))), e.function.span)
        self.depth -= 1
        self.around, self.facts = outer, facts
        return found

    def _call(self, e: core.Call) -> Range:
        if self.exact:
            return self._opened(e)
        f = e.function
        if f not in self.values:
            self.values[f] = self._of_type(f.type)
            if f.body is not None and not isinstance(f.body, core.Const) and self.depth < DEPTH:
                outer, self.facts = self.facts, ()
                self.depth += 1
                self.values[f] = self.within(f.body, f.span)
                self.depth -= 1
                self.facts = outer
        return self.values[f]

    def _count(self, base: core.Expr) -> Range:
        match base:
            case core.Players():
                return self.game.players[0], self.game.players[-1]
            case core.Others():
                return self.game.players[0] - 1, self.game.players[-1] - 1
            case core.Const():
                return base.value.bit_count(), base.value.bit_count()
            case core.Filter():
                most = self._count(base.base)[1] if self.range(base.test)[1] != 0 else 0
                return 0, _least(most, self._fitting(base)) if self.exact else most
            case core.Arranged() | core.Reversed():
                return self._count(base.base)
            case core.Span_():
                (a, b), (c, d) = self.range(base.low), self.range(base.high)
                return 0 if b is None or c is None else max(0, c - b + 1), None if a is None or d is None else max(0, d - a + 1)
            case core.Read() if base.place.place.word == "slot":
                return MAYBE
            case core.Read() if self.exact and base.place.place.holds_pieces:
                return 0, self._pieces(base.place)
            case core.Call() if self.exact:
                self.left -= 1
                if base.function.body is None or computes(base.function.body) or self.left < 0:
                    return 0, None
                return self._count(substituted(base.function.body, dict(zip(base.function.params, base.args, strict=True))))
        return 0, None

    def _pieces(self, ref: core.PlaceRef) -> int | None:
        """No more lie there than there are, and no more than were ever laid there."""
        total: Range = (0, 0)
        for k in self._kinds(ref.place.type):
            many = (0, sum(n for _, n in k.rows)) if k.count is None else self.within(k.count, k.span)
            total = _add(total, _times(many, (1, self.game.players[-1])) if k.per_player else many, 1)
        known = {} if self.exact is None else self.exact.laid
        if ref.place not in known:
            return total[1]
        laid: Range = (0, 0)
        for line in known[ref.place]:
            laid = _add(laid, self.within(line.at(ref), line.count.span), 1)
        return total[1] if laid[1] is None else max(0, laid[1]) if total[1] is None else min(total[1], max(0, laid[1]))

    def _kinds(self, t: Type) -> list[core.Pieces]:
        item = plain(t.item) if isinstance(t, SetT) else plain(t)
        pieces = self.game.pieces.values()
        mixed = self.exact is not None and self.exact.mixed
        return [k for k in pieces if mixed or not isinstance(item, PieceT) or k.name in item.kinds]

    def _fitting(self, e: core.Filter) -> int | None:
        """`card in hand where ware of card is oil`: no more than are printed so; where it is open which, than of the
        commonest."""
        whole = e.base
        while isinstance(whole, core.Filter | core.OfKind):
            whole = whole.base
        lying = isinstance(whole, core.Read) and whole.place.place.holds_pieces
        if not lying or not isinstance(e.test, core.Compare) or e.test.op != "==":
            return None
        me = core.Var(e.var, type=e.var.type)
        for own, other in ((e.test.left, e.test.right), (e.test.right, e.test.left)):
            if _mention([other], me):
                continue
            if isinstance(own, core.FieldOf) and not own.keys and isinstance(own.item, core.Var) and own.item.var is e.var:
                many = Counter[int]()
                for k in self._kinds(e.var.type):
                    if k.count is not None:
                        return None
                    cells = k.fields[own.name].values if own.name in k.fields else ()
                    for (value,), (_, copies) in zip(cells, k.rows, strict=False):
                        many[value] += copies * (self.game.players[-1] if k.per_player else 1)
                return many[other.value] if isinstance(other, core.Const) else max(many.values(), default=0)
        return None

    def _joined(self, e: core.All | core.AnyOf) -> Range:
        """`a and b`: b is read knowing a."""
        outer = self.facts
        stop = 0 if isinstance(e, core.All) else 1
        sure = True
        for item in e.items:
            found = self.range(item)
            if found == (stop, stop):
                self.facts = outer
                return found
            sure = sure and found == (1 - stop, 1 - stop)
            self.facts = self.facts + tuple(self.assume(item, stop == 0))
        self.facts = outer
        return (1 - stop, 1 - stop) if sure else MAYBE

    def _compare(self, e: core.Compare) -> Range:
        (a, b), (c, d) = self.range(e.left), self.range(e.right)
        same = e.left == e.right
        less = _holds(b is not None and c is not None and b < c, (a is not None and d is not None and a >= d) or same)
        more = _holds(a is not None and d is not None and a > d, (b is not None and c is not None and b <= c) or same)
        apart = (b is not None and c is not None and b < c) or (a is not None and d is not None and a > d)
        equal = _holds(same or (a is not None and a == b == c == d), apart)
        return {"<": less, ">=": _not(less), ">": more, "<=": _not(more), "==": equal, "!=": _not(equal)}[e.op]

    def _cases(self, e: core.Case) -> Range:
        """`give` lines: each is read knowing that those above it do not apply."""
        outer = self.facts
        found = []
        for test, value in e.cases:
            truth = self.range(test)
            self.note("give", test, truth, test.span, others=True)
            if truth != (0, 0):
                inner = self.facts
                self.facts = inner + tuple(self.assume(test, True))
                found.append(self.range(value))
                self.facts = inner
            if truth == (1, 1):
                self.facts = outer
                return _hull(found)
            self.facts = self.facts + tuple(self.assume(test, False))
        found.append(self.range(e.default))
        self.facts = outer
        return _hull(found)

    def assume(self, e: core.Expr, yes: bool) -> Iterator[tuple[core.Expr, Range]]:
        """The ranges in which values lie if a condition holds, or if it does not."""
        if not isinstance(e, core.Const):
            yield e, (int(yes), int(yes))
        match e:
            case core.Not():
                yield from self.assume(e.item, not yes)
            case core.All() | core.AnyOf() if isinstance(e, core.All) == yes:
                for item in e.items:
                    yield from self.assume(item, yes)
            case core.Compare():
                op = e.op if yes else {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}[e.op]
                flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
                yield from self._bound(e.left, op, self.range(e.right))
                yield from self._bound(e.right, flipped, self.range(e.left))

    def _bound(self, e: core.Expr, op: str, by: Range) -> Iterator[tuple[core.Expr, Range]]:
        if isinstance(e, core.Const):
            return
        low, high = by
        match op:
            case "<":
                yield e, (None, None if high is None else high - 1)
            case "<=":
                yield e, (None, high)
            case ">":
                yield e, (None if low is None else low + 1, None)
            case ">=":
                yield e, (low, None)
            case "==":
                yield e, by
            case "!=" if low is not None and low == high:
                a, b = self.range(e)
                if a == low:
                    yield e, (low + 1, None)
                elif b == low:
                    yield e, (None, low - 1)

    # ------------------------------------------------------------ lines

    def note(
        self, sort: str, test: core.Expr, truth: Range, span: Span, heading: str = "", *, name: str = "",
        others: bool = False, dead: tuple[core.Statement, ...] = (),
    ) -> None:  # fmt: skip
        if not span.source.path:
            return
        line = self.seen.get(_key(span))
        if line is None:
            why = "" if truth == MAYBE else self._why(test)
            line = self.seen[_key(span)] = _Seen(sort, span, heading, name, why, others=others, dead=dead)
        line.yes |= truth[1] != 0
        line.no |= truth[0] != 1

    def _why(self, e: core.Expr) -> str:
        """`talers is 0..10`: the range that decides it, where one can be named."""
        match e:
            case core.Compare():
                for side in (e.left, e.right):
                    low, high = self.range(side)
                    if not isinstance(side, core.Const) and isinstance(plain(side.type), NumberT) and (low is not None or high is not None):
                        name = side.var.name if isinstance(side, core.Var) else side.span.text
                        return f"{name} is {_told(low, high)} here"
            case core.All():
                outer = self.facts
                for item in e.items:
                    if self.range(item) == (0, 0):
                        found = self._why(item)
                        self.facts = outer
                        return found
                    self.facts = self.facts + tuple(self.assume(item, True))
                self.facts = outer
        return ""

    def block(self, body: Iterable[core.Statement]) -> bool:
        """Reads lines in order; is the end of them reached?"""
        outer = self.facts
        goes_on = True
        for s in body:
            goes_on = self.statement(s)
            if not goes_on:
                break
            if self.facts and _changes(s):
                self.facts = self.lasting()
        self.facts = outer
        return goes_on

    def statement(self, s: core.Statement) -> bool:
        match s:
            case core.Branch():
                return self.branch(s)
            case core.Block():
                if s.is_step:
                    self.reached.add(_key(s.origin.span))
                return self.block(s.body) or s.target in self.ended
            case core.Loop():
                self.anew(s.body)
            case core.ForEach() | core.Together():
                self.element(s.var, s.base)
                self.anew(s.body)
            case core.Decide():
                outer = self.facts
                self.facts = self.lasting() if any(c.again for c in s.choices) else outer
                for c in s.choices:
                    self.choice(c)
                self.facts = outer
            case core.Bind() if s.var in self.lets:
                self.env[s.var] = self.within(s.value, s.origin.span)
            case core.End():
                self.ended.add(s.target)
                return False
            case _:
                pass
        return True

    def lasting(self) -> tuple[tuple[core.Expr, Range], ...]:
        """What is still known after something changed on the table."""
        fixed = (core.OptionValue, core.PlayerCount)
        return tuple((e, r) for e, r in self.facts if isinstance(e, fixed) or (isinstance(e, core.Var) and e.var not in self.counts))

    def anew(self, body: tuple[core.Statement, ...]) -> None:
        """A body that may come round again, or after others: only what cannot change is known."""
        outer = self.facts
        self.facts = tuple((e, r) for e, r in self.facts if isinstance(e, core.OptionValue | core.PlayerCount))
        self.block(body)
        self.facts = outer

    def element(self, var: core.Variable, base: core.Expr) -> None:
        while isinstance(base, core.Arranged | core.Reversed | core.Filter):
            base = base.base
        if isinstance(base, core.Span_):
            self.env[var] = self.within(base.low, base.span)[0], self.within(base.high, base.span)[1]

    def branch(self, s: core.Branch) -> bool:
        outer = self.facts
        self.here = s.test.span
        truth = self.range(s.test)
        dead = s.then if truth == (0, 0) else s.otherwise
        self.note("if", s.test, truth, s.test.span, s.origin.heading, others=bool(s.otherwise), dead=dead)
        holds, fails = tuple(self.assume(s.test, True)), tuple(self.assume(s.test, False))
        goes_on = False
        if truth != (0, 0):
            self.facts = outer + holds
            goes_on = self.block(s.then)
        if truth != (1, 1):
            self.facts = outer + fails
            goes_on = self.block(s.otherwise) or goes_on
        self.facts = outer
        return goes_on

    def choice(self, c: core.Choice) -> None:
        outer = self.facts
        offered = True
        self.here = c.origin.span
        if c.only_if is not None:
            truth = self.range(c.only_if)
            self.note("offer", c.only_if, truth, c.only_if.span, c.origin.heading, name=c.name, dead=c.body)
            offered = truth != (0, 0)
            self.facts = self.facts + tuple(self.assume(c.only_if, True))
        for p in c.picks:
            offered = self.pick(p, c) and offered
        if offered:
            self.block(c.body)
        self.facts = outer

    def pick(self, p: core.Pick, c: core.Choice) -> bool:
        size = self._count(p.base)[1]
        least = 1 if p.quantity == "one" else 0 if p.count is None or p.quantity == "up to" else self.range(p.count)[0]
        possible = size is None or least is None or size >= least
        self.note("pick", p.base, (0, int(possible)), p.span, c.origin.heading, name=c.name, dead=c.body)
        self.element(p.var, p.base)
        if p.such_that is not None:
            truth = self.range(p.such_that)
            self.note("offer", p.such_that, truth, p.such_that.span, c.origin.heading, name=c.name, dead=c.body)
            possible = possible and truth != (0, 0)
        return possible


def _key(span: Span) -> tuple[str, int]:
    return span.source.path, span.start


def _changes(s: core.Statement) -> bool:
    return any(not isinstance(x, core.Branch | core.Block | core.Bind | core.Need | core.Say | core.End) for x in walk((s,)))


def _has_step(body: tuple[core.Statement, ...]) -> bool:
    return any(isinstance(s, core.Block) and s.is_step for s in walk(body))


def nevers(game: core.Game, functions: Iterable[core.Function], lets: set[core.Variable]) -> tuple[list[Never], set[tuple[str, int]]]:
    """Conditions that never hold and blocks that never happen; and every step that is reached."""
    made = Reach(game, lets, counts={s.count for s in walk(game.flow) if isinstance(s, core.Loop)})
    made.block(game.flow)
    for f in functions:
        if f.body is not None:
            made.within(f.body, f.span)
    found = []
    for line in made.seen.values():
        sort = line.sort if not line.yes else {"if": "otherwise", "give": "below"}.get(line.sort, "") if not line.no and line.others else ""
        if sort and not _has_step(line.dead):
            found.append(Never(sort, line.span, line.why, line.heading, line.name))
    return found, made.reached


@frozen
class Unasked:
    """A row of a table, or some cells of it, for which nothing asks"""

    table: core.Table
    row: Span
    cells: str  # nothing: the whole row
    asked: str  # for which keys the rules ask; nothing: for each by itself, but not for all together


def unasked(game: core.Game, lookups: Iterable[tuple[core.Table, Keys]]) -> Iterator[Unasked]:
    """Rows of tables for whose keys no rule asks; and of rows that are asked for the cells that a narrower key would leave
    out.  What has a source is a copy of what is printed: there a row says what holds from its key on."""
    for table, asked in boxes(game, lookups).items():
        left = cells_left(game, table, asked)
        if not left:
            continue
        sides = [_hull(list(side)) for side in zip(*asked, strict=True)]
        every = [(low, low + size - 1) for low, size in (key_range(game, t) for t in table.keys)]
        narrow = [_in_words(game, t, r) for t, r, whole in zip(table.keys, sides, every, strict=True) if not _covers(r, *whole)]
        in_row = Counter(table.rows)
        for row, cells in left.items():
            beyond = [at for at in cells if _beyond(table, at, sides)]
            if len(cells) == in_row[row]:
                yield Unasked(table, row, "", " and ".join(narrow))
            elif beyond and table.source is None:
                yield Unasked(table, row, _cells_in_words(game, table, beyond), " and ".join(narrow))


def cells_left(game: core.Game, table: core.Table, asked: set[tuple[Range, ...]]) -> dict[Span, list[tuple[int, ...]]]:
    """The cells that lie in none of these ranges, by their rows."""
    lows, sizes = zip(*(key_range(game, t) for t in table.keys), strict=True)
    left: dict[Span, list[tuple[int, ...]]] = {}
    if any(all(_covers(r, low, low + size - 1) for r, low, size in zip(box, lows, sizes, strict=True)) for box in asked):
        return left
    for n, row in enumerate(table.rows):
        at = _unflat(n, lows, sizes)
        if not any(all(_covers(r, k, k) for r, k in zip(box, at, strict=True)) for box in asked):
            left.setdefault(row, []).append(at)
    return left


def _beyond(table: core.Table, at: tuple[int, ...], sides: list[Range]) -> bool:
    """Would a narrower range of a number leave this cell out?"""
    return any(isinstance(t, NumberT) and not _covers(r, k, k) for t, k, r in zip(table.keys, at, sides, strict=True))


@frozen(eq=False)
class Exact:
    """What the whole game says of its pieces and names"""

    laid: dict[core.Place, tuple[Laid, ...]]
    mixed: bool  # a piece of any kind may come to any place
    named: dict[core.Variable, core.Expr]  # what `let` inside values stands for

    @classmethod
    def of(cls, game: core.Game) -> "Exact":
        every = parts_of(game)
        return cls(laid_once(game), kinds_narrowed(game, every), _named(every))


def _named(every: Iterable[object]) -> dict[core.Variable, core.Expr]:
    found: dict[core.Variable, core.Expr] = {}
    twice: set[core.Variable] = set()
    for x in every:
        if isinstance(x, core.LetIn):
            if x.var in found and found[x.var] != x.value:
                twice.add(x.var)
            found[x.var] = x.value
    return {var: value for var, value in found.items() if var not in twice}


def boxes(game: core.Game, lookups: Iterable[tuple[core.Table, Keys]]) -> dict[core.Table, set[tuple[Range, ...]]]:
    """The ranges of keys that are asked for together; where others depend on a key that is a member, for each member."""
    boxes: dict[core.Table, set[tuple[Range, ...]]] = {}
    known = Exact.of(game)
    for table, keys in lookups:
        asked = boxes.setdefault(table, set())
        for members in _each_member(game, keys):
            reach = Reach(game, exact=known)
            bound: dict[core.Variable, core.Expr] = dict(members)
            asked.add(tuple(
                (members[k.var].value,) * 2 if isinstance(k, core.Var) and k.var in members else reach.within(substituted(k, bound), k.span)
                for k in keys
            ))  # fmt: skip
    return boxes


def _each_member(game: core.Game, keys: Keys) -> Iterator[dict[core.Variable, core.Const]]:
    """`lifted(k, number of residence(k))`: every k by itself."""
    named = [
        k for n, k in enumerate(keys) if isinstance(k, core.Var) and isinstance(k.type, KindT) and _mention(keys[:n] + keys[n + 1 :], k)
    ]
    rows = [[core.Const(m, type=k.type) for m in range(key_range(game, k.type)[1])] for k in named]
    if prod(len(r) for r in rows) > READ:
        named, rows = [], []
    for row in product(*rows):
        yield {k.var: m for k, m in zip(named, row, strict=True)}


def _mention(es: Iterable[core.Expr], name: core.Var) -> bool:
    return any((isinstance(e, core.Var) and e.var is name.var) or _mention(parts(e), name) for e in es)


def _cells_in_words(game: core.Game, table: core.Table, cells: list[tuple[int, ...]]) -> str:
    """`lifted(middle, 3)`; of many the first and the last"""
    said = [f"`{table.name}({', '.join(_in_words(game, t, (k, k), '') for t, k in zip(table.keys, at, strict=True))})`" for at in cells]
    return ", ".join(said) if len(said) < 4 else f"{said[0]} to {said[-1]}"


def _in_words(game: core.Game, t: Type, r: Range, always: str = "always ") -> str:
    if isinstance(t, KindT):
        return " or ".join(game.kinds[t.kind].members[r[0] or 0 : None if r[1] is None else r[1] + 1])
    return f"{always}{r[0]}" if r[0] is not None and r[0] == r[1] else _told(*r)


def _unflat(n: int, lows: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    found = []
    for low, size in zip(reversed(lows), reversed(sizes), strict=True):
        n, rest = divmod(n, size)
        found.append(low + rest)
    return tuple(reversed(found))


def key_range(game: core.Game, t: Type) -> tuple[int, int]:
    if isinstance(t, NumberT):
        assert t.low is not None and t.high is not None
        return t.low, t.high - t.low + 1
    if isinstance(t, KindT):
        return 0, len(game.kinds[t.kind].members)
    return (0, 2) if isinstance(t, BoolT) else (0, game.players[-1])


def _covers(r: Range, low: int, high: int) -> bool:
    return (r[0] is None or r[0] <= low) and (r[1] is None or r[1] >= high)


def _told(low: int | None, high: int | None) -> str:
    if low is not None and low == high:
        return f"always {low}"
    return f"at most {high}" if low is None else f"at least {low}" if high is None else f"{low} to {high}"


def _hull(all_: list[Range]) -> Range:
    lows, highs = [r[0] for r in all_], [r[1] for r in all_]
    low = None if None in lows else min(x for x in lows if x is not None)
    return low, None if None in highs else max(x for x in highs if x is not None)


def _add(a: Range, b: Range, sign: int) -> Range:
    low, high = b if sign > 0 else (b[1], b[0])
    return None if a[0] is None or low is None else a[0] + sign * low, None if a[1] is None or high is None else a[1] + sign * high


def _times(a: Range, b: Range) -> Range:
    if None not in a and None not in b:
        ends = [x * y for x in a for y in b if x is not None and y is not None]
        return min(ends), max(ends)
    return (a[0] * b[0], None) if a[0] is not None and b[0] is not None and a[0] >= 0 and b[0] >= 0 else ANY


def _most(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _holds(yes: bool, no: bool) -> Range:
    return (1, 1) if yes else (0, 0) if no else MAYBE


def _not(r: Range) -> Range:
    return (1 - r[1] if r[1] is not None else None), (1 - r[0] if r[0] is not None else None)
