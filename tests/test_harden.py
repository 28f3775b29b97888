"""Every row of the hardening list runs, and a few of its cases find nothing; `python -m tests.harden ROW --n N` runs many."""

from importlib import import_module

import pytest

from tests.harden import Report
from tests.harden.__main__ import ROWS

FEW = {"planted": 6, "leaks": 4, "matches": 1, "secrets": 2}  # cases that take a second or two


@pytest.mark.parametrize("row", ROWS)
def test_a_row_runs_and_finds_nothing(row: str) -> None:
    report: Report = import_module(f"tests.harden.{row}").run(FEW.get(row, 3), 1)
    assert not report.faults and report.line
