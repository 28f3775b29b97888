"""Tables and maps from their printed rows, as they are after all layers; every member of a map can be reached from every other."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.types import BOOL, ERROR, NONE, ErrorT, KindT, NumberT, SetT, Type, join
from rulelang.core.world import World
from rulelang.diagnostics import Note, near, several
from rulelang.names.collect import name_span
from rulelang.source import Span
from rulelang.surface import nodes

NAMED = 8  # members that a message lists

Filled = dict[int, tuple[int, nodes.TableRow]]  # for each key that has one: its value and the row that says it


def build_tables(world: World) -> None:
    for symbol in list(world.names.symbols.values()):
        if isinstance(symbol.node, nodes.Table):
            _build_table(world, symbol.node)
        elif isinstance(symbol.node, nodes.Map):
            _build_map(world, symbol.node)


@define(eq=False)
class _Rows:
    """The rows of one table or map, filled in key by key."""

    world: World
    name: str
    keys: tuple[Type, ...]
    type: Type
    filled: Filled = field(factory=dict)
    replaced: Filled = field(factory=dict)  # what stood there before a layer

    @property
    def sort(self) -> str:
        return self.world.names.symbols[self.name].sort

    def shown(self, at: int) -> str:
        words: list[str] = []
        for t in reversed(self.keys):
            at, one = divmod(at, self.world.size(t) or 1)
            words.insert(0, self.world.key_name(t, one))
        return ", ".join(words)

    def cells(self, rows: Sequence[nodes.TableRow]) -> Iterator[tuple[int, int, nodes.TableRow]]:
        """Each key that a row stands for, with the row's value."""
        for row in rows:
            if len(row.keys) != len(self.keys):
                self.world.problems.add(
                    "R203", f"this row has {several(len(row.keys), 'key')}, the {self.sort} has {len(self.keys)}", row.span,
                    "one key for each column",
                )  # fmt: skip
                continue
            value = self.value(row.value)
            for cell in product(*(self.key(k, t, row) for k, t in zip(row.keys, self.keys, strict=True))):
                at = 0
                for one, t in zip(cell, self.keys, strict=True):
                    at = at * (self.world.size(t) or 1) + one
                yield at, value, row

    def fill(self, rows: Sequence[nodes.TableRow]) -> None:
        for at, value, row in self.cells(rows):
            if at in self.filled:
                self.twice(at, row, self.filled[at][1])
            self.filled[at] = (value, row)

    def replace(self) -> None:
        """`replace rows of exits`: only what is there, and no two layers the same."""
        for change in self.world.names.new_rows.get(self.name, []):
            own: dict[int, nodes.TableRow] = {}
            for at, value, row in self.cells(change.rows):
                if at in own:
                    self.twice(at, row, own[at])
                elif at in self.replaced:
                    self.world.problems.add(
                        "R123", f"the row of `{self.name}` for {self.shown(at)} is replaced by two layers", row.span,
                        "leave one of the layers out", notes=[Note(self.filled[at][1].span, "replaced here as well")],
                    )  # fmt: skip
                elif at not in self.filled:
                    self.world.problems.add(
                        "R122", f"`{self.name}` has no row for {self.shown(at)} to replace", row.span,
                        f"a new row is added with `extend {self.sort} {self.name}`",
                    )  # fmt: skip
                else:
                    self.replaced[at] = self.filled[at]
                    self.filled[at] = (value, row)
                own[at] = row

    def spans(self, total: int, whole: Span) -> tuple[Span, ...]:
        """The row that says each value."""
        return tuple(self.filled[i][1].span if i in self.filled else whole for i in range(total))

    def added(self) -> list[nodes.TableRow]:
        found = [extend for extend, _module in self.world.names.extensions.get(self.name, []) if extend.word == self.sort]
        return [row for extend in found for row in extend.rows if isinstance(row, nodes.TableRow)]

    def twice(self, at: int, row: nodes.TableRow, other: nodes.TableRow) -> None:
        notes = [Note(other.span, "the other row")]
        hint = "one row for each key"
        if other.span.source is not row.span.source:
            hint = f"a layer changes a row that is there with `replace rows of {self.name}`"
        self.world.problems.add("R205", f"`{self.name}` has two values for {self.shown(at)}", row.span, hint, notes=notes)

    def key(self, key: object, t: Type, row: nodes.TableRow) -> range | list[int]:
        problems = self.world.problems
        if isinstance(key, tuple) and isinstance(t, NumberT):
            low, high = key[0], key[1] if key[1] is not None else t.high
            assert t.low is not None and t.high is not None and high is not None
            if low < t.low or high > t.high:
                self.no_key(f"{low}..{high}", t, row)
            return range(max(low, t.low) - t.low, min(high, t.high) - t.low + 1)
        if isinstance(t, NumberT) and isinstance(key, int) and not (t.low or 0) <= key <= (t.high or 0):
            self.no_key(str(key), t, row)
            return []
        before = len(problems.found)
        value = self.world.literal(key, t, row.span, f"the key of {self.name}")
        if len(problems.found) > before:
            return []
        low = t.low or 0 if isinstance(t, NumberT) else 0
        size = self.world.size(t) or 0
        return [value - low] if 0 <= value - low < size else []

    def no_key(self, key: str, t: NumberT, row: nodes.TableRow) -> None:
        hint = f"its keys are {t.low}..{t.high}: leave the row out, or widen the range"
        self.world.problems.add("R203", f"`{self.name}` has no key {key}", row.span, hint)

    def value(self, written: nodes.Expr) -> int:
        if isinstance(self.type, SetT) and not isinstance(written, nodes.ListOf):
            self.world.problems.add("R206", f"`{written.span.text}` is no list", written.span, f"write `[{written.span.text}]`")
            return 0
        raw = (
            written.value
            if isinstance(written, nodes.Number | nodes.Truth)
            else written
            if isinstance(written, nodes.ListOf)
            else getattr(written, "name", None)
        )
        if isinstance(self.type, ErrorT) or (isinstance(self.type, SetT) and isinstance(self.type.item, ErrorT)):
            return 0
        return self.world.literal(raw, self.type, written.span, self.name)


# ---------------------------------------------------------------- tables


def _build_table(world: World, node: nodes.Table) -> None:
    problems = world.problems
    keys = tuple(world.type_of(p.type) for p in node.params)
    sizes = [world.size(k) for k in keys]
    if any(s is None for s in sizes):
        hint = "a key is a range with both ends, such as 2..6, or a kind"
        problems.add("R202", f"the keys of `{node.name}` have no end", node.span, hint)
        return
    total = prod(s or 0 for s in sizes)
    if total > world.limits.cells:
        problems.add("R005", f"a table of {total} cells", node.span, "fewer keys")
        return
    rows = _Rows(world, node.name, keys, ERROR)
    all_rows = [*node.rows, *rows.added()]
    before = len(problems.found)
    changed = [row for change in world.names.new_rows.get(node.name, []) for row in change.rows]
    found = _table_type(world, [*all_rows, *changed])
    rows.type = found if len(problems.found) == before else ERROR
    before = len(problems.found)
    rows.fill(all_rows)
    holes = [i for i in range(total) if i not in rows.filled]
    if holes and len(problems.found) == before:
        missing = [rows.shown(at) for at in holes[:6]]
        problems.add(
            "R204", f"`{node.name}` has no value for {'; '.join(missing)}{' ...' if len(holes) > 6 else ''}", name_span(node, node.name),
            f"add a row: `{missing[0]}: ...`, or narrow the key",
        )  # fmt: skip
    rows.replace()
    values = tuple(rows.filled[i][0] if i in rows.filled else 0 for i in range(total))
    world.tables[node.name] = core.Table(node.name, keys, rows.type, values, rows.spans(total, node.span), node.span, node.source)


def _table_type(world: World, rows: list[nodes.TableRow]) -> Type:
    found: Type | None = None
    for row in rows:
        one = _literal_type(world, row.value)
        made = one if found is None else join(found, one)
        if made is None:
            world.problems.add("R201", f"{one} beside {found}", row.value.span, "all values of a table have one type")
            continue
        found = made
    return found or ERROR


def _literal_type(world: World, value: nodes.Expr) -> Type:
    match value:
        case nodes.Number():
            return NumberT(value.value, value.value)
        case nodes.Truth():
            return BOOL
        case nodes.Name(name="none"):
            return NONE
        case nodes.Name() if value.name in world.names.members:
            return KindT(world.names.members[value.name][0])
        case nodes.ListOf():
            found: Type = ERROR
            for item in value.items:
                found = _literal_type(world, item)
            return SetT(found)
    world.problems.add(
        "R203", f"`{value.span.text}` is no printed value", value.span, "a number, a member of a kind, yes, no, none, or a list"
    )
    return ERROR


# ---------------------------------------------------------------- maps


def _build_map(world: World, node: nodes.Map) -> None:
    """A row lists where ways lead; rows of extensions add ways, and `both ways` leads back."""
    problems = world.problems
    key = world.type_of(node.param.type)
    if not isinstance(key, KindT):
        if not isinstance(key, ErrorT):
            problems.add("R206", f"a map of {key}", node.param.span, "the key of a map is a kind: `map exits(city: City)`")
        return
    kind = world.kinds[key.kind]
    before = len(problems.found)
    rows = _Rows(world, node.name, (key,), SetT(key))
    at = _drawn_at(world, node, kind)
    rows.fill(node.rows)
    rows.replace()
    masks = [rows.filled[i][0] if i in rows.filled else 0 for i in range(len(kind.members))]
    for i, value, _row in rows.cells(rows.added()):
        masks[i] |= value
    ways = [tuple(_bits(mask)) for mask in masks]
    if node.both_ways:
        back = _turned(ways)
        ways = [tuple(sorted({*there, *here})) for there, here in zip(ways, back, strict=True)]
    if len(problems.found) == before:
        _prove_reach(world, node, kind, ways, rows)
    values = tuple(sum(1 << j for j in there) for there in ways)
    spans = rows.spans(len(values), node.span)
    world.tables[node.name] = core.Table(node.name, (key,), SetT(key), values, spans, node.span, node.source)
    world.maps[node.name] = core.Map(node.name, kind, tuple(ways), at)


def _drawn_at(world: World, node: nodes.Map, kind: core.Kind) -> tuple[tuple[int, int], ...]:
    """`drawn at east and south`: two numbers that are printed for every member, no two members at one place."""
    found: list[list[int]] = []
    for name in node.drawn_at:
        printed = kind.fields.get(name.name)
        if printed is None:
            hint = near(name.name, kind.fields) or f"give it one: `kind {kind.name}({name.name}: 0..100)`"
            world.problems.add("R106", f"`{kind.name}` has no field `{name.name}`", name.span, hint)
        elif printed.keys or not isinstance(printed.type, NumberT):
            what = "has keys" if printed.keys else f"is {printed.type}"
            world.problems.add("R206", f"`{name.name}` {what}, so nothing can be drawn at it", name.span, "a field such as `east: 0..100`")
        else:
            found.append([cells[0] for cells in printed.values])
    if len(found) < 2 or any(len(numbers) != len(kind.members) for numbers in found):
        return ()
    at = tuple(zip(*found, strict=True))
    seen: dict[tuple[int, int], str] = {}
    for member, here in zip(kind.members, at, strict=True):
        if here in seen:
            world.problems.add(
                "R206", f"`{seen[here]}` and `{member}` would be drawn at one place", node.drawn_at[0].span, "move one of them a little"
            )
        seen[here] = member
    return at


def _prove_reach(world: World, node: nodes.Map, kind: core.Kind, ways: list[tuple[int, ...]], rows: _Rows) -> None:
    """All can be reached from the first, and the first from all."""
    if not kind.members:
        return
    members = set(range(len(kind.members)))
    there = _reached(ways)
    if there != members:
        _report_cut(world, node, kind, sorted(there), sorted(members - there), rows)
    back = _reached(_turned(ways))
    if back != members:
        _report_cut(world, node, kind, sorted(members - back), sorted(back), rows)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def _turned(ways: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    back: list[list[int]] = [[] for _ in ways]
    for start, goals in enumerate(ways):
        for goal in goals:
            back[goal].append(start)
    return [tuple(goals) for goals in back]


def _reached(ways: Sequence[tuple[int, ...]]) -> set[int]:
    todo, seen = [0], {0}
    while todo:
        for goal in ways[todo.pop()]:
            if goal not in seen:
                seen.add(goal)
                todo.append(goal)
    return seen


def _report_cut(world: World, node: nodes.Map, kind: core.Kind, here: list[int], there: list[int], rows: _Rows) -> None:
    """No way leads from any of these to any of those; a layer that closed one, or brought a member, is shown with the game."""
    declared = name_span(node, node.name)
    span, notes = declared, []
    start, goal = here[0], there[0]
    closed = [(i, j) for i in here if i in rows.replaced for j in there if rows.replaced[i][0] >> j & 1]
    brought = _brought(world, kind, {kind.members[i] for i in min(here, there, key=len)})
    if closed:
        start, goal = closed[0]
        span = rows.filled[start][1].span
        notes = [Note(rows.replaced[start][1].span, "the row that it replaces")]
    elif brought is not None:
        span = brought
        notes = [Note(declared, "the map")]
    message = f"`{node.name}`: from {_listed(kind, here)} no way leads to {_listed(kind, there)}"
    world.problems.add("R207", message, span, f"one more way: `{kind.members[start]}: [..., {kind.members[goal]}]`", notes=notes)


def _brought(world: World, kind: core.Kind, members: set[str]) -> Span | None:
    for extend, _module in world.names.extensions.get(kind.name, []):
        for row in extend.rows:
            if isinstance(row, nodes.Row) and row.name in members:
                return row.span
    return None


def _listed(kind: core.Kind, members: list[int]) -> str:
    more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
    return ", ".join(kind.members[i] for i in members[:NAMED]) + more
