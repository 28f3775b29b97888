"""A table put together from other sources than the engine: its pieces counted, and its places as the events tell them."""

from collections import Counter

from rulelang.api import Match
from rulelang.core import nodes as core
from rulelang.graph.layout import Layout
from rulelang.runtime.events import Became, Counted, Moved
from rulelang.runtime.program import Program
from rulelang.runtime.values import State


def held(layout: Layout, place: core.Place, value: int) -> Counter[int]:
    """How many pieces of each class lie in a place that has this value."""
    universe = layout.universe(place.type)
    match place.word:
        case "pile":
            return Counter(universe.unpack(value))
        case "slot":
            return Counter([value] if value >= 0 else [])
        case _:
            return Counter(dict(universe.items(value)))


def lying(program: Program, s: State) -> dict[int, Counter[int]]:
    """How many pieces of each class lie anywhere on the table, for each universe of classes."""
    layout = program.layout
    found: dict[int, Counter[int]] = {}
    for place in layout.game.places.values():
        if place.holds_pieces:
            here = found.setdefault(id(layout.universe(place.type)), Counter())
            for value in s[layout.slots[place] : layout.slots[place] + layout.sizes[place]]:
                here.update(held(layout, place, value))
    return found


def conserved(program: Program, s: State) -> bool:
    """No piece was made, copied or lost."""
    found = lying(program, s)
    return all(found[id(u)] == {c: cls.count for c, cls in enumerate(u.classes) if cls.count} for u in program.layout.universes.values())


def misled(match: Match) -> str:
    """Where the start and the events alone, which come from the traced build, do not lead to the table of the fast build.
    Of a pile only what is in it: no event tells the order after a shuffle."""
    layout, start = match.program.layout, match.program.start
    places = {
        slot: place
        for place in layout.game.places.values()
        for slot in range(layout.slots[place], layout.slots[place] + layout.sizes[place])
    }
    values = {slot: start[slot] for slot, place in places.items() if not place.holds_pieces}
    pieces = {slot: held(layout, place, start[slot]) for slot, place in places.items() if place.holds_pieces}
    for e in match.events:
        match e:
            case Counted() | Became() if e.slot in values:  # what several do at once is added up
                values[e.slot] += e.new - e.old
            case Moved():
                if Counter(e.pieces) - pieces[e.source_slot]:
                    return f"more left `{e.source.name}` than lay there"
                pieces[e.source_slot] -= Counter(e.pieces)
                pieces[e.goal_slot] += Counter(e.pieces)
            case _:
                pass
    for slot, place in places.items():
        lies = match.machine.s[slot]
        if (pieces[slot] != held(layout, place, lies)) if place.holds_pieces else (values[slot] != lies):
            return f"the events do not lead to what is in `{place.name}`"
    return ""
