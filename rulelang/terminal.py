"""Matches on a terminal: the story and the result of a match as text, and a table at which people play seat by seat."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import define, field

from rulelang.api import Game, Match
from rulelang.core import nodes as core
from rulelang.core.types import BoolT, KindT, MaybeT, NumberT, PieceT, PlayerT, SetT, Type, plain
from rulelang.diagnostics import printable
from rulelang.errors import RuleError, UsageError
from rulelang.graph.layout import CHANCE
from rulelang.runtime.events import AnyEvent, Began, Drawn, Moved, Shuffled
from rulelang.runtime.machine import Machine
from rulelang.runtime.story import Story
from rulelang.runtime.words import Words, readable

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from rich.console import Console, RenderableType
    from rich.table import Table

LISTED = 60  # options that are listed before one has to type a part of the label
TOLD = 16  # lines of what happened before a decision; the log has all
HELP = """\
a number       chooses that option            u          takes your last choice back
some letters   choose the option they name,   s [FILE]   saves the match
               or list those they could mean  l          everything that happened, as you saw it
(nothing)      shows the table again          b          the whole board, every piece described
                                              q          leaves the match"""


# ---------------------------------------------------------------- the story


def rounds(game: core.Game) -> list[core.Loop]:
    """The loops that make up the course of play: not inside a step, and not inside a turn."""

    def walk(body: Sequence[core.Statement]) -> Iterator[core.Loop]:
        for s in body:
            match s:
                case core.Loop():
                    yield s
                    yield from walk(s.body)
                case core.Block(is_step=False):
                    yield from walk(s.body)
                case core.Branch():
                    yield from walk((*s.then, *s.otherwise))
                case _:
                    pass

    return list(walk(game.flow))


def section(loops: Sequence[core.Loop], counts: Sequence[int], path: str) -> str:
    """`Course of play, rounds 3`: in which passes a rule with this path was carried out."""
    inside = [(loop, n) for loop, n in zip(loops, counts, strict=True) if n and f"{path}.".startswith(f"{loop.path}.")]
    headings = dict.fromkeys(loop.origin.heading for loop, _ in inside if loop.origin.heading)
    return ", ".join([*headings, *(f"{readable(loop.path.split('.')[-1])} {n}" for loop, n in inside)])


def _passes(match: Match, loops: Sequence[core.Loop]) -> Iterator[tuple[AnyEvent, tuple[int, ...]]]:
    """Every event of the match, with the counts of the loops when it happened."""
    holder: list[Machine] = []
    counted: dict[int, tuple[int, ...]] = {}

    def emit(event: AnyEvent) -> None:
        holder[0].events.append(event)
        counted[id(event)] = tuple(holder[0].s[slot] for slot in slots)

    program = match.game.program(match.players, match.settings, match._dice, emit)
    slots = [program.layout.variables[loop.count] for loop in loops]
    machine = Machine(program, program.start[:], match.ask_forced, at_thread=match._at_thread)
    holder.append(machine)
    machine.begin()
    for player, k in match.choices:
        match._dice.entry = machine.s[CHANCE]
        machine.choose(next(p for p in machine.pending if p.player == player), k)
    now = (0,) * len(loops)
    for event in machine.events:
        now = counted.get(id(event), now)
        yield event, now


def story(match: Match) -> Iterator[tuple[int, str]]:
    """What happened, as (level, text): rounds, below them the headings of the rules, below those what they did."""
    loops = rounds(match.game.core)
    teller = Story(match.program.layout, Words(match.program.layout, match.names))
    where = heading = ""
    for event, counts in _passes(match, loops):
        told = teller.tell(event, None)
        if told is None or isinstance(event, Began) or event.origin is None:
            continue
        rule = event.origin.heading
        now = section(loops, counts, event.origin.label) or rule or match.game.title
        if now != where:
            where, heading = now, now.split(", ")[0]
            yield 0, where
        if rule and rule != heading:
            heading = rule
            yield 1, rule
        yield 2, told


def result(match: Match) -> Iterator[tuple[int, str]]:
    """The ranking, and how each score came about, as (level, text)."""
    ranking = match.game.core.ranking
    measure = readable(ranking.items[0][2]) if ranking is not None else "points"
    scores = match.scores
    yield 0, "Result" if match.is_over else "So far"
    for rank, seats in enumerate(match.ranking):
        place = 1 + sum(len(r) for r in match.ranking[:rank])
        for seat in seats:
            yield 1, f"{place}. {match.names[seat]}: {scores[seat]} {measure}{_tie_break(match, seat)}"
            parts = match.account(seat)
            width = max((len(why) for why, _ in parts), default=0)
            for why, n in parts:
                yield 2, f"{why:<{width}}  {n:>4}"


def _tie_break(match: Match, seat: int) -> str:
    """What decided among seats with the same score, where it has a name."""
    ranking = match.game.core.ranking
    if ranking is None or match.scores.count(match.scores[seat]) < 2:
        return ""
    shown = []
    for _, _, name in ranking.items[1:]:
        with suppress(KeyError):
            shown.append(f"{match.get(name, player=seat)} {readable(name)}")
    return f" ({', '.join(shown)})" if shown else ""


# ---------------------------------------------------------------- saving


def save_file(path: Path, text: str) -> None:
    """The old file or the new one, never half of it, whatever happens."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(0, "not a regular file")
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, temp = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temp, mode)
        os.replace(temp, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temp)
        raise
    with suppress(OSError):  # not every system can sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def free_name(match: Match) -> Path:
    """A file of its own for a match that nobody gave a name."""
    stem = f"{match.game.name}-{match.seed}"
    names = (Path(f"{stem}{'' if n == 1 else f'-{n}'}.match") for n in range(1, 10_000))
    return next((p for p in names if not p.exists()), Path(f"{stem}.match"))


# ---------------------------------------------------------------- what a seat sees


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
                return self.names[held]
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
            if f.keys and parts:
                break
            parts.extend(self.text(c, f.type) for c in cells[len(parts) : len(parts) + len(f.values[0])])
        return " ".join(parts)

    def printed(self, held: Any, t: PieceT) -> str:
        """What a piece bears beyond its name: `symbols upper knights 1, lower monks 2`."""
        cells = held if isinstance(held, list) else [held]
        shown, at = [], 0
        for f in self.kind_of(cells, t).fields.values():
            here = cells[at : at + len(f.values[0])]
            if f.keys and at:
                words = product(*([self.key(k, key) for k in self.keys(key)] for key in f.keys))
                marked = [f"{' '.join(w)} {self.text(c, f.type)}" for w, c in zip(words, here, strict=False) if c]
                if marked:
                    shown.append(f"{readable(f.name)} {', '.join(marked)}")
            at += len(f.values[0])
        return "; ".join(shown)

    def group(self, held: list[Any], t: Type, owner: int, in_order: bool) -> str:
        """Pieces with their numbers; of a player's own pieces that are all alike the number says it all."""
        if held and all(isinstance(x, int) and x == owner for x in held):
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

        self.console.print(Text(printable(text), style))

    def grid(self, *heads: str, title: str = "") -> "Table":
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, padding=(0, 2, 0, 0), show_header=bool(heads), header_style="dim", pad_edge=False)
        for n, head in enumerate(heads or ("", "")):
            made.add_column(Text(printable(head)), style="dim" if n == 0 and not title else "", overflow="fold")
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
        own = [p for p in places if p.holds_pieces and p.visibility == "private" and texts[p][view.seat]]
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
        if not any(printed.values()):
            self.say(f"Your {readable(place.name)}: {view.cell(place, held, view.seat)}")
            return
        self.say(f"Your {readable(place.name)}:")
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
            if heading != shown:
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


__all__ = [
    "Drawn",
    "Game",
    "MaybeT",
    "Moved",
    "NoReturn",
    "PromptSession",
    "Random",
    "RuleError",
    "Shuffled",
    "UsageError",
    "field",
    "signal",
    "sys",
]
