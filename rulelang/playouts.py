"""Random matches under watch: every player count, every allowed combination of options and layers.  What went wrong is
kept with the choices that led there; the same seed gives the same matches, however many processes play them."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from random import Random

from attrs import define, evolve, field, frozen

from rulelang.api import Dice, Game, load
from rulelang.claims import ClaimResult
from rulelang.core import nodes as core
from rulelang.coverage import Coverage, count_options, know_options, own_files, taken
from rulelang.diagnostics import Diagnostic
from rulelang.errors import RuleError
from rulelang.pipeline import Loaded
from rulelang.runtime.counting import Item, Tally
from rulelang.runtime.machine import Machine
from rulelang.runtime.program import Program
from rulelang.runtime.settings import option_word
from rulelang.runtime.values import Fn, State
from rulelang.source import SourceFile, Span

CHOICES = 5_000  # of one match: then it is said not to have ended
CLAIMED = 4  # matches for each player count in which `rulelang test` looks at claims

Pick = Callable[[int], int | None]


@frozen
class Way:
    """One way to play: `--with storm`, three players, `target 45`"""

    source: str
    layers: tuple[str, ...]
    players: int
    options: tuple[tuple[str, int], ...]

    def told(self, game: core.Game) -> str:
        usual = {o.name: o.default for o in game.options.values()}
        unusual = [f"{n} {option_word(game, game.options[n], v)}" for n, v in self.options if v != usual[n]]
        return ", ".join([f"{self.players} players", *unusual, *([f"with {' and '.join(game.layers)}"] if game.layers else [])])


@frozen
class Mishap:
    """What went wrong, where the rule for it stands, and the choices after which it did"""

    item: Item  # sort `claim` or `stop`
    message: str
    heading: str
    way: Way
    seed: str
    choices: tuple[tuple[int, int], ...]
    matches: int = 1  # in how many


@define(eq=False)
class Outcome:
    choices: list[tuple[int, int]]
    over: bool = False
    found: dict[Item, tuple[str, str, int]] = field(factory=dict)  # message, heading, after how many choices


# ---------------------------------------------------------------- one match


@define(eq=False)
class Watched:
    """A game made ready for one way to play, and looked at after every step and at every decision."""

    game: Game
    way: Way
    tally: Tally | None = None
    dice: Dice = field(factory=lambda: Dice("", None))
    outcome: Outcome = field(factory=lambda: Outcome([]))
    program: Program = field(init=False)
    claims: list[tuple[Item, Fn]] = field(init=False)
    ranking: list[Fn] = field(init=False)
    start: State = field(init=False)
    standing: list[int] = field(factory=list)  # what was worked out for all matches: ranges and starts

    def __attrs_post_init__(self) -> None:
        game = self.game.core
        self.program = self.game.program(self.way.players, dict(self.way.options), self.dice, watch=self.look, tally=self.tally)
        apart = self.program.values.apart()
        self.claims = [(_claimed(claim), apart.expr(claim.test).fn) for claim in game.invariants]
        self.ranking = [self.program.values.expr(e).fn for _, e, _ in game.ranking.items] if game.ranking is not None else []
        self.start = self.program.start + [0] * (len(apart.dummy()) - len(self.program.start))
        if self.tally is not None:
            know_options(self.tally, game, self.way.players)
            self.standing = [n for n, fired in enumerate(self.tally.fired) if fired]
            self.tally.clear()

    def look(self, s: State) -> None:
        """Does everything hold that is always true?"""
        found = self.outcome.found
        for item, test in self.claims:
            try:
                if test(s):
                    continue
                why = f"not always true: {item.name}"
            except RuleError as err:
                why = f"`{item.name}` cannot be worked out: {_first_line(err)}"
            found.setdefault(item, (why, "", len(self.outcome.choices)))

    def play(self, seed: str, pick: Pick, limit: int = CHOICES) -> Outcome:
        """A match with this chance, in which `pick` chooses among so many options; where it gives nothing, it is left."""
        self.dice.seed = seed
        made = self.outcome = Outcome([])
        if self.tally is not None:
            count_options(self.tally, self.game.core, dict(self.way.options))
            for n in self.standing:
                self.tally.fired[n] = True
        try:
            machine = Machine(self.program, self.start[:])
            machine.begin()
            self.look(machine.s)
            while not machine.over and len(made.choices) < limit:
                pending = machine.pending[0]
                k = pick(pending.count)
                if k is None:
                    break
                made.choices.append((pending.player, k))
                machine.choose(pending, k)
                self.look(machine.s)
            if machine.over:
                self._rank(machine.s)
        except RuleError as err:
            made.found[_place(err)] = (_first_line(err), _heading(err), len(made.choices))
        else:
            made.over = machine.over
        if self.tally is not None:
            self.tally.settle()
        return made

    def _rank(self, s: State) -> None:
        ranking = self.game.core.ranking
        if ranking is not None:
            for player in range(self.way.players):
                s[self.program.values.variable(ranking.var)] = player
                for measure in self.ranking:
                    measure(s)


def _claimed(claim: core.Invariant) -> Item:
    return Item("claim", claim.span.source.path, claim.span.start, claim.span.end, claim.text)


def at_random(seed: str) -> Pick:
    rng = Random(f"{seed}/play")
    return lambda count: int(rng.random() * count)


def _place(err: RuleError) -> Item:
    """Where the rules stopped: the rule, or what is said if no rule did it."""
    span = err.origin.span if isinstance(err.origin, core.Origin) else None
    if span is None or not span.source.path:
        return Item("stop", "", 0, 0, _first_line(err))
    return Item("stop", span.source.path, span.start, span.end)


def _heading(err: RuleError) -> str:
    return err.origin.heading if isinstance(err.origin, core.Origin) else ""


def _first_line(err: RuleError) -> str:
    return str(err).splitlines()[0]


# ---------------------------------------------------------------- many matches


@frozen
class Task:
    """The matches from `first` on, so many, of one way to play"""

    way: Way
    seed: int
    first: int
    matches: int


@frozen(eq=False)
class Played:
    """What came of some matches of one way to play"""

    way: Way
    matches: int
    ended: int
    fewest: int
    most: int
    mishaps: tuple[Mishap, ...]
    coverage: Coverage


GAMES: dict[tuple[str, tuple[str, ...]], Game] = {}  # loaded by this process


def game_of(way: Way) -> Game:
    key = (way.source, way.layers)
    if key not in GAMES:
        GAMES[key] = load(*key)
    return GAMES[key]


@lru_cache(maxsize=4)
def watched(way: Way, counted: bool) -> Watched:
    """Made once for the matches of one way to play."""
    game = game_of(way)
    return Watched(game, way, Tally(own_files(game.loaded)) if counted else None)


def play(task: Task) -> Played:
    """Some matches of one way to play."""
    way = task.way
    mishaps: dict[Item, Mishap] = {}
    lengths, ended = [], 0
    try:
        table = watched(way, True)
    except RuleError as err:
        broken = Mishap(_place(err), _first_line(err), _heading(err), way, f"{task.seed}.{task.first}", (), task.matches)
        return Played(way, task.matches, 0, 0, 0, (broken,), Coverage())
    for n in range(task.first, task.first + task.matches):
        seed = f"{task.seed}.{n}"
        outcome = table.play(seed, at_random(seed))
        ended += outcome.over
        lengths.append(len(outcome.choices))
        for item, (message, heading, after) in outcome.found.items():
            worse(mishaps, Mishap(item, message, heading, way, seed, tuple(outcome.choices[:after])))
    assert table.tally is not None
    return Played(way, task.matches, ended, min(lengths), max(lengths), tuple(mishaps.values()), taken(table.tally))


def worse(mishaps: dict[Item, Mishap], new: Mishap) -> None:
    """Of the same mishap the shortest match is kept, of equal ones the first."""
    old = mishaps.get(new.item)
    best = new if old is None or len(new.choices) < len(old.choices) else old
    mishaps[new.item] = evolve(best, matches=new.matches + (old.matches if old is not None else 0))


# ---------------------------------------------------------------- claims


def run_always(loaded: Loaded) -> list[ClaimResult]:
    """`always true`: looked at in some random matches of every player count with the usual options."""
    assert loaded.names is not None and loaded.game is not None
    game, header = loaded.game, loaded.names.header
    if not game.invariants:
        return []
    found: dict[Item, Diagnostic] = {}
    usual = tuple((o.name, o.default) for o in game.options.values())
    for players in game.players:
        way = Way("", (), players, usual)
        for mishap in _mishaps(Game("", (), loaded, game), way):
            found.setdefault(mishap.item, diagnostic(mishap, {s.path: s for s in loaded.sources}, header.span, _when(mishap)))
    results = []
    for claim in game.invariants:
        results.append(ClaimResult(claim.text, "", claim.module, claim.span, found.pop(_claimed(claim), None)))
    return results + [ClaimResult("random matches", "", header.name, header.span, problem) for problem in found.values()]


def _mishaps(game: Game, way: Way) -> Iterator[Mishap]:
    try:
        table = Watched(game, way)
    except RuleError as err:
        yield Mishap(_place(err), _first_line(err), _heading(err), way, "", ())
        return
    for n in range(CLAIMED):
        seed = f"always.{n}"
        outcome = table.play(seed, at_random(seed))
        for item, (message, heading, after) in outcome.found.items():
            yield Mishap(item, message, heading, way, seed, tuple(outcome.choices[:after]))


def _when(mishap: Mishap) -> str:
    made = len(mishap.choices)
    after = "before the first choice" if not made else f"after {made} choice{'s' if made > 1 else ''}"
    return f"with {mishap.way.players} players, {after} of a random match"


def diagnostic(mishap: Mishap, sources: dict[str, SourceFile], elsewhere: Span, hint: str) -> Diagnostic:
    """A mishap as a finding: a claim that does not hold, or rules that stop."""
    item = mishap.item
    span = Span(sources[item.path], item.start, item.end) if item.path in sources else elsewhere
    if item.sort == "claim":
        return Diagnostic("R405", mishap.message, span, hint)
    return Diagnostic("R406", f"the rules stop: {mishap.message}", span, hint, mishap.heading)
