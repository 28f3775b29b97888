"""Every file operation of every command fails in turn, or the process is stopped or killed there.  A file is there as it was
or as it should be, whole; nothing is left beside it, or the next save takes it away; and there is one line that says why."""

import builtins
import contextlib
import errno
import io
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from attrs import field, frozen

import rulelang
from tests.harden import Report
from tests.harden.bad_saves import TINY

ROOT = Path(__file__).resolve().parent.parent.parent
ERRNOS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EINTR)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
RICH = TINY.replace("tiny", "rich") + '\nalways true "nobody is rich"\n    every player has points < 3\n'
WATCHED = (
    "open", "read", "write", "close", "fsync", "replace", "rename", "unlink", "remove", "stat", "lstat", "fstat", "listdir", "scandir",
    "truncate", "ftruncate", "mkdir", "rmdir", "chmod", "fchmod", "link", "readlink", "utime", "access",
)  # fmt: skip


# ---------------------------------------------------------------- scenes


@frozen
class Scene:
    """A command in a folder of its own, with what is typed, and how its file is saved the next time"""

    args: tuple[str, ...]
    typed: str = ""
    saved: int | None = None  # choices of the match that lies there already
    again: tuple[str, ...] = ()  # the next save, after a kill; itself if there is none

    @property
    def name(self) -> str:
        return " ".join(self.args)

    def furnish(self, folder: Path) -> None:
        (folder / "tiny.rule").write_text(TINY, encoding="utf-8")
        (folder / "rich.rule").write_text(RICH, encoding="utf-8")
        (folder / "page.html").write_text("an old page\n", encoding="utf-8")
        if self.saved is not None:
            with contextlib.chdir(folder):
                match = rulelang.load("tiny.rule").start(players=2, seed=1)
                for _ in range(self.saved):
                    match.choose(match.decisions[0].player, 0)
                (folder / "m.match").write_text(match.to_text(), encoding="utf-8")


def resumed(file: str) -> tuple[str, ...]:
    return ("play", "--resume", file, "--save", file)


SCENES = (
    Scene(("play", "tiny.rule", "--seats", "random,random", "--seed", "1", "--save", "m.match"), again=resumed("m.match")),
    Scene(resumed("m.match"), saved=1),
    Scene(("play", "tiny.rule", "--seats", "human,random", "--seed", "1", "--save", "m.match"), "1\n2\n", again=resumed("m.match")),
    Scene(("play", "--resume", "m.match", "--seats", "human,random"), "2\ns\ns other.match\nq\n", saved=2),
    Scene(("play", "tiny.rule", "--seats", "human,human", "--seed", "1"), "\n2\n", again=resumed("tiny-1.match")),
    Scene(("replay", "m.match"), saved=3),
    Scene(("check", "tiny.rule")),
    Scene(("check", ".")),
    Scene(("check", "tiny.rule", "--playouts", "2", "--html", "page.html")),
    Scene(("check", "rich.rule", "--playouts", "2"), again=resumed("rich-005.match")),
    Scene(("test", "tiny.rule", "--coverage", "--html", "page.html")),
    Scene(("graph", "tiny.rule")),
    Scene(("new", "amber")),
    Scene(("new", "fog", "--from", "tiny.rule")),
)  # fmt: skip


# ---------------------------------------------------------------- faults


@frozen
class Fault:
    """`how` is an error number, a signal that comes just after the operation, or a word"""

    at: int = -1
    how: int | signal.Signals | str = ""

    @property
    def kills(self) -> bool:
        return self.how in ("killed before", "killed after", "killed halfway")

    def __str__(self) -> str:
        how = (
            self.how.name if isinstance(self.how, signal.Signals) else errno.errorcode[self.how] if isinstance(self.how, int) else self.how
        )
        return f"{how} at operation {self.at}"


def ways(ops: list[str]) -> Iterator[Fault]:
    for at, op in enumerate(ops):
        writes = ("short", "killed halfway") if op.startswith("write ") else ()
        for how in (*ERRNOS, *SIGNALS, "killed before", "killed after", *writes):
            yield Fault(at, how)


@frozen
class Shim:
    """Stands between the program and its files"""

    folder: str
    fault: Fault
    side: int
    write: Callable[[int, bytes], int]
    count: list[int] = field(factory=lambda: [0])
    handles: set[int] = field(factory=set)

    def put_in(self) -> None:
        for name in WATCHED:
            setattr(os, name, self.around(name, getattr(os, name)))
        builtins.open = io.open = self.around("open", io.open)  # type: ignore[assignment]
        try:
            import fcntl
        except ImportError:
            return
        fcntl.flock = self.around("flock", fcntl.flock)

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def stand_in(*args: Any, **more: Any) -> Any:
            what = self.concerned(args[0]) if args else ""
            if not what:
                return real(*args, **more)
            number = self.count[0]
            self.count[0] += 1
            self.write(self.side, f"{name} {what}\n".encode())
            if number == self.fault.at:
                return self.strike(name, real, args, more)
            return self.note(name, real(*args, **more), args)

        return stand_in

    def concerned(self, target: Any) -> str:
        if isinstance(target, int):
            return "#" if target in self.handles else ""
        if not isinstance(target, str | bytes | os.PathLike):
            return ""
        path = os.path.abspath(os.fsdecode(target))
        return path.replace(self.folder, "") or "/" if path.startswith((self.folder, str(ROOT / "stdlib"))) else ""

    def note(self, name: str, made: Any, args: tuple[Any, ...]) -> Any:
        if name == "open":
            self.handles.add(made if isinstance(made, int) else made.fileno())
        if name == "close":
            self.handles.discard(args[0])
        return made

    def strike(self, name: str, real: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        how = self.fault.how
        if how == "killed before":
            os.kill(os.getpid(), signal.SIGKILL)
        if how in ("short", "killed halfway"):
            made = real(args[0], args[1][: max(1, len(args[1]) // 2)])
            if how == "killed halfway":
                os.kill(os.getpid(), signal.SIGKILL)
            return made
        if how == "killed after" or isinstance(how, signal.Signals):
            try:
                return self.note(name, real(*args, **more), args)
            finally:
                os.kill(os.getpid(), signal.SIGKILL if how == "killed after" else how)
        assert isinstance(how, int)
        if name == "close":  # an error there does not keep it open
            self.note(name, real(*args, **more), args)
        raise OSError(how, os.strerror(how), args[0] if isinstance(args[0], str) else None)


# ---------------------------------------------------------------- acting


@frozen
class Outcome:
    code: int  # negative: killed by this signal
    out: str
    err: str
    ops: list[str]
    acknowledged: int  # choices of the match when somebody was last asked something
    files: dict[str, bytes]


def act(args: tuple[str, ...], typed: str, folder: Path, fault: Fault) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="rulelang-") as beside:
        names = {n: Path(beside) / n for n in ("in", "out", "err", "side")}
        names["in"].write_text(typed, encoding="utf-8")
        child = os.fork()
        if child == 0:
            _perform(args, folder, fault, names)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        side = names["side"].read_text(encoding="utf-8").splitlines()
        asked = [int(line.split()[1]) for line in side if line.startswith("asked ")]
        return Outcome(
            code, names["out"].read_text(encoding="utf-8"), names["err"].read_text(encoding="utf-8"),
            [line for line in side if not line.startswith("asked ")], max(asked, default=0), contents(folder),
        )  # fmt: skip


def _perform(args: tuple[str, ...], folder: Path, fault: Fault, names: dict[str, Path]) -> NoReturn:
    """In the child: the command as from a shell, with the shim between it and its files."""
    code: Any = 99
    try:
        for number in SIGNALS:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        made = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        for fd, handle in enumerate((os.open(names["in"], os.O_RDONLY), os.open(names["out"], made), os.open(names["err"], made))):
            os.dup2(handle, fd)
        for name, fd in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            setattr(sys, name, open(fd, "w" if fd else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
        os.chdir(folder)
        sys.argv = ["rulelang", *args]
        side = os.open(names["side"], made)
        _watch_prompts(side, os.write)
        Shim(str(folder), fault, side, os.write).put_in()
        from rulelang.cli import main

        main()
    except SystemExit as end:
        code = end.code
    except BaseException as err:
        sys.stderr.write(f"Traceback: {type(err).__name__}: {err}\n")
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code or 0)


def _watch_prompts(side: int, write: Callable[[int, bytes], int]) -> None:
    """A question is put only after what was chosen before it is acknowledged."""
    from rulelang import series, terminal

    series.cores = lambda: 1
    real = terminal.Session.read

    def read(self: Any, *args: Any) -> str:
        write(side, f"asked {len(self.match.choices)}\n".encode())
        return real(self, *args)

    terminal.Session.read = read  # type: ignore[method-assign]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# ---------------------------------------------------------------- what must hold


def choices(raw: bytes) -> list[bytes]:
    return raw.split(b"\n")[9:-2]


def whole(name: str, raw: bytes, before: dict[str, bytes], meant: dict[str, bytes]) -> bool:
    """As it was, as it should be, or a match on its way there."""
    if raw in (before.get(name), meant.get(name)):
        return True
    if not name.endswith(".match"):
        return False
    goal = meant.get(name) or next((m for n, m in meant.items() if n.endswith(".match")), b"")
    with contextlib.suppress(rulelang.MatchFileError):
        return rulelang.resume(raw).to_text().encode() == raw and choices(goal)[: len(choices(raw))] == choices(raw)
    return False


def wrong(scene: Scene, fault: Fault, folder: Path, before: dict[str, bytes], calm: Outcome) -> Iterator[str]:
    done = act(scene.args, scene.typed, folder, fault)
    op = done.ops[fault.at] if fault.at < len(done.ops) else ""
    for name, raw in before.items():
        if name not in done.files:
            yield f"{name} is gone"
        elif name not in calm.files and raw != done.files[name]:
            yield f"{name} was changed"
    with contextlib.chdir(folder):
        for name, raw in done.files.items():
            if not leftover(name) and not whole(name, raw, before, calm.files):
                yield f"{name} is neither the old file nor the new one: {raw[:80]!r}"
    if "Traceback" in done.err or "internal error" in done.err + done.out:
        yield f"it says {done.err[-300:]!r}"
    left = [name for name in done.files if leftover(name)]
    if fault.kills:
        if done.code != -signal.SIGKILL:
            yield f"it was not killed, but ended with {done.code}"
    else:
        yield from _told(fault, done, calm)
        if left and not op.startswith(("unlink", "remove")):
            yield f"left behind: {left}"
    if "--save" in scene.args and not (isinstance(fault.how, int) and "cannot save" in done.out):
        with contextlib.chdir(folder):
            kept = len(choices(done.files.get("m.match", b"")))
        if kept < done.acknowledged:
            yield f"{done.acknowledged} choices were acknowledged, {kept} are on the disk"
    if left:
        again = scene.again if scene.again and scene.again[2] in done.files else scene.args
        now = act(again, scene.typed, folder, Fault())
        still = [name for name in now.files if leftover(name) and name in left]
        if still:
            yield f"the next save left it there: {still}"


def leftover(name: str) -> bool:
    return Path(name).name.startswith(".")


def _told(fault: Fault, done: Outcome, calm: Outcome) -> Iterator[str]:
    """Silence means that everything was done; otherwise there is one line and a code that says so."""
    stopped = isinstance(fault.how, signal.Signals)
    if done.code == calm.code and "cannot save" not in done.out:
        if done.out != calm.out or done.err != calm.err:
            yield f"it ends as always, but says something else: {done.out[-200:]!r} {done.err[-200:]!r}"
        lost = [n for n, raw in calm.files.items() if done.files.get(n) != raw]
        if lost:
            yield f"it ends as always, but {lost} are not as they should be"
    elif stopped:
        if done.code != 130 or done.err.strip():
            yield f"it ends with {done.code} and says {done.err[-300:]!r}"
    elif "cannot save" in done.out:
        if done.code != 0 or done.err:
            yield f"it played on, but ends with {done.code} and says {done.err[-300:]!r}"
    elif done.code not in (1, 2) or not re.fullmatch(r"rulelang: [^\n]+\n", done.err):
        findings = done.code == 1 and not done.err and re.search(r"^error\[R\d+\]", done.out, re.M)
        if not findings:
            yield f"it ends with {done.code} and says {done.err[-300:]!r}"


# ---------------------------------------------------------------- the disk without power


def after_power_loss(ops: list[str]) -> int:
    """A save in a world where only what was synchronised is sure to survive: how many moments were looked at.

    Before `replace` the new text must be on the disk; before the command says that it is saved, the folder must."""
    moments = 0
    synced = renamed = safe = False
    for op in ops:
        name = op.split()[0]
        moments += 1
        if name == "fsync" and not renamed:
            synced = True
        elif name == "replace":
            assert synced, "the new file takes the old one's place before it is on the disk"
            renamed = True
        elif name == "fsync" and renamed:
            safe = True
    assert renamed and safe, "the folder was not synchronised"
    return moments


# ---------------------------------------------------------------- all of it


@contextlib.contextmanager
def stage(scene: Scene) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rulelang-")).resolve()
    try:
        scene.furnish(folder)
        yield folder
    finally:
        shutil.rmtree(folder)


def _make_ready() -> None:
    """What a command imports and reads only once is here before the children are made: it would be no part of what they do."""
    for module in ("cli", "terminal", "page", "report", "series", "claims", "coverage", "graph.picture", "matchfile", "show"):
        import_module(f"rulelang.{module}")
    with stage(SCENES[0]) as folder, contextlib.chdir(folder):
        rulelang.load("tiny.rule")


def rehearse(scene: Scene) -> Outcome:
    with stage(scene) as folder:
        return act(scene.args, scene.typed, folder, Fault())


def run(n: int, seed: int, scenes: Sequence[Scene] = SCENES) -> Report:
    began = time.perf_counter()
    faults: list[str] = []
    kinds: Counter[str] = Counter()
    _make_ready()
    calm = {scene: rehearse(scene) for scene in scenes}
    for scene, done in calm.items():
        if "Traceback" in done.err or [name for name in done.files if leftover(name)]:
            faults.append(f"{scene.name}: even undisturbed: {done.err[-300:]!r} {list(done.files)}")
    every = [(scene, fault) for scene in scenes for fault in ways(calm[scene].ops)]
    chosen = Random(seed).sample(every, min(n, len(every)))
    for scene, fault in chosen:
        with stage(scene) as folder:
            before = contents(folder)
            for problem in wrong(scene, fault, folder, before, calm[scene]):
                op = calm[scene].ops[fault.at]
                faults.append(f"rulelang {scene.name}: {fault} ({op}): {problem}")
        kinds[str(fault).split(" at ")[0]] += 1
    moments = after_power_loss(calm[SCENES[1]].ops)
    operations = ", ".join(f"{' '.join(scene.args[:2])} {len(calm[scene].ops)}" for scene in scenes)
    return Report(
        f"{len(chosen)} of {len(every)} injected faults in {len(scenes)} commands, {len(faults)} wrong, {moments} moments of a power loss, "
        f"{time.perf_counter() - began:.0f} s; {', '.join(f'{kind} {x}' for kind, x in kinds.most_common())}; operations: {operations}",
        tuple(faults[:60]),
    )
