"""What is written and makes no difference: a place that is changed and never read, a `let` that no line uses, a pick
after which the same happens whatever was picked, two options of one decision that do the same.

While the rules are elaborated it is noticed what they read; what is idle is known when all of them are.  A piece that
lies somewhere for good is no idle piece: boxes and discards are part of every game, and so is a supply that only goes
down.  Other counters and statuses exist to be read."""

import re
from collections.abc import Iterator

from attrs import define, field, fields, frozen

from rulelang.core import nodes as core
from rulelang.diagnostics import Note, Problems
from rulelang.names.table import Names
from rulelang.source import Span
from rulelang.surface import nodes


@frozen(eq=False)
class Picked:
    """`choose any n in 1..3`: one pick, its choice, and whether a later line asked what was picked"""

    pick: core.Pick
    choice: core.Origin
    asked: bool


@define(eq=False)
class Noticed:
    """What the rules read, change and name, as far as they are elaborated"""

    read: set[core.Place] = field(factory=set)
    changed: dict[core.Place, core.Origin] = field(factory=dict)
    limited: set[core.Place] = field(factory=set)  # lowered to an end at which a match would stop: a supply
    mentioned: set[core.Variable] = field(factory=set)
    lets: list[tuple[core.Variable, nodes.Let]] = field(factory=list)
    fields: set[str] = field(factory=set)
    lookups: list[tuple[core.Table, tuple[core.Expr, ...]]] = field(factory=list)
    picks: list[Picked] = field(factory=list)
    decisions: list[core.Decide] = field(factory=list)

    def change(self, place: core.Place, value: core.Expr, was_read: bool, origin: core.Origin, sign: int = 0) -> None:
        """What a place gives to itself alone, `set year to year + 1`, nobody has read."""
        self.changed.setdefault(place, origin)
        if sign < 0 and place.low is not None and not place.stops_low:
            self.limited.add(place)
        if not was_read and place in self.read and all(not isinstance(e, core.Call | core.Compute) for e in _parts(value)):
            self.read.discard(place)


def report_idle(noticed: Noticed, game: core.Game, names: Names, problems: Problems) -> None:
    """Warnings about what stands in the game itself, or in the one layer that is on it."""
    looked_at = own_files(names)
    asked = set(expected(names))
    for place in noticed.changed:
        idle = place not in noticed.read and place not in noticed.limited and place.name not in asked
        if idle and place.span.source.path in looked_at:
            written = noticed.changed[place]
            notes = [Note(written.span.first_line, "changed here")] if place.visibility != "local" else []
            problems.add(
                "R343", f"`{place.name}` is changed, and nothing ever reads it", _named(place.span, place.name),
                "read it in a rule, in the ranking or in a claim; or leave it out, and the lines that change it",
                heading=written.heading, notes=notes, is_error=False,
            )  # fmt: skip
    used: dict[Span, bool] = {}
    lets = {}
    for var, let in noticed.lets:
        used[let.span] = used.get(let.span, False) or var in noticed.mentioned
        lets[let.span] = let
    for span, is_used in used.items():
        if not is_used and span.source.path in looked_at:
            name = lets[span].name
            problems.add("R110", f"`{name}` is never used", _named(span, name), "use it in a later line, or leave it out", is_error=False)
    drawn = {n.name for s in names.symbols.values() if isinstance(s.node, nodes.Map) for n in s.node.drawn_at}
    for kind in game.kinds.values():
        for name in kind.fields:  # of pieces a field may tell them apart, a member has its name for that
            if name not in noticed.fields | drawn | asked and kind.span.source.path in looked_at:
                hint = "read it in a rule, or leave the column out"
                problems.add("R110", f"nothing reads `{name}` of {kind.name}", _named(kind.span, name), hint, is_error=False)
    _report_options(noticed, problems, looked_at)


def _report_options(noticed: Noticed, problems: Problems, looked_at: set[str]) -> None:
    asked: dict[Span, bool] = {}
    for p in noticed.picks:
        asked[p.pick.span] = asked.get(p.pick.span, False) or p.asked
    for p in noticed.picks:
        if not asked[p.pick.span] and p.pick.span.source.path in looked_at:
            problems.add(
                "R344", f"it makes no difference which `{p.pick.var.name}` is chosen", p.pick.span,
                "use it in the lines below, or let nobody choose", heading=p.choice.heading, is_error=False,
            )  # fmt: skip
    for decide in noticed.decisions:
        for a, b in _alike(decide):
            if b.origin.span.source.path in looked_at:
                problems.add(
                    "R344", f"`{a.name}` and `{b.name}` are the same choice: whatever is chosen, the same happens",
                    b.origin.span.first_line, "leave one of them out, or say what it does",
                    heading=decide.origin.heading, notes=[Note(a.origin.span.first_line, "the other one")], is_error=False,
                )  # fmt: skip


def own_files(names: Names) -> set[str]:
    """The files whose idle lines are a mistake.  A layer may leave something of its game idle, and one layer another's."""
    if len(names.layers) > 1:
        return set()
    of = names.layers or tuple(m for m in names.modules if m.header is not None and m.header.word in ("game", "data"))
    return {m.source.path for m in of}


def expected(names: Names) -> Iterator[str]:
    """Every word of an `expect` line: an example that asks for a value has a use for it."""
    for example, _ in names.examples:
        for line in example.lines:
            if isinstance(line, nodes.ExThat) or (isinstance(line, nodes.ExState) and line.word == "expect"):
                yield from re.findall(r"\w+", line.span.text)


def _named(span: Span, name: str) -> Span:
    found = re.search(rf"\b{name}\b", span.text)
    return span.first_line if found is None else Span(span.source, span.start + found.start(), span.start + found.end())


# ---------------------------------------------------------------- options that do the same


def _alike(decide: core.Decide) -> Iterator[tuple[core.Choice, core.Choice]]:
    """Options with the same picks and the same lines.  Where each has a condition of its own, both may be needed: which of
    them is offered tells them apart."""
    for index, b in enumerate(decide.choices):
        for a in decide.choices[:index]:
            if len(a.picks) == len(b.picks) and a.again == b.again and _shape(a.body) == _shape(b.body):
                free = a.only_if is None or b.only_if is None
                if _plain((a.picks, a.body)) == _plain((b.picks, b.body)) and (free or _plain(a.only_if) == _plain(b.only_if)):
                    yield a, b
                    break


def _shape(body: tuple[core.Statement, ...]) -> tuple[type, ...]:
    return tuple(type(s) for s in body)


def _plain(x: object) -> object:
    """A part of the rules without its places in the text, its labels and its own names: two that do the same are equal."""
    numbers: dict[object, int] = {}

    def number(thing: object) -> int:
        return numbers.setdefault(thing, len(numbers))

    def plain(x: object) -> object:
        match x:
            case core.Variable() | core.Target():
                return ("name", number(x))
            case core.Block():
                return ("block", number(x.target), plain(x.body))
            case core.Place() | core.Function() | core.Table() | core.Option():
                return id(x)
            case tuple():
                return tuple(map(plain, x))
        if isinstance(x, core.Value | core.Action | core.PlaceRef | core.Pick | core.Choice | core.Order | core.Text):
            kept = (f.name for f in fields(type(x)) if f.name not in ("span", "source", "type", "lines", "origin", "path", "name"))
            return (type(x).__name__, getattr(x, "name", "") if isinstance(x, core.FieldOf) else "", *(plain(getattr(x, k)) for k in kept))
        return x

    return plain(x)


def _parts(e: object) -> Iterator[object]:
    """A value and everything inside of it, as far as it stands in the line itself."""
    yield e
    if isinstance(e, tuple):
        for x in e:
            yield from _parts(x)
    elif isinstance(e, core.Value | core.PlaceRef):
        for f in fields(type(e)):
            if f.name not in ("span", "source", "type", "lines", "var", "place_", "function"):
                yield from _parts(getattr(e, f.name))
