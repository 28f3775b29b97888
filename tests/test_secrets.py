"""Secrets that once got out, each on the smallest game that showed it: two ways to play that a seat cannot tell apart."""

import io
from pathlib import Path

import pytest
from rich.console import Console

import rulelang
from rulelang.api import Match
from rulelang.board import Screen, View
from tests.leaks import LAST
from tests.worlds import received, same, untrue

HEAD = """game small "A small game", players 2..3

pieces Card(v: 1..3)
    1
    2
    3

zone table: Card, public, starts with all Card
pile shaft: Card, hidden
zone vault: Card, hidden

each player
    counter points: 0.., public
    counter secret: 0.., private
    zone hand: Card, private, number public
    zone purse: Card, private
    pile file: Card, private, number public
    slot palm: Card, private
"""


def small(folder: Path, rules: str) -> rulelang.Game:
    path = folder / "small.rule"
    path.write_text(HEAD + rules + LAST, encoding="utf-8")
    return rulelang.load(str(path))


def played(game: rulelang.Game, *said: str, players: int = 2) -> Match:
    """Seat 0 chooses what reads so."""
    match = game.start(players=players, seed=1)
    for label in said:
        match.choose(0, next(o for o in match.decisions[0].options if o.label == label))
    return match


def alike(one: Match, two: Match, seat: int = 1) -> None:
    assert one.state != two.state
    same(received(one, seat), received(two, seat), "seat 1")


def test_a_refusal_does_not_tell_who_has_answered() -> None:
    match = rulelang.load("visby").start(players=3, seed=1)
    match.choose(0, 0)
    before = received(match, 0)
    match.choose(1, 0)
    same(before, received(match, 0), "seat 0")
    assert "asked: seat 0, 1, 2" in before["refusal"]


PLOT = """
repeat rounds, 2 times
    in turn each player starting with (first player)
        choose
            plot
                repeat plotting
                    choose
                        scheme
                            raise secret by 1
                        enough
                            end plotting
            idle
"""


def test_how_often_a_loop_inside_an_option_went_round_is_not_shown(tmp_path: Path) -> None:
    game = small(tmp_path, PLOT)
    one, two = played(game, "plot", "scheme", "enough"), played(game, "plot", "scheme", "scheme", "enough")
    alike(one, two)
    assert one.observe(1)["counts"] == {"rounds": 1}


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        ("choose any n in 1..2\n    choose any m in 1..n\n        raise secret by m", True),
        ("choose any n in 1..2\n    raise points by n\n    choose any m in 1..n\n        raise secret by m", False),
        ("choose any n in 1..2\n    raise secret by n\n    choose any m in 1..n\n        raise secret by m", True),
        ("choose any n in 1..2\n    if points > 9\n        raise points by n\n    choose any m in 1..n\n        raise secret by m", True),
        ("choose any n in 1..2\n    choose any m in 1..n\n        raise points by n", True),
        ("choose any c in table where v of c <= 2\n    move c to hand\n    choose any m in 1..v of c\n        raise secret by m", False),
        ("let n = random k in 1..1\nchoose any m in 1..n\n    raise secret by m", True),
        ("let n = random k in 1..1\nraise points by n\nchoose any m in 1..n\n    raise secret by m", False),
        ("status mean: yes or no, starts at no\nchoose\n    a, only if mean\n        raise points by 1\n    b", True),
        ("choose any n in 1..1 with any m in 1..n\n    raise secret by m", False),
    ],
)
def test_a_question_that_hangs_on_what_was_picked_or_drawn_is_asked_unless_all_saw_it(tmp_path: Path, rules: str, asked: bool) -> None:
    """Everywhere the choice is forced: to go on without asking would tell what was picked."""
    text = "\nstep ask\n    in turn each player starting with (first player)\n"
    match = small(tmp_path, text + "".join(f"        {line}\n" for line in rules.split("\n"))).start(players=2, seed=1)
    if match.decisions[0].options[0].label in ("1", "2") and len(match.decisions[0].options) > 1:
        match.choose(0, 0)
    assert (match.decisions[0].player == 0) == asked


FILE = """
step fill
    in turn each player starting with (first player)
        if some c in table where v of c is 1
            move table to file

repeat rounds, 2 times
    in turn each player starting with (first player)
        choose
            pull any c in file
                move c to hand
            open any c in file
                move c to table
            wait
"""


def test_which_card_was_taken_out_of_a_known_pile_is_not_known(tmp_path: Path) -> None:
    """All three were seen going in; one was chosen out of them, unseen."""
    game = small(tmp_path, FILE)
    assert game.start(players=2, seed=1).observe(1)["places"]["file"]["0"] == {"count": 3, "order": [1, 2, 3]}
    one, two = played(game, "pull 1"), played(game, "pull 3")
    alike(one, two)
    assert one.observe(1)["places"]["file"]["0"] == {"count": 2}
    assert one.observe(0)["places"]["file"]["0"] == [2, 3]
    shown = played(game, "open 2").observe(1)["places"]
    assert shown["file"]["0"] == {"count": 2, "order": [1, 3]} and shown["table"] == [2]


def test_the_top_and_a_card_of_ones_choice_look_the_same(tmp_path: Path) -> None:
    top = "            top_card\n                move top of file to hand\n"
    game = small(tmp_path, FILE.replace("            wait", f"{top}            wait"))
    alike(played(game, "top card"), played(game, "pull 2"))


def test_the_top_alone_is_known(tmp_path: Path) -> None:
    """Where the rule always takes the top, everybody knows which card that was, also by a `let`."""
    text = FILE.replace("            pull any c in file\n                move c to hand\n", "")
    for move in ("move top of file to hand", "let c = top of file\n                move c to hand"):
        game = small(tmp_path, text.replace("            wait", f"            top_card\n                {move}\n            wait"))
        shown = played(game, "top card").observe(1)["places"]
        assert shown["file"]["0"] == {"count": 2, "order": [2, 3]} and shown["hand"]["0"] == {"count": 1, "known": [1]}


HIDE = """
step fill
    in turn each player starting with (first player)
        if some c in table where v of c is 1
            move table to hand

repeat rounds, 3 times
    in turn each player starting with (first player)
        choose
            sink any c in purse
                move c to shaft
            hide any c in hand
                move c to vault
            tuck any c in hand
                move c to purse
            show any c in hand
                move c to table
            lay any c in table
                move c under shaft
            wait
"""


def test_a_move_to_where_nobody_counts_does_not_tell_where(tmp_path: Path) -> None:
    game = small(tmp_path, HIDE)
    one, two = played(game, "hide 1"), played(game, "tuck 1")
    alike(one, two)
    assert "1 of Card: seat 0 hand -> out of sight" in one.events_for(1)
    assert "1: seat 0 hand -> vault" in one.events_for(0)


def test_how_many_lie_above_a_known_card_where_nobody_counts_is_not_shown(tmp_path: Path) -> None:
    """Nor is anything known there that could have changed unseen: to forget it would tell that it did."""
    game = small(tmp_path, HIDE)
    one, two = game.start(players=2, seed=1), game.start(players=2, seed=1)
    for match, first in ((one, "sink 1"), (two, "wait")):
        for label in ("tuck 1", "wait", first, "wait", "show 2", "lay 2"):
            decision = match.decisions[0]
            match.choose(decision.player, next(o for o in decision.options if o.label == label))
    alike(one, two)
    assert one.observe(1)["places"]["shaft"] == {"known": [2]}


def test_a_private_slot_is_shown_to_its_owner(tmp_path: Path) -> None:
    rules = """
step fill
    in turn each player starting with (first player)
        choose any c in table
            move c to palm
"""
    match = played(small(tmp_path, rules), "2")
    out = io.StringIO()
    for seat in range(2):
        Screen(Console(file=out, width=100)).board(View(match.game.core, match.names, match.observe(seat)))
    assert "2" in out.getvalue()


ROWS = """
pile heap: Card, hidden, number public

repeat rounds, 3 times
    in turn each player starting with (first player)
        choose
            take any c in table
                move c to hand
            heap_up
                move hand to heap
            wait
"""


def test_what_is_known_of_an_order_is_so(tmp_path: Path) -> None:
    """The cards of a zone go onto a pile in the order of their rows, not in that in which they were seen coming."""
    match = small(tmp_path, ROWS).start(players=2, seed=1)
    for label in ("take 3", "wait", "take 1", "wait", "heap up"):
        decision = match.decisions[0]
        match.choose(decision.player, next(o for o in decision.options if o.label == label))
    assert match.get("heap") == [1, 3]
    for seat in range(2):
        assert not untrue(match, match.observe(seat))
        assert match.observe(seat)["places"]["heap"] == {"count": 2, "order": [1, 3]}
