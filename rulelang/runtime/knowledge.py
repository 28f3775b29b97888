"""What a seat may know, from the declared visibility and from what it saw happen, and from nothing else.

A seat sees a public place, and a private one that is its own.  It sees a piece move if it sees one of the two
places; such a piece stays known until it can be confused with another: pieces are shuffled, or one leaves unseen."""

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.graph.layout import Layout
from rulelang.runtime.events import Again, AnyEvent, Became, Began, Chosen, Counted, Drawn, Moved, Said, Shuffled
from rulelang.runtime.values import State


def sees(place: core.Place, owner: int, seat: int) -> bool:
    return place.visibility == "public" or (place.visibility == "private" and owner == seat)


@define(eq=False)
class Lying:
    """What is known of one covered place: how many of each class at least, and for a pile which card lies where"""

    loose: dict[int, int] = field(factory=dict)
    order: list[int | None] = field(factory=list)
    size: int = 0


@define(eq=False)
class Knowledge:
    layout: Layout
    seat: int
    lying: dict[int, Lying] = field(factory=dict)
    owners: dict[int, int] = field(factory=dict)

    def begin(self, s: State) -> None:
        """How a game starts is printed in its rules: everybody knows it."""
        for place in self.layout.game.places.values():
            if not place.holds_pieces:
                continue
            universe = self.layout.universe(place.type)
            first = self.layout.slots[place]
            for index in range(self.layout.sizes[place]):
                owner, _ = self.layout.slot_name(place, index)
                self.owners[first + index] = owner
                here = self.lying[first + index] = Lying()
                value = s[first + index]
                if place.word == "pile":
                    here.order = list(universe.unpack(value))
                    here.size = len(here.order)
                elif place.word == "zone":
                    here.loose = dict(universe.items(value))
                    here.size = universe.size(value)

    def sees(self, place: core.Place, slot: int) -> bool:
        return sees(place, self.owners.get(slot, -1), self.seat)

    def learn(self, event: AnyEvent) -> None:
        match event:
            case Moved():
                self._moved(event)
            case Shuffled():
                here = self.lying[event.slot]
                for c in here.order:
                    if c is not None:
                        here.loose[c] = here.loose.get(c, 0) + 1
                here.order = [None] * len(here.order)
            case Counted() | Became() | Drawn() | Began() | Again() | Chosen() | Said():
                pass

    def _moved(self, e: Moved) -> None:
        seen = self.sees(e.source, e.source_slot) or self.sees(e.goal, e.goal_slot)
        source, goal = self.lying[e.source_slot], self.lying[e.goal_slot]
        moved: list[int | None] = list(e.pieces) if seen else [None] * len(e.pieces)
        if not seen:
            for place, slot in ((e.source, e.source_slot), (e.goal, e.goal_slot)):
                if not place.counted and not self.sees(place, slot):
                    self._lose_count(self.lying[slot], slot == e.source_slot)
        everything = len(e.pieces) == source.size and (e.source.counted or self.sees(e.source, e.source_slot))
        if e.source.word == "pile":
            for n, at in enumerate(e.taken):
                known = source.order[at]
                if known is not None:
                    moved[n] = known  # it could be told what lay there
                elif seen:
                    self._forget(source, e.pieces[n], 1)
            unseen = sum(m is None for m in moved)
            source.order = [c for i, c in enumerate(source.order) if i not in set(e.taken)]
            self._confuse(source, unseen)
        elif seen:
            for c in e.pieces:
                self._forget(source, c, 1)
        elif everything:
            moved = [c for c, n in source.loose.items() for _ in range(n)]
            moved += [None] * (len(e.pieces) - len(moved))
            source.loose = {}
        else:
            self._confuse(source, len(e.pieces))
        source.size -= len(e.pieces)
        goal.size += len(e.pieces)
        if e.goal.word == "pile":
            goal.order = [*goal.order, *moved] if e.under else [*moved, *goal.order]
        else:
            for m in moved:
                if m is not None:
                    goal.loose[m] = goal.loose.get(m, 0) + 1

    @staticmethod
    def _lose_count(here: Lying, leaving: bool) -> None:
        """Something moved unseen where nobody counts: how many, and what lies where, is no longer known."""
        for c in here.order:
            if c is not None:
                here.loose[c] = here.loose.get(c, 0) + 1
        here.order = [None] * len(here.order)
        if leaving:
            here.loose = {}

    @staticmethod
    def _forget(here: Lying, c: int, n: int) -> None:
        left = here.loose.get(c, 0) - n
        if left > 0:
            here.loose[c] = left
        else:
            here.loose.pop(c, None)

    def _confuse(self, here: Lying, n: int) -> None:
        """Some left unseen: of each class at least so many are still there."""
        if n:
            for c in list(here.loose):
                self._forget(here, c, n)

    def known(self, slot: int) -> tuple[list[int], list[int | None]]:
        here = self.lying[slot]
        return [c for c, n in sorted(here.loose.items()) for _ in range(n)], here.order
