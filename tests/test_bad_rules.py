"""Rows of `python -m tests.harden` about rule files, with small numbers: see `tests/harden/`."""

import subprocess
import sys
from pathlib import Path

import pytest

import rulelang
from rulelang import pipeline
from rulelang.diagnostics import Diagnostic, Problems
from rulelang.errors import UsageError
from rulelang.limits import Limits
from rulelang.source import SourceFile, Span
from rulelang.untrusted import run
from tests import written
from tests.harden import bad_rules, bombs

ROOT = Path(__file__).resolve().parent.parent
SMALLER = Limits(steps=20_000, parts=10_000)  # what is too large is found sooner


def test_broken_files_are_checked_to_their_end() -> None:
    done = bad_rules.some(bad_rules.Task(11, 0, 60))
    assert done.faults == [] and done.files == 60 and len(done.codes) > 8


def test_a_broken_file_is_the_same_for_the_same_seed() -> None:
    assert bad_rules.broken("7/7") == bad_rules.broken("7/7") != bad_rules.broken("7/8")


def test_a_finding_that_says_too_little_is_noticed() -> None:
    span = Span(SourceFile("x.rule", "abc"), 2, 9)
    assert "explained nowhere" in next(bad_rules.wrong((Diagnostic("R999", "x", span, "y"),)))
    said = "\n".join(bad_rules.wrong((Diagnostic("R001", "x", span),)))
    assert "no hint" in said and "outside of its file" in said


HOSTILE = """game hostile "A \x1b[2J \\ ]; x -> y %%{init}", players 2..2

each player
    counter points: 0.., public

step play "::error::x \x1b[2J | --> <b>"
    in turn each player starting with (first player)
        choose
            first "::error::x ] \\ \x1b[2J"
                raise points by 1
            second "\\"
                raise points by 2

ranking by most points, ties shared
"""
CARELESS = {
    "rulelang.show.printable": "show labels", "rulelang.graph.picture.printable": "dot lets",
    "rulelang.graph.picture._entities": "mermaid:", "rulelang.graph.picture._quoted": "dot: not one picture",
    "rulelang.diagnostics.printable": "the story lets",
}  # fmt: skip


def hostile(folder: Path) -> pipeline.Loaded:
    (folder / "hostile.rule").write_text(HOSTILE)
    return pipeline.load(str(folder / "hostile.rule"))


def test_what_is_made_of_a_strange_file_is_harmless(tmp_path: Path) -> None:
    loaded = hostile(tmp_path)
    assert loaded.ok and list(written.wrong(loaded, "1")) == []


@pytest.mark.parametrize("writer", CARELESS)
def test_a_writer_that_escapes_nothing_is_noticed(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = hostile(tmp_path)
    monkeypatch.setattr(writer, (lambda text: f'"{text}"') if "._" in writer else lambda text: text)
    assert any(why.startswith(CARELESS[writer]) for why in written.wrong(loaded, "1"))


def test_a_picture_is_read_as_its_reader_does() -> None:
    found = written.dot_tokens('digraph "a \\\\" {\n  "x\\"y" -> "z";\n}')
    assert found == ["digraph", '"a \\\\"', "{", '"x\\"y"', "->", '"z"', ";", "}"]
    assert written.dot_tokens('"a \\" -> "b"') is None and written.dot_tokens('"a\nb"') is None
    assert not written.is_dot('digraph "a" {\n}\ndigraph "b" {\n}') and written.is_dot('digraph "a" {\n  "x" -> "y";\n}')
    assert written.is_mermaid('%% "a"\nflowchart TD\n  n0["x #34;"]\n  n0 -->|"y"| n0')
    assert not written.is_mermaid('%% "a"\nflowchart TD\n  n0["x"]; click n0 "y"]')


@pytest.mark.parametrize("bomb", bombs.BOMBS, ids=lambda b: b.name.replace(" ", "_"))
def test_a_bomb_gets_one_answer(bomb: bombs.Bomb, tmp_path: Path) -> None:
    assert bombs.fault(bomb, bombs.ask(bombs.lay_out(bomb.make(1), tmp_path), SMALLER)) == ""


def test_the_caller_sets_the_limits() -> None:
    text = bombs.HEAD + "table t(a: 1..50)\n    1..: 1\n\nstep play\n    together each player\n        raise points by t(1)\n"
    for limits, codes in ((Limits(), []), (Limits(cells=49), ["R005"])):
        problems = Problems()
        pipeline.load_file(Path("x.rule"), (), problems, SourceFile("x.rule", text), limits)
        assert [d.code for d in problems.found] == codes
    with pytest.raises(UsageError, match="larger than 100 bytes"):
        rulelang.load("visby", limits=Limits(file=100))


def untrusted(path: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    args = [sys.executable, "-m", "rulelang", "check", str(path), "--untrusted", *more]
    return subprocess.run(args, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_a_file_of_a_stranger_is_checked_in_a_child(tmp_path: Path) -> None:
    (tmp_path / "x.rule").write_text(bombs.HEAD.replace("bomb", "x", 1) + bombs.ONCE)
    done = untrusted(tmp_path / "x.rule")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "no problems in 1 file\nwhether a match could stop is another question: add --proofs, or --playouts 200\n",
        "",
    )


@pytest.mark.parametrize(("memory", "seconds", "said"), [(90, 60, "memory (more than 90 MB)"), (1000, 1, "time (more than 1 s)")])
def test_a_child_that_takes_too_much_is_stopped_and_its_place_is_told(
    memory: int, seconds: int, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bomb.rule").write_text(bombs.HEAD + "".join(f"define d{k} = {k}{' + 1' * 30}\n" for k in range(4_900)) + "# x\n" * 50_000)
    assert run(["check", str(tmp_path / "bomb.rule")], memory, seconds) == 1
    out, err = capfd.readouterr()
    assert out == "" and err.startswith(f"rulelang: stopped: {said}, at {tmp_path}/bomb.rule:") and err.count("\n") == 1
