"""The phase graph: nodes by number, edges as fields.  Each node keeps the rule that it came from."""

from typing import Union

from attrs import field, frozen

from rulelang.core import nodes as core


@frozen
class Node:
    """What every node has: its number, the path of labels, and the rule"""

    id: int
    path: str = field(kw_only=True, default="")
    origin: core.Origin | None = field(kw_only=True, default=None, eq=False, repr=False)


@frozen
class Do(Node):
    """Effects, one after the other"""

    actions: tuple[core.Change | core.SetTo | core.MovePieces | core.MoveCount | core.Bind | core.Need | core.Say, ...]
    next: int


@frozen
class Chance(Node):
    """`shuffle deck`, `let gone = random ...`"""

    action: core.Shuffle | core.BindRandom
    next: int


@frozen
class Test(Node):
    """`if c`"""

    test: core.Expr
    yes: int
    no: int


@frozen
class LoopStart(Node):
    """`repeat`: the count is 0; how often is settled here, once"""

    count: core.Variable
    times: core.Expr | None
    limit: core.Variable
    next: int


@frozen
class LoopHead(Node):
    """The next pass, or the end of a counted loop"""

    count: core.Variable
    limit: core.Variable | None
    body: int
    exit: int
    told: bool  # a named loop of the flow: its passes are part of the story


@frozen
class EachStart(Node):
    """`in turn each`: who, and in what order, is read here once"""

    queue: core.Variable
    base: core.Expr
    order: core.Order | None
    next: int


@frozen
class EachHead(Node):
    """The next one, or the end"""

    queue: core.Variable
    var: core.Variable
    body: int
    exit: int


@frozen
class Ask(Node):
    """A decision; `bodies` are where its options lead"""

    decide: core.Decide
    bodies: tuple[int, ...]
    live: frozenset[core.Variable | core.Place]  # what is in scope here
    next: int


@frozen
class Fork(Node):
    """`together`: one isolated thread for each"""

    together: core.Together
    body: int
    live: frozenset[core.Variable | core.Place]  # what is in scope here
    next: int


@frozen
class ThreadEnd(Node):
    """A thread is done, and waits for the others"""


@frozen
class StepStart(Node):
    """`step guards` begins; inside: in the body of an option or thread"""

    next: int
    inside: bool = False


@frozen
class StepEnd(Node):
    """`step guards` is over: what is always true holds here"""

    next: int
    inside: bool = False


@frozen
class Stop(Node):
    """The end of the match"""


AnyNode = Union[Do, Chance, Test, LoopStart, LoopHead, EachStart, EachHead, Ask, Fork, ThreadEnd, StepStart, StepEnd, Stop]


@frozen
class PhaseGraph:
    """All nodes; `entry` is where a match begins"""

    nodes: tuple[AnyNode, ...]
    entry: int


def followers(node: AnyNode) -> tuple[int, ...]:
    """The edges that leave a node."""
    match node:
        case Do() | Chance() | LoopStart() | EachStart() | StepStart() | StepEnd():
            return (node.next,)
        case Test():
            return (node.yes, node.no)
        case LoopHead() | EachHead():
            return (node.body, node.exit)
        case Ask():
            return node.bodies
        case Fork():
            return (node.body, node.next)
        case ThreadEnd() | Stop():
            return ()
