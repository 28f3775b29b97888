"""Every row of the hardening list runs, and a few of its cases find nothing; `python -m tests.harden ROW --n N` runs many."""

import pytest

from tests.harden import Report
from tests.harden.__main__ import ROWS, module

FEW = {  # cases that take a second or two
    "bad-rules": 40, "bad-saves": 12, "faults": 6, "leaks": 4, "matches": 1, "order": 1, "planted": 6, "proofs": 2, "secrets": 2,
}  # fmt: skip


@pytest.mark.parametrize("row", [r for r in ROWS if r != "bombs"])  # those stand in test_bad_rules.py
def test_a_row_runs_and_finds_nothing(row: str) -> None:
    report: Report = module(row).run(FEW[row], 1)
    assert not report.faults and report.line
