"""Two worlds that a seat cannot tell apart give it the same bytes.

Two matches are played side by side.  The second has other outcomes of chance (pieces change places), and in it other
players choose other things.  What a seat has seen of a world is worked out here from the raw events and the declared
visibility alone, by `Eyes`, and not by the code that makes observations.  As long as a seat has seen the same in both,
everything it is given must be the same, byte for byte; as soon as it has seen a difference, the pair is over for it."""

import io
import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import Any

from attrs import define, evolve, field
from rich.console import Console

import rulelang
from rulelang.api import ChanceScript, Game, Match
from rulelang.board import Screen, View
from rulelang.core import nodes as core
from rulelang.core.threads import walk
from rulelang.errors import IllegalChoice, RuleError
from rulelang.runtime.events import Again, AnyEvent, Became, Began, Chosen, Counted, Drawn, Moved, Shuffled
from rulelang.runtime.knowledge import Knowledge
from rulelang.runtime.values import State

TRIES, ANSWERS = 4, 8  # choices that are tried in the first world, and answers to each in the second
OFTEN = 6  # comparisons of a pair at every step; then at some of them
WAIT = 8  # choices that one world waits for the other
Token = tuple[Any, ...]


class Leak(AssertionError):
    """A seat was given different things by two worlds that it cannot tell apart."""


# ---------------------------------------------------------------- what a seat sees, by the declared visibility


@define(eq=False)
class Seen:
    """One token for each thing that a seat sees.  `told` leaves out how often somebody is asked in a row."""

    every: list[Token] = field(factory=list)
    told: list[Token] = field(factory=list)
    _last: Token = ()  # who was last asked

    def add(self, token: Token | None) -> None:
        if token is None:
            return
        self.every.append(token)
        again = token == self._last and (token[0] == "part" or (token[0] == "asked" and self.told[-1] == token))
        if token[0] in ("part", "asked", "together"):
            self._last = token
        if not again:
            self.told.append(token)

    def copy(self) -> "Seen":
        return Seen(self.every[:], self.told[:], self._last)


@define(eq=False)
class Eyes:
    """What one seat sees of one world."""

    match: Match
    seat: int
    _seen: Seen = field(factory=Seen)
    _read: int = 0
    _sealed: frozenset[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        forks = self.match.program.forks.values()
        asked = (s for f in forks for s in walk(f.fork.together.body) if isinstance(s, core.Decide))
        self._sealed = frozenset(id(s.origin) for s in asked)

    def look(self) -> Seen:
        """Everything seen so far, and who is asked now.  Who of several has answered is not seen."""
        machine = self.match._trace().machine
        for event in machine.events[self._read :]:
            self._seen.add(self.token(event))
        self._read = len(machine.events)
        now, row = self._seen.copy(), machine.s
        if machine.fork is not None:
            threads = machine.fork.threads
            asked = sorted(t.who for t in threads if not t.done or any(isinstance(e, Chosen) for e in t.events))
            now.add(("together", *asked))
            for own in (t for t in threads if t.who == self.seat):
                row = own.s
                for event in own.events:
                    now.add(self.token(event))
        else:
            now.add(("asked", machine.pending[0].player) if machine.pending else ("over",))
        now.told.append(("table", *self.table(row)))
        return now

    def sees(self, place: core.Place, slot: int) -> bool:
        layout = self.match.program.layout
        owner, _ = layout.slot_name(place, slot - layout.slots[place])
        return place.visibility == "public" or (place.visibility == "private" and owner == self.seat)

    def token(self, e: AnyEvent) -> Token | None:
        match e:
            case Began():
                return None if e.inside else ("step", e.path)
            case Again():
                return ("pass", e.name, e.count)
            case Chosen():
                if e.player == self.seat:
                    return ("chose", e.decision, e.option, e.picks)
                return ("part" if id(e.origin) in self._sealed else "asked", e.player)
            case Counted():
                return ("counted", e.slot, e.old, e.new, e.lost) if self.sees(e.place, e.slot) else None
            case Became():
                return ("became", e.slot, e.old, e.new) if self.sees(e.place, e.slot) else None
            case Moved():
                if self.sees(e.source, e.source_slot) or self.sees(e.goal, e.goal_slot):
                    return ("moved", e.source_slot, e.goal_slot, e.under, e.pieces)
                source = e.source_slot if e.source.counted else -1
                goal = e.goal_slot if e.goal.counted else -1
                return ("moved", source, goal, e.under and goal >= 0, len(e.pieces)) if source >= 0 or goal >= 0 else None
            case Shuffled():
                return ("shuffled", e.slot)
            case Drawn():
                return None

    def table(self, s: State) -> list[int]:
        """What lies open before this seat, and the public numbers."""
        layout = self.match.program.layout
        found = []
        for place, slot in slots(self.match):
            if self.sees(place, slot):
                found.append(s[slot])
            elif place.counted:
                universe = layout.universe(place.type)
                found.append({"zone": universe.size, "pile": universe.length, "slot": lambda c: int(c >= 0)}[place.word](s[slot]))
        return found


def slots(match: Match) -> Iterator[tuple[core.Place, int]]:
    layout = match.program.layout
    for place in match.game.core.places.values():
        for slot in range(layout.slots[place], layout.slots[place] + layout.sizes[place]):
            yield place, slot


# ---------------------------------------------------------------- what a seat is given


def received(match: Match, seat: int) -> dict[str, Any]:
    """Everything that a seat can ask for."""
    return {
        "observation": match.observe(seat),
        "log": match.events_for(seat),
        "refusal": refusal(match, seat),
        **asked_of(match, seat),
    }


def asked_of(match: Match, seat: int) -> dict[str, Any]:
    decision = next((d for d in match.decisions if d.player == seat), None)
    return {"decision": decision and [decision.name, decision.prompt, [[o.label, o.value] for o in decision.options]]}


def same(given: dict[str, Any], other: dict[str, Any], what: str) -> None:
    """Byte for byte."""
    for name in given:
        a, b = json.dumps(given[name]), json.dumps(other[name])
        if a != b:
            at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            raise Leak(f"{what}: {name}\n   ...{a[max(0, at - 120) : at + 80]}\n   ...{b[max(0, at - 120) : at + 80]}")


def untrue(match: Match, seen: dict[str, Any]) -> str:
    """What a seat is told of covered places and is not so."""
    for name, held in seen["places"].items():
        place = match.game.core.places[name]
        for owner in range(match.players) if place.per_player else (None,):
            told = held.get(str(owner), {}) if owner is not None else held
            if place.keys or not place.holds_pieces or not isinstance(told, dict):
                continue
            lies = match.get(name, player=owner)
            if place.word == "slot":
                lies = [lies] if lies is not None else []
            order = told.get("order", [])
            left = Counter(map(repr, lies)) - Counter(repr(x) for x in order if x is not None)
            if (
                told.get("count", len(lies)) != len(lies)
                or any(x is not None and (n >= len(lies) or lies[n] != x) for n, x in enumerate(order))
                or Counter(map(repr, told.get("known", []))) - left
            ):
                return f"{name} of {owner} holds {lies}, and the seat is told {told}"
    return ""


def refusal(match: Match, seat: int) -> str:
    """What a seat is told that chooses what is not offered, or chooses when it is not asked."""
    try:
        match.choose(seat, -1)
    except IllegalChoice as err:
        return str(err)
    raise AssertionError("option -1 was accepted")


def screen(match: Match, seat: int) -> str:
    """The terminal of this seat: the table, the whole table, and the log."""
    out = io.StringIO()
    shown = Screen(Console(file=out, width=120))
    for whole in (False, True):
        shown.board(View(match.game.core, match.names, match.observe(seat), whole))
    shown.happened(match.events_for(seat), 16)
    return out.getvalue()


# ---------------------------------------------------------------- chance


@define(eq=False)
class Told:
    """Chance of the first world, and what it said; `picks` are the names for which one thing is wanted."""

    rng: Random
    picks: frozenset[str]
    said: list[tuple[str, list[Any]]] = field(factory=list)

    def __call__(self, what: str, things: list[Any]) -> Any:
        order = list(things)
        self.rng.shuffle(order)
        self.said.append((what, order))
        return order[0] if what in self.picks else order


@define(eq=False)
class Retold:
    """Chance of the second world: as in the first, but now and then two things change places."""

    first: Told
    rng: Random
    often: float
    used: set[int] = field(factory=set)

    def __call__(self, what: str, things: list[Any]) -> Any:
        order = self.alike(what, things)
        while order and self.rng.random() < (self.often if what not in self.first.picks else self.often / 8):
            above = self.rng.choice((0, len(order) // 2, max(0, len(order) - 4)))
            i, j = (self.rng.randrange(above, len(order)) for _ in range(2))
            order[i], order[j] = order[j], order[i]
        return order[0] if what in self.first.picks else order

    def alike(self, what: str, things: list[Any]) -> list[Any]:
        """What the first world said of nearly these things; those it does not know stand where its others stood."""
        wanted = Counter(map(repr, things))
        best, found = -1, -1
        for n, (name, order) in enumerate(self.first.said):
            common = 2 * (Counter(map(repr, order)) & wanted).total() - (n in self.used)
            if name == what and len(order) == len(things) and common > best:
                best, found = common, n
        if found < 0:
            return self.rng.sample(things, len(things))
        self.used.add(found)
        left, order = list(things), self.first.said[found][1]
        kept = [left.pop(left.index(x)) if x in left else None for x in order]
        return [left.pop(0) if x is None else x for x in kept]


# ---------------------------------------------------------------- two worlds


@define(eq=False)
class Tally:
    """How often two worlds that really differed were compared, where they differed, and why pairs came to an end."""

    pairs: int = 0
    compared: int = 0
    arrivals: int = 0
    where: Counter[str] = field(factory=Counter)
    ends: Counter[str] = field(factory=Counter)

    def add(self, other: "Tally") -> None:
        self.pairs += other.pairs
        self.compared += other.compared
        self.arrivals += other.arrivals
        self.where.update(other.where)
        self.ends.update(other.ends)


@define(eq=False)
class Pair:
    """Two worlds side by side, and the seats that cannot tell them apart so far."""

    one: Match
    two: Match
    rng: Random
    eyes: dict[int, tuple[Eyes, Eyes]]
    target: int  # the seat for which other players choose what looks the same
    tally: Tally = field(factory=Tally)
    compared: Counter[int] = field(factory=Counter)  # by seat
    sealed: bool = False  # the last choice was made in secret
    behind: Match | None = None  # the world that must catch up
    waited: int = 0
    apart: bool = False  # nothing that could be chosen looked the same in both worlds

    # ------------------------------------------------------------ comparing

    def differ(self) -> set[str]:
        """Where the worlds differ: places of the table, and answers that are not revealed yet."""
        a, b = self.one.machine, self.two.machine
        found = {place.name for place, slot in slots(self.one) if a.s[slot] != b.s[slot]}
        if a.fork is not None and b.fork is not None:
            threads = zip(a.fork.threads, b.fork.threads, strict=False)
            if any(t.s[slot] != u.s[slot] for t, u in threads for place, slot in slots(self.one) if place.name not in found):
                found.add("sealed choices")
        return found

    def look(self) -> None:
        """Compares for every seat that has seen the same in both worlds; the others leave the pair."""
        where = self.differ()
        self.behind = None
        for seat, (left, right) in list(self.eyes.items()) if where else ():
            a, b = left.look(), right.look()
            if a.told == b.told:
                self.compare(seat, where)
                continue
            self.skipped(seat, a, b)
            behind = self.lags(seat, a, b) if self.waited < WAIT else None
            if behind is None:
                self.tally.ends[self.reason(seat, a, b)] += 1
                del self.eyes[seat]
            elif seat == self.target:
                self.behind = behind
        self.waited = self.waited + 1 if self.behind else 0
        if self.eyes and self.target not in self.eyes:
            self.target = self.rng.choice(list(self.eyes))

    def lags(self, seat: int, a: Seen, b: Seen) -> Match | None:
        """The world in which somebody else is asked once more, unseen, before the same happens as in the other."""
        for match, one, other in ((self.one, a.told[:-1], b.told), (self.two, b.told[:-1], a.told)):
            machine = match.machine
            if machine.pending and machine.fork is None and machine.pending[0].player != seat and one == other[: len(one)]:
                return match
        return None

    def compare(self, seat: int, where: set[str]) -> None:
        """In a long pair not at every step; the screen, which is slow, seldom."""
        if self.compared[seat] >= OFTEN and self.rng.random() < 0.8:
            return
        given, other = received(self.one, seat), received(self.two, seat)
        if self.rng.random() < 0.01:
            given["screen"], other["screen"] = screen(self.one, seat), screen(self.two, seat)
        same(given, other, f"seat {seat} can tell two worlds apart")
        for match, seen in ((self.one, given["observation"]), (self.two, other["observation"])):
            if match.machine.fork is None and (lie := untrue(match, seen)):
                raise Leak(f"seat {seat} is told what is not so: {lie}")
        self.compared[seat] += 1
        self.tally.compared += 1
        self.tally.where.update(where)

    def skipped(self, seat: int, a: Seen, b: Seen) -> None:
        """The rules ask the same in both worlds, and one goes on without asking: that tells what there was to choose."""
        short, long = sorted((a.every, b.every), key=len)
        last, then = short[-1], long[len(short) - 1]
        skips = (last[0] == "asked" and then == last) or (last[0] == "together" and then[0] == "part" and not self.sealed)
        if len(self.one.choices) == len(self.two.choices) and len(short) < len(long) and short[:-1] == long[: len(short) - 1] and skips:
            raise Leak(f"seat {seat} can tell that a question was skipped:\n   {short[-3:]}\n   {long[len(short) - 3 :][:6]}")

    def reason(self, seat: int, a: Seen, b: Seen) -> str:
        """Why a seat can tell the worlds apart."""
        x, y = next(((x, y) for x, y in zip(a.told, b.told, strict=False) if x != y), (("nothing",), ("nothing",)))
        if "chose" in (x[0], y[0]):
            return "it chose differently itself"
        if seat != self.target:
            return "it saw more than another"
        if self.apart:
            return "what was done in one could not be done in the other"
        return f"it saw: {' / '.join(sorted({x[0], y[0]}))}"

    # ------------------------------------------------------------ choosing

    def move(self) -> None:
        """Somebody chooses in both worlds: the target the same, others what looks the same to it."""
        open_ = [m.machine.fork is not None for m in (self.one, self.two)]
        self.sealed = any(open_)
        if self.behind is not None:
            choose(self.behind, self.behind.machine.pending[0].player, self.rng)
            return
        asked = [{p.player for p in m.machine.pending} for m in (self.one, self.two)]
        who = self.rng.choice(sorted(asked[0] & asked[1] or asked[0]))
        if who not in asked[1]:  # the first world asks in secret what the second does not
            choose(self.one, who, self.rng)
            return
        first, second = (next(p for p in m.machine.pending if p.player == who).count for m in (self.one, self.two))
        self.apart = False
        if who == self.target:
            same(asked_of(self.one, who), asked_of(self.two, who), f"seat {who} can tell two worlds apart")
            picked = (self.rng.randrange(first),) * 2
        elif all(open_) and len(asked[0]) > 1 and self.rng.random() < 0.3:
            picked = self.rng.randrange(first), self.rng.randrange(second)
        else:
            picked = self.answer(who, first, second)
        if all(open_) and who != self.target and self.rng.random() < 0.2:
            self.answered(who, picked[0])
        else:
            self.one.choose(who, picked[0])
        self.two.choose(who, picked[1])

    def answered(self, who: int, k: int) -> None:
        """While others still choose, an answer changes nothing for a seat, not even that there is one."""
        before, fork = received(self.one, self.target), self.one._trace().machine.fork
        self.one.choose(who, k)
        if self.one._trace().machine.fork is not fork:
            return
        self.tally.arrivals += 1
        same(before, received(self.one, self.target), f"seat {self.target} can tell who has answered")

    def answer(self, who: int, options: int, others: int) -> tuple[int, int]:
        """A choice in each world after which the table looks the same to the target."""
        left, right = self.eyes[self.target]
        for _ in range(TRIES):
            k = self.rng.randrange(options)
            wanted = tried(self.one, who, k, left)
            some = self.rng.sample(range(others), min(others, ANSWERS))
            equal = [k] if k < others else []
            for n in [*equal, *some] if self.rng.random() < 0.5 else [*some, *equal]:
                if wanted is not None and tried(self.two, who, n, right) == wanted:
                    return k, n
        self.apart = True
        return k, k if k < others else self.rng.randrange(others)


def tried(match: Match, who: int, k: int, eyes: Eyes) -> list[int] | None:
    """The table after a choice, as a seat sees it when it is revealed; nothing changes."""
    machine = match.machine.copy()
    try:
        machine.choose(next(p for p in machine.pending if p.player == who), k)
    except RuleError:
        return None
    thread = next((t for t in machine.fork.threads if t.who == who), None) if machine.fork is not None else None
    return eyes.table(machine.s if thread is None else thread.s)


def choose(match: Match, who: int, rng: Random) -> None:
    pending = next(p for p in match.machine.pending if p.player == who)
    match.choose(who, rng.randrange(pending.count))


@define(eq=False)
class World:
    """A match that can be played again with other chance, without being built again."""

    game: Game
    players: int
    match: Match = field(init=False)
    script: ChanceScript | None = None

    def __call__(self, what: str, things: list[Any]) -> Any:
        assert self.script is not None
        return self.script(what, things)

    def begin(self, script: ChanceScript) -> Match:
        self.script = script
        if not hasattr(self, "match"):
            self.match = self.game.start(players=self.players, seed=1, chance=self)
            return self.match
        match, trace = self.match, self.match._traced
        match._dice.outcomes.clear()
        match._replay([])
        if trace is not None:  # the traced build reports to this machine
            machine = trace.machine
            machine.s, machine.fork, machine.over = machine.program.start[:], None, False
            machine.events, machine.pending = [], []
            machine.begin()
            known = [Knowledge(machine.program.layout, seat) for seat in range(self.players)]
            for k in known:
                k.begin(machine.program.start)
            match._traced = evolve(trace, knowledge=known, told=0, followed=0)
        return match


@lru_cache(maxsize=4)
def worlds(game: Game, players: int) -> tuple[World, World]:
    return World(game, players), World(game, players)


def pair(game: Game, players: int, seed: int | str, steps: int = 400) -> Tally:
    """One pair of worlds, played until every seat has seen a difference; a leak is raised."""
    rng = Random(f"worlds/{game.name}/{game.layers}/{players}/{seed}")
    picks = frozenset(s.var.name for s in walk(game.core.flow) if isinstance(s, core.BindRandom))
    told = Told(Random(rng.random()), picks)
    first, second = worlds(game, players)
    one, two = first.begin(told), second.begin(Retold(told, Random(rng.random()), rng.choice((0, 0.4, 0.6, 0.8))))
    made = Pair(one, two, rng, {s: (Eyes(one, s), Eyes(two, s)) for s in range(players)}, rng.randrange(players))
    try:
        for n in range(steps):
            made.look()
            if not made.eyes or one.is_over or two.is_over or (n > 60 and not made.compared):
                break
            made.move()
    except Leak as err:
        last = " and ".join(str(m.choices[-6:]) for m in (one, two))
        where = f"{game.name} with {game.layers}, {players} players, seed {seed}"
        raise Leak(f"{where}: {err}\n   the worlds differ in {sorted(made.differ())}; the last choices were {last}") from None
    made.tally.ends["never"] += len(made.eyes)
    made.tally.pairs = len(made.compared)
    return made.tally


@lru_cache
def load(name: str, layers: tuple[str, ...] = ()) -> Game:
    return rulelang.load(name, layers)
