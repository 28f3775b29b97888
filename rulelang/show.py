"""What each stage made of the rules, printed: `rulelang show core GAME`, `rulelang show labels GAME`."""

from collections.abc import Iterator
from typing import Any

import attrs

from rulelang.core import nodes as core
from rulelang.core import types
from rulelang.diagnostics import printable
from rulelang.graph.compile import compile_graph
from rulelang.graph.nodes import followers
from rulelang.pipeline import Loaded

DEEP = 40  # a node that goes deeper than this fits on no line


def show_stage(stage: str, loaded: Loaded) -> Iterator[str]:
    """The lines of `rulelang show STAGE`, as they may be printed"""
    shown = {"surface": _show_surface, "names": _show_names, "core": _show_core, "graph": _show_graph, "labels": show_labels}
    return map(printable, shown[stage](loaded))


def _show_surface(loaded: Loaded) -> Iterator[str]:
    for module in (*loaded.modules, *loaded.layers):
        yield f"{module.source.path}"
        for part in (module.header, *module.items):
            yield from _tree(part, 1)


def _show_core(loaded: Loaded) -> Iterator[str]:
    game, flow = loaded.game, loaded.flow
    assert game is not None and flow is not None
    groups: tuple[dict[Any, Any], ...] = (game.kinds, game.pieces, game.tables, game.maps, game.places, game.options, flow.functions)
    for thing in (thing for group in groups for thing in group.values()):
        yield from _tree(thing, 0)
    for part in (*game.flow, game.ranking, *game.invariants):
        yield from _tree(part, 0)


def _show_graph(loaded: Loaded) -> Iterator[str]:
    assert loaded.game is not None
    phases = compile_graph(loaded.game.flow)
    for node in phases.nodes:
        goals = ", ".join(str(n) for n in followers(node))
        yield f"{node.id:>4} {type(node).__name__:<10} -> {goals:<12} {node.path}"


def _show_names(loaded: Loaded) -> Iterator[str]:
    assert loaded.names is not None
    rows = [(s.sort, s.name, s.per_player, s.node.span) for s in loaded.names.symbols.values()]
    for d in (d for same in loaded.names.definitions.values() for d in same):
        rows.append(("verb" if d.is_verb else "define", " ".join(d.node.signature.span.text.split()), d.per_player, d.node.span))
    for sort, name, per_player, span in rows:
        yield f"{sort:<7} {name:<28} {'each player' if per_player else '':<11}  {_at(span)}"


def show_labels(loaded: Loaded) -> Iterator[str]:
    assert loaded.names is not None
    rows = [(x.text, x.sort, x.heading, _at(x.node.span)) for x in loaded.names.labels]
    for definitions in loaded.names.definitions.values():
        rows += [(d.name, "define", "", _at(d.node.span)) for d in definitions if not d.is_verb]
    rows += [(s.name, s.sort, "", _at(s.node.span)) for s in loaded.names.symbols.values() if s.sort in ("table", "map", "option")]
    widths = [max(len(row[i]) for row in rows) for i in (0, 1)] if rows else []
    for text, sort, heading, at in rows:
        yield f"{text:<{widths[0]}}  {sort:<{widths[1]}}  {at}" + (f"  {heading}" if heading else "")


def _at(span: Any) -> str:
    return f"{span.source.path}:{span.line}"


def _tree(x: Any, depth: int, name: str = "") -> Iterator[str]:
    """A node on one line if it fits, else its parts below it; places in the source are left out."""
    head = "  " * depth + (f"{name}: " if name else "")
    flat = _flat(x, top=depth < 2)
    parts = _parts(x)
    if len(head) + len(flat) <= 120 or not parts:
        yield head + flat
        return
    words = [f"{k}={v!r}" for k, v in parts if isinstance(v, str | int) and k]
    yield head + " ".join([*([] if isinstance(x, tuple | dict) else [type(x).__name__]), *words])
    for part, value in parts:
        if not (isinstance(value, str | int) and part):
            yield from _tree(value, depth + 1, part)


def _parts(x: Any) -> list[tuple[str, Any]]:
    if attrs.has(type(x)):
        shown = [f.name for f in attrs.fields(type(x)) if f.repr and f.name not in ("span", "target", "mark")]
        values = [(name, getattr(x, name)) for name in shown]
        return [(name, v) for name, v in values if not (v is None or v is False or v == () or v == "")]
    if isinstance(x, dict):
        return [(str(k), v) for k, v in x.items()]
    return [("", v) for v in x] if isinstance(x, tuple) else []


def _flat(x: Any, top: bool = False, depth: int = 0) -> str:
    if depth > DEEP:
        return "..."
    if isinstance(x, types.Type):
        return f"<{x}>"
    if not top and isinstance(x, core.Place | core.Variable | core.Kind | core.Table | core.Function | core.Option):
        return x.name
    parts = _parts(x)
    if isinstance(x, tuple):
        return f"[{', '.join(_flat(v, depth=depth + 1) for _, v in parts)}]"
    if isinstance(x, dict):
        return f"{{{', '.join(f'{k}: {_flat(v, depth=depth + 1)}' for k, v in parts)}}}"
    if parts or type(x).__module__.startswith("rulelang"):
        return f"{type(x).__name__}({', '.join(f'{k}={_flat(v, depth=depth + 1)}' for k, v in parts)})"
    return repr(sorted(x) if isinstance(x, frozenset) else x)
