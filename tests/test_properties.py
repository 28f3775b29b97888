"""What is true of every match of every game: properties over many random matches."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rulelang
from rulelang.api import Match
from rulelang.errors import IllegalChoice, RuleError
from rulelang.runtime.events import Chosen, Counted
from tests.folding import conserved, lying
from tests.test_combinations import CASES
from tests.worlds import load

GAMES: list[tuple[str, tuple[str, ...]]] = [
    ("visby", ()),
    ("visby", ("long_winter",)),
    ("tallinn", ()),
    ("tallinn", ("envoy", "chronicles", "tower_order")),
    ("hansa", ()),
    ("hansa", ("storm",)),
    ("carthago", ()),
]
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@st.composite
def matches(draw: Any, steps: int = 60) -> Match:
    """A match of some game after some random choices."""
    game = load(*draw(st.sampled_from(GAMES)))
    match = game.start(players=draw(st.sampled_from(list(game.players))), seed=draw(st.integers(0, 10_000)))
    rng = Random(draw(st.integers(0, 10_000)))
    for _ in range(draw(st.integers(0, steps))):
        if match.is_over:
            break
        decision = rng.choice(match.decisions)
        match.choose(decision.player, rng.randrange(len(decision.options)))
    return match


@QUICK
@given(matches())
def test_every_offered_option_applies(match: Match) -> None:
    for decision in match.decisions:
        for k in range(min(len(decision.options), 25)):
            again = match.copy()
            again.choose(decision.player, k)
            assert again.choices[-1] == (decision.player, k)


@QUICK
@given(matches())
def test_options_have_different_labels_and_values(match: Match) -> None:
    for decision in match.decisions:
        options = list(decision.options[:300])
        assert len({json.dumps(o.value) for o in options}) == len(options), decision.name
        assert len({o.label for o in options}) == len(options), decision.name


def pieces(match: Match) -> dict[int, dict[int, int]]:
    """How many pieces of each class lie anywhere on the table."""
    return lying(match.program, match.machine.s)


@QUICK
@given(matches())
def test_pieces_are_conserved(match: Match) -> None:
    assert conserved(match.program, match.machine.s)


@pytest.mark.parametrize(("name", "layers"), CASES, ids=lambda x: x if isinstance(x, str) else "+".join(x) or "alone")
def test_every_combination_keeps_its_pieces(name: str, layers: tuple[str, ...]) -> None:
    game = load(name, layers)
    for match in positions(game, game.players[len(layers) % len(game.players)], every=12):
        assert conserved(match.program, match.machine.s)


def positions(game: rulelang.Game, players: int, every: int = 1, seed: int = 1) -> Iterator[Match]:
    """A random match, at its start, after every so many choices, and at its end."""
    match, rng = game.start(players=players, seed=seed), Random(seed)
    yield match
    while not match.is_over:
        decision = rng.choice(match.decisions)
        match.choose(decision.player, rng.randrange(len(decision.options)))
        if match.is_over or len(match.choices) % every == 0:
            yield match


def owned(match: Match) -> Counter[tuple[str, int]]:
    """How many pieces of each kind and owner lie on the table; -1 is nobody."""
    found: Counter[tuple[str, int]] = Counter()
    lying = pieces(match)
    for universe in {id(u): u for u in match.program.layout.universes.values()}.values():
        for c, n in lying[id(universe)].items():
            found[universe.classes[c].kind, universe.classes[c].owner] += n
    return found


@pytest.mark.parametrize(("name", "layers"), GAMES)
def test_same_seed_same_match(name: str, layers: tuple[str, ...]) -> None:
    game = load(name, layers)
    for players in game.players:
        texts = {game.start(players=players, seed=11).play_out(Random(5)).to_text() for _ in range(2)}
        assert len(texts) == 1
        other = game.start(players=players, seed=12).play_out(Random(6)).to_text()
        assert other not in texts


@QUICK
@given(matches())
def test_saved_resumed_undone_and_copied_matches_agree(match: Match) -> None:
    text = match.to_text()
    resumed = rulelang.resume(text)
    assert resumed == match and resumed.to_text() == text
    copied = match.copy()
    if not match.is_over:
        decision = match.decisions[-1]
        copied.choose(decision.player, 0)
        assert copied.choices != match.choices and match.to_text() == text
        copied.undo()
    assert copied == match and copied.to_text() == text
    assert [d.name for d in copied.decisions] == [d.name for d in match.decisions]
    for seat in range(match.players):
        assert copied.observe(seat) == match.observe(seat) == resumed.observe(seat)


@QUICK
@given(matches(), st.randoms(use_true_random=False))
def test_the_order_of_simultaneous_choices_changes_nothing(match: Match, rng: Any) -> None:
    """From one point of the match every order of arrival leads to the same state."""
    if match.is_over or len(match.decisions) < 2:
        return
    wanted = {d.player: rng.randrange(len(d.options)) for d in match.decisions}
    states = set()
    seen = set()
    for _ in range(4):
        order = list(wanted)
        rng.shuffle(order)
        one = match.copy()
        for seat in order:
            one.choose(seat, wanted[seat])
        states.add(one.state)
        seen.add(json.dumps([one.observe(s) for s in range(one.players)]))
    assert len(states) == 1 and len(seen) == 1


@QUICK
@given(matches(), st.randoms(use_true_random=False))
def test_a_sealed_choice_is_seen_by_nobody_else(match: Match, rng: Any) -> None:
    """While others still choose, no other seat's observation or log tells what was chosen."""
    if match.is_over or len(match.decisions) < 2:
        return
    chooser = rng.choice(match.decisions)
    seen = set()
    for k in {rng.randrange(len(chooser.options)) for _ in range(6)}:
        one = match.copy()
        one.choose(chooser.player, k)
        if any(d.player != chooser.player for d in one.decisions):
            others = [s for s in range(one.players) if s != chooser.player]
            seen.add(json.dumps([[one.observe(s), one.events_for(s)] for s in others]))
    assert len(seen) <= 1


@QUICK
@given(matches())
def test_what_is_not_offered_is_refused_and_nothing_changes(match: Match) -> None:
    before, text = match.state, match.to_text()
    for seat in range(match.players + 1):
        asked = next((d for d in match.decisions if d.player == seat), None)
        for k in (-1, 10**9, *(() if asked else (0,))):
            with pytest.raises(IllegalChoice):
                match.choose(seat, k)
    assert match.state == before and match.to_text() == text


@QUICK
@given(matches(200))
def test_claims_that_are_always_true_hold(match: Match) -> None:
    game = match.game
    for claim in game.core.invariants:
        test = match.program.values.expr(claim.test).fn
        assert test(match.machine.s + [0] * 64), claim.text


@QUICK
@given(matches(120))
def test_a_state_is_plain_integers(match: Match) -> None:
    assert all(type(x) is int for x in match.state)
    assert hash(match) == hash(match.copy())


def test_choosing_twice_and_after_the_end_is_refused() -> None:
    match = load("visby", ()).start(players=3, seed=1)
    match.choose(1, 0)
    with pytest.raises(IllegalChoice, match="has chosen already"):
        match.choose(1, 0)
    match.play_out(Random(1))
    with pytest.raises(IllegalChoice, match="over"):
        match.choose(0, 0)


def test_an_option_of_another_decision_is_refused() -> None:
    match = load("visby", ()).start(players=4, seed=1)
    stale = match.decisions[0].options[3]
    for d in match.decisions:
        match.choose(d.player, 0)
    asked = match.decisions[0]
    if stale.value in [o.value for o in asked.options]:
        return
    with pytest.raises(IllegalChoice, match="not offered"):
        match.choose(asked.player, stale)


BROKEN = """game broken "A pot that breaks", players 2..2

counter pot: 0.., public, starts at 3
each player
    counter points: 0.., public, starts at 0

repeat rounds, 5 times
    in turn each player starting with (first player)
        choose
            take
                lower pot by 1
                raise points by 1
            leave

ranking by most points, ties shared
"""


def test_a_choice_that_breaks_a_rule_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "broken.rule"
    path.write_text(BROKEN)
    match = rulelang.load(str(path)).start(players=2, seed=1)
    for n in range(3):
        match.choose(n % 2, 0)
    before, text = match.state, match.to_text()
    with pytest.raises(RuleError, match="below 0"):
        match.choose(1, 0)
    assert match.state == before and match.to_text() == text
    match.choose(1, 1)
    with pytest.raises(RuleError):
        for seed in range(50):
            match.copy().play_out(Random(seed))
    broken = match.copy()
    with pytest.raises(RuleError):
        for seed in range(50):
            broken.play_out(Random(seed))
    assert rulelang.resume(broken.to_text()) == broken


FORGETFUL = """game forgetful "What was chosen leaves no trace", players 2..2

each player
    counter points: 0.., public, starts at 0

repeat rounds, 3 times
    in turn each player starting with (first player)
        choose any n in 1..5
            let doubled = 2 * n
            count_up doubled
    secretly each player
        choose any m in 1..5
            raise points by m - m

verb count_up n: number
    counter so_far: 0.., starts at n
    raise so_far by 1

ranking by most points, ties shared
"""


def test_equal_tables_are_equal_states(tmp_path: Path) -> None:
    """Two ways to the same table: picks and `let` values that are out of scope do not tell them apart."""
    path = tmp_path / "forgetful.rule"
    path.write_text(FORGETFUL)
    game = rulelang.load(str(path))
    ways = []
    for offset in (0, 2):
        match = game.start(players=2, seed=1)
        states = []
        while not match.is_over:
            for d in match.decisions:
                match.choose(d.player, offset)
            states.append(match.state)
        ways.append(states)
    assert ways[0] == ways[1]


# ---------------------------------------------------------------- what the rulebooks say of every match

SCORING = ("rounds.contests.contest", "final_contests.contest", "tower_contest.contest", "set_up.exchange_cards", "chronicle_scoring")
TRANSFER = "final_contests"


@pytest.mark.parametrize("layers", [layers for name, layers in CASES if name == "tallinn"], ids=lambda x: "+".join(x) or "alone")
def test_points_in_tallinn_change_in_contests_transfers_exchanges_and_chronicles_only(layers: tuple[str, ...]) -> None:
    game = load("tallinn", layers)
    rules: set[str] = set()
    for players, seed in ((2, 1), (3, 2), (4, 3)):
        match = game.start(players=players, seed=seed).play_out(Random(seed))
        changes = [
            (e.origin.label, e.new - e.old) for e in match.events if isinstance(e, Counted) and e.place.name == "points" and e.origin
        ]
        for label, change in changes:
            rule = next((r for r in (*SCORING, TRANSFER) if label == r or f".{r}" in f".{label}"), None)
            assert rule is not None, label
            assert change < 0 if rule == "set_up.exchange_cards" else rule == TRANSFER or change > 0, label
            rules.add(rule)
        assert sum(change for label, change in changes if label == TRANSFER) == 0
        assert sum(match.scores) == 4 * players + sum(change for _, change in changes)
    assert ("set_up.exchange_cards" in rules) == ("envoy" in layers) and rules >= {SCORING[0], SCORING[1], SCORING[2], TRANSFER}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_hansa_keeps_its_markers_booths_and_visits(players: int) -> None:
    out = {2: 2, 3: 1, 4: 0}[players]
    for match in positions(load("hansa"), players, every=5):
        lying = owned(match)
        assert lying["Good", -1] == 78 and all(lying["Booth", seat] == 15 for seat in range(players))
        boxed = Counter(colour for colour, _ in match.get("box"))
        assert list(boxed.values()).count(13) >= out and (match.choices or boxed.total() == 13 * out)
        assert all(match.get("talers", player=seat) >= 0 for seat in range(players))
    assert all(e.new >= 0 for e in match.events if isinstance(e, Counted) and e.place.name == "talers")
    acted, actions = 0, 0
    for e in match.events:
        if isinstance(e, Chosen) and e.decision == "acting":
            acted = 0 if e.option in ("sail", "finish") else acted + 1
            actions += acted
            assert acted <= 1, "one action in each visit"
    assert actions > 10


@pytest.mark.parametrize("players", [2, 3, 4])
def test_carthago_keeps_its_cards_ships_and_discs(players: int) -> None:
    met = set()
    for match in positions(load("carthago"), players, every=3):
        lying = owned(match)
        assert lying["Trade", -1] == 75 and lying["Ship", -1] == 30
        assert all(lying["Disc", seat] == 11 and lying["Base", seat] == 7 for seat in range(players))
        stones = tuple(match.get("stone_at", key=stone) for stone in ("gold", "other_gold"))
        assert stones[0] != stones[1] and None not in stones
        met.add(stones)
    assert len(met) > 1, "the stones never moved"
