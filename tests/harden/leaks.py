"""Small games that tell a secret, from every source by every way to every line that somebody sees: `check` must refuse
each and name the secret, each must really leak, and with an open number in its place nothing may be found."""

import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.harden import Report, spread
from tests.leaks import OPEN, SINKS, SOURCES, WAYS, Cell, cells, findings, leaks, refused

CHUNK = 50


def judge(some: list[Cell]) -> list[str]:
    wrong = []
    with TemporaryDirectory() as made:
        folder = Path(made)
        for cell in some:
            if why := refused(cell, findings(cell, folder)):
                wrong.append(f"{cell.name}: {why}")
            if not leaks(cell, folder):
                wrong.append(f"{cell.name}: nobody can tell")
            if not cell.way.hides and (found := findings(Cell(OPEN, cell.way, cell.sink, cell.layer), folder)):
                wrong.append(f"{cell.name}, open: {found[0].message}")
    return wrong


def run(n: int, seed: int) -> Report:
    began, every = time.perf_counter(), list(cells())
    some = Random(seed).sample(every, min(n, len(every)))
    faults = [w for found in spread(judge, [some[at : at + CHUNK] for at in range(0, len(some), CHUNK)], str) for w in found]
    return Report(
        f"{len(some)} of {len(every)} games ({len(SOURCES)} sources, {len(WAYS)} ways, {len(SINKS)} lines that somebody sees, 3 kinds of "
        f"layers) refused with the secret named, and leaking when played; {len(faults)} faults; {time.perf_counter() - began:.0f} s",
        tuple(faults),
    )
