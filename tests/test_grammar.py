"""The grammar is what it says: LALR without a conflict, and trees that keep every word.

A corpus of lines: pairs whose trees must differ, pairs that must be the same, lines that must be refused."""

from importlib.resources import files

import pytest
from lark import Lark
from lark.exceptions import GrammarError

from rulelang.diagnostics import Problems
from rulelang.source import SourceFile
from rulelang.surface import nodes
from rulelang.surface.parse import parse

TOP = 'library t "t"\n{}\n'
BODY = 'library t "t"\nverb t\n    {}\n'
TEST = 'library t "t"\nverb t\n    end t if {}\n'
VALUE = 'library t "t"\ndefine t = {}\n'
GIVES = 'library t "t"\ndefine t\n    {}\n'
MENU = 'library t "t"\nverb t\n    choose\n        {}\n'
CLAIM = 'library t "t"\nexample "e"\n    {}\n'
GO = "\n        go"

DIFFER = [
    # conditions
    (TEST, "a", "not a"),
    (TEST, "not a and b", "not (a and b)"),
    (TEST, "a or b and c", "(a or b) and c"),
    (TEST, "a and b or c", "a and (b or c)"),
    (TEST, "a is b", "a is not b"),
    (TEST, "a is in b", "a is not in b"),
    (TEST, "a is b", "a is in b"),
    (TEST, "a is empty", "a is not empty"),
    (TEST, "a < b", "a <= b"),
    (TEST, "a > b", "a >= b"),
    (TEST, "a is yes", "a is no"),
    (TEST, "laid troops", "laid(troops)"),
    (TEST, "laid troops", "laid of troops"),
    # whose
    (TEST, "goods is empty", "your goods is empty"),
    (TEST, "your goods is empty", "their goods is empty"),
    (TEST, "x of p is 1", "x(p) is 1"),
    (TEST, "x(k) of p is 1", "x of k is 1"),
    (TEST, "x(k) of p is 1", "x(k, p) is 1"),
    (TEST, "x of y of z is 1", "x of z of y is 1"),
    # numbers
    (VALUE, "a + b", "a - b"),
    (VALUE, "a - b - c", "a - (b - c)"),
    (VALUE, "a * b + c", "a * (b + c)"),
    (VALUE, "a * b mod c", "a * (b mod c)"),
    (VALUE, "a / 2 rounded up", "a / 2 rounded down"),
    (VALUE, "number of a + 1", "number of (a + 1)"),
    (VALUE, "1..k", "1..(k + 1)"),
    # groups and folds
    (TEST, "some x in s", "no x in s"),
    (TEST, "some p in s has a", "every p in s has a"),
    (TEST, "some x in s where a", "some x in s where not a"),
    (TEST, "some x in s where a", "some x in s has a"),
    (TEST, "some p in players who laid troops", "some p in players"),
    (TEST, "some x in s", "some s"),
    (TEST, "some n in k", "some n in [k]"),
    (VALUE, "players who laid troops", "players who have laid troops"),
    (VALUE, "players who remain", "players where remain"),
    (VALUE, "players after p", "players starting with p"),
    (VALUE, "Trade in hand", "hand"),
    (VALUE, "first s", "last s"),
    (VALUE, "number of s", "some s"),
    (VALUE, "total of x over s", "largest of x over s"),
    (VALUE, "smallest of x over s", "largest of x over s"),
    (VALUE, "total of x over s", "total of x over y in s"),
    (VALUE, "[a, b]", "[b, a]"),
    (VALUE, "[]", "[a]"),
    # phrases
    (BODY, "share a among b, at most 2 each", "share a among b, at most 2"),
    (BODY, "share a among b, at most 2", "share a among b, limit 2"),
    (BODY, "share a into b among c", "share a into c among b"),
    (BODY, "share a, x 1, y 2", "share a, x 2, y 1"),
    (BODY, "move a to b", "move a under b"),
    (BODY, "move a to b", "move a from b"),
    (BODY, "move 2 from a to b", "move a to b"),
    (BODY, "move 2 Cube from a to b", "move 2 from a to b"),
    (BODY, "move 2 Cube from a to b", "move Cube from a to b"),
    (BODY, "raise a by b", "lower a by b"),
    (BODY, "raise a by 1 {V-R1}", "raise a by 1"),
    (BODY, "raise a by 1 {V-R1}", "raise a by 1 {V-R2}"),
    (BODY, "go", "go home"),
    (VALUE, "leader among p by x, ties none", "leader among p by x, ties y"),
    (VALUE, "(way from a to b) + c", "way from a to b + c"),
    # flow
    (BODY, "let x = a", "let x = random a"),
    (BODY, "end t", "end t if a"),
    (BODY, "together each p in s" + GO, "in turn each p in s" + GO),
    (BODY, "together each p in s" + GO, "together each s" + GO),
    (BODY, "together each p in s" + GO, "secretly each p in s" + GO),
    (BODY, "in turn each p in s" + GO, "in turn each p in s, by most a, ties by_seat" + GO),
    (BODY, "in turn each p in s, by most a, ties by_seat" + GO, "in turn each p in s, by fewest a, ties by_seat" + GO),
    (BODY, "in turn each p in s, by most a, ties by_seat" + GO, "in turn each p in s, by most a, ties shared" + GO),
    (BODY, "repeat r" + GO, "repeat r times" + GO),
    (BODY, "repeat r times" + GO, "repeat r, r times" + GO),
    (BODY, "repeat r" + GO, "step r" + GO),
    (BODY, 'step r "R"' + GO, "step r" + GO),
    (BODY, "if a" + GO + "\n    otherwise\n        stay", "if a" + GO + "\n    stay"),
    (BODY, "if a" + GO + "\n    otherwise if b\n        stay", "if a" + GO + "\n    otherwise\n        if b\n            stay\n        go"),
    (BODY, "counter c: 0..5", "status c: 0..5"),
    (GIVES, "give a", "give a if b"),
    (GIVES, "give a otherwise", "give a"),
    (GIVES, "needs b\n    give a", "give a"),
    # decisions
    (BODY, "choose exactly 2 c in s" + GO, "choose up to 2 c in s" + GO),
    (BODY, "choose exactly 2 c in s" + GO, "choose at least 2 c in s" + GO),
    (BODY, "choose exactly 2 c in s" + GO, "choose exactly 2 ordered c in s" + GO),
    (BODY, "choose any c in s" + GO, "choose any number of c in s" + GO),
    (BODY, "choose any number of c in s" + GO, "choose any number of ordered c in s" + GO),
    (BODY, "choose any c in s" + GO, "choose any c in s during w" + GO),
    (BODY, "choose any c in s" + GO, "rival chooses any c in s" + GO),
    (BODY, "choose any c in s with any d in s" + GO, "choose any c in s from any d in s" + GO),
    (BODY, "choose at least 2 c in s such that a" + GO, "choose at least 2 c in s where a" + GO),
    (BODY, "may a any x in s" + GO, "choose\n        a any x in s\n            go"),
    (BODY, "may a any x in s" + GO, "may during w a any x in s" + GO),
    (BODY, "choose during w\n        a\n        b", "choose\n        a\n        b"),
    (BODY, "choose during v, w\n        a\n        b", "choose during v\n        a\n        b"),
    (MENU, "a any x in s", "a any x in s, only if b"),
    (MENU, "a any x in s where b", "a any x in s, only if b"),
    (MENU, "a any x in s where b", "a any x in s such that b"),
    (MENU, "a to any x in s", "a any x in s"),
    (MENU, 'a "A"', "a"),
    (MENU, "a\n            go", "a\n        go"),
    # declarations
    (TOP, "kind K: a, b", "ring K: a, b"),
    (TOP, "kind K: a, b", "kind K: b, a"),
    (TOP, "zone z: K, public", "zone z: K, private"),
    (TOP, "zone z: K", "pile z: K"),
    (TOP, "zone z: K, private", "zone z: K, private, number public"),
    (TOP, "zone z: K", "zone z(L): K"),
    (TOP, "zone z: K", "zone z: K, starts with all K"),
    (TOP, "counter c: 0..5", "counter c: 0.."),
    (TOP, "counter c: 0..5, starts at 5", "counter c: 0..5, excess beyond 5 is lost"),
    (TOP, "counter c: 0..5, excess below 0 is lost", "counter c: 0..5, excess beyond 0 is lost"),
    (TOP, "zone z: K, starts with all K", "zone z: K, starts with all own K"),
    (TOP, "status m: K", "status m: K or none"),
    (TOP, "counter c: 0..", "each player\n    counter c: 0.."),
    (TOP, "option o: 1 or 2, usually 1", "option o: 1 or 2, usually 2"),
    (TOP, "option o: 1 or 2, usually 1", "option o: 1 or 2, usually 1, only if a"),
    (TOP, "define a x: k = 1", "define a(x: k) = 1"),
    (TOP, "define a x: k = 1", "define a of x: k = 1"),
    (TOP, "define a = b", "define a gives k = b"),
    (TOP, "define a\n    give b", "verb a\n    give b"),
    (TOP, "verb a b: k, at most c: k each" + GO[:1] + "    go", "verb a b: k, at most c: k\n    go"),
    (TOP, "verb a b: k, c d: k\n    go", "verb a b: k, c d: k default 1\n    go"),
    (TOP, "verb a b: number per K\n    go", "verb a b: number\n    go"),
    (TOP, "verb a b: counter\n    go", "verb a b: counter per player\n    go"),
    (TOP, "verb a b: set of K\n    go", "verb a b: K\n    go"),
    (TOP, "verb a to b: K\n    go", "verb a b: K\n    go"),
    (TOP, "ranking by most a, ties shared", "ranking by fewest a, ties shared"),
    (TOP, "ranking by most a, ties shared", "ranking by most a, ties by_seat"),
    (TOP, "ranking by most a, then most b, ties shared", "ranking by most b, then most a, ties shared"),
    (TOP, "table t(k: 1..2)\n    1: a\n    2: a", "table t(k: 1..2)\n    1..2: a"),
    (TOP, "table t(k: 1..2)\n    1..: a", "table t(k: 1..2)\n    1: a"),
    (TOP, "table t(k: 1..2), source s\n    1..: a", "table t(k: 1..2)\n    1..: a"),
    (TOP, "map m(k: K)\n    a: [b]", "table m(k: K)\n    a: [b]"),
    (TOP, "map m(k: K)\n    a: [b]", "map m(k: K), both ways\n    a: [b]"),
    (TOP, "map m(k: K)\n    a: [b]", "map m(k: K), drawn at x and y\n    a: [b]"),
    (TOP, "map m(k: K), drawn at x and y\n    a: [b]", "map m(k: K), drawn at y and x\n    a: [b]"),
    (TOP, "map m(k: K), source s\n    a: [b]", "map m(k: K)\n    a: [b]"),
    (TOP, "pieces P(a: K)\n    x y", "pieces P(a: K)\n    x or y"),
    (TOP, "pieces P(a: K)\n    2 times x", "pieces P(a: K)\n    2 x"),
    (TOP, "pieces P(a: K)\n    every K", "pieces P(a: K)\n    k"),
    (TOP, "pieces P: 3", "each player\n    pieces P: 3"),
    # layers
    (TOP, "before a\n    go", "after a\n    go"),
    (TOP, "replace a\n    go", "after a\n    go"),
    (TOP, "replace a\n    go", "replace a, b\n    go"),
    (TOP, "after a.b\n    go", "after a, b\n    go"),
    (TOP, "define a = 1", "replace define a = 1"),
    (TOP, "offer a only if b", "offer c only if b"),
    (TOP, "extend pieces P\n    x", "extend kind P\n    x: x"),
    (TOP, "extend table t\n    a: 1", "extend map t\n    a: 1"),
    (TOP, "extend table t\n    a: 1", "replace rows of t\n    a: 1"),
    (TOP, "replace map t(k: K)\n    a: []", "replace table t(k: K)\n    a: []"),
    (TOP, "replace rows\n    go", "replace steps\n    go"),
    (TOP, "during w\n    a", "during v, w\n    a"),
    # claims
    (CLAIM, "p chooses a", "p can choose a"),
    (CLAIM, "p can choose a", "p cannot choose a"),
    (CLAIM, "p chooses a x to y", "p chooses a x y"),
    (CLAIM, "p chooses a [x, y]", "p chooses a [x y]"),
    (CLAIM, "given a: 1", "expect a: 1"),
    (CLAIM, "given a: 1", "chance a: 1"),
    (CLAIM, "given a: 1", "given a: -1"),
    (CLAIM, "given a: yes", "given a: no"),
    (CLAIM, "given a: [x, y]", "given a: [x y]"),
    (CLAIM, "given a: [x, y]", "given a: [x], [y]"),
    (CLAIM, "given purse of anna: 1", "given purse(anna): 1"),
    (CLAIM, "given row(upper) of anna: 1", "given row(upper, anna): 1"),
    (CLAIM, "expect winners: a", "expect that winners is a"),
    (CLAIM, "run a", "run a for p"),
    (CLAIM, "run a, b for anna", "run a, b, anna"),
    (CLAIM, "option a: 1", "given a: 1"),
    (TOP, 'example "e"\n    run a', 'example "e" from "p. 7"\n    run a'),
]

SAME = [
    (BODY, "share a into b among c\n        , at most 2 each", "share a into b among c, at most 2 each"),
    (BODY, "share a\n        into b\n        among c", "share a into b among c"),
    (TEST, "a\n        and b", "a and b"),
    (TEST, "a\n        or b", "a or b"),
    (TEST, "((a))", "a"),
    (TEST, "(a and b) or c", "a and b or c"),
    (VALUE, "(a * b) + c", "a * b + c"),
    (VALUE, "[a,\n    b]", "[a, b]"),
    (VALUE, "f(a,\n  b)", "f(a, b)"),
    (VALUE, "(number of s where a)", "number of s where a"),
    (VALUE, "players who have a", "players who has a"),
    (MENU, "a any x in s\n            , only if b", "a any x in s, only if b"),
    (BODY, "go # home", "go"),
    (BODY, "# first\n    go", "go"),
    (BODY, "go\n\n\n    go", "go\n    go"),
    (BODY, "raise   a  by 1", "raise a by 1"),
    (TOP, "kind K: a,b", "kind K: a, b"),
    (BODY, "if a\n        go\n    otherwise if b\n        go", "if a\n        go\n    otherwise\n        if b\n            go"),
    (CLAIM, "given a: [ x , y ]", "given a: [x, y]"),
]

REFUSED = [
    # a clause reaches to the comma or the end of the line
    (TEST, "number of players who remain > 1"),
    (TEST, "number of g in goods where barrels of g > 1 + 2"),
    (TEST, "number of players who laid troops * 2 > 1"),
    (TEST, "number of g in goods where colour of g is red >= 2"),
    (BODY, "move g in bag where colour of g is red to box"),
    (BODY, "raise 4 * number of opponents who laid troops to wares"),
    (BODY, "in turn each p in s where a, by most b" + GO),
    # one comparison, one term on its right
    (TEST, "a is b is c"),
    (TEST, "a < b < c"),
    (TEST, "a > b + 1"),
    (TEST, "not"),
    (TEST, "a and"),
    (TEST, "size of hand > 1 and"),
    (VALUE, "total of 1 + a over s"),
    (VALUE, "a / 2"),
    (VALUE, "a rounded up"),
    (VALUE, "- a"),
    (VALUE, "()"),
    (VALUE, "a b c"),
    # refused on purpose: inline if, until, a bare each, take, a number without a quantity
    (BODY, "let x = a if b otherwise c"),
    (BODY, "repeat until a" + GO),
    (BODY, "each player" + GO),
    (BODY, "when a" + GO),
    (BODY, "while a" + GO),
    (BODY, "choose 2 cards in hand" + GO),
    (BODY, "choose any 2 cards in hand" + GO),
    (BODY, "set x to random n in 1..6"),
    (MENU, "a when b"),
    (MENU, "a if b"),
    (MENU, "a only if b"),
    (MENU, "a, only if"),
    # words of earlier drafts
    (BODY, "end t when a"),
    (GIVES, "give a when b"),
    (TOP, "counter c: 0..5, stops at 5"),
    (TOP, "zone z: K, private, counted"),
    (TOP, "marker m: K"),
    (TOP, 'invariant "i"\n    a'),
    # what a line must say
    (BODY, "end"),
    (BODY, "share a among b, at most"),
    (BODY, "share a among"),
    (BODY, "let x"),
    (BODY, "let x ="),
    (BODY, "step a"),
    (BODY, "if a"),
    (BODY, "otherwise" + GO),
    (BODY, "together p in s" + GO),
    (BODY, "in turn each player, by points, ties by_seat" + GO),
    (BODY, "in turn each player, by most points" + GO),
    (TOP, "ranking by points, ties shared"),
    (TOP, "ranking by most points"),
    (TOP, "counter c: 0..5 = 1"),
    (TOP, "counter c"),
    (TOP, "battle: 0..15"),
    (TOP, "zone z: K, sealed"),
    (TOP, "kind k: a, b"),
    (TOP, "kind K"),
    (TOP, "pieces P(a: K)"),
    (TOP, "table t(k: 1..2)"),
    (TOP, "map m(k: K, l: L)\n    a: [b]"),
    (TOP, "map m(k: K), drawn at x\n    a: [b]"),
    (TOP, "define a"),
    (TOP, "define a ="),
    (TOP, "verb a = 1"),
    (TOP, "replace\n    go"),
    (TOP, "offer a"),
    (TOP, "option o: 1 or 2"),
    (TOP, "each player"),
    (TOP, "always true\n    a"),
    (TOP, "counter c: 0..5, excess is lost"),
    (TOP, "example\n    run a"),
    (CLAIM, "answer p: a"),
    (CLAIM, "expect a"),
    (CLAIM, "given a 1"),
    (CLAIM, "p choose a"),
    (CLAIM, "run"),
    # characters that are no part of the language
    (VALUE, "a ** b"),
    (VALUE, "a == b"),
    (VALUE, "1.5"),
    (VALUE, "a;"),
    (VALUE, '"text"'),
    (VALUE, "größe"),
    (BODY, "go {V-R1"),
    (TOP, 'example "e\n    run a'),
]


def read(text: str) -> tuple[nodes.Module, Problems]:
    problems = Problems()
    return parse(SourceFile("t.rule", text), problems), problems


def tree(text: str) -> tuple[nodes.Declaration, ...]:
    module, problems = read(text)
    assert not problems.found, (text, [d.message for d in problems.found])
    return module.items


def shown(line: object) -> str:
    return line.replace("\n", "↵") if isinstance(line, str) and "{}" not in line else ""


@pytest.mark.parametrize(("frame", "left", "right"), DIFFER, ids=shown)
def test_trees_differ(frame: str, left: str, right: str) -> None:
    assert tree(frame.format(left)) != tree(frame.format(right))


@pytest.mark.parametrize(("frame", "left", "right"), SAME, ids=shown)
def test_trees_are_the_same(frame: str, left: str, right: str) -> None:
    assert tree(frame.format(left)) == tree(frame.format(right))


@pytest.mark.parametrize(("frame", "line"), REFUSED, ids=shown)
def test_line_is_refused(frame: str, line: str) -> None:
    _, problems = read(frame.format(line))
    assert problems.has_errors


def strict(grammar: str) -> Lark:
    return Lark(grammar, parser="lalr", lexer="contextual", strict=True, maybe_placeholders=True)


def test_the_grammar_has_no_conflict() -> None:
    """`strict` refuses shift-reduce conflicts, and terminals that match the same text with the same priority."""
    pytest.importorskip("interegular")
    strict(files("rulelang.surface").joinpath("grammar.lark").read_text(encoding="utf-8"))


# ---------------------------------------------------------------- marks, comments, places

MARKED = [
    'step a "A" {X}\n    go {Y}',
    "repeat a {X}\n    go {Y}",
    "repeat a, 3 times {X}\n    go {Y}",
    "repeat 3 times {X}\n    go {Y}",
    "verb a {X}\n    go {Y}",
    "define a {X}\n    give b {Y}",
    "before a {X}\n    go {Y}",
    "replace a {X}\n    go {Y}",
]
MARKED_INSIDE = [
    "if a {X}\n        go {Y}",
    "together each p in s {X}\n        go {Y}",
    "in turn each p in s {X}\n        go {Y}",
    "step a {X}\n        go {Y}",
    "choose any c in s {X}\n        go {Y}",
]


@pytest.mark.parametrize("text", MARKED)
def test_the_mark_of_a_block_is_its_first_lines(text: str) -> None:
    (item,) = tree(TOP.format(text))
    assert item.mark == "X"
    assert item.body[0].mark == "Y"


@pytest.mark.parametrize("text", MARKED_INSIDE)
def test_the_mark_of_a_statement_is_its_own(text: str) -> None:
    (verb,) = tree(BODY.format(text))
    statement = verb.body[0]
    body = statement.choices[0].body if isinstance(statement, nodes.Choose) else statement.body
    assert (verb.mark, statement.mark, body[0].mark) == (None, "X", "Y")


def test_the_mark_of_an_option_is_its_own() -> None:
    (verb,) = tree(MENU.format("a any x in s, only if b {X}\n            go {Y}\n        c {Z}"))
    first, second = verb.body[0].choices
    assert (first.mark, first.body[0].mark, second.mark) == ("X", "Y", "Z")


def test_comments_survive() -> None:
    text = (
        '# one\nlibrary t "# no comment"  # two\n\n# Doubles a counter.\n# Example: double x\n'
        "verb double c: counter\n    # three\n    raise c by c # four\n"
    )
    module, problems = read(text)
    assert not problems.found
    assert [c.text for c in module.comments] == ["# one", "# two", "# Doubles a counter.", "# Example: double x", "# three", "# four"]
    assert [c.span.line for c in module.comments] == [1, 2, 4, 5, 7, 8]
    assert module.doc(module.items[0]) == "Doubles a counter.\nExample: double x"


def test_every_node_knows_its_place() -> None:
    text = 'library t "t"\n\nstep a "A"\n    raise pot by 2 * price\n    if pot > 3\n        go\n\nstep b\n    go\n'
    module, _ = read(text)
    first, second = module.items
    assert first.span.text == 'step a "A"\n    raise pot by 2 * price\n    if pot > 3\n        go'
    assert second.span.line == 8
    phrase, branch = first.body
    assert phrase.span.text == "raise pot by 2 * price"
    assert [a.span.text for a in phrase.args] == ["by 2 * price"]
    assert branch.test.span.text == "pot > 3"


def test_one_mistake_costs_one_declaration() -> None:
    module, problems = read('library t "t"\nstep a\n    end\nstep b\n    go\nstep ???\n    go\nstep c\n    go\n')
    assert [item.label for item in module.items] == ["b", "c"]
    assert [d.span.line for d in problems.found] == [3, 6]


def test_strictness_finds_a_conflict() -> None:
    """The test above would fail: the same grammar with an ambiguity is refused."""
    pytest.importorskip("interegular")
    grammar = files("rulelang.surface").joinpath("grammar.lark").read_text(encoding="utf-8")
    broken = grammar.replace("use: ", 'use: "use" _names _end -> again\n   | ')
    assert broken != grammar
    with pytest.raises(GrammarError):
        strict(broken)
