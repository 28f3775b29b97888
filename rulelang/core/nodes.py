"""The typed core: small, without sugar, every name replaced by what it means.  Each docstring is the rule text."""

from typing import Union

from attrs import define, field, frozen

from rulelang.core.types import Type
from rulelang.limits import Limits
from rulelang.source import NOWHERE, Span

# ---------------------------------------------------------------- what there is


@frozen(eq=False)
class Field:
    """`symbols(Half, Faction): 0..3`; `values[row]` is a flat tuple over the keys"""

    name: str
    keys: tuple[Type, ...]
    type: Type
    values: tuple[tuple[int, ...], ...]


@frozen(eq=False)
class Kind:
    """`kind Role: guards, green`; `ring Field: ...`"""

    name: str
    is_ring: bool
    members: tuple[str, ...]
    fields: dict[str, Field]
    span: Span
    source: str | None = None


@frozen(eq=False)
class Pieces:
    """`pieces Good(colour: Colour, barrels: 1..3)`: rows that differ, each with its number of copies"""

    name: str
    per_player: bool
    fields: dict[str, Field]
    rows: tuple[tuple[tuple[int, ...], int], ...]  # the cells as written, flat, and copies
    count: "Expr | None"  # of pieces that are all alike
    span: Span
    source: str | None = None


@frozen(eq=False)
class Table:
    """`table alms(cards: 1..8), source rulebook`; values flat over the keys, each with the row that says it"""

    name: str
    keys: tuple[Type, ...]
    type: Type
    values: tuple[int, ...]
    rows: tuple[Span, ...] = field(repr=False)
    span: Span
    source: str | None = None


@frozen(eq=False)
class Map:
    """`map exits(city: City), drawn at east and south`: the table of the same name, as pictures need it"""

    name: str
    kind: Kind
    ways: tuple[tuple[int, ...], ...]  # from each member
    at: tuple[tuple[int, int], ...]  # where each lies: to the right, downwards; or nothing


@frozen(eq=False)
class Place:
    """`counter cubes: 0..15, public, starts at 2, excess beyond 15 is lost`; a place of a body has no visibility"""

    name: str
    word: str
    per_player: bool
    keys: tuple[Type, ...]
    type: Type
    low: "Expr | None"
    high: "Expr | None"
    stops_low: bool
    stops_high: bool
    visibility: str  # public, private, hidden, local
    counted: bool
    starts_at: "Expr | None"
    starts_with: str | None
    span: Span
    mark: str | None = None

    @property
    def holds_pieces(self) -> bool:
        return self.word in ("zone", "pile", "slot")


@frozen(eq=False)
class Option:
    """`option target: 30 or 45, usually 30, only if ...`"""

    name: str
    type: Type
    values: tuple[int, ...]
    words: tuple[str, ...]
    default: int
    only_if: "Expr | None"
    span: Span


@frozen(eq=False)
class Variable:
    """A name for one value: a `let`, a loop's element, a pick, a candidate, a parameter"""

    name: str
    type: Type
    source: "PlaceRef | None" = None


@frozen(eq=False)
class Origin:
    """Which rule it was: the line, its heading and mark, the layer it comes from, and the calls that led there"""

    span: Span
    label: str = ""
    heading: str = ""
    mark: str | None = None
    layer: str = ""
    calls: tuple[Span, ...] = ()


# ---------------------------------------------------------------- values


@frozen
class PlaceRef:
    """`stalls(ship) of anna`"""

    place: Place
    owner: "Expr | None"
    keys: "tuple[Expr, ...]"
    span: Span = field(eq=False, repr=False, default=NOWHERE)


@frozen
class Value:
    """What every value has; `source` is the place that its pieces lie in, `lines` those of definitions that it comes from"""

    type: Type = field(kw_only=True)
    span: Span = field(kw_only=True, eq=False, repr=False, default=NOWHERE)
    source: PlaceRef | None = field(kw_only=True, default=None, eq=False, repr=False)
    lines: tuple[Span, ...] = field(kw_only=True, default=(), eq=False, repr=False)


@frozen
class Const(Value):
    """`15`, `greens`, `none`, `[grey, other_grey]` as a mask"""

    value: int


@frozen
class Var(Value):
    """`card`"""

    var: Variable


@frozen
class Read(Value):
    """`points`"""

    place: PlaceRef


@frozen
class PlayerCount(Value):
    """`number of players`"""


@frozen
class Players(Value):
    """`players`"""


@frozen
class OptionValue(Value):
    """`target`"""

    option: Option


@frozen
class Count(Value):
    """`number of hand`"""

    base: "Expr"


@frozen
class FieldOf(Value):
    """`symbols(upper, f) of card`"""

    name: str
    keys: "tuple[Expr, ...]"
    item: "Expr"


@frozen
class TableAt(Value):
    """`steps(number of players)`"""

    table: Table
    keys: "tuple[Expr, ...]"


@frozen
class Sum(Value):
    """`a + b - c`"""

    terms: "tuple[tuple[int, Expr], ...]"


@frozen
class Product(Value):
    """`a * b`"""

    left: "Expr"
    right: "Expr"


@frozen
class Quotient(Value):
    """`a / b rounded down`"""

    left: "Expr"
    right: "Expr"
    up: bool


@frozen
class Remainder(Value):
    """`a mod b`"""

    left: "Expr"
    right: "Expr"


@frozen
class Compare(Value):
    """`a <= b`, `a is b`"""

    op: str
    left: "Expr"
    right: "Expr"


@frozen
class SameSet(Value):
    """`a is b`, of two groups"""

    left: "Expr"
    right: "Expr"


@frozen
class All(Value):
    """`a and b`, stops early"""

    items: "tuple[Expr, ...]"


@frozen
class AnyOf(Value):
    """`a or b`, stops early"""

    items: "tuple[Expr, ...]"


@frozen
class Not(Value):
    """`not a`"""

    item: "Expr"


@frozen
class Filter(Value):
    """`card in hand where role is r`"""

    var: Variable
    base: "Expr"
    test: "Expr"


@frozen
class Exists(Value):
    """`some player has points >= target`"""

    var: Variable
    base: "Expr"
    test: "Expr"


@frozen
class ForAll(Value):
    """`every player has hand is empty`"""

    var: Variable
    base: "Expr"
    test: "Expr"


@frozen
class FirstOf(Value):
    """`first p in players after holder where ...`; none where there is none"""

    base: "Expr"
    last: bool


@frozen
class Over(Value):
    """`total of (1 + barrels) over sold`; op is total, largest or smallest"""

    op: str
    var: Variable
    base: "Expr"
    value: "Expr"


@frozen
class Contains(Value):
    """`p is in front`"""

    item: "Expr"
    base: "Expr"


@frozen
class ListOf(Value):
    """`[a, b]`"""

    items: "tuple[Expr, ...]"


@frozen
class Span_(Value):
    """`1..dock_count`"""

    low: "Expr"
    high: "Expr"


@frozen
class Arranged(Value):
    """`players starting with p`, `Field after f`"""

    base: "Expr"
    start: "Expr"
    after: bool


@frozen
class Reversed(Value):
    """`reversed(players starting with p)`"""

    base: "Expr"


@frozen
class Others(Value):
    """`opponents`: everybody but this player, clockwise from him"""

    player: "Expr"


@frozen
class OfKind(Value):
    """`Trade in hand`"""

    base: "Expr"
    kinds: frozenset[str]


@frozen
class Case(Value):
    """`give a if c`, `give b otherwise`"""

    cases: "tuple[tuple[Expr, Expr], ...]"
    default: "Expr"


@frozen
class LetIn(Value):
    """`let x = ...` inside a definition"""

    var: Variable
    value: "Expr"
    body: "Expr"


@frozen
class Demand(Value):
    """`needs c` inside a definition"""

    test: "Expr"
    body: "Expr"


@define(eq=False)
class Function:
    """A definition whose arguments are plain values: compiled once, called everywhere"""

    name: str
    params: tuple[Variable, ...]
    type: Type
    body: "Expr | None"
    span: Span


@frozen
class Call(Value):
    """`city_points(c)`"""

    function: Function
    args: "tuple[Expr, ...]"


@frozen
class Compute(Value):
    """A definition with loops over local places: runs, and gives a value"""

    body: "tuple[Statement, ...]"
    result: "Expr"


@frozen
class Nth(Value):
    """`top of deck`, `nth(2) of harbour`, `bottom of deck`; index from the top, bottom is -1"""

    place: PlaceRef
    index: "Expr"


@frozen
class OwnerOf(Value):
    """`owner of disc`"""

    item: "Expr"


@frozen
class Sure(Value):
    """`holder`, where it may be none but must not be"""

    item: "Expr"


@frozen
class Within(Value):
    """The `7` of `wages(7)`, where `define wages(n: 1..3)` holds it to its range; `about` is the parameter"""

    item: "Expr"
    about: str
    low: int | None
    high: int | None


@frozen
class PositionOf(Value):
    """`position of disc` in its pile; 1 is the top"""

    item: "Expr"
    place: PlaceRef


Expr = Union[
    Const, Var, Read, PlayerCount, Players, OptionValue, Count, FieldOf, TableAt, Sum, Product, Quotient, Remainder,
    Compare, SameSet, All, AnyOf, Not, Filter, Exists, ForAll, FirstOf, Over, Contains, ListOf, Span_, Arranged,
    Reversed, Others, OfKind, Case, LetIn, Demand, Call, Compute, Nth, OwnerOf, PositionOf, Sure, Within,
]  # fmt: skip


# ---------------------------------------------------------------- what happens


@frozen
class Action:
    """What every statement has: the rule that it is"""

    origin: Origin = field(kw_only=True, eq=False, repr=False)


@frozen
class Change(Action):
    """`raise cubes by 4`, `lower coins by 1`"""

    place: PlaceRef
    amount: Expr
    sign: int


@frozen
class SetTo(Action):
    """`set ship to c`; also the start of a place inside a body"""

    place: PlaceRef
    value: Expr


@frozen
class MovePieces(Action):
    """`move card to display`, `move display to hand`; `what` is one piece or a group that lies in `source`"""

    what: Expr
    source: PlaceRef
    goal: PlaceRef
    under: bool


@frozen
class MoveCount(Action):
    """`move 2 from stock to stalls(c)`, `move 3 from deck to hand`: so many alike, or from the top"""

    count: Expr
    source: PlaceRef
    goal: PlaceRef
    under: bool


@frozen
class Shuffle(Action):
    """`shuffle deck`"""

    place: PlaceRef


@frozen
class Bind(Action):
    """`let sellers = ...`"""

    var: Variable
    value: Expr


@frozen
class BindRandom(Action):
    """`let gone = random k in Colour`"""

    var: Variable
    base: Expr


@frozen
class Branch(Action):
    """`if c` ... `otherwise`"""

    test: Expr
    then: "tuple[Statement, ...]"
    otherwise: "tuple[Statement, ...]"


@frozen(eq=False)
class Target:
    """What an `end` can name"""

    label: str


@frozen
class Block(Action):
    """`step guards`; a verb's body and a hooked label are blocks too"""

    target: Target
    path: str
    body: "tuple[Statement, ...]"
    is_step: bool


@frozen
class Loop(Action):
    """`repeat rounds`, `repeat 3 times`"""

    target: Target
    path: str
    count: Variable
    times: Expr | None
    body: "tuple[Statement, ...]"


@frozen
class Order:
    """`by most points, then fewest towers, ties by_seat`"""

    var: Variable
    items: tuple[tuple[int, Expr], ...]  # 1 for most, -1 for fewest


@frozen
class ForEach(Action):
    """`in turn each player starting with starter`"""

    var: Variable
    base: Expr
    order: Order | None
    body: "tuple[Statement, ...]"


@frozen
class Together(Action):
    """`together each player who laid guards`: isolated threads, joined at the end"""

    var: Variable
    base: Expr
    body: "tuple[Statement, ...]"
    asks: bool
    isolate: bool  # some thread reads what another writes


@frozen
class Pick:
    """`with exactly 2 cards in hand such that ...`; quantity one, exactly, up to, at least, any number"""

    prep: str | None
    quantity: str
    count: Expr | None
    ordered: bool
    var: Variable
    base: Expr
    such_that: Expr | None
    span: Span = field(eq=False, repr=False)


@frozen
class Text:
    """`"buy {g} for {price(g)}"`: words and values in turn"""

    parts: tuple[str | Expr, ...]

    @property
    def values(self) -> tuple[Expr, ...]:
        return tuple(p for p in self.parts if not isinstance(p, str))

    @property
    def written(self) -> str:
        return "".join(p if isinstance(p, str) else f"{{{p.span.text}}}" for p in self.parts)


@frozen
class Choice:
    """`sail to any c in exits(ship), only if coins >= 1`; after an option of a window one is asked again"""

    name: str
    path: str
    text: Text | None
    picks: tuple[Pick, ...]
    only_if: Expr | None
    body: "tuple[Statement, ...]"
    again: bool
    origin: Origin = field(eq=False, repr=False)


@frozen
class Decide(Action):
    """`choose`, `rival chooses`, `may`"""

    name: str
    path: str
    player: Expr
    choices: tuple[Choice, ...]


@frozen
class End(Action):
    """`end rounds if ...` (the condition is a branch around it)"""

    target: Target


@frozen
class Need(Action):
    """`needs number of purse >= n`"""

    test: Expr


@frozen
class Say(Action):
    """`say "{you} has more than {rival}"`: a line of the story, for everybody"""

    text: Text


Statement = Union[
    Change, SetTo, MovePieces, MoveCount, Shuffle, Bind, BindRandom, Branch, Block, Loop, ForEach, Together, Decide, End, Need, Say
]  # fmt: skip


@frozen(eq=False)
class Ranking:
    """`ranking by most points, then most cubes, ties shared`"""

    var: Variable
    items: tuple[tuple[int, Expr, str], ...]
    shared: bool
    span: Span


@frozen(eq=False)
class Invariant:
    """`always true "..."`"""

    text: str
    test: Expr
    span: Span
    module: str


@frozen(eq=False)
class Shown:
    """`show influence`: a derived value that everybody sees, for every key and, where it is a player's, every player"""

    name: str
    function: Function
    per_player: bool
    span: Span

    @property
    def keys(self) -> tuple[Type, ...]:
        return tuple(p.type for p in self.function.params[self.per_player :])


@define(eq=False)
class Game:
    """A checked game: everything the later stages need, for every player count"""

    name: str
    title: str
    players: range
    layers: tuple[str, ...]
    kinds: dict[str, Kind]
    pieces: dict[str, Pieces]
    tables: dict[str, Table]
    maps: dict[str, Map]
    places: dict[str, Place]
    options: dict[str, Option]
    limits: Limits
    flow: tuple[Statement, ...] = ()
    ranking: Ranking | None = None
    invariants: tuple[Invariant, ...] = ()
    shown: tuple[Shown, ...] = ()
