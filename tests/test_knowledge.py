"""Two worlds that a seat cannot tell apart give it the same bytes."""

import json
from random import Random
from typing import Any

import pytest

import rulelang

GAMES = [("tallinn", ()), ("tallinn", ("envoy", "chronicles")), ("hansa", ()), ("carthago", ())]


def world(game: rulelang.Game, players: int, shuffle: Random, swap: Random | None) -> rulelang.Match:
    """A match whose shuffles come from `shuffle`; with `swap` two cards deep in the first pile change places."""
    done = []

    def chance(what: str, things: list[Any]) -> Any:
        if not things or not isinstance(things, list):
            return things
        order = list(things)
        shuffle.shuffle(order)
        if what in PICKS:
            return order[0]
        if swap is not None and what in DECKS and len(order) > 6 and not done:
            # what nobody has looked at: the two lowest cards
            order[-1], order[-2] = order[-2], order[-1]
            done.append(what)
        return order

    return game.start(players=players, seed=3, chance=chance)


PICKS = {"gone", "tile", "opener"}
DECKS = {"deck", "bag", "ships"}


@pytest.mark.parametrize(("name", "layers"), GAMES)
def test_what_lies_deep_in_a_deck_is_seen_by_nobody(name: str, layers: tuple[str, ...]) -> None:
    game = rulelang.load(name, layers)
    for n in range(8):
        one, two = (world(game, 2, Random(n), swap) for swap in (None, Random(1)))
        assert one.state != two.state, "the worlds must differ"
        play = Random(n)
        for _ in range(3):
            if one.is_over or two.is_over or len(one.decisions) != len(two.decisions):
                break
            for seat in range(2):
                assert json.dumps(one.observe(seat)) == json.dumps(two.observe(seat))
                assert one.events_for(seat) == two.events_for(seat)
            decision = one.decisions[0]
            k = play.randrange(len(decision.options))
            one.choose(decision.player, k)
            two.choose(decision.player, k)


def test_a_private_hand_is_seen_by_its_owner_only() -> None:
    game = rulelang.load("tallinn")
    match = game.start(players=2, seed=5)
    own = match.observe(0)["places"]["hand"]
    assert own["0"] == match.get("hand", player=0)
    assert own["1"] == {"count": 3}
    told = "\n".join(match.events_for(0))
    for card in match.get("hand", player=1):
        assert f"{card[0]}, " not in told.split("seat 1 deck -> seat 1 hand")[0].splitlines()[-1]


def test_a_card_taken_from_the_open_is_known_to_all() -> None:
    """The open display goes to a hand: everybody saw it, and knows it there until it could be another."""
    game = rulelang.load("carthago")
    for seed in range(40):
        match = game.start(players=2, seed=seed)
        rng = Random(seed)
        for _ in range(60):
            if match.is_over:
                break
            decision = match.decisions[0]
            take = [o for o in decision.options if o.value[0] == "take"]
            if take and decision.name == "take_card":
                match.choose(decision.player, take[0])
                other = 1 - decision.player
                known = match.observe(other)["places"]["hand"][str(decision.player)].get("known", [])
                assert take[0].value[1] in known
                return
            match.choose(decision.player, rng.randrange(len(decision.options)))
    raise AssertionError("nobody ever took a card")


def test_a_card_and_its_half_say_what_is_printed_there() -> None:
    match = rulelang.load("tallinn").start(players=2, seed=3)
    labels = [o.label for o in match.decisions[0].options]
    assert "card 2, lower half: 2 merchants" in labels and "card 2, upper half: 1 knights, coin knights" in labels
    match = rulelang.load("tallinn").start(players=2, chance=lambda what, things: things)
    assert "card 3, upper half: 1 merchants, coin merchants" in [o.label for o in match.decisions[0].options]
