"""Integers back to words: what a slot holds, what an option says, as plain data and as text for people."""

from typing import Any

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.types import BoolT, KindT, MaybeT, NumberT, PieceT, PlayerT, SetT, Type, plain
from rulelang.graph.layout import Layout
from rulelang.runtime.values import members, rep, unpack_seq


def readable(name: str) -> str:
    return name.replace("_", " ")


@define(eq=False)
class Words:
    layout: Layout
    names: tuple[str, ...]
    _pieces: dict[tuple[str, int], tuple[Any, ...]] = field(factory=dict)

    # ------------------------------------------------------------ plain data

    def data(self, value: int, t: Type) -> Any:
        """A stored value as plain data: names, numbers, lists; a seat is its number."""
        if isinstance(t, MaybeT):
            return None if value < 0 else self.data(value, t.item)
        match t:
            case BoolT():
                return bool(value)
            case KindT():
                return self.layout.game.kinds[t.kind].members[value]
            case PieceT():
                cells = self.cells(value, t)
                return cells[0] if len(cells) == 1 else list(cells)
            case SetT():
                return [self.data(x, t.item) for x in self.items(value, t)]
        return value

    def items(self, value: int, t: SetT) -> tuple[int, ...]:
        """The elements of a stored group."""
        form = rep(t)
        if form == "seq":
            return unpack_seq(value)
        if form == "bag":
            return tuple(c for c, n in self.layout.universe(t).items(value) for _ in range(n))
        return members(value)

    def cells(self, c: int, t: PieceT) -> tuple[Any, ...]:
        """What is printed on a piece, in the order of its fields; pieces without fields are known by their owner."""
        universe = self.layout.universe(t)
        cls = universe.classes[c]
        key = (cls.kind, c)
        found = self._pieces.get(key)
        if found is None:
            made: list[Any] = []
            for f in self.layout.game.pieces[cls.kind].fields.values():
                made.extend(self.data(v, f.type) for v in f.values[cls.row])
            if not made:
                made = [cls.owner] if cls.owner >= 0 else [cls.kind.lower()]
            found = self._pieces[key] = tuple(made)
        return found

    # ------------------------------------------------------------ text

    def text(self, value: int, t: Type) -> str:
        if isinstance(t, MaybeT):
            return "none" if value < 0 else self.text(value, t.item)
        match t:
            case BoolT():
                return "yes" if value else "no"
            case PlayerT():
                return self.names[value]
            case KindT():
                return readable(self.layout.game.kinds[t.kind].members[value])
            case PieceT():
                return self.piece(value, t)
            case SetT():
                return self.group(self.items(value, t), t.item)
        return str(value)

    def piece(self, c: int, t: PieceT) -> str:
        universe = self.layout.universe(t)
        cls = universe.classes[c]
        pieces = self.layout.game.pieces[cls.kind]
        if not pieces.fields:
            word = readable(cls.kind.lower())
            return f"{word} of {self.names[cls.owner]}" if cls.owner >= 0 else word
        parts: list[str] = []
        for f in pieces.fields.values():
            if f.keys and parts:
                break  # a card with a name and a table on it is known by its name
            parts.extend(self.text(v, f.type) for v in f.values[cls.row])
        return " ".join(parts)

    def group(self, items: tuple[int, ...], t: Type) -> str:
        if not items:
            return "none"
        return ", ".join(self.text(x, t) for x in items)

    # ------------------------------------------------------------ options

    def label(self, choice: core.Choice, is_menu: bool, picks: tuple[int, ...], told: tuple[int, ...]) -> str:
        """`sail to riga`; an option without a menu is known by its picks, one whose text has values in it by its text."""
        shown = self.printed_there(choice, picks)
        if told and choice.text is not None:
            parts = [self.told(choice.text, told)]
        else:
            parts = [choice.text.written if choice.text else readable(choice.name)] if is_menu or not picks else []
            for p, value in zip(choice.picks, picks, strict=True):
                if p.prep is not None:
                    parts.append(p.prep)
                parts.append(self.text(value, p.var.type))
        return " ".join(parts) + (f": {shown}" if shown else "")

    def told(self, text: core.Text, values: tuple[int, ...]) -> str:
        """A text with the values that it had; nobody is called nobody."""
        left = iter(values)
        return "".join(p if isinstance(p, str) else self._told(next(left), p.type) for p in text.parts)

    def _told(self, value: int, t: Type) -> str:
        return "nobody" if value < 0 and isinstance(t, MaybeT) and isinstance(t.item, PlayerT) else self.text(value, t)

    def printed_there(self, choice: core.Choice, picks: tuple[int, ...]) -> str:
        """A card and one of its halves, chosen together: what is printed on that half."""
        keys = {p.var.type: v for p, v in zip(choice.picks, picks, strict=True) if isinstance(p.var.type, KindT)}
        found: list[str] = []
        for p, value in zip(choice.picks, picks, strict=True):
            if isinstance(p.var.type, PieceT):
                cls = self.layout.universe(p.var.type).classes[value]
                for f in self.layout.game.pieces[cls.kind].fields.values():
                    if f.keys and f.keys[0] in keys:
                        width = len(f.values[cls.row]) // self.layout.key_size(f.keys[0])
                        at = keys[f.keys[0]] * width
                        found.extend(self._cell_words(f, f.values[cls.row][at : at + width]))
        return ", ".join(found)

    def _cell_words(self, f: core.Field, values: tuple[int, ...]) -> list[str]:
        """`2 red` for a number of something, `coin red` for anything else; what is not there is left out."""
        found = []
        for n, value in enumerate(values):
            if value < 0 or (value == 0 and isinstance(f.type, NumberT | BoolT)):
                continue
            of = self.text(n, f.keys[1]) if len(f.keys) > 1 else ""
            counts = isinstance(f.type, NumberT) and of
            found.append(f"{value} {of}" if counts else f"{readable(f.name)} {self.text(value, f.type)}")
        return found

    def value(self, choice: core.Choice, picks: tuple[int, ...]) -> tuple[Any, ...]:
        return (choice.name, *(self.data(v, p.var.type) for p, v in zip(choice.picks, picks, strict=True)))

    def key_text(self, types: tuple[Type, ...], keys: tuple[int, ...]) -> str:
        if not keys:
            return ""
        shown = []
        for k, t in zip(keys, types, strict=True):
            low = t.low or 0 if isinstance(t, NumberT) else 0
            shown.append(self.text(k + low, t))
        return "(" + ", ".join(shown) + ")"

    def key_data(self, place: core.Place, keys: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(str(self.data(k + (t.low or 0 if isinstance(t, NumberT) else 0), t)) for k, t in zip(keys, place.keys, strict=True))

    def held(self, place: core.Place, value: int) -> Any:
        """What a slot holds, as plain data."""
        if place.word == "pile":
            item = plain(place.type.item) if isinstance(place.type, SetT) else place.type
            return [self.data(c, item) for c in self.layout.universe(place.type).unpack(value)]
        return self.data(value, place.type)
