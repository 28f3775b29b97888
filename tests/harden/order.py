"""It is all the same who of several comes first: two machines play the same match.  One runs the rules as they are built;
in the other every `together` is threads of their own, begun and joined in a shuffled order and answered in another.  At
every decision both must wait for the same seats with as many options, on the same table.  Of some matches it is also
compared what every seat sees and is told while answers come in another order."""

import time
from collections import Counter
from random import Random

from attrs import define, field

from rulelang.core.types import Type
from rulelang.errors import RuleError
from rulelang.playouts import Way, game_of
from rulelang.prove.permute import forked
from rulelang.runtime.machine import Machine, Pending
from rulelang.runtime.program import Chance, ForkCode, Program, make_program
from rulelang.runtime.settings import option_word
from rulelang.runtime.values import State
from rulelang.series import cores
from tests.harden import Report
from tests.harden.matches import Played, Task, counted, in_chunks, told, ways

CHUNK = 50
CHOICES = 200  # of one match
SEEN = 10  # in one match of so many it is looked at what the seats see


@define(eq=False)
class Done(Played):
    forks: int = 0  # entries of threads, each in a shuffled order
    seen: int = 0


def dice(seed: str) -> Chance:
    """Chance that does not ask when: both machines draw the same, in whatever order their threads run."""

    def draw(s: State, name: str, items: tuple[int, ...], t: Type, whole: bool) -> tuple[int, ...]:
        rng = Random(f"{seed}/{name}/{items}")
        return tuple(rng.sample(items, len(items))) if whole else (items[rng.randrange(len(items))],)

    return draw


def shuffled(program: Program, rng: Random, done: Done) -> Program:
    """Threads begin, and are joined, in any order."""

    def mix(code: ForkCode) -> None:
        who = code.who

        def mixed(s: State) -> tuple[int, ...]:
            found = list(who(s))
            rng.shuffle(found)
            done.forks += 1
            return tuple(found)

        code.who = mixed

    for code in program.forks.values():
        mix(code)
    return program


@define(eq=False)
class Table:
    """One machine, and for every seat the answers that it will give"""

    machine: Machine
    seed: str
    rng: Random | None  # in which order several answer; nothing: as they are listed
    tapes: dict[int, Random] = field(factory=dict)

    def answer(self) -> None:
        """Up to the next time that somebody is asked alone, or others are."""
        fork = self.machine.fork
        while True:
            pending = self.machine.pending
            waiting: Pending = pending[0] if self.rng is None else self.rng.choice(pending)
            tape = self.tapes.setdefault(waiting.player, Random(f"{self.seed}/{waiting.player}"))
            self.machine.choose(waiting, int(tape.random() * waiting.count))
            if fork is None or self.machine.fork is not fork:
                return

    def shown(self) -> tuple[object, ...]:
        m = self.machine
        slots = [
            at + n
            for place, at in m.program.layout.slots.items()
            if place.visibility != "local"
            for n in range(m.program.layout.sizes[place])
        ]
        asked = sorted((p.player, p.ask.decide.path, p.count) for p in m.pending)
        return m.over, asked, [m.s[at] for at in sorted(slots)]


def compare(way: Way, seed: str, done: Done) -> str:
    """What differs, or nothing."""
    game = game_of(way)
    assert game.loaded.flow is not None
    counts, rng = tuple(game.loaded.flow.loop_counts.values()), Random(f"{seed}/order")
    plain = make_program(game.core, way.players, dict(way.options), dice(seed), loop_counts=counts)
    other = make_program(game.core, way.players, dict(way.options), dice(seed), flow=forked(game.core.flow), loop_counts=counts)
    programs = (plain, shuffled(other, rng, done))
    tables = [Table(Machine(p, p.start[:]), seed, r) for p, r in zip(programs, (None, rng), strict=True)]
    outcomes: list[object] = ["", ""]
    for n in range(CHOICES):
        for at, table in enumerate(tables):
            try:
                table.machine.begin() if n == 0 else table.answer()
                outcomes[at] = table.shown()
            except RuleError as err:
                outcomes[at] = f"stopped: {str(err).splitlines()[0]}"
        if outcomes[0] != outcomes[1]:
            return f"after {n} rounds of answers: {str(outcomes[0])[:200]} and {str(outcomes[1])[:200]}"
        if isinstance(outcomes[0], str) or tables[0].machine.over:
            break
    return ""


def look(way: Way, seed: str) -> str:
    """The same answers in another order: every seat sees and is told the same."""
    game, rng = game_of(way), Random(f"{seed}/look")
    words = {o.name: option_word(game.core, o, dict(way.options)[o.name]) for o in game.core.options.values()}
    one, two = (game.start(way.players, seed, words) for _ in range(2))
    tables = [Table(one.machine, seed, None), Table(two.machine, seed, rng)]
    for _ in range(60):
        if one.is_over:
            break
        for match, table in zip((one, two), tables, strict=True):
            fork = match.machine.fork
            while True:
                asked = [d.player for d in match.decisions]
                player = asked[0] if table.rng is None else rng.choice(asked)
                tape = table.tapes.setdefault(player, Random(f"{seed}/{player}"))
                options = next(d.options for d in match.decisions if d.player == player)
                match.choose(player, int(tape.random() * len(options)))
                if fork is None or match.machine.fork is not fork:
                    break
        for seat in range(way.players):
            if one.observe(seat) != two.observe(seat):
                return f"seat {seat} sees something else"
    same = all(repr(one.events_for(seat)) == repr(two.events_for(seat)) for seat in range(way.players))
    return "" if same else "somebody is told something else"


def play(task: Task) -> Done:
    done = Done()
    for n in range(task.matches):
        seed = f"{task.seed}.{n}"
        wrong = compare(task.way, seed, done)
        if not wrong and n % SEEN == 0:
            done.seen += 1
            wrong = look(task.way, seed)
        done.matches += 1
        if wrong:
            done.faults.append(told(task.way, seed, wrong))
    return done


def run(n: int, seed: int) -> Report:
    began, count, faults = time.perf_counter(), Counter[str](), list[str]()
    every = ways(n)
    every = every[:: max(1, len(every) // n)]
    tasks = in_chunks({w: max(1, n // len(every)) for w in every}, seed, CHUNK)
    for done in counted(play, tasks, count):
        count.update(forks=done.forks, seen=done.seen)
        faults.extend(done.faults)
    took = time.perf_counter() - began
    return Report(
        f"{count['matches']} matches of {len(every)} ways to play, {count['forks']} entries of threads in a shuffled order, "
        f"{count['seen']} matches seen by every seat with answers in another order, {len(faults)} faults, {took:.0f} s on {cores()} cores",
        tuple(faults),
    )
