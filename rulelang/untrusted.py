"""`rulelang check --untrusted`: the check in a process of its own, which may use so much memory and time and no more.

The child says where it is in a small file that both share; whatever stops it, the parent can say where that was."""

import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

try:
    import resource
except ImportError:  # without it there is still the clock of the parent
    resource = None  # type: ignore[assignment]

STOPPED = 3  # how the child ends if one of its limits was reached
PLACE = 400  # bytes of the shared file
MEGABYTE = 1_000_000
CHILD = "from rulelang.cli import main; from rulelang.untrusted import confine; confine(); main()"


class TimeIsUp(BaseException):
    """The child has used the time that it was given."""


def run(args: Sequence[str], memory: int, seconds: int) -> int:
    """Runs a command with at most `memory` megabytes and `seconds` of the processor; gives its exit code."""
    with tempfile.TemporaryFile() as shared:
        shared.truncate(PLACE)
        fd = shared.fileno()
        limits = [str(fd), str(memory), str(seconds)]
        command = [sys.executable, "-P", "-c", CHILD, *limits, *args]  # -P: a module in the stranger's folder is none of ours
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
        with subprocess.Popen(command, pass_fds=(fd,), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
            try:
                shown, told = process.communicate(timeout=10 * seconds + 10)
            except BaseException as err:
                process.kill()
                process.wait()
                if not isinstance(err, subprocess.TimeoutExpired):
                    raise
                shown = told = b""
        shared.seek(0)
        place = shared.read(PLACE).rstrip(b"\0").decode("utf-8", "replace")
    code = process.returncode
    if code in (0, 1, 2) and not told.startswith(b"Traceback"):
        sys.stdout.buffer.write(shown)
        sys.stderr.buffer.write(told)
        return code
    if b"MemoryError" in told or (code == STOPPED and b"memory" in told):
        why = "memory"
    else:
        why = "time" if code in (STOPPED, -signal.SIGKILL, -signal.SIGXCPU) else "crash"
    most = {"memory": f" (more than {memory} MB)", "time": f" (more than {seconds} s)"}.get(why, f" ({code})")
    print(f"rulelang: stopped: {why}{most}" + (f", at {place}" if place else ""), file=sys.stderr)
    return 1


def confine() -> None:
    """What the child does first: makes ready, and sets its own limits."""
    shared, memory, seconds = map(int, sys.argv[1:4])
    sys.argv[1:4] = []
    from rulelang.diagnostics import watchers
    from rulelang.surface.parse import make_ready

    make_ready()
    place = mmap.mmap(shared, PLACE)
    os.close(shared)

    def reached(where: str) -> None:
        place[:] = where.encode("utf-8", "replace")[:PLACE].ljust(PLACE, b"\0")

    watchers.append(reached)
    if resource is not None:
        signal.signal(signal.SIGXCPU, _time_is_up)
        spent = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, spent + seconds + 2))
        resource.setrlimit(resource.RLIMIT_AS, (memory * MEGABYTE,) * 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _time_is_up(number: int, frame: object) -> NoReturn:
    raise TimeIsUp
