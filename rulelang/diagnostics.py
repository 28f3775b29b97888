"""One small type for every finding, a list that collects them, and the text and JSON that people and tools read."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from attrs import define, field, frozen

from rulelang.limits import USUAL
from rulelang.source import Span

_COMMAND = re.compile(r"(?<!\S)::|##(?=\[)")  # what a build log takes for a command
watchers: list[Callable[[str], None]] = []  # told where the stages are, by a process that may be stopped at any time
LONGEST = 240  # characters of a line that is shown
REPEATED = 160  # characters of a name or a line that a message says again
COMPARED = 500  # words that are looked through for the one that was meant


@frozen
class Note:
    """A second place that belongs to a finding: the other declaration, the other override."""

    span: Span
    text: str


@frozen
class Diagnostic:
    """What was found, where, under which heading of the rulebook, and one hint."""

    code: str
    message: str
    span: Span
    hint: str = ""
    heading: str = ""
    notes: tuple[Note, ...] = ()
    is_error: bool = True

    @property
    def severity(self) -> str:
        return "error" if self.is_error else "warning"


@define
class Problems:
    """Collects findings in the order of discovery; the same finding at the same place counts once."""

    found: list[Diagnostic] = field(factory=list)
    limit: int = USUAL.findings
    _seen: set[tuple[str, str, int, str]] = field(factory=set)

    def add(
        self,
        code: str,
        message: str,
        span: Span,
        hint: str = "",
        *,
        heading: str = "",
        notes: Iterable[Note] = (),
        is_error: bool = True,
    ) -> None:
        key = (code, span.source.path, span.start, message)
        if len(self.found) == self.limit:
            more = f"more than {self.limit} findings; the rest is left out"
            self.found.append(Diagnostic("R005", more, span, "mend these first"))
        elif len(self.found) < self.limit and key not in self._seen:
            self._seen.add(key)
            self.found.append(Diagnostic(code, message, span, hint, heading, tuple(notes), is_error))

    def reached(self, span: Span, what: str = "") -> None:
        """A stage is here now."""
        for tell in watchers:
            tell(printable(f"{span}{what}"))

    @property
    def full(self) -> bool:
        return len(self.found) > self.limit

    @property
    def has_errors(self) -> bool:
        return any(d.is_error for d in self.found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self.found, key=lambda d: (d.span.source.path, d.span.start, d.code)))


def near(word: str, words: Iterable[str]) -> str:
    """The spelling that was probably meant, as a hint, or nothing."""
    every = set(words)
    alike = sorted({w for w in every if abs(len(w) - len(word)) < 4})
    close = get_close_matches(word, alike, n=1, cutoff=0.7) if len(alike) <= COMPARED else []
    close = close or _of_the_same_words(word, every)
    return f"did you mean {' or '.join(f'`{w}`' for w in close)}?" if close else ""


def _of_the_same_words(word: str, words: set[str]) -> list[str]:
    """`toll_seals_per_ship` for `tolls_per_ship`: two words are the same at least, and most of them."""
    said = _parts(word)
    if len(said) == 1 or len(words) > COMPARED:
        return []
    shared = {w: len(said & _parts(w)) for w in words if w.split(".")[-1] not in words - {w}}
    most = max(shared.values(), default=0)
    alike = [w for w, n in shared.items() if n == most > 1 and 2 * n > max(len(said), len(_parts(w)))]
    return sorted(alike, key=lambda w: (len(w), w))[:2]


def _parts(name: str) -> set[str]:
    return {part.rstrip("s") for part in re.split(r"[_.]", name)}


def cut(text: str) -> str:
    """As much of a text as a message says again, on one line."""
    shown = printable(text[: REPEATED + 1])
    return shown if len(shown) <= REPEATED else f"{shown[:REPEATED]}..."


def several(n: int, word: str) -> str:
    """`1 key`, `2 keys`"""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def printable(text: str) -> str:
    """Text from a file as it may reach a terminal, or the log of a build that obeys lines such as `::error::`: control,
    bidi and format characters are shown, not obeyed."""
    if not text.isprintable():
        text = "".join(
            c if c == "\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") else f"\\u{ord(c):04x}" for c in text
        )
    return _COMMAND.sub(lambda m: f"\\u{ord(m[0][-2]):04x}{m[0][-1]}", text) if _COMMAND.search(text) else text


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def excerpt(span: Span) -> list[str]:
    """The line of the source with a caret line below it."""
    line = span.line
    text = span.source.line_text(line)
    first = span.column - 1
    end = len(text) if span.end <= span.start + len(text) - first else len(text.split(" #")[0].rstrip())
    length = max(1, min(span.end, span.start + end - first) - span.start)
    cut = max(0, first - LONGEST // 2) if len(text) > LONGEST else 0
    length = min(length, LONGEST)
    end = min(len(text), max(cut + LONGEST, first + length))
    shown = printable(text[cut:end].expandtabs(4))
    before = printable(text[cut:first].expandtabs(4))
    marked = printable(text[first : first + length].expandtabs(4)) or " "
    number = str(line)
    left, right = "..." if cut else "", "..." if end < len(text) else ""
    return [
        f"{number} | {left}{shown}{right}",
        f"{' ' * len(number)} | {' ' * (len(left) + cell_width(before))}{'^' * max(1, cell_width(marked))}",
    ]


def render(diagnostic: Diagnostic) -> str:
    """One finding as people read it."""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {printable(diagnostic.message)}"]
    heading = f"   ({printable(diagnostic.heading)})" if diagnostic.heading else ""
    if diagnostic.span.source.path:
        lines.append(f"  {printable(str(diagnostic.span))}{heading}")
        lines.extend(excerpt(diagnostic.span))
    for note in diagnostic.notes:
        lines.append(f"  {printable(str(note.span))}: {printable(note.text)}")
        lines.extend(excerpt(note.span))
    if diagnostic.hint:
        lines.append(f"hint: {printable(diagnostic.hint)}")
    return "\n".join(lines)
