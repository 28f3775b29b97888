"""What an attempt to break the engine brought to light: chance in threads, ownership, silence, and what is kept."""

import gc
from pathlib import Path
from random import Random

import pytest

import rulelang
from rulelang.errors import RuleError, RulesError
from tests.test_essentials import FORCED, OPTIONAL, made

KEPT = """game {name} "Cubes", players 2..2

pieces Cube(v: 1..3)
{rows}

zone pool: Cube, public, starts with all Cube

each player
    counter points: 0.., public
    zone mine: Cube, public

step ask
    in turn each player starting with (first player)
        choose up to 2 cubes in pool where v <= 2
            move cubes to mine

ranking by most points, ties shared
"""


def test_options_of_one_game_never_come_from_another(tmp_path: Path) -> None:
    """choices._KEPT is keyed by id() of a universe and of a tuple that may be gone: ids come again."""
    one = made(tmp_path, KEPT.format(name="one", rows="    1\n    2\n    3"))
    two = made(tmp_path, KEPT.format(name="two", rows="    1\n    2\n    3 times 3"))
    wanted = [("ask", []), ("ask", [1]), ("ask", [2]), ("ask", [1, 2])]
    for n in range(400):
        match = (one, two)[n % 2].start(seed=1)
        assert [o.value for o in match.decisions[0].options] == wanted, f"match {n}"
        del match
        if n % 50 == 0:
            gc.collect()


DICE = """game dice "Dice in threads", players 2..2

each player
    counter sum: 0.., public
    counter last_roll: 0.., public
    counter points: 0.., public

step roll
    repeat rolls, 2 times
        secretly each player
            let x = random n in 1..100000
            raise sum by x
            set last_roll to x
            choose any k in 1..1
                raise points by 1

step ask
    repeat turns, 2 times
        in turn each player starting with (first player)
            choose any k in 1..2
                raise points by 1
            let luck = random n in 1..1000
            raise points by luck

step late
    secretly each player
        choose any k in 1..2
            let y = random n in 1..100000
            set last_roll to y

ranking by most points, ties shared
"""


def test_two_forks_between_two_choices_draw_differently(tmp_path: Path) -> None:
    """_Dice.entry is set in Match.choose only, not when a fork begins."""
    match = made(tmp_path, DICE).start(seed=1)
    for seat in (0, 1):
        assert match.get("sum", seat) != 2 * match.get("last_roll", seat)


def test_undo_and_looking_repeat_the_same_chance(tmp_path: Path) -> None:
    """Match._fresh, _new_trace and to_text begin with the _Dice.entry of the last choice."""
    match = made(tmp_path, DICE).start(seed=1)
    rolled = [match.get("sum", p) for p in (0, 1)]
    for seat in (0, 1, 0, 1):
        match.choose(seat, 0)
    assert list(match.observe(0)["places"]["sum"].values()) == rolled
    match.undo()
    assert [match.get("sum", p) for p in (0, 1)] == rolled


def test_play_out_and_resume_agree_on_chance_in_threads(tmp_path: Path) -> None:
    """Machine.play_out never sets _Dice.entry."""
    game = made(tmp_path, DICE)
    match = game.start(seed=1).play_out(Random(3))
    assert rulelang.resume(match.to_text(), game) == match


INNER_DICE = """game inner_dice "Chance in threads inside of threads", players 2..2

kind Ware: salt, fur, wax

counter pot: 0.., public

each player
    counter drawn(Ware): 0.., public
    counter seen(Ware): 0.., public
    counter points: 0.., public

step roll
    together each player
        together each w in Ware
            let x = random n in 1..100000
            set drawn(w) to x
            raise pot by 1
            set seen(w) to pot

step ask
    in turn each player starting with (first player)
        choose any k in 1..2
            raise points by k

ranking by most points, ties shared
"""


def test_inner_threads_draw_differently(tmp_path: Path) -> None:
    """Machine._run_inner gives every inner row the same CHANCE."""
    match = made(tmp_path, INNER_DICE).start(seed=1)
    assert len({match.get("drawn", p, w) for p in (0, 1) for w in ("salt", "fur", "wax")}) == 6


LOCAL = """game local_pool "A local counter", players 2..2

each player
    counter points: 0.., public

step ask
    counter pool: 0.., starts at 4
    secretly each player
        choose any m in 1..3
            lower pool by m
            raise points by m
    in turn each player starting with (first player)
        choose any m in 1..2
            raise points by pool

ranking by most points, ties shared
"""


def test_a_local_counter_of_the_surroundings_keeps_its_range_at_the_join(tmp_path: Path) -> None:
    """ForkCode.limits looks at game.places only."""
    match = made(tmp_path, LOCAL).start(seed=1)
    match.choose(0, 2)
    with pytest.raises(RuleError, match="below 0"):
        match.choose(1, 2)


PACT = """game pact "Both sides of a pact", players 2..2

each player
    counter pact(player): 0.., public
    counter points: 0.., public

step sign
    together each player
        together each rival in opponents
            set pact(you) of rival to 5
            set pact(rival) of you to 5
            raise your points by pact(rival) of rival

step ask
    in turn each player starting with (first player)
        choose any m in 1..2
            raise points by m

ranking by most points, ties shared
"""


def test_two_threads_that_reach_one_place_by_owner_and_by_key_are_refused(tmp_path: Path) -> None:
    """threads._is_own: any key or the owner is enough, so two threads own the same place; 5 and 5 become 10."""
    with pytest.raises(RulesError, match="R330"):
        made(tmp_path, PACT)


LETS = """game lets "A secret in a variable", players 2..2

each player
    counter secret: 0.., private
    counter points: 0.., public

step ask
    in turn each player starting with (first player)
        let n = secret
        choose any k in 0..n
            raise points by k

step sealed
    secretly each player
        choose any m in 1..2
            raise points by m

ranking by most points, ties shared
"""


def test_a_forced_choice_that_hangs_on_a_let_of_a_secret_is_asked(tmp_path: Path) -> None:
    """Choices._silent does not look through variables; `choose any k in 0..secret` is asked."""
    assert made(tmp_path, LETS).start(seed=1).decisions[0].name == "ask"


def test_a_forced_choice_with_a_secret_number_is_asked(tmp_path: Path) -> None:
    """Choices._silent: the `continue` for a counted place skips the look at `p.count`."""
    text = FORCED.replace("CHOICE", "go exactly secret cs in counted").replace("GOAL", "counted")
    assert made(tmp_path, text).start(seed=1).decisions[0].name == "question"


LEAK = """game leak "How many left a vault", players 2..2

pieces Card(v: 1..4)
    2 times 1
    2

pile vault: Card, hidden, starts with all Card
zone other: Card, hidden

each player
    counter points: 0.., public

step begin
    shuffle vault
    in turn each player starting with (first player)
        choose any k in 1..2
            move k Card from vault to other

ranking by most points, ties shared
"""


def test_how_many_leave_an_uncounted_place_unseen_is_not_shown(tmp_path: Path) -> None:
    """Knowledge._confuse takes off the true number, which this seat cannot know."""
    game = made(tmp_path, LEAK)
    shown = []
    for k in (0, 1):
        match = game.start(seed=1)
        match.choose(0, k)
        shown.append(match.observe(1)["places"])
    assert shown[0] == shown[1]


def test_what_is_out_of_scope_is_no_part_of_the_state_while_all_choose_or_at_the_end(tmp_path: Path) -> None:
    """Program.dead has Ask nodes only: at a fork, and when the match is over, old picks count."""
    text = OPTIONAL.replace("raise points by n", "raise points by 1")
    for changed in (
        text,
        text.replace("step evening\n    in turn each player starting with (first player)", "step evening\n    secretly each player"),
    ):
        game = made(tmp_path, changed)
        one, two = game.start(seed=1), game.start(seed=1)
        for k, match in enumerate((one, two)):
            match.choose(0, k)
            match.choose(1, k)
            if changed is text:
                match.choose(0, k)
                match.choose(1, k)
        assert one == two
