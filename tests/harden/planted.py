"""Leaks and faults planted one by one, each of which must be caught: in rules (`planted.txt`), and in the engine, where
pairs of worlds that a seat cannot tell apart must find them.

An `order` fault lets several change at once what only one can; what is `idle` never happens, is never read, or makes no
difference."""

import shutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from attrs import frozen

import rulelang
from rulelang import pipeline
from rulelang.api import Match
from rulelang.claims import run_claims
from rulelang.core.apparent import Unseen
from rulelang.core.threads import walk
from rulelang.playouts import run_always
from rulelang.proofs import check_counts
from rulelang.runtime.events import Chosen
from rulelang.runtime.story import Story
from tests.harden import Report, spread
from tests.harden.secrets import SMALL
from tests.worlds import Leak, pair, worlds

ROOT = Path(__file__).parent.parent.parent
SORTS = ("leak: ", "fault: ", "order: ", "idle: ")
PAIRS = 60  # worlds of each small game and player count, until a fault of the engine is noticed


# ---------------------------------------------------------------- in rules


@frozen
class Planted:
    """One block of `planted.txt`"""

    name: str
    game: str
    edits: tuple[tuple[str, str], ...]
    layer: str
    caught: str  # `check R260`, `examples`, `playouts R406`

    def write(self, folder: Path) -> tuple[str, tuple[str, ...]]:
        """The game with the fault in it, and the layers to load."""
        path = ROOT / self.game if self.game.endswith(".rule") else pipeline.games()[self.game]
        for file in path.parent.glob("*.rule"):
            shutil.copy(file, folder / file.name)
        for old, new in self.edits:
            file = next((f for f in [folder / path.name, *folder.glob("*.rule")] if old in f.read_text(encoding="utf-8")), None)
            assert file is not None, f"{self.name}: no such line: {old}"
            file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
        if self.layer:
            (folder / "planted.rule").write_text(self.layer, encoding="utf-8")
        return str(folder / path.name), ("planted",) if self.layer else ()


def planted() -> list[Planted]:
    text = (Path(__file__).parent / "planted.txt").read_text(encoding="utf-8")
    blocks = [b.splitlines() for b in text.split("\n\n")]
    return [_read(b) for b in blocks if b[0].startswith(SORTS)]


def _read(lines: list[str]) -> Planted:
    said = {word: line[len(word) :].strip() for line in lines for word in ("game ", "caught by ") if line.startswith(word)}
    runs = [(sign, "\n".join(x[2:] for x in run)) for sign, run in groupby((x for x in lines if x[:1] in "-+"), lambda x: x[0])]
    edits = []
    for n, (sign, text) in enumerate(runs):
        if sign == "-":
            edits.append((text, runs[n + 1][1] if runs[n + 1 : n + 2] and runs[n + 1][0] == "+" else ""))
    layer = "\n".join(line[2:] for line in lines if line.startswith("|"))
    return Planted(lines[0], said["game "], tuple(edits), f"{layer}\n" if layer else "", said["caught by "])


def catch(fault: Planted) -> str:
    """What the one who should notice it says; of a game that does not check, what `check` says, with its warnings."""
    with TemporaryDirectory() as made:
        source, layers = fault.write(Path(made))
        loaded = pipeline.load(source, layers)
        check_counts(loaded)
        found = loaded.problems.sorted()
        if fault.caught.startswith("check") or any(d.is_error for d in found):
            return f"check {' '.join(dict.fromkeys(d.code for d in found))}"
        results = run_always(loaded) if fault.caught.startswith("playouts") else run_claims(loaded)
        codes = sorted({r.problem.code for r in results if r.problem is not None})
        return f"{fault.caught.split()[0]} {' '.join(codes)}" if codes else "nothing"


# ---------------------------------------------------------------- in the engine


def _sum(match: Match) -> int:
    """Something that hangs on all that is hidden."""
    return sum(match._trace().machine.s) % 9973


def _as_all_know(self: Story, event: Any, seat: int | None, tell: Any = Story.tell) -> str | None:
    told: str | None = tell(self, event, None if isinstance(event, Chosen) else seat)
    return told


def _plus(make: Callable[..., str]) -> Callable[..., str]:
    return lambda self, *args: f"{make(self, *args)} {_sum(self)}"


def _options_turned(self: Any, pending: Any, k: int, option: Any = Match._option) -> Any:
    return option(self, pending, pending.count - 1 - k if _sum(self) % 2 else k)


def _counts_all(self: Match, place: Any, owner: int, slot: int, value: int, *args: Any, observed: Any = Match._observed) -> Any:
    universe = self.program.layout.universe(place.type) if place.holds_pieces else None
    if universe is not None and place.word == "zone" and not place.counted:
        return {"count": universe.size(value)}
    return observed(self, place, owner, slot, value, *args)


NONE: frozenset[Any] = frozenset()
ENGINE: dict[str, dict[str, Any]] = {
    "a private place is observed by all": {"rulelang.api.sees": lambda place, owner, seat: place.visibility != "hidden"},
    "a hidden place is observed": {"rulelang.api.sees": lambda place, owner, seat: True},
    "the log shows private places": {"rulelang.runtime.story.sees": lambda place, owner, seat: place.visibility != "hidden"},
    "the log shows all places": {"rulelang.runtime.story.sees": lambda place, owner, seat: True},
    "the log shows what others chose": {"rulelang.runtime.story.Story.tell": _as_all_know},
    "knowledge sees all moves": {"rulelang.runtime.knowledge.Knowledge.sees": lambda self, place, slot: True},
    "knowledge sees moves between private places": {
        "rulelang.runtime.knowledge.Knowledge.sees": lambda self, place, slot: place.visibility != "hidden"
    },
    "a shuffle is not forgotten": {"rulelang.runtime.knowledge.Lying.mix": lambda self: None},
    "what left unseen is still known": {"rulelang.runtime.knowledge.Lying.confuse": lambda self, n: None},
    "nothing is ever forgotten": {"rulelang.runtime.knowledge.Lying.forget": lambda self, c, n=1: None},
    "moves that leave no trace are taken for sure": {"rulelang.runtime.knowledge.unseen": lambda flow: Unseen(NONE, NONE, NONE)},
    "every move says which pieces it takes": {
        "rulelang.runtime.program.ruled": lambda run: frozenset(id(s) for s in walk(run))
    },
    "what was picked counts as told": {"rulelang.runtime.program.untold": lambda run: NONE},
    "forced choices are always silent": {"rulelang.runtime.choices.Choices._silent": lambda self, d: True},
    "a secret in a condition counts as public": {"rulelang.runtime.choices.Choices._tells": lambda self, e, own, seen=NONE: False},
    "who has answered is shown": {"rulelang.api.Match._asked": lambda self, machine: [p.player for p in machine.pending]},
    "a prompt hangs on what is hidden": {"rulelang.api.Match._prompt": _plus(Match._prompt)},
    "the order of options hangs on what is hidden": {"rulelang.api.Match._option": _options_turned},
    "numbers that are not public are shown": {"rulelang.api.Match._observed": _counts_all},
}  # fmt: skip


def notice(name: str) -> str:
    """The leak that pairs of worlds find in small games full of secrets; nothing: it went unnoticed."""
    with ExitStack() as stack:
        for target, fake in ENGINE[name].items():
            stack.enter_context(patch(target, fake))
        worlds.cache_clear()
        try:
            for k in range(0, PAIRS, 10):
                for source, _ in SMALL:
                    game = rulelang.load(source)
                    for n in range(10):
                        pair(game, game.players[n % len(game.players)], f"planted/{k}/{n}", steps=120)
        except Leak as err:
            return str(err).splitlines()[0]
        finally:
            worlds.cache_clear()
    return ""


# ---------------------------------------------------------------- all of them


def judge(fault: Planted | str) -> str:
    """What went wrong: it was not caught, or by something else."""
    if isinstance(fault, str):
        return "" if notice(fault) else f"engine: {fault}: no pair of worlds noticed"
    found = catch(fault)
    sort, _, code = fault.caught.partition(" ")
    return "" if found.startswith(sort) and (not code or code in found.split()) else f"{fault.name}: {found}, not {fault.caught}"


def run(n: int, seed: int) -> Report:
    """The first n of them."""
    began = time.perf_counter()
    every: list[Planted | str] = [*planted(), *ENGINE]
    step = max(1, len(every) // n)
    some = every[::step] if n < len(every) else every
    faults = [why for why in spread(judge, some, str) if why]
    rules = [f for f in some if isinstance(f, Planted)]
    sorts = Counter(f.name.partition(":")[0] for f in rules)
    return Report(
        f"{len(some)} planted one by one (in rules {sorts['leak']} leaks, {sorts['order']} faults of order, {sorts['idle']} idle lines, "
        f"{sorts['fault']} other faults; {len(some) - len(rules)} in the engine), {len(some) - len(faults)} caught; "
        f"{time.perf_counter() - began:.0f} s",
        tuple(faults),
    )
