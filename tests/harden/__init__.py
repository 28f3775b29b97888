"""Rows of the hardening list, each a module with `run(n, seed)`: far more cases than the test suite has time for."""

from attrs import frozen


@frozen
class Report:
    """What a row did, in one line, and the faults that it found"""

    line: str
    faults: tuple[str, ...] = ()
