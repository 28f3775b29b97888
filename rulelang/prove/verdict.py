"""A claim: a line at which a match could stop, and what is known about it.  The words for it are in report.py."""

from attrs import field, frozen

from rulelang.prove.facts import RANGES, Because, Lin
from rulelang.source import Span

PROVED, BOUNDED, OPEN = "proved", "bounded", "open"


@frozen
class Verdict:
    """Proved, and why; or up to a bound, and which; or open, and what is not known"""

    status: str
    because: Because = RANGES
    missing: tuple[Lin, ...] = field(default=(), eq=False)
    bound: int = 0  # how often it can happen before it is too much
    note: str = ""  # the bound, or what is missing, where it is no inequality

    @property
    def proved(self) -> bool:
        return self.status == PROVED

    def and_(self, other: "Verdict") -> "Verdict":
        """A line that is read in several ways is as good as the worst of them."""
        worst = max(self, other, key=lambda v: (PROVED, BOUNDED, OPEN).index(v.status))
        if self.status == other.status == BOUNDED and self.bound and other.bound:
            return min(self, other, key=lambda v: v.bound)
        if worst.proved:
            return Verdict(PROVED, self.because.and_(other.because))
        return worst


@frozen
class Claim:
    """`sort` is what could go wrong there, `about` the name that it concerns"""

    sort: str
    about: str
    span: Span = field(eq=False)
    verdict: Verdict = field(eq=False)

    @property
    def proved(self) -> bool:
        return self.verdict.proved

    @property
    def key(self) -> tuple[str, str, str]:
        return self.sort, self.about, str(self.span)


def judged(because: Because | None, *missing: Lin, note: str = "") -> Verdict:
    return Verdict(OPEN, missing=missing, note=note) if because is None else Verdict(PROVED, because)
