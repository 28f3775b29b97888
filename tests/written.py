"""What the writers make of a rule file that may come from anybody: stages, pictures and the story of a match.  None lets a
character or a command through, a picture keeps its shape, and a match file holds whatever an option is called."""

import contextlib
import io
import re
from collections.abc import Iterator
from random import Random

import rulelang
from rulelang.api import Game, Match
from rulelang.cli import STAGES, _tell
from rulelang.errors import RuleError
from rulelang.graph import picture
from rulelang.graph.compile import compile_graph
from rulelang.pipeline import Loaded
from rulelang.show import show_stage
from rulelang.terminal import choose_at_random

CHOICES = 30  # of the match
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
COMMAND = re.compile(r"^\s*(::|##\[)", re.MULTILINE)


def obeyed(form: str, text: str) -> Iterator[str]:
    """What a terminal, a browser or a build would obey"""
    for bad in (OBEYED.search(text), COMMAND.search(text)):
        if bad:
            yield f"{form} lets {bad[0]!r} through: {text[max(0, bad.start() - 60) : bad.end() + 20]!r}"


# ---------------------------------------------------------------- stages


def stages(loaded: Loaded, ok: bool) -> Iterator[str]:
    """`rulelang show`, of files with errors only the first stage"""
    for stage in STAGES if ok else STAGES[:1]:
        lines = list(show_stage(stage, loaded))
        yield from obeyed(f"show {stage}", "\n".join(lines))
        if any("\n" in line for line in lines):
            yield f"show {stage}: a line that is several"


# ---------------------------------------------------------------- pictures

DOT = re.compile(r'"(?:[^"\\\n]|\\["\\n])*"|->|[a-z]+(?![a-z0-9])|[0-9]+|[][{};,=]|[ \n]+')
PARTS = (
    "digraph S {", "node [ fontname = S ] ;", "edge [ fontname = S , fontsize = 10 ] ;", "layout = neato ;",
    "S [ shape = W , label = S ] ;", "S [ shape = W , label = S , pos = S ] ;", "S -> S ;", "S -> S [ label = S ] ;",
    "S -> S [ dir = both ] ;", "S -> S [ label = S , dir = both ] ;", "}",
)  # fmt: skip
SAID = r'"(?:[^\W]|[ .,:+-]|#[0-9]+;|<br/>)*"'
SHAPES = "|".join(re.escape(a) + SAID + re.escape(b) for a, b in dict.fromkeys(picture.MERMAID_SHAPES.values()))
MERMAID = re.compile(rf"  n[0-9]+(?:{SHAPES})|  n[0-9]+ <?-->(?:\|{SAID}\|)? n[0-9]+")


def dot_tokens(text: str) -> list[str] | None:
    """The picture as Graphviz reads it; nothing, if it cannot."""
    found, at = [], 0
    while at < len(text):
        token = DOT.match(text, at)
        if token is None:
            return None
        at = token.end()
        if token[0].strip():
            found.append(token[0])
    return found


def is_dot(text: str) -> bool:
    """Is it one graph of nodes and arrows, and nothing else?"""
    tokens = dot_tokens(text)
    shapes = set(picture.DOT_SHAPES.values())
    shown = " ".join("S" if t[0] == '"' else "W" if t in shapes else t for t in tokens or ())
    lines = re.sub(r"([{;]) ", "\\1\n", shown).split("\n")
    return lines[0] == PARTS[0] and lines[-1] == PARTS[-1] and all(line in PARTS[1:-1] for line in lines[1:-1])


def is_mermaid(text: str) -> bool:
    first, second, *lines = text.split("\n")
    return re.fullmatch(f"%% {SAID}", first) is not None and second == "flowchart TD" and all(map(MERMAID.fullmatch, lines))


def pictures(loaded: Loaded) -> Iterator[str]:
    """`rulelang graph`, the course of the game and every map"""
    game = loaded.game
    assert game is not None
    charts = {f"{game.title}: {name}": picture.draw_map(chart) for name, chart in game.maps.items()}
    for title, drawn in {game.title: picture.draw(compile_graph(game.flow)), **charts}.items():
        dot, mermaid = picture.dot(drawn, title), picture.mermaid(drawn, title)
        yield from obeyed("dot", dot)
        yield from obeyed("mermaid", mermaid)
        if not is_dot(dot):
            yield f"dot: not one picture: {dot[:300]!r}"
        if not is_mermaid(mermaid):
            yield f"mermaid: not one picture: {mermaid[:300]!r}"


# ---------------------------------------------------------------- a match


def told(match: Match) -> str:
    """`rulelang replay`"""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        _tell(match)
    return out.getvalue()


def played(loaded: Loaded, seed: str) -> Iterator[str]:
    """A match for some players with some choices at random, told, and kept in a file"""
    assert loaded.game is not None
    game, rng = Game("", (), loaded, loaded.game), Random(seed)
    match = None
    try:
        match = game.start(rng.choice(game.players), seed=rng.randrange(1000))
        while not match.is_over and len(match.choices) < CHOICES:
            choose_at_random(match, match.decisions[0].player)
    except RuleError:
        if match is None:
            return
    try:
        text, story = match.to_text(), told(match)
    except RuleError:  # a ranking, or what a seat is told, may break a rule, too
        return
    yield from obeyed("the story", story)
    yield from obeyed("the match file", text)
    if rulelang.resume(text, match.game) != match:
        yield "the match file holds another match"


def wrong(loaded: Loaded, seed: str) -> Iterator[str]:
    """What is wrong with everything that is written of these rules."""
    yield from stages(loaded, loaded.ok)
    if loaded.ok and loaded.names is not None and loaded.names.header.word == "game":
        yield from pictures(loaded)
        yield from played(loaded, seed)
