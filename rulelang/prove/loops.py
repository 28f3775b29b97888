"""What loops do: how much one pass can change a place, how often it comes round, and why it comes to an end."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Protocol

from attrs import fields

from rulelang.core import nodes as core
from rulelang.core.threads import own_positions, walk
from rulelang.core.types import PieceT, SetT, Type, plain
from rulelang.prove.facts import SKIPPED, Atoms, Because, Bounds, Facts, hull, number, parts, plus, substituted, times
from rulelang.prove.numbers import size_of
from rulelang.prove.reader import Reader
from rulelang.prove.verdict import BOUNDED, OPEN, PROVED, Verdict
from rulelang.runtime.budget import BY, LITTLE

STEPS = 500_000  # of a million that may happen before somebody is asked
NAMES = 4  # slots that one value or statement may need for itself

Swing = Bounds  # by how much one slot can change
NOTHING: Swing = (0, 0)
ANYTHING: Swing = (None, None)


def written(atoms: Atoms, body: tuple[core.Statement, ...]) -> tuple[frozenset[core.Place], frozenset[core.Variable]]:
    """Every place and every name that these statements change."""
    found = atoms.written.get(id(body))
    if found is None:
        found = atoms.written[id(body)] = (body, _written(body))
    return found[1]


def _written(body: tuple[core.Statement, ...]) -> tuple[frozenset[core.Place], frozenset[core.Variable]]:
    places: set[core.Place] = set()
    variables: set[core.Variable] = set()
    for s in walk(body):
        match s:
            case core.Change() | core.SetTo() | core.Shuffle():
                places.add(s.place.place)
            case core.MovePieces() | core.MoveCount():
                places.update((s.source.place, s.goal.place))
            case core.Bind() | core.BindRandom() | core.ForEach() | core.Together():
                variables.add(s.var)
            case core.Loop():
                variables.add(s.count)
            case core.Decide():
                variables.update(p.var for c in s.choices for p in c.picks)
            case _:
                pass
    return frozenset(places), frozenset(variables)


def swings(r: Reader, body: tuple[core.Statement, ...]) -> dict[core.Place, Swing]:
    """By how much these statements, or some of them, can change one slot of each place; what is set can become anything.

    An `end` may cut them short, so that what goes up and down again is both."""
    known = r.swings.get(id(body))
    if known is None:
        found: dict[core.Place, Swing] = {}
        for s in body:
            for place, swing in _swing(r, s).items():
                found[place] = plus(found.get(place, NOTHING), hull(swing, NOTHING))
        known = r.swings[id(body)] = (body, found)
    return known[1]


def _either(ways: Iterable[dict[core.Place, Swing]]) -> dict[core.Place, Swing]:
    found: dict[core.Place, Swing] = {}
    for way in ways:
        for place, swing in way.items():
            found[place] = hull(found.get(place, NOTHING), swing)
    return found


def _swing(r: Reader, s: core.Statement) -> dict[core.Place, Swing]:
    match s:
        case core.Change():
            return {s.place.place: times(r.bounds(s.amount), s.sign)}
        case core.SetTo():
            return {s.place.place: ANYTHING}
        case core.MovePieces() | core.MoveCount():
            n = moved(r, s)
            if s.source.place is s.goal.place:
                return {s.source.place: hull(n, times(n, -1))}
            return {s.source.place: times(n, -1), s.goal.place: n}
        case core.Branch():
            return _either([swings(r, s.then), swings(r, s.otherwise)])
        case core.Block():
            return swings(r, s.body)
        case core.Decide():
            return _either(_often(swings(r, c.body), None if c.again else 1) for c in s.choices)
        case core.Loop():
            return _often(swings(r, s.body), None if s.times is None else r.bounds(s.times)[1])
        case core.ForEach() | core.Together():
            own = own_positions(s.body, s.var)
            most = r.bounds(size_of(s.base))[1]
            return {p: _often({p: x}, 1 if own.get(p) else most)[p] for p, x in swings(r, s.body).items()}
    return {}


def _often(each: dict[core.Place, Swing], most: int | None) -> dict[core.Place, Swing]:
    """Up to so many times over; without an end as far as it goes in one direction."""
    if most is None:
        return {p: (0 if low == 0 else None, 0 if high == 0 else None) for p, (low, high) in each.items()}
    return {p: times(swing, max(0, most)) for p, swing in each.items()}


def moved(r: Reader, s: core.MovePieces | core.MoveCount) -> Bounds:
    """How many pieces a `move` takes."""
    if isinstance(s, core.MoveCount):
        low, high = r.bounds(s.count)
        return max(0, low or 0), high
    return r.bounds(size_of(s.what)) if isinstance(s.what.type, SetT) else (1, 1)


# ---------------------------------------------------------------- why a loop comes to an end


class Walker(Protocol):
    """What measures need of the reading of the flow: nothing is claimed while `trying`"""

    reader: Reader
    trying: bool
    ends: dict[core.Target, list[Facts]]

    def block(self, body: Iterable[core.Statement], facts: Facts | None) -> Facts | None: ...
    def statement(self, s: core.Statement, facts: Facts) -> Facts | None: ...
    def member(self, var: core.Variable, base: core.Expr, facts: Facts) -> Facts: ...
    def picked(self, p: core.Pick, facts: Facts) -> Facts: ...


Good = Callable[[core.Statement, Facts], bool]


def ended(w: Walker, loop: core.Loop, every: Facts) -> Verdict:
    """Why a loop without a number comes to its end, or can be left; the first pass need not do anything for it."""
    outer_ends, outer_trying = w.ends, w.trying
    w.trying, w.ends = True, {k: [] for k in (*outer_ends, loop.target)}
    found = Verdict(OPEN)
    try:
        later = w.block(loop.body, every)
        if later is None:
            return Verdict(PROVED, Because(words="it never comes round a second time"))
        inner = {s.target for s in walk(loop.body) if isinstance(s, core.Block | core.Loop)}
        for words, passes, good in _measures(w.reader, loop):
            if _every_pass(w, loop.body, later, good, inner):
                steps = work(w.reader, loop, passes)
                if passes is not None and steps is not None and steps <= STEPS:
                    return Verdict(PROVED, Because(words=words))
                found = Verdict(BOUNDED, note=f"{words}; a match stops after a million steps without a question")
        # Who has no other option left ends it without being asked.
        if _every_pass(w, loop.body, every, lambda s, f: _may_leave(s, loop, inner), inner):
            return Verdict(PROVED, Because(words="somebody is asked in every pass who may end it"))
        return found
    finally:
        w.trying, w.ends = outer_trying, outer_ends


def _measures(r: Reader, loop: core.Loop) -> Iterator[tuple[str, int | None, Good]]:
    """What could run out: pieces that leave some places and never come back, a counter that only moves one way."""
    moves = [s for s in walk(loop.body) if isinstance(s, core.MovePieces | core.MoveCount)]
    seen: list[set[core.Place]] = []
    for first in dict.fromkeys(m.source.place for m in moves):
        from_here = {first}
        while more := {m.source.place for m in moves if m.goal.place in from_here} - from_here:
            from_here |= more
        if from_here in seen or all(m.goal.place in from_here for m in moves if m.source.place in from_here):
            continue
        seen.append(from_here)
        sizes = [r.pieces(p) for p in from_here]
        names = " or ".join(f"`{p.name}`" for p in sorted(from_here, key=lambda p: p.name))
        total = None if None in sizes else sum(n for n in sizes if n is not None)

        def leaves(s: core.Statement, facts: Facts, these: set[core.Place] = from_here) -> bool:
            if not isinstance(s, core.MovePieces | core.MoveCount) or s.source.place not in these or s.goal.place in these:
                return False
            if isinstance(s, core.MovePieces) and not isinstance(s.what.type, SetT):
                return True
            n = r.lin(s.count) if isinstance(s, core.MoveCount) else r.lin(size_of(s.what))
            return r.holds(n - number(1), facts) is not None

        yield f"in every pass a piece leaves {names}, and none comes back", total, leaves
    changed = {s.place.place for s in walk(loop.body) if isinstance(s, core.Change)}
    changed -= {s.place.place for s in walk(loop.body) if isinstance(s, core.SetTo)}
    for place in sorted(changed, key=lambda p: p.name):
        for sign in (1, -1):
            measure = _rising(r, loop, place, sign)
            if measure is not None:
                yield measure


def _rising(r: Reader, loop: core.Loop, place: core.Place, sign: int) -> tuple[str, int | None, Good] | None:
    """A counter that goes one way only, towards an end of its range or towards what ends the loop."""
    for s in walk(loop.body):
        if isinstance(s, core.Change) and s.place.place is place:
            low, high = times(r.bounds(s.amount), s.sign * sign)
            if low is None or low < 0:
                return None
    low, high = (None if e is None else r.bounds(e)[0] for e in (place.low, place.high))
    end = high if sign > 0 else low
    places, variables = written(r.atoms, loop.body)

    def goes_on(s: core.Statement, facts: Facts) -> bool:
        if not isinstance(s, core.Change) or s.place.place is not place:
            return False
        me = r.lin(core.Read(s.place, type=place.type))
        if r.holds(r.lin(s.amount) * (s.sign * sign) - number(1), facts) is None:
            return False
        stops = place.stops_high if sign > 0 else place.stops_low
        if end is not None:  # at an end where the excess is lost nothing would move
            return not stops or r.holds((number(end) - me) * sign - number(1), facts) is not None
        ((atom, _),) = me.terms
        others = [[a for a, _ in f.terms if a is not atom] for f in facts.at_least if (atom, -sign) in f.terms]
        return any(all(a.places.isdisjoint(places) and a.variables.isdisjoint(variables) for a in rest) for rest in others)

    width = None if low is None or high is None else high - low
    way = f"`{place.name}` {'rises' if sign > 0 else 'falls'} in every pass"
    return f"{way}, and {f'only to {end}' if end is not None else 'the loop ends when it has come so far'}", width, goes_on


def _may_leave(s: core.Statement, loop: core.Loop, inner: set[core.Target]) -> bool:
    """A decision with an option that is always there and ends the loop."""
    if not isinstance(s, core.Decide):
        return False
    return any(not c.picks and c.only_if is None and not c.again and _leaves(c.body, inner) for c in s.choices)


def _leaves(body: tuple[core.Statement, ...], inner: set[core.Target]) -> bool:
    """Does this end the loop, or what is around it, on every way through?"""
    for s in body:
        match s:
            case core.End():
                return s.target not in inner
            case core.Branch():
                if _leaves(s.then, inner) and _leaves(s.otherwise, inner):
                    return True
                if any(isinstance(x, core.End) for x in walk((s,))):
                    return False
            case core.Block() if not any(isinstance(x, core.End) and x.target is s.target for x in walk(s.body)):
                if _leaves(s.body, inner):
                    return True
            case _ if any(isinstance(x, core.End) for x in walk((s,))):
                return False
    return False


def _every_pass(w: Walker, body: Iterable[core.Statement], facts: Facts | None, good: Good, inner: set[core.Target]) -> bool:
    """Does every way through these statements pass a good one, or leave the loop?"""
    r = w.reader
    for s in body:
        if facts is None or good(s, facts):
            return True
        match s:
            case core.End():
                return s.target not in inner
            case core.Branch():
                yes, no = r.assume(s.test, True, facts), r.assume(s.test, False, facts)
                if r.follows(s.test, facts) is not None:
                    if _every_pass(w, s.then, yes, good, inner):
                        return True
                elif _every_pass(w, s.then, yes, good, inner) and _every_pass(w, s.otherwise, no, good, inner):
                    return True
            case core.Block():
                if _every_pass(w, s.body, facts, good, inner):
                    return True
            case core.ForEach() | core.Together():
                some = r.has_members(s.base, facts) is not None
                if some and _every_pass(w, s.body, w.member(s.var, s.base, facts), good, inner):
                    return True
            case core.Loop() if s.times is not None:
                some = r.holds(r.lin(s.times) - number(1), facts) is not None
                if some and _every_pass(w, s.body, facts.without(set(), {s.count}), good, inner):
                    return True
            case core.Decide():
                if s.choices and all(_every_pass(w, c.body, _chosen(w, c, facts), good, inner) for c in s.choices if not c.again):
                    return True
            case _:
                pass
        if any(isinstance(x, core.End) and x.target in inner for x in walk((s,))) and not isinstance(s, core.Block | core.Loop):
            return False  # the rest may be left out
        if isinstance(s, core.Block | core.Loop) and _cut(s, inner):
            return False
        facts = w.statement(s, facts)
    return facts is None


def _cut(s: core.Block | core.Loop, inner: set[core.Target]) -> bool:
    """Can something inside end what is around this?"""
    mine = {s.target} | {x.target for x in walk(s.body) if isinstance(x, core.Block | core.Loop)}
    return any(isinstance(x, core.End) and x.target in inner - mine for x in walk(s.body))


def _chosen(w: Walker, c: core.Choice, facts: Facts) -> Facts:
    if c.only_if is not None:
        facts = w.reader.assume(c.only_if, True, facts)
    for p in c.picks:
        facts = w.picked(p, facts)
    return facts


def work(r: Reader, s: core.Statement, passes: int | None = None) -> int | None:
    """How many steps a statement takes at the most; of a loop so many passes, if that is known."""
    here = sum(_looks(r, x) for x in values_of(s))
    match s:
        case core.Branch():
            return _all(here, _sum(r, (*s.then, *s.otherwise)))
        case core.Block():
            return _sum(r, s.body)
        case core.Decide():
            return _all(here, _sum(r, tuple(x for c in s.choices for x in c.body)))
        case core.Loop():
            most = passes if s.times is None or passes is not None else r.bounds(s.times)[1]
            if s.times is None and passes is None:
                return STEPS // 1000  # it has a claim of its own
        case core.ForEach() | core.Together():
            most = r.bounds(size_of(s.base))[1]
        case _:
            return 1 + here
    inside = _sum(r, s.body)
    return None if most is None or inside is None else max(0, most) * (inside + 1) + 1 + here


def values_of(s: core.Statement) -> list[core.Expr]:
    """What is worked out when a statement is come to; what it holds is come to later."""
    match s:
        case core.Branch():
            return [s.test]
        case core.ForEach() | core.Together():
            return [s.base]
        case core.Loop():
            return [] if s.times is None else [s.times]
        case core.Decide():
            picked = (x for c in s.choices for p in c.picks for x in (p.base, p.such_that, p.count))
            return [x for x in (*(c.only_if for c in s.choices), *picked) if x is not None]
        case core.Block():
            return []
    return list(parts(s))


def _sum(r: Reader, body: tuple[core.Statement, ...]) -> int | None:
    return _all(1, *(work(r, s) for s in body))


def _all(*found: int | None) -> int | None:
    return None if None in found else sum(n for n in found if n is not None)


def _looks(r: Reader, e: core.Expr) -> int:
    """The steps that a value takes in a loop; one that may take too many by itself has a claim of its own."""
    steps = looked_at(r, e)
    return steps if steps is not None and steps <= STEPS else STEPS // 1000


def looked_at(r: Reader, e: object, bound: Mapping[core.Variable, core.Expr] | None = None) -> int | None:
    """How many steps a value takes at the most: what it looks at one by one, where that could be much."""
    bound = bound or {}
    if r.cost.of(e) <= LITTLE:
        return 0
    match e:
        case core.Filter() | core.Exists() | core.ForAll() | core.Over():
            inner = e.value if isinstance(e, core.Over) else e.test
            n = r.bounds(size_of(substituted(e.base, bound)))[1]
            each = looked_at(r, inner, bound)
            mine = None if n is None or each is None else n * (each + (1 + min(r.cost.of(inner), LITTLE)) // BY + 1)
            return _all(mine, looked_at(r, e.base, bound))
        case core.Reversed() | core.SameSet():
            groups = (e.base,) if isinstance(e, core.Reversed) else (e.left, e.right)
            return _all(*(r.bounds(size_of(substituted(x, bound)))[1] for x in groups), *(looked_at(r, x, bound) for x in groups))
        case core.Call():
            handed = {p: substituted(a, bound) for p, a in zip(e.function.params, e.args, strict=True)}
            return _all(looked_at(r, e.args, bound), looked_at(r, e.function.body, handed))
        case core.Compute():
            return _all(_sum(r, e.body), looked_at(r, e.result, bound))
        case tuple():
            return _all(*(looked_at(r, x, bound) for x in e))
        case core.Value() | core.PlaceRef():
            return _all(*(looked_at(r, x, bound) for x in parts(e)))
    return 0


# ---------------------------------------------------------------- what the whole game does with its pieces


def settled_places(r: Reader) -> dict[core.Place, int]:
    """Places whose pieces never leave their owner's places: how many he has of them in all."""
    game = r.game
    moves = [s for s in walk(game.flow) if isinstance(s, core.MovePieces | core.MoveCount)]
    found: dict[core.Place, int] = {}
    by_type: dict[Type, list[core.Place]] = {}
    for place in game.places.values():
        if place.holds_pieces:
            by_type.setdefault(_pieces(place), []).append(place)
    for t, places in by_type.items():
        assert isinstance(t, PieceT)
        alone = all(p is q or not (_kinds(p) & t.kinds) or p in places for p in game.places.values() if p.holds_pieces for q in places)
        kept = all(p.per_player and (p.starts_with is None or game.pieces[p.starts_with].per_player) for p in places)
        stay = all(
            m.source.owner is not None and m.goal.owner is not None and r.atoms.of(m.source.owner) is r.atoms.of(m.goal.owner)
            for m in moves if m.source.place in places or m.goal.place in places
        )  # fmt: skip
        total = [r.copies(k, owned=True) for k in t.kinds]
        if alone and kept and stay and None not in total:
            found.update({p: sum(n for n in total if n is not None) for p in places})
    return found


def _pieces(place: core.Place) -> Type:
    return plain(place.type.item) if isinstance(place.type, SetT) else plain(place.type)


def _kinds(place: core.Place) -> frozenset[str]:
    t = _pieces(place)
    return t.kinds if isinstance(t, PieceT) else frozenset()


def kinds_narrowed(game: core.Game, every: Iterable[object]) -> bool:
    """Can a piece come to a place, or be handed to a definition, that is for other kinds?"""
    for s in walk(game.flow):
        if isinstance(s, core.MovePieces) and not _within(s.what.type, s.goal.place.type):
            return True
        if isinstance(s, core.MoveCount) and not _within(s.source.place.type, s.goal.place.type):
            return True
    calls = (c for c in every if isinstance(c, core.Call))
    return any(not _within(a.type, p.type) for c in calls for a, p in zip(c.args, c.function.params, strict=True))


def _within(found: Type, wanted: Type) -> bool:
    a, b = (plain(t.item if isinstance(t, SetT) else t) for t in (plain(found), plain(wanted)))
    return not isinstance(a, PieceT) or not isinstance(b, PieceT) or a.kinds <= b.kinds


def row_length(r: Reader) -> int:
    """How many numbers a table is at the most: its places, those of bodies, and a few names for every part of the rules."""
    every = parts_of(r.game)
    own = dict.fromkeys(s.place.place for s in every if isinstance(s, core.SetTo) and s.place.place.visibility == "local")
    return sum(r.slots(p) for p in (*r.game.places.values(), *own)) + NAMES * len(every)


def parts_of(game: core.Game) -> list[object]:
    """Every value and statement, in rules and in definitions."""
    found: list[object] = []
    seen: set[core.Function] = set()
    ranked = tuple(e for _, e, _ in game.ranking.items) if game.ranking else ()
    todo: list[object] = [game.flow, ranked, tuple(s.function.body for s in game.shown)]
    while todo:
        x = todo.pop()
        if isinstance(x, tuple):
            todo.extend(x)
            continue
        is_part, names = _inside(type(x))  # type: ignore[arg-type] # a type has a hash
        if is_part:
            found.append(x)
        if isinstance(x, core.Call) and x.function not in seen:
            seen.add(x.function)
            todo.append(x.function.body)
        todo.extend([getattr(x, name) for name in names])
    return found


@cache
def _inside(sort: type) -> tuple[bool, tuple[str, ...]]:
    """Is this a value or a statement; and where its parts stand."""
    is_part = issubclass(sort, core.Value | core.Action)
    if is_part or issubclass(sort, core.PlaceRef | core.Pick | core.Choice | core.Order | core.Text):
        return is_part, tuple(f.name for f in fields(sort) if f.name not in SKIPPED)
    return False, ()
