"""People at a real terminal: whatever ends the match, what was acknowledged is on the disk and the terminal is as it was."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from attrs import define

import rulelang
from tests.test_cli import ROOT

ASKED = re.escape("\x1b[?2004h")  # what a prompt begins with


@define(eq=False)
class Terminal:
    process: subprocess.Popen[bytes]
    master: int
    slave: int
    seen: str = ""

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def until(self, pattern: str, seconds: float = 60) -> str:
        """Everything up to what is awaited, which is taken out of what was seen."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen, re.S)):
            assert time.monotonic() < end, f"`{pattern}` does not come: {self.seen[-2000:]}"
            if select.select([self.master], [], [], 0.2)[0]:
                with suppress(OSError):
                    self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
        text, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return text

    def end(self, seconds: float = 60) -> tuple[int, str]:
        """The exit code, and what was still said."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it does not end: {self.seen[-2000:]}"
            if select.select([self.master], [], [], 0.1)[0]:
                with suppress(OSError):
                    self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
        return self.process.returncode, self.seen


@contextmanager
def terminal(folder: Path, *args: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (50, 120))
    process = subprocess.Popen(
        [sys.executable, "-m", "rulelang", *args],
        cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        preexec_fn=lambda: _own(slave),
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"},
    )  # fmt: skip
    try:
        yield Terminal(process, master, slave)
    finally:
        process.kill()
        process.wait()
        for fd in (master, slave):
            with suppress(OSError):
                os.close(fd)


def _own(fd: int) -> None:
    import fcntl

    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)


@pytest.mark.parametrize("how", ["ctrl-c", "hang up"])
def test_what_was_acknowledged_is_on_the_disk_and_the_terminal_is_restored(how: str, tmp_path: Path) -> None:
    file = tmp_path / "my.match"
    with terminal(tmp_path, "play", "visby", "--seats", "human,random", "--seed", "1", "--save", "my.match") as t:
        before = termios.tcgetattr(t.slave)
        t.until(ASKED)
        t.type("1\r")
        t.until(ASKED)
        assert [c for c in rulelang.resume(file.read_bytes()).choices if c[0] == 0] == [(0, 0)]
        if how == "ctrl-c":
            t.type("\x03")
        else:
            os.close(t.slave)
            os.close(t.master)
            assert t.process.wait(60) == 130
        if how != "hang up":
            code, said = t.end()
            assert code == 130 and "saved to my.match" in said and "Traceback" not in said
            assert termios.tcgetattr(t.slave) == before
            assert said.count("\x1b[?25l") <= said.count("\x1b[?25h") and said.count("\x1b[?2004h") <= said.count("\x1b[?2004l")
    assert [c for c in rulelang.resume(file.read_bytes()).choices if c[0] == 0] == [(0, 0)]
    assert [p.name for p in tmp_path.iterdir()] == ["my.match"]
