"""What can only be said for one player count: every declared count and every combination of options is built and
begun; steps that none of them reaches are reported."""

from rulelang.core import nodes as core
from rulelang.core.flow import Flow
from rulelang.core.types import Type
from rulelang.diagnostics import Note
from rulelang.errors import RuleError
from rulelang.graph import nodes as graph
from rulelang.pipeline import Loaded, uncollected
from rulelang.runtime.machine import Machine
from rulelang.runtime.program import Program, make_program
from rulelang.runtime.settings import combinations, option_word
from rulelang.runtime.values import State
from rulelang.source import Span


def check_counts(loaded: Loaded) -> None:
    """Adds findings for every player count that the header declares."""
    game, flow = loaded.game, loaded.flow
    if game is None or flow is None or loaded.problems.has_errors or loaded.names is None or loaded.names.header.word != "game":
        return
    reached: set[core.Origin] = set()
    steps: dict[core.Origin, str] = {}
    with uncollected():
        _begin_all(loaded, game, flow, reached, steps)
    for origin, path in steps.items():
        if origin not in reached:
            loaded.problems.add("R341", f"`{path}` never happens", _first_line(origin.span), "no player count and no option leads here")


def _begin_all(loaded: Loaded, game: core.Game, flow: Flow, reached: set[core.Origin], steps: dict[core.Origin, str]) -> None:
    for players in game.players:
        if loaded.names is not None:
            loaded.problems.reached(loaded.names.header.span, f", with {players} players")
        try:
            every = combinations(game, players)
        except RuleError as err:
            _report(loaded, players, {o.name: o.default for o in game.options.values()}, err)
            continue
        for settings in every:
            try:
                program = make_program(game, players, settings, _first, None, loop_counts=tuple(flow.loop_counts.values()))
                _reach(program, reached, steps)
                Machine(program, program.start[:]).begin()
            except RuleError as err:
                _report(loaded, players, settings, err)


def _first(s: State, name: str, items: tuple[int, ...], t: Type, whole: bool) -> tuple[int, ...]:
    return items if whole else items[:1]


def _first_line(span: Span) -> Span:
    end = span.source.text.find("\n", span.start)
    return Span(span.source, span.start, min(span.end, end if end >= 0 else span.end))


def _report(loaded: Loaded, players: int, settings: dict[str, int], err: RuleError) -> None:
    assert loaded.game is not None and loaded.names is not None
    usual = {o.name: o.default for o in loaded.game.options.values()}
    unusual = [f"{n} {option_word(loaded.game, loaded.game.options[n], v)}" for n, v in settings.items() if v != usual[n]]
    shown = f"{players} players" + (f" and {', '.join(unusual)}" if unusual else "")
    origin = err.origin
    span = origin.span if isinstance(origin, core.Origin) and origin.span.source.path else loaded.names.header.span
    heading = origin.heading if isinstance(origin, core.Origin) else ""
    notes = [Note(c, "called from here") for c in origin.calls[-2:]] if isinstance(origin, core.Origin) else []
    message = str(err).splitlines()[0]
    loaded.problems.add(
        "R340",
        f"with {shown} the rules stop before anybody is asked: {message}",
        _first_line(span),
        "give this player count its numbers, or leave it out of the header",
        heading=heading,
        notes=notes,
    )


def _reach(program: Program, reached: set[core.Origin], steps: dict[core.Origin, str]) -> None:
    """Walks the graph with constant tests decided for this count."""
    nodes = program.graph.nodes
    for node in nodes:
        if isinstance(node, graph.StepStart) and node.origin is not None:
            steps.setdefault(node.origin, node.path)
    todo, seen = [program.graph.entry], set()
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        node = nodes[at]
        if isinstance(node, graph.StepStart) and node.origin is not None:
            reached.add(node.origin)
        todo.extend(_ways(program, node))


def _ways(program: Program, node: graph.AnyNode) -> tuple[int, ...]:
    if isinstance(node, graph.Test):
        test = program.values.expr(node.test)
        if test.const:
            return (node.yes if test.value else node.no,)
    return graph.followers(node)
