"""Real rule files, broken in many ways: each is checked to its end, gets findings or none, and never an error of ours.

Every finding has a code that `explain` knows, a place inside of its file and a hint.  No writer lets a character through
that a terminal or a build would obey: neither of findings nor, of rules that load, of stages, pictures and matches."""

import json
import re
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from random import Random

from attrs import define, evolve, field, frozen

from rulelang import pipeline, reports
from rulelang.codes import CODES
from rulelang.coverage import Coverage
from rulelang.diagnostics import Diagnostic, Problems, render
from rulelang.errors import UsageError
from rulelang.limits import USUAL
from rulelang.page import page
from rulelang.proofs import check_counts
from rulelang.serial import findings_json
from rulelang.series import cores, everywhere
from rulelang.source import Span
from tests import written
from tests.harden import Report
from tests.written import obeyed

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = 3_000  # bytes: most files are small, so that many can be broken
LARGE = 40  # one file in so many is a large one
CHUNK = 250
SECONDS = 20  # for one file; nothing that is broken here needs a tenth of it, on a machine that has other things to do
LIMITS = evolve(USUAL, steps=50_000)  # a loop that never ends is found as surely, and sooner
STRANGE = (
    "\x1b[31m", "\x9b", "\u202e", "\u200b", "\u2066", "\0", "\ufeff", "\u2028", "::error::x", "##[error]", "<script>", "=1+1", "[link=x]",
    "\u0430", "e\u0301", "\u0661", "\U0001f3b2", "\x07", "\x85", "\xa0", "\u3000", "\r", "\t", "%0A", "{", "}", "{{", "\\", '"', "`",
    "]-->", "|x|", "%%{init: {}}%%", "&quot;", "#34;", "\\n", "\\N", "x\\", "```", "end", "'", "<br/>", "]]>", "\ud800",
)  # fmt: skip
NUMBERS = ("0", "-1", "00", "1", "2", "16", "17", "255", "65536", "10001", "1000000", "9007199254740992", "9007199254740993", "9" * 40)


@lru_cache(maxsize=1)
def corpus() -> tuple[tuple[Path, str], ...]:
    """Every rule file here, and every rule that stands in a document."""
    folders = ("games", "stdlib", "findings", "tests/language", "rulelang/templates")
    files = [p for folder in folders for p in (ROOT / folder).rglob("*.rule")]
    found = [(p, p.read_text(encoding="utf-8-sig")) for p in sorted(files)]
    for document in sorted((ROOT / "docs").glob("*.md")):
        for n, text in enumerate(re.findall(r"^```\w*\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)):
            found.append((document.parent / f"{document.stem}{n}.rule", text))
    return tuple(found)


@lru_cache(maxsize=1)
def sizes() -> tuple[tuple[int, ...], tuple[int, ...]]:
    small = tuple(i for i, (_, text) in enumerate(corpus()) if len(text) <= SMALL)
    return small, tuple(i for i, (_, text) in enumerate(corpus()) if len(text) > SMALL)


# ---------------------------------------------------------------- ways to break a file

WORDS = re.compile(r"\w+|[^\w\s]|\n *")


def _word(rng: Random) -> str:
    _, text = rng.choice(corpus())
    found = WORDS.findall(text)
    return rng.choice(found) if found else "x"


def _line(rng: Random) -> str:
    _, text = rng.choice(corpus())
    return rng.choice(text.split("\n"))


def _lines(text: str, change: Callable[[list[str]], None]) -> str:
    lines = text.split("\n")
    change(lines)
    return "\n".join(lines)


def flip(text: str, rng: Random) -> bytes:
    raw = bytearray(text.encode())
    for _ in range(rng.randint(1, 3)):
        if raw:
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(raw)


def cut(text: str, rng: Random) -> bytes:
    raw = text.encode()
    at = rng.randrange(len(raw) + 1)
    return raw[:at] if rng.random() < 0.7 else raw[at:]


def drop(text: str, rng: Random) -> str:
    return _lines(text, lambda lines: lines.__delitem__(rng.randrange(len(lines))))


def double(text: str, rng: Random) -> str:
    at = rng.randrange(text.count("\n") + 1)
    return _lines(text, lambda lines: lines.insert(at, lines[at]))


def swap(text: str, rng: Random) -> str:
    def change(lines: list[str]) -> None:
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]

    return _lines(text, change)


def indent(text: str, rng: Random) -> str:
    def change(lines: list[str]) -> None:
        first = rng.randrange(len(lines))
        for at in range(first, min(len(lines), first + rng.randint(1, 4))):
            lines[at] = " " * rng.choice((0, 1, 3, 4, 8, 12)) + lines[at].lstrip()

    return _lines(text, change)


def foreign(text: str, rng: Random) -> str:
    """A line of another file"""
    at = rng.randrange(text.count("\n") + 1)
    return _lines(text, lambda lines: lines.insert(at, _line(rng)))


def _replaced(text: str, pattern: str, new: Callable[[str], str], rng: Random) -> str:
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    at = rng.choice(found)
    return text[: at.start()] + new(at[0]) + text[at.end() :]


def exchange(text: str, rng: Random) -> str:
    """A word or sign of another file in the place of one of this"""
    return _replaced(text, WORDS.pattern, lambda _: _word(rng), rng)


def lose(text: str, rng: Random) -> str:
    return _replaced(text, WORDS.pattern, lambda _: "", rng)


def number(text: str, rng: Random) -> str:
    return _replaced(text, r"\d+", lambda _: rng.choice(NUMBERS), rng)


def rename(text: str, rng: Random) -> str:
    """One use of a name becomes another name of the same file, or a misspelling."""
    names = re.findall(r"\b[A-Za-z]\w+", text) or ["x"]
    return _replaced(text, r"\b[A-Za-z]\w+", lambda w: rng.choice(names) if rng.random() < 0.7 else w[:-1] + rng.choice("aeiou_1"), rng)


def rename_all(text: str, rng: Random) -> str:
    names = sorted(set(re.findall(r"\b[a-z]\w+", text))) or ["x"]
    old, new = rng.choice(names), rng.choice(names)
    return re.sub(rf"\b{old}\b", new, text)


def nest(text: str, rng: Random) -> str:
    depth = rng.choice((2, 10, 60, 150, 600))
    inside = {
        "(": lambda w: "(" * depth + w + ")" * depth,
        "not": lambda w: "not " * depth + w,
        "of": lambda w: f"{w} of " * depth + w,
        "+": lambda w: " + ".join([w] * depth),
        "and": lambda w: " and ".join([w] * depth),
        "[": lambda w: "[" * depth + w + "]" * depth,
        "-": lambda w: w + " * " + " - ".join([w] * depth),
    }
    return _replaced(text, r"\b\w+\b", inside[rng.choice(sorted(inside))], rng)


def repeat(text: str, rng: Random) -> str:
    """A part of the file many times over"""
    a, b = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
    b = min(b, a + 400)
    return text[:a] + text[a:b] * rng.choice((2, 3, 20)) + text[b:]


def strange(text: str, rng: Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(STRANGE) * rng.choice((1, 1, 2)) + text[at:]


def strange_in_text(text: str, rng: Random) -> str:
    return _replaced(text, r'"[^"\n]*"', lambda t: f'{t[:-1]}{rng.choice(STRANGE)}"', rng)


def strange_texts(text: str, rng: Random) -> str:
    """Every text of the file says something strange, and the rules are whole."""
    harmless = [s for s in STRANGE if not set('"{}\r\0\ud800') & set(s)]
    return re.sub(r'"[^"\n]*"', lambda t: f'{t[0][:-1]}{rng.choice(harmless)}"', text)


def joined(text: str, rng: Random) -> str:
    """Two lines become one, or one becomes two."""
    return _replaced(text, r"\n *", lambda _: " ", rng) if rng.random() < 0.5 else _replaced(text, " ", lambda _: "\n    ", rng)


WAYS: tuple[Callable[[str, Random], str | bytes], ...] = (
    flip, cut, drop, double, swap, indent, foreign, exchange, exchange, lose, number, rename, rename, rename_all, nest, repeat, strange,
    strange_in_text, strange_texts, joined,
)  # fmt: skip


def broken(seed: str) -> tuple[Path, bytes]:
    """The same file for the same seed"""
    rng = Random(seed)
    small, large = sizes()
    path, text = corpus()[rng.choice(large if rng.randrange(LARGE) == 0 else small)]
    raw = text.encode()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        made = rng.choice(WAYS)(raw.decode("utf-8", "replace"), rng)
        raw = made.encode("utf-8", "surrogatepass") if isinstance(made, str) else made
    return path, raw


# ---------------------------------------------------------------- what must hold


class TooLong(Exception):
    """A file that took more time than it was given"""


@define(eq=False)
class Done:
    """What came of some files"""

    files: int = 0
    clean: int = 0
    written: int = 0  # rules without an error, and all that is made of them
    refused: int = 0  # before they were rules: not text, or too large
    codes: Counter[str] = field(factory=Counter)
    slowest: tuple[float, str] = (0, "")
    faults: list[str] = field(factory=list)

    def add(self, other: "Done") -> None:
        self.files += other.files
        self.clean += other.clean
        self.written += other.written
        self.refused += other.refused
        self.codes += other.codes
        self.slowest = max(self.slowest, other.slowest)
        self.faults += other.faults


@frozen
class Task:
    """Files from the first up to but not including the last"""

    seed: int
    first: int
    last: int


def load(path: Path, raw: bytes) -> pipeline.Loaded:
    problems = Problems(limit=LIMITS.findings)
    return pipeline.load_file(path, (), problems, pipeline.decode(raw, f"broken/{path.name}", LIMITS), LIMITS)


def check(loaded: pipeline.Loaded) -> tuple[Diagnostic, ...]:
    """What `rulelang check` does with a file, in this process."""
    check_counts(loaded)
    return loaded.problems.sorted()


def wrong(found: tuple[Diagnostic, ...]) -> Iterator[str]:
    """What is wrong with the findings themselves, and with what each writer makes of them."""
    for d in found:
        if d.code not in CODES:
            yield f"{d.code} is explained nowhere"
        if not d.hint.strip() or not d.message.strip():
            yield f"{d.code}: no hint, or no message: {d.message}"
        for span in (d.span, *(n.span for n in d.notes)):
            if not _is_inside(span):
                yield f"{d.code}: a place outside of its file: {span.start}..{span.end}"
    if not found:
        return
    texts = {
        "text": "\n".join(render(d) for d in found), "json": findings_json(found), "sarif": reports.sarif(found),
        "github": reports.github(found), "page": page("Broken", [], found, Coverage(), {}),
    }  # fmt: skip
    for form, text in texts.items():
        yield from obeyed(form, text if form != "github" else text.replace("::error ", "").replace("::warning ", ""))
    json.loads(texts["json"])
    json.loads(texts["sarif"])
    commands = texts["github"].split("\n")
    if len(commands) != len(found) or not all(re.match(r"::(error|warning) ", line) for line in commands):
        yield "github: not one command for one finding"
    if "<script" in texts["page"].lower():
        yield "page: markup of the file"


def _is_inside(span: Span) -> bool:
    return bool(span.source.path) and 0 <= span.start <= span.end <= len(span.source.text)


def one(path: Path, raw: bytes, done: Done, name: str) -> None:
    done.files += 1
    began = time.process_time()
    before = signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        loaded = load(path, raw)
        done.faults.extend(f"{name} ({path.name}): {why}" for why in written.wrong(loaded, name))
        done.written += loaded.ok
        found = check(loaded)
        done.clean += not found
        done.codes.update({d.code for d in found})
        done.faults.extend(f"{name} ({path.name}): {why}" for why in wrong(found))
    except UsageError:
        done.refused += 1
    except Exception as err:
        last = traceback.extract_tb(err.__traceback__)[-1]
        done.faults.append(f"{name} ({path.name}): {type(err).__name__}: {str(err)[:200]} at {Path(last.filename).name}:{last.lineno}")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    done.slowest = max(done.slowest, (time.process_time() - began, f"{name} ({path.name})"))


def _too_long(number: int, frame: object) -> None:
    raise TooLong(f"more than {SECONDS} s")


def some(task: Task) -> Done:
    done = Done()
    for n in range(task.first, task.last):
        seed = f"{task.seed}/{n}"
        one(*broken(seed), done, seed)
    return done


def run(n: int, seed: int) -> Report:
    """n broken files, on all cores; stops early where faults come by the dozen."""
    began = time.perf_counter()
    tasks = [Task(seed, first, min(n, first + CHUNK)) for first in range(0, n, CHUNK)]
    done = Done()
    for part in everywhere(some, tasks, cores()):
        done.add(part)
        if len(done.faults) >= 50:
            break
    took = time.perf_counter() - began
    codes = ", ".join(f"{code} {times}" for code, times in sorted(done.codes.items()))
    return Report(
        f"{done.files} broken files, {done.clean} clean all the same, {done.written} shown, drawn and played, "
        f"{done.refused} refused before they were rules, "
        f"{len(done.codes)} codes, {len(done.faults)} faults; {took:.0f} s, {done.files / max(took, 0.001):.0f} a second, "
        f"the slowest {done.slowest[0]:.2f} s: {done.slowest[1]}; files with each code: {codes}",
        tuple(done.faults),
    )
