"""Nothing that is written is ignored: what stands twice in a phrase is refused, in the language and in its library."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rulelang import pipeline
from rulelang.core.nearby import inside
from rulelang.diagnostics import Problems
from rulelang.source import SourceFile
from rulelang.surface import nodes
from rulelang.surface.parse import parse

LIBRARY = sorted((pipeline.bundled("stdlib") / "examples").glob("*.rule"))

KERNEL = """game kernel "The verbs of the language", players 2..4

pieces Coin: 9
zone bank: Coin, public, starts with all Coin
counter ship: 0.., public
pile chest: Coin, hidden

step landing
    raise ship by 3
    lower ship by 1
    set ship to 2
    move 1 Coin from bank to chest
    move 1 Coin from bank under chest
    shuffle chest

ranking by most ship_of_all, ties shared
each player
    define ship_of_all = ship
"""


def phrases(text: str) -> Iterator[tuple[str, nodes.Arg]]:
    """Every argument of the file, with the name of what it is said to."""
    for node in inside(parse(SourceFile("x.rule", text), Problems()).items):
        if isinstance(node, nodes.Phrase):
            yield from ((node.verb, a) for a in node.args)
        elif isinstance(node, nodes.NounPhrase):
            head = node.head.target if isinstance(node.head, nodes.Property) else node.head
            name = head.verb if isinstance(head, nodes.VerbTest) else getattr(head, "name", "")
            yield from ((name, a) for a in node.args)


def doubled(text: str, arg: nodes.Arg) -> str:
    said = arg.span.text
    return f"{text[: arg.span.end]}{'' if said.startswith(',') else ' '}{said}{text[arg.span.end :]}"


def refused(text: str, folder: Path) -> bool:
    path = folder / "x.rule"
    path.write_text(text, encoding="utf-8")
    return pipeline.load(str(path)).problems.has_errors


TEXTS = {"kernel": KERNEL, **{p.stem: p.read_text(encoding="utf-8") for p in LIBRARY}}


@pytest.mark.parametrize("name", TEXTS)
def test_an_argument_given_twice_is_refused(name: str, tmp_path: Path) -> None:
    text = TEXTS[name]
    assert not refused(text, tmp_path)
    for word, arg in phrases(text):
        assert refused(doubled(text, arg), tmp_path), f"{word}: {arg.span.text}"


def test_every_argument_of_the_library_is_given_twice_somewhere() -> None:
    given = {(name, a.word) for text in TEXTS.values() for name, a in phrases(text)}
    for path in sorted(pipeline.bundled("stdlib").glob("*.rule")):
        for item in parse(pipeline.read(path), Problems()).items:
            if isinstance(item, nodes.Define | nodes.Verb):
                needed = {(item.signature.name, a.word) for a in item.signature.args if a.default is None}
                assert needed <= given, f"{path.stem}: {sorted(needed - given)}"
    assert {("raise", "by"), ("lower", "by"), ("set", "to"), ("move", "from"), ("move", "to"), ("move", "under")} <= given


PLACES = [  # what a declaration says twice, or in vain
    "counter ship: 0.., public, starts at 1, starts at 2",
    "counter ship: 0..3 or 5..6, public, excess beyond 3 is lost",
    "counter ship: 0.., public, number public",
    "counter ship: 0.., public, public",
    "counter ship: 0..3, public, excess beyond 3 is lost, excess beyond 3 is lost",
    "pieces Coin: 3\ncounter ship: 0.., public, starts with all Coin",
    "pieces Coin: 3\npieces Gem: 3\nzone ship: Coin or Gem, public, starts with all Coin, starts with all Gem",
]


@pytest.mark.parametrize("line", PLACES)
def test_a_place_says_everything_once(line: str, tmp_path: Path) -> None:
    game = f'game x "X", players 2..4\n{line}\neach player\n    counter points: 0.., public\nstep a\n    together each player\n'
    assert refused(f"{game}        raise points by 1\nranking by most points, ties shared\n", tmp_path)
