"""Text in, surface tree out.  The file is cut at column 0 and each declaration is parsed on its own, so that one
mistake costs one declaration and every mistake is reported with its true place in one run."""

import os
import re
from collections.abc import Iterator
from copy import copy
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from attrs import define, evolve, field
from lark import Lark, Token
from lark.exceptions import LarkError, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.indenter import DedentError, Indenter
from lark.utils import TextSlice

from rulelang.diagnostics import Problems
from rulelang.limits import NUMBER, USUAL, Limits
from rulelang.source import SourceFile, Span
from rulelang.surface import nodes
from rulelang.surface.build import Build, callbacks
from rulelang.surface.lexer import WordLexer
from rulelang.surface.mistakes import LONG, TOP_WORDS, Mends, Reads, Slip, Stop, slip

MAX_DEPTH = 100
MAX_OTHERWISE = 150  # in one declaration: each `otherwise if` is one deeper than the last
MOST_IN_A_LINE = 3  # mistakes that are mended in one line which is shown
MOST_MISTAKES = 10  # that are looked for in one declaration, unless it is longer than any that people write
LONG_DECLARATION = 100_000
MAX_JOINED = 300  # by `and` or `or`, in one line
_JOINS = {"AND", "OR"}
_CHAIN = {"__CHAIN", "NOT", "OF", "STAR", "SLASH", "MOD", "LPAR", "LSQB", "SUCH", "WHO", "HAS"}


class TooDeep(Exception):
    def __init__(self, at: int, what: str) -> None:
        super().__init__()
        self.at, self.what = at, what


class Blocks(Indenter):
    """Indentation as tokens.  Nesting is counted here, so that no later stage meets a tree that is too deep."""

    NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
    OPEN_PAREN_types, CLOSE_PAREN_types = ["LPAR", "LSQB"], ["RPAR", "RSQB"]
    tab_len = 4

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        chain = depth = otherwise = joined = 0
        for token in Indenter.process(Blocks(), stream):  # type: ignore[no-untyped-call] # a text is read while its line is
            if token.type == "_NL":
                chain = joined = 0
            elif token.type == "_INDENT":
                depth += 1
            elif token.type == "_DEDENT":
                depth -= 1
            elif token.type in _CHAIN:
                chain += 1
            elif token.type in _JOINS:
                joined += 1
            elif token.type == "OTHERWISE":
                otherwise += 1
            if chain + depth > MAX_DEPTH or otherwise > MAX_OTHERWISE:
                raise TooDeep(token.start_pos or 0, f"nested more than {MAX_DEPTH} deep")
            if joined > MAX_JOINED:
                raise TooDeep(token.start_pos or 0, f"more than {MAX_JOINED} parts joined in one line")
            yield token


@define
class Grammar:
    """Lark with its tables, and what is made of what it reads"""

    lark: Lark
    building: list[Build] = field(factory=list)  # the last is the text that is read now

    def __attrs_post_init__(self) -> None:
        self.parser.callbacks = callbacks(self.lark.rules, lambda: self.building[-1])

    @property
    def parser(self) -> Any:
        return self.lark.parser.parser.parser

    @property
    def lexer(self) -> WordLexer:
        made: WordLexer = self.lark.parser.lexer.lexer
        return made

    def read(self, text: TextSlice[str], what: str, build: Build) -> Any:
        self.building.append(build)
        try:
            made: Any = self.lark.parse(text, start=what)
            return made[0]
        finally:
            self.building.pop()


@lru_cache(maxsize=1)
def _grammar() -> Grammar:
    return Grammar(_lark())


def _lark() -> Lark:
    grammar = files("rulelang.surface").joinpath("grammar.lark").read_text(encoding="utf-8")

    def make(cache: str | bool) -> Lark:
        return Lark(
            grammar, start=["start", "hole"], parser="lalr", lexer=WordLexer, postlex=Blocks(),
            maybe_placeholders=True, cache=cache,
        )  # fmt: skip

    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rulelang"
        folder.mkdir(parents=True, exist_ok=True)
        return make(str(folder / "grammar.tables"))
    except (OSError, RuntimeError):  # no place to keep the tables: work them out
        return make(False)


def make_ready() -> None:
    """Works the grammar out before the first file is read."""
    _grammar()


# ---------------------------------------------------------------- cutting, comments, errors

_LONG = re.compile(r'#[^\n]*|"(?P<text>[^"\n]*)"|(?<![0-9A-Za-z_])((?P<digits>[0-9]{10,})|(?P<name>[A-Za-z][0-9A-Za-z_]{100,}))')
_HOLE = re.compile(r"\{[^}]*\}")
_DIGITS = re.compile(r"(?<![0-9A-Za-z_])[0-9]{10,}")
_COMMENT = re.compile(r'"[^"\n]*"|(#[^\n]*)')
_OPENS = re.compile(r"(step|repeat|verb|before|after|replace|each player|during|example|always true)\b")
_PLACE = re.compile(r"(counter|status|zone|pile|slot)\b")
_GOES_ON = re.compile(r" +(,|(and|or|where|who|such that|over|gives|among|into|onto|to|from|with|against|under|on|at|for|by)\b)")
_SIGNS = {"COLON": ":", "COMMA": ",", "EQUAL": "="}


def parse(source: SourceFile, problems: Problems, limits: Limits = USUAL) -> nodes.Module:
    """`text -> Module`; what cannot be parsed is reported and left out."""
    problems.reached(Span(source, 0, 1))
    text = source.text
    comments = tuple(nodes.Comment(m.group(1), span=Span(source, m.start(1), m.end(1))) for m in _COMMENT.finditer(text) if m.group(1))
    items: list[nodes.Declaration] = []
    broken: set[str] = set()
    said: set[str] = set()
    header: nodes.Header | None = None
    for number, (start, end) in enumerate(_cuts(source, problems)):
        if number == limits.declarations:
            message = f"more than {limits.declarations} lines at the left margin"
            problems.add("R005", message, Span(source, start, start + 1), "take a part of it into a file of its own")
        if number == limits.declarations or problems.full:
            broken.update(_words(text[start:]))
            break
        item, unread = _parse_cut(source, start, end, said, problems, limits)
        broken |= unread  # what it would have declared is not unknown, only unread
        if isinstance(item, nodes.Header):
            if header is None and not items:
                header = item
            else:
                problems.add("R011", "a second header, or a header that is not first", item.span, "one file, one header")
        elif item is not None:
            items.append(item)
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
    bare = False  # the last declaration opens a block, and no line of it is indented yet
    for start in starts:
        first = text[start : start + 1]
        if first and not first.isspace() and first != "#":
            line = source.line_text(source.line_of(start))
            word = re.match(r"\w*", line)
            at_margin = word is not None and word.group() in TOP_WORDS and not (_PLACE.match(line) and _is_followed(source, start))
            if not bare or at_margin:  # else a line of that block, at the margin by mistake
                tops.append(start)
                bare = _OPENS.match(line) is not None
        elif first in " \t" and first:
            shown = source.line_text(source.line_of(start))
            if shown.strip() and not shown.strip().startswith("#"):
                bare = False
                if not tops:
                    at = start + len(shown) - len(shown.lstrip())
                    span = Span(source, at, start + len(shown))
                    problems.add("R003", "an indented line that belongs to nothing", span, "move it to the left margin")
    tab = text.find("\t")
    while tab >= 0:
        line_number = source.line_of(tab)
        if not source.line_text(line_number)[: tab - source.line_starts[line_number - 1]].strip():
            problems.add("R002", "a tab in the indentation", Span(source, tab, tab + 1), "indent with four spaces")
            break
        tab = text.find("\t", tab + 1)
    yield from zip(tops, [*tops[1:], len(text)], strict=False)


def _is_followed(source: SourceFile, start: int) -> bool:
    """Does an indented line come next?"""
    lines = (source.line_text(n) for n in range(source.line_of(start) + 1, len(source.line_starts) + 1))
    return next((line for line in lines if line.split("#")[0].strip()), "").startswith(" ")


def _parse_cut(
    source: SourceFile, start: int, end: int, said: set[str], problems: Problems, limits: Limits
) -> tuple[nodes.Declaration | nodes.Header | None, set[str]]:
    """One declaration, and the words in it that were not read.  After a mistake its line is put aside and reading begins
    anew, to find the next one."""
    text = source.text if source.text.endswith("\n") else source.text + "\n"
    stop_at = len(text) if end == len(source.text) else end
    problems.reached(Span(source, start, end))
    aside: set[int] = set()
    if _too_large(source, start, end, problems, limits):
        return None, set(_words(source.text[start:end])) | said
    for _ in range(MOST_MISTAKES):
        in_texts = Problems()
        build = Build(source, partial(_hole, source, in_texts), in_texts)
        try:
            made = _grammar().read(TextSlice(text, start, stop_at), "start", build)
        except (UnexpectedInput, DedentError, TooDeep) as err:
            if aside and isinstance(err, DedentError):
                break  # the levels are no longer those that the author sees
            instead = partial(_reads_instead, source, text, start), partial(_mended, source, text, start, MOST_IN_A_LINE)
            found = _slip(source, start, end, err, *instead)
        except LarkError as err:
            raise AssertionError(str(err)) from err
        else:
            for d in in_texts.found:
                problems.add(d.code, d.message, d.span, d.hint, heading=d.heading, notes=d.notes)
            if in_texts.found:
                break
            left, unread = _what_is_left(made, aside)
            return left, unread | said if aside else unread
        if not _told(source, found, aside, said):
            problems.add(found.code, found.message, found.span, found.hint)
        said.update(" ".join(_words(phrase)) for phrase in (found.phrase, found.meant) if phrase)
        shorter = _put_aside(text, source, found, start, stop_at, aside)
        if shorter == text or found.code == "R004" or end - start > LONG_DECLARATION:
            break
        text = shorter
    return None, set(_words(source.text[start:end])) | said


def _what_is_left(made: nodes.Declaration | nodes.Header, aside: set[int]) -> tuple[nodes.Declaration | nodes.Header | None, set[str]]:
    """Of `each player` everything but the lines put aside, of others all or nothing; and the words of the rest."""
    if not aside:
        return made, set()
    if not isinstance(made, nodes.EachPlayer) or made.span.line in aside:
        return None, set(_words(made.span.text))
    unread = {word for line in aside for word in _words(made.span.source.line_text(line))}
    whole = []
    for item in made.items:
        last = made.span.source.line_of(item.span.start + len(item.span.text.rstrip()) - 1)
        if aside.isdisjoint(range(item.span.line, last + 1)):
            whole.append(item)
        else:
            unread.update(_words(item.span.text))
    return evolve(made, items=tuple(whole)), unread


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _told(source: SourceFile, found: Slip, aside: set[int], said: set[str]) -> bool:
    """Does it only follow from what was reported before?"""
    line = found.span.line
    below = next((n for n in range(line + 1, len(source.line_starts) + 1) if source.line_text(n).split("#")[0].strip()), 0)
    emptied = found.code == "R003" and below in aside
    words = _words(source.line_text(line)[:LONG])
    phrases = {" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words))}
    return line in aside or emptied or not phrases.isdisjoint(said)


def _put_aside(text: str, source: SourceFile, found: Slip, start: int, end: int, aside: set[int]) -> str:
    """The same text with the shortest of lines in the place of the wrong one and of what belongs to it; the second time
    with nothing there."""
    line = found.span.line
    while _GOES_ON.match(source.line_text(line)) and source.line_starts[line - 1] > start:
        aside.add(line)
        line -= 1
    first, shown = source.line_starts[line - 1], source.line_text(line)
    indent = len(shown) - len(shown.lstrip())
    again = line in aside
    aside.add(line)
    if first <= start:  # the line that says what the declaration is
        neutral = "step x" if re.match(r"(step|repeat|verb|before|after|replace)\b", shown) and len(shown) >= 6 else ""
        return text if again or not neutral else text[:first] + neutral.ljust(len(shown)) + text[first + len(shown) :]
    declaration = source.text[start:end]
    neutral = "" if again else _neutral(declaration, indent)
    made = (" " * indent + neutral if indent + len(neutral) <= len(shown) else "").ljust(len(shown))
    last = first + len(shown)
    margin = indent + 1 if found.code != "R003" else indent  # who indents a line wrongly does so with its neighbours
    if declaration.startswith("each") and re.match(r" *(step|repeat)\b", shown):
        margin = 0
    for below in range(line + 1, source.line_of(max(start, end - 1)) + 1):
        more = source.line_text(below)
        is_less = more.split("#")[0].strip() and len(more) - len(more.lstrip()) < margin
        if is_less and not (shown[indent:].startswith(("if ", "otherwise", "el")) and more.startswith(" " * indent + "otherwise")):
            break
        made += "\n" + " " * len(more)
        last = source.line_starts[below - 1] + len(more)
        aside.add(below)
    return text[:first] + made + text[last:]


def _neutral(declaration: str, indent: int) -> str:
    """A line that says nothing, and may stand in this declaration so far from the margin."""
    outer = re.search(r"\n( +)\S", declaration)
    if outer is None or len(outer[1]) != indent:
        return "x"
    words = {"each": "define x=1", "table": "x: 1", "map": "x: []", "kind": "x: 1", "ring": "x: 1", "extend": "x: 1", "example": "run x"}
    return words.get(declaration.split(maxsplit=1)[0], "x")


def _hole(source: SourceFile, problems: Problems, start: int, end: int) -> nodes.Expr | None:
    """`price(g)` in `"buy {g} for {price(g)}"`: a value at its true place in the file"""
    try:
        build = Build(source, lambda at, to: None, problems)
        value: nodes.Expr = _grammar().read(TextSlice(source.text, start, start + len(source.text[start:end].rstrip())), "hole", build)
        return value
    except (UnexpectedInput, TooDeep) as err:
        found = _slip(source, start, end, err, in_text=True)
        problems.add(found.code, found.message, found.span, found.hint)
    except LarkError as err:
        raise AssertionError(str(err)) from err
    return None


def _too_large(source: SourceFile, start: int, end: int, problems: Problems, limits: Limits) -> bool:
    """Numbers, names and texts that are too long, each at its place; before anything is made of them."""
    before = len(problems.found)
    for long in _LONG.finditer(source.text, start, end):
        text, digits = long["text"], long["digits"]
        if text is not None and len(text) > limits.label:
            span = Span(source, *long.span("text"))
            problems.add("R005", f"a text of more than {limits.label} characters", span, "say it in fewer words")
        if long["name"] is not None and len(long["name"]) > limits.name:
            span = Span(source, *long.span("name"))
            problems.add("R005", f"a name of more than {limits.name} characters", span, "a short name is easier to read")
        numbers = [long] if digits else [n for hole in _HOLE.finditer(text or "") for n in _DIGITS.finditer(text or "", *hole.span())]
        for number in numbers:  # Python reads no number of some thousand digits
            if len(number[0]) > 16 or int(number[0]) > NUMBER:
                at = number.start() + (0 if digits else long.start("text"))
                span = Span(source, at, at + len(number[0]))
                problems.add("R005", "a number beyond 2 to the power of 53", span, "no rule needs it; use a smaller one")
    return len(problems.found) > before


def _reads_instead(source: SourceFile, text: str, start: int, line: int, mended: str) -> bool:
    """Could this stand in the place of a line?"""
    if line - source.line_of(start) > LONG:
        return True  # nobody wrote this by hand: it is not read again and again
    return _stopped(source, _with_line(source, text, start, line, mended), start) in (None, "$END", "_DEDENT")


def _with_line(source: SourceFile, text: str, start: int, line: int, mended: str) -> str:
    """The text up to a line, and in its place another, or several."""
    first, shown = source.line_starts[line - 1], source.line_text(line)
    indent = shown[: len(shown) - len(shown.lstrip())] if first > start else ""
    return text[:first] + "".join(f"{indent}{part}\n" for part in mended.strip().split("\n"))


def _mended(source: SourceFile, text: str, start: int, most: int, line: int, mended: str) -> str:
    """The line with its next mistake mended too, and the one after that; nothing if one of them is not known."""
    if line - source.line_of(start) > LONG:
        return mended
    other = SourceFile(source.path, _with_line(source, text, start, line, mended))
    try:
        _grammar().read(TextSlice(other.text, start, len(other.text)), "start", Build(other, lambda at, to: None, Problems()))
    except (UnexpectedInput, DedentError, TooDeep) as err:
        if isinstance(err, UnexpectedToken) and err.token.type in ("$END", "_DEDENT"):
            return mended
        if not most:
            return ""
        instead = partial(_reads_instead, other, other.text, start), partial(_mended, other, other.text, start, most - 1)
        next_one = _slip(other, start, len(other.text), err, *instead)
        parts = mended.strip().split("\n")
        if not next_one.mended or not 0 <= next_one.span.line - line < len(parts):
            return ""
        wrong = parts[next_one.span.line - line]
        parts[next_one.span.line - line] = wrong[: len(wrong) - len(wrong.lstrip())] + next_one.mended
        return parts[0] if len(parts) == 1 else _mended(source, text, start, most - 1, line, "\n".join(parts))
    return mended


def _slip(
    source: SourceFile, start: int, end: int, err: UnexpectedInput | DedentError | TooDeep, reads: Reads = lambda line, mended: True,
    mends: Mends = lambda line, mended: mended, in_text: bool = False,
) -> Slip:  # fmt: skip
    where = partial(Stop, source, start, end, in_text=in_text, reads=reads, mends=mends)
    match err:
        case DedentError():
            hint = "indent it like the line that it belongs to; four spaces a level"
            return Slip("this line is indented like no line above it", hint, _bad_dedent(source, start, end), "R003")
        case TooDeep():
            span = Span(source, err.at, err.at + 1)
            return Slip(err.what, "give a part of it a name with `let` or `define`", span, "R004")
        case UnexpectedToken():
            expected = frozenset(err.accepts or err.expected)
            at = end if in_text and err.token.type == "$END" else err.token.start_pos or start
            return slip(where(at, err.token.type, expected, _missing(source.text, err)))
        case UnexpectedCharacters():
            return slip(where(err.pos_in_stream or start, "", frozenset(err.allowed or ())))
    return slip(where(err.pos_in_stream or start, "", frozenset()))


def reads(line: str) -> bool:
    """Is it a whole line of a step?"""
    source = SourceFile("", f"step x\n    {line}\n")
    return _stopped(source, source.text) is None


def _stopped(source: SourceFile, text: str, start: int = 0) -> str | None:
    """At what sort of word the reading of a declaration stops, if it does."""
    try:
        _grammar().read(TextSlice(text, start, len(text)), "start", Build(source, lambda at, to: None, Problems()))
    except UnexpectedToken as err:
        return str(err.token.type)
    except (UnexpectedInput, DedentError, TooDeep):
        return "?"
    return None


def _missing(text: str, err: UnexpectedToken) -> str:
    """The sign that would make it go on."""
    if err.interactive_parser is None or err.token.type in ("_NL", "_INDENT", "_DEDENT", "$END"):
        return ""
    sorts = _grammar().lexer.sorts(text, err.token.start_pos or 0)
    for sort, sign in _SIGNS.items():
        if sort in (err.accepts or ()):
            going_on = err.interactive_parser.copy(deepcopy_values=False)  # type: ignore[no-untyped-call]
            going_on.parser_state.parse_conf = copy(going_on.parser_state.parse_conf)
            going_on.parser_state.parse_conf.callbacks = {}  # to look ahead, nothing need be made
            going_on.feed_token(Token(sort, sign))
            if sorts & going_on.accepts():
                return sign
    return ""


def _bad_dedent(source: SourceFile, start: int, end: int) -> Span:
    levels = [0]
    for line in range(source.line_of(start), source.line_of(max(start, end - 1)) + 1):
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
