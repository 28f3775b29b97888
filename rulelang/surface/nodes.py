"""The surface tree: what was written, line by line.  Each docstring is the rule text that the node stands for."""

from attrs import field, frozen

from rulelang.source import SourceFile, Span


@frozen
class Node:
    """What every node has: the place where it was written, and the source mark `{R9}` of its line."""

    span: Span = field(kw_only=True, eq=False, repr=False)
    mark: str | None = field(kw_only=True, default=None)


# ---------------------------------------------------------------- values


@frozen
class Number(Node):
    """`15`"""

    value: int


@frozen
class Truth(Node):
    """`yes`, `no`"""

    value: bool


@frozen
class Name(Node):
    """`points`"""

    name: str


@frozen
class KindName(Node):
    """`Role`"""

    name: str


@frozen
class Lookup(Node):
    """`steps(number of players)`"""

    name: str
    keys: "tuple[Expr, ...]"


@frozen
class Property(Node):
    """`row(upper) of anna`"""

    target: "Name | Lookup"
    owner: "Expr"


@frozen
class Yours(Node):
    """`your points`, `their influence(greens)`"""

    whose: str
    target: "Name | Lookup"


@frozen
class Range(Node):
    """`0..15`, `0..`"""

    low: "Expr"
    high: "Expr | None"


@frozen
class Ordered(Node):
    """`players starting with starter`, `Field after market`"""

    base: "Expr"
    order: str
    start: "Expr"


@frozen
class OfKind(Node):
    """`Trade in hand`"""

    kind: str
    place: "Expr"


@frozen
class ListOf(Node):
    """`[grey, other_grey]`"""

    items: "tuple[Expr, ...]"


@frozen
class Or(Node):
    """`a or b`"""

    items: "tuple[Expr, ...]"


@frozen
class And(Node):
    """`a and b`"""

    items: "tuple[Expr, ...]"


@frozen
class Not(Node):
    """`not acted`"""

    item: "Expr"


@frozen
class Compare(Node):
    """`coins >= 1`"""

    op: str
    left: "Expr"
    right: "Expr"


@frozen
class Is(Node):
    """`rest is lost`, `holder is not you`"""

    left: "Expr"
    right: "Expr"
    negated: bool


@frozen
class IsIn(Node):
    """`p is in front`"""

    left: "Expr"
    right: "Expr"
    negated: bool


@frozen
class IsEmpty(Node):
    """`deck is not empty`"""

    item: "Expr"
    negated: bool


@frozen
class Sum(Node):
    """`a + b - c`, flat however long"""

    first: "Expr"
    rest: "tuple[tuple[str, Expr], ...]"


@frozen
class Times(Node):
    """`2 * sellers`"""

    left: "Expr"
    right: "Expr"


@frozen
class Divided(Node):
    """`cubes / 3 rounded down`"""

    left: "Expr"
    right: "Expr"
    up: bool


@frozen
class Modulo(Node):
    """`rounds mod 4`"""

    left: "Expr"
    right: "Expr"


@frozen
class VerbTest(Node):
    """`laid guards`, as a test"""

    verb: str
    item: "Expr"


@frozen
class Such(Node):
    """`who laid guards`, `where role is r`, `has points >= target`"""

    word: str
    test: "Expr"


@frozen
class Those(Node):
    """`card in display where role is r`: a group, its candidate's name, a condition"""

    var: str | None
    base: "Expr"
    such: Such | None


@frozen
class Fold(Node):
    """`number of hand`, `some card in display where ...`, `first p in ...`, `no card in ...`"""

    op: str
    those: Those


@frozen
class FoldOver(Node):
    """`total of (1 + barrels) over sold`"""

    op: str
    measure: "Expr"
    those: Those


@frozen
class Every(Node):
    """`every player has hand is empty`"""

    those: Those
    test: "Expr"


@frozen
class Arg(Node):
    """`into points`; `, at most 2 each`"""

    word: str
    value: "Expr"
    is_label: bool
    each: bool = False


@frozen
class NounPhrase(Node):
    """`leader among players by number of stalls(ship), ties none`, as a value"""

    head: "Expr"
    args: tuple[Arg, ...]


@frozen
class Counted(Node):
    """`2 Cube`: so many pieces of a kind, to be moved"""

    count: "Expr"
    kind: str


Expr = (
    Number
    | Truth
    | Name
    | KindName
    | Lookup
    | Property
    | Yours
    | Range
    | Ordered
    | OfKind
    | ListOf
    | Or
    | And
    | Not
    | Compare
    | Is
    | IsIn
    | IsEmpty
    | Sum
    | Times
    | Divided
    | Modulo
    | VerbTest
    | Those
    | Fold
    | FoldOver
    | Every
    | NounPhrase
    | Counted
)


# ---------------------------------------------------------------- types


@frozen
class SetOf(Node):
    """`set of Good`"""

    item: str


@frozen
class Per(Node):
    """`number per player`, `counter per player`: something that is worked out for each"""

    what: "str | SetOf"
    of: str


@frozen
class TypeExpr(Node):
    """`Faction or none`, `0..15`, `yes or no`, `30 or 45`; a word stands for itself"""

    parts: "tuple[int | str | Range | SetOf | Per, ...]"


# ---------------------------------------------------------------- decisions and flow


@frozen
class Pick(Node):
    """`with exactly 2 cards in hand where ... such that ...`; quantity `one` is `any`"""

    prep: str | None
    quantity: str
    count: Expr | None
    ordered: bool
    those: Those
    such_that: Expr | None


@frozen
class Text(Node):
    """`"buy {g} for {price(g)}"`: words, and values that stand between brackets"""

    parts: "tuple[str | Expr, ...]"

    @property
    def written(self) -> str:
        return self.span.text[1:-1]


@frozen
class Say(Node):
    """`say "{you} has more than {rival}"`: a line of the story, for everybody"""

    text: Text


@frozen
class Choice(Node):
    """`sail to any c in exits(ship), only if coins >= 1`; a choice without a menu has no name of its own"""

    name: str | None
    text: Text | None
    picks: tuple[Pick, ...]
    only_if: Expr | None
    body: "tuple[Statement, ...]"


@frozen
class Choose(Node):
    """`choose`, `rival chooses any lost in goods of rival`, `may swap ...`"""

    chooser: Name | None
    choices: tuple[Choice, ...]
    windows: tuple[str, ...]
    optional: bool


@frozen
class Phrase(Node):
    """`share_equally battle into points among players who laid guards, at most 2 each, remainder stays`"""

    verb: str
    item: Expr | None
    args: tuple[Arg, ...]


@frozen
class Step(Node):
    """`step guards "III.1 Guards"`"""

    label: str
    heading: str | None
    body: "tuple[Statement, ...]"


@frozen
class Repeat(Node):
    """`repeat rounds "Course of play"`, `repeat placement, 3 times`, `repeat 2 times`"""

    label: str | None
    heading: str | None
    times: Expr | None
    body: "tuple[Statement, ...]"


@frozen
class Let(Node):
    """`let sellers = players who laid trader`, `let gone = random k in Colour`"""

    name: str
    value: "Expr | Those"
    random: bool


@frozen
class If(Node):
    """`if`, `otherwise if`, `otherwise`"""

    test: Expr
    body: "tuple[Statement, ...]"
    otherwise: "tuple[Statement, ...]"


@frozen
class Together(Node):
    """`together each player who laid guards`; `secretly each player` where they are asked"""

    those: Those
    body: "tuple[Statement, ...]"
    secretly: bool


@frozen
class Measures(Node):
    """`by most points, then fewest towers, ties by_seat`"""

    items: tuple[tuple[str, Expr], ...]
    ties: Name


@frozen
class InTurn(Node):
    """`in turn each player starting with starter`"""

    those: Those
    order: Measures | None
    body: "tuple[Statement, ...]"


@frozen
class End(Node):
    """`end rounds if some player has points >= target`"""

    label: str
    when: Expr | None


@frozen
class Give(Node):
    """`give 4 if c`, `give 2 otherwise`, `give x`"""

    value: Expr
    when: Expr | None
    otherwise: bool


@frozen
class Needs(Node):
    """`needs number of purse >= n`"""

    test: Expr


@frozen
class Place(Node):
    """`counter cubes: 0..15, public, starts at 2, excess beyond 15 is lost`"""

    word: str
    name: str
    keys: tuple[TypeExpr, ...]
    type: TypeExpr
    visibility: tuple[str, ...]
    starts_at: Expr | None
    starts_with: str | None
    own: bool
    excess: tuple[tuple[str, Expr], ...]


Statement = Phrase | Place | Step | Repeat | Let | If | Together | InTurn | Choose | End | Give | Needs | Say


# ---------------------------------------------------------------- declarations


@frozen
class Header(Node):
    """`game harbour "Harbour", players 2..6`, `variant storm of coast "Storm"`, `library ...`, `data ...`"""

    word: str
    name: str
    title: str
    base: str | None = None
    players: Range | None = None


@frozen
class Use(Node):
    """`use harbour_data, split`"""

    names: tuple[str, ...]


@frozen
class Option(Node):
    """`option target: 30 or 45, usually 30, only if number of players <= 3`"""

    name: str
    type: TypeExpr
    usually: Expr
    only_if: Expr | None


@frozen
class Field(Node):
    """`symbols(Half, Faction): 0..3`"""

    name: str
    keys: tuple[TypeExpr, ...]
    type: TypeExpr


@frozen
class Cell(Node):
    """`2`, `market or delivery`, `every Colour`, `[purple, oil]`: each part stands for one value"""

    parts: "tuple[int | str | bool | KindName | ListOf, ...]"


@frozen
class Row(Node):
    """`4 times every Colour 1`, `left: 3 3 [purple, oil]`"""

    name: str | None
    copies: int
    cells: tuple[Cell, ...]


@frozen
class Kind(Node):
    """`kind Half: upper, lower`, `ring Field: ...`, or with printed fields and rows"""

    name: str
    is_ring: bool
    fields: tuple[Field, ...]
    rows: tuple[Row, ...]
    source: str | None


@frozen
class Pieces(Node):
    """`pieces Good(colour: Colour, barrels: 1..3)`, `pieces Stall: 15`"""

    name: str
    count: Expr | None
    fields: tuple[Field, ...]
    rows: tuple[Row, ...]
    source: str | None


@frozen
class Param(Node):
    """`limit: number`"""

    name: str
    type: TypeExpr


@frozen
class TableRow(Node):
    """`4..6: 1`"""

    keys: "tuple[int | str | tuple[int, int | None], ...]"
    value: Expr


@frozen
class Table(Node):
    """`table alms(cards: 1..8), source rulebook`"""

    name: str
    params: tuple[Param, ...]
    rows: tuple[TableRow, ...]
    source: str | None


@frozen
class Map(Node):
    """`map exits(city: City), both ways, drawn at east and south, source public`"""

    name: str
    param: Param
    both_ways: bool
    drawn_at: tuple[Name, ...]  # to the right, downwards; or nothing
    rows: tuple[TableRow, ...]
    source: str | None


@frozen
class ArgParam(Node):
    """`into goal: counter per player`; `, at most limit: number each default pool`"""

    word: str
    param: Param
    is_label: bool
    each: bool
    default: Expr | None


@frozen
class Signature(Node):
    """`share pool: counter into goal: counter per player`; form: plain, lookup, object, of, bare"""

    form: str
    name: str
    params: tuple[Param, ...]
    args: tuple[ArgParam, ...]


@frozen
class Define(Node):
    """`define laid r: Role = ...`: a value, never an effect"""

    signature: Signature
    gives: TypeExpr | None
    body: tuple[Statement, ...]


@frozen
class Verb(Node):
    """`verb build_tower`: effects that happen at the call"""

    signature: Signature
    heading: str | None
    body: tuple[Statement, ...]


@frozen
class EachPlayer(Node):
    """`each player`: what is indented exists once for every player"""

    items: tuple[Place | Define | Verb | Pieces, ...]


@frozen
class During(Node):
    """`during edge, action`: options that join every decision of that window"""

    windows: tuple[str, ...]
    choices: tuple[Choice, ...]


@frozen
class Ranking(Node):
    """`ranking by most points, then most cubes, ties shared`"""

    measures: Measures


@frozen
class Show(Node):
    """`show influence, strength`: derived values that lie on the table like places"""

    names: tuple[Name, ...]


@frozen
class ReplaceDeclaration(Node):
    """`replace define called_up(f: Faction)`"""

    item: Define | Verb | Table | Map | Ranking


@frozen
class Label(Node):
    """`residence.waive`"""

    parts: tuple[str, ...]


@frozen
class Hook(Node):
    """`before contests`, `after sell`, `replace boats, boats`"""

    word: str
    labels: tuple[Label, ...]
    body: tuple[Statement, ...]


@frozen
class Offer(Node):
    """`offer sail only if not winter`"""

    labels: tuple[Label, ...]
    only_if: Expr


@frozen
class Extend(Node):
    """`extend pieces Influence`, `extend kind Effect`, `extend table prices`, `extend map exits`"""

    word: str
    name: str
    rows: tuple[Row | TableRow, ...]
    source: str | None


@frozen
class ReplaceRows(Node):
    """`replace rows of exits`: what a table or a map has for these keys"""

    name: str
    rows: tuple[TableRow, ...]
    source: str | None


@frozen
class Invariant(Node):
    """`always true "a city stores no more than it has spaces"`"""

    text: str
    test: Expr


@frozen
class Target(Node):
    """`row(lower) of anna`"""

    name: str
    keys: tuple[int | str, ...]
    owner: str | None


Item = tuple[int | str | bool, ...]


@frozen
class ExampleValue(Node):
    """`orange 1`, or a list `[orange 1, brown 2]`"""

    cells: Item
    items: tuple[Item, ...] | None


@frozen
class ExPlayers(Node):
    """`players anna, ben`"""

    names: tuple[str, ...]


@frozen
class ExOption(Node):
    """`option set_scoring: largest`"""

    name: str
    value: int | str | bool


@frozen
class ExState(Node):
    """`given battle: 9`, `expect points: 2, 3`, `chance gone: red`"""

    word: str
    target: Target
    values: tuple[ExampleValue, ...]


@frozen
class ExRun(Node):
    """`run guards, greens`, `run actions for anne`"""

    labels: tuple[str, ...]
    player: str | None


@frozen
class ExChoice(Node):
    """`anna chooses lot three_for_one`, `anna cannot choose sail to reval`"""

    player: str
    word: str
    name: str
    values: tuple[tuple[str | None, ExampleValue], ...]


@frozen
class ExThat(Node):
    """`expect that number of hand of anna is 8`"""

    test: Expr


ExampleLine = ExPlayers | ExOption | ExState | ExRun | ExChoice | ExThat


@frozen
class Example(Node):
    """`example "V4: the odd seal stays" from "Examples for Battle, 1"`"""

    text: str
    origin: str | None
    lines: tuple[ExampleLine, ...]


Declaration = (
    Header
    | Use
    | Option
    | Kind
    | Pieces
    | Table
    | Map
    | Place
    | EachPlayer
    | Show
    | Define
    | Verb
    | Step
    | Repeat
    | During
    | Ranking
    | Invariant
    | Example
    | ReplaceDeclaration
    | Hook
    | Offer
    | Extend
    | ReplaceRows
)


@frozen
class Comment(Node):
    """`# ...`, kept for the formatter and for the sentence above a library definition"""

    text: str


@frozen
class Module(Node):
    """One file: its header, everything declared in it in order, and its comments"""

    source: SourceFile = field(eq=False)
    header: Header | None
    items: tuple[Declaration, ...]
    comments: tuple[Comment, ...]
    unread: frozenset[str] = frozenset()  # words of declarations that could not be read

    @property
    def name(self) -> str:
        return self.header.name if self.header else ""

    def doc(self, item: Node) -> str:
        """The comment lines directly above a declaration."""
        lines = {c.span.line: c.text.lstrip("# ").rstrip() for c in self.comments}
        found: list[str] = []
        at = item.span.line - 1
        while at in lines:
            found.insert(0, lines[at])
            at -= 1
        return "\n".join(found)
