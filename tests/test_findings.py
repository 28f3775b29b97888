"""What `rulelang explain` shows: for every code a wrong game that gets this finding and no other, and the game mended.

The games lie in `findings/`; `rulelang.explain` says how a file tells the mended lines."""

import re
from pathlib import Path

import pytest

from rulelang import pipeline
from rulelang.codes import CODES
from rulelang.explain import example_of, explain, files, findings, mended
from tests.golden import golden, placed

PACKAGE = Path(pipeline.__file__).parent
HERE = Path(__file__).parent


def mended_copy(case: Path, folder: Path) -> Path:
    """The mended game as files of its own."""
    copy = folder / case.name
    if case.is_dir():
        copy.mkdir()
    for path in files(case):
        goal = copy / path.name if case.is_dir() else copy
        goal.write_text(mended(path.read_text(encoding="utf-8")), encoding="utf-8")
    return copy


@pytest.mark.parametrize("code", CODES)
def test_the_wrong_game_gets_this_finding_and_no_other(code: str) -> None:
    assert [d.code for d in findings(example_of(code))] == [code]


@pytest.mark.parametrize("code", CODES)
def test_the_mended_game_is_clean(code: str, tmp_path: Path) -> None:
    assert not findings(mended_copy(example_of(code), tmp_path))


def test_every_code_that_is_reported_is_explained() -> None:
    stages = [p for p in PACKAGE.rglob("*.py") if p.name != "codes.py"]
    reported = {code for p in stages for code in re.findall(r'"(R\d{3})"', p.read_text(encoding="utf-8"))}
    assert reported == set(CODES)
    shown = {p.stem for p in pipeline.bundled("findings").iterdir() if p.suffix != ".md"}
    assert shown == set(CODES)


def test_explanations_read_like_this(request: pytest.FixtureRequest) -> None:
    parts = []
    for code in CODES:
        about = explain(code)
        blocks = (("Wrong", about.wrong), ("Said", placed(about.found)), ("Mended", about.mended))
        shown = [f"{word}:\n\n{text}" for word, text in blocks]
        parts.append("\n\n".join([f"{code}: {about.title}", about.text, *shown]))
    golden(HERE / "findings.txt", f"\n\n{'-' * 80}\n\n".join(parts) + "\n", request)
