"""The types of values.  Everything is finite or a number; everything is an integer when a match runs."""

from attrs import frozen


def _one(kind: str) -> str:
    """`a Barrel`, `an Anchor`"""
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"


@frozen
class NumberT:
    """`number`, `0..15`, `0..`; bounds that are not known yet are none"""

    low: int | None = None
    high: int | None = None

    def __str__(self) -> str:
        if self.low is None:
            return "a number" if self.high is None else f"a number up to {self.high}"
        if self.low == self.high:
            return f"the number {self.low}"
        return f"a number {self.low}..{self.high if self.high is not None else ''}"


@frozen
class BoolT:
    """`yes or no`"""

    def __str__(self) -> str:
        return "yes or no"


@frozen
class KindT:
    """`Faction`: a member of a kind"""

    kind: str

    def __str__(self) -> str:
        return _one(self.kind)


@frozen
class PlayerT:
    """`player`"""

    def __str__(self) -> str:
        return "a player"


@frozen
class PieceT:
    """`Trade or Base`: a piece of one of these kinds"""

    kinds: frozenset[str]

    def __str__(self) -> str:
        return _one(" or ".join(sorted(self.kinds)))


@frozen
class NoneT:
    """`none`"""

    def __str__(self) -> str:
        return "none"


@frozen
class MaybeT:
    """`Faction or none`"""

    item: "Type"

    def __str__(self) -> str:
        return f"{self.item} or none"


@frozen
class SetT:
    """`set of Good`, `players`; an ordered set has a first and a last"""

    item: "Type"
    ordered: bool = False

    def __str__(self) -> str:
        names = {"a player": "players", "a number": "numbers"}
        text = str(self.item)
        if isinstance(self.item, SetT):
            return "a set of sets" + text.removeprefix("a set")
        return "a set of " + names.get(text, text.removeprefix("an ").removeprefix("a "))


@frozen
class ErrorT:
    """What is known to be wrong already: fits everywhere, so that one mistake is reported once"""

    def __str__(self) -> str:
        return "something unknown"


Type = NumberT | BoolT | KindT | PlayerT | PieceT | NoneT | MaybeT | SetT | ErrorT

NUMBER, BOOL, PLAYER, NONE, ERROR = NumberT(), BoolT(), PlayerT(), NoneT(), ErrorT()


def fits(found: Type, wanted: Type) -> bool:
    """Can a value of type `found` stand where `wanted` is asked for?"""
    if isinstance(found, ErrorT) or isinstance(wanted, ErrorT):
        return True
    if isinstance(wanted, MaybeT):
        return isinstance(found, NoneT) or fits(found.item if isinstance(found, MaybeT) else found, wanted.item)
    if isinstance(found, MaybeT):
        # Whether `none` is excluded here is for the proofs to say; while playing it is checked.
        return fits(found.item, wanted)
    match found, wanted:
        case NumberT(), NumberT():
            return True
        case PieceT(), PieceT():
            return bool(found.kinds & wanted.kinds)
        case SetT(), SetT():
            return fits(found.item, wanted.item)
        case _:
            return found == wanted


def within(found: Type, wanted: Type) -> bool:
    """Is every number of the one range in the other?  Of other types nothing is asked."""
    if not isinstance(found, NumberT) or not isinstance(wanted, NumberT):
        return True
    low = wanted.low is None or (found.low is not None and found.low >= wanted.low)
    return low and (wanted.high is None or (found.high is not None and found.high <= wanted.high))


def meet(a: NumberT, b: NumberT) -> NumberT | None:
    """The numbers of both ranges, if there are any."""
    low = max((x for x in (a.low, b.low) if x is not None), default=None)
    high = min((x for x in (a.high, b.high) if x is not None), default=None)
    return None if low is not None and high is not None and low > high else NumberT(low, high)


def join(a: Type, b: Type) -> Type | None:
    """The type that both fit, if there is one: of two `give` lines, of the items of a list."""
    if isinstance(a, ErrorT):
        return b
    if isinstance(b, ErrorT):
        return a
    if isinstance(a, NoneT):
        return b if isinstance(b, MaybeT | NoneT) else MaybeT(b)
    if isinstance(b, NoneT):
        return join(b, a)
    if isinstance(a, MaybeT) or isinstance(b, MaybeT):
        inner = join(a.item if isinstance(a, MaybeT) else a, b.item if isinstance(b, MaybeT) else b)
        return None if inner is None else MaybeT(inner)
    match a, b:
        case NumberT(), NumberT():
            low = None if a.low is None or b.low is None else min(a.low, b.low)
            high = None if a.high is None or b.high is None else max(a.high, b.high)
            return NumberT(low, high)
        case PieceT(), PieceT():
            return PieceT(a.kinds | b.kinds)
        case SetT(), SetT():
            item = join(a.item, b.item)
            return None if item is None else SetT(item, a.ordered and b.ordered)
        case _:
            return a if a == b else None


def plain(t: Type) -> Type:
    """Without `or none`."""
    return t.item if isinstance(t, MaybeT) else t
