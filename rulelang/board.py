"""The table as one seat may see it: made from that seat's observation, laid out for a terminal."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from attrs import define

from rulelang.atlas import Spot, draw
from rulelang.core import nodes as core
from rulelang.core.types import BoolT, KindT, NumberT, PieceT, PlayerT, SetT, Type, plain
from rulelang.diagnostics import printable
from rulelang.runtime.words import readable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

FEW = 12  # sorts of pieces that are listed in a place; the whole board lists them all
WIDE = 24  # letters of a cell that fits into the table of the seats
LISTED = 60  # options that are listed before one has to type a part of the label
ATLAS_WIDTH = 140  # a map that is drawn wider falls apart


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

    @property
    def places(self) -> list[core.Place]:
        """What lies on the table; a derived value that is shown looks like a status."""
        made = [*self.game.places.values()]
        for v in self.game.shown:
            bare = (None, None, False, False, "public", False, None, None)
            made.append(core.Place(v.name, "status", v.per_player, v.keys, v.function.type, *bare, v.span))
        return made

    def held(self, place: core.Place, owner: int = -1, keys: tuple[str, ...] = ()) -> Any:
        at = {**self.seen["places"], **self.seen["shown"]}.get(place.name)
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

    def printed(self, held: Any, t: PieceT, only: str = "") -> str:
        """What a piece bears beyond its name, by its first key: `upper: 2 red; lower: 1 blue, coin blue`."""
        cells = held if isinstance(held, list) else [held]
        shown: dict[str, list[str]] = {}
        at = 0
        for f in self.kind_of(cells, t).fields.values():
            size = len(f.values[0])
            if f.keys and at:
                keys = self.keys(f.keys[0])
                width = size // len(keys)
                for n, key in enumerate(keys):
                    words = self.cell_words(f, cells[at + n * width : at + (n + 1) * width])
                    shown.setdefault(self.key(key, f.keys[0]), []).extend(words)
            at += size
        if only:
            return ", ".join(shown.get(only, ()))
        return "; ".join(f"{key}: {', '.join(words)}" for key, words in shown.items() if words)

    def cell_words(self, f: core.Field, cells: list[Any]) -> list[str]:
        """`2 red` for a number of something, `coin red` for anything else; what is not there is left out."""
        found = []
        rest = product(*([self.key(k, key) for k in self.keys(key)] for key in f.keys[1:]))
        for words, cell in zip(rest, cells, strict=True):
            if cell:
                counts = isinstance(f.type, NumberT) and words
                found.append(f"{cell} {' '.join(words)}" if counts else " ".join((readable(f.name), *words, self.text(cell, f.type))))
        return found

    def fields(self) -> dict[str, str]:
        """`Ship: ware, coins, danger`: the fields that a piece is called by, where there are several."""
        found = {}
        for kind in self.game.pieces.values():
            named = [readable(f.name) for f in kind.fields.values() if not f.keys]
            if len(named) > 1:
                found[kind.name] = ", ".join(named)
        return found

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

    def lying(self, held: Any, t: Type, keys: dict[Type, str]) -> str:
        """A piece in a place; where the place's key is printed on it, with what counts there: `5 (2 red)`."""
        item = plain(t)
        if not isinstance(item, PieceT):
            return self.text(held, t)
        fields = [f for k in item.kinds for f in self.game.pieces[k].fields.values()]
        there = [self.key(keys[f.keys[0]], f.keys[0]) for f in fields if f.keys and f.keys[0] in keys]
        shown = self.printed(held, item, there[0]) if there else ""
        return f"{self.text(held, t)} ({shown})" if shown else self.text(held, t)

    def group(self, held: list[Any], t: Type, owner: int, in_order: bool, keys: dict[Type, str]) -> str:
        """Pieces with their numbers; of a player's own pieces that are all alike the number says it all."""
        item = plain(t)
        alike = isinstance(item, PieceT) and not any(self.game.pieces[k].fields for k in item.kinds)
        if alike and all(x == owner for x in held):
            return str(len(held))
        words = [self.lying(x, t, keys) for x in held]
        if in_order:
            return ", ".join(words)
        if not self.whole and len(set(words)) > FEW:
            return f"{len(held)} pieces"
        return ", ".join(f"{words.count(w)} x {w}" if words.count(w) > 1 else w for w in dict.fromkeys(words))

    def cell(self, place: core.Place, held: Any, owner: int = -1, keys: tuple[str, ...] = ()) -> str:
        """What lies in a place, in a few words; nothing where there is nothing."""
        by_type = dict(zip(place.keys, keys, strict=False))
        if held is None or held == [] or held is False or held == {"count": 0}:
            return ""
        item = place.type.item if isinstance(place.type, SetT) else place.type
        if isinstance(held, dict):
            return self.covered(place, held, item, owner)
        if place.holds_pieces and isinstance(held, list) and isinstance(place.type, SetT):
            return self.group(held, item, owner, place.word == "pile", by_type)
        return self.lying(held, place.type, by_type)

    def there(self, place: core.Place, keys: tuple[str, ...]) -> str:
        """What lies in a place with these keys; of a place that every player has, who has what; a counter at 0 is nothing."""
        shown = []
        for seat in range(len(self.names)) if place.per_player else (-1,):
            held = self.held(place, seat, keys)
            if held == 0 and isinstance(plain(place.type), NumberT):
                continue
            cell = self.cell(place, held, seat, keys)
            if isinstance(plain(place.type), PlayerT) and held == self.seat:
                cell = "you"
            if cell:
                shown.append(cell if seat < 0 else f"you: {cell}" if seat == self.seat else f"{self.names[seat]}: {cell}")
        return ", ".join(shown)

    def standing(self, kind: core.Kind, member: str) -> list[str]:
        """`port`, `your home`: every status that names this member."""
        found = []
        for place in self.places:
            t = place.type.item if isinstance(place.type, SetT) else place.type
            if place.word != "status" or plain(t) != KindT(kind.name) or KindT(kind.name) in place.keys:
                continue
            for owner in range(len(self.names)) if place.per_player else (-1,):
                for keys in product(*(self.keys(k) for k in place.keys)):
                    held = self.held(place, owner, keys)
                    if held == member or (isinstance(held, list) and member in held):
                        words = [readable(place.name), *map(self.key, keys, place.keys)]
                        words = ["your", *words] if owner == self.seat else [*words, "of", self.names[owner]] if owner >= 0 else words
                        found.append(" ".join(words))
        return found

    def covered(self, place: core.Place, held: dict[str, Any], item: Type, owner: int) -> str:
        count = str(held.get("count", "?"))
        known = held.get("known", [])
        order = held.get("order", [])
        if place.visibility == "private" and len(known) == held.get("count"):
            return self.group(known, item, owner, False, {})
        if not self.whole:
            n = len(known) + sum(c is not None for c in order)
            return f"{count} ({n} known)" if n and place.visibility == "private" else count
        shown = [f"of them {self.group(known, item, owner, False, {})}"] if known else []
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
        places = view.places
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
        charts: dict[str, list[core.Map]] = {}
        for chart in view.game.maps.values():
            charts.setdefault(chart.kind.name, []).append(chart)
        mapped: set[tuple[Type, ...]] = {(KindT(kind),) for kind in charts}
        for keyed in dict.fromkeys(p.keys for p in places if p.keys and p.keys not in mapped):
            made = self.matrix(view, [p for p in places if p.keys == keyed], empty)
            if made is not None:
                tables.append(made)
        self.side_by_side(tables)
        for kind, maps in charts.items():
            self.atlas(view, maps, [p for p in places if p.keys == (KindT(kind),)], empty)
        self.seats(view, [p for p in places if p.per_player and not p.keys], empty)
        if view.whole:
            self.say(f"nothing in: {', '.join(empty)}" if empty else "", "dim")
            self.legend(view.in_sight(), "What is printed on the pieces in sight:")
            self.legend(view.fields(), "What the words on a piece stand for, in their order:")

    def atlas(self, view: View, maps: list[core.Map], places: list[core.Place], empty: list[str]) -> None:
        """A map with what is there: drawn where its members have positions and there is room, else a row for each member."""
        kind = maps[0].kind
        held = {p: [view.there(p, (member,)) for member in kind.members] for p in places}
        empty.extend(readable(p.name) for p in places if not any(held[p]))
        at = next((m.at for m in maps if m.at), ())
        spots = []
        for n, member in enumerate(kind.members):
            ways = [(m.name if len(maps) > 1 else "", [kind.members[goal] for goal in m.ways[n]]) for m in maps]
            spots.append(
                Spot(
                    readable(member),
                    at[n] if at else (0, 0),
                    tuple(map(printable, view.standing(kind, member))),
                    tuple((readable(p.name), printable(held[p][n])) for p in places if held[p][n]),
                    tuple((readable(title), ", ".join(map(readable, goals))) for title, goals in ways if goals),
                )
            )
        lines = draw(spots, min(self.console.width, ATLAS_WIDTH)) if at else []
        if lines:
            self.say("\n".join(lines))
        else:
            self.console.print(self.roll(spots))
        self.console.print()

    def roll(self, spots: list[Spot]) -> "Table":
        """The same as a table."""
        here = [{"here": f"● {', '.join(spot.here)}"} if spot.here else {} for spot in spots]
        entries = [dict(spot.entries) for spot in spots]
        ways = [{title or "ways to": goals for title, goals in spot.ways} for spot in spots]
        titles = dict.fromkeys(title for found in (here, entries, ways) for texts in found for title in texts)
        made = self.grid("", *titles)
        for n, spot in enumerate(spots):
            texts = here[n] | entries[n] | ways[n]
            self.row(made, (spot.name, *(texts.get(title, "") for title in titles)))
        return made

    def matrix(self, view: View, places: list[core.Place], empty: list[str]) -> "Table | None":
        """Places with the same keys: a row for each key, a column for each place and owner."""
        columns = []
        rows = list(product(*(view.keys(k) for k in places[0].keys)))
        for p in places:
            for owner in range(len(view.names)) if p.per_player else (-1,):
                cells = [view.cell(p, view.held(p, owner, keys), owner, keys) for keys in rows]
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
        wide = [p for p in kept if max(map(len, texts[p])) > WIDE]  # a table with long cells cannot be read
        table = self.grid("", *(readable(p.name) for p in kept if p not in wide))
        for seat in range(len(view.names)):
            cells = (texts[p][seat] for p in kept if p not in wide)
            self.row(table, (self.who(view, seat), *cells), "bold" if seat == view.seat else "")
        self.console.print(table)
        for p in wide:
            self.console.print()
            lying = self.grid()
            for seat, text in enumerate(texts[p]):
                if text:
                    self.row(lying, (f"{readable(p.name)} of {self.who(view, seat)}", text))
            self.console.print(lying)
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
