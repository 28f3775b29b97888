"""Where something was written: a file, and a range of characters in it.  Lines and columns on demand."""

from bisect import bisect_right
from functools import cached_property

from attrs import define, field, frozen


@define(eq=False)
class SourceFile:
    """One rule file as read: `path` as people know it, `text` with plain line ends."""

    path: str
    text: str = field(repr=False)

    @cached_property
    def line_starts(self) -> list[int]:
        starts = [0]
        starts.extend(i + 1 for i, char in enumerate(self.text) if char == "\n")
        return starts

    def line_of(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def line_text(self, line: int) -> str:
        start = self.line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]


@frozen(eq=False)
class Span:
    """`games/harbour/harbour.rule:14:45`, from `start` up to but not including `end`."""

    source: SourceFile = field(repr=False)
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.line_of(self.start)

    @property
    def column(self) -> int:
        return self.start - self.source.line_starts[self.line - 1] + 1

    @property
    def end_line(self) -> int:
        return self.source.line_of(self.end)

    @property
    def end_column(self) -> int:
        """The column after the last character."""
        return self.end - self.source.line_starts[self.end_line - 1] + 1

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def first_line(self) -> "Span":
        """As much of it as a message shows of a block."""
        end = self.source.text.find("\n", self.start)
        return Span(self.source, self.start, min(self.end, end if end >= 0 else self.end))

    def __str__(self) -> str:
        return f"{self.source.path}:{self.line}:{self.column}"


NOWHERE = Span(SourceFile("", ""), 0, 0)
