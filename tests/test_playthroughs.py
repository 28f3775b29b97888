"""A readable golden playthrough of every game for every player count, and of every variant: one file each."""

from itertools import combinations
from pathlib import Path
from random import Random

import pytest

import rulelang
from rulelang import pipeline
from tests.golden import golden

HERE = Path(__file__).parent / "playthroughs"
LONG = 400  # lines of a story that are kept; the end is always there


def variants(game: str) -> list[str]:
    folder = pipeline.games()[game].parent
    return sorted(p.stem for p in folder.glob("*.rule") if p.read_text().startswith("variant "))


def cases() -> list[tuple[str, str, int]]:
    """The game alone for every player count, every combination of its variants for one."""
    found = []
    for game in pipeline.games():
        counts = rulelang.load(game).players
        found.extend((game, "", n) for n in counts)
        own = variants(game)
        for size in range(1, len(own) + 1):
            found.extend((game, ",".join(layers), counts[size % len(counts)]) for layers in combinations(own, size))
    return found


def told(game: str, layers: str, players: int) -> str:
    match = rulelang.load(game, layers.split(",") if layers else ()).start(players=players, seed=players)
    match.play_out(Random(players))
    story = list(match.story)
    if len(story) > LONG:
        story = [*story[: LONG - 60], f"... {len(story) - LONG} lines ...", *story[-60:]]
    lines = [f"{match.game.title}, {players} players" + (f", with {layers}" if layers else ""), "", *story, ""]
    for rank, seats in enumerate(match.ranking, 1):
        for seat in seats:
            parts = ", ".join(f"{why} {n}" for why, n in match.account(seat))
            lines.append(f"{rank}. seat {seat}: {match.scores[seat]} ({parts})")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("game", "layers", "players"), cases())
def test_playthrough(game: str, layers: str, players: int, request: pytest.FixtureRequest) -> None:
    path = HERE / game / f"{players}{'-' + layers.replace(',', '-') if layers else ''}.txt"
    golden(path, told(game, layers, players), request)


def test_no_playthrough_is_left_over() -> None:
    wanted = {f"{g}/{n}{'-' + v.replace(',', '-') if v else ''}.txt" for g, v, n in cases()}
    assert {p.relative_to(HERE).as_posix() for p in HERE.rglob("*.txt")} == wanted
