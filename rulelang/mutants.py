"""Small changes of rule files, as text: `most` for `fewest`, 3 for 2, a name for another of its sort, a line left out, two steps
the other way round.

The surface tree says where every word stands and what it is there.  Comments, headings, texts, sources, marks,
examples and claims are left alone: a rule is changed, never what is said about it."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import attrs
from attrs import field, frozen

from rulelang.core.types import MaybeT, NumberT, SetT, Type
from rulelang.names.table import Names
from rulelang.pipeline import Loaded
from rulelang.source import SourceFile
from rulelang.surface import nodes

_SKIPPED = r'"[^"\n]*"|#[^\n]*|\{[^}\n]*\}'
_LONG = (
    "is not in|is not empty|is empty|is in|is not|number of|number public|any number of|up to|at least|starting with"
    "|largest of|smallest of|rounded down|rounded up|at most"
)
_TOKEN = re.compile(rf"({_SKIPPED})|(\b(?:{_LONG})\b|\w+|[<>]=?|[-+*])")
_COMMENT = re.compile(rf"({_SKIPPED})")
_CLAUSE = re.compile(r",\s*(?:number public|starts at (?!0\b|none\b)[^,{#\n]+|excess [^,{#\n]+ is lost)")

# A word, and what may stand in its place; further down are those whose meaning depends on where they stand.
SWAPS: dict[str, tuple[str, ...]] = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "+": ("-",), "-": ("+",), "*": ("+",),
    "is": ("is not",), "is not": ("is",), "is in": ("is not in",), "is not in": ("is in",), "is empty": ("is not empty",),
    "is not empty": ("is empty",), "most": ("fewest",), "fewest": ("most",), "raise": ("lower",), "lower": ("raise",),
    "first": ("last",), "last": ("first",), "largest of": ("smallest of",), "smallest of": ("largest of",),
    "rounded down": ("rounded up",), "rounded up": ("rounded down",), "up to": ("exactly",), "at least": ("exactly",),
    "exactly": ("up to", "at least"), "starting with": ("after",), "top": ("bottom",), "bottom": ("top",), "your": ("their",),
    "their": ("your",), "some": ("no",), "opponents": ("players",), "opponent": ("player",), "beyond": ("below",),
    "below": ("beyond",), "private": ("public",), "hidden": ("public",), "shared": ("by_seat",),
    "by_seat": ("shared",), "not": ("",), "ordered": ("",),
}  # fmt: skip
_LEFT_ALONE = (nodes.Example, nodes.Invariant, nodes.Use, nodes.Text, nodes.Say, nodes.Show)
# What is left out as a whole.  Without a declaration its name is unknown, without a row its table has a hole: always refused.
_DROPPED = (
    nodes.Step, nodes.Repeat, nodes.Hook, nodes.Offer, nodes.Extend, nodes.ReplaceDeclaration, nodes.During, nodes.Row,
    nodes.Phrase, nodes.If, nodes.Together, nodes.InTurn, nodes.Choose, nodes.Choice, nodes.End, nodes.Give, nodes.Needs,
)  # fmt: skip
_NAMED = (nodes.Name, nodes.Lookup, nodes.Phrase, nodes.VerbTest, nodes.Cell)


@frozen(order=True)
class Mutant:
    """`ranking by most points` -> `ranking by fewest points`: one change of one file, at a known place"""

    path: str
    start: int
    end: int
    after: str
    source: SourceFile = field(eq=False, repr=False)

    @property
    def text(self) -> str:
        """The whole file, changed."""
        return self.source.text[: self.start] + self.after + self.source.text[self.end :]

    @property
    def line_number(self) -> int:
        at = self.source.text
        return self.source.line_of(self.start + len(at[self.start : self.end]) - len(at[self.start : self.end].lstrip()))

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line_number}"

    @property
    def line(self) -> str:
        """The line as it stands, without its mark, its comment and blanks that only align it."""
        return bare(self.source.line_text(self.line_number))

    @property
    def change(self) -> str:
        """`most` -> `fewest`, with as many words before it as it takes to know which one is meant."""
        text = self.source.text
        shown = bare(text[self.start : self.end].strip().split("\n")[0])
        if not self.after and shown == self.line:
            return "without this line"
        if "\n" in self.after:
            return f"after `{bare(self.after.partition(chr(10))[0])}`"
        before = re.sub(r"\s+", " ", text[self.source.line_starts[self.line_number - 1] : self.start]).lstrip()
        cuts = [len(before), *(m.start() for m in reversed(list(re.finditer(r"\S+", before))))]
        unique = (before[cut:] for cut in cuts if len(re.findall(rf"(?<!\w)(?={re.escape(before[cut:] + shown)}(?!\w))", self.line)) < 2)
        kept = next(unique, before)
        return f"`{kept}{shown}` -> `{kept}{self.after}`" if self.after else f"without `{kept}{shown}`"


def bare(line: str) -> str:
    """A line of a rule file without its mark, its comment, and more than one blank between two words."""
    return " ".join(_COMMENT.sub(lambda found: found.group() if found.group().startswith('"') else "", line).split())


@frozen
class Sorts:
    """What could stand for a name: the next of the same sort, wherever it is declared"""

    next: dict[str, str]
    labels: dict[str, str]  # steps, loops, verbs and options, for those who hook on them
    piles: frozenset[str]
    words: dict[tuple[str, str], tuple[str, ...]]  # (verb, label): the words that it takes, such as stays and lost
    drawn: frozenset[str]  # fields that only say where a picture has something


def sorts(loaded: Loaded) -> Sorts:
    """The names of a game by their sort: places alike, members of a kind, definitions of the same form."""
    assert loaded.game is not None and loaded.names is not None and loaded.flow is not None
    game, names = loaded.game, loaded.names
    own = {m.source.path for m in own_modules(loaded)}
    groups: dict[tuple[object, ...], list[str]] = {}

    def add(name: str, *sort: object) -> None:
        groups.setdefault(sort, []).append(name)

    for p in game.places.values():
        add(p.name, "place", p.word, p.per_player, _forms(p.keys), _form(p.type))
    for t in game.tables.values():
        add(t.name, "table", _forms(t.keys), _form(t.type))
    for kind in game.kinds.values():
        if kind.span.source.path in own:
            for member in kind.members:
                add(member, "member", kind.name)
    for d in (d for same in names.definitions.values() for d in same if len(same) == 1):
        function = loaded.flow.functions.get(id(d))
        if function is not None:
            add(d.name, d.node.signature.form, d.per_player, _forms(v.type for v in function.params), _form(function.type))
    fields = [(thing.name, f) for group in (game.kinds, game.pieces) for thing in group.values() for f in thing.fields.values()]
    for name, f in fields:
        add(f.name, "field", name, _forms(f.keys), _form(f.type))
    labels: dict[tuple[object, ...], list[str]] = {}
    for label in names.labels:
        if label.module.source.path in own and len(names.label(label.path[-1])) == 1:
            labels.setdefault((label.sort,), []).append(label.path[-1])
    piles = frozenset(p.name for p in game.places.values() if p.word == "pile")
    maps = [item for m in own_modules(loaded) for item in m.items if isinstance(item, nodes.Map)]
    drawn = frozenset(name.name for item in maps for name in item.drawn_at)
    return Sorts(_nexts(groups), _nexts(labels), piles, _label_words(names), drawn)


def own_modules(loaded: Loaded) -> list[nodes.Module]:
    """The files of the game: its rules, its data, its layers; not the libraries that it uses."""
    return [m for m in (*loaded.modules, *loaded.layers) if m.header is not None and m.header.word != "library"]


def _form(t: Type) -> object:
    """A type without the ends of its range: these are what is checked when the rules run."""
    if isinstance(t, MaybeT | SetT):
        return type(t), _form(t.item)
    return NumberT if isinstance(t, NumberT) else t


def _forms(types: Iterable[Type]) -> tuple[object, ...]:
    return tuple(_form(t) for t in types)


def _nexts(groups: dict[tuple[object, ...], list[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for same in groups.values():
        for name, other in pairwise([*same, same[0]]):
            if name != other:
                found.setdefault(name, other)
    return found


def _label_words(names: Names) -> dict[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for d in (d for same in names.definitions.values() for d in same):
        for arg in d.node.signature.args:
            taken = tuple(p for p in arg.param.type.parts if isinstance(p, str) and p.islower())
            if arg.is_label and taken:
                found[d.name, arg.word] = found.get((d.name, arg.word), ()) + taken
    return found


# ---------------------------------------------------------------- one file


def mutants(module: nodes.Module, known: Sorts) -> list[Mutant]:
    """Every small change of a file, in the order of its text."""
    made: dict[tuple[int, int, str], Mutant] = {}
    for start, end, after in _module(module, known):
        if module.source.text[start:end] != after:
            made.setdefault((start, end, after), Mutant(module.source.path, start, end, after, module.source))
    return sorted(made.values())


Change = tuple[int, int, str]


def _module(module: nodes.Module, known: Sorts) -> Iterator[Change]:
    text = module.source.text
    if module.header is not None and module.header.players is not None:
        yield from _node(module.header.players, (module.header,), text, known)
    yield from _lines(module.items, text)
    yield from _order(module.items, text)
    for item in module.items:
        yield from _node(item, (), text, known)


def _parts(node: nodes.Node) -> list[nodes.Node]:
    found: list[nodes.Node] = []
    todo = [getattr(node, f.name) for f in attrs.fields(type(node))]
    while todo:
        value = todo.pop()
        if isinstance(value, tuple):
            todo.extend(value)
        elif isinstance(value, nodes.Node):
            found.append(value)
    return sorted(found, key=lambda n: n.span.start)


def _node(node: nodes.Node, around: tuple[nodes.Node, ...], text: str, known: Sorts) -> Iterator[Change]:
    if isinstance(node, _LEFT_ALONE):
        return
    yield from _words(node, around, text, known)
    yield from _clauses(node, text)
    for f in attrs.fields(type(node)):
        value = getattr(node, f.name)
        if f.name in ("body", "otherwise", "rows", "items", "choices") and isinstance(value, tuple) and len(value) > 1:
            lines = [v for v in value if isinstance(v, nodes.Node)]
            yield from _lines(lines, text)
            yield from _order(lines, text)
    for part in _parts(node):
        if not _is_drawing(part, node, around, known):
            yield from _node(part, (*around, node), text, known)


def _is_drawing(part: nodes.Node, of: nodes.Node, around: tuple[nodes.Node, ...], known: Sorts) -> bool:
    """What says where a picture has something is no rule."""
    if isinstance(of, nodes.Map):
        return any(name is part for name in of.drawn_at)
    if not isinstance(of, nodes.Row) or not isinstance(around[-1], nodes.Kind) or len(around[-1].fields) != len(of.cells):
        return False
    return any(cell is part and f.name in known.drawn for f, cell in zip(around[-1].fields, of.cells, strict=True))


# ---------------------------------------------------------------- what is left out


def _lines(parts: Iterable[nodes.Node], text: str) -> Iterator[Change]:
    """A whole line, with the block below it."""
    for part in (p for p in parts if isinstance(p, _DROPPED)):
        start = text.rfind("\n", 0, part.span.start) + 1
        end = text.find("\n", part.span.end) + 1 or len(text)
        if not text[start : part.span.start].strip() and not bare(text[part.span.end : end]):
            yield start, end, ""


def _clauses(node: nodes.Node, text: str) -> Iterator[Change]:
    match node:
        case nodes.Choice(only_if=test) | nodes.Option(only_if=test) if test is not None:
            start = text.rfind("only if", node.span.start, test.span.start)
            yield _cut(text, text.rfind(",", node.span.start, start), test.span.end)
        case nodes.Pick(such_that=test) if test is not None:
            yield _cut(text, text.rfind("such that", node.span.start, test.span.start), test.span.end)
        case nodes.Those(such=such) if such is not None:
            yield _cut(text, such.span.start, such.span.end)
        case nodes.Measures():
            for _, e in node.items[1:]:
                yield _cut(text, text.rfind(",", node.span.start, text.rfind("then", node.span.start, e.span.start)), e.span.end)
        case nodes.Place():
            for found in _CLAUSE.finditer(text, node.span.start, node.span.end):
                yield _cut(text, found.start(), found.end())
        case nodes.If() if node.otherwise:
            word = re.compile(r"\n *otherwise\b").search(text, node.body[-1].span.end, node.span.end)
            if word is not None:
                yield word.start(), node.span.end, ""
        case nodes.And() | nodes.Or():
            for one, other in pairwise(node.items):
                joint = re.compile(r"\b(and|or)\b").search(text, one.span.end, other.span.start)
                if joint is not None:
                    yield joint.start(), joint.end(), "or" if joint.group() == "and" else "and"
                    yield _cut(text, joint.start(), other.span.end)
                    if one is node.items[0]:
                        yield node.span.start, text.index(text[joint.end() :].lstrip()[0], joint.end()), ""


def _order(parts: Iterable[nodes.Node], text: str) -> Iterator[Change]:
    """A step after the one that follows it."""
    for one, other in pairwise(parts):
        if isinstance(one, nodes.Step) and isinstance(other, nodes.Step):
            end = len(text[: other.span.end].rstrip())
            first = text[one.span.start : one.span.end].rstrip()
            yield one.span.start, end, text[other.span.start : end] + text[one.span.start + len(first) : other.span.start] + first


def _cut(text: str, start: int, end: int) -> Change:
    """What is left out takes its closing brackets and the blanks before it along."""
    while text.count("(", start, end) > text.count(")", start, end) and ")" in text[end:]:
        end = text.index(")", end) + 1
    return len(text[:start].rstrip()), end, ""


# ---------------------------------------------------------------- what is swapped


def _words(node: nodes.Node, around: tuple[nodes.Node, ...], text: str, known: Sorts) -> Iterator[Change]:
    """The words that belong to this node and to none of its parts."""
    at = node.span.start
    first = True
    for end, after in [*((p.span.start, p.span.end) for p in _parts(node)), (node.span.end, node.span.end)]:
        for found in _TOKEN.finditer(text, at, max(at, end)):
            if found.group(2) is not None:
                for other in _others(found.group(2), first, node, around, known):
                    blank = 1 if not other and text[found.end()].isspace() else 0
                    yield found.start(), found.end() + blank, other
                first = False
        at = max(at, after)


def _others(word: str, first: bool, node: nodes.Node, around: tuple[nodes.Node, ...], known: Sorts) -> Iterable[str]:
    kinds = {type(n) for n in (*around, node)}
    if isinstance(node, nodes.TableRow) or {nodes.Param, nodes.Table} <= kinds or nodes.Field in kinds:
        return []  # another key leaves a hole in the table: always refused; a wider column holds the same numbers
    if word.isdigit():
        return [str(int(word) + 1), *([str(int(word) - 1)] if word != "0" else [])]
    match node:
        case nodes.Truth() | nodes.Cell() if word in ("yes", "no"):
            return ["no" if word == "yes" else "yes"]
        case nodes.Every() if word == "every":
            return ["some"]
        case nodes.Those() | nodes.Fold() if word == "no":
            return ["some"]
        case nodes.Place() if word == "public":
            return ["private" if any(isinstance(n, nodes.EachPlayer) for n in around) else "hidden"]
        case nodes.Ordered() if word == "after":
            return ["starting with"]
        case nodes.Hook() if first and word in ("before", "after"):
            return ["after" if word == "before" else "before"]
        case nodes.Arg() if word == "to" and isinstance(around[-1], nodes.Phrase) and around[-1].verb == "move":
            return ["under"] if getattr(node.value, "name", "") in known.piles else []
        case nodes.Arg() if word == "under":
            return ["to"]
        case nodes.Label():
            return [known.labels[word]] if word in known.labels else []
        case nodes.End() if word == node.label:
            return _other_label(node.label, around)
        case nodes.Signature() | nodes.Param() | nodes.TypeExpr() | nodes.Row() | nodes.Let():
            return []
    if isinstance(node, nodes.Name) and isinstance(around[-1], nodes.Arg):
        called = around[-2]
        verb = called.verb if isinstance(called, nodes.Phrase) else getattr(getattr(called, "head", None), "name", "")
        taken = known.words.get((verb, around[-1].word), ())
        if word in taken:
            return [w for w in taken if w != word]
    if isinstance(node, _NAMED) and (first or isinstance(node, nodes.Cell)) and word in known.next:
        return [known.next[word]]
    if isinstance(node, nodes.Name):
        return SWAPS.get(word) or _other_pick(word, around)
    return SWAPS.get(word, ())


def _other_label(label: str, around: tuple[nodes.Node, ...]) -> list[str]:
    labels = [n.label for n in around if isinstance(n, nodes.Step | nodes.Repeat) and n.label is not None and n.label != label]
    return labels[-1:]


def _other_pick(word: str, around: tuple[nodes.Node, ...]) -> list[str]:
    """Another pick of the same option, another parameter of the same type."""
    for node in reversed(around):
        if isinstance(node, nodes.Choice):
            picks = [p.those.var for p in node.picks if p.those.var is not None]
            if word in picks:
                return [p for p in picks if p != word][:1]
        if isinstance(node, nodes.Define | nodes.Verb):
            params = [*node.signature.params, *(a.param for a in node.signature.args)]
            mine = next((p for p in params if p.name == word), None)
            if mine is not None:
                return [p.name for p in params if p is not mine and p.type == mine.type][:1]
    return []
