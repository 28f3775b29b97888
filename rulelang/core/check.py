"""Names in, a checked game out: places, options, flow, ranking, invariants; then what was declared and never used."""

from collections.abc import Iterator

from rulelang.core import nodes as core
from rulelang.core.flow import Flow
from rulelang.core.idle import report_idle
from rulelang.core.scope import Scope
from rulelang.core.secrecy import check_secrecy
from rulelang.core.tables import build_tables
from rulelang.core.threads import walk
from rulelang.core.types import PLAYER, BoolT, KindT, NumberT, PlayerT, Type
from rulelang.core.world import World
from rulelang.diagnostics import Note, Problems, near
from rulelang.limits import USUAL, Limits
from rulelang.names.collect import name_span
from rulelang.names.table import Names
from rulelang.surface import nodes

MOST_PLAYERS = 16
WHOLE = ("R250", "R312", "R320", "R321")  # mistakes after which everything is there to be looked through


Given = dict[int, list[tuple[int | None, tuple[int, ...], int]]]


def check(names: Names, problems: Problems, given: Given | None = None, limits: Limits = USUAL) -> tuple[core.Game, Flow]:
    """The typed core of a game with its layers.  The elaborator comes along: examples are checked with it later.
    `given` are definitions that an example fixes."""
    world = World(names, problems, limits)
    world.build()
    build_tables(world)
    counts = _players(names, problems)
    flow = Flow(names, world, problems, counts=counts, given=given or {}, limits=limits)
    _options(flow, names)
    _places(flow, names)
    _piece_counts(flow, names)
    _piece_starts(flow, names)
    game = core.Game(
        names.header.name, names.header.title, counts, tuple(m.name for m in names.layers),
        world.kinds, world.pieces, world.tables, world.maps, flow.places, flow.options, limits,
    )  # fmt: skip
    body: list[core.Statement] = []
    for item, module in names.flow:
        made, _ = flow.statement(item, Scope(module))
        body.extend(made)
    game.flow = tuple(body)
    is_game = names.header.word == "game"
    if is_game and not body and not names.unread:
        problems.add("R313", "nothing happens in this game", names.header.span, "write `step ...` or `repeat ...` at the left margin")
    if names.ranking is not None:
        game.ranking = _ranking(flow, names.ranking[0], Scope(names.ranking[1]))
    elif is_game and not names.unread and "ranking" not in (name for name, _ in flow.told):
        problems.add(
            "R312", "this game does not say who wins", names.header.span, "add a line at its end: `ranking by most ..., ties shared`"
        )
    invariants = []
    for claim, module in names.invariants:
        invariants.append(core.Invariant(claim.text, flow.boolean(claim.test, Scope(module)), claim.span, module.name))
    game.invariants = tuple(invariants)
    game.shown = tuple(shown for written, module in names.shown for shown in _shown(flow, written, Scope(module)))
    _definitions(flow, names)
    _loop_counts(flow, game, problems)
    if all(d.code in WHOLE or not d.is_error for d in problems.found):  # after others nobody knows what is told
        check_secrecy(game, problems)
    if not problems.has_errors:  # or used
        _unused(names, problems)
        if is_game and not problems.has_errors:
            report_idle(flow.noticed, game, names, problems)
    return game, flow


def _loop_counts(flow: Flow, game: core.Game, problems: Problems) -> None:
    """The count of a loop in a verb is known there only: each call of the verb has its own."""
    counted = {s.count for s in walk(game.flow) if isinstance(s, core.Loop)}
    for name, span in flow.counts_read.items():
        if flow.loop_counts[name] not in counted and not problems.has_errors and game.flow:
            hint = f"keep it in a counter there: `set ... to {name}` below the loop"
            problems.add("R103", f"`{name}` is counted in a verb, and known only there", span, hint)


def _players(names: Names, problems: Problems) -> range:
    written = names.header.players
    if written is None:
        return range(2, 7)
    low, high = World.constant(written.low), World.constant(written.high)
    if low is not None and high is not None and 1 <= high < low <= MOST_PLAYERS:
        problems.add("R211", f"the range `{low}..{high}` runs backwards", written.span, f"write `{high}..{low}`")
        return range(high, low + 1)
    if low is None or high is None or not 1 <= low <= high <= MOST_PLAYERS:
        problems.add("R314", "for how many players?", written.span, f"a range of numbers from 1 to {MOST_PLAYERS}, such as 2..6")
        return range(2, 3)
    return range(low, high + 1)


def _options(flow: Flow, names: Names) -> None:
    for node, module in names.options:
        scope = Scope(module)
        words: tuple[str, ...] = ()
        unknown = [
            p
            for p in node.type.parts
            if isinstance(p, str)
            and p not in ("yes or no", "player", "number", "none")
            and p not in names.members
            and p not in names.symbols
        ]
        t: Type
        if unknown and len(unknown) == len(node.type.parts):
            words = tuple(unknown)
            t = KindT(f"option {node.name}")
            flow.world.kinds[f"option {node.name}"] = core.Kind(f"option {node.name}", False, words, {}, node.span)
            values: tuple[int, ...] = tuple(range(len(words)))
        else:
            t = flow.world.type_of(node.type)
            values = _option_values(node, t, flow)
        made = core.Option(node.name, t, values, words, 0, None, node.span)
        flow.options[node.name] = made
        default = flow.want(flow.value(node.usually, scope, t), t, node.usually.span, f"`{node.name}`", scope)
        start = default.value if isinstance(default, core.Const) else values[0]
        if isinstance(t, PlayerT):
            if not _is_first_player(node.usually):
                flow.wrong("R248", "which seat is usual must hold for every number of players", node.usually.span, "`usually first player`")
        elif not isinstance(default, core.Const):
            flow.wrong("R248", "the usual value must be written out", node.usually.span, f"one of these: {node.type.span.text}", scope)
        elif start not in values and len(values) > 1:
            flow.wrong(
                "R248",
                f"{node.usually.span.text} is none of the values of `{node.name}`",
                node.usually.span,
                f"one of these: {node.type.span.text}",
                scope,
            )
        made = core.Option(node.name, t, values, words, start, None, node.span)
        flow.options[node.name] = made
        if node.only_if is not None:
            flow.options[node.name] = core.Option(node.name, t, values, words, start, flow.boolean(node.only_if, scope), node.span)


def _is_first_player(e: nodes.Expr) -> bool:
    match e:
        case nodes.Fold(op="first", those=nodes.Those(base=nodes.Name(name="player" | "players"), such=None)):
            return True
    return False


def _option_values(node: nodes.Option, t: Type, flow: Flow) -> tuple[int, ...]:
    match t:
        case NumberT():
            written = tuple(p for p in node.type.parts if isinstance(p, int) and not isinstance(p, bool))
            if len(written) == len(node.type.parts):
                return written
            if t.low is not None and t.high is not None and t.high - t.low < 1000:
                return tuple(range(t.low, t.high + 1))
        case BoolT():
            return (0, 1)
        case KindT():
            return tuple(range(len(flow.world.kinds[t.kind].members)))
        case PlayerT():
            return tuple(range(flow.players[-1]))
        case _:
            pass
    flow.wrong("R248", f"`{node.name}` does not list its values", node.type.span, "for example `30 or 45`, `yes or no`, or a kind", None)
    return (0,)


def _places(flow: Flow, names: Names) -> None:
    for symbol in list(names.symbols.values()):
        if isinstance(symbol.node, nodes.Place):
            scope = Scope(symbol.module)
            if symbol.per_player:
                scope = Scope(symbol.module, you=core.Var(core.Variable("you", PLAYER), type=PLAYER))
            flow.places[symbol.name] = flow.place(symbol.node, symbol.per_player, scope)
    for place in flow.places.values():
        if place.word == "counter" and place.high is not None and not place.stops_high:
            flow.problems.add(
                "R250", f"`{place.name}` has an end, but does not say what happens beyond it",
                name_span(names.symbols[place.name].node, place.name),
                f"add `, excess beyond {place.high.span.text} is lost`, or leave the upper end open",
            )  # fmt: skip


def _piece_starts(flow: Flow, names: Names) -> None:
    """Every piece lies somewhere when a match begins, and in one place only."""
    for symbol in names.symbols.values():
        if symbol.sort != "pieces" or names.header.word != "game" or flow.problems.has_errors or id(symbol.node) not in names.used:
            continue
        starts = [p for p in flow.places.values() if p.starts_with == symbol.name]
        here = name_span(symbol.node, symbol.name)
        if not starts:
            flow.problems.add("R252", f"no place starts with `{symbol.name}`", here, f"add `starts with all {symbol.name}` to a place")
        elif len(starts) > 1 or starts[0].keys:
            notes = [Note(p.span, "starts with all of them") for p in starts]
            flow.problems.add(
                "R252", f"`{symbol.name}` would start in several places", here, "one place, without keys, starts with all", notes=notes
            )


def _piece_counts(flow: Flow, names: Names) -> None:
    for symbol in names.symbols.values():
        if isinstance(symbol.node, nodes.Pieces) and symbol.node.count is not None:
            count = flow.number(symbol.node.count, Scope(symbol.module), "how many there are")
            old = flow.world.pieces[symbol.name]
            flow.world.pieces[symbol.name] = core.Pieces(old.name, old.per_player, {}, (((), 1),), count, old.span, old.source)


def _ranking(flow: Flow, node: nodes.Ranking, scope: Scope) -> core.Ranking:
    var = core.Variable("it", PLAYER)
    items = flow.measures(node.measures, var, scope, ("shared", "by_seat"))
    words = tuple(e.span.text for _, e in node.measures.items)
    named = tuple((sign, e, w) for (sign, e), w in zip(items, words, strict=True))
    return core.Ranking(var, named, node.measures.ties.name == "shared", node.span)


def _shown(flow: Flow, written: nodes.Show, scope: Scope) -> Iterator[core.Shown]:
    for name in written.names:
        forms = [d for d in flow.names.definitions.get(name.name, ()) if not d.is_verb and not d.node.signature.args]
        if not forms and name.name in flow.places:
            seen = "public, and everybody sees it anyway" if flow.places[name.name].visibility == "public" else "a place of its own"
            hint = "leave it out: `show` is for what a `define` works out"
            flow.wrong("R262", f"`{name.name}` is {seen}", name.span, hint, scope)
            continue
        if not forms:
            known = [x for x, ds in flow.names.definitions.items() if any(not d.is_verb for d in ds)]
            hint = near(name.name, known) or "`show` names a `define`"
            flow.unknown(f"no value `{name.name}` is defined", name.name, name.span, hint, scope)
            continue
        flow.names.used.add(id(forms[0].node))
        function = flow.function(forms[0], scope, name.span) if flow._is_function(forms[0]) else None
        made = None if function is None else core.Shown(name.name, function, forms[0].per_player, name.span)
        if made is None or not all(_finite(k) for k in made.keys):
            flow.wrong("R262", f"`{name.name}` has too many values to show", name.span, "show what has kinds or ranges as its keys", scope)
        else:
            yield made


def _finite(t: Type) -> bool:
    return isinstance(t, KindT | PlayerT | BoolT) or (isinstance(t, NumberT) and t.low is not None and t.high is not None)


def _definitions(flow: Flow, names: Names) -> None:
    """What nobody calls is checked all the same, as far as its types are its own."""
    for made in list(names.definitions.values()):
        for d in made:
            if not d.is_verb and flow._is_function(d):
                flow.function(d, Scope(d.module), d.node.span)
            elif d.is_verb and not d.node.signature.params and not d.node.signature.args and id(d.node) not in names.used:
                you = core.Var(core.Variable("you", PLAYER), type=PLAYER)
                flow.expand_verb(d, (), (), Scope(d.module, you=you), d.node)


def _unused(names: Names, problems: Problems) -> None:
    library = {m.name for m in names.modules if m.header and m.header.word == "library"}
    example_words: set[str] = set()
    for example, _ in names.examples:
        for line in example.lines:
            if isinstance(line, nodes.ExState):
                example_words.add(line.target.name)
    shown = names.header.word == "game"
    for symbol in names.symbols.values():
        if symbol.module.name in library or id(symbol.node) in names.used or not shown:
            continue
        problems.add(
            "R110", f"{symbol.sort} `{symbol.name}` is never used", name_span(symbol.node, symbol.name),
            "use it in a rule, or leave it out", is_error=False,
        )  # fmt: skip
    for made in names.definitions.values():
        for d in made:
            if (
                d.module.name not in library
                and id(d.node) not in names.used
                and d.name not in example_words
                and shown
                and d.original is None
            ):
                problems.add(
                    "R110",
                    f"`{d.name}` is defined and never used",
                    name_span(d.node, d.name),
                    "use it in a rule, or leave it out",
                    is_error=False,
                )
