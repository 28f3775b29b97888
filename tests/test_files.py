"""Match files on a disk: held by one process, replaced as a whole, never at the cost of what lay there."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rulelang
from rulelang.errors import MatchFileError
from rulelang.files import SaveFile, uninterrupted, write_new, write_whole
from tests.harden import bad_saves, faults
from tests.test_cli import ROOT, fails
from tests.test_cli import rulelang as command

HOLD = """
import sys, pathlib
from rulelang.files import SaveFile
SaveFile.take(pathlib.Path('m.match'))
print('held', flush=True)
sys.stdin.read()
"""


def test_forged_files_are_refused_at_their_line_or_are_what_they_say() -> None:
    report = bad_saves.run(80, seed=3, cases=(("visby", ()), ("visby", ("long_winter",))))
    assert not report.faults, report


def test_what_fails_or_stops_leaves_the_old_file_or_the_new_one() -> None:
    report = faults.run(24, seed=3, scenes=faults.SCENES[:3])
    assert not report.faults, report


def test_the_second_process_is_told_who_holds_a_match_until_that_one_is_gone(tmp_path: Path) -> None:
    args = ("play", "visby", "--seats", "random,random", "--seed", "1", "--save", "m.match")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        fails(command(*args, cwd=tmp_path), 2, f"m.match: in use by process {holder.pid} on ")
        assert not (tmp_path / "m.match").exists()
    finally:
        holder.kill()  # it can take nothing away any more
        holder.communicate()
    assert (tmp_path / ".m.match.lock").exists()
    assert command(*args, cwd=tmp_path).returncode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["m.match"]


def test_what_another_program_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "m.match"
    held = SaveFile.take(path)
    held.write("one\n")
    path.write_text("somebody else's\n")
    with pytest.raises(OSError, match="another program has changed it meanwhile"):
        held.write("two\n")
    held.release()
    with pytest.raises(OSError, match="exists already"):
        write_new(path, "three\n")
    assert path.read_text() == "somebody else's\n"
    write_whole(path, "four\n")
    assert path.read_text() == "four\n" and [p.name for p in tmp_path.iterdir()] == ["m.match"]


def test_who_stops_the_program_waits_for_a_save() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        signal.raise_signal(signal.SIGINT)
        done.append("saved")
    assert done == ["saved"]


def test_with_a_full_disk_the_match_goes_on_in_memory_and_is_saved_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first saves fail; the next one succeeds, and has everything."""
    from rich.console import Console

    from rulelang.board import Screen
    from rulelang.terminal import Left, Session

    console = Console(record=True, width=200, file=open(os.devnull, "w"))  # noqa: SIM115
    match = rulelang.load("visby").start(players=2, seed=1)
    held = SaveFile.take(tmp_path / "m.match")
    session = Session(match, ("human", "random"), Screen(console), held)
    typed = iter(["1", "1", "1", "q"])
    real, tries = os.write, [0]

    def full(fd: int, data: bytes) -> int:
        tries[0] += 1
        if tries[0] <= 3:  # before the first question, after the first choice, before the second question
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(Session, "read", lambda *args: next(typed))
    monkeypatch.setattr(os, "write", full)
    try:
        with pytest.raises(Left):
            while True:
                session.step()
    finally:
        held.release()
    said = console.export_text()
    assert said.count("No space left on device; the match goes on in memory, s FILE saves it elsewhere") == 2
    assert said.index("No space left") < said.index("saved to")
    assert (tmp_path / "m.match").read_text() == match.to_text() and len(match.choices) >= 3


def test_with_several_people_a_choice_is_taken_back_if_all_agree_and_the_file_says_so(tmp_path: Path) -> None:
    typed = "\n1\n\n2\n\nu\nno\nu\nyes\n\n5\n"
    done = command("play", "visby", "--seats", "human,human", "--seed", "1", "--save", "m.match", cwd=tmp_path, stdin=typed)
    assert done.returncode == 0, done.stderr
    assert "Your choice stands." in done.stdout
    text = (tmp_path / "m.match").read_text(encoding="utf-8")
    assert "\nback 1\n" in text
    match = rulelang.resume(text)
    assert match.to_text() == text and len(match.taken_back) == 1
    with pytest.raises(MatchFileError, match="cannot be taken back"):
        rulelang.resume(text.replace("\nback 1\n", "\nback 9\n"))


def test_a_trial_of_a_program_leaves_no_trace_in_the_file() -> None:
    match = rulelang.load("visby").start(players=2, seed=1)
    match.choose(0, 0)
    match.choose(1, 3)
    match.take_back(1)
    before = match.to_text()
    match.choose(1, 2)
    match.undo()
    assert match.to_text() == before and "back 1" in before
    match.undo()
    assert "back" not in match.to_text() and rulelang.resume(match.to_text()) == match


def test_what_was_taken_back_before_more_was_stays_in_the_file() -> None:
    """First the third choice, then the new third one and the second with it: the file still tells of both."""
    match = rulelang.load("visby").start(players=3, seed=1)
    for count in (1, 2):
        for seat in range(len(match.choices), 3):
            match.choose(seat, count)
        match.take_back(count)
    text = match.to_text()
    assert [line for line in text.split("\n") if line.startswith("back")] == ["back 1", "back 2"]
    assert rulelang.resume(text).to_text() == text
    match.choose(1, 0)
    match.undo()
    assert match.to_text() == text


def test_a_match_file_that_is_too_large_is_refused_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "m.match").write_bytes(b"x" * 16_000_001)
    done = command("replay", "m.match", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "rulelang: m.match: line 1: too large for a match file\n")
