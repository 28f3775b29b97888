"""Nothing that is written is ignored: a word that stands twice in one phrase, and two effects in one line."""

from collections.abc import Callable

from attrs import frozen

from rulelang.source import Span
from rulelang.surface import nodes
from rulelang.surface.mistakes import halves
from rulelang.surface.parse import reads

EFFECTS = ("raise", "lower", "set", "move", "shuffle", "end")


@frozen
class Twice:
    """What is told of it"""

    code: str
    message: str
    hint: str
    span: Span


def second_effect(s: nodes.Phrase, is_verb: Callable[[str], bool]) -> Twice | None:
    """`lower bricks by 2 and lower beams by 1`"""
    labels = {a.word for a in s.args if a.is_label}
    for first, at, second in halves(s.span.text):
        verb = second.split(maxsplit=1)[0]
        begins = verb in EFFECTS or (verb not in labels and is_verb(verb))
        if begins and reads(first) and reads(second):
            return _two(s, at, second)
    return None


def _two(s: nodes.Phrase, at: int, second: str) -> Twice:
    here = Span(s.span.source, s.span.start + at, s.span.start + at + len(second))
    return Twice("R235", "two effects in one line", f"write the second on a line of its own: `{second}`", here)


def said_twice(name: str, args: tuple[nodes.Arg, ...]) -> Twice | None:
    """`lower bricks by 2 by 1`, `lower bricks by 2 and beams by 1`"""
    said: dict[str, nodes.Arg] = {}
    for a in args:
        before = said.setdefault(a.word, a)
        if before is a:
            continue
        value = before.value
        if isinstance(value, nodes.And) and isinstance(thing := value.items[-1], nodes.Name | nodes.Lookup | nodes.Property | nodes.Yours):
            whole = Span(a.span.source, thing.span.start, a.span.end)
            second = f"{name} {whole.text}"
            return Twice("R235", "two effects in one line", f"write the second on a line of its own: `{second}`", whole)
        one, other = (x.span.text.removeprefix(",").strip() for x in (before, a))
        hint = f"leave out `{one}` or `{other}`" if one != other else "leave one of them out"
        return Twice("R234", f"`{a.word}` stands twice", hint, a.span)
    return None
