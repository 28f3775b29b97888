"""The phase graph as people draw it: steps, loops, decisions and forks, in DOT or Mermaid; effects and tests are left out.
And the maps that the rules declare, where they are declared to lie."""

from collections.abc import Iterator
from itertools import combinations
from math import dist

import networkx as nx

from rulelang.core import nodes as core
from rulelang.diagnostics import printable
from rulelang.graph import nodes as graph

MARKS = (graph.StepStart, graph.Ask, graph.Fork)
SORTS = {
    graph.StepStart: "step",
    graph.LoopHead: "loop",
    graph.EachHead: "in turn",
    graph.Ask: "decision",
    graph.Fork: "together",
    graph.Stop: "end",
}
DOT_SHAPES = {
    "start": "circle", "step": "box", "loop": "ellipse", "in turn": "ellipse", "decision": "hexagon", "together": "parallelogram",
    "end": "doublecircle", "member": "box",
}  # fmt: skip
MERMAID_SHAPES = {
    "start": ("((", "))"), "step": ("[", "]"), "loop": ("([", "])"), "in turn": ("([", "])"), "decision": ("{{", "}}"),
    "together": ("[/", "/]"), "end": ("(((", ")))"), "member": ("[", "]"),
}  # fmt: skip


def draw(phases: graph.PhaseGraph) -> "nx.DiGraph[str]":
    """Nodes are string ids made from the paths of labels; each has a sort and a label, an edge may have a label."""
    names = _names(phases)
    headings = {n.path: n.origin.heading for n in phases.nodes if isinstance(n, graph.StepStart | graph.LoopHead) and n.origin}
    joins = _joins(phases)
    drawn: nx.DiGraph[str] = nx.DiGraph()
    drawn.add_node("start", sort="start", label="start")
    for number, name in names.items():
        node = phases.nodes[number]
        drawn.add_node(name, sort=SORTS[type(node)], label=_label(node, headings))
    for goal in _reach(phases, joins, names, phases.entry):
        drawn.add_edge("start", names[goal], label="")
    for number, name in names.items():
        for first, word in _exits(phases.nodes[number]):
            for goal in _reach(phases, joins, names, first):
                _join_edge(drawn, name, names[goal], word)
    reached = {"start", *nx.descendants(drawn, "start")}
    drawn.remove_nodes_from([n for n in drawn if n not in reached])
    return drawn


def draw_map(chart: core.Map) -> "nx.DiGraph[str]":
    """The members and the ways between them; a way there and back is one line."""
    drawn: nx.DiGraph[str] = nx.DiGraph()
    members = chart.kind.members
    apart = min((dist(a, b) for a, b in combinations(chart.at, 2)), default=1.0)
    for n, member in enumerate(members):
        drawn.add_node(member, sort="member", label=_words(member))
        if chart.at:
            x, y = (1.6 * part / apart for part in chart.at[n])  # inches between the two that lie nearest
            drawn.nodes[member]["pos"] = f"{x:.2f},{-y:.2f}!"
    for n, goals in enumerate(chart.ways):
        for goal in goals:
            back = n in chart.ways[goal] and goal != n
            if not back or n < goal:
                drawn.add_edge(members[n], members[goal], label="", both=back)
    return drawn


def _join_edge(drawn: "nx.DiGraph[str]", tail: str, head: str, word: str) -> None:
    if drawn.has_edge(tail, head):
        words = [w for w in drawn.edges[tail, head]["label"].split(", ") if w]
        word = ", ".join(dict.fromkeys([*words, word] if word else words))
    drawn.add_edge(tail, head, label=word)


def _names(phases: graph.PhaseGraph) -> dict[int, str]:
    """One id for each node that is drawn: its sort and path, numbered where several have the same."""
    names: dict[int, str] = {}
    seen: dict[str, int] = {}
    for node in phases.nodes:
        if _is_drawn(phases, node):
            name = f"{SORTS[type(node)]}:{node.path}" if node.path else SORTS[type(node)]
            seen[name] = seen.get(name, 0) + 1
            names[node.id] = f"{name}#{seen[name]}" if seen[name] > 1 else name
    return names


def _is_drawn(phases: graph.PhaseGraph, node: graph.AnyNode) -> bool:
    """A loop in which nobody is asked and nothing has a name is an effect like others."""
    if not isinstance(node, graph.LoopHead | graph.EachHead):
        return isinstance(node, (*MARKS, graph.Stop))
    todo, seen = [node.body], {node.id, node.exit}
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            if isinstance(phases.nodes[at], MARKS):
                return True
            todo.extend(graph.followers(phases.nodes[at]))
    return False


def _joins(phases: graph.PhaseGraph) -> dict[int, int]:
    """Where a thread's end leads: on, after the fork that began it."""
    joins: dict[int, int] = {}
    for fork in phases.nodes:
        if isinstance(fork, graph.Fork):
            todo, seen = [fork.body], set[int]()
            while todo:
                at = todo.pop()
                if at not in seen:
                    seen.add(at)
                    node = phases.nodes[at]
                    if isinstance(node, graph.ThreadEnd):
                        joins[at] = fork.next
                    todo.extend([node.next] if isinstance(node, graph.Fork) else graph.followers(node))
    return joins


def _reach(phases: graph.PhaseGraph, joins: dict[int, int], drawn: dict[int, str], first: int) -> list[int]:
    """The drawn nodes that come next, past everything that is not drawn."""
    found: dict[int, None] = {}
    todo, seen = [first], set[int]()
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        node = phases.nodes[at]
        if at in drawn:
            found[at] = None
        elif isinstance(node, graph.ThreadEnd):
            todo.append(joins[at])
        else:
            todo.extend(goal for goal, _ in reversed(list(_exits(node))))
    return list(found)


def _exits(node: graph.AnyNode) -> Iterator[tuple[int, str]]:
    match node:
        case graph.Ask():
            for choice, body in zip(node.decide.choices, node.bodies, strict=True):
                yield body, (choice.text.written if choice.text else _words(choice.name)) if len(node.bodies) > 1 else ""
        case graph.LoopHead(limit=None):  # such a loop is left from inside
            yield node.body, ""
        case graph.LoopHead() | graph.EachHead():
            yield node.body, "next"
            yield node.exit, "done"
        case graph.Fork():
            yield node.body, ""
        case _:
            for goal in graph.followers(node):
                yield goal, ""


def _label(node: graph.AnyNode, headings: dict[str, str]) -> str:
    """The last label of the path, and below it the heading of the rulebook where it is a new one."""
    if isinstance(node, graph.Stop):
        return "end"
    name = _words(node.path.split(".")[-1])
    above = node.path
    match node:
        case graph.EachHead():
            name = f"in turn each {_words(node.var.name)}".replace("each you", "each player")
        case graph.Fork():
            name = f"{'secretly' if node.together.asks else 'together'} each {_words(node.together.var.name)}".replace(
                "each you", "each player"
            )
        case graph.Ask():
            name = f"choose: {_words(node.decide.name)}"
        case _:
            above = node.path.rpartition(".")[0]
    while above and above not in headings:
        above = above.rpartition(".")[0]
    heading = node.origin.heading if node.origin is not None else ""
    return f"{name}\n{heading}" if heading and heading != headings.get(above) else name


def _words(name: str) -> str:
    return name.replace("_", " ")


def dot(drawn: "nx.DiGraph[str]", title: str) -> str:
    """The picture for Graphviz."""
    lines = [f"digraph {_quoted(title)} {{", '  node [fontname="Helvetica"];', '  edge [fontname="Helvetica", fontsize=10];']
    if any("pos" in data for _, data in drawn.nodes(data=True)):
        lines.append("  layout=neato;")  # the one program of Graphviz, besides fdp, that puts things where they are said to lie
    for name, data in drawn.nodes(data=True):
        pos = f", pos={_quoted(data['pos'])}" if "pos" in data else ""
        lines.append(f"  {_quoted(name)} [shape={DOT_SHAPES[data['sort']]}, label={_quoted(data['label'])}{pos}];")
    for tail, head, data in drawn.edges(data=True):
        words = [f"label={_quoted(data['label'])}"] if data["label"] else []
        words += ["dir=both"] if data.get("both") else []
        lines.append(f"  {_quoted(tail)} -> {_quoted(head)}" + (f" [{', '.join(words)}]" if words else "") + ";")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    shown = "\n".join(printable(part) for part in text.split("\n"))
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def mermaid(drawn: "nx.DiGraph[str]", title: str) -> str:
    """The picture for Mermaid, whose ids are plain words: n0, n1, ..."""
    short = {name: f"n{i}" for i, name in enumerate(drawn)}
    lines = [f"%% {_entities(title)}", "flowchart TD"]
    for name, data in drawn.nodes(data=True):
        left, right = MERMAID_SHAPES[data["sort"]]
        lines.append(f"  {short[name]}{left}{_entities(data['label'])}{right}")
    for tail, head, data in drawn.edges(data=True):
        label = f"|{_entities(data['label'])}|" if data["label"] else ""
        lines.append(f"  {short[tail]} {'<' if data.get('both') else ''}-->{label} {short[head]}")
    return "\n".join(lines)


def _entities(text: str) -> str:
    """Everything that Mermaid or HTML could obey becomes a numbered entity."""
    shown = []
    for part in text.split("\n"):
        shown.append("".join(c if c.isalnum() or c in " .,:-+_" else f"#{ord(c)};" for c in printable(part)))
    return '"' + "<br/>".join(shown) + '"'
