"""Rows of the hardening list, each a module with `run(n, seed)`: far more cases than the test suite has time for."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from attrs import frozen

from rulelang.series import cores, everywhere

T = TypeVar("T")
R = TypeVar("R")


@frozen
class Report:
    """What a row did, in one line, and the faults that it found"""

    line: str
    faults: tuple[str, ...] = ()


def spread(work: Callable[[T], R], tasks: Sequence[T], told: Callable[[R], str]) -> Iterator[R]:
    """What came of each task, on all cores; a line of a long run every minute."""
    began = last = time.perf_counter()
    for n, found in enumerate(everywhere(work, tasks, cores()), 1):
        yield found
        now = time.perf_counter()
        if now - last > 60:
            print(f"  {now - began:.0f} s: {n} of {len(tasks)} tasks; {told(found)}", file=sys.stderr, flush=True)
            last = now
