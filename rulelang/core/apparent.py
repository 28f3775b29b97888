"""What everybody can tell from the text of the rules alone, whoever sees what on the table.

Some moves can go unseen: what lies in a place that nobody counts is then never sure.  Some moves say themselves which
pieces they take (`move top of deck to hand`): then their positions are known to all.  And some picks are seen as soon
as they are made (`move card to display`): then what follows from them is known to all."""

from collections.abc import Iterable, Iterator

from attrs import frozen

from rulelang.core import nodes as core
from rulelang.core.threads import walk

Statements = tuple[core.Statement, ...]
Move = core.MovePieces | core.MoveCount


@frozen
class Unseen:
    """Places that pieces can leave with nobody else seeing it, places that they can come to; and places that they can
    leave although the owner of the place did not choose it"""

    left: frozenset[core.Place]
    entered: frozenset[core.Place]
    left_unasked: frozenset[core.Place]


def unseen(flow: Statements) -> Unseen:
    moves = [(s, chooser) for s, chooser in _moves(flow, None) if not _is_open(s)]
    return Unseen(
        frozenset(s.source.place for s, _ in moves),
        frozenset(s.goal.place for s, _ in moves),
        frozenset(s.source.place for s, chooser in moves if chooser is None or s.source.owner != chooser),
    )


def _moves(body: Statements, chooser: core.Expr | None) -> Iterator[tuple[Move, core.Expr | None]]:
    """All moves, and who knows that they happen, having chosen them: under a condition of its own that is nobody."""
    for s in body:
        match s:
            case core.MovePieces() | core.MoveCount():
                yield s, chooser
            case core.Block():
                yield from _moves(s.body, chooser)
            case core.Branch():
                yield from _moves(s.then + s.otherwise, None)
            case core.Loop() | core.ForEach() | core.Together():
                yield from _moves(s.body, None)
            case core.Decide():
                for c in s.choices:
                    yield from _moves(c.body, s.player)
            case _:
                pass


def _is_open(s: Move) -> bool:
    return "public" in (s.source.place.visibility, s.goal.place.visibility)


# ---------------------------------------------------------------- which pieces


ALL, TOP = 0, 1  # else the position that `nth` names; -1 is the bottom


def ruled(flow: Statements) -> frozenset[int]:
    """The moves (by identity) of which everybody can tell which pieces they take: all of a place, its top or bottom.
    Which of two lines it was need not be known: so all lines between the same two places must agree."""
    moves = [s for s in walk(flow) if isinstance(s, Move)]
    named = _named(flow)
    agreed: dict[tuple[core.Place, core.Place], set[int | None]] = {}
    for s in moves:
        agreed.setdefault((s.source.place, s.goal.place), set()).add(named.get(id(s)))
    return frozenset(id(s) for s in moves if None not in (at := agreed[s.source.place, s.goal.place]) and len(at - {ALL}) <= 1)


def _named(flow: Statements) -> dict[int, int]:
    """For each move (by identity) that says it: where its pieces lie."""
    found: dict[int, int] = {}
    for body in _bodies(flow):
        for n, s in enumerate(body):
            match s:
                case core.MoveCount():
                    if s.source.place.word == "pile":
                        found[id(s)] = TOP
                case core.MovePieces():
                    if (at := _position(s.what, s.source)) is not None:
                        found[id(s)] = at
                case core.Bind(value=core.Nth() as top):
                    if (at := _position(top, top.place)) is not None:
                        found.update({id(move): at for move in _untouched(s.var, top.place, body[n + 1 :])})
                case _:
                    pass
    return found


def _position(what: core.Expr, source: core.PlaceRef) -> int | None:
    if isinstance(what, core.Sure):
        return _position(what.item, source)
    if isinstance(what, core.Nth) and isinstance(what.index, core.Const) and what.place == source:
        return what.index.value
    return ALL if isinstance(what, core.Read) and what.place == source else None


def _untouched(var: core.Variable, pile: core.PlaceRef, rest: Statements) -> Iterable[core.MovePieces]:
    """`let card = top of deck`: the move of this card, if nothing else changes the pile before it."""
    for s in walk(rest):
        if isinstance(s, core.MovePieces) and s.source == pile and _is(s.what, var):
            yield s
            return
        if isinstance(s, Move) and pile.place in (s.source.place, s.goal.place):
            return
        if isinstance(s, core.Shuffle) and s.place.place is pile.place:
            return


def _bodies(flow: Statements) -> Iterable[Statements]:
    yield flow
    for s in walk(flow):
        match s:
            case core.Branch():
                yield from (s.then, s.otherwise)
            case core.Block() | core.Loop() | core.ForEach() | core.Together():
                yield s.body
            case core.Decide():
                yield from (c.body for c in s.choices)
            case _:
                pass


# ---------------------------------------------------------------- which values


def untold(flow: Statements) -> frozenset[core.Variable]:
    """Variables whose value not everybody knows, though it was made from what all see: what somebody picked and what
    chance drew, unless the next lines show it; and how often a loop inside an option went round.  What is picked in a
    thread is used in that thread only, of which nobody sees anything before it has ended."""
    found: set[core.Variable] = set()

    def look(body: Statements, inside: bool, sealed: bool) -> None:
        for n, s in enumerate(body):
            match s:
                case core.BindRandom():
                    if sealed or not _shows(s.var, body[n + 1 :]):
                        found.add(s.var)
                case core.Loop():
                    if inside and not sealed:
                        found.add(s.count)
                    look(s.body, inside, sealed)
                case core.Branch():
                    look(s.then, inside, sealed)
                    look(s.otherwise, inside, sealed)
                case core.Block() | core.ForEach():
                    look(s.body, inside, sealed)
                case core.Together():
                    look(s.body, inside, sealed or s.asks)
                case core.Decide():
                    for c in s.choices:
                        if not sealed:
                            found.update(p.var for p in c.picks if not _shows(p.var, c.body))
                        look(c.body, True, sealed)
                case _:
                    pass

    look(flow, False, False)
    return frozenset(found)


def _shows(var: core.Variable, body: Statements) -> bool:
    """Does everybody see this value before anybody is asked again?"""
    for s in body:
        if isinstance(s, core.Block) and _shows(var, s.body):
            return True
        if any(isinstance(x, core.Decide | core.End) for x in walk((s,))):
            return False
        match s:
            case core.MovePieces():
                if _is_open(s) and (_is(s.what, var) or _keyed(var, s.source, s.goal)):
                    return True
            case core.MoveCount():
                if _is_open(s) and (_is(s.count, var) or (isinstance(s.count, core.Const) and _keyed(var, s.source, s.goal))):
                    return True
            case core.SetTo():
                if _is(s.value, var) and _is_plain(s.place.place):
                    return True
            case core.Change():
                if _is(s.amount, var) and _is_plain(s.place.place):
                    return True
            case _:
                pass
    return False


def _is(e: core.Expr, var: core.Variable) -> bool:
    return isinstance(e, core.Var) and e.var is var


def _keyed(var: core.Variable, *refs: core.PlaceRef) -> bool:
    return any(_is(k, var) for r in refs for k in (*r.keys, *(() if r.owner is None else (r.owner,))))


def _is_plain(place: core.Place) -> bool:
    """Seen by all, and nothing is lost at its ends."""
    return place.visibility == "public" and not place.stops_low and not place.stops_high
