"""What happened, one small record for each effect, with the rule that made it.  Slots are numbers; words come later."""

from attrs import field, frozen

from rulelang.core import nodes as core


@frozen
class Event:
    """What every event has: the rule"""

    origin: core.Origin | None = field(eq=False, repr=False)


@frozen
class Counted(Event):
    """A counter went from `old` to `new`; `lost` went beyond where it stops"""

    place: core.Place
    slot: int
    old: int
    new: int
    lost: int


@frozen
class Became(Event):
    """A status was set"""

    place: core.Place
    slot: int
    old: int
    new: int


@frozen
class Moved(Event):
    """Pieces went from one place to another; `taken` are their positions in a pile.  Ruled: which pieces, and where
    they lay, follows from the rule; else somebody chose them, or a condition did"""

    pieces: tuple[int, ...]
    source: core.Place
    source_slot: int
    goal: core.Place
    goal_slot: int
    under: bool
    taken: tuple[int, ...]
    ruled: bool


@frozen
class Shuffled(Event):
    """A pile was shuffled"""

    place: core.Place
    slot: int


@frozen
class Drawn(Event):
    """Chance picked one"""

    var: core.Variable
    value: int


@frozen
class Began(Event):
    """A step began; inside of a choice it would tell others which one was made"""

    path: str
    inside: bool


@frozen
class Again(Event):
    """A loop of the flow begins its n-th pass"""

    name: str
    count: int


@frozen
class Chosen(Event):
    """A seat made a choice; `picks` are values of the option's picks"""

    player: int
    decision: str
    option: str
    picks: tuple[int, ...]
    choice: core.Choice
    told: tuple[int, ...] = ()  # the values in the option's text, as they were then


@frozen
class Said(Event):
    """A rule told something to everybody"""

    text: core.Text
    values: tuple[int, ...]


AnyEvent = Counted | Became | Moved | Shuffled | Drawn | Began | Again | Chosen | Said
