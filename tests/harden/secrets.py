"""Pairs of worlds that a seat cannot tell apart, of every game with every combination of layers, for every player count."""

import time
from pathlib import Path

from attrs import define, field, frozen

from rulelang.series import cores
from tests.harden import Report, spread
from tests.test_combinations import CASES
from tests.worlds import Leak, Tally, load, pair

SMALL = [(str(p), ()) for p in sorted((Path(__file__).parent.parent / "secrets").glob("*.rule"))]
CHUNK = 200  # pairs of one game and count before the next, since building its worlds takes longer than playing some
TRIES = 8  # worlds for each pair that is wanted: some look different at once


@frozen
class Task:
    """So many pairs of one game and player count"""

    name: str
    layers: tuple[str, ...]
    players: int
    pairs: int
    seed: str


@define(eq=False)
class Done:
    tally: Tally = field(factory=Tally)
    leaks: list[str] = field(factory=list)
    seconds: float = 0


def compare(task: Task) -> Done:
    game, done, began = load(task.name, task.layers), Done(), time.process_time()
    for k in range(TRIES * task.pairs):
        if done.tally.pairs >= task.pairs or len(done.leaks) > 2:
            break
        try:
            done.tally.add(pair(game, task.players, f"{task.seed}/{k}"))
        except Leak as err:
            done.leaks.append(str(err))
    done.seconds = time.process_time() - began
    return done


def tasks(n: int, seed: int) -> list[Task]:
    """The same number of pairs for every combination and player count; a little more, where it does not come out even."""
    games = [*CASES, *SMALL]
    few = games[:: max(1, len(games) // n)]  # a small run looks at some
    ways = [(name, layers, players) for name, layers in few for players in load(name, layers).players[: 1 + (n > len(games)) * 16]]
    each = -(-n // len(ways))
    parts = [(first, min(CHUNK, each - first)) for first in range(0, each, CHUNK)]
    return [Task(*way, pairs, f"{seed}/{first}") for first, pairs in parts for way in ways]


def run(n: int, seed: int) -> Report:
    """At least n pairs that were compared while they really differed."""
    began, tally, leaks, seconds = time.perf_counter(), Tally(), list[str](), 0.0
    for done in spread(compare, tasks(n, seed), lambda _: f"{tally.pairs} pairs, {len(leaks)} leaks"):
        tally.add(done.tally)
        leaks.extend(done.leaks)
        seconds += done.seconds
    where = ", ".join(f"{name} {times}" for name, times in tally.where.most_common(12))
    return Report(
        f"{tally.pairs} pairs (two worlds and a seat), {tally.compared} comparisons while they differed, "
        f"{tally.arrivals} answers that nobody else noticed, {len(leaks)} leaks; {time.perf_counter() - began:.0f} s on {cores()} cores "
        f"({seconds:.0f} s of a processor); differences lay in: {where}",
        (*leaks, *([f"only {tally.pairs} of {n} pairs"] if tally.pairs < n else [])),
    )
