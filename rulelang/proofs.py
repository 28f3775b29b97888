"""What can only be said for one player count: every declared count and every combination of options is built and
begun; steps that none of them reaches are reported."""

from attrs import frozen

from rulelang.claims import check_examples
from rulelang.core import nodes as core
from rulelang.core.flow import Flow
from rulelang.core.types import Type
from rulelang.diagnostics import Note
from rulelang.errors import RuleError
from rulelang.graph import nodes as graph
from rulelang.pipeline import Loaded, uncollected
from rulelang.prove.never import report_nevers
from rulelang.prove.permute import show_orders
from rulelang.runtime.machine import Machine
from rulelang.runtime.program import Program, make_program
from rulelang.runtime.settings import combinations, option_word
from rulelang.runtime.values import State


@frozen
class Stopped:
    """A table at which no match can begin, and the rule that stops it."""

    players: int
    settings: dict[str, int]
    origin: object


def check_counts(loaded: Loaded) -> None:
    """Adds findings for every player count that the header declares."""
    game, flow = loaded.game, loaded.flow
    errors = {d.code for d in loaded.problems.found if d.is_error}
    if game is not None and flow is not None and errors == {"R330"}:  # all else is known, so it can be played to see
        with uncollected():
            show_orders(game, flow, loaded.problems)
    if game is None or flow is None or loaded.problems.has_errors or loaded.names is None or loaded.names.header.word != "game":
        return
    reached: set[core.Origin] = set()
    steps: dict[core.Origin, str] = {}
    with uncollected():
        _begin_all(loaded, game, flow, reached, steps)
        happens = report_nevers(game, flow, loaded.names, loaded.problems)
    check_examples(loaded)
    for origin, path in steps.items():
        if origin not in reached or (origin.span.source.path, origin.span.start) not in happens:
            hint = "no player count and no option leads here: change the condition above it, or leave the step out"
            loaded.problems.add("R341", f"`{path}` never happens", origin.span.first_line, hint)


def _begin_all(loaded: Loaded, game: core.Game, flow: Flow, reached: set[core.Origin], steps: dict[core.Origin, str]) -> None:
    stopped: dict[tuple[str, str], list[Stopped]] = {}
    begun = 0
    for players in game.players:
        if loaded.names is not None:
            loaded.problems.reached(loaded.names.header.span, f", with {players} players")
        try:
            every = combinations(game, players)
        except RuleError as err:
            _stop(stopped, err, players, {o.name: o.default for o in game.options.values()})
            begun += 1
            continue
        for settings in every:
            try:
                begun += 1
                program = make_program(game, players, settings, _first, None, loop_counts=tuple(flow.loop_counts.values()))
                _reach(program, reached, steps)
                Machine(program, program.start[:]).begin()
            except RuleError as err:
                _stop(stopped, err, players, settings)
    for (message, _), tables in stopped.items():
        _report(loaded, message, tables, always=len(tables) == begun)


def _stop(stopped: dict[tuple[str, str], list[Stopped]], err: RuleError, players: int, settings: dict[str, int]) -> None:
    message = str(err).splitlines()[0]
    where = str(err.origin.span) if isinstance(err.origin, core.Origin) else ""
    stopped.setdefault((message, where), []).append(Stopped(players, settings, err.origin))


def _first(s: State, name: str, items: tuple[int, ...], t: Type, whole: bool) -> tuple[int, ...]:
    return items if whole else items[:1]


def _report(loaded: Loaded, message: str, tables: list[Stopped], always: bool) -> None:
    """One finding for one line, however many player counts and options it stops."""
    assert loaded.game is not None and loaded.names is not None
    origin = tables[0].origin
    span = origin.span if isinstance(origin, core.Origin) and origin.span.source.path else loaded.names.header.span
    if always:
        shown, hint = "", "no match can begin: change the numbers, or ask first with `if`"
    else:
        usual = {o.name: o.default for o in loaded.game.options.values()}
        unusual = {n: v for n, v in tables[0].settings.items() if v != usual[n]}
        words = [f"{n} {option_word(loaded.game, loaded.game.options[n], v)}" for n, v in unusual.items()]
        counts = sorted({t.players for t in tables if {n: v for n, v in t.settings.items() if v != usual[n]} == unusual})
        number = " or ".join([", ".join(str(n) for n in counts[:-1])] * (len(counts) > 1) + [str(counts[-1])])
        shown = f"with {number} players{' and ' if words else ''}{', '.join(words)} "
        what = "a row of the table, and widen its key" if "has no value for" in message else "its numbers"
        hint = f"give this player count {what}, or leave it out of the header"
    loaded.problems.add(
        "R340",
        f"{shown}the rules stop before anybody is asked: {message}",
        span.first_line,
        hint,
        heading=origin.heading if isinstance(origin, core.Origin) else "",
        notes=[Note(c, "called from here") for c in origin.calls[-2:]] if isinstance(origin, core.Origin) else [],
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
