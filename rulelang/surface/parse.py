"""Text in, surface tree out.  The file is cut at column 0 and each declaration is parsed on its own, so that one
mistake costs one declaration and every mistake is reported with its true place in one run."""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import LarkError, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.indenter import DedentError, Indenter
from lark.utils import TextSlice

from rulelang.diagnostics import Problems
from rulelang.source import SourceFile, Span
from rulelang.surface import nodes
from rulelang.surface.build import Build
from rulelang.surface.lexer import WordLexer

MAX_DEPTH = 100
MAX_OTHERWISE = 150  # in one declaration: each `otherwise if` is one deeper than the last
MAX_NUMBER = 2**53
_CHAIN = {"__CHAIN", "NOT", "OF", "STAR", "SLASH", "MOD", "LPAR", "LSQB"}


class TooDeep(Exception):
    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class Blocks(Indenter):
    """Indentation as tokens.  Nesting is counted here, so that no later stage meets a tree that is too deep."""

    NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
    OPEN_PAREN_types, CLOSE_PAREN_types = ["LPAR", "LSQB"], ["RPAR", "RSQB"]
    tab_len = 4

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        chain = depth = otherwise = 0
        for token in super().process(stream):  # type: ignore[no-untyped-call]
            if token.type == "_NL":
                chain = 0
            elif token.type == "_INDENT":
                depth += 1
            elif token.type == "_DEDENT":
                depth -= 1
            elif token.type in _CHAIN:
                chain += 1
            elif token.type == "OTHERWISE":
                otherwise += 1
            if chain + depth > MAX_DEPTH or otherwise > MAX_OTHERWISE:
                raise TooDeep(token.start_pos or 0)
            yield token


@lru_cache(maxsize=1)
def _lark() -> Lark:
    grammar = files("rulelang.surface").joinpath("grammar.lark").read_text(encoding="utf-8")

    def make(cache: str | bool) -> Lark:
        return Lark(
            grammar, start=["start", "hole"], parser="lalr", lexer=WordLexer, postlex=Blocks(),
            propagate_positions=True, maybe_placeholders=True, cache=cache,
        )  # fmt: skip

    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rulelang"
        folder.mkdir(parents=True, exist_ok=True)
        return make(str(folder / "grammar.tables"))
    except (OSError, RuntimeError):  # no place to keep the tables: work them out
        return make(False)


# ---------------------------------------------------------------- cutting, comments, errors

_COMMENT = re.compile(r'"[^"\n]*"|(#[^\n]*)')
_TOP_WORDS = [
    "game",
    "variant",
    "library",
    "data",
    "use",
    "option",
    "kind",
    "ring",
    "pieces",
    "table",
    "counter",
    "status",
    "zone",
    "pile",
    "slot",
    "each",
    "define",
    "verb",
    "step",
    "repeat",
    "during",
    "ranking",
    "show",
    "invariant",
    "example",
    "replace",
    "before",
    "after",
    "offer",
    "extend",
]
_WORDS = {
    "_NL": "the end of the line",
    "_INDENT": "an indented block",
    "_DEDENT": "the end of the block",
    "NAME": "a name",
    "TYPE": "a kind (with a capital)",
    "NUMBER": "a number",
    "STRING": 'a text in "quotes"',
    "COLON": "`:`",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "LSQB": "`[`",
    "EQUAL": "`=`",
    "PREP": "a preposition",
    "BEST": "`most` or `fewest`",
    "WHOSE": "`your` or `their`",
    "VISIBLE": "`public`, `private` or `hidden`",
    "PLACE": "a place (counter, status, zone, pile, slot)",
    "FOLD": "`number of`, `some`, `first` or `last`",
    "FOLD_OVER": "`total of`, `largest of` or `smallest of`",
    "QUANTITY": "`exactly`, `up to` or `at least`",
    "SUCH": "`where` or `who have`",
    "COMPARE": "a comparison",
    "SIGN": "`+` or `-`",
    "STAR": "`*`",
    "SLASH": "`/`",
    "ORDER": "`starting with` or `after`",
    "EXCESS": "`beyond` or `below`",
    "TOGETHER": "`together` or `secretly`",
    "ROUNDED": "`rounded down` or `rounded up`",
}


def parse(source: SourceFile, problems: Problems) -> nodes.Module:
    """`text -> Module`; what cannot be parsed is reported and left out."""
    text = source.text
    comments = tuple(nodes.Comment(m.group(1), span=Span(source, m.start(1), m.end(1))) for m in _COMMENT.finditer(text) if m.group(1))
    items: list[nodes.Declaration] = []
    broken: set[str] = set()
    header: nodes.Header | None = None
    for start, end in _cuts(source, problems):
        item = parse_cut(source, start, end, problems)
        if isinstance(item, nodes.Header):
            if header is None and not items:
                header = item
            else:
                problems.add("R011", "a second header, or a header that is not first", item.span, "one file, one header")
        elif item is not None:
            items.append(item)
        else:  # what it would have declared is not unknown, only unread
            broken.update(re.findall(r"[A-Za-z]\w*", text[start:end]))
    whole = Span(source, 0, min(len(text), 1))
    if header is None and not problems.has_errors:
        problems.add(
            "R012",
            "this file does not say what it is",
            whole,
            'begin it with a line such as `game harbour "Harbour", players 2..6`, or variant, library, data',
        )
    return nodes.Module(source, header, tuple(items), comments, frozenset(broken), span=whole)


def _cuts(source: SourceFile, problems: Problems) -> Iterator[tuple[int, int]]:
    """Ranges of the text that hold one top-level declaration each."""
    text, starts = source.text, source.line_starts
    tops: list[int] = []
    for start in starts:
        first = text[start : start + 1]
        if first and not first.isspace() and first != "#":
            tops.append(start)
        elif first in " \t" and first and not tops:
            shown = source.line_text(source.line_of(start))
            if shown.strip() and not shown.strip().startswith("#"):
                at = start + len(shown) - len(shown.lstrip())
                span = Span(source, at, start + len(shown))
                problems.add("R003", "an indented line that belongs to nothing", span, "move it to the left margin")
    tab = text.find("\t")
    while tab >= 0:
        line = source.line_of(tab)
        if not source.line_text(line)[: tab - source.line_starts[line - 1]].strip():
            problems.add("R002", "a tab in the indentation", Span(source, tab, tab + 1), "indent with four spaces")
            break
        tab = text.find("\t", tab + 1)
    for start, end in zip(tops, [*tops[1:], len(text)], strict=False):
        yield start, end


def parse_cut(source: SourceFile, start: int, end: int, problems: Problems) -> nodes.Declaration | nodes.Header | None:
    """One declaration; then the holes in its texts, each a value at its true place in the file."""
    tree = _tree(source, start, end, "start", problems)
    if tree is None:
        return None
    for token in re.finditer(r"\d{10,}", source.text[start:end]):
        if int(token.group()) > MAX_NUMBER:
            span = Span(source, start + token.start(), start + token.end())
            problems.add("R005", "a number beyond 2 to the power of 53", span, "no rule needs it; use a smaller one")
            return None
    before = len(problems.found)
    build = Build(source, lambda at, to: _tree(source, at, to, "hole", problems), problems)
    made: nodes.Declaration | nodes.Header = build.build(tree)
    return made if len(problems.found) == before else None


def _tree(source: SourceFile, start: int, end: int, rule: str, problems: Problems) -> "Tree[Token] | None":
    text = source.text
    slice_text = text if end < len(text) or text.endswith("\n") else text + "\n"
    try:
        return _lark().parse(TextSlice(slice_text, start, len(slice_text) if end == len(text) else end), start=rule)
    except UnexpectedToken as err:
        _unexpected(
            source,
            err.token.start_pos or (start if rule == "start" else end),
            len(str(err.token).rstrip("\n")),
            err.token.type,
            set(err.accepts or err.expected),
            start,
            end,
            problems,
        )
    except UnexpectedCharacters as err:
        _unexpected(source, err.pos_in_stream or start, 1, "", set(err.allowed or ()), start, end, problems)
    except DedentError:
        at = _bad_dedent(source, start, end)
        problems.add(
            "R003", "this line is indented like no line above it", at, "indent it like the line that it belongs to; four spaces a level"
        )
    except TooDeep as deep:
        span = Span(source, deep.at, deep.at + 1)
        problems.add("R004", f"nested more than {MAX_DEPTH} deep", span, "give a part of it a name with `let` or `define`")
    except UnexpectedInput as err:
        _unexpected(source, err.pos_in_stream or start, 1, "", set(), start, end, problems)
    except LarkError as err:
        raise AssertionError(str(err)) from err
    return None


def _bad_dedent(source: SourceFile, start: int, end: int) -> Span:
    levels = [0]
    for line in range_lines(source, start, end):
        text = source.line_text(line)
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        indent = len(text) - len(text.lstrip())
        if indent > levels[-1]:
            levels.append(indent)
            continue
        while levels[-1] > indent:
            levels.pop()
        if levels[-1] != indent:
            at = source.line_starts[line - 1]
            return Span(source, at + indent, at + len(text.split("#")[0].rstrip()))
    return Span(source, start, start + 1)


def range_lines(source: SourceFile, start: int, end: int) -> Iterator[int]:
    return iter(range(source.line_of(start), source.line_of(max(start, end - 1)) + 1))


def _unexpected(source: SourceFile, at: int, length: int, found: str, expected: set[str], start: int, end: int, problems: Problems) -> None:
    """Names a syntax error in the words of the author."""
    text = source.text
    line_text = source.line_text(source.line_of(min(at, max(0, len(text) - 1)))) if text else ""
    word = re.match(r"[A-Za-z_0-9]+|.", text[at : at + 60])
    shown = word.group() if word else ""
    span = Span(source, at, at + max(1, min(length, len(shown)) or 1))
    first = re.match(r"\S+", text[start:end])
    hint, code, message = "", "R001", f"`{shown}` does not fit here"
    if found in ("_NL", "$END") or (not shown.strip() and found not in ("_INDENT", "_DEDENT")):
        line = source.line_of(max(0, at - 1 if found != "_NL" else at))
        line_end = source.line_starts[line - 1] + len(source.line_text(line).rstrip())
        span = Span(source, max(0, line_end - 1), max(1, line_end))
        message = "the line ends too early"
    elif found == "_INDENT":
        message = "this line is indented, but the line above it opens no block"
        hint = "move it to the left, or let the line above say what the block is for"
        code = "R003"
        below = source.line_of(at)
        while below < len(source.line_starts) and not source.line_text(below + 1).split("#")[0].strip():
            below += 1
        line_text = source.line_text(min(below + 1, len(source.line_starts)))
        at_line = source.line_starts[min(below, len(source.line_starts) - 1)]
        span = Span(source, at_line + len(line_text) - len(line_text.lstrip()), at_line + len(line_text.rstrip()))
    elif found == "_DEDENT":
        message = "a block is missing here"
        hint = "indent the lines that belong to it by four spaces"
    wanted = sorted({_WORDS.get(e, f"`{e.lower().replace('_', ' ')}`") for e in expected if not e.startswith("__") and e != "MARK"})
    if first and at == start and shown not in _TOP_WORDS:
        from rulelang.diagnostics import near

        message = f"`{shown}` is no declaration"
        hint = near(shown, _TOP_WORDS) or "a line at the left margin begins with one of: " + ", ".join(_TOP_WORDS[:12]) + ", ..."
    elif re.search(r"\b(who|where|has)\b", line_text[: max(0, at - source.line_starts[source.line_of(at) - 1])]) and re.match(
        r"[-+*/]|to\b|into\b|among\b|from\b|[<>]=?", shown
    ):
        hint = "a who/where/has clause reaches to the end of the line: put it in brackets, or use `let`"
    elif not hint and re.match(r"[-+*/]$", shown) and re.search(r"[<>]=?|\bis\b", line_text):
        hint = "the right side of a comparison is one term: put a sum in brackets"
    elif not hint and re.match(r"(when|if)\b", shown):
        hint = "a condition is written `if ...`, that of an option `, only if ...`"
    elif not hint and 0 < len(wanted) <= 8:
        hint = "expected " + " or ".join(wanted)
    elif not hint and "COLON" in expected:
        hint = "expected `:`"
    if not hint:
        hint = "compare the line with one that works: `rulelang explain R001`"
    problems.add(code, message, span, hint)
