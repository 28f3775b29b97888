"""The symbol tables: every declared thing under its name, every label that can be hooked on, every override."""

import re
from collections.abc import Mapping

from attrs import define, field, frozen

from rulelang.source import Span
from rulelang.surface import nodes


@frozen(eq=False)
class Symbol:
    """One declared thing: `counter points` under `each player` of the module `harbour`."""

    name: str
    sort: str  # kind, pieces, table, map, place, define, verb, option
    node: nodes.Node
    module: nodes.Module
    per_player: bool = False


@define(eq=False)
class Definition:
    """A value or verb; `original` is what a layer replaced."""

    node: nodes.Define | nodes.Verb
    module: nodes.Module
    per_player: bool
    original: "Definition | None" = None

    @property
    def name(self) -> str:
        return self.node.signature.name

    @property
    def is_verb(self) -> bool:
        return isinstance(self.node, nodes.Verb)


@frozen(eq=False)
class LabelSymbol:
    """`rounds.guards`: a step, loop, option or verb that a layer can name."""

    path: tuple[str, ...]
    sort: str  # step, loop, option, verb
    node: nodes.Node
    module: nodes.Module
    heading: str = ""

    @property
    def text(self) -> str:
        return ".".join(self.path)


@frozen(eq=False)
class Hooked:
    """One block that a layer adds at a label, with the layer it comes from."""

    body: tuple[nodes.Statement, ...]
    module: nodes.Module
    span: Span


@define(eq=False)
class Hooks:
    """Everything that layers do at one label."""

    before: list[Hooked] = field(factory=list)
    after: list[Hooked] = field(factory=list)
    replace: Hooked | None = None
    offers: list[tuple[nodes.Expr, nodes.Module]] = field(factory=list)


@define(eq=False)
class Names:
    """The whole program under its names, with all layers applied."""

    header: nodes.Header
    modules: tuple[nodes.Module, ...]
    layers: tuple[nodes.Module, ...]
    symbols: dict[str, Symbol] = field(factory=dict)  # values and kinds share one space
    members: dict[str, tuple[str, ...]] = field(factory=dict)  # member -> kinds that have it
    definitions: dict[str, list[Definition]] = field(factory=dict)
    shapes: dict[tuple[object, ...], list[Definition]] = field(factory=dict)  # definitions that are written alike
    flow: list[tuple[nodes.Step | nodes.Repeat, nodes.Module]] = field(factory=list)
    windows: dict[str, list[tuple[nodes.Choice, nodes.Module]]] = field(factory=dict)
    ranking: tuple[nodes.Ranking, nodes.Module] | None = None
    shown: list[tuple[nodes.Show, nodes.Module]] = field(factory=list)
    invariants: list[tuple[nodes.Invariant, nodes.Module]] = field(factory=list)
    examples: list[tuple[nodes.Example, nodes.Module]] = field(factory=list)
    labels: list[LabelSymbol] = field(factory=list)
    _by_end: dict[str, list[LabelSymbol]] = field(factory=dict)
    hooks: dict[int, Hooks] = field(factory=dict)  # by id of the labelled node
    extensions: dict[str, list[tuple[nodes.Extend, nodes.Module]]] = field(factory=dict)
    new_rows: dict[str, list[nodes.ReplaceRows]] = field(factory=dict)
    options: list[tuple[nodes.Option, nodes.Module]] = field(factory=list)
    uses: dict[str, frozenset[str]] = field(factory=dict)  # module -> modules it sees, itself included
    unread: frozenset[str] = frozenset()  # words of declarations that could not be read
    library: Mapping[str, str] = field(factory=dict)  # definition of the library -> its file, used or not
    used: set[int] = field(factory=set)  # ids of nodes whose name was used

    def is_unread(self, text: str) -> bool:
        """Is it made of words of a declaration that could not be read?  Then it is not unknown."""
        words = re.findall(r"[A-Za-z]\w*", text)
        return bool(words) and self.unread.issuperset(words)

    def label(self, name: str) -> list[LabelSymbol]:
        """The labels that a dotted name can mean: those whose path ends in it."""
        parts = tuple(name.split("."))
        if not self._by_end:
            for label in self.labels:
                self._by_end.setdefault(label.path[-1], []).append(label)
        return [label for label in self._by_end.get(parts[-1], ()) if label.path[-len(parts) :] == parts]
