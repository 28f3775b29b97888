"""What a seat sees of hands and displays."""

from random import Random

import rulelang


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
