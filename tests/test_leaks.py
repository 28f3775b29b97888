"""`check` refuses what leaks, and nothing else; `python -m tests.harden leaks --n 7000` looks at the whole matrix."""

from pathlib import Path

import pytest

from tests.leaks import OPEN, Cell, few, findings, leaks, refused

FEW = list(few())


@pytest.mark.parametrize("cell", FEW, ids=lambda c: c.name.replace(" ", "_"))
def test_a_game_that_leaks_is_refused_and_the_way_is_shown(cell: Cell, tmp_path: Path) -> None:
    assert not refused(cell, findings(cell, tmp_path))


@pytest.mark.parametrize("cell", FEW[::4], ids=lambda c: c.name.replace(" ", "_"))
def test_it_really_leaks_and_with_an_open_number_nothing_is_found(cell: Cell, tmp_path: Path) -> None:
    assert leaks(cell, tmp_path)
    assert cell.way.hides or not findings(Cell(OPEN, cell.way, cell.sink, cell.layer), tmp_path)
