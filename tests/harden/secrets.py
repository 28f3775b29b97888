"""Pairs of worlds that a seat cannot tell apart, of every game with every combination of layers, for every player count."""

import time
from pathlib import Path

from tests.harden import Report
from tests.test_combinations import CASES
from tests.worlds import Leak, Tally, load, pair

SMALL = [(str(p), ()) for p in sorted((Path(__file__).parent.parent / "secrets").glob("*.rule"))]
AT_ONCE = 20  # worlds of one game and count before the next, since building them takes longer than playing


def run(n: int, seed: int) -> Report:
    """Until n pairs were compared while they really differed, or ten leaks were found."""
    began, cpu = time.perf_counter(), time.process_time()
    tally, faults, runs = Tally(), [], 0
    while tally.pairs < n and len(faults) < 10:
        for name, layers in [*CASES, *SMALL]:
            game = load(name, layers)
            for players in game.players:
                for k in range(AT_ONCE) if tally.pairs < n else ():
                    try:
                        tally.add(pair(game, players, f"{seed}/{runs}/{k}"))
                    except Leak as err:
                        faults.append(str(err))
        runs += 1
    where = ", ".join(f"{name} {times}" for name, times in tally.where.most_common(12))
    return Report(
        f"{tally.pairs} pairs (two worlds and a seat), {tally.compared} comparisons while they differed, "
        f"{tally.arrivals} answers that nobody else noticed, {len(faults)} leaks, {time.perf_counter() - began:.0f} s "
        f"({time.process_time() - cpu:.0f} s of a processor); differences lay in: {where}",
        tuple(faults),
    )
