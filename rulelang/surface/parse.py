"""Text in, surface tree out.  The file is cut at column 0 and each declaration is parsed on its own, so that one
mistake costs one declaration and every mistake is reported with its true place in one run."""

import re
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

from attrs import define
from lark import Lark, Token, Tree
from lark.exceptions import LarkError, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.indenter import DedentError, Indenter
from lark.utils import TextSlice

from rulelang.diagnostics import Problems
from rulelang.source import SourceFile, Span
from rulelang.surface import nodes

MAX_DEPTH = 100
MAX_NUMBER = 2**53
MAX_LABEL = 200
_CHAIN = {"__CHAIN", "NOT", "OF", "STAR", "SLASH", "MOD", "LPAR", "LSQB", "OTHERWISE"}
_TRAILING = re.compile(r"(\s|\n[ \t]*#[^\n]*(?=\n|$))+\Z")


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
        chain = depth = 0
        for token in super().process(stream):
            if token.type == "_NL":
                chain = 0
            elif token.type == "_INDENT":
                depth += 1
            elif token.type == "_DEDENT":
                depth -= 1
            elif token.type in _CHAIN:
                chain += 1
            if chain + depth > MAX_DEPTH:
                raise TooDeep(token.start_pos or 0)
            yield token


@lru_cache(maxsize=1)
def _lark() -> Lark:
    grammar = files("rulelang.surface").joinpath("grammar.lark").read_text(encoding="utf-8")

    def make(cache: bool) -> Lark:
        return Lark(
            grammar,
            parser="lalr",
            lexer="contextual",
            postlex=Blocks(),
            propagate_positions=True,
            maybe_placeholders=True,
            cache=cache,
        )

    try:
        return make(bool(tempfile.gettempdir()))
    except OSError:  # no place to keep the tables: work them out
        return make(False)


@define
class _Build:
    """Lark's tree to nodes, bottom up and without recursion."""

    source: SourceFile

    def build(self, tree: Tree[Token]) -> Any:
        built: dict[int, Any] = {}
        for part in tree.iter_subtrees():
            children = [built[id(c)] if isinstance(c, Tree) else c for c in part.children]
            rest, mark = _marked(children)
            built[id(part)] = _RULES[part.data](self, self.span(part.meta), rest, mark)
        return built[id(tree)]

    def span(self, meta: Any) -> Span:
        if getattr(meta, "empty", True):
            return Span(self.source, 0, 0)
        start, end = meta.start_pos, meta.end_pos
        text = self.source.text
        if text[end - 1 : end].isspace() or "\n" in text[start:end]:  # the newline that ends a block is no part of it
            trimmed = _TRAILING.search(text, start, end)
            end = trimmed.start() if trimmed else end
        return Span(self.source, start, end)

    def token_span(self, token: Token) -> Span:
        return Span(self.source, token.start_pos or 0, token.end_pos or 0)


def _marked(children: list[Any]) -> tuple[list[Any], str | None]:
    rest = [c for c in children if not (isinstance(c, Token) and c.type == "MARK")]
    marks = [str(c)[1:-1].strip() for c in children if isinstance(c, Token) and c.type == "MARK"]
    return rest, (marks[0] if marks else None)


def _text(token: Token | None) -> str | None:
    return None if token is None else str(token)[1:-1]


def _int(token: Token) -> int:
    return int(token)


def _atom(x: Any) -> Any:
    if isinstance(x, Token):
        if x.type in ("NUMBER", "NEGATIVE"):
            return int(x)
        if x.type in ("YES", "NO"):
            return x.type == "YES"
        return str(x)
    return x


class _Block(tuple):  # type: ignore[type-arg]
    """The statements of a block, and the mark on the line above it."""

    mark: str | None = None


def _rules() -> dict[str, Any]:
    """The building functions, one for each grammar rule."""
    n = nodes
    r: dict[str, Any] = {}

    def rule(*names: str) -> Any:
        def keep(f: Any) -> Any:
            for name in names or (f.__name__,):
                r[name] = f
            return f

        return keep

    @rule()
    def start(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return c[0]

    @rule("game", "variant", "library", "data")
    def header(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        raise AssertionError

    def game(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Header("game", str(c[0]), _text(c[1]) or "", None, c[2], span=s, mark=m)

    def variant(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Header("variant", str(c[0]), _text(c[2]) or "", str(c[1]), span=s, mark=m)

    def library(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Header("library", str(c[0]), _text(c[1]) or "", span=s, mark=m)

    def data(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Header("data", str(c[0]), _text(c[1]) or "", span=s, mark=m)

    r.update(game=game, variant=variant, library=library, data=data)

    @rule()
    def use(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Use(tuple(map(str, c)), span=s, mark=m)

    @rule()
    def option(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Option(str(c[0]), c[1], c[2], c[3], span=s, mark=m)

    @rule("only_if", "gives", "default", "random", "ex_for", "source", "brackets", "such_that", "starts_at_value")
    def only(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return _atom(c[0])

    @rule()
    def kind_of_names(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        rows = tuple(n.Row(str(t), 1, (), span=b.token_span(t)) for t in c[2:])
        return n.Kind(str(c[1]), c[0] == "ring", (), rows, None, span=s, mark=m)

    @rule()
    def kind_of_rows(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Kind(str(c[1]), c[0] == "ring", c[2], tuple(c[4:]), c[3], span=s, mark=m)

    @rule()
    def pieces_alike(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Pieces(str(c[0]), c[1], (), (), None, span=s, mark=m)

    @rule()
    def pieces_printed(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Pieces(str(c[0]), None, c[1], tuple(c[3:]), c[2], span=s, mark=m)

    @rule("fields", "keys", "ex_keys", "window")
    def several(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return tuple(map(_atom, c))

    @rule()
    def field(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Field(str(c[0]), c[1] or (), c[2], span=s)

    @rule()
    def kind_row(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Row(str(c[0]), 1, tuple(c[1:]), span=s, mark=m)

    @rule()
    def row(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Row(None, 1 if c[0] is None else c[0], tuple(c[1:]), span=s, mark=m)

    @rule()
    def copies(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return int(c[0])

    @rule()
    def cell(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Cell(tuple(map(_atom, c)), span=s)

    @rule()
    def every_of(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.KindName(str(c[0]), span=s)

    @rule()
    def table(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        params = tuple(x for x in c if isinstance(x, n.Param))
        rows = tuple(x for x in c if isinstance(x, n.TableRow))
        origin = c[len(params) + 1]
        return n.Table(str(c[0]), params, rows, origin, span=s, mark=m)

    @rule()
    def table_row(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.TableRow(tuple(c[:-1]), c[-1], span=s, mark=m)

    @rule()
    def key(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return _atom(c[0])

    @rule()
    def key_range(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return (int(c[0]), int(c[1]) if len(c) > 1 else None)

    @rule()
    def place(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        words = c[4:]
        at = [w[1] for w in words if isinstance(w, tuple) and w[0] == "at"]
        full = [w[1] for w in words if isinstance(w, tuple) and w[0] == "with"]
        stops = [w[1] for w in words if isinstance(w, tuple) and w[0] == "stops"]
        seen = tuple(str(w) for w in words if isinstance(w, Token))
        return n.Place(
            str(c[0]),
            str(c[1]),
            c[2] or (),
            c[3],
            seen,
            at[0] if at else None,
            full[0] if full else None,
            tuple(stops),
            span=s,
            mark=m,
        )

    @rule()
    def starts_at(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return ("at", c[0])

    @rule()
    def starts_with(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return ("with", str(c[0]))

    @rule()
    def stops_at(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return ("stops", c[0])

    @rule()
    def each_player(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.EachPlayer(tuple(c), span=s, mark=m)

    @rule()
    def type(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.TypeExpr(tuple(map(_atom, c)), span=s)

    @rule()
    def set_of(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.SetOf(str(c[0]), span=s)

    @rule()
    def per(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Per(_atom(c[0]), str(c[1]), span=s)

    @rule()
    def range(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Range(c[0], c[1] if len(c) > 1 else None, span=s)

    @rule()
    def define_short(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        give = n.Give(c[2], None, False, span=c[2].span, mark=m)
        return n.Define(c[0], c[1], (give,), span=s, mark=m)

    @rule()
    def define_long(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Define(c[0], c[1], tuple(c[2]), span=s, mark=c[2].mark)

    @rule()
    def verb(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Verb(c[0], _text(c[1]), tuple(c[2]), span=s, mark=c[2].mark)

    def signature(form: str) -> Any:
        def build(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
            params = tuple(x for x in c if isinstance(x, n.Param))
            args = tuple(x for x in c if isinstance(x, n.ArgParam))
            return n.Signature(form, str(c[0]), params, args, span=s)

        return build

    for form in ("plain", "lookup", "of", "object", "bare"):
        r[f"sig_{form}"] = signature(form)

    @rule()
    def prep_param(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.ArgParam(str(c[0]), c[1], False, False, None, span=s)

    @rule()
    def label_param(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.ArgParam(str(c[0]), c[1], True, c[2] is not None, c[3], span=s)

    @rule()
    def param(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Param(str(c[0]), c[1], span=s)

    @rule("block", "choice_body")
    def block(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        made = _Block(c)
        made.mark = m
        return made

    @rule()
    def step(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Step(str(c[0]), _text(c[1]), tuple(c[2]), span=s, mark=c[2].mark)

    @rule()
    def repeat_open(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Repeat(str(c[0]), _text(c[1]), None, tuple(c[2]), span=s, mark=c[2].mark)

    @rule()
    def repeat_named(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Repeat(str(c[0]), _text(c[1]), c[2], tuple(c[3]), span=s, mark=c[3].mark)

    @rule()
    def repeat_times(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Repeat(None, None, c[0], tuple(c[1]), span=s, mark=c[1].mark)

    @rule()
    def during(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        windows = tuple(str(x) for x in c if isinstance(x, Token))
        return n.During(windows, tuple(x for x in c if isinstance(x, n.Choice)), span=s, mark=m)

    @rule()
    def ranking(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Ranking(c[0], span=s, mark=m)

    @rule()
    def measures(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        pairs = tuple((str(c[i]), c[i + 1]) for i in _counting(1, len(c) - 1, 2))
        return n.Measures(pairs, n.Name(str(c[-1]), span=b.token_span(c[-1])), span=s)

    @rule()
    def order(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return c[0]

    @rule()
    def replace_declaration(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.ReplaceDeclaration(c[0], span=s, mark=m)

    @rule()
    def replace_steps(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Hook("replace", tuple(c[:-1]), tuple(c[-1]), span=s, mark=c[-1].mark)

    @rule()
    def hook(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Hook(str(c[0]), tuple(c[1:-1]), tuple(c[-1]), span=s, mark=c[-1].mark)

    @rule()
    def offer(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Offer(tuple(c[:-1]), c[-1], span=s, mark=m)

    def extend(word: str) -> Any:
        def build(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
            at = 1 if word == "kind" else 0
            return n.Extend(word, str(c[at]), tuple(c[at + 2 :]), c[at + 1], span=s, mark=m)

        return build

    for word in ("pieces", "kind", "table"):
        r[f"extend_{word}"] = extend(word)

    @rule()
    def label(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Label(tuple(map(str, c)), span=s)

    @rule()
    def phrase(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        item = c[1] if len(c) > 1 and not isinstance(c[1], n.Arg) else None
        args = tuple(x for x in c[1:] if isinstance(x, n.Arg))
        return n.Phrase(str(c[0]), item, args, span=s, mark=m)

    @rule()
    def prep_arg(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Arg(str(c[0]), c[1], False, span=s)

    @rule()
    def label_arg(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Arg(str(c[0]), c[1], True, c[2] is not None, span=s)

    @rule()
    def let(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        chance = isinstance(c[1], _Random)
        return n.Let(str(c[0]), c[1].those if chance else c[1], chance, span=s, mark=m)

    @rule()
    def random(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return _Random(c[0])

    @rule()
    def if_(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.If(c[0], tuple(c[1]), tuple(c[2] or ()), span=s, mark=c[1].mark)

    @rule()
    def otherwise_block(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return c[0]

    @rule()
    def otherwise_if(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return _Block((n.If(c[0], tuple(c[1]), tuple(c[2] or ()), span=s, mark=c[1].mark),))

    @rule()
    def together(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Together(c[0], tuple(c[1]), span=s, mark=c[1].mark)

    @rule()
    def in_turn(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.InTurn(c[1], c[2], tuple(c[3]), span=s, mark=c[3].mark)

    @rule()
    def end(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.End(str(c[0]), c[1], span=s, mark=m)

    @rule()
    def give_when(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Give(c[0], c[1], False, span=s, mark=m)

    @rule()
    def give_otherwise(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Give(c[0], None, True, span=s, mark=m)

    @rule()
    def needs(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Needs(c[0], span=s, mark=m)

    def chooser(name: Token | None, b: _Build) -> Any:
        return None if name is None else n.Name(str(name), span=b.token_span(name))

    def menu(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        choices = tuple(x for x in c if isinstance(x, n.Choice))
        return n.Choose(None, choices, c[0] or (), False, span=s, mark=m)

    def menus(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        choices = tuple(x for x in c if isinstance(x, n.Choice))
        return n.Choose(chooser(c[0], b), choices, c[1] or (), False, span=s, mark=m)

    def one(b: _Build, s: Span, c: list[Any], m: str | None, who: Any = None) -> Any:
        picks = tuple(x for x in c if isinstance(x, n.Pick))
        window, body = c[-2], c[-1]
        choice = n.Choice(None, None, picks, None, tuple(body), span=s, mark=body.mark)
        return n.Choose(who, (choice,), window or (), False, span=s, mark=body.mark)

    def ones(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return one(b, s, c[1:], m, chooser(c[0], b))

    r.update(choose_menu=menu, chooses_menu=menus, choose_pick=one, chooses_pick=ones)

    @rule()
    def may(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Choose(None, (c[1],), c[0] or (), True, span=s, mark=c[1].mark)

    @rule()
    def choice(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        picks = tuple(x for x in c if isinstance(x, n.Pick))
        return n.Choice(str(c[0]), _text(c[1]), picks, c[-2], tuple(c[-1] or ()), span=s, mark=m)

    @rule()
    def prep_pick(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        from attrs import evolve

        return evolve(c[1], prep=str(c[0]), span=s)

    def those_of(b: _Build, s: Span, c: list[Any]) -> Any:
        return n.Those(str(c[0]), c[1], c[2], span=Span(b.source, c[0].start_pos, s.end))

    @rule()
    def pick_one(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Pick(None, "one", None, False, those_of(b, s, c[1:4]), c[4], span=s)

    @rule()
    def pick_some(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Pick(None, str(c[0]), c[1], c[2] is not None, those_of(b, s, c[3:6]), c[6], span=s)

    @rule()
    def pick_any_number(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Pick(None, "any number", None, c[1] is not None, those_of(b, s, c[2:5]), c[5], span=s)

    @rule()
    def noun_phrase(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.NounPhrase(c[0], tuple(c[1:]), span=s)

    def many(node: Any) -> Any:
        return lambda b, s, c, m: node(tuple(c), span=s)

    r["or_"], r["and_"] = many(n.Or), many(n.And)
    r["not_"] = lambda b, s, c, m: n.Not(c[0], span=s)
    r["compare"] = lambda b, s, c, m: n.Compare(str(c[1]), c[0], c[2], span=s)
    r["is_"] = lambda b, s, c, m: n.Is(c[0], c[1], False, span=s)
    r["is_not"] = lambda b, s, c, m: n.Is(c[0], c[2], True, span=s)
    r["is_in"] = lambda b, s, c, m: n.IsIn(c[0], c[2], False, span=s)
    r["is_not_in"] = lambda b, s, c, m: n.IsIn(c[0], c[2], True, span=s)
    r["is_empty"] = lambda b, s, c, m: n.IsEmpty(c[0], False, span=s)
    r["is_not_empty"] = lambda b, s, c, m: n.IsEmpty(c[0], True, span=s)

    @rule()
    def sum(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        rest = tuple((str(c[i]), c[i + 1]) for i in _counting(1, len(c), 2))
        return n.Sum(c[0], rest, span=s)

    r["times"] = lambda b, s, c, m: n.Times(c[0], c[1], span=s)
    r["divided"] = lambda b, s, c, m: n.Divided(c[0], c[1], str(c[2]).endswith("up"), span=s)
    r["modulo"] = lambda b, s, c, m: n.Modulo(c[0], c[1], span=s)

    @rule()
    def number(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Number(int(c[0]), span=s)

    r["kind_name"] = lambda b, s, c, m: n.KindName(str(c[0]), span=s)
    r["yes"] = lambda b, s, c, m: n.Truth(True, span=s)
    r["no"] = lambda b, s, c, m: n.Truth(False, span=s)
    r["name"] = lambda b, s, c, m: n.Name(str(c[0]), span=s)
    r["lookup"] = lambda b, s, c, m: n.Lookup(str(c[0]), tuple(c[1:]), span=s)
    r["yours"] = lambda b, s, c, m: n.Yours(str(c[0]), c[1], span=s)
    r["property"] = lambda b, s, c, m: n.Property(c[0], c[1], span=s)
    r["ordered"] = lambda b, s, c, m: n.Ordered(c[0], str(c[1]), c[2], span=s)
    r["of_type"] = lambda b, s, c, m: n.OfKind(str(c[0]), c[1], span=s)
    r["list"] = lambda b, s, c, m: n.ListOf(tuple(x for x in c if x is not None), span=s)

    @rule("bound", "closed")
    def bound(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        such = c[-1] if isinstance(c[-1], n.Such) else None
        parts = [x for x in c if x is not None and not isinstance(x, n.Such)]
        var = str(parts[0]) if isinstance(parts[0], Token) else None
        return n.Those(var, parts[-1], such, span=s)

    def with_such(those: Any, such: Any, s: Span) -> Any:
        return n.Those(those.var, those.base, such, span=s)

    r["those"] = lambda b, s, c, m: with_such(c[0], c[1], s)
    r["such_who"] = lambda b, s, c, m: n.Such("who", c[1], span=s)
    r["such_where"] = lambda b, s, c, m: n.Such("where" if c[0] == "where" else "has", c[1], span=s)
    r["has"] = lambda b, s, c, m: n.Such("has", c[1], span=s)
    r["verb_test"] = lambda b, s, c, m: n.VerbTest(str(c[0]), c[1], span=s)

    @rule()
    def fold_all(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Fold(str(c[0]), with_such(c[1], c[2], s) if len(c) > 2 else c[1], span=s)

    @rule()
    def fold_over(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.FoldOver(str(c[0]), c[1], with_such(c[2], c[3], s) if len(c) > 3 else c[2], span=s)

    @rule()
    def none_of(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Fold("no", with_such(c[1], c[2], s) if len(c) > 2 else c[1], span=s)

    r["every"] = lambda b, s, c, m: n.Every(c[0], c[2], span=s)

    @rule()
    def invariant(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Invariant(_text(c[0]) or "", c[1], span=s, mark=m)

    @rule()
    def example(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Example(_text(c[0]) or "", _text(c[1]), tuple(c[2:]), span=s, mark=m)

    r["ex_players"] = lambda b, s, c, m: n.ExPlayers(tuple(map(str, c)), span=s)
    r["ex_option"] = lambda b, s, c, m: n.ExOption(str(c[0]), _atom(c[1]), span=s)
    r["ex_given"] = lambda b, s, c, m: n.ExState("given", c[0], tuple(c[1:]), span=s, mark=m)
    r["ex_chance"] = lambda b, s, c, m: n.ExState("chance", c[0], tuple(c[1:]), span=s, mark=m)
    r["ex_expect"] = lambda b, s, c, m: n.ExState("expect", c[0], tuple(c[1:]), span=s, mark=m)
    r["ex_run"] = lambda b, s, c, m: n.ExRun(tuple(map(str, c[:-1])), c[-1], span=s, mark=m)
    r["ex_that"] = lambda b, s, c, m: n.ExThat(c[0], span=s, mark=m)
    r["ex_prep"] = lambda b, s, c, m: (str(c[0]), c[1])

    @rule()
    def ex_choice(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        values = (((None, c[3]),) if c[3] is not None else ()) + tuple(c[4:])
        return n.ExChoice(str(c[0]), str(c[1]), str(c[2]), values, span=s, mark=m)

    @rule()
    def target(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        return n.Target(str(c[0]), c[1] or (), c[2], span=s)

    r["ex_of"] = lambda b, s, c, m: str(c[0])
    r["ex_item"] = lambda b, s, c, m: tuple(map(_atom, c))
    r["ex_list"] = lambda b, s, c, m: _Items(x for x in c if x is not None)

    @rule()
    def ex_value(b: _Build, s: Span, c: list[Any], m: str | None) -> Any:
        if isinstance(c[0], _Items):
            return n.ExampleValue((), tuple(c[0]), span=s)
        return n.ExampleValue(tuple(map(_atom, c)), None, span=s)

    return r


class _Random:
    def __init__(self, those: nodes.Those) -> None:
        self.those = those


class _Items(tuple):  # type: ignore[type-arg]
    pass


_counting = range


_RULES = _rules()


# ---------------------------------------------------------------- cutting, comments, errors

_COMMENT = re.compile(r'"[^"\n]*"|(#[^\n]*)')
_TOP_WORDS = (
    "game variant library data use option kind ring pieces table counter status zone pile slot each define verb step "
    "repeat during ranking invariant example replace before after offer extend"
).split()
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
}


def parse(source: SourceFile, problems: Problems) -> nodes.Module:
    """`text -> Module`; what cannot be parsed is reported and left out."""
    text = source.text
    comments = tuple(
        nodes.Comment(m.group(1), span=Span(source, m.start(1), m.end(1))) for m in _COMMENT.finditer(text) if m.group(1)
    )
    items: list[nodes.Declaration] = []
    header: nodes.Header | None = None
    for start, end in _cuts(source, problems):
        item = _parse_cut(source, start, end, problems)
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
            'begin it with a line such as `game visby "Visby", players 2..6`, or variant, library, data',
        )
    return nodes.Module(source, header, tuple(items), comments, span=whole)


def _cuts(source: SourceFile, problems: Problems) -> Iterator[tuple[int, int]]:
    """Ranges of the text that hold one top-level declaration each."""
    text, starts = source.text, source.line_starts
    tops: list[int] = []
    for start in starts:
        first = text[start : start + 1]
        if first and not first.isspace() and first != "#":
            tops.append(start)
        elif first in " \t" and first and not tops:
            line = source.line_text(source.line_of(start))
            if line.strip() and not line.strip().startswith("#"):
                at = start + len(line) - len(line.lstrip())
                problems.add(
                    "R003", "an indented line that belongs to nothing", Span(source, at, start + len(line)), "move it to the left margin"
                )
    tab = text.find("\t")
    while tab >= 0:
        line = source.line_of(tab)
        if not source.line_text(line)[: tab - source.line_starts[line - 1]].strip():
            problems.add("R002", "a tab in the indentation", Span(source, tab, tab + 1), "indent with four spaces")
            break
        tab = text.find("\t", tab + 1)
    for start, end in zip(tops, [*tops[1:], len(text)], strict=True):
        yield start, end


def _parse_cut(source: SourceFile, start: int, end: int, problems: Problems) -> nodes.Declaration | nodes.Header | None:
    text = source.text
    slice_text = text if end < len(text) or text.endswith("\n") else text + "\n"
    try:
        tree = _lark().parse(TextSlice(slice_text, start, len(slice_text) if end == len(text) else end))  # type: ignore[arg-type]
    except UnexpectedToken as err:
        _unexpected(source, err.token.start_pos or start, len(str(err.token).rstrip("\n")), err.token.type, set(err.accepts or err.expected), start, end, problems)
    except UnexpectedCharacters as err:
        _unexpected(source, err.pos_in_stream, 1, "", set(err.allowed or ()), start, end, problems)
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
    else:
        for token in re.finditer(r"\d{10,}", text[start:end]):
            if int(token.group()) > MAX_NUMBER:
                span = Span(source, start + token.start(), start + token.end())
                problems.add("R005", "a number beyond 2 to the power of 53", span, "no rule needs it; use a smaller one")
                return None
        made: nodes.Declaration | nodes.Header = _Build(source).build(tree)
        return made
    return None


def _bad_dedent(source: SourceFile, start: int, end: int) -> Span:
    levels = [0]
    for line in range_lines(source, start, end):
        text = source.line_text(line)
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        indent = len(text) - len(text.lstrip())
        while levels and indent < levels[-1]:
            levels.pop()
        if not levels or indent != levels[-1]:
            if levels and indent > levels[-1]:
                levels.append(indent)
                continue
            at = source.line_starts[line - 1]
            return Span(source, at + indent, at + len(text))
    return Span(source, start, start + 1)


def range_lines(source: SourceFile, start: int, end: int) -> Iterator[int]:
    return iter(range(source.line_of(start), source.line_of(max(start, end - 1)) + 1))


def _unexpected(
    source: SourceFile, at: int, length: int, found: str, expected: set[str], start: int, end: int, problems: Problems
) -> None:
    """Names a syntax error in the words of the author."""
    text = source.text
    line_text = source.line_text(source.line_of(min(at, max(0, len(text) - 1)))) if text else ""
    word = re.match(r"[A-Za-z_0-9]+|.", text[at : at + 60])
    shown = word.group() if word else ""
    span = Span(source, at, at + max(1, min(length, len(shown)) or 1))
    first = re.match(r"\S+", text[start:end])
    hint, code, message = "", "R001", f"`{shown}` does not fit here"
    if found in ("_NL", "$END") or not shown.strip():
        line = source.line_of(max(0, at - 1 if found != "_NL" else at))
        line_end = source.line_starts[line - 1] + len(source.line_text(line).rstrip())
        span = Span(source, max(0, line_end - 1), max(1, line_end))
        message = "the line ends too early"
    elif found == "_INDENT":
        message = "this line is indented, but the line above it opens no block"
        hint = "move it to the left, or let the line above say what the block is for"
        code = "R003"
        stripped = len(line_text) - len(line_text.lstrip())
        at_line = source.line_starts[source.line_of(at) - 1]
        span = Span(source, at_line + stripped, at_line + len(line_text))
    elif found == "_DEDENT":
        message = "a block is missing here"
        hint = "indent the lines that belong to it by four spaces"
    wanted = sorted({_WORDS.get(e, f"`{e.lower().replace('_', ' ')}`") for e in expected if not e.startswith("__")})
    if first and at == start and shown not in _TOP_WORDS:
        from rulelang.diagnostics import near

        message = f"`{shown}` is no declaration"
        hint = near(shown, _TOP_WORDS) or "a line at the left margin begins with one of: " + ", ".join(_TOP_WORDS[:12]) + ", ..."
    elif re.search(r"\b(who|where|has)\b", line_text[: max(0, at - source.line_starts[source.line_of(at) - 1])]) and re.match(r"[-+*/]|to\b|into\b|among\b|from\b|[<>]=?", shown):
        hint = "a who/where/has clause reaches to the end of the line: put it in brackets, or use `let`"
    elif not hint and re.match(r"when\b", shown):
        hint = "the condition of an option is written `, only if ...`"
    elif not hint and 0 < len(wanted) <= 8:
        hint = "expected " + " or ".join(wanted)
    elif not hint and "COLON" in expected:
        hint = "expected `:`"
    if not hint:
        hint = "compare the line with one that works: `rulelang explain R001`"
    problems.add(code, message, span, hint)
