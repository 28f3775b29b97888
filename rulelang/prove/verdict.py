"""A claim: a line at which a match could stop, and what is known about it.  The words for it are in report.py."""

from attrs import evolve, field, frozen

from rulelang.prove.facts import RANGES, Because, Lin
from rulelang.source import Span

PROVED, BOUNDED, OPEN = "proved", "bounded", "open"


@frozen
class Ways:
    """How many options a decision of so many players has at the most, and what the option with the most of them picks;
    no number: no range says how many"""

    players: int
    most: int | None
    option: str = ""
    picks: tuple[tuple[str, int | None], ...] = ()  # the name of each, and in how many ways it can be picked

    def worse(self, other: "Ways") -> "Ways":
        return max(self, other, key=lambda w: (w.most is None, w.most or 0))


@frozen
class Verdict:
    """Proved, and why; or up to a bound, and which; or open, and what is not known"""

    status: str
    because: Because = RANGES
    missing: tuple[Lin, ...] = field(default=(), eq=False)
    bound: int = 0  # how often it can happen before it is too much
    note: str = ""  # the bound, or what is missing, where it is no inequality
    ways: tuple[Ways, ...] = ()  # of a decision: one for each player count

    @property
    def proved(self) -> bool:
        return self.status == PROVED

    def and_(self, other: "Verdict") -> "Verdict":
        """A line that is read in several ways is as good as the worst of them."""
        worst = max(self, other, key=lambda v: (PROVED, BOUNDED, OPEN).index(v.status))
        if self.status == other.status == BOUNDED and self.bound and other.bound:
            return min(self, other, key=lambda v: v.bound)
        if worst.proved:
            return Verdict(PROVED, self.because.and_(other.because), ways=_worst(self.ways, other.ways))
        return evolve(worst, ways=_worst(self.ways, other.ways)) if self.status == other.status else worst


def _worst(*found: tuple[Ways, ...]) -> tuple[Ways, ...]:
    worst: dict[int, Ways] = {}
    for w in (w for ways in found for w in ways):
        worst[w.players] = worst[w.players].worse(w) if w.players in worst else w
    return tuple(worst[players] for players in sorted(worst))


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
