"""The table as one seat may see it: made from that seat's observation, laid out for a terminal."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from attrs import define

from rulelang.core import nodes as core
from rulelang.core.types import BoolT, KindT, NumberT, PieceT, PlayerT, SetT, Type, plain
from rulelang.diagnostics import printable
from rulelang.runtime.words import readable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

LISTED = 60  # options that are listed before one has to type a part of the label


@define(eq=False)
class View:
    """The table as one seat may see it: made from that seat's observation and from what is printed in the rules."""

    game: core.Game
    names: tuple[str, ...]
    seen: dict[str, Any]
    whole: bool = False

    @property
    def seat(self) -> int:
        return int(self.seen["seat"])

    def held(self, place: core.Place, owner: int = -1, keys: tuple[str, ...] = ()) -> Any:
        at = self.seen["places"].get(place.name)
        for part in [*((str(owner),) if owner >= 0 else ()), *keys]:
            at = at.get(part) if isinstance(at, dict) else None
        return None if at == {} else at

    def keys(self, t: Type) -> list[str]:
        match plain(t):
            case KindT(kind):
                return list(self.game.kinds[kind].members)
            case NumberT(low, high):
                return [str(n) for n in range(low or 0, (high or 0) + 1)]
            case PlayerT():
                return [str(p) for p in range(len(self.names))]
        return ["False", "True"]

    def key(self, key: str, t: Type) -> str:
        return self.names[int(key)] if isinstance(plain(t), PlayerT) else readable(key)

    # ------------------------------------------------------------ one value

    def text(self, held: Any, t: Type) -> str:
        if held is None:
            return "none"
        match plain(t):
            case BoolT():
                return "yes" if held else "no"
            case PlayerT():
                return self.names[int(held)]
            case PieceT() as piece:
                return self.piece(held, piece)
            case SetT(item):
                return ", ".join(self.text(x, item) for x in held) or "none"
        return readable(str(held))

    def kind_of(self, cells: list[Any], t: PieceT) -> core.Pieces:
        kinds = [self.game.pieces[k] for k in sorted(t.kinds)]
        return next((k for k in kinds if sum(len(f.values[0]) for f in k.fields.values()) == len(cells)), kinds[0])

    def piece(self, held: Any, t: PieceT) -> str:
        """A piece as the options call it: by its first cells, or by its owner."""
        cells = held if isinstance(held, list) else [held]
        kind = self.kind_of(cells, t)
        if not kind.fields:
            return self.names[held] if isinstance(held, int) else readable(str(held))
        parts: list[str] = []
        for f in kind.fields.values():
            if f.keys:
                return " ".join(parts) or self.keyed(f, cells[: len(f.values[0])])
            parts.append(self.text(cells[len(parts)], f.type))
        return " ".join(parts)

    def keyed(self, f: core.Field, cells: list[Any]) -> str:
        """`upper red 1, lower blue 2`: what is there, not what is not."""
        words = product(*([self.key(k, key) for k in self.keys(key)] for key in f.keys))
        return ", ".join(f"{' '.join(w)} {self.text(c, f.type)}" for w, c in zip(words, cells, strict=False) if c)

    def printed(self, held: Any, t: PieceT) -> str:
        """What a piece bears beyond its name: `symbols upper red 1, lower blue 2`."""
        cells = held if isinstance(held, list) else [held]
        shown, at = [], 0
        for f in self.kind_of(cells, t).fields.values():
            here = cells[at : at + len(f.values[0])]
            if f.keys and at and any(here):
                shown.append(f"{readable(f.name)} {self.keyed(f, here)}")
            at += len(f.values[0])
        return "; ".join(shown)

    def in_sight(self) -> dict[str, str]:
        """Every piece that this seat sees now and that bears more than its name."""
        found: dict[str, str] = {}

        def look(at: Any, t: PieceT) -> None:
            cells = sum(len(f.values[0]) for k in t.kinds for f in self.game.pieces[k].fields.values())
            if isinstance(at, list) and at and not isinstance(at[0], list) and len(at) == cells:
                found[self.piece(at, t)] = self.printed(at, t)
            elif isinstance(at, list | dict):
                for part in at.values() if isinstance(at, dict) else at:
                    look(part, t)

        for place in self.game.places.values():
            item = plain(place.type.item if isinstance(place.type, SetT) else place.type)
            if isinstance(item, PieceT) and place.visibility != "hidden":
                look(self.seen["places"].get(place.name), item)
        return {name: printed for name, printed in sorted(found.items()) if printed}

    def group(self, held: list[Any], t: Type, owner: int, in_order: bool) -> str:
        """Pieces with their numbers; of a player's own pieces that are all alike the number says it all."""
        item = plain(t)
        alike = isinstance(item, PieceT) and not any(self.game.pieces[k].fields for k in item.kinds)
        if alike and all(x == owner for x in held):
            return str(len(held))
        words = [self.text(x, t) for x in held]
        if in_order:
            return ", ".join(words)
        return ", ".join(f"{words.count(w)} x {w}" if words.count(w) > 1 else w for w in dict.fromkeys(words))

    def cell(self, place: core.Place, held: Any, owner: int = -1) -> str:
        """What lies in a place, in a few words; nothing where there is nothing."""
        if held is None or held == [] or held is False or held == {"count": 0}:
            return ""
        item = place.type.item if isinstance(place.type, SetT) else place.type
        if isinstance(held, dict):
            return self.covered(place, held, item, owner)
        if place.holds_pieces and isinstance(held, list) and isinstance(place.type, SetT):
            return self.group(held, item, owner, place.word == "pile")
        return self.text(held, place.type)

    def covered(self, place: core.Place, held: dict[str, Any], item: Type, owner: int) -> str:
        count = str(held.get("count", "?"))
        known = held.get("known", [])
        order = held.get("order", [])
        if place.visibility == "private" and len(known) == held.get("count"):
            return self.group(known, item, owner, False)
        if not self.whole:
            n = len(known) + sum(c is not None for c in order)
            return f"{count} ({n} known)" if n and place.visibility == "private" else count
        shown = [f"of them {self.group(known, item, owner, False)}"] if known else []
        if order:
            shown.append("from the top: " + ", ".join("?" if c is None else self.text(c, item) for c in order))
        return "; ".join([count, *shown])


# ---------------------------------------------------------------- the screen


@define(eq=False)
class Screen:
    """Lays a view out with rich; every word goes through `printable`."""

    console: "Console"

    def say(self, text: str, style: str = "") -> None:
        from rich.text import Text

        self.console.print(Text("\n".join(printable(line) for line in text.split("\n")), style))

    def rule(self, title: str) -> None:
        from rich.rule import Rule
        from rich.text import Text

        self.console.print(Rule(Text(printable(title), "bold"), align="left", style="dim"))

    def clear(self) -> None:
        """The screen and what scrolled off it."""
        if self.console.is_terminal:
            self.console.file.write("\x1b[2J\x1b[3J\x1b[H")

    def grid(self, *heads: str, title: str = "") -> "Table":
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, padding=(0, 2, 0, 0), show_header=bool(heads), header_style="dim", pad_edge=False)
        for n, head in enumerate(heads or ("", "")):
            made.add_column(Text("\n".join(map(printable, head.split("\n")))), style="dim" if n == 0 and not title else "", overflow="fold")
        return made

    def row(self, table: "Table", cells: Sequence[str], style: str = "") -> None:
        from rich.text import Text

        table.add_row(*(Text(printable(c) or "·", style if c else "dim") for c in cells))

    def side_by_side(self, tables: "list[RenderableType]") -> None:
        """As many beside each other as the width allows."""
        from rich.table import Table

        line: list[RenderableType] = []
        room = 0
        for t in [*tables, None]:
            width = self.console.measure(t).maximum + 3 if t is not None else 0
            if line and (t is None or width > room):
                packed = Table.grid(padding=(0, 3, 0, 0))
                packed.add_row(*line)
                self.console.print(packed)
                self.console.print()
                line = []
            if t is not None:
                room = (room if line else self.console.width) - width
                line.append(t)

    def board(self, view: View) -> None:
        """Public places in a list, places with the same keys as one table, then a row for each seat."""
        places = list(view.game.places.values())
        single = self.grid()
        empty = []
        for p in places:
            if not p.per_player and not p.keys:
                shown = view.cell(p, view.held(p))
                if shown:
                    self.row(single, (readable(p.name), shown))
                elif p.visibility == "public" or p.counted:
                    empty.append(readable(p.name))
        tables: list[RenderableType] = [single] if single.row_count else []
        for keyed in dict.fromkeys(p.keys for p in places if p.keys):
            made = self.matrix(view, [p for p in places if p.keys == keyed], empty)
            if made is not None:
                tables.append(made)
        self.side_by_side(tables)
        self.seats(view, [p for p in places if p.per_player and not p.keys], empty)
        if empty:
            self.say(f"nothing in: {', '.join(empty)}", "dim")
        if view.whole:
            self.legend(view.in_sight(), "What is printed on the pieces in sight:")

    def matrix(self, view: View, places: list[core.Place], empty: list[str]) -> "Table | None":
        """Places with the same keys: a row for each key, a column for each place and owner."""
        columns = []
        rows = list(product(*(view.keys(k) for k in places[0].keys)))
        for p in places:
            for owner in range(len(view.names)) if p.per_player else (-1,):
                cells = [view.cell(p, view.held(p, owner, keys), owner) for keys in rows]
                head = readable(p.name) + (f"\n{self.who(view, owner)}" if owner >= 0 else "")
                columns.append((p, head, cells))
        kept = [c for c in columns if any(any(cells) for p, _, cells in columns if p is c[0])]
        empty.extend(readable(p.name) for p in places if p not in [c[0] for c in kept])
        if not kept:
            return None
        made = self.grid("", *(head for _, head, _ in kept))
        for n, keys in enumerate(rows):
            if any(cells[n] for _, _, cells in kept):
                name = ", ".join(view.key(k, t) for k, t in zip(keys, places[0].keys, strict=True))
                self.row(made, (name, *(cells[n] for _, _, cells in kept)))
        return made

    def who(self, view: View, seat: int) -> str:
        return f"{view.names[seat]} (you)" if seat == view.seat else view.names[seat]

    def seats(self, view: View, places: list[core.Place], empty: list[str]) -> None:
        texts = {p: [view.cell(p, view.held(p, seat), seat) for seat in range(len(view.names))] for p in places}
        own = [p for p in places if p.word in ("zone", "pile") and p.visibility == "private" and texts[p][view.seat]]
        for p in own:
            texts[p][view.seat] = str(len(view.held(p, view.seat)))
        kept = [p for p in places if any(texts[p])]
        empty.extend(readable(p.name) for p in places if p not in kept)
        table = self.grid("", *(readable(p.name) for p in kept))
        for seat in range(len(view.names)):
            self.row(table, (self.who(view, seat), *(texts[p][seat] for p in kept)), "bold" if seat == view.seat else "")
        self.console.print(table)
        for p in own:
            self.console.print()
            self.holding(view, p)

    def holding(self, view: View, place: core.Place) -> None:
        """A seat's own pieces; where more is printed on them than their name, a line for each."""
        held = view.held(place, view.seat)
        item = plain(place.type.item if isinstance(place.type, SetT) else place.type)
        assert isinstance(item, PieceT)
        printed = {view.piece(x, item): view.printed(x, item) for x in held}
        if any(printed.values()):
            self.legend(printed, f"Your {readable(place.name)}:")
        else:
            self.say(f"Your {readable(place.name)}: {view.cell(place, held, view.seat)}")

    def legend(self, printed: dict[str, str], title: str) -> None:
        if printed:
            self.say(title)
            table = self.grid()
            for name, what in printed.items():
                self.row(table, (f"  {name}", what))
            self.console.print(table)

    def happened(self, lines: Sequence[str], limit: int = 0) -> None:
        """Lines of a log; a heading is shown where something happened under it."""
        kept: list[tuple[str, str]] = []
        heading = shown = ""
        for line in lines:
            if line.startswith("-- "):
                heading = line[3:]
                continue
            if line.startswith("== "):
                kept.append((line[3:], "bold"))
                continue
            if heading != shown and heading:
                kept.append((heading, "dim"))
                shown = heading
            kept.append((f"  {line}", ""))
        if limit and len(kept) > limit:
            self.say(f"({len(kept) - limit} lines before this: l shows them)", "dim")
            kept = kept[-limit:]
        for text, style in kept:
            self.say(text, style)

    def options(self, labels: Sequence[str], listed: Sequence[int]) -> None:
        """Numbered, in as many columns as fit, read downwards."""
        from rich.table import Table
        from rich.text import Text

        shown = list(listed)[:LISTED]
        width = max(len(labels[i]) for i in shown) + 8
        columns = max(1, min(self.console.width // width, -(-len(shown) // 5)))
        height = -(-len(shown) // columns)
        table = Table.grid(padding=(0, 1))
        for line in range(height):
            cells: list[Text] = []
            for i in shown[line::height]:
                cells += [Text(f"{i + 1:>4}", "cyan"), Text(f"{printable(labels[i])}  ")]
            table.add_row(*cells)
        self.console.print(table)
        if len(listed) > LISTED:
            self.say(f"   … and {len(listed) - LISTED} more: type a part of what you look for", "dim")
