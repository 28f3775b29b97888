"""What a name means at one point of a rule: variables, parameters, the player of the block, candidates of a clause."""

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

from rulelang.core import nodes as core
from rulelang.core.types import Type
from rulelang.source import Span
from rulelang.surface import nodes


@frozen(eq=False)
class Bound:
    """A value, fixed: a `let`, a loop's element, a pick, a parameter"""

    expr: core.Expr


@frozen(eq=False)
class Measure:
    """`number per T`: an expression of the caller about one T, worked out at each use"""

    expr: nodes.Expr
    scope: "Scope"
    type: Type  # that each value must have; an error type where anything will do
    title: str  # `score` of `leader`


@frozen(eq=False)
class PlaceArg:
    """`counter`, `pile`: the place itself, key and owner fixed"""

    ref: core.PlaceRef


@frozen(eq=False)
class ViewArg:
    """`zone` bound to a part of a place, such as `Trade in hand`: looked at anew each time"""

    expr: nodes.Expr
    scope: "Scope"


@frozen(eq=False)
class Family:
    """`counter per player`: one place for each"""

    place: core.Place
    keys: tuple[core.Expr, ...]


Binding = Bound | Measure | PlaceArg | ViewArg | Family


@frozen(eq=False)
class Candidate:
    """What a clause is about: `it`, and `their` where it is a player"""

    expr: core.Expr
    type: Type


@frozen(eq=False)
class Scope:
    module: nodes.Module
    names: dict[str, Binding] = {}
    you: core.Expr | None = None
    whose_is_told: bool = False  # the loop around it was told to give the second player a name
    nested: bool = False  # in a player loop inside a player's block: say whose
    candidates: tuple[Candidate, ...] = ()
    targets: dict[str, core.Target] = {}
    outer_targets: frozenset[str] = frozenset()  # labels that a `together` closes off
    path: tuple[str, ...] = ()
    heading: str = ""
    mark: str | None = None
    layer: str = ""
    calls: tuple[Span, ...] = ()
    types: dict[str, Type] = {}  # type variables of a library definition at this call
    original: Callable[["Scope"], Any] | None = None

    def bind(self, name: str, binding: Binding) -> "Scope":
        return evolve(self, names={**self.names, name: binding})

    def about(self, expr: core.Expr, type: Type) -> "Scope":
        return evolve(self, candidates=(*self.candidates, Candidate(expr, type)))

    def origin(self, node: nodes.Node) -> core.Origin:
        return core.Origin(node.span, ".".join(self.path), self.heading, node.mark or self.mark, self.layer, self.calls)
