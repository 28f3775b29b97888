"""A name that nothing has here: perhaps a line around it knows the name, or it is said in words of another language."""

import re
from collections.abc import Iterator

import attrs

from rulelang.source import Span
from rulelang.surface import nodes
from rulelang.surface.mistakes import bare
from rulelang.surface.phrasing import NUMBERS

Binders = dict[str | None, list[tuple[Span, nodes.Node]]]


def inside(made: object) -> Iterator[nodes.Node]:
    """A node and all that it is made of."""
    if isinstance(made, tuple):
        for one in made:
            yield from inside(one)
    elif isinstance(made, nodes.Node):
        yield made
        for part in attrs.fields(type(made)):
            yield from inside(getattr(made, part.name))


def line_with(span: Span, words: str) -> str:
    """The line of a span with other words in its place."""
    line, first = span.source.line_text(span.line), span.column - 1
    return bare(f"{line[:first]}{words}{line[first + span.end - span.start :]}").strip()


def other_words(name: str, span: Span) -> tuple[str, str] | None:
    """Message and hint for `exactly two cards` and `players who are warm`."""
    here = Span(span.source, span.start, span.start + len(name))
    if here.text != name:
        return None
    if name in NUMBERS:
        return "numbers are written in digits", f"write `{line_with(here, str(NUMBERS[name]))}`"
    if name == "sum" and (added := _added_up(here)):
        return "`sum` is no word of the language", added
    if name in ("even", "odd"):
        return f"`{name}` is no word of the language", _remainder(here, int(name == "odd"))
    if name == "both":
        return "`both` is no word of the language", "say each of the two by its name"
    if name in ("are", "is") and span.source.text[: span.start].endswith("who "):
        return f"`who {name}` says nothing here", f"write `{line_with(here, 'have')}`"
    return None


def _added_up(here: Span) -> str:
    """`sum(worth of cellar)`, `sum of worth in cellar`"""
    line = here.source.line_text(here.line)[here.column - 1 :]
    said = re.match(r"sum\s*(?P<open>\()?\s*(?:of\s+)?(?P<f>\w+)\s+(?:of|in|over)\s+(?P<x>\w+)(?(open)\s*\))", line)
    if said is None:
        return ""
    whole = Span(here.source, here.start, here.start + said.end())
    return f"write `{line_with(whole, f'total of {said[2]} over {said[3]}')}`"


def _remainder(here: Span, rest: int) -> str:
    """`if rounds is even`"""
    before = here.source.line_text(here.line)[: here.column - 1]
    asked = re.search(r"((?:^|[^-+*/\s])\s+)([\w()]+(?: of \w+)?)\s+is\s+(not\s+)?$", before)
    if asked is None or asked[2] in ("if", "and", "or", "not"):
        return f"what is left of a half says it: `(...) mod 2 is {rest}`"
    whole = Span(here.source, here.start - len(before) + asked.start(2), here.end)
    return f"write `{line_with(whole, f'{asked[2]} mod 2 is {asked[3] or str()}{rest}')}`"


PARTS = {"half": "{} / 2 rounded down", "third": "{} / 3 rounded down", "double": "2 * {}", "twice": "2 * {}"}


def part_of(name: str, span: Span) -> tuple[str, str] | None:
    """`half of fame`, `twice fame`"""
    what = re.fullmatch(rf"{name}\s+(?:of\s+)?(.+)", span.text)
    if name not in PARTS or what is None:
        return None
    return f"`{name}` is worked out", f"write `{line_with(span, PARTS[name].format(what[1]))}`"


def binders_in(module: nodes.Module) -> Binders:
    """Who binds each name, and in which declaration."""
    found: Binders = {}
    for item in module.items:
        for declaration in item.items if isinstance(item, nodes.EachPlayer) else (item,):
            for s in inside(declaration):
                for name in _binds(s):
                    found.setdefault(name, []).append((declaration.span, s))
    return found


def known_above(name: str, span: Span, binders: Binders) -> tuple[str, str] | None:
    """Message and hint for a name that a line above binds, for lines which this one does not belong to."""
    here = [b for around, b in binders.get(name, ()) if around.start <= span.start < around.end and b.span.line < span.line]
    if not here or here[-1].span.source is not span.source:
        return None
    binder = here[-1]
    line, shown = binder.span.line, bare(binder.span.first_line.text).strip()
    if isinstance(binder, nodes.Let):
        return f"`{name}` is known only in the block of line {line}", f"write `{shown}` further left, before that block begins"
    what = "the option" if isinstance(binder, nodes.Choice) and binder.name else "the line"
    lines = [bare(span.source.line_text(n)) for n in range(line, span.line + 1)]
    levels = [len(text) - len(text.lstrip()) for text in lines if text.strip()]
    hint = "it is known only in the lines that are indented below that one"
    if levels[-1] == levels[0] == min(levels):
        hint = "indent this line below it, by four spaces more"
    return f"`{name}` belongs to {what} `{shown}` in line {line}", hint


def _binds(s: nodes.Node) -> tuple[str | None, ...]:
    match s:
        case nodes.Choice():
            return tuple(p.those.var for p in s.picks)
        case nodes.Together() | nodes.InTurn():
            return (s.those.var,)
        case nodes.Let():
            return (s.name,)
    return ()
