"""Two worlds that a seat cannot tell apart give it the same bytes: a few pairs of every game, and small games full of secrets.

`python -m tests.harden secrets --n 20000` looks at many more."""

from pathlib import Path
from typing import Any

import pytest

from rulelang.api import Match
from tests.test_combinations import CASES
from tests.worlds import Leak, Tally, load, pair, received, same

SECRETS = sorted((Path(__file__).parent / "secrets").glob("*.rule"))


# The games alone for every count that all of them have, each combination for one of them.
PAIRS = [(name, layers, n) for at, (name, layers) in enumerate(CASES) for n in ([2 + at % 3] if layers else [2, 3, 4])]


@pytest.mark.parametrize(("name", "layers", "players"), PAIRS, ids=lambda x: "+".join(x) if isinstance(x, tuple) else str(x))
def test_worlds_that_a_seat_cannot_tell_apart_look_the_same(name: str, layers: tuple[str, ...], players: int) -> None:
    tally = Tally()
    for seed in range(6):
        if tally.pairs < 2:
            tally.add(pair(load(name, layers), players, seed, steps=40))
    assert tally.pairs and tally.where, "worlds that are equal prove nothing"


@pytest.mark.parametrize("path", SECRETS, ids=lambda p: p.stem)
def test_small_games_full_of_secrets_keep_them(path: Path) -> None:
    game, tally = load(str(path)), Tally()
    for seed in range(8):
        tally.add(pair(game, game.players[seed % len(game.players)], seed))
    assert tally.pairs > 4


# ---------------------------------------------------------------- what Tallinn keeps

TALLINN = [layers for name, layers in CASES if name == "tallinn"]


def tallinn(layers: tuple[str, ...], players: int, *swaps: tuple[int, int]) -> Match:
    """Everything lies as printed; in the deck of the last seat these cards change places."""
    asked = []

    def chance(what: str, things: list[Any]) -> list[Any]:
        order = list(things)
        asked.append(what)
        if what == "deck" and asked.count("deck") == players:
            for i, j in swaps:
                order[i], order[j] = order[j], order[i]
        return order

    return load("tallinn", layers).start(players=players, seed=1, chance=chance)


def do(match: Match, seat: int, *value: Any) -> None:
    """Chooses this option; a card is its number."""
    options = next(d.options for d in match.decisions if d.player == seat)
    found = next(o for o in options if tuple(x[0] if isinstance(x, list) and x else x for x in o.value) == value)
    match.choose(seat, found)


@pytest.mark.parametrize("layers", TALLINN, ids=lambda x: "+".join(x) or "alone")
def test_tallinn_keeps_hands_decks_and_choices(layers: tuple[str, ...]) -> None:
    """Two of the last seat's cards change places, deep in the deck or between deck and hand, and it plays another one."""
    one, two = tallinn(layers, 3), tallinn(layers, 3, (0, 9), (5, 6))
    if "envoy" in layers:
        for seat in range(3):
            do(one, seat, "exchange_cards", [])
            do(two, seat, "exchange_cards", [])
    for place in ("hand", "deck", "second_stack") if "chronicles" in layers else ("hand", "deck"):
        assert one.get(place, player=2) != two.get(place, player=2)
    for seat in range(2):
        same(received(one, seat), received(two, seat), "before")
    do(one, 2, "select", 2, "upper")
    do(two, 2, "select", 3, "upper")
    do(one, 0, "select", 1, "lower")
    do(two, 0, "select", 1, "lower")
    for seat in range(2):
        same(received(one, seat), received(two, seat), "while one is still asked")
    with pytest.raises(Leak):
        same(received(one, 2), received(two, 2), "its own")


@pytest.mark.parametrize("layers", [(), ("chronicles", "envoy", "tower_order")], ids=lambda x: "+".join(x) or "alone")
def test_tallinn_keeps_a_tower_from_the_hand(layers: tuple[str, ...]) -> None:
    """Heike builds a tower of card 2 or of card 3, and holds the other to the last: until then nobody can tell."""
    one, two = tallinn(layers, 2), tallinn(layers, 2)
    rounds = 0
    while True:
        for match, tower, held in ((one, 2, 3), (two, 3, 2)):
            for decision in match.decisions:
                if decision.name == "exchange_cards":
                    do(match, decision.player, "exchange_cards", [])
                elif decision.name == "select":
                    cards = [card[0] for card in match.get("hand", player=decision.player)]
                    card = next((c for c in cards if c != held or decision.player == 0), held)
                    half = "upper" if card == 11 or (card == 1 and decision.player == 1) else "lower"
                    do(match, decision.player, "select", card, half)
                else:
                    do(match, decision.player, "from_hand", tower)
        if not one.get("hand", player=1):
            break
        rounds += one.get("hand_towers", player=1) != two.get("hand_towers", player=1)
        same(received(one, 0), received(two, 0), f"{rounds} rounds after the tower")
    assert rounds > 7
    assert received(one, 0)["observation"] != received(two, 0)["observation"], "the last card of the hand tells it"
