"""R330 shown on a match: those who act at once are let act one after the other, in several orders, on positions that
random matches come to.  The smallest case in which the outcome differs is told beside the finding.

Where none is found, the finding stands all the same: what the text does not show, no reader of it can rely on."""

from collections.abc import Iterable, Iterator
from itertools import permutations
from random import Random

from attrs import evolve, frozen

from rulelang.core import nodes as core
from rulelang.core.flow import Flow
from rulelang.core.threads import walk
from rulelang.core.types import KindT, PieceT, PlayerT, SetT, Type, plain
from rulelang.diagnostics import Note, Problems
from rulelang.errors import RuleError
from rulelang.graph.layout import CHANCE
from rulelang.runtime.program import ForkCode, Program, make_program
from rulelang.runtime.settings import combinations, option_word
from rulelang.runtime.values import State
from rulelang.runtime.words import Words

MATCHES = 10  # of each player count, with the usual options
CHOICES = 40  # of one match
STATES = 200  # positions that are looked at
ORDERS = 24  # of the members at one position


@frozen(eq=False)
class Case:
    """One position, two orders, and what differs after them"""

    players: int
    settings: dict[str, int]
    choices: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    differs: tuple[tuple[str, str, str], ...]  # place, after the one, after the other
    member: Type

    @property
    def size(self) -> tuple[int, int, int]:
        return len(self.first), len(self.differs), self.choices


@frozen(eq=False)
class Tried:
    """What came of one `together`"""

    states: int
    matches: int
    case: Case | None


def show_orders(game: core.Game, flow: Flow, problems: Problems) -> None:
    """Adds to every R330 the smallest match in which the order matters."""
    blamed = {d.span.start: d for d in problems.found if d.code == "R330"}
    for t in (s for s in walk(game.flow) if isinstance(s, core.Together)):
        mine = [blamed[s.origin.span.start] for s in walk(t.body) if s.origin.span.start in blamed]
        mine = [d for d in mine if not d.notes]
        if mine:
            tried = attempt(game, flow, t.origin.span.start)
            note = Note(t.origin.span.first_line, told(game, tried))
            problems.found[:] = [evolve(d, notes=(*d.notes, note)) if d in mine else d for d in problems.found]


def told(game: core.Game, tried: Tried) -> str:
    case = tried.case
    if case is None:
        return f"no two orders that differ were seen in {tried.states} positions of {tried.matches} random matches"
    usual = {o.name: o.default for o in game.options.values()}
    unusual = [f"{n} {option_word(game, game.options[n], v)}" for n, v in case.settings.items() if v != usual[n]]
    after = f"after {case.choices} choice{'s' if case.choices != 1 else ''}" if case.choices else "before anybody is asked"
    orders = [" then ".join(_member(game, case.member, x) for x in order) for order in (case.first, case.second)]
    places = "; ".join(f"{place} is {a} or {b}" for place, a, b in case.differs[:3])
    where = ", ".join([f"{case.players} players", *unusual, after])
    return f"{where}: {orders[0]}, or {orders[1]}: {places}"


def _member(game: core.Game, t: Type, x: int) -> str:
    if isinstance(t, PlayerT):
        return f"seat {x}"
    return game.kinds[t.kind].members[x] if isinstance(t, KindT) else str(x)


# ---------------------------------------------------------------- trying


def forked(body: tuple[core.Statement, ...]) -> tuple[core.Statement, ...]:
    """The same lines with every `together` as threads of their own, so that a match can be stopped where they begin."""
    return tuple(map(_forked, body))


def _forked(s: core.Statement) -> core.Statement:
    match s:
        case core.Branch():
            return evolve(s, then=forked(s.then), otherwise=forked(s.otherwise))
        case core.Block() | core.Loop() | core.ForEach():
            return evolve(s, body=forked(s.body))
        case core.Together():
            return evolve(s, body=forked(s.body), isolate=True)
        case core.Decide():
            return evolve(s, choices=tuple(evolve(c, body=forked(c.body)) for c in s.choices))
    return s


def attempt(game: core.Game, flow: Flow, start: int) -> Tried:
    """Plays random matches, and at every entry of this `together` tries its members in several orders."""
    best: Case | None = None
    states = matches = 0
    counts = tuple(flow.loop_counts.values())
    for players in game.players:
        for settings in combinations(game, players)[:1]:
            try:
                program = make_program(game, players, settings, _dice, flow=forked(game.flow), loop_counts=counts)
            except RuleError:
                continue
            words = Words(program.layout, tuple(f"seat {i}" for i in range(players)))
            for n in range(MATCHES):
                matches += 1
                for code, s, made in _entries(program, Random(f"order/{n}")):
                    if code.fork.together.origin.span.start != start or states >= STATES:
                        continue
                    states += 1
                    for first, second, differs in _differences(program, words, code, s):
                        case = Case(players, settings, made, first, second, differs, code.fork.together.var.type)
                        best = case if best is None or case.size < best.size else best
                if states >= STATES:
                    break
        if best is not None:
            break  # fewer players are easier to follow
    return Tried(states, matches, best)


def _dice(s: State, name: str, items: tuple[int, ...], t: Type, whole: bool) -> tuple[int, ...]:
    rng = Random(f"{s[CHANCE]}/{name}")
    return tuple(rng.sample(items, len(items))) if whole else (items[rng.randrange(len(items))],)


def _entries(program: Program, rng: Random) -> Iterator[tuple[ForkCode, State, int]]:
    """One random match, up to where the rules stop; every entry of threads with its position."""
    s, pc, made = program.start[:], program.graph.entry, 0
    try:
        while made < CHOICES:
            at = program.run(s, pc)
            ask, code = program.asks.get(at), program.forks.get(at)
            if ask is not None:
                counts = ask.counts(s)
                if not sum(counts):
                    return
                made += sum(counts) > 1
                pc = ask.bodies[ask.pick(s, int(rng.random() * sum(counts)), counts)]
            elif code is not None:
                yield code, s[:], made
                pc = _in_order(program, code, s, code.who(s))
            else:
                return
    except RuleError:
        return


def _in_order(program: Program, code: ForkCode, s: State, order: Iterable[int]) -> int:
    """One after the other on the same table; whoever is asked answers alike in every order."""
    for x in order:
        s[code.var] = x
        rng = Random(f"{x}")
        pc = code.fork.body
        while (at := program.run(s, pc)) not in program.ends:
            ask = program.asks.get(at)
            if ask is None:
                pc = _in_order(program, program.forks[at], s, program.forks[at].who(s))
                continue
            counts = ask.counts(s)
            if not sum(counts):
                raise RuleError("nothing can be chosen")
            pc = ask.bodies[ask.pick(s, int(rng.random() * sum(counts)), counts)]
    return code.fork.next


def _differences(
    program: Program, words: Words, code: ForkCode, s: State
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[str, str, str], ...]]]:
    members = tuple(code.who(s))
    usual = _after(program, code, s, members)
    for order in list(permutations(members))[1:ORDERS] if len(members) <= 6 else [tuple(reversed(members))]:
        other = _after(program, code, s, order)
        if usual != other:
            differs = tuple(_told_apart(words, usual, other))
            if differs:
                yield members, order, differs


def _after(program: Program, code: ForkCode, s: State, order: tuple[int, ...]) -> State | str:
    """The table, or why the rules stop."""
    row = s[:]
    try:
        _in_order(program, code, row, order)
    except RuleError as err:
        return str(err).splitlines()[0]
    return row[: program.layout.size]


def _told_apart(words: Words, one: State | str, other: State | str) -> Iterator[tuple[str, str, str]]:
    """Every place that differs, in words."""
    if isinstance(one, str) or isinstance(other, str):
        ends = [f"over ({x})" if isinstance(x, str) else "going on" for x in (one, other)]
        if ends[0] != ends[1]:
            yield "the match", ends[0], ends[1]
        return
    layout = words.layout
    for place, first in layout.slots.items():
        for at in range(layout.sizes[place]) if place.visibility != "local" else ():
            if one[first + at] != other[first + at]:
                yield _name(words, place, at), _shown(words, place, one[first + at]), _shown(words, place, other[first + at])


def _name(words: Words, place: core.Place, at: int) -> str:
    """`stalls(riga) of seat 1`"""
    owner, keys = words.layout.slot_name(place, at)
    said = [words.text(words.layout.key_low(t) + k, t) for k, t in zip(keys, place.keys, strict=True)]
    return f"`{place.name}{'(' + ', '.join(said) + ')' if said else ''}`" + (f" of seat {owner}" if owner >= 0 else "")


def _shown(words: Words, place: core.Place, value: int) -> str:
    if place.word not in ("zone", "pile"):
        return words.text(value, place.type)
    assert isinstance(place.type, SetT)
    kinds = plain(place.type.item)
    items = words.layout.universe(place.type).unpack(value) if place.word == "pile" else words.items(value, place.type)
    alike = isinstance(kinds, PieceT) and all(not words.layout.game.pieces[k].fields for k in kinds.kinds)
    return str(len(items)) if alike else words.group(items, place.type.item)
