"""What there is: kinds and pieces from their printed rows, all cells checked against their fields."""

import re
from itertools import product
from math import prod

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.types import BOOL, ERROR, NONE, NUMBER, PLAYER, BoolT, ErrorT, KindT, MaybeT, NumberT, PieceT, SetT, Type, join
from rulelang.diagnostics import Problems, near, several
from rulelang.limits import MEMBERS, USUAL, Limits
from rulelang.names.collect import name_span
from rulelang.names.table import Names
from rulelang.source import Span
from rulelang.surface import nodes
from rulelang.surface.mistakes import LANGUAGE

NO_VALUE = -1  # how `none` looks when a match runs


@define(eq=False)
class World:
    """The components of a game, and how a written type becomes a type."""

    names: Names
    problems: Problems
    limits: Limits = USUAL
    kinds: dict[str, core.Kind] = field(factory=dict)
    pieces: dict[str, core.Pieces] = field(factory=dict)
    tables: dict[str, core.Table] = field(factory=dict)
    maps: dict[str, core.Map] = field(factory=dict)
    unknown: set[str] = field(factory=set)  # kinds that were reported

    # ------------------------------------------------------------ types

    def type_of(self, written: nodes.TypeExpr, variables: dict[str, Type] | None = None) -> Type:
        """`Faction or none`; a single capital that is no kind is a type variable."""
        found: Type | None = None
        parts = [self._part(part, written, variables or {}) for part in written.parts]
        if len(parts) > 1 and any(isinstance(one, ErrorT) for one in parts):
            return ERROR  # one of them is wrong, and was reported
        for one in parts:
            made = one if found is None else join(found, one)
            if made is None:
                self.problems.add("R201", f"{found} and {one} do not go together", written.span, "a type is one kind, or one kind and none")
                return ERROR
            found = made
        return found or ERROR

    def _part(self, part: object, written: nodes.TypeExpr, variables: dict[str, Type]) -> Type:
        match part:
            case bool():
                return BOOL
            case int():
                return NumberT(part, part)
            case nodes.Range():
                low, high = self.constant(part.low), self.constant(part.high) if part.high else None
                return NumberT(low, high)
            case nodes.SetOf():
                return SetT(self._word(part.item, written.span, variables))
            case nodes.Per():
                return ERROR
            case "yes or no":
                return BOOL
            case str():
                return self._word(part, written.span, variables)
        return ERROR

    def _word(self, word: str, span: Span, variables: dict[str, Type]) -> Type:
        if word in variables:
            return variables[word]
        if word == "number":
            return NUMBER
        if word in ("player", "players"):
            return PLAYER
        if word == "none":
            return NONE
        if word in self.names.unread and word not in self.names.symbols and word not in self.names.members:
            return ERROR
        symbol = self.names.symbols.get(word)
        if symbol is not None and symbol.sort == "kind":
            self.names.used.add(id(symbol.node))
            return KindT(word)
        if symbol is not None and symbol.sort == "pieces":
            self.names.used.add(id(symbol.node))
            return PieceT(frozenset((word,)))
        if word in self.names.members:
            return KindT(self.names.members[word][0])
        if word[0].isupper():
            known = [s.name for s in self.names.symbols.values() if s.sort in ("kind", "pieces")]
            small = f"write it small: `{word.lower()}`" if word.lower() in LANGUAGE else ""
            if word in self.unknown:
                return ERROR
            self.unknown.add(word)
            self.problems.add("R103", f"unknown kind `{word}`", span, small or near(word, known) or f"declare it: `kind {word}: ...`")
        else:
            self.problems.add(
                "R103",
                f"unknown type `{word}`",
                span,
                near(word, ["number", "player", "none", *self.names.members]) or "a type is number, a range, player, or a kind",
            )
        return ERROR

    def is_any(self, word: str) -> bool:
        """`T`: whatever it is called with.  A longer word is a kind, or a misspelling of one."""
        return len(word) == 1 and word.isupper() and word not in self.names.symbols

    @staticmethod
    def constant(expr: nodes.Expr | None) -> int | None:
        return expr.value if isinstance(expr, nodes.Number) else None

    def size(self, t: Type) -> int | None:
        """How many values a key type has."""
        match t:
            case NumberT() if t.low is not None and t.high is not None:
                return max(0, t.high - t.low + 1)
            case KindT():
                return len(self.kinds[t.kind].members) if t.kind in self.kinds else None
            case BoolT():
                return 2
        return None

    def key_name(self, t: Type, n: int) -> str:
        """The n-th value of a key type, as it is written."""
        match t:
            case NumberT():
                return str(n + (t.low or 0))
            case KindT():
                return self.kinds[t.kind].members[n]
        return ("no", "yes")[n]

    # ------------------------------------------------------------ building

    def build(self) -> None:
        symbols = list(self.names.symbols.values())
        for symbol in symbols:
            if isinstance(symbol.node, nodes.Kind):
                rows = [*symbol.node.rows, *self._extra(symbol.name, "kind")]
                members = tuple(r.name for r in rows if r.name is not None)
                if len(members) > MEMBERS:
                    message = f"a kind of more than {MEMBERS} members"
                    self.problems.add("R005", message, name_span(symbol.node, symbol.name), "things that lie somewhere are `pieces`")
                self.kinds[symbol.name] = core.Kind(symbol.name, symbol.node.is_ring, members, {}, symbol.node.span, symbol.node.source)
                for row in rows[len(symbol.node.rows) :]:
                    if row.name is not None:
                        self.names.members[row.name] = (*self.names.members.get(row.name, ()), symbol.name)
        for symbol in symbols:
            if isinstance(symbol.node, nodes.Kind) and symbol.node.fields:
                rows = [*symbol.node.rows, *self._extra(symbol.name, "kind")]
                printed = self._printed(symbol.node.fields, rows)
                self.kinds[symbol.name].fields.update(self._fields(symbol.node.fields, [p[0] for p in printed]))
            elif isinstance(symbol.node, nodes.Pieces):
                self._build_pieces(symbol.node, symbol.per_player)

    def _extra(self, name: str, word: str) -> list[nodes.Row]:
        added = [extend for extend, _module in self.names.extensions.get(name, []) if extend.word == word]
        return [row for extend in added for row in extend.rows if isinstance(row, nodes.Row)]

    def _build_pieces(self, node: nodes.Pieces, per_player: bool) -> None:
        rows = [*node.rows, *self._extra(node.name, "pieces")]
        printed = self._printed(node.fields, rows)
        distinct: dict[tuple[int, ...], int] = {}
        for cells, copies in printed:
            distinct[cells] = distinct.get(cells, 0) + copies
        if sum(distinct.values()) > self.limits.pieces:
            self.problems.add("R005", f"more than {self.limits.pieces} pieces", node.span, "fewer copies")
            distinct = {}
        fields = self._fields(node.fields, list(distinct))
        self.pieces[node.name] = core.Pieces(node.name, per_player, fields, tuple(distinct.items()), None, node.span, node.source)

    def _widths(self, fields: tuple[nodes.Field, ...]) -> list[tuple[nodes.Field, tuple[Type, ...], Type, int]]:
        made = []
        for f in fields:
            keys = tuple(self.type_of(k) for k in f.keys)
            sizes = [self.size(k) for k in keys]
            if any(s is None for s in sizes):
                self.problems.add("R202", f"the keys of `{f.name}` must be kinds or ranges", f.span, "for example `symbols(Faction): 0..3`")
                sizes = [s or 1 for s in sizes]
            made.append((f, keys, self.type_of(f.type), prod(s or 1 for s in sizes)))
        return made

    def _printed(self, fields: tuple[nodes.Field, ...], rows: list[nodes.Row]) -> list[tuple[tuple[int, ...], int]]:
        """Rows as cells, with `every K` and `or` spread out."""
        widths = self._widths(fields)
        slots = [(f, t) for f, _keys, t, width in widths for _ in range(width)]
        made: list[tuple[tuple[int, ...], int]] = []
        for row in rows:
            if len(row.cells) != len(slots):
                wanted = ", ".join(f"{f.name} ({w})" if w > 1 else f.name for f, _k, _t, w in widths)
                hint = _so_many(row) or f"one for each field, in this order: {wanted}"
                self.problems.add("R203", f"this row has {several(len(row.cells), 'cell')}, the fields need {len(slots)}", row.span, hint)
                continue
            choices = [self._cell(cell, t, f) for cell, (f, t) in zip(row.cells, slots, strict=True)]
            most = self.limits.pieces
            if prod(len(c) for c in choices) * max(1, row.copies) > most or len(made) > most:
                self.problems.add("R005", f"this row stands for more than {most} pieces", row.span, "write fewer alternatives")
                continue
            made.extend((cells, row.copies) for cells in product(*choices))
        return made

    def _fields(self, fields: tuple[nodes.Field, ...], rows: list[tuple[int, ...]]) -> dict[str, core.Field]:
        made: dict[str, core.Field] = {}
        at = 0
        for f, keys, t, width in self._widths(fields):
            if f.name in made:
                self.problems.add("R101", f"`{f.name}` stands twice", f.span, "a field is listed once")
            made[f.name] = core.Field(f.name, keys, t, tuple(tuple(row[at : at + width]) for row in rows))
            at += width
        return made

    def _cell(self, cell: nodes.Cell, t: Type, f: nodes.Field) -> list[int]:
        values: list[int] = []
        for part in cell.parts:
            if isinstance(part, nodes.KindName):
                kind = self.kinds.get(part.name)
                if kind is None or join(KindT(part.name), t) is None:
                    self.problems.add("R203", f"`every {part.name}` does not fit `{f.name}`", cell.span, f"`{f.name}` is {t}")
                else:
                    values.extend(range(len(kind.members)))
            else:
                values.append(self.literal(part, t, cell.span, f.name))
        return values or [0]

    def literal(self, part: object, t: Type, span: Span, what: str) -> int:
        """A printed value as the integer that stands for it."""
        inner = t.item if isinstance(t, MaybeT) else t
        if part == "none" and not isinstance(part, bool):
            if not isinstance(t, MaybeT):
                self.problems.add("R203", f"`{what}` cannot be none", span, f"`{what}` is {t}; write `... or none` in its type")
            return NO_VALUE
        match inner:
            case ErrorT():
                return 0
            case NumberT() if isinstance(part, int) and not isinstance(part, bool):
                if (inner.low is not None and part < inner.low) or (inner.high is not None and part > inner.high):
                    self.problems.add("R203", f"{part} is outside of `{what}`", span, f"`{what}` is {inner}: change it, or its range")
                return part
            case BoolT() if isinstance(part, bool):
                return int(part)
            case KindT() if isinstance(part, str):
                members = self.kinds[inner.kind].members
                if part in members:
                    return members.index(part)
                self.problems.add("R104", f"`{part}` is no {inner.kind}", span, near(part, members) or "one of: " + ", ".join(members[:12]))
                return 0
            case SetT() if isinstance(part, nodes.ListOf):
                mask = 0
                for item in part.items:
                    raw = item.value if isinstance(item, nodes.Number | nodes.Truth) else getattr(item, "name", None)
                    value = self.literal(raw, inner.item, item.span, what)
                    if value > MEMBERS:
                        self.problems.add("R005", f"{value} in a group", item.span, f"a group holds numbers from 0 to {MEMBERS}")
                    mask |= 1 << max(0, min(value, MEMBERS))
                return mask
        shown = part if isinstance(part, str) else span.text
        self.problems.add("R203", f"`{shown}` does not fit `{what}`", span, f"`{what}` is {t}")
        return 0


def _so_many(row: nodes.Row) -> str:
    """`6x 1` for `6 times 1`"""
    said = re.match(r"(\d+)\s*(?:x|X|×|\*)\s*(\S[^{#]*)", row.span.text)
    return f"so many of one sort are written `{said[1]} times {said[2].strip()}`" if said else ""
