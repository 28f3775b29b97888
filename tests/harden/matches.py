"""Random matches of every game, player count, option and combination of layers, under watch: the rules never stop, every
claim holds, no piece is lost, every match ends or is said not to.  Of some the same match is played again, copied, taken
back, saved and resumed, and told by its events: it must stay the same match."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeVar

from attrs import define, field, frozen

import rulelang
from rulelang.api import Match, seat_names
from rulelang.errors import RuleError
from rulelang.playouts import Outcome, Watched, Way, at_random, game_of
from rulelang.runtime import settings
from rulelang.runtime.values import State
from rulelang.series import cores
from tests.folding import conserved, misled
from tests.harden import Report, spread
from tests.test_combinations import CASES

CHUNK = 400  # matches of one way to play in one task
LEAST = 0.002  # of all matches, for every way to play
CLOSELY = 200  # one match in so many is looked at closely


@frozen
class Task:
    """So many matches of one way to play"""

    way: Way
    seed: str
    matches: int


@define(eq=False)
class Played:
    """What came of them"""

    matches: int = 0
    faults: list[str] = field(factory=list)


@define(eq=False)
class Done(Played):
    game: str = ""
    ended: int = 0
    closely: int = 0
    choices: int = 0
    longest: int = 0
    seconds: float = 0


D = TypeVar("D", bound=Played)


@define(eq=False)
class Kept(Watched):
    """Looks at the claims, and keeps the table that it saw last"""

    last: State = field(factory=list)

    def look(self, s: State) -> None:
        super().look(s)
        self.last = s


def ways(n: int) -> list[Way]:
    """Every game with every combination of layers, for every player count and every combination of options; in a small
    run some of them."""
    found = []
    for name, layers in CASES[:: max(1, len(CASES) // n)]:
        game = game_of(Way(name, layers, 0, ()))
        found += [Way(name, layers, n, tuple(s.items())) for n in game.players for s in settings.combinations(game.core, n)]
    return found


def tasks(n: int, seed: int) -> list[Task]:
    """More matches of the games that are quick, and no way to play without some; n or a few more in all."""
    every = ways(n)
    length = {w: len(Watched(game_of(w), w).play("length", at_random("length")).choices) for w in every[:: max(1, len(every) // n)]}
    weights = {w: 1 / x for w, x in length.items()}
    shares = {w: max(1, int(LEAST * n), round(n * weights[w] / sum(weights.values()))) for w in weights}
    shares[max(shares, key=lambda w: shares[w])] += max(0, n - sum(shares.values()))
    return in_chunks(shares, seed, CHUNK)


def in_chunks(shares: dict[Way, int], seed: int, size: int) -> list[Task]:
    """So many matches of each way to play, in tasks of a size"""
    return [Task(w, f"{seed}.{first}", min(size, share - first)) for w, share in shares.items() for first in range(0, share, size)]


def counted(work: Callable[[Task], D], tasks: list[Task], count: Counter[str]) -> Iterator[D]:
    """What came of each task; matches and faults are counted."""
    for done in spread(work, tasks, lambda _: f"{count['matches']} matches, {count['faults']} faults"):
        count.update(matches=done.matches, faults=len(done.faults))
        yield done


def told(way: Way, seed: str, wrong: str) -> str:
    """A fault, and how to come to it again"""
    return f"{way.source}, {way.told(game_of(way).core)}, seed {seed}: {wrong}"


def play(task: Task) -> Done:
    way, began = task.way, time.process_time()
    table, done = Kept(game_of(way), way), Done(game=way.source)
    for n in range(task.matches):
        seed = f"{task.seed}.{n}"
        outcome = table.play(seed, at_random(seed))
        wrong = [message for message, _, _ in outcome.found.values()]
        if not outcome.found and not conserved(table.program, table.last):
            wrong.append("a piece was made or lost")
        if n % CLOSELY == 0 and not wrong:
            wrong += closely(way, seed, outcome, table)
            done.closely += 1
        done.faults += [told(way, seed, w) for w in wrong]
        done.matches += 1
        done.ended += outcome.over
        done.choices += len(outcome.choices)
        done.longest = max(done.longest, len(outcome.choices))
        if len(done.faults) > 4:
            break
    done.seconds = time.process_time() - began
    return done


def closely(way: Way, seed: str, outcome: Outcome, table: Kept) -> list[str]:
    """The same match again, by the interface for programs, with everything that must not change it."""
    rng, wrong = Random(f"{seed}/closely"), []
    match = Match(game_of(way), way.players, dict(way.options), seed, None, False, seat_names(way.players))
    stops = {rng.randrange(len(outcome.choices) + 1) for _ in range(2)}
    if tuple(table.play(seed, at_random(seed)).choices) != tuple(outcome.choices):
        wrong.append("the same seed gave another match")
    for n, (player, k) in enumerate(outcome.choices):
        if n in stops:
            wrong += elsewhere(match, rng)
        match.choose(player, k)
        if match.machine.fork is None and not conserved(match.program, match.machine.s):
            wrong.append(f"a piece was made or lost by choice {n}")
    if match.machine.over != outcome.over or match.machine.key() != table.program.key(table.last):
        wrong.append("the match under watch came to another table")
    return [*wrong, *([why] if (why := misled(match)) else [])]


def elsewhere(match: Match, rng: Random) -> list[str]:
    """Copied, taken back, saved and resumed: the same match."""
    text, state, wrong = match.to_text(), match.state, []
    resumed, copied = rulelang.resume(text, match.game), match.copy()
    if resumed != match or resumed.to_text() != text:
        wrong.append("a resumed match is another one")
    try:
        for other in (copied, resumed):
            decision = rng.choice(other.decisions)
            other.choose(decision.player, rng.randrange(len(decision.options)))
    except RuleError as err:
        return [*wrong, str(err)]
    if match.state != state or match.to_text() != text:
        wrong.append("a choice in a copy changed the match")
    for other in (copied, resumed):
        other.undo()
        if other != match or other.to_text() != text:
            wrong.append("a choice that was taken back left a trace")
    for seat in range(match.players):
        if not match.observe(seat) == copied.observe(seat) == resumed.observe(seat):
            wrong.append(f"seat {seat} sees something else after a choice was taken back")
    return wrong


def run(n: int, seed: int) -> Report:
    began, games, count = time.perf_counter(), dict[str, Done](), Counter[str]()
    planned = tasks(n, seed)
    for done in counted(play, planned, count):
        whole = games.setdefault(done.game, Done(game=done.game))
        for name in ("matches", "ended", "closely", "choices", "seconds", "faults"):
            setattr(whole, name, getattr(whole, name) + getattr(done, name))
        whole.longest = max(whole.longest, done.longest)
    each = "; ".join(
        f"{d.game}: {d.matches} matches, {d.ended} ended, {d.choices} choices, the longest {d.longest}, {d.closely} looked at closely, "
        f"{d.seconds:.0f} s of a processor"
        for d in games.values()
    )
    return Report(
        f"{count['matches']} matches of {len({t.way for t in planned})} ways to play, {count['faults']} faults, "
        f"{time.perf_counter() - began:.0f} s on {cores()} cores\n   {each.replace('; ', chr(10) + '   ')}",
        tuple(f for d in games.values() for f in d.faults),
    )
