"""What each rule of the grammar becomes: one method of `Build` for each, called by Lark as soon as the rule is read.

Each method gets the place, the children that the grammar kept, and the `{mark}` of the line.  Lark would make trees of
them first, with a place for every part; to make nodes at once takes half the time."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, evolve
from lark import Token
from lark.grammar import Rule, Terminal

from rulelang.diagnostics import Problems
from rulelang.source import SourceFile, Span
from rulelang.surface import nodes as n

Children = list[Any]
Mark = str | None


class Block(tuple[n.Statement, ...]):
    """The statements of a block, and the mark on the line above it"""

    mark: Mark = None


@define
class Random:
    """`random k in Colour`, until its `let` takes it"""

    those: n.Those


class Items(tuple[n.Item, ...]):
    """`[orange 1, brown 2]`, until its value takes it"""


def last_sign(text: str, start: int, end: int) -> int:
    """Where a node really ends: blanks, line ends and comments behind it are no part of it."""
    end = min(end, len(text))
    while end > start:
        while end > start and text[end - 1].isspace():
            end -= 1
        line = max(start, text.rfind("\n", start, end) + 1)
        comment = comment_in(text, line, end)
        if comment is None:
            break
        end = comment
    return end


def comment_in(text: str, start: int, end: int) -> int | None:
    """Where the comment of a line begins; a `#` between quotes begins none."""
    quoted = False
    for at in range(start, end):
        if text[at] == '"':
            quoted = not quoted
        elif text[at] == "#" and not quoted:
            return at
    return None


def text_of(token: Token | None) -> str | None:
    return None if token is None else str(token)[1:-1]


def atom(x: Any) -> Any:
    """A token as the value that it stands for; a node as it is."""
    if isinstance(x, Token):
        if x.type in ("NUMBER", "NEGATIVE"):
            return int(x)
        if x.type in ("YES", "NO"):
            return x.type == "YES"
        return str(x)
    return x


@define
class Build:
    """The nodes of one text.  What is wrong with the values in its texts is kept in `problems`."""

    source: SourceFile
    hole: Callable[[int, int], Any]
    problems: Problems

    def span(self, start: int, end: int) -> Span:
        text = self.source.text
        if text[end - 1 : end].isspace() or "\n" in text[start:end]:  # the newline that ends a block is no part of it
            end = last_sign(text, start, end)
        return Span(self.source, start, min(end, len(text)))

    def token_span(self, token: Token) -> Span:
        return Span(self.source, token.start_pos or 0, token.end_pos or 0)

    def those_of(self, s: Span, c: Children) -> n.Those:
        return n.Those(str(c[0]), c[1], c[2], span=Span(self.source, c[0].start_pos, s.end))

    def on_start(self, s: Span, c: Children, m: Mark) -> Any:
        return c[0]

    def on_game(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Header("game", str(c[0]), text_of(c[1]) or "", None, c[2], span=s, mark=m)

    def on_variant(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Header("variant", str(c[0]), text_of(c[2]) or "", str(c[1]), span=s, mark=m)

    def on_library(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Header("library", str(c[0]), text_of(c[1]) or "", span=s, mark=m)

    def on_data(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Header("data", str(c[0]), text_of(c[1]) or "", span=s, mark=m)

    def on_use(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Use(tuple(map(str, c)), span=s, mark=m)

    def on_option(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Option(str(c[0]), c[1], c[2], c[3], span=s, mark=m)

    def on_only_if(self, s: Span, c: Children, m: Mark) -> Any:
        return atom(c[0])

    on_gives = on_only_if

    on_default = on_only_if

    on_ex_for = on_only_if

    on_source = on_only_if

    on_brackets = on_only_if

    on_such_that = on_only_if

    def on_kind_of_names(self, s: Span, c: Children, m: Mark) -> Any:
        rows = tuple(n.Row(str(t), 1, (), span=self.token_span(t)) for t in c[2:])
        return n.Kind(str(c[1]), c[0] == "ring", (), rows, None, span=s, mark=m)

    def on_kind_of_rows(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Kind(str(c[1]), c[0] == "ring", c[2], tuple(c[4:]), c[3], span=s, mark=m)

    def on_pieces_alike(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Pieces(str(c[0]), c[1], (), (), None, span=s, mark=m)

    def on_pieces_printed(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Pieces(str(c[0]), None, c[1], tuple(c[3:]), c[2], span=s, mark=m)

    def on_fields(self, s: Span, c: Children, m: Mark) -> Any:
        return tuple(map(atom, c))

    on_keys = on_fields

    on_drawn_at = on_fields

    on_ex_keys = on_fields

    on_window = on_fields

    def on_field(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Field(str(c[0]), c[1] or (), c[2], span=s)

    def on_kind_row(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Row(str(c[0]), 1, tuple(c[1:]), span=s, mark=m)

    def on_row(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Row(None, 1 if c[0] is None else c[0], tuple(c[1:]), span=s, mark=m)

    def on_copies(self, s: Span, c: Children, m: Mark) -> Any:
        return int(c[0])

    def on_cell(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Cell(tuple(map(atom, c)), span=s)

    def on_every_of(self, s: Span, c: Children, m: Mark) -> Any:
        return n.KindName(str(c[0]), span=s)

    def on_table(self, s: Span, c: Children, m: Mark) -> Any:
        params = tuple(x for x in c if isinstance(x, n.Param))
        rows = tuple(x for x in c if isinstance(x, n.TableRow))
        origin = c[len(params) + 1]
        return n.Table(str(c[0]), params, rows, origin, span=s, mark=m)

    def on_map(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Map(str(c[0]), c[1], c[2] is not None, c[3] or (), tuple(c[5:]), c[4], span=s, mark=m)

    def on_table_row(self, s: Span, c: Children, m: Mark) -> Any:
        return n.TableRow(tuple(c[:-1]), c[-1], span=s, mark=m)

    def on_key(self, s: Span, c: Children, m: Mark) -> Any:
        return atom(c[0])

    def on_key_range(self, s: Span, c: Children, m: Mark) -> Any:
        low, high = int(c[0]), int(c[1]) if len(c) > 1 else None
        if high is not None:
            self.forwards(low, high, s)
        return (low, high)

    def forwards(self, low: int, high: int, s: Span) -> None:
        """As a value `3..1` is an empty group; a declaration must have something in its range."""
        if low > high:
            self.problems.add("R211", f"the range `{low}..{high}` runs backwards", s, f"write `{high}..{low}`")

    def on_place(self, s: Span, c: Children, m: Mark) -> Any:
        words = c[4:]
        at = [w[1] for w in words if isinstance(w, tuple) and w[0] == "at"]
        full = [w[1] for w in words if isinstance(w, tuple) and w[0] == "with"]
        excess = [w[1] for w in words if isinstance(w, tuple) and w[0] == "excess"]
        seen = tuple(str(w) for w in words if isinstance(w, Token))
        said = [*("starts at" for _ in at), *("starts with" for _ in full), *(f"excess {word} {end.span.text}" for word, end in excess)]
        self.once(str(c[1]), [*said, *(v for v in seen if v == "number public")], s)
        return n.Place(
            str(c[0]),
            str(c[1]),
            c[2] or (),
            c[3],
            seen,
            at[0] if at else None,
            full[0][0] if full else None,
            bool(full and full[0][1]),
            tuple(excess),
            span=s,
            mark=m,
        )

    def once(self, name: str, said: list[str], s: Span) -> None:
        """Nothing that is written is ignored."""
        for word in dict.fromkeys(said):
            if said.count(word) > 1:
                self.problems.add("R234", f"`{name}` says `{word}` twice", s, "leave one of them out")

    def on_starts_at(self, s: Span, c: Children, m: Mark) -> Any:
        return ("at", c[0])

    def on_starts_with(self, s: Span, c: Children, m: Mark) -> Any:
        return ("with", (str(c[1]), c[0] is not None))

    def on_excess(self, s: Span, c: Children, m: Mark) -> Any:
        return ("excess", (str(c[0]), c[1]))

    def on_counted(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Counted(c[0], str(c[1]), span=s)

    def on_each_player(self, s: Span, c: Children, m: Mark) -> Any:
        return n.EachPlayer(tuple(c), span=s, mark=m)

    def on_type(self, s: Span, c: Children, m: Mark) -> Any:
        for part in c:
            if isinstance(part, n.Range) and isinstance(part.low, n.Number) and isinstance(part.high, n.Number):
                self.forwards(part.low.value, part.high.value, part.span)
        return n.TypeExpr(tuple(map(atom, c)), span=s)

    def on_set_of(self, s: Span, c: Children, m: Mark) -> Any:
        return n.SetOf(str(c[0]), span=s)

    def on_per(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Per(atom(c[0]), str(c[1]), span=s)

    def on_range(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Range(c[0], c[1] if len(c) > 1 else None, span=s)

    def on_define_short(self, s: Span, c: Children, m: Mark) -> Any:
        give = n.Give(c[2], None, False, span=c[2].span, mark=m)
        return n.Define(c[0], c[1], (give,), span=s, mark=m)

    def on_define_long(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Define(c[0], c[1], tuple(c[2]), span=s, mark=c[2].mark)

    def on_verb(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Verb(c[0], text_of(c[1]), tuple(c[2]), span=s, mark=c[2].mark)

    def on_prep_param(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ArgParam(str(c[0]), c[1], False, False, None, span=s)

    def on_label_param(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ArgParam(str(c[0]), c[1], True, c[2] is not None, c[3], span=s)

    def on_param(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Param(str(c[0]), c[1], span=s)

    def on_block(self, s: Span, c: Children, m: Mark) -> Any:
        made = Block(c)
        made.mark = m
        return made

    on_choice_body = on_block

    def on_step(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Step(str(c[0]), text_of(c[1]), tuple(c[2]), span=s, mark=c[2].mark)

    def on_repeat_open(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Repeat(str(c[0]), text_of(c[1]), None, tuple(c[2]), span=s, mark=c[2].mark)

    def on_repeat_named(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Repeat(str(c[0]), text_of(c[1]), c[2], tuple(c[3]), span=s, mark=c[3].mark)

    def on_repeat_times(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Repeat(None, None, c[0], tuple(c[1]), span=s, mark=c[1].mark)

    def on_during(self, s: Span, c: Children, m: Mark) -> Any:
        windows = tuple(str(x) for x in c if isinstance(x, Token))
        return n.During(windows, tuple(x for x in c if isinstance(x, n.Choice)), span=s, mark=m)

    def on_ranking(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Ranking(c[0], span=s, mark=m)

    def on_measures(self, s: Span, c: Children, m: Mark) -> Any:
        pairs = tuple((str(c[i]), c[i + 1]) for i in range(1, len(c) - 1, 2))
        return n.Measures(pairs, n.Name(str(c[-1]), span=self.token_span(c[-1])), span=s)

    def on_order(self, s: Span, c: Children, m: Mark) -> Any:
        return c[0]

    def on_replace_declaration(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ReplaceDeclaration(c[0], span=s, mark=m)

    def on_replace_steps(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Hook("replace", tuple(c[:-1]), tuple(c[-1]), span=s, mark=c[-1].mark)

    def on_hook(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Hook(str(c[0]), tuple(c[1:-1]), tuple(c[-1]), span=s, mark=c[-1].mark)

    def on_offer(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Offer(tuple(c[:-1]), c[-1], span=s, mark=m)

    def on_label(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Label(tuple(map(str, c)), span=s)

    def on_phrase(self, s: Span, c: Children, m: Mark) -> Any:
        item = c[1] if len(c) > 1 and not isinstance(c[1], n.Arg) else None
        args = tuple(x for x in c[1:] if isinstance(x, n.Arg))
        return n.Phrase(str(c[0]), item, args, span=s, mark=m)

    def on_prep_arg(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Arg(str(c[0]), c[1], False, span=s)

    def on_label_arg(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Arg(str(c[0]), c[1], True, c[2] is not None, span=s)

    def on_let(self, s: Span, c: Children, m: Mark) -> Any:
        chance = isinstance(c[1], Random)
        return n.Let(str(c[0]), c[1].those if chance else c[1], chance, span=s, mark=m)

    def on_random(self, s: Span, c: Children, m: Mark) -> Any:
        return Random(c[0])

    def on_if_(self, s: Span, c: Children, m: Mark) -> Any:
        return n.If(c[0], tuple(c[1]), tuple(c[2] or ()), span=s, mark=c[1].mark)

    def on_otherwise_block(self, s: Span, c: Children, m: Mark) -> Any:
        return c[0]

    def on_otherwise_if(self, s: Span, c: Children, m: Mark) -> Any:
        return Block((n.If(c[0], tuple(c[1]), tuple(c[2] or ()), span=s, mark=c[1].mark),))

    def on_together(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Together(c[1], tuple(c[2]), c[0] == "secretly", span=s, mark=c[2].mark)

    def on_in_turn(self, s: Span, c: Children, m: Mark) -> Any:
        return n.InTurn(c[1], c[2], tuple(c[3]), span=s, mark=c[3].mark)

    def on_end(self, s: Span, c: Children, m: Mark) -> Any:
        return n.End(str(c[0]), c[1], span=s, mark=m)

    def on_give_if(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Give(c[0], c[1], False, span=s, mark=m)

    def on_give_otherwise(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Give(c[0], None, True, span=s, mark=m)

    def on_needs(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Needs(c[0], span=s, mark=m)

    def on_say(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Say(c[0], span=s, mark=m)

    def on_text(self, s: Span, c: Children, m: Mark) -> Any:
        """`"buy {g} for {price(g)}"`: words, and values between brackets"""
        parts: list[str | n.Expr] = []
        at = s.start + 1
        for found in re.finditer(r"[^{}]+|\{([^{}]*)\}|[{}]", self.source.text[at : s.end - 1]):
            here = Span(self.source, at + found.start(), at + found.end())
            if found.group(1) is None and found.group() not in "{}":
                parts.append(found.group())
            elif not (found.group(1) or "").strip():
                self.problems.add("R006", "brackets in a text hold a value", here, "write a value between `{` and `}`, such as `{points}`")
            elif (value := self.hole(here.start + 1, here.end - 1)) is not None:
                parts.append(value)
        return n.Text(tuple(parts), span=s)

    def on_hole(self, s: Span, c: Children, m: Mark) -> Any:
        return c[0]

    def on_show(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Show(tuple(n.Name(str(t), span=self.token_span(t)) for t in c), span=s, mark=m)

    def on_may(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Choose(None, (c[1],), c[0] or (), True, span=s, mark=c[1].mark)

    def on_choice(self, s: Span, c: Children, m: Mark) -> Any:
        picks = tuple(x for x in c if isinstance(x, n.Pick))
        return n.Choice(str(c[0]), c[1], picks, c[-2], tuple(c[-1] or ()), span=s, mark=m)

    def on_prep_pick(self, s: Span, c: Children, m: Mark) -> Any:
        return evolve(c[1], prep=str(c[0]), span=s)

    def on_pick_one(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Pick(None, "one", None, False, self.those_of(s, c[1:4]), c[4], span=s)

    def on_pick_some(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Pick(None, str(c[0]), c[1], c[2] is not None, self.those_of(s, c[3:6]), c[6], span=s)

    def on_pick_any_number(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Pick(None, "any number", None, c[1] is not None, self.those_of(s, c[2:5]), c[5], span=s)

    def on_noun_phrase(self, s: Span, c: Children, m: Mark) -> Any:
        return n.NounPhrase(c[0], tuple(c[1:]), span=s)

    def on_not_(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Not(c[0], span=s)

    def on_compare(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Compare(str(c[1]), c[0], c[2], span=s)

    def on_is_(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Is(c[0], c[1], False, span=s)

    def on_is_not(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Is(c[0], c[2], True, span=s)

    def on_is_in(self, s: Span, c: Children, m: Mark) -> Any:
        return n.IsIn(c[0], c[2], False, span=s)

    def on_is_not_in(self, s: Span, c: Children, m: Mark) -> Any:
        return n.IsIn(c[0], c[2], True, span=s)

    def on_is_empty(self, s: Span, c: Children, m: Mark) -> Any:
        return n.IsEmpty(c[0], False, span=s)

    def on_is_not_empty(self, s: Span, c: Children, m: Mark) -> Any:
        return n.IsEmpty(c[0], True, span=s)

    def on_sum(self, s: Span, c: Children, m: Mark) -> Any:
        rest = tuple((str(c[i]), c[i + 1]) for i in range(1, len(c), 2))
        return n.Sum(c[0], rest, span=s)

    def on_times(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Times(c[0], c[1], span=s)

    def on_divided(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Divided(c[0], c[1], str(c[2]).endswith("up"), span=s)

    def on_modulo(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Modulo(c[0], c[1], span=s)

    def on_number(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Number(int(c[0]), span=s)

    def on_kind_name(self, s: Span, c: Children, m: Mark) -> Any:
        return n.KindName(str(c[0]), span=s)

    def on_yes(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Truth(True, span=s)

    def on_no(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Truth(False, span=s)

    def on_name(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Name(str(c[0]), span=s)

    def on_lookup(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Lookup(str(c[0]), tuple(c[1:]), span=s)

    def on_yours(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Yours(str(c[0]), c[1], span=s)

    def on_property(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Property(c[0], c[1], span=s)

    def on_ordered(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Ordered(c[0], str(c[1]), c[2], span=s)

    def on_of_type(self, s: Span, c: Children, m: Mark) -> Any:
        return n.OfKind(str(c[0]), c[1], span=s)

    def on_list(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ListOf(tuple(x for x in c if x is not None), span=s)

    def on_bound(self, s: Span, c: Children, m: Mark) -> Any:
        such = c[-1] if isinstance(c[-1], n.Such) else None
        parts = [x for x in c if x is not None and not isinstance(x, n.Such)]
        var = str(parts[0]) if isinstance(parts[0], Token) else None
        return n.Those(var, parts[-1], such, span=s)

    on_closed = on_bound

    def on_those(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Those(c[0].var, c[0].base, c[1], span=s)

    def on_such_who(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Such("who", c[1], span=s)

    def on_such_where(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Such("where" if c[0] == "where" else "has", c[1], span=s)

    def on_has(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Such("has", c[1], span=s)

    def on_verb_test(self, s: Span, c: Children, m: Mark) -> Any:
        return n.VerbTest(str(c[0]), c[1], span=s)

    def on_fold_all(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Fold(str(c[0]), n.Those(c[1].var, c[1].base, c[2], span=s) if len(c) > 2 else c[1], span=s)

    def on_fold_over(self, s: Span, c: Children, m: Mark) -> Any:
        return n.FoldOver(str(c[0]), c[1], n.Those(c[2].var, c[2].base, c[3], span=s) if len(c) > 3 else c[2], span=s)

    def on_none_of(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Fold("no", n.Those(c[1].var, c[1].base, c[2], span=s) if len(c) > 2 else c[1], span=s)

    def on_every(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Every(c[0], c[2], span=s)

    def on_invariant(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Invariant(text_of(c[1]) or "", c[2], span=s, mark=m)

    def on_example(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Example(text_of(c[0]) or "", text_of(c[1]), tuple(c[2:]), span=s, mark=m)

    def on_ex_players(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ExPlayers(tuple(map(str, c)), span=s)

    def on_ex_option(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ExOption(str(c[0]), atom(c[1]), span=s)

    def on_ex_given(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ExState("given", c[0], tuple(c[1:]), span=s, mark=m)

    def on_ex_chance(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ExState("chance", c[0], tuple(c[1:]), span=s, mark=m)

    def on_ex_expect(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ExState("expect", c[0], tuple(c[1:]), span=s, mark=m)

    def on_ex_run(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ExRun(tuple(".".join(x.parts) for x in c[:-1]), c[-1], span=s, mark=m)

    def on_ex_that(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ExThat(c[0], span=s, mark=m)

    def on_ex_prep(self, s: Span, c: Children, m: Mark) -> Any:
        return (str(c[0]), c[1])

    def on_ex_choice(self, s: Span, c: Children, m: Mark) -> Any:
        values = (((None, c[3]),) if c[3] is not None else ()) + tuple(c[4:])
        return n.ExChoice(str(c[0]), str(c[1]), str(c[2]), values, span=s, mark=m)

    def on_target(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Target(str(c[0]), c[1] or (), c[2], span=s)

    def on_ex_of(self, s: Span, c: Children, m: Mark) -> Any:
        return str(c[0])

    def on_ex_item(self, s: Span, c: Children, m: Mark) -> Any:
        return tuple(map(atom, c))

    def on_ex_list(self, s: Span, c: Children, m: Mark) -> Any:
        return Items(x for x in c if x is not None)

    def on_ex_value(self, s: Span, c: Children, m: Mark) -> Any:
        if isinstance(c[0], Items):
            return n.ExampleValue((), tuple(c[0]), span=s)
        return n.ExampleValue(tuple(map(atom, c)), None, span=s)

    def on_or_(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Or(tuple(c), span=s)

    def on_and_(self, s: Span, c: Children, m: Mark) -> Any:
        return n.And(tuple(c), span=s)

    # ------------------------------------------------------------ decisions

    def chooser(self, name: Token) -> n.Name:
        return n.Name(str(name), span=self.token_span(name))

    def menu(self, who: n.Name | None, s: Span, c: Children, m: Mark) -> n.Choose:
        choices = tuple(x for x in c if isinstance(x, n.Choice))
        return n.Choose(who, choices, c[0] or (), False, span=s, mark=m)

    def one(self, who: n.Name | None, s: Span, c: Children) -> n.Choose:
        picks = tuple(x for x in c if isinstance(x, n.Pick))
        window, body = c[-2], c[-1]
        choice = n.Choice(None, c[0], picks, None, tuple(body), span=s, mark=body.mark)
        return n.Choose(who, (choice,), window or (), False, span=s, mark=body.mark)

    def on_choose_menu(self, s: Span, c: Children, m: Mark) -> Any:
        return self.menu(None, s, c, m)

    def on_chooses_menu(self, s: Span, c: Children, m: Mark) -> Any:
        return self.menu(self.chooser(c[0]), s, c[1:], m)

    def on_choose_pick(self, s: Span, c: Children, m: Mark) -> Any:
        return self.one(None, s, c)

    def on_chooses_pick(self, s: Span, c: Children, m: Mark) -> Any:
        return self.one(self.chooser(c[0]), s, c[1:])

    # ------------------------------------------------------------ signatures and extensions

    def signature(self, form: str, s: Span, c: Children) -> n.Signature:
        params = tuple(x for x in c if isinstance(x, n.Param))
        args = tuple(x for x in c if isinstance(x, n.ArgParam))
        return n.Signature(form, str(c[0]), params, args, span=s)

    def on_sig_plain(self, s: Span, c: Children, m: Mark) -> Any:
        return self.signature("plain", s, c)

    def on_sig_lookup(self, s: Span, c: Children, m: Mark) -> Any:
        return self.signature("lookup", s, c)

    def on_sig_of(self, s: Span, c: Children, m: Mark) -> Any:
        return self.signature("of", s, c)

    def on_sig_object(self, s: Span, c: Children, m: Mark) -> Any:
        return self.signature("object", s, c)

    def on_sig_bare(self, s: Span, c: Children, m: Mark) -> Any:
        return self.signature("bare", s, c)

    def on_extend_pieces(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Extend("pieces", str(c[0]), tuple(c[2:]), c[1], span=s, mark=m)

    def on_extend_kind(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Extend("kind", str(c[1]), tuple(c[3:]), c[2], span=s, mark=m)

    def on_extend_table(self, s: Span, c: Children, m: Mark) -> Any:
        return n.Extend(str(c[0]), str(c[1]), tuple(c[3:]), c[2], span=s, mark=m)

    def on_replace_rows(self, s: Span, c: Children, m: Mark) -> Any:
        return n.ReplaceRows(str(c[1]), tuple(c[3:]), c[2], span=s, mark=m)


# ---------------------------------------------------------------- from the grammar

Part = tuple[Any, int, int]  # what a rule became, and where it begins and ends
Callback = Callable[[list[Any]], Part]


def callbacks(rules: Iterable[Rule], current: Callable[[], Build]) -> dict[Rule, Callback]:
    """For each rule of the grammar what is done with its children.  As in Lark's trees, words that the grammar only
    asks for are left out, `_rules` are spread into those around them, `?rules` with one child are that child, and
    for `[what may be missing]` stands None."""
    return {rule: _callback(rule, current) for rule in rules}


def _callback(rule: Rule, current: Callable[[], Build]) -> Callback:
    name = rule.alias or rule.origin.name
    kept, missing_at_end = _kept(rule)
    if name.startswith("_"):
        return lambda children: (_children(children, kept, missing_at_end), *_extent(children))
    method: Callable[[Build, Span, Children, Mark], Any] = getattr(Build, f"on_{name}", _vanishes)
    may_vanish = rule.options.expand1 and not rule.alias
    bears_mark = any(symbol.name == "_end" for symbol in rule.expansion)

    def made(children: list[Any]) -> Part:
        start, end = _extent(children)
        c = _children(children, kept, missing_at_end)
        if may_vanish and len(c) == 1:
            return c[0], start, end
        at = next((i for i, x in enumerate(c) if type(x) is Token and x.type == "MARK"), -1) if bears_mark else -1
        mark = c.pop(at)[1:-1].strip() if at >= 0 else None
        build = current()
        return method(build, build.span(start, end), c, mark), start, end

    return made


def _vanishes(build: Build, s: Span, c: Children, m: Mark) -> Any:
    raise AssertionError(f"a rule of the grammar without a node: {s}")


def _kept(rule: Rule) -> tuple[list[tuple[int, bool, int]], int]:
    """Which children are kept, whether they are spread, and for how many missing ones None stands before them."""
    kept, missing, at = [], 0, 0
    for is_missing in rule.options.empty_indices or (False,) * len(rule.expansion):
        if is_missing:
            missing += 1
            continue
        symbol = rule.expansion[at]
        if not (isinstance(symbol, Terminal) and symbol.filter_out):
            kept.append((at, not symbol.is_term and symbol.name.startswith("_"), missing))
            missing = 0
        at += 1
    return kept, missing


def _children(children: list[Any], kept: list[tuple[int, bool, int]], missing_at_end: int) -> list[Any]:
    c: list[Any] = []
    for at, spread, missing in kept:
        if missing:
            c += [None] * missing
        child = children[at]
        if type(child) is not tuple:
            c.append(child)
        elif not spread:
            c.append(child[0])
        elif c:
            c += child[0]
        else:  # the list of what came so far grows
            c = child[0]
    if missing_at_end:
        c += [None] * missing_at_end
    return c


def _extent(children: list[Any]) -> tuple[int, int]:
    first, last = children[0], children[-1]
    return first[1] if type(first) is tuple else first.start_pos, last[2] if type(last) is tuple else last.end_pos
