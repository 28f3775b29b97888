"""Match files cut, flipped and forged.  Each is refused at its line with one short message, or it is exactly the match that
its text says: written again it is the same, and every choice was offered to that seat.  Nothing else is touched."""

import contextlib
import io
import multiprocessing
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from attrs import field, frozen

import rulelang
from rulelang import matchfile
from rulelang.api import Game, Match, load
from rulelang.diagnostics import printable
from rulelang.errors import MatchFileError, RulelangError
from rulelang.limits import USUAL
from tests.harden import Report
from tests.test_combinations import CASES

LONGEST = 600  # characters of a message
SHORT = 10  # choices of a match whose file is broken at every byte
TINY = """game tiny "A tiny game", players 2..3

each player
    counter points: 0.., public

repeat rounds, 2 times
    in turn each player starting with (first player)
        choose any n in 1..3
            raise points by n

ranking by most points, ties shared
"""
Lines = list[str]
Case = tuple[str, tuple[str, ...]]
chosen: list[Case] = []  # the games and layers of this run


# ---------------------------------------------------------------- true matches


@cache
def loaded(name: str, layers: tuple[str, ...] = ()) -> Game:
    return load(name, layers)


@cache
def tiny() -> str:
    path = Path(tempfile.mkdtemp(prefix="rulelang-")) / "tiny.rule"
    path.write_text(TINY, encoding="utf-8")
    return str(path)


@cache
def true_text(name: str, layers: tuple[str, ...], players: int, seed: int, most: int) -> str:
    match = loaded(name, layers).start(players=players, seed=seed, ask_forced=seed % 3 == 0)
    rng = Random(seed)
    while not match.is_over and len(match.choices) < most:
        decision = rng.choice(match.decisions)
        match.choose(decision.player, rng.randrange(len(decision.options)))
        if seed % 2 and rng.random() < 0.1:
            match.take_back(rng.randint(1, min(3, len(match.choices))))
    return match.to_text()


def some_text(rng: Random) -> str:
    name, layers = rng.choice([*chosen, (tiny(), ())])
    players = rng.choice(loaded(name, layers).players)
    return true_text(name, layers, players, rng.randrange(6), rng.choice((0, 3, 20, 60, 400)))


# ---------------------------------------------------------------- every byte


def small() -> tuple[bytes, ...]:
    return tuple(true_text(name, (), 2, 1, SHORT).encode() for name in (tiny(), "visby"))


def ways() -> list[tuple[int, int, int]]:
    """(file, byte, how): cut there, left out, doubled, or one of its eight bits flipped."""
    return [(n, at, how) for n, raw in enumerate(small()) for at in range(len(raw)) for how in range(11)]


def broken(way: tuple[int, int, int]) -> bytes:
    n, at, how = way
    raw = small()[n]
    if how < 8:
        return raw[:at] + bytes([raw[at] ^ 1 << how]) + raw[at + 1 :]
    return raw[:at] + {8: b"", 9: raw[at + 1 :], 10: raw[at : at + 1] + raw[at:]}[how]


# ---------------------------------------------------------------- forgeries

NUMBERS = (
    "NaN", "inf", "-1", "0", "1", "2", "00", "03", "1e3", "1e999", "0x2", "1_0", "+2", "2.0", "True", "None", "null", "", " 2", "２", "٣",
    "9" * 8, "9" * 5000, "-0", str(2**53), str(-(2**63)),
)  # fmt: skip
STRANGE = (
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\u202e",
    "\u200b",
    "\x00",
    "\r",
    "\x85",
    "\u2028",
    "\ufeff",
    "\x9b31m",
    "[bold]x[/]",
    "::error::x",
    "\ud800",
)
PLACES = ("/etc/passwd", "/dev/zero", "../../visby", "/", ".", "", "visby\x00", "~", "visby/", "CON", "vis by", "stdlib", "x" * 5000, "-h")
LAYERS = ("x" * 5000, "x" * 200_000, "y/" * 3000, "../../x", "/etc/passwd", "z\0", "/dev/zero.rule", " ".join(map(str, range(1500))))


def header(lines: Lines, rng: Random) -> int:
    return rng.randrange(9)


def choice(lines: Lines, rng: Random) -> int:
    return rng.randrange(9, len(lines) - 2) if len(lines) > 11 else 8


def swapped(lines: Lines, rng: Random) -> Lines:
    a = choice(lines, rng)
    b = min(a + 1, len(lines) - 2) if rng.random() < 0.5 else choice(lines, rng)
    lines[a], lines[b] = lines[b], lines[a]
    return lines


def doubled(lines: Lines, rng: Random) -> Lines:
    at = rng.choice((header, choice))(lines, rng)
    return lines[: at + 1] * rng.choice((1, 1, 1, 2)) + lines[at:]


def dropped(lines: Lines, rng: Random) -> Lines:
    at = rng.choice((header, choice))(lines, rng)
    return lines[:at] + lines[at + rng.choice((1, 1, 2, 5)) :]


def moved(lines: Lines, rng: Random) -> Lines:
    line = lines.pop(choice(lines, rng))
    lines.insert(choice(lines, rng), line)
    return lines


def other_seat(lines: Lines, rng: Random) -> Lines:
    at = choice(lines, rng)
    lines[at] = re.sub(r"^\d+", lambda m: str((int(m[0]) + rng.randrange(1, 7)) % 7), lines[at])
    return lines


def other_number(lines: Lines, rng: Random) -> Lines:
    at = choice(lines, rng)
    lines[at] = re.sub(r"\d+$", rng.choice((*NUMBERS, str(rng.randrange(40)))), lines[at])
    return lines


def other_label(lines: Lines, rng: Random) -> Lines:
    at, to = choice(lines, rng), choice(lines, rng)
    seat, _, _ = lines[at].partition(" ")
    lines[at] = f"{seat} {lines[to].partition(' ')[2]}"
    return lines


def other_choice(lines: Lines, rng: Random) -> Lines:
    """Another option as it would really read there: what follows may be impossible, or another match."""
    at = choice(lines, rng)
    try:
        match = played(lines[:at])
        decision = rng.choice(match.decisions)
    except (AssertionError, LookupError, ValueError, RulelangError):  # broken before, or over
        return lines
    option = rng.choice(decision.options)
    lines[at] = f"{decision.player} {printable(f'{option.decision}: {option.label}')} #{option.index}"
    if rng.random() < 0.5:
        lines[at + 1 :] = [f"end {len(match.choices) + 1}", ""]
    return lines


def in_header(lines: Lines, rng: Random) -> Lines:
    at = rng.randrange(1, 8)
    key, _, value = lines[at].partition(": ")
    new = {1: PLACES, 2: ("envoy", "storm", "envoy envoy", "'", '"', "storm\\", "long_winter " * 99, *LAYERS)}.get(at, NUMBERS)
    lines[at] = rng.choice(
        (f"{key}: {rng.choice(new)}", f"{key}:{value}", f"{key}: {value} ", f"{key} : {value}", f"{key.upper()}: {value}")
    )
    return lines


def header_of_another(lines: Lines, rng: Random) -> Lines:
    other = some_text(rng).split("\n")
    if rng.random() < 0.4:
        return other[:9] + lines[9:]
    for at in rng.sample(range(1, 8), rng.choice((1, 1, 2, 3))):
        lines[at] = other[at]
    return lines


def spliced(lines: Lines, rng: Random) -> Lines:
    other = some_text(rng).split("\n")
    return lines[: choice(lines, rng)] + other[choice(other, rng) :]


def other_end(lines: Lines, rng: Random) -> Lines:
    more = rng.choice(
        ([f"end {rng.choice(NUMBERS)}", ""], [*lines[-2:-1], *lines[-2:]], lines[-2:-1], ["end", ""], [*lines[-2:], ""], lines)
    )
    return lines[:-2] + more


def taken_back(lines: Lines, rng: Random) -> Lines:
    """Whatever is taken back, what follows must be possible after it."""
    at = choice(lines, rng)
    count = rng.choice((*NUMBERS, "1", "1", "2"))
    lines[at:at] = rng.choice(([f"back {count}"], [f"back {count}", *lines[max(9, at - 1) : at]], ["back 1", "back 1"]))
    return lines


def other_format(lines: Lines, rng: Random) -> Lines:
    first = ("rulelang match 2", "rulelang match 10", "rulelang match", "rulelang match 1 ", "{}", "PK\x03\x04", "", "rulelang match -1")
    return [rng.choice(first), *lines[1:]]


def with_state(lines: Lines, rng: Random) -> Lines:
    said = rng.choice(("state: [0, 99, 99]", '{"state": [1]}', "hash: 0", "0 points: 99", "# a remark", "version: 1", "choices: 0", " "))
    lines.insert(rng.randrange(len(lines)), said)
    return lines


def strange(lines: Lines, rng: Random) -> Lines:
    at = rng.randrange(len(lines))
    cut = rng.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:cut] + rng.choice(STRANGE) + lines[at][cut:]
    return lines


def other_ends_of_lines(lines: Lines, rng: Random) -> Lines:
    end = rng.choice(("\r", " ", "\t", "\x0b", "\x0c"))
    return [line + end for line in lines] if rng.random() < 0.5 else [*lines[:9], *(line + end for line in lines[9:])]


def huge(lines: Lines, rng: Random) -> Lines:
    at = rng.choice((header, choice))(lines, rng)
    how = rng.randrange(5)
    if how == 0:
        return [*lines, "x" * USUAL.save]
    if how == 1:
        lines[at] += " #" * 500_000
    elif how == 2:
        lines[at : at + 1] = [lines[at]] * 50_000
    elif how == 3:
        lines[at] = lines[at][:20] + "9" * 1_000_000
    else:
        lines[at:at] = [""] * 100_000
    return lines


ORDINARY: tuple[Callable[[Lines, Random], Lines], ...] = (
    swapped, doubled, dropped, moved, other_seat, other_number, other_label, other_choice, taken_back, in_header,
    header_of_another, spliced, other_end,
    other_format, with_state, strange, other_ends_of_lines,
)  # fmt: skip


def forged(seed: str) -> tuple[str, bytes]:
    rng = Random(seed)
    lines = some_text(rng).split("\n")
    if rng.random() < 0.005:
        how = huge
        lines = huge(lines, rng)
    else:
        for _ in range(rng.choice((1, 1, 1, 2))):
            if len(lines) > 9:  # less than a header cannot be broken further
                how = rng.choice(ORDINARY)
                lines = how(lines, rng)
    return how.__name__, "\n".join(lines).encode("utf-8", "surrogatepass")


# ---------------------------------------------------------------- what must hold


def played(lines: Lines) -> Match:
    """The match that a text says, made with the interface for programs alone; an AssertionError if it says something illegal."""
    said = dict(line.split(":", 1) for line in lines[1:8])
    options = dict(part.split("=", 1) for part in said["options"].split())
    seed = said["seed"].strip()
    game = loaded(said["game"].strip(), tuple(said["with"].split()))
    number = int(seed) if re.fullmatch("-?[1-9][0-9]*|0", seed) else seed
    match = game.start(int(said["players"]), number, dict(options), ask_forced=said["forced"].strip() == "asked")
    for line in lines[9:]:
        if line.startswith("end "):
            break
        if line.startswith("back "):
            for _ in range(int(line.removeprefix("back "))):
                match.undo()
            continue
        seat, text, k = line.partition(" ")[0], line.partition(" ")[2].rpartition(" #")[0], int(line.rpartition("#")[2])
        decision = next((d for d in match.decisions if d.player == int(seat)), None)
        assert decision is not None, f"seat {seat} was not asked: {line}"
        assert 0 <= k < len(decision.options), f"not offered: {line}"
        assert printable(f"{decision.name}: {decision.options[k].label}") == text, f"it reads otherwise: {line}"
        match.choose(int(seat), k)
    return match


WRITES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.link", "os.symlink", "os.utime", "os.kill")
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "socket.connect", "socket.bind", "shutil.rmtree")


@frozen
class Watch:
    """Everything that this process does to files while it reads a forged one"""

    seen: list[str] = field(factory=list)
    on: list[bool] = field(factory=list)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on:
            return
        changes = event == "open" and (args[2] & 0o1103 or (isinstance(args[1], str) and set(args[1]) & set("wxa+")))
        if changes or event in WRITES or event in STARTS:
            self.seen.append(f"{event} {args[0]!r}")


@cache
def watch() -> Watch:
    made = Watch()
    sys.addaudithook(made)
    return made


def command(*args: str) -> tuple[int, str, str]:
    """`rulelang ARGS...` in this process: exit code, standard output, standard error"""
    from rulelang.cli import main

    out, err = io.StringIO(), io.StringIO()
    before = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)}
    argv, sys.argv = sys.argv, ["rulelang", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        return int(end.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = argv
        for number, handler in before.items():
            signal.signal(number, handler)


def faults_of(raw: bytes, folder: Path, told: bool) -> tuple[str, list[str]]:
    """What became of a file: "refused", "accepted"; and what is wrong with that."""
    wrong: list[str] = []
    path = folder / "forged.match"
    path.write_bytes(raw)
    look = watch()
    look.seen.clear()
    look.on.append(True)
    try:
        match = rulelang.resume(raw)
    except MatchFileError as err:
        made, message = None, str(err)
    except Exception as err:
        return "crashed", [f"{type(err).__name__}: {err}"]
    else:
        made, message = match, ""
    finally:
        look.on.clear()
    if made is None:
        line = re.match(r"line (\d+): \S", message)
        if line is None or not 1 <= int(line[1]) <= raw.count(b"\n") + 1:
            wrong.append(f"the message names no line: {message[:200]!r}")
        if not message.isprintable() or printable(message) != message or len(message) > LONGEST:
            wrong.append(f"the message is not one short plain line: {message[:200]!r}")
    else:
        text = raw.decode("utf-8")
        if made.to_text() != text:
            wrong.append("accepted, but it is another match when it is written again")
        try:
            if played(text.split("\n")).state != made.state:
                wrong.append("accepted, but the same choices lead elsewhere")
        except AssertionError as err:
            wrong.append(f"accepted, but {err}")
    if told:
        look.on.append(True)
        try:
            code, out, err_text = command("replay", str(path))
        finally:
            look.on.clear()
        if made is None and (code != 1 or out or err_text.count("\n") != 1 or f"rulelang: {path}: {message}\n" != err_text):
            wrong.append(f"replay ends with {code} and says {err_text[:300]!r}")
        if made is not None and (code != 0 or err_text):
            wrong.append(f"replay of what was accepted ends with {code} and says {err_text[:300]!r}")
    wrong.extend(f"it touched something: {seen}" for seen in look.seen)
    if path.read_bytes() != raw or [p.name for p in folder.iterdir()] != ["forged.match"]:
        wrong.append("the file was changed, or another one was left beside it")
    return ("refused" if made is None else "accepted"), wrong


@frozen
class Task:
    ways: tuple[tuple[int, int, int], ...] = ()
    seeds: tuple[str, ...] = ()

    def files(self) -> Iterator[tuple[str, str, bytes]]:
        for way in self.ways:
            yield "every byte", str(way), broken(way)
        for seed in self.seeds:
            how, raw = forged(seed)
            yield how, seed, raw


def work(task: Task) -> tuple[Counter[tuple[str, str]], list[str], float]:
    tally: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    slowest = 0.0
    plain, matchfile.load = matchfile.load, lambda name, layers: loaded(name, tuple(layers))  # each set of rules is read once
    no_cache, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with tempfile.TemporaryDirectory(prefix="rulelang-") as folder:
            for n, (how, name, raw) in enumerate(task.files()):
                began = time.perf_counter()
                end, wrong = faults_of(raw, Path(folder), told=n % 4 == 0)
                slowest = max(slowest, time.perf_counter() - began)
                tally[how, end] += 1
                faults.extend(f"{how} {name}: {fault}" for fault in wrong)
    finally:
        matchfile.load, sys.dont_write_bytecode = plain, no_cache
    return tally, faults, slowest


def run(n: int, seed: int, cores: int = 2, cases: Sequence[Case] = CASES) -> Report:
    """Half of the files are small ones, broken at every byte (or at some, if n is small); the others are forged."""
    began = time.perf_counter()
    chosen[:] = cases
    every = ways()
    Random(seed).shuffle(every)
    bytewise = every[: n // 2]
    seeds = [f"{seed}/{i}" for i in range(n - len(bytewise))]
    size = 100 if n > 1000 else max(1, n)
    tasks = [Task(ways=tuple(bytewise[i : i + size])) for i in range(0, len(bytewise), size)]
    tasks += [Task(seeds=tuple(seeds[i : i + size])) for i in range(0, len(seeds), size)]
    tally: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    slowest = 0.0
    with contextlib.ExitStack() as stack:
        if len(tasks) > 2:
            pool = stack.enter_context(multiprocessing.get_context("fork").Pool(cores))
            done: Any = pool.imap_unordered(work, tasks)
        else:
            done = map(work, tasks)
        for counted, wrong, longest in done:
            tally.update(counted)
            faults += wrong
            slowest = max(slowest, longest)
    ends = Counter[str]()
    hows = Counter[str]()
    for (how, end), times in tally.items():
        ends[end] += times
        hows[how] += times
    whole = "every byte" if len(bytewise) == len(every) else f"{len(bytewise)} of {len(every)} ways to break every byte"
    forgeries = f"{len(ORDINARY) + 1} kinds of forgery on {len(cases)} games and layers"
    return Report(
        f"{sum(ends.values())} forged match files ({whole} of {len(small())} small files; {forgeries}): "
        f"{', '.join(f'{times} {end}' for end, times in sorted(ends.items()))}, {len(faults)} faults, the slowest {slowest:.1f} s, "
        f"{time.perf_counter() - began:.0f} s in all; {', '.join(f'{how} {x}' for how, x in hows.most_common())}",
        tuple(faults[:40]),
    )
