"""What options, `say` and `show` tell: the words of the author with the values of the moment."""

import json
from pathlib import Path

import rulelang
from rulelang.core.nodes import Say
from rulelang.core.threads import walk

GOOD = Path(__file__).parent / "language/texts/good"


def test_an_option_says_what_it_costs_now() -> None:
    match = rulelang.load(str(GOOD / "a_text_names_what_is_picked.rule")).start(players=2, seed=1, names=("anna", "ben"))
    assert [o.label for o in match.decisions[0].options] == ["move to riga for 2, 2 left", "move to reval for 1, 3 left"]
    match.choose(0, 0)
    assert "anna: move to riga for 2, 2 left" in match.story, "the story keeps the text as it was when it was chosen"


def test_what_is_said_is_heard_by_all_and_changes_nothing() -> None:
    game = rulelang.load(str(GOOD / "say_is_heard_by_everybody.rule"))
    match = game.start(players=2, seed=1, names=("anna", "ben"))
    assert match.is_over and match.scores == (3, 3)
    for seat in (0, 1):
        assert [line for line in match.events_for(seat) if "has" in line] == [
            "anna has 3, 0 have less: none",
            "ben has 3, 0 have less: none",
        ]
    assert any(isinstance(s, Say) for s in walk(game.core.flow))


def test_nobody_is_called_nobody(tmp_path: Path) -> None:
    (tmp_path / "g.rule").write_text(
        'game g "G", players 2..2\n\nstatus holder: player or none, public, starts at none\n\neach player\n'
        "    counter points: 0.., public, starts at 0\n\nstep play\n    together each player\n        raise points by 1\n"
        '    say "it belongs to {holder}"\n    set holder to first player\n    say "now to {holder}"\n\n'
        "ranking by most points, ties shared\n",
        encoding="utf-8",
    )
    story = rulelang.load(str(tmp_path / "g.rule")).start(players=2, seed=1).story
    assert "it belongs to nobody" in story and "now to seat 0" in story


def test_shown_values_are_part_of_what_a_seat_observes() -> None:
    match = rulelang.load(str(GOOD / "a_shown_value_may_count_covered_cards.rule")).start(players=2, seed=4)
    for seat in (0, 1):
        assert match.observe(seat)["shown"] == {"cards_left": 4, "worth": {"0": 0, "1": 0}, "cards": {"0": 2, "1": 0}}
    match = rulelang.load("tallinn").start(players=2, seed=4)
    influence = json.loads(json.dumps(match.observe(1)["shown"]["influence"]))
    assert influence["0"]["monks"] == match.get("influence", player=0, key="monks")
