"""The counted build: which rules, options and cells of tables fired, and which decisions were one.  Every line gets a
mark before it, which is an effect like any other; a value that a definition gives counts when it is worked out.  So
nothing here is constant that the fast build would fold, and the fast build knows nothing of it."""

from collections.abc import Iterable
from itertools import product
from typing import Any

from attrs import define, evolve, field, fields, frozen

from rulelang.core import nodes as core
from rulelang.core.types import BOOL
from rulelang.runtime.choices import AskCode, Choices
from rulelang.runtime.effects import Effect
from rulelang.runtime.values import Code, State
from rulelang.runtime.words import Words
from rulelang.source import Span


@frozen
class Item:
    """What can fire: where it stands, and what it is called if a line holds several"""

    sort: str  # rule, option, cell, setting
    path: str
    start: int
    end: int
    name: str = ""
    is_block: bool = field(default=False, eq=False)  # more lines stand below it


@define
class Asked:
    """How a decision was met: how often, with how many options at most, and which when there was only one"""

    times: int = 0
    most: int = 0
    only: frozenset[str] = frozenset()  # two at most: more than one is enough to know

    def add(self, other: "Asked") -> None:
        self.times += other.times
        self.most = max(self.most, other.most)
        self.only = frozenset(sorted(self.only | other.only)[:2])


@define(eq=False)
class Tally:
    """Numbers for what can fire, and in how many matches each did; `own` are the files that count."""

    own: frozenset[str]
    numbers: dict[Item, int] = field(factory=dict)
    fired: list[bool] = field(factory=list)  # in this match
    matches: list[int] = field(factory=list)
    offered: set[int] = field(factory=set)
    asked: dict[Item, Asked] = field(factory=dict)

    def number(self, item: Item) -> int | None:
        """Nothing for what stands in a file that does not count."""
        if item.path not in self.own:
            return None
        found = self.numbers.setdefault(item, len(self.fired))
        if found == len(self.fired):
            self.fired.append(False)
            self.matches.append(0)
        return found

    def rule(self, span: Span, is_block: bool = False) -> int | None:
        return self.number(_item("rule", span, "", is_block))

    def option(self, c: core.Choice) -> int | None:
        return self.number(_item("option", c.origin.span, c.name, bool(c.body)))

    def setting(self, option: core.Option, word: str) -> int | None:
        return self.number(_item("setting", option.span, f"{option.name} {word}"))

    def settle(self) -> None:
        """A match is over."""
        for n, fired in enumerate(self.fired):
            if fired:
                self.matches[n] += 1
                self.fired[n] = False

    def clear(self) -> None:
        """What can fire stays known; that it did is forgotten."""
        self.fired[:] = [False] * len(self.fired)
        self.matches[:] = [0] * len(self.matches)
        self.offered.clear()
        for asked in self.asked.values():
            asked.times, asked.most, asked.only = 0, 0, frozenset()


def _item(sort: str, span: Span, name: str, is_block: bool = False) -> Item:
    return Item(sort, span.source.path, span.start, span.end, name, is_block)


@frozen
class Fired(core.Need):
    """The mark before a line: an effect that only counts"""

    number: int


@frozen
class Noted(core.Value):
    """A part of a value that counts by itself: nothing around it may look inside and take a short cut"""

    value: core.Expr


@define(eq=False)
class CountedAsk(AskCode):
    """A decision that keeps how often it was one"""

    tally: Tally
    asked: Asked
    offers: tuple[int | None, ...]
    words: Words

    def counts(self, s: State) -> tuple[int, ...]:
        found = AskCode.counts(self, s)
        for number, count in zip(self.offers, found, strict=True):
            if count and number is not None:
                self.tally.offered.add(number)
        total, asked = sum(found), self.asked
        asked.times += 1
        if total > asked.most:
            asked.most = total
        if asked.most == 1 and len(asked.only) < 2:
            row = s[:]
            code = self.choices[self.pick(row, 0, found)]
            is_menu = len(self.choices) > 1 or not code.picks
            asked.only |= {self.words.label(code.choice, is_menu, tuple(row[p.slot] for p in code.picks), code.told(row))}
        return found


@define(eq=False)
class Counting(Choices):
    """Compiles what counts when it runs."""

    tally: Tally = field(kw_only=True)

    def apart(self) -> Choices:
        """The same table, looked at by somebody who does not count."""
        made = Choices(self.layout, origins=self.origins)
        made.scratch_base, made.run_pure = self.scratch_base, self.run_pure
        return made

    # ------------------------------------------------------------ statements

    def as_run(self, body: tuple[core.Statement, ...]) -> tuple[core.Statement, ...]:
        return self._marked(body, None)

    def _marked(self, body: Iterable[core.Statement], before: Span | None) -> tuple[core.Statement, ...]:
        """A mark before every line; `before` is the line that was marked last, which may be several statements."""
        made: list[core.Statement] = []
        for s in body:
            span = s.origin.span
            is_end = isinstance(s, core.Branch) and _same(span, *(t.origin.span for t in s.then[:1] if isinstance(t, core.End)))
            if not is_end and not _same(span, before):  # `end rounds if ...` fires when it ends
                made.extend(_fired(self.tally.rule(span, _is_block(s)), s.origin))
                before = span
            made.append(self._inside(s, before))
        return tuple(made)

    def _inside(self, s: core.Statement, before: Span | None) -> core.Statement:
        match s:
            case core.Branch():
                return evolve(s, then=self._marked(s.then, before), otherwise=self._marked(s.otherwise, before))
            case core.Block() | core.Loop() | core.ForEach() | core.Together():
                return evolve(s, body=self._marked(s.body, before))
            case core.Decide():
                return evolve(s, choices=tuple(self._marked_option(c, before) for c in s.choices))
        return s

    def _marked_option(self, c: core.Choice, before: Span | None) -> core.Choice:
        return evolve(c, body=(*_fired(self.tally.option(c), c.origin), *self._marked(c.body, before)))

    def effect(self, a: core.Action) -> Effect:
        if not isinstance(a, Fired):
            return Choices.effect(self, a)
        fired, number = self.tally.fired, a.number

        def fire(s: State) -> None:
            fired[number] = True

        return fire

    def ask(self, d: core.Decide, bodies: tuple[int, ...]) -> AskCode:
        plain = Choices.ask(self, d, bodies)
        item = _item("decision", d.origin.span, d.name)
        offers = tuple(self.tally.option(c) for c in d.choices)
        is_own = item.path in self.tally.own
        if not is_own and not any(n is not None for n in offers):
            return plain
        words = Words(self.layout, tuple(f"seat {i}" for i in range(self.layout.players)))
        asked = self.tally.asked.setdefault(item, Asked()) if is_own else Asked()
        return CountedAsk(
            plain.decide, plain.player, plain.choices, plain.bodies, plain.silent, plain.most, self.tally, asked, offers, words
        )

    # ------------------------------------------------------------ values

    def expr(self, e: core.Expr) -> Code:
        if isinstance(e, Noted):
            return self.expr(e.value)
        code = Choices.expr(self, _shielded(e))
        numbers = tuple(n for n in map(self.tally.rule, e.lines) if n is not None)
        if not numbers:
            return code
        fired, fn = self.tally.fired, code.fn
        if len(numbers) == 1:
            number = numbers[0]

            def given(s: State) -> Any:
                fired[number] = True
                return fn(s)

            return Code(given)

        def given_by_several(s: State) -> Any:
            for n in numbers:
                fired[n] = True
            return fn(s)

        return Code(given_by_several)

    def slot(self, ref: core.PlaceRef) -> Code:
        return Choices.slot(self, _shield(ref))

    def address(self, ref: core.PlaceRef) -> tuple[int, int] | None:
        return Choices.address(self, _shield(ref))

    def _reads_only(self, e: object, var: core.Variable) -> bool:
        if isinstance(e, core.TableAt) or (isinstance(e, core.Value) and e.lines):
            return False  # it would be worked out once, before any match
        return Choices._reads_only(self, e, var)

    def _TableAt(self, e: core.TableAt) -> Code:
        first = self._cells(e.table)
        if first is None:
            return Choices._TableAt(self, e)
        places = evolve(e.table, values=tuple(range(len(e.table.values))))
        place, values, fired = Choices._TableAt(self, evolve(e, table=places)).fn, e.table.values, self.tally.fired

        def read(s: State) -> int:
            at = place(s)
            fired[first + at] = True
            return values[at]

        return Code(read)

    def _cells(self, table: core.Table) -> int | None:
        """The number of the first cell; the others follow it."""
        if any(row.source.path not in self.tally.own for row in table.rows):
            return None
        words = Words(self.layout, ())
        every = product(*(range(self.layout.key_size(t)) for t in table.keys))
        names = (table.name + words.key_text(table.keys, keys) for keys in every)
        numbers = [self.tally.number(_item("cell", row, name)) for row, name in zip(table.rows, names, strict=True)]
        return min(n for n in numbers if n is not None)


def _same(span: Span, *others: Span | None) -> bool:
    return any(o is not None and (span.source.path, span.start, span.end) == (o.source.path, o.start, o.end) for o in others)


def _is_block(s: core.Statement) -> bool:
    """Do lines stand below this one?  A loop that a layer replaced is a block all the same; a call of a verb is none."""
    if isinstance(s, core.Block):
        return s.is_step or s.origin.span.text.startswith("repeat ")
    return isinstance(s, core.Branch | core.Loop | core.ForEach | core.Together | core.Decide)


def _fired(number: int | None, origin: core.Origin) -> tuple[Fired, ...]:
    return () if number is None else (Fired(core.Const(1, type=BOOL), number, origin=origin),)


def _shielded(e: core.Expr) -> core.Expr:
    """The value with those parts covered that count by themselves."""
    parts = {f.name: getattr(e, f.name) for f in fields(type(e)) if f.name != "source"}
    new = {name: made for name, part in parts.items() if (made := _shield(part)) is not part}
    shielded: core.Expr = evolve(e, **new) if new else e
    return shielded


def _shield(x: Any) -> Any:
    if isinstance(x, core.Value) and x.lines:
        return Noted(x, type=x.type, span=x.span)  # type: ignore[arg-type]
    if isinstance(x, tuple):
        made = tuple(map(_shield, x))
        return x if all(a is b for a, b in zip(made, x, strict=True)) else made
    if isinstance(x, core.PlaceRef):
        owner, keys = _shield(x.owner), _shield(x.keys)
        return x if owner is x.owner and keys is x.keys else evolve(x, owner=owner, keys=keys)
    return x
