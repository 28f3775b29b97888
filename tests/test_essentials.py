"""What must never break, each on a game of a few lines: threads, knowledge, chance, options, files, accounts.

Each was seen to fail under a small sabotage of the engine that the corpus of small files does not notice."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import rulelang
from rulelang.api import Match
from rulelang.errors import IllegalChoice, MatchFileError, RuleError
from rulelang.runtime.machine import _merge
from rulelang.runtime.program import ForkCode


def made(folder: Path, text: str, layers: dict[str, str] | None = None) -> rulelang.Game:
    """A game from its text; layers from theirs, in this order."""
    name = text.split()[1]
    (folder / f"{name}.rule").write_text(text, encoding="utf-8")
    for layer, body in (layers or {}).items():
        (folder / f"{layer}.rule").write_text(body, encoding="utf-8")
    return rulelang.load(str(folder / f"{name}.rule"), list(layers or {}))


def do(match: Match, player: int, label: str) -> None:
    """Chooses the option that reads so."""
    decision = next(d for d in match.decisions if d.player == player)
    match.choose(player, next(o for o in decision.options if o.label == label))


def labels(match: Match, player: int) -> list[str]:
    return [o.label for o in next(d for d in match.decisions if d.player == player).options]


# ---------------------------------------------------------------- threads

INNER = """game inner "Threads inside of threads", players 2..2

kind Ware: salt, fur

counter pot: 0.., public, starts at 10

each player
    counter seen(Ware): 0.., public
    counter points: 0.., public

step ante
    together each player
        together each w in Ware
            raise pot by 1
            set seen(w) to pot

step asked
    in turn each player starting with (first player)
        choose any n in 1..2
            raise points by n

ranking by most points, ties shared
"""


def test_a_thread_inside_of_a_thread_sees_the_entry_and_itself(tmp_path: Path) -> None:
    match = made(tmp_path, INNER).start(seed=1)
    assert match.observe(0)["places"]["seen"] == {"0": {"salt": 11, "fur": 11}, "1": {"salt": 11, "fur": 11}}
    assert match.get("pot") == 14


OVERDRAWN = """game overdrawn "Both take from one pot", players 2..2

counter pot: 0.., public, starts at 4

each player
    counter points: 0.., public

step grab
    secretly each player
        choose any n in 1..3
            lower pot by n
            raise points by n

ranking by most points, ties shared
"""


def test_what_threads_overdraw_together_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    match = made(tmp_path, OVERDRAWN).start(seed=1)
    match.choose(0, 2)
    before, text = match.state, match.to_text()
    with pytest.raises(RuleError, match="`pot` would be -1, below 0"):
        match.choose(1, 1)
    assert match.state == before and match.to_text() == text and match.get("pot") == 4
    match.choose(1, 0)
    assert match.is_over and match.get("pot") == 0


def test_the_state_tells_sealed_answers_apart_and_a_copy_keeps_its_own(tmp_path: Path) -> None:
    match = made(tmp_path, OVERDRAWN).start(seed=1)
    one, two = match.copy(), match.copy()
    one.choose(0, 0)
    two.choose(0, 1)
    assert len({match.state, one.state, two.state}) == 3 and one != two
    other = one.copy()
    other.choose(1, 1)
    one.choose(1, 0)
    assert [other.get("points", p) for p in (0, 1)] == [1, 2] and other.get("pot") == 1
    assert [one.get("points", p) for p in (0, 1)] == [1, 1] and one.get("pot") == 2
    assert match.get("pot") == 4 and not match.is_over


def test_what_two_threads_set_is_never_joined() -> None:
    """The check of the rules (R330) keeps this from happening; the join does not rely on it."""
    fork: Any = SimpleNamespace(origin=None)
    code = ForkCode(fork, lambda s: (), 0, False, added=(1,), limits=((1, 0, 9, "pot"),), set=(2,))
    row = [0, 4, 7]
    _merge(code, row, [[0, 5, 7], [0, 2, 8]])
    assert row == [0, 3, 8]
    with pytest.raises(RuleError, match="two threads changed the same place"):
        _merge(code, [0, 4, 7], [[0, 4, 5], [0, 4, 8]])
    for low, high in (([0, 1, 7], [0, 2, 7]), ([0, 9, 7], [0, 8, 7])):
        with pytest.raises(RuleError, match="`pot` would be"):
            _merge(code, [0, 4, 7], [low, high])


SEALED = """game sealed "Two questions each", players 3..3

pieces Card(v: 1..6)
    1
    2
    3

pile deck: Card, hidden, number public

each player
    pieces Coin(v: 1..3)
        1
        2
        3
    zone purse: Coin, private, number public, starts with all own Coin
    pile chest: Coin, hidden, number public
    counter points: 0.., public
    status eager: yes or no, public, starts at yes

zone stock: Card, public, starts with all Card

step begin
    let idle = last player
    set eager of idle to no

step bidding
    secretly each player
        if eager
            choose any c in purse
                move c to chest
            choose any n in 1..2
                raise points by n

step after_it
    move stock to deck
    in turn each player starting with (first player)
        choose any m in 1..2
            raise points by m

ranking by most points, ties shared
"""


def test_an_open_thread_is_seen_by_its_own_player_only(tmp_path: Path) -> None:
    match = made(tmp_path, SEALED).start(seed=1)
    entry = {seat: match.observe(seat) for seat in (1, 2)}
    told = {seat: match.events_for(seat) for seat in (1, 2)}
    assert [match.observe(s)["asked"] for s in range(3)] == [[0, 1]] * 3, "the idle one takes no part"
    assert entry[1]["decision"]["options"] == ["1", "2", "3"] and entry[2]["decision"] is None
    do(match, 0, "2")
    for _ in range(2):  # looking changes nothing
        mine = match.observe(0)
        assert mine["places"]["purse"]["0"] == [1, 3]
        assert mine["places"]["chest"]["0"] == {"count": 1, "order": [2]}
        assert mine["decision"]["options"] == ["1", "2"]
    assert any(line == "seat 0: bidding 2" for line in match.events_for(0))
    do(match, 0, "1")
    for seat in (1, 2):
        assert match.observe(seat) == entry[seat], "who has answered is not shown"
        assert match.events_for(seat) == told[seat]
    assert match.observe(0)["places"]["points"]["0"] == 1
    do(match, 1, "3")
    do(match, 1, "2")
    assert match.observe(2)["places"]["points"] == {"0": 1, "1": 2, "2": 0}
    assert match.observe(2)["places"]["chest"]["0"] == {"count": 1}
    assert match.observe(2)["places"]["purse"]["1"]["count"] == 2
    assert match.observe(2)["asked"] == [0]


# ---------------------------------------------------------------- knowledge

CARDS = """game cards "Cards go to and fro", players 2..2

pieces Card(v: 1..6)
    1
    2
    3
    4
    5
    6

pieces Coin(v: 1..2)
    3 times 1
    2 times 2

pile deck: Card, hidden, number public, starts with all Card
zone display: Card, public
zone bank: Coin, hidden, number public, starts with all Coin
zone cellar: Coin, hidden
zone pit: Card, hidden

each player
    zone hand: Card, private, number public
    zone sack: Card, hidden
    zone trunk: Card, hidden, number public
    counter secret: 0.., private
    status mood: yes or no, private, starts at no
    counter points: 0.., public

repeat turns
    in turn each player starting with (first player)
        choose
            mix
                shuffle deck
            draw, only if deck is not empty
                move top of deck to hand
            show any c in hand
                move c to display
            take any c in display
                move c to hand
            bury any c in hand
                move c under deck
            lay any c in hand
                move c to deck
            stash any c in hand
                move c to sack
            drop
                move hand to sack
            pack
                move hand to trunk
            sink
                move sack to pit
            spend
                let coin = random c in bank
                move coin to cellar
            think any n in 1..3
                raise secret by n
                set mood to yes
            wait
    end turns if turns >= 30

ranking by most points, ties shared
"""


@pytest.fixture
def cards(tmp_path: Path) -> Match:
    def chance(what: str, things: list[Any]) -> Any:
        return list(reversed(things)) if what == "deck" else things[0]

    return made(tmp_path, CARDS).start(seed=1, chance=chance)


def act(match: Match, *said: str) -> None:
    """Seat 0 does these things, seat 1 waits."""
    for label in said:
        do(match, 0, label)
        do(match, 1, "wait")


def seen(match: Match, seat: int, place: str, owner: int | None = None) -> Any:
    found = match.observe(seat)["places"].get(place, "nothing")
    return found if owner is None or found == "nothing" else found.get(str(owner), "nothing")


def test_how_a_game_starts_is_known_to_all(cards: Match) -> None:
    for seat in (0, 1):
        assert seen(cards, seat, "deck") == {"count": 6, "order": [1, 2, 3, 4, 5, 6]}
        assert seen(cards, seat, "bank") == {"count": 5, "known": [1, 1, 1, 2, 2]}


def test_a_known_card_stays_known_in_a_hand(cards: Match) -> None:
    act(cards, "draw")
    assert seen(cards, 0, "hand", 0) == [1]
    assert seen(cards, 1, "hand", 0) == {"count": 1, "known": [1]}
    assert seen(cards, 1, "deck") == {"count": 5, "order": [2, 3, 4, 5, 6]}


def test_a_shuffle_takes_the_order_and_leaves_what_is_there(cards: Match) -> None:
    act(cards, "draw", "mix")
    for seat in (0, 1):
        assert seen(cards, seat, "deck") == {"count": 5, "known": [2, 3, 4, 5, 6]}
    act(cards, "draw")
    assert seen(cards, 0, "hand", 0) == [1, 6]
    assert seen(cards, 0, "deck") == {"count": 4, "known": [2, 3, 4, 5]}
    assert seen(cards, 1, "hand", 0) == {"count": 2, "known": [1]}
    assert seen(cards, 1, "deck") == {"count": 4}, "each of the five may be the one that is gone"


def test_a_card_that_is_seen_to_leave_is_no_longer_known_there(cards: Match) -> None:
    act(cards, "draw", "mix", "draw", "show 1")
    assert seen(cards, 1, "display") == [1] and seen(cards, 1, "hand", 0) == {"count": 1}
    act(cards, "take 1")
    assert seen(cards, 1, "hand", 0) == {"count": 2, "known": [1]}
    act(cards, "stash 6")
    assert seen(cards, 1, "hand", 0) == {"count": 1}, "it may have been the 1"
    assert seen(cards, 1, "sack", 0) == "nothing", "how many lie there is not public"
    assert seen(cards, 0, "sack", 0) == {"known": [6]}


def test_who_puts_a_card_into_a_pile_knows_where(cards: Match) -> None:
    act(cards, "draw", "mix", "draw", "bury 1")
    assert seen(cards, 0, "deck") == {"count": 5, "known": [2, 3, 4, 5], "order": [None] * 4 + [1]}
    assert seen(cards, 1, "deck") == {"count": 5}
    act(cards, "lay 6")
    assert seen(cards, 0, "deck") == {"count": 6, "known": [2, 3, 4, 5], "order": [6, *[None] * 4, 1]}
    assert seen(cards, 1, "deck") == {"count": 6}


def test_all_of_a_known_hand_is_known_where_it_goes(cards: Match) -> None:
    act(cards, "draw", "mix", "draw", "pack")
    assert seen(cards, 1, "hand", 0) == {"count": 0} and seen(cards, 1, "trunk", 0) == {"count": 2, "known": [1]}
    assert seen(cards, 0, "trunk", 0) == {"count": 2, "known": [1, 6]}


def test_what_goes_where_nobody_counts_is_known_to_its_owner_only(cards: Match) -> None:
    act(cards, "draw", "mix", "draw", "drop")
    assert seen(cards, 1, "hand", 0) == {"count": 0} and seen(cards, 1, "sack", 0) == "nothing"
    assert seen(cards, 0, "sack", 0) == {"known": [1, 6]}
    act(cards, "sink")
    assert seen(cards, 0, "sack", 0) == "nothing" == seen(cards, 0, "pit")


def test_of_alike_pieces_so_many_are_left_at_least(cards: Match) -> None:
    act(cards, "spend")
    assert seen(cards, 1, "bank") == {"count": 4, "known": [1, 1, 2]}
    assert seen(cards, 1, "cellar") == "nothing"


def test_the_log_of_a_seat_has_what_it_saw(cards: Match) -> None:
    act(cards, "draw", "think 2", "drop", "mix")
    before = {seat: len(cards.events_for(seat)) for seat in (0, 1)}
    act(cards, "draw", "stash 6")
    mine, others = cards.events_for(0), cards.events_for(1)
    assert "seat 0: think 2" in mine and "seat 0 secret: 0 + 2 = 2" in mine and "seat 0 mood is now yes" in mine
    assert not any("think" in x or "secret" in x or "mood" in x or x.startswith("seat 0: ") for x in others)
    assert "6: deck -> seat 0 hand" in mine[before[0] :] and "1 of Card: deck -> seat 0 hand" in others[before[1] :]
    assert "6: seat 0 hand -> seat 0 sack" in mine and "1 of Card: seat 0 hand -> out of sight" in others
    act(cards, "sink")
    assert any("-> pit" in x for x in cards.story)
    assert not any("pit" in x for seat in (0, 1) for x in cards.events_for(seat)), "from hidden to hidden, uncounted"
    assert seen(cards, 1, "secret") == {"1": 0} and seen(cards, 0, "mood") == {"0": True}


def test_what_was_taken_back_is_not_known(cards: Match) -> None:
    act(cards, "draw", "mix")
    do(cards, 0, "draw")
    assert seen(cards, 0, "hand", 0) == [1, 6]
    told = cards.events_for(0)
    cards.undo()
    assert seen(cards, 0, "hand", 0) == [1] and seen(cards, 1, "deck") == {"count": 5, "known": [2, 3, 4, 5, 6]}
    assert len(cards.events_for(0)) < len(told)
    do(cards, 0, "show 1")
    assert seen(cards, 1, "display") == [1] and cards.choices[-1][0] == 0 and len(cards.choices) == 5


# ---------------------------------------------------------------- forced choices

FORCED = """game forced "Is anybody asked?", players 2..2

pieces Card(v: 1..2)
    1
    2

pieces Token: 2

zone rest: Card, public, starts with all Card
zone tokens: Token, public, starts with all Token

each player
    zone counted: Card, private, number public
    zone uncounted: Card, private
    zone alike: Token, private, number public
    counter secret: 0.., private, starts at 1
    counter open: 0.., public, starts at 1
    counter points: 0.., public

step begin
    in turn each player starting with (first player)
        let card = first rest
        if card is not none
            move card from rest to GOAL
        move 1 Token from tokens to alike

step question
    in turn each player starting with (first player)
        choose
            CHOICE
                raise points by 1

step rest_of_it
    in turn each player starting with (first player)
        choose any n in 1..2
            raise points by n

ranking by most points, ties shared
"""


@pytest.mark.parametrize(
    ("choice", "goal", "asked"),
    [
        ("go any n in 1..open", "counted", False),
        ("go any n in 1..secret", "counted", True),
        ("go, only if open is 1", "counted", False),
        ("go, only if secret is 1", "counted", True),
        ("go any c in counted", "counted", False),
        ("go any c in uncounted", "uncounted", True),
        ("go any c in counted where v <= 2", "counted", True),
        ("go exactly 1 cs in counted", "counted", False),
        ("go any c in counted such that v of c <= 2", "counted", True),
        ("go any c in alike", "counted", True),
        ("go any n in 1..1 such that n is secret", "counted", True),
        ("go any n in 1..1 such that n is open", "counted", False),
    ],
)
def test_a_forced_choice_is_silent_only_where_that_tells_nothing(tmp_path: Path, choice: str, goal: str, asked: bool) -> None:
    game = made(tmp_path, FORCED.replace("CHOICE", choice).replace("GOAL", goal))
    assert (game.start(seed=1).decisions[0].name == "question") == asked
    match = game.start(seed=1, ask_forced=True)
    assert match.decisions[0].name == "question"
    match.choose(0, 0)
    again = rulelang.resume(match.to_text(), game)
    assert again.ask_forced and again == match and again.decisions[0].name == "question"


# ---------------------------------------------------------------- chance

LUCK = """game luck "Chance", players 2..2

pieces Card(v: 1..12)
ROWS

pieces Tile(v: 1..12)
ROWS

pile deck: Card, public, starts with all Card
pile tiles: Tile, public, starts with all Tile

counter first_draw: 0.., public
counter second_draw: 0.., public

each player
    counter drawn: 0.., public
    counter points: 0.., public

step begin
    let x = random n in 1..100000
    set first_draw to x
    let y = random n in 1..100000
    set second_draw to y
    shuffle deck
    shuffle tiles

step each_their_own
    secretly each player
        let z = random n in 1..100000
        set drawn to z
        choose any m in 1..2
            raise points by m

step again
    shuffle deck
    in turn each player starting with (first player)
        choose any m in 1..2
            raise points by m

ranking by most points, ties shared
""".replace("ROWS", "\n".join(f"    {n}" for n in range(1, 13)))


def test_chance_follows_the_seed_and_every_draw_is_another(tmp_path: Path) -> None:
    game = made(tmp_path, LUCK)
    found: dict[str, set[Any]] = {"first_draw": set(), "second_draw": set(), "deck": set(), "drawn": set()}
    for seed in (1, 2, 3, "four"):
        match = game.start(seed=seed)
        found["first_draw"].add(match.get("first_draw"))
        found["second_draw"].add(match.get("second_draw"))
        found["deck"].add(tuple(match.get("deck")))
        drawn = [match.observe(p)["places"]["drawn"][str(p)] for p in (0, 1)]
        assert drawn[0] != drawn[1] and match.get("first_draw") != match.get("second_draw")
        found["drawn"].update(drawn)
        shuffled = match.get("deck")
        assert shuffled != match.get("tiles"), "one shuffle is not the other"
        for p in (1, 0):
            match.choose(p, 0)
        assert [match.get("drawn", p) for p in (0, 1)] == drawn
        assert match.get("deck") != shuffled
        twin = game.start(seed=seed)
        for p in (0, 1):
            twin.choose(p, 0)
        assert twin.get("deck") == match.get("deck") and twin.state == match.state
    assert [len(found[k]) for k in ("first_draw", "second_draw", "deck", "drawn")] == [4, 4, 4, 8]


ROLLS = """game rolls "Each rolls after choosing, twice", players 2..2

each player
    counter first_roll: 0.., public
    counter second_roll: 0.., public

step one
    secretly each player
        choose any n in 1..2
            let x = random k in 1..100000
            set first_roll to x

step two
    secretly each player
        choose any n in 1..2
            let y = random k in 1..100000
            set second_roll to y

ranking by most first_roll, ties shared
"""


def test_a_later_thread_of_the_same_player_draws_anew(tmp_path: Path) -> None:
    match = made(tmp_path, ROLLS).start(seed=1)
    for seat in (0, 1, 1, 0):
        match.choose(seat, 0)
    assert len({match.get(name, p) for name in ("first_roll", "second_roll") for p in (0, 1)}) == 4


# ---------------------------------------------------------------- options

PICKS = """game picks "Picks", players 2..2

pieces Cube(v: 1..2)
    3 times 1
    2 times 2

pile heap: Cube, public, starts with all Cube

each player
    counter points: 0.., public
    zone mine: Cube, public

step free
    in turn each player starting with (first player)
        choose any a in 1..3 with any b in 1..2
            raise points by 10 * a + b

step bound
    in turn each player starting with (first player)
        choose any a in 1..3 with any b in 1..a
            raise points by 10 * a + b

step one
    in turn each player starting with (first player)
        choose any c in heap
            raise points by v of c

step two
    in turn each player starting with (first player)
        choose up to 2 cs in heap
            raise points by number of cs

ranking by most points, ties shared
"""


def test_options_are_those_of_the_text_in_their_order(tmp_path: Path) -> None:
    match = made(tmp_path, PICKS).start(seed=1)
    assert labels(match, 0) == ["1 with 1", "1 with 2", "2 with 1", "2 with 2", "3 with 1", "3 with 2"]
    for k in range(6):
        one = match.copy()
        one.choose(0, k)
        assert one.get("points", 0) == (11, 12, 21, 22, 31, 32)[k], "an option does what it says"
    match.choose(0, 0)
    match.choose(1, 0)
    assert labels(match, 0) == ["1 with 1", "2 with 1", "2 with 2", "3 with 1", "3 with 2", "3 with 3"]
    match.choose(0, 5)
    assert match.get("points", 0) == 11 + 33
    match.choose(1, 0)
    assert labels(match, 0) == ["1", "2"], "alike pieces of a pile are one option"
    match.choose(0, 1)
    match.choose(1, 0)
    assert labels(match, 0) == ["none", "1", "2", "1, 1", "1, 2", "2, 2"]
    assert len(match.decisions[0].options) == 6


def test_only_an_offered_option_or_its_index_is_taken(tmp_path: Path) -> None:
    match = made(tmp_path, PICKS).start(seed=1)
    stale = match.decisions[0].options[3]
    match.choose(0, 0)
    before = match.state
    wrongs: list[Any] = [True, False, -1, 6, 1.0, "1 with 1", None]
    for wrong in wrongs:
        with pytest.raises(IllegalChoice):
            match.choose(1, wrong)
    match.choose(1, 0)
    with pytest.raises(IllegalChoice, match="not offered at `bound`"):
        match.choose(0, stale)  # the same values under another name
    fresh = match.decisions[0].options[1]
    match.choose(0, 0)
    match.choose(1, fresh)
    assert match.state != before


CHANGED = """game changed "The same question, another table", players 2..2

each player
    counter points: 0.., public

step ask
    repeat turns, 2 times
        in turn each player starting with (first player)
            choose any n in turns..(turns + 2)
                raise points by n

ranking by most points, ties shared
"""


def test_an_option_of_an_earlier_table_is_refused(tmp_path: Path) -> None:
    match = made(tmp_path, CHANGED).start(seed=1)
    stale = match.decisions[0].options[0]
    match.choose(0, 0)
    match.choose(1, 0)
    with pytest.raises(IllegalChoice, match="not offered"):
        match.choose(0, stale)


# ---------------------------------------------------------------- layers

LAYERED = """game layered "Layers", players 2..2

each player
    counter points: 0.., public, starts at 1
    counter other: 0.., public

step ask
    in turn each player starting with (first player)
        choose
            go
                raise points by 1
            wait
                raise other by 1

ranking by most points, ties shared
"""
LAYER_A = """variant layer_a of layered "A"

offer go only if points >= 1

before go
    raise points by 2

after go
    raise points by 3

before ask
    together each player
        raise other by 1

before wait
    raise other by 1
"""
LAYER_B = """variant layer_b of layered "B"

offer go only if other <= 2

before go
    set points to 2 * points

after go
    set points to 10 * points

before ask
    together each player
        set other to 2 * other
"""


def test_layers_at_one_option_happen_in_order_and_all_conditions_count(tmp_path: Path) -> None:
    layers = {"layer_a": LAYER_A, "layer_b": LAYER_B}
    match = made(tmp_path, LAYERED, layers).start(seed=1)
    assert match.get("other", 0) == 2 and labels(match, 0) == ["go", "wait"]
    match.choose(0, 0)
    assert match.get("points", 0) == ((1 + 2) * 2 + 1 + 3) * 10
    for old, new in (("points >= 1", "points >= 2"), ("other <= 2", "other <= 1")):
        folder = tmp_path / new[:5]
        folder.mkdir()
        changed = {k: v.replace(old, new) for k, v in layers.items()}
        assert made(folder, LAYERED, changed).start(seed=1, ask_forced=True).decisions[0].options[0].label == "wait"


# ---------------------------------------------------------------- ranges

RANGES = """game ranges "Ranges", players 2..2

counter shared: 2..5, public, starts at 3, excess beyond 5 is lost, excess below 2 is lost
counter floor: 1.., public, starts at 3, excess below 1 is lost

each player
    counter points: 0.., public

step ask
    in turn each player starting with (first player)
        choose
            up any n in 1..4
                raise shared by n
            down any n in 1..4
                lower shared by n
            put any n in 0..9
                set shared to n
            lots
                raise shared by 9
            sink any n in 1..9
                lower floor by n
            set_floor any n in 0..2
                set floor to n

ranking by most points, ties shared
"""


@pytest.mark.parametrize(
    ("label", "shared", "floor"),
    [
        ("up 2", 5, 3), ("up 4", 5, 3), ("down 1", 2, 3), ("down 4", 2, 3), ("put 0", 2, 3), ("put 9", 5, 3), ("put 4", 4, 3),
        ("lots", 5, 3), ("sink 9", 3, 1), ("set floor 0", 3, 1),
    ],
)  # fmt: skip
def test_excess_is_lost_at_the_end_where_it_goes_over(tmp_path: Path, label: str, shared: int, floor: int) -> None:
    match = made(tmp_path, RANGES).start(seed=1)
    do(match, 0, label)
    assert (match.get("shared"), match.get("floor")) == (shared, floor)
    assert (match.observe(0)["places"]["shared"], match.observe(0)["places"]["floor"]) == (shared, floor), "fast and traced agree"


# ---------------------------------------------------------------- the result

SCORES = """game scores "Scores", players 3..3

each player
    counter points: 0.., public, starts at 5
    counter debts: 0.., public
    define worth = points - debts

step earning "Work"
    in turn each player starting with (first player)
        choose any n in 0..3
            raise points by n
            raise points by 1

step paying "Taxes"
    in turn each player starting with (first player)
        choose any n in 0..3
            lower points by n
            raise debts by n

ranking by most points, ties shared
"""


def played(game: rulelang.Game, *ks: int) -> Match:
    match = game.start(seed=1)
    for k in ks:
        match.choose(match.decisions[0].player, k)
    return match


def test_the_account_of_a_counter_and_of_a_formula(tmp_path: Path) -> None:
    match = played(made(tmp_path, SCORES), 0, 2, 3, 0, 1, 2)
    assert match.account(0) == [("at the start", 5), ("Work", 1)]
    assert match.account(1) == [("at the start", 5), ("Work", 3), ("Taxes", -1)]
    assert match.account(2) == [("at the start", 5), ("Work", 4), ("Taxes", -2)]
    assert all(sum(n for _, n in match.account(p)) == match.scores[p] for p in range(3))
    formula = played(made(tmp_path, SCORES.replace("by most points", "by most worth")), 0, 2, 3, 0, 1, 2)
    assert formula.account(2) == [("points", 7), ("debts", -2)] and formula.scores == (6, 6, 5)


@pytest.mark.parametrize(
    ("ranking", "order", "winners", "scores"),
    [
        ("by most points, ties shared", ((1, 2), (0,)), (1, 2), (6, 7, 7)),
        ("by most points, ties by_seat", ((1,), (2,), (0,)), (1,), (6, 7, 7)),
        ("by fewest points, ties shared", ((0,), (1, 2)), (0,), (6, 7, 7)),
        ("by most points, then fewest debts, ties shared", ((1,), (2,), (0,)), (1,), (6, 7, 7)),
    ],
)
def test_who_wins(tmp_path: Path, ranking: str, order: Any, winners: Any, scores: Any) -> None:
    game = made(tmp_path, SCORES.replace("by most points, ties shared", ranking))
    match = played(game, 0, 2, 3, 0, 1, 2)
    assert (match.ranking, match.winners, match.scores) == (order, winners, scores)
    match.undo()
    assert match.winners == (), "nobody has won before the end"


# ---------------------------------------------------------------- files and equality

OPTIONAL = """game optional "With an option", players 2..2

option pace: slow or quick, usually slow

each player
    counter points: 0.., public

step morning
    in turn each player starting with (first player)
        choose any n in 1..3
            raise points by n

step evening
    in turn each player starting with (first player)
        choose any n in 1..3
            raise points by n

ranking by most points, ties shared
"""


def test_a_file_with_one_forged_line_is_refused(tmp_path: Path) -> None:
    game = made(tmp_path, OPTIONAL)
    text = game.start(seed=1).play_out(Random(1)).to_text()
    lines = text.split("\n")
    assert lines[-2] == "end 4" and rulelang.resume(text, game).is_over

    def refused(changed: list[str], line: int, part: str) -> None:
        with pytest.raises(MatchFileError, match=part) as caught:
            rulelang.resume("\n".join(changed), game)
        assert caught.value.line == line

    refused([*lines[:9], lines[9].replace("morning", "evening"), *lines[10:]], 10, "the line says")
    refused([*lines[:9], lines[9].replace(": ", ": 9"), *lines[10:]], 10, "the line says")
    refused([*lines[:9], "1" + lines[9][1:], *lines[10:]], 10, "seat 1 is not asked here")
    refused([*lines[:9], lines[9].rsplit("#")[0] + "#3", *lines[10:]], 10, "there is no option 3")
    refused([*lines[:13], lines[12], *lines[13:]], 14, "the match is over")
    refused([*lines[:13], "end 3", ""], 14, "`end 4` and nothing more")
    refused([*lines[:13], "end 4", "more"], 14, "`end 4` and nothing more")
    refused(lines[:13], 13, "too early")
    refused([*lines[:7], "rules: " + "0" * 32, *lines[8:]], 8, "other rules")


def test_matches_with_other_options_are_not_equal(tmp_path: Path) -> None:
    game = made(tmp_path, OPTIONAL)
    one, two = game.start(seed=1), game.start(seed=1, options={"pace": "quick"})
    assert one != two and one == game.start(seed=1)
    assert rulelang.resume(two.to_text(), game) == two


def test_what_is_out_of_scope_is_no_part_of_the_state(tmp_path: Path) -> None:
    game = made(tmp_path, OPTIONAL.replace("raise points by n", "raise points by 1"))
    one, two = game.start(seed=1), game.start(seed=1)
    for k, match in enumerate((one, two)):
        match.choose(0, k)
        match.choose(1, k)
    assert one == two and one.state == two.state


# ---------------------------------------------------------------- refusals

SAME_NAMES = """game same_names "Two questions with the same options", players 2..2

each player
    counter points: 0.., public

step one
    in turn each player starting with (first player)
        choose
            go any n in 1..2
                raise points by n

step two
    in turn each player starting with (first player)
        choose
            go any n in 1..2
                raise points by n

ranking by most points, ties shared
"""


def test_an_option_belongs_to_its_decision(tmp_path: Path) -> None:
    match = made(tmp_path, SAME_NAMES).start(seed=1)
    stale = match.decisions[0].options[1]
    match.choose(0, 0)
    match.choose(1, stale)  # the same question, put to another seat
    assert match.decisions[0].options[1].value == stale.value
    with pytest.raises(IllegalChoice, match="not offered at `two`"):
        match.choose(0, stale)


GONE = """game gone "A piece that is no longer there", players 2..2

pieces Card(v: 1..2)
    ROW
    2

zone stock: Card, public, starts with all Card
zone one: Card, public
zone two: Card, public

each player
    counter points: 0.., public

step ask
    in turn each player starting with (first player)
        choose any n in 1..2
            let card = first c in stock where v of c is 2
            if card is not none
                move card from stock to one
                move card from stock to two

ranking by most points, ties shared
"""


@pytest.mark.parametrize("row", ["1", "3 times 1"])
def test_only_what_lies_there_is_moved(tmp_path: Path, row: str) -> None:
    match = made(tmp_path, GONE.replace("ROW", row)).start(seed=1)
    before = match.state
    with pytest.raises(RuleError, match="these pieces do not lie in `stock`"):
        match.choose(0, 0)
    assert match.state == before and match.get("one") == [] and 2 in match.get("stock")
