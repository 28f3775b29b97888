"""Small games that tell a secret: every source of secrets, by every way, to everybody who sees something of it.

Seat 0 sets the secret by its first choice.  `check` must refuse each of these games and show the way from the secret to
the line; and the game really leaks: without that check seat 2 is given different things in two worlds that differ in
this choice alone.  The same game with an open number in place of the secret must check without a finding."""

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from attrs import frozen

from rulelang import pipeline
from rulelang.api import Game, Match
from rulelang.diagnostics import Diagnostic
from rulelang.errors import RuleError
from rulelang.pipeline import Loaded, require
from tests.worlds import Leak, received, same

HEAD = """game leaking "A game that leaks", players 3..3
{use}
kind Tone: low, high
pieces Token: 9

table alike(n: 0..9)
    0: 0
    1: 1
    2: 2
    3..9: 3

counter pot: 0.., public
counter heap(1..4): 0.., public
counter quiet: 0.., hidden
status tone: Tone, public, starts at low
zone bank: Token, public, starts with all Token
zone bench: Token, public
pile shaft: Token, hidden, number public
pile shafts(1..4): Token, hidden, number public

define hider = first p in players where place_no of p is 1

each player
    pieces Card(v: 1..2)
        1
        2
    pieces Scrap: 3
    zone hand: Card, private, number public, starts with all own Card
    zone kept: Card, private, number public
    pile tomb: Card, hidden, number public
    slot palm: Card, private, number public
    pile chest: Scrap, private, starts with all own Scrap
    zone purse: Scrap, private
    counter place_no: 0.., public
    counter open_no: 0.., public
    counter secret: 0.., private
    counter debt: 0.., hidden
    counter hint: 0.., private
    status omen: 0..2, private, starts at 0
    counter points: 0.., public
{declared}
step seats
    in turn each player starting with (first player)
        set place_no to (number of p in players where place_no of p > 0) + 1
"""
LAST = """
step last
    in turn each player starting with (first player)
        choose any n in 1..2
            raise points by n

ranking by most points, ties shared
"""


@frozen
class Part:
    """A source, a way or a sink, as `leaks.txt` has it"""

    name: str
    value: str  # how a secret is read; what X is
    lines: str
    own: str = ""  # among the places of players
    below: str = ""
    use: str = ""
    place: str = ""  # where a secret lies
    secretly: bool = False  # all set it at once
    hides: bool = False  # an open number is none any more after that


def read(word: str) -> tuple[Part, ...]:
    """All parts of one sort."""
    text = (Path(__file__).parent / "leaks.txt").read_text(encoding="utf-8")
    return tuple(_part(block.splitlines()) for block in text.split("\n\n") if block.startswith(f"{word} "))


def _part(lines: list[str]) -> Part:
    name, _, value = lines[0].partition(" ")[2].partition(":")
    place, equals, read_as = value.strip().partition(" = ")
    found, said, here = {"lines": "", "own": "", "below": ""}, dict[str, str](), "lines"
    for line in lines[1:]:
        word, _, rest = line.removeprefix("+ ").partition(" ")
        if not line.startswith("+ "):
            found[here] += line.removeprefix("    ") + "\n"
        elif word in found:
            here = word
        else:
            said[word] = rest
    kept = {k: v.removesuffix("\n") for k, v in found.items()}
    return Part(
        name, read_as if equals else place, **kept, use=said.get("use", ""), place=place if equals else "",
        secretly="secretly" in said, hides="hides" in said,
    )  # fmt: skip


*SOURCES, OPEN = read("source")
WAYS, SINKS = read("way"), read("sink")


# ---------------------------------------------------------------- games


@frozen
class Cell:
    """One game of the matrix"""

    source: Part
    way: Part
    sink: Part
    layer: str = ""  # what a variant does with the step where the secret gets out: before, after, replace

    @property
    def name(self) -> str:
        return ", ".join(
            [f"from {self.source.name} {self.way.name} to {self.sink.name}", *([f"{self.layer} in a layer"] if self.layer else [])]
        )

    @property
    def makes_sense(self) -> bool:
        """What stands outside of the flow sees no name of the flow; and one place is not written over its own secret."""
        outside = re.search(r"\bX\b", self.sink.own + self.sink.below)
        return not (outside and self.way.lines) and not (self.source.place == "debt" and self.way.hides)

    def texts(self) -> tuple[str, str]:
        """The game, and a layer on it or nothing"""
        value = re.sub(r"\bE\b", self.source.value, self.way.value)
        said = lambda text: re.sub(r"\bX\b", value, re.sub(r"\bE\b", self.source.value, text))
        turn = "secretly each player" if self.source.secretly else "in turn each player starting with (first player)"
        set_up = f"\nstep set_up\n    {turn}\n{_in(self.source.lines, 2)}\n"
        leak = "\n".join(x for x in (said(self.way.lines), said(self.sink.lines)) if x)
        step = f"\nstep leak\n{_in('raise quiet by 1' if self.layer else leak, 1)}\n"
        head = HEAD.format(use=f"use {self.way.use}" if self.way.use else "", declared=_in(said(self.sink.own), 1))
        game = head + set_up + step + f"{LAST}{said(self.way.below)}\n\n{said(self.sink.below)}\n"
        return game, f'variant layered of leaking "A layer that leaks"\n\n{self.layer} leak\n{_in(leak, 1)}\n' if self.layer else ""

    def write(self, folder: Path) -> tuple[str, tuple[str, ...]]:
        game, layer = self.texts()
        (folder / "leaking.rule").write_text(game, encoding="utf-8")
        if layer:
            (folder / "layered.rule").write_text(layer, encoding="utf-8")
        return str(folder / "leaking.rule"), ("layered",) if layer else ()


def _in(text: str, depth: int) -> str:
    return "\n".join("    " * depth + line for line in text.split("\n")) if text else ""


def cells() -> Iterator[Cell]:
    """All of them; layers with one source, for every sink."""
    for way in WAYS:
        for sink in SINKS:
            yield from (c for source in SOURCES if (c := Cell(source, way, sink)).makes_sense)
    for layer in ("before", "after", "replace"):
        yield from (Cell(SOURCES[0], WAYS[1], sink, layer) for sink in SINKS if Cell(SOURCES[0], WAYS[1], sink).makes_sense)


def few() -> Iterator[Cell]:
    """Every source, every way, every sink, and every kind of layer, once or twice."""
    seen: set[str] = set()
    for cell in cells():
        new = {cell.source.name, cell.way.name, cell.sink.name, cell.layer} - seen
        if new:
            seen |= new
            yield cell


# ---------------------------------------------------------------- judging


def findings(cell: Cell, folder: Path) -> list[Diagnostic]:
    return [d for d in pipeline.load(*cell.write(folder)).problems.sorted() if d.is_error]


def refused(cell: Cell, found: list[Diagnostic]) -> str:
    """What is wrong with the answer of `check`: it must find the leak, nothing else, and show where the secret lies."""
    leaks = [d for d in found if d.code == "R260"]
    if others := [d for d in found if d.code != "R260"]:
        return f"{others[0].code} {others[0].message}"
    if not leaks:
        return "not found"
    told = {cell.source.place, "debt"} if cell.way.hides else {cell.source.place}
    if not any(f"`{place}`" in d.message and d.notes[-1].span.text.split(":")[0].endswith(place) for d in leaks for place in told):
        return f"another place is named: {leaks[0].message}"
    return ""


def leaks(cell: Cell, folder: Path) -> bool:
    """Played without the check: is seat 2 given different things where only the first choice of seat 0 differs?"""
    with patch("rulelang.core.check.check_secrecy"):
        loaded: Loaded = pipeline.load(*cell.write(folder))
    game = Game("", (), loaded, require(loaded))
    one, two = (game.start(players=3, seed=1) for _ in range(2))
    try:
        one.choose(0, 0)
        two.choose(0, 1)
        while not (one.is_over and two.is_over):
            same(received(one, 2), received(two, 2), "seat 2")
            for match in (one, two):
                _go_on(match)
    except (Leak, RuleError):
        return True
    return False


def _go_on(match: Match) -> None:
    """Everybody who is asked takes the first option."""
    if not match.is_over:
        match.choose(match.decisions[0].player, 0)
