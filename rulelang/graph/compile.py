"""Core statements to a phase graph.  Built from the end to the start, so that every node knows where it leads."""

from collections.abc import Iterable
from typing import Any

from attrs import define, evolve, field

from rulelang.core import nodes as core
from rulelang.graph import nodes as graph


@define(eq=False)
class _Builder:
    made: dict[int, graph.AnyNode] = field(factory=dict)
    ends: dict[core.Target, int] = field(factory=dict)
    live: tuple[core.Variable | core.Place, ...] = ()
    last: int = 0
    inside: bool = False

    def new(self) -> int:
        self.last += 1
        return self.last

    def put(self, node: graph.AnyNode) -> int:
        self.made[node.id] = node
        return node.id

    def block(self, body: Iterable[core.Statement], then: int) -> int:
        statements = list(body)
        before = self.live
        scopes = []
        for s in statements:  # what is bound by an earlier line is live in every later one
            scopes.append(self.live)
            if isinstance(s, core.Bind | core.BindRandom):
                self.live = (*self.live, s.var)
            elif isinstance(s, core.SetTo) and s.place.place.visibility == "local":
                self.live = (*self.live, s.place.place)
        for s, live in zip(reversed(statements), reversed(scopes), strict=True):
            self.live = live
            then = self.statement(s, then)
        self.live = before
        return then

    def statement(self, s: core.Statement, then: int) -> int:
        match s:
            case core.Change() | core.SetTo() | core.MovePieces() | core.MoveCount() | core.Bind() | core.Need() | core.Say():
                after = self.made.get(then)
                if isinstance(after, graph.Do):
                    return self.put(graph.Do(self.new(), (s, *after.actions), after.next, path=s.origin.label, origin=s.origin))
                return self.put(graph.Do(self.new(), (s,), then, path=s.origin.label, origin=s.origin))
            case core.Shuffle() | core.BindRandom():
                return self.put(graph.Chance(self.new(), s, then, path=s.origin.label, origin=s.origin))
            case core.Branch():
                yes, no = self.block(s.then, then), self.block(s.otherwise, then)
                return self.put(graph.Test(self.new(), s.test, yes, no, path=s.origin.label, origin=s.origin))
            case core.Block():
                self.ends[s.target] = then
                if not s.is_step:
                    return self.block(s.body, then)
                end = self.put(graph.StepEnd(self.new(), then, self.inside, path=s.path, origin=s.origin))
                self.ends[s.target] = end
                begin = self.block(s.body, end)
                return self.put(graph.StepStart(self.new(), begin, self.inside, path=s.path, origin=s.origin))
            case core.Loop():
                self.ends[s.target] = then
                head = self.new()
                limit = core.Variable(f"times of {s.target.label}", s.count.type)
                self.live = (*self.live, s.count, limit)
                body = self.block(s.body, head)
                counted = None if s.times is None else limit
                self.put(graph.LoopHead(head, s.count, counted, body, then, self._is_told(s), path=s.path, origin=s.origin))
                return self.put(graph.LoopStart(self.new(), s.count, s.times, limit, head, path=s.path, origin=s.origin))
            case core.ForEach():
                return self.each(s.var, s.base, s.order, s.body, then, s.origin)
            case core.Together():
                if not s.asks and not s.isolate:
                    return self.each(s.var, s.base, None, s.body, then, s.origin)
                end = self.put(graph.ThreadEnd(self.new(), path=s.origin.label, origin=s.origin))
                live = frozenset(self.live)
                self.live = (*self.live, s.var)
                outer, self.inside = self.inside, True
                body = self.block(s.body, end)
                self.inside = outer
                return self.put(graph.Fork(self.new(), s, body, live, then, path=s.origin.label, origin=s.origin))
            case core.Decide():
                return self.ask(s, then)
            case core.End():
                return self.ends[s.target]

    def _is_told(self, s: core.Loop) -> bool:
        return bool(s.target.label) and not self.inside and not s.origin.calls

    def each(
        self, var: core.Variable, base: core.Expr, order: core.Order | None, body: Iterable[core.Statement], then: int, origin: core.Origin
    ) -> int:
        queue = core.Variable(f"rest of {var.name}", base.type)
        head = self.new()
        self.live = (*self.live, queue, var)
        inner = self.block(body, head)
        self.put(graph.EachHead(head, queue, var, inner, then, path=origin.label, origin=origin))
        return self.put(graph.EachStart(self.new(), queue, base, order, head, path=origin.label, origin=origin))

    def ask(self, s: core.Decide, then: int) -> int:
        here = self.new()
        live = frozenset(self.live)
        outer, was_inside = self.live, self.inside
        self.inside = True
        bodies = []
        for c in s.choices:
            self.live = (*outer, *(p.var for p in c.picks))
            bodies.append(self.block(c.body, here if c.again else then))
        self.live, self.inside = outer, was_inside
        return self.put(graph.Ask(here, s, tuple(bodies), live, then, path=s.path, origin=s.origin))


def compile_graph(body: Iterable[core.Statement]) -> graph.PhaseGraph:
    """Only what can be reached, numbered in the order of the text."""
    builder = _Builder()
    stop = builder.put(graph.Stop(builder.new()))
    entry = builder.block(body, stop)
    order: dict[int, int] = {}
    todo = [entry]
    while todo:
        at = todo.pop()
        if at not in order:
            order[at] = len(order)
            todo.extend(reversed(graph.followers(builder.made[at])))
    nodes = [_renumber(builder.made[old], order) for old in order]
    return graph.PhaseGraph(tuple(nodes), order[entry])


def _renumber(node: graph.AnyNode, order: dict[int, int]) -> graph.AnyNode:
    new: dict[str, Any] = {"id": order[node.id]}
    for name in ("next", "yes", "no", "body", "exit"):
        if hasattr(node, name):
            new[name] = order.get(getattr(node, name), -1)
    if isinstance(node, graph.Ask):
        new["bodies"] = tuple(order[b] for b in node.bodies)
    made: graph.AnyNode = evolve(node, **new)
    return made
