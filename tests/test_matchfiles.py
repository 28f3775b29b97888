"""Match files: what is damaged, forged or made under other rules is refused with the line that is wrong."""

import re
from pathlib import Path
from random import Random

import pytest

import rulelang
from rulelang.errors import MatchFileError


@pytest.fixture(scope="module")
def text() -> str:
    return rulelang.load("visby").start(players=3, seed=5).play_out(Random(2)).to_text()


def test_a_match_file_is_readable(text: str) -> None:
    lines = text.splitlines()
    assert lines[:4] == ["rulelang match 1", "game: visby", "with:", "players: 3"]
    assert re.fullmatch(r"\d [a-z_]+: .+ #\d+", lines[9])
    assert lines[-1] == f"end {len(lines) - 10}"
    assert rulelang.resume(text).to_text() == text


@pytest.mark.parametrize("seed", range(40))
def test_a_cut_or_flipped_file_is_refused_or_the_same(text: str, seed: int) -> None:
    rng = Random(seed)
    at = rng.randrange(len(text) - 1)
    for broken in (text[:at], text[:at] + chr(33 + rng.randrange(90)) + text[at + 1 :]):
        if broken == text:
            continue
        try:
            match = rulelang.resume(broken)
        except MatchFileError as err:
            assert f"line {err.line}:" in str(err) and 1 <= err.line <= len(text.splitlines()) + 1
        else:  # only the seed may be another one, where chance plays no part
            assert match.seed != 5


def test_another_choice_is_another_line(text: str) -> None:
    lines = text.split("\n")
    number = next(i for i, line in enumerate(lines) if "lay_cards" in line)
    forged = [*lines[:number], re.sub(r"#\d+", "#1", lines[number]), *lines[number + 1 :]]
    if forged == lines:
        forged[number] = re.sub(r"#\d+", "#2", lines[number])
    with pytest.raises(MatchFileError, match=f"line {number + 1}: option . is"):
        rulelang.resume("\n".join(forged))


def test_other_rules_are_refused_comments_and_examples_are_not(tmp_path: Path, text: str) -> None:
    folder = Path(rulelang.load("visby").loaded.sources[0].path).parent
    root = Path(__file__).resolve().parent.parent / folder
    for name in ("visby", "visby_data"):
        (tmp_path / f"{name}.rule").write_text((root / f"{name}.rule").read_text(encoding="utf-8"), encoding="utf-8")
    own = tmp_path / "visby.rule"
    saved = rulelang.load(str(own)).start(players=2, seed=1).play_out(Random(1)).to_text()
    own.write_text(own.read_text(encoding="utf-8") + "\n# a remark\n", encoding="utf-8")
    assert rulelang.resume(saved).is_over
    own.write_text(own.read_text(encoding="utf-8").replace("define knights_take = 5", "define knights_take = 4"), encoding="utf-8")
    with pytest.raises(MatchFileError, match="line 8: made under other rules"):
        rulelang.resume(saved)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("rulelang match 1", "rulelang match 2", 1),
        ("rulelang match 1", "PK\x03\x04", 1),
        ("players: 3", "players: 33", 4),
        ("players: 3", "players: x", 4),
        ("options: target=30", "options: target=31", 6),
        ("options: target=30", "options: targe", 6),
        ("forced: silent", "forced: maybe", 7),
    ],
)
def test_a_wrong_header_is_refused_at_its_line(text: str, old: str, new: str, line: int) -> None:
    with pytest.raises(MatchFileError) as caught:
        rulelang.resume(text.replace(old, new))
    assert caught.value.line == line
