"""What the rulebooks of the bundled games take for granted, looked at in every event of random matches."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest

import rulelang
from rulelang.api import Match
from rulelang.runtime.events import Became, Chosen, Counted
from tests.test_properties import pieces

LAYERS = ("chronicles", "envoy", "tower_order")


def played(name: str, layers: tuple[str, ...], players: int, seed: int) -> Match:
    return rulelang.load(name, layers).start(players=players, seed=seed).play_out(Random(seed))


def lying(match: Match, kind: str) -> int:
    """How many pieces of a kind lie anywhere, counted one by one."""
    found = 0
    for universe in {id(u): u for u in match.program.layout.universes.values()}.values():
        for c, n in pieces(match)[id(universe)].items():
            found += n * (universe.classes[c].kind == kind)
    return found


# ---------------------------------------------------------------- points that move, or come from a contest

GAINS = {"contests", "final_contests", "tower_contest", "chronicle_scoring"}
LOSSES = {"final_contests", "exchange_cards"}


@pytest.mark.parametrize("layers", [c for n in range(4) for c in combinations(LAYERS, n)], ids="+".join)
def test_tallinn_points_move_or_come_from_a_contest(layers: tuple[str, ...]) -> None:
    for players in (2, 3, 4):
        match = played("tallinn", layers, players, players)
        exchanged = 1 if "envoy" in layers else 0
        given = taken = 0
        for e in match.events:
            if isinstance(e, Counted) and e.place.name == "points":
                assert e.origin is not None
                steps = set(e.origin.label.split("."))
                change = e.new - e.old
                assert steps & (GAINS if change > 0 else LOSSES), f"{e.origin.span}: {change} points"
                assert change > 0 or exchanged or "exchange_cards" not in steps
                if "points_for_lead" in e.origin.span.text:
                    given, taken = given + max(0, change), taken - min(0, change)
        assert given == taken, "a lead takes from one what it gives to another"
        assert lying(match, "Influence") == (10 + exchanged) * players
        assert lying(match, "Start") == 6


# ---------------------------------------------------------------- markers, booths, talers, one action a visit


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("layers", [(), ("storm",)], ids="+".join)
def test_hansa_keeps_its_pieces_and_one_action_a_visit(layers: tuple[str, ...], players: int) -> None:
    match = played("hansa", layers, players, 7)
    assert lying(match, "Good") == 78 and lying(match, "Booth") == 15 * players
    out = {2: 2, 3: 1, 4: 0}[players]
    boxed = Counter(colour for colour, _ in match.get("box"))
    assert sum(n == 13 for n in boxed.values()) >= out, "a colour that was taken out stays out"
    acted = False
    for e in match.events:
        if isinstance(e, Counted) and e.place.name == "talers":
            assert e.new >= 0
        if isinstance(e, Chosen) and e.option in ("sail", "finish"):
            acted = False
        elif isinstance(e, Chosen) and e.option in ("buy", "set_up_booths", "sell"):
            assert not acted, "a second action in one visit"
            acted = True


# ---------------------------------------------------------------- cards, ships, discs, and guild stones apart


@pytest.mark.parametrize("players", [2, 3, 4])
def test_carthago_keeps_its_pieces_and_its_stones_apart(players: int) -> None:
    match = played("carthago", (), players, 9)
    assert lying(match, "Trade") == 75 and lying(match, "Ship") == 30
    assert lying(match, "Disc") == 11 * players and lying(match, "Base") == 7 * players
    stones: dict[int, int] = {}
    for e in match.events:
        if isinstance(e, Became) and e.place.name == "stone_at":
            stones[e.slot] = e.new
            assert len(set(stones.values())) == len(stones), "two guild stones on one field"
    assert len(stones) == 2
