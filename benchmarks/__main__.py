"""`python -m benchmarks [--seconds S] [--json FILE]`: random playouts of every bundled game and player count, beside a
hand-written class of one of them; load, check, memory, copies.  All of it interleaved in one run, since machines are
shared: compare the ratios, not the figures."""

import argparse
import json
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any

import rulelang
from benchmarks.visby_by_hand import Visby
from rulelang import pipeline
from rulelang.proofs import check_counts

BY_HAND = "visby"
SLICE = 0.25  # seconds of one turn before the next contestant runs


def _spent() -> float:
    """Processor time of this process and of those that it began: a busy neighbour takes none of it."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def playouts(run: Callable[[Random], int]) -> Callable[[float, Random], tuple[int, int, float]]:
    """Runs whole playouts for a slice of time: (matches, decisions, seconds)."""

    def measured(seconds: float, rng: Random) -> tuple[int, int, float]:
        begin, n, decisions = _spent(), 0, 0
        while (now := _spent()) - begin < seconds:
            decisions += run(rng)
            n += 1
        return n, decisions, now - begin

    return measured


def of_rules(game: rulelang.Game, players: int) -> Callable[[Random], int]:
    first = game.start(players=players, seed=1)

    def run(rng: Random) -> int:
        match = first.copy()
        match.play_out(rng)
        return len(match.choices)

    return run


def contestants() -> dict[str, Callable[[float, Random], tuple[int, int, float]]]:
    found = {}
    for name in pipeline.games():
        game = rulelang.load(name)
        for players in game.players:
            if name == BY_HAND:
                found[f"{name} by hand {players}"] = playouts(lambda rng, n=players: Visby(n).play_out(rng))  # type: ignore[misc]
            found[f"{name} {players}"] = playouts(of_rules(game, players))
    return found


def race(seconds: float) -> dict[str, dict[str, float]]:
    """Everybody in turn, a slice at a time; the best slice counts, so that a busy neighbour does not."""
    runners = contestants()
    best: dict[str, tuple[float, float]] = {}
    rng = Random(7)
    for _ in range(max(1, round(seconds / SLICE))):
        for name, run in runners.items():
            n, decisions, took = run(SLICE, rng)
            old = best.get(name, (0.0, 0.0))
            best[name] = max(old, (n / took, decisions / took))
    return {name: {"playouts_per_second": p, "decisions_per_second": d} for name, (p, d) in best.items()}


def best_of(times: int, f: Callable[[], Any]) -> float:
    found = []
    for _ in range(times):
        begin = _spent()
        f()
        found.append(_spent() - begin)
    return min(found)


def per_game(name: str) -> dict[str, float]:
    load = best_of(5, lambda: pipeline.load(name))

    def whole_check() -> None:
        """As the command does it."""
        with pipeline.uncollected():
            check_counts(pipeline.load(name))

    tracemalloc.start()
    match = rulelang.load(name).start(seed=1)
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    copies = 20_000
    machine = match.machine

    def copy_rows() -> None:
        for _ in range(copies):
            machine.s[:]

    row = best_of(5, copy_rows) / copies
    return {
        "load_ms": load * 1000,
        "check_ms": best_of(3, whole_check) * 1000,
        "memory_mb": memory / 1e6,
        "copy_of_a_state_us": row * 1e6,
    }


def start_up() -> dict[str, float]:
    """Whole processes: a bare interpreter with our imports, and a check of the smallest game on top of it."""
    imports = "import rulelang.api, rulelang.proofs"
    check = f"{imports}; from rulelang import pipeline, proofs; proofs.check_counts(pipeline.load('{BY_HAND}'))"

    def process(code: str) -> float:
        return best_of(5, lambda: subprocess.run([sys.executable, "-c", code], check=True))

    bare, whole = process(imports), process(check)
    return {"imports_ms": bare * 1000, "check_ms": whole * 1000, "check_adds_ms": (whole - bare) * 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each game and player count")
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    figures: dict[str, Any] = {"playouts": race(args.seconds), "games": {n: per_game(n) for n in pipeline.games()}, "process": start_up()}
    print(f"{'game, players':24}{'playouts/s':>12}{'decisions/s':>14}{'of by hand':>12}")
    for name, found in figures["playouts"].items():
        rival = figures["playouts"].get(name.replace(" ", " by hand ", 1))
        ratio = f"{found['playouts_per_second'] / rival['playouts_per_second']:.3f}" if rival else ""
        if rival:
            found["ratio_to_hand_written"] = found["playouts_per_second"] / rival["playouts_per_second"]
        print(f"{name:24}{found['playouts_per_second']:12.0f}{found['decisions_per_second']:14.0f}{ratio:>12}")
    print(f"\n{'game':24}{'load ms':>10}{'check ms':>10}{'memory MB':>11}{'copy us':>9}")
    for name, found in figures["games"].items():
        print(f"{name:24}{found['load_ms']:10.0f}{found['check_ms']:10.0f}{found['memory_mb']:11.1f}{found['copy_of_a_state_us']:9.2f}")
    process = figures["process"]
    print(f"\nimports {process['imports_ms']:.0f} ms; a check of {BY_HAND} adds {process['check_adds_ms']:.0f} ms")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as handle:
            json.dump(figures, handle, indent=1)


if __name__ == "__main__":
    main()
