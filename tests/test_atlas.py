"""A declared map on the screen: every member where it lies, what is there, who stands there, and where ways lead.

The boards of one small game at several widths are golden texts; `pytest --accept` rewrites them."""

from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import rulelang
from rulelang.api import Match
from rulelang.atlas import Spot, draw
from rulelang.board import Screen, View

BOARDS = Path(__file__).parent / "boards"
COAST = """game coast "The Coast", players 3..3
use compare

kind Town(east: 0..99, south: 0..99)
    narva:   90 5
    reval:   60 8
    pernau:  55 40
    riga:    58 70
    windau:  20 60
    arensburg: 15 35
    mitau:   50 95

kind Ware: salt, fur

map lanes(town: Town), drawn at east and south
    narva:  [reval]
    reval:  [arensburg, pernau]
    pernau: [riga]
    riga:   [windau, mitau]
    windau: [arensburg]
    arensburg: [reval, riga, narva]
    mitau:  [riga]

map roads(town: Town), both ways
    narva: [reval]
    reval: [pernau]
    riga:  [pernau, mitau]
    mitau: [windau, arensburg]

pieces Bale(ware: Ware, weight: 1..2)
    3 times every Ware 1
    2 times every Ware 2

pile ship: Bale, public, starts with all Bale
zone quay(Town): Bale, public
counter price(Ware): 0.., public, starts at 1
counter toll(Town): 0.., public
status storm: Town or none, public
status harbour: Town, public, starts at reval
status seen: set of Town, public

each player
    status home: Town, public, starts at riga
    counter guests(Town): 0.., public
    counter talers: 0.., public

step landing
    move top of ship to quay(reval)
    move top of ship to quay(reval)
    move top of ship to quay(reval)
    move top of ship to quay(mitau)
    move top of ship to quay(mitau)
    raise toll(riga) by 2
    set storm to windau
    set seen to lanes(reval)

repeat days, 3 times
    in turn each player starting with (first player)
        choose any t in lanes(home)
            set home to t
            raise guests(t) by 2
            raise guests(reval) by 1
            raise talers by toll(t) + price(salt) + number of roads(t)
            if storm is t
                set harbour to t
                set seen to roads(t)

define busiest(t: Town) = leader among players by guests(t), ties none
show busiest
ranking by most talers, ties shared
"""


WITHOUT_POSITIONS = COAST.replace(", drawn at east and south", "")
BOARDS_AT = [("drawn", 80), ("drawn", 100), ("drawn", 130), ("listed", 100)]


@pytest.fixture(scope="module")
def matches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Match]:
    """The same position of the coast, with positions and without."""
    made = {}
    for name, text in (("drawn", COAST), ("listed", WITHOUT_POSITIONS)):
        path = tmp_path_factory.mktemp(name) / "coast.rule"
        path.write_text(text, encoding="utf-8")
        made[name] = rulelang.load(str(path)).start(3, seed=1)
        for turn in range(4):
            made[name].choose(made[name].decisions[0].player, turn % 2)
    return made


def board(match: Match, width: int, names: tuple[str, ...] = ()) -> str:
    console = Console(file=StringIO(), width=width, color_system=None, highlight=False)
    Screen(console).board(View(match.game.core, names or match.names, match.observe(1)))
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize(("name", "width"), BOARDS_AT)
def test_the_board_is_as_it_was_seen_to_be_good(name: str, width: int, matches: dict[str, Match], request: pytest.FixtureRequest) -> None:
    path = BOARDS / f"coast-{name}-{width}.txt"
    found = board(matches[name], width)
    if request.config.getoption("--accept"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "width"), BOARDS_AT)
def test_everything_is_there(name: str, width: int, matches: dict[str, Match]) -> None:
    """Wherever lines are broken: who stands where, what is there, and the ways of both maps."""
    shown = board(matches[name], width)
    words = " ".join(shown.translate(dict.fromkeys(map(ord, "╭─╮│╰╯┏━┓┃┗┛"), " ")).split())
    for town in matches[name].game.core.kinds["Town"].members:
        assert town in words
    for word in ("harbour", "storm", "your home", "lanes", "roads", "quay", "guests", "toll"):
        assert word in words, word


def test_seat_0_is_somebody_and_a_counter_at_0_is_nothing(matches: dict[str, Match]) -> None:
    shown = {text.split()[0]: text for _, _, text in boxes(board(matches["drawn"], 130).splitlines())}
    assert "busiest  seat 0" in shown["reval"] and "busiest  you" in shown["riga"] and "busiest" not in shown["narva"]
    assert "toll  2" in shown["riga"] and "toll" not in shown["reval"]
    assert "guests  you: 2" in shown["riga"] and "seat 0: 0" not in shown["riga"]


def test_without_positions_or_room_it_is_a_table(matches: dict[str, Match]) -> None:
    assert "╭" not in board(matches["listed"], 130)
    assert "╭" in board(matches["drawn"], 60) and "╭" not in board(matches["drawn"], 36)
    for shown in (board(matches["listed"], 130), board(matches["drawn"], 36)):
        assert "●" in shown and "storm" in shown


def test_a_name_with_an_escape_sequence_is_shown_not_obeyed(matches: dict[str, Match]) -> None:
    shown = board(matches["drawn"], 130, ("\x1b[31mred", "ben", "carl"))
    assert "\x1b" not in shown and "home of \\u001b[31mred" in shown
    assert len(boxes(shown.splitlines())) == 7


# ---------------------------------------------------------------- any map

WORDS = st.text(alphabet="abc 12", min_size=1, max_size=12).map(lambda s: s.strip() or "x")
SPOTS = st.lists(
    st.builds(
        Spot,
        WORDS,
        st.tuples(st.integers(0, 40), st.integers(0, 40)),
        st.lists(WORDS, max_size=2).map(tuple),
        st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=6).map(", ".join)), max_size=3).map(tuple),
        st.lists(st.tuples(st.just(""), st.lists(WORDS, min_size=1, max_size=4).map(", ".join)), max_size=1).map(tuple),
    ),
    min_size=1, max_size=14, unique_by=lambda s: s.at,
)  # fmt: skip
FRAME = {"╭": ("╮", "│", "╰", "╯"), "┏": ("┓", "┃", "┗", "┛")}


def boxes(lines: list[str]) -> list[tuple[int, int, str]]:
    """Row, column and text of every box, each found by its upper left corner and followed down along its sides."""
    found = []
    for y, line in enumerate(lines):
        for x, sign in enumerate(line):
            if sign in FRAME:
                right, side, low_left, low_right = FRAME[sign]
                end = line.index(right, x)
                text, at = line[x + 2 : end].rstrip("─━"), y + 1
                while lines[at][x] != low_left:
                    assert lines[at][x] == lines[at][end] == side, "a box is broken"
                    text += lines[at][x + 1 : end]
                    at += 1
                assert lines[at][end] == low_right
                found.append((y, x, text))
    return found


def letters(text: str) -> str:
    return "".join(text.split())


@given(SPOTS, st.integers(20, 140))
@settings(max_examples=60, deadline=None)
def test_boxes_never_collide_and_lose_nothing(spots: list[Spot], width: int) -> None:
    lines = draw(spots, width)
    assert all(len(line) <= width for line in lines)
    found = boxes(lines) if lines else []
    wanted = sorted(letters(spot.name + "".join(spot.lines)) for spot in spots)
    assert not lines or sorted(letters(text) for _, _, text in found) == wanted


@given(SPOTS, st.integers(80, 140))
@settings(max_examples=60, deadline=None)
def test_boxes_lie_as_their_members_do(spots: list[Spot], width: int) -> None:
    """What is lower by more than a quarter of the height is drawn lower; in a row, what is further right is further right."""
    spots = [Spot(f"m{n}", s.at, s.here, s.entries, s.ways) for n, s in enumerate(spots)]
    where = {text.split()[0]: (y, x) for y, x, text in boxes(draw(spots, width))}
    if not where:
        return
    height = max(s.at[1] for s in spots) - min(s.at[1] for s in spots)
    for a in spots:
        for b in spots:
            (ya, xa), (yb, xb) = where[a.name], where[b.name]
            if (b.at[1] - a.at[1]) * 4 > height:
                assert ya < yb
            if ya == yb and a.at[0] < b.at[0]:
                assert xa < xb


def test_what_does_not_fit_is_not_drawn() -> None:
    row = [Spot(f"town_{n}", (n, 0), (), (("salt", "3"),), ()) for n in range(5)]
    assert draw(row, 5 * 18 + 4) and not draw(row, 5 * 18 + 3)
