"""`check` refuses what leaks, and nothing else; `python -m tests.harden leaks --n 7000` looks at the whole matrix."""

from pathlib import Path

import pytest

from rulelang.prove.told import secrets_kept
from tests.leaks import OPEN, SINKS, SOURCES, WAYS, Cell, few, findings, leaks, refused
from tests.worlds import load

FEW = list(few())


@pytest.mark.parametrize("cell", FEW, ids=lambda c: c.name.replace(" ", "_"))
def test_a_game_that_leaks_is_refused_and_the_way_is_shown(cell: Cell, tmp_path: Path) -> None:
    assert not refused(cell, findings(cell, tmp_path))


@pytest.mark.parametrize("cell", FEW[::4], ids=lambda c: c.name.replace(" ", "_"))
def test_it_really_leaks_and_with_an_open_number_nothing_is_found(cell: Cell, tmp_path: Path) -> None:
    assert leaks(cell, tmp_path)
    assert cell.way.hides or not findings(Cell(OPEN, cell.way, cell.sink, cell.layer), tmp_path)


@pytest.mark.parametrize("game", ["visby", "hansa"])
def test_the_report_says_that_no_rule_tells_a_secret(game: str) -> None:
    lines = [text for _, text in secrets_kept(load(game).core)]
    assert lines[1].startswith("proved: no rule tells a secret") and ("`hand`" in lines[2]) == (game == "visby")


def test_a_way_that_comes_round_again_is_shown_once(tmp_path: Path) -> None:
    way = next(w for w in WAYS if w.name == "by the pass before")
    for d in findings(Cell(SOURCES[0], way, SINKS[0]), tmp_path):
        places = [str(note.span) for note in d.notes]
        assert len(places) == len(set(places)) and len(places) >= 3
