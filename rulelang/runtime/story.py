"""Events as sentences, as one seat may read them; `None` is the reader who may know everything."""

from collections.abc import Iterable

from attrs import define

from rulelang.core import nodes as core
from rulelang.core.types import PieceT, SetT, plain
from rulelang.graph.layout import Layout
from rulelang.runtime.events import Again, AnyEvent, Became, Began, Chosen, Counted, Drawn, Moved, Said, Shuffled
from rulelang.runtime.knowledge import sees
from rulelang.runtime.words import Words, readable


@define(eq=False)
class Story:
    layout: Layout
    words: Words

    def tell(self, event: AnyEvent, seat: int | None) -> str | None:
        """One line, or nothing where this seat saw nothing."""
        match event:
            case Began():
                heading = event.origin.heading if event.origin else ""
                return f"-- {heading or readable(event.path.split('.')[-1])}"
            case Again():
                heading = event.origin.heading if event.origin else ""
                return f"== {heading + ', ' if heading else ''}{readable(event.name)} {event.count}"
            case Chosen():
                if seat is not None and seat != event.player:
                    return None
                label = self.words.label(event.choice, True, event.picks, event.told)
                return f"{self.words.names[event.player]}: {label}"
            case Counted():
                if not self._sees(event.place, event.slot, seat):
                    return None
                lost = f" ({abs(event.lost)} {'lost' if event.lost > 0 else 'not taken'})" if event.lost else ""
                change = event.new - event.old
                return (
                    f"{self._where(event.place, event.slot)}: {event.old} {'+' if change >= 0 else '-'} {abs(change)} = {event.new}{lost}"
                )
            case Became():
                if not self._sees(event.place, event.slot, seat):
                    return None
                return f"{self._where(event.place, event.slot)} is now {self.words.text(event.new, event.place.type)}"
            case Moved():
                return self._moved(event, seat)
            case Shuffled():
                return f"{self._where(event.place, event.slot)} is shuffled"
            case Said():
                return self.words.told(event.text, event.values)
            case Drawn():
                return None

    def tell_all(self, events: Iterable[AnyEvent], seat: int | None) -> tuple[str, ...]:
        """All lines; a heading under which this seat saw nothing is left out."""
        lines: list[str] = []
        heading = ""
        for event in events:
            line = self.tell(event, seat)
            if line is None or line == heading:
                continue
            if line.startswith(("-- ", "== ")):
                heading = line
            if lines and lines[-1].startswith("-- ") and line.startswith(("-- ", "== ")):
                lines.pop()
            lines.append(line)
        return tuple(lines)

    def _moved(self, e: Moved, seat: int | None) -> str | None:
        """All of it to whoever sees one of the two places; to the others what the public numbers show."""
        seen = self._sees(e.source, e.source_slot, seat) or self._sees(e.goal, e.goal_slot, seat)
        if not seen and not e.source.counted and not e.goal.counted:
            return None
        goal = plain(e.goal.type.item if isinstance(e.goal.type, SetT) else e.goal.type)
        assert isinstance(goal, PieceT)
        if seen:
            what = ", ".join(self._counted(e.pieces, goal))
        else:
            what = f"{len(e.pieces)} of {' or '.join(sorted(goal.kinds))}"
        source = self._where(e.source, e.source_slot) if seen or e.source.counted else "out of sight"
        to = self._where(e.goal, e.goal_slot) + (" (below)" if e.under else "") if seen or e.goal.counted else "out of sight"
        return f"{what}: {source} -> {to}"

    def _counted(self, pieces: Iterable[int], t: PieceT) -> list[str]:
        counts: dict[str, int] = {}
        for c in pieces:
            word = self.words.piece(c, t)
            counts[word] = counts.get(word, 0) + 1
        return [f"{n} x {w}" if n > 1 else w for w, n in counts.items()]

    def _sees(self, place: core.Place, slot: int, seat: int | None) -> bool:
        owner, _ = self.layout.slot_name(place, slot - self.layout.slots[place])
        return seat is None or sees(place, owner, seat)

    def _where(self, place: core.Place, slot: int) -> str:
        owner, keys = self.layout.slot_name(place, slot - self.layout.slots[place])
        name = readable(place.name) + self.words.key_text(place.keys, keys)
        return f"{self.words.names[owner]} {name}" if owner >= 0 else name
