"""What a seat may know, from the declared visibility and from what it saw happen, and from nothing else.

A seat sees a public place, and a private one that is its own.  It sees a piece move if it sees one of the two
places; such a piece stays known until it can be confused with another: pieces are shuffled, or one leaves unseen.
Where nobody counts, a piece could leave or come without a trace: there a seat knows only what no rule could have
changed behind its back.  That must not depend on whether it happened."""

from collections.abc import Sequence

from attrs import define, evolve, field

from rulelang.core import nodes as core
from rulelang.core.apparent import unseen
from rulelang.graph.layout import Layout
from rulelang.runtime.events import Again, AnyEvent, Became, Began, Chosen, Counted, Drawn, Moved, Said, Shuffled
from rulelang.runtime.values import State


def sees(place: core.Place, owner: int, seat: int) -> bool:
    return place.visibility == "public" or (place.visibility == "private" and owner == seat)


@define(eq=False)
class Lying:
    """What is known of one covered place: how many of each class at least, and for a pile which card lies where"""

    place: core.Place
    unsure: bool  # what lies there could be gone, and this seat would not know
    mixed: bool  # how many lie above it could have changed
    loose: dict[int, int] = field(factory=dict)
    order: list[int | None] = field(factory=list)
    size: int = 0

    def add(self, c: int) -> None:
        self.loose[c] = self.loose.get(c, 0) + 1

    def forget(self, c: int, n: int = 1) -> None:
        left = self.loose.get(c, 0) - n
        if left > 0:
            self.loose[c] = left
        else:
            self.loose.pop(c, None)

    def confuse(self, n: int) -> None:
        """Some left unseen: of each class at least so many are still there."""
        for c in list(self.loose) if n else ():
            self.forget(c, n)

    def mix(self) -> None:
        """What is there stays known, where it lies does not."""
        for c in self.order:
            if c is not None:
                self.add(c)
        self.order = [None] * len(self.order)


@define(eq=False)
class Knowledge:
    layout: Layout
    seat: int
    lying: dict[int, Lying] = field(factory=dict)
    owners: dict[int, int] = field(factory=dict)

    def begin(self, s: State) -> None:
        """How a game starts is printed in its rules: everybody knows it."""
        could = unseen(self.layout.game.flow)
        for place in self.layout.game.places.values():
            if not place.holds_pieces:
                continue
            universe = self.layout.universe(place.type)
            first = self.layout.slots[place]
            for index in range(self.layout.sizes[place]):
                owner, _ = self.layout.slot_name(place, index)
                self.owners[first + index] = owner
                covered = not place.counted and not sees(place, owner, self.seat)
                left = could.left_unasked if owner == self.seat else could.left
                self.lying[first + index] = Lying(place, covered and place in left, covered and place in could.left | could.entered)
                value = s[first + index]
                if place.word == "pile":
                    self._put(first + index, universe.unpack(value), True)
                elif place.word == "zone":
                    self._put(first + index, [c for c, n in universe.items(value) for _ in range(n)], True)

    def copy(self) -> "Knowledge":
        lying = {slot: evolve(x, loose=dict(x.loose), order=list(x.order)) for slot, x in self.lying.items()}
        return Knowledge(self.layout, self.seat, lying, self.owners)

    def sees(self, place: core.Place, slot: int) -> bool:
        return sees(place, self.owners.get(slot, -1), self.seat)

    def learn(self, event: AnyEvent) -> None:
        match event:
            case Moved():
                self._moved(event)
            case Shuffled():
                self.lying[event.slot].mix()
            case Counted() | Became() | Drawn() | Began() | Again() | Chosen() | Said():
                pass

    def _moved(self, e: Moved) -> None:
        seen = self.sees(e.source, e.source_slot) or self.sees(e.goal, e.goal_slot)
        moved = self._taken(e, seen)
        if not seen and not e.source.counted:
            self.lying[e.source_slot].loose = {}  # if anything was known there, this seat chose the move itself
        if not seen and not e.goal.counted:
            moved = [None] * len(moved)  # where they went was not seen
        self._put(e.goal_slot, moved, e.under, seen or (e.ruled and (e.source.word == "pile" or None not in moved)))

    def _taken(self, e: Moved, seen: bool) -> list[int | None]:
        """Takes the pieces out of where they lay; gives what this seat knows of them."""
        source, n = self.lying[e.source_slot], len(e.pieces)
        everything = n == source.size and e.source.counted
        source.size -= n
        moved: list[int | None] = list(e.pieces) if seen else [None] * n
        if e.source.word == "pile":
            at = e.taken if e.ruled or self.sees(e.source, e.source_slot) else self._found(source, e) if seen else None
            if at is not None:
                for k, i in enumerate(at):
                    known = source.order[i]
                    if known is not None:
                        moved[k] = known  # it could be told what lay there
                    elif seen:
                        source.forget(e.pieces[k])
                source.order = [c for i, c in enumerate(source.order) if i not in set(at)]
                source.confuse(sum(m is None for m in moved))
                return moved
            source.mix()
            source.order = source.order[n:]
        if seen:
            for c in e.pieces:
                source.forget(c)
        elif everything:
            moved = [c for c, k in sorted(source.loose.items()) for _ in range(k)]
            moved += [None] * (n - len(moved))
            source.loose = {}
        else:
            source.confuse(n)
        return moved

    def _found(self, source: Lying, e: Moved) -> tuple[int, ...] | None:
        """Where the pieces that were seen leaving must have lain, if this seat can tell."""
        classes, order, found = self.layout.universe(e.source.type).classes, list(source.order), []
        for c in e.pieces:
            at = order.index(c) if c in order else -1
            if at < 0 or (None in order[:at] and classes[c].count > 1):
                return None
            found.append(at)
            order[at] = -1
        return tuple(found)

    def _put(self, slot: int, pieces: Sequence[int | None], under: bool, sure: bool = True) -> None:
        """Adds pieces; `sure`: their order is known as well."""
        here = self.lying[slot]
        here.size += len(pieces)
        kept = [None] * len(pieces) if here.unsure else pieces
        if here.place.word == "pile":
            in_order = sure and not here.mixed
            placed = kept if in_order else [None] * len(pieces)
            here.order = [*here.order, *placed] if under else [*placed, *here.order]
            if in_order:
                return
        for c in kept:
            if c is not None:
                here.add(c)

    def known(self, slot: int) -> tuple[list[int], list[int | None]]:
        here = self.lying[slot]
        return [c for c, n in sorted(here.loose.items()) for _ in range(n)], here.order
