"""`together`: what each thread writes and reads, whether the threads can be merged, and whether one could see another.

A thread may write what is its own (keyed by the loop's element) as it likes, if no other thread writes it too.  On what
is shared it may only add: raise and lower a counter that does not stop, and move pieces into a zone; and it may take
from a zone of its own while others add to it.  Everything else would make the result depend on the order of the
threads, and is an error: say `in turn`."""

from collections.abc import Iterator

from attrs import evolve, fields, frozen, has

from rulelang.core import nodes as core
from rulelang.core.types import NumberT
from rulelang.diagnostics import Problems


@frozen(eq=False)
class Write:
    ref: core.PlaceRef
    sort: str  # add: commutes with any other; take: of what one has oneself; set: with nothing
    action: core.Action


def judge(t: core.Together, problems: Problems, heading: str) -> core.Together:
    """Marks a `together` with what the later stages must know, and reports effects that overlap."""
    writes = [w for w in _writes(t.body) if not (w.ref.place.visibility == "local" and _declared_inside(w.ref.place, t.body))]
    own = _own_positions(writes, t.var)
    settled = {w.ref.place for w in writes if w.sort == "set"}
    taken = _own_positions([w for w in writes if w.sort == "take"], t.var)
    for w in writes:
        alone = own[w.ref.place] if w.ref.place in settled else taken.get(w.ref.place, {-1})
        if w.sort != "add" and not alone:
            problems.add(
                "R330", f"all players at once would change the {w.ref.place.word} `{w.ref.place.name}`, and the order would matter",
                w.action.origin.span, "say `in turn` and in what order, or let each change only what is their own",
                heading=heading,
            )  # fmt: skip
    reads = [r for r in _reads(t.body) if r.place in own]
    isolate = any(not (own[r.place] & _positions(r, t.var)) for r in reads) or any(
        _up_and_down(writes, p) for p, at in own.items() if not at
    )
    asks = any(isinstance(s, core.Decide) for s in walk(t.body))
    nested = any(isinstance(s, core.Together) and s.asks for s in walk(t.body))
    for s in () if nested else walk(t.body):
        if isinstance(s, core.Decide) and not (isinstance(s.player, core.Var) and s.player.var is t.var):
            problems.add(
                "R307", "in secret each answers for themselves", s.origin.span,
                "whoever the loop is about chooses; others are asked `in turn`",
                heading=heading,
            )  # fmt: skip
    for s in walk(t.body):
        if asks and isinstance(s, core.Together) and s.asks:
            problems.add(
                "R331",
                "several are asked in the middle of being asked",
                s.origin.span,
                "one of the two can be `in turn`",
                heading=heading,
            )
    return evolve(t, asks=asks, isolate=isolate)


def _up_and_down(writes: list[Write], place: core.Place) -> bool:
    """A shared counter with an end at which a match stops, which one thread raises and another lowers: one after the other
    they would come to that end in one order and not in another.  So each is held to it by itself, and all together."""
    ends = (place.low is not None and not place.stops_low) or (place.high is not None and not place.stops_high)
    changes = [w.action for w in writes if w.ref.place is place and isinstance(w.action, core.Change)]
    return ends and len({sign for c in changes for sign in ((c.sign,) if _not_below_0(c.amount) else (1, -1))}) > 1


def _not_below_0(e: core.Expr) -> bool:
    match e:
        case core.Const():
            return e.value >= 0
        case core.Count() | core.PlayerCount():
            return True
        case core.Read() if e.place.place.word == "counter":
            return e.place.place.low is not None and _not_below_0(e.place.place.low)
        case core.FieldOf() | core.Read():
            return isinstance(e.type, NumberT) and e.type.low is not None and e.type.low >= 0
        case core.TableAt():
            return min(e.table.values) >= 0
        case core.Sum():
            return all(sign > 0 and _not_below_0(x) for sign, x in e.terms)
        case core.Product():
            return _not_below_0(e.left) and _not_below_0(e.right)
        case core.Over():
            return _not_below_0(e.value)
        case core.Call() if e.function.body is not None:
            return _not_below_0(e.function.body)
        case core.Case():
            return all(_not_below_0(v) for v in (*(v for _, v in e.cases), e.default))
    return False


@frozen(eq=False)
class Merged:
    """Why the order of the threads cannot matter for one place that they change"""

    place: core.Place
    why: str  # own, added, laid, passed, local


def merged(t: core.Together) -> list[Merged]:
    """Every place that the threads change, and why it is all the same who comes first.  Of what `judge` reports nothing is said."""
    writes = list(_writes(t.body))
    own = _own_positions(writes, t.var)
    found = []
    for place in own:
        sorts = {w.sort for w in writes if w.ref.place is place}
        if place.visibility == "local" and _declared_inside(place, t.body):
            found.append(Merged(place, "local"))
        elif own[place]:
            found.append(Merged(place, "own"))
        elif sorts == {"add"}:
            found.append(Merged(place, "added" if place.word == "counter" else "laid"))
        elif _own_positions([w for w in writes if w.sort == "take"], t.var).get(place) and "set" not in sorts:
            found.append(Merged(place, "passed"))
    return found


def _own_positions(writes: list[Write], var: core.Variable) -> dict[core.Place, set[int]]:
    """For each place that is written: at which key (-1 is the owner) all writes name the thread's own element.
    Nothing: threads may meet there."""
    own: dict[core.Place, set[int]] = {}
    for w in writes:
        here = _positions(w.ref, var)
        own[w.ref.place] = own[w.ref.place] & here if w.ref.place in own else here
    return own


def own_positions(body: tuple[core.Statement, ...], var: core.Variable) -> dict[core.Place, set[int]]:
    """For each place that a loop's body changes: at which key every pass changes only what is its element's own."""
    return _own_positions(list(_writes(body)), var)


def _positions(ref: core.PlaceRef, var: core.Variable) -> set[int]:
    keys = ((-1, ref.owner), *enumerate(ref.keys))
    return {at for at, k in keys if isinstance(k, core.Var) and k.var is var}


def _declared_inside(place: core.Place, body: tuple[core.Statement, ...]) -> bool:
    return any(isinstance(s, core.SetTo) and s.place.place is place and s.origin.span is place.span for s in walk(body))


def walk(body: tuple[core.Statement, ...]) -> Iterator[core.Statement]:
    for s in body:
        yield s
        match s:
            case core.Branch():
                yield from walk(s.then)
                yield from walk(s.otherwise)
            case core.Block() | core.Loop() | core.ForEach() | core.Together():
                yield from walk(s.body)
            case core.Decide():
                for c in s.choices:
                    yield from walk(c.body)
            case _:
                pass


def _writes(body: tuple[core.Statement, ...]) -> Iterator[Write]:
    for s in walk(body):
        match s:
            case core.Change():
                yield Write(s.place, "set" if s.place.place.stops_low or s.place.place.stops_high else "add", s)
            case core.SetTo() | core.Shuffle():
                yield Write(s.place, "set", s)
            case core.MovePieces() | core.MoveCount():
                yield Write(s.source, "take" if s.source.place.word == "zone" else "set", s)
                yield Write(s.goal, "add" if s.goal.place.word == "zone" else "set", s)
            case _:
                pass


def _reads(body: tuple[core.Statement, ...]) -> Iterator[core.PlaceRef]:
    for s in walk(body):
        match s:
            case core.Change():
                yield from refs_in(s.amount)
                yield from _keys_in(s.place)
            case core.SetTo():
                yield from refs_in(s.value)
                yield from _keys_in(s.place)
            case core.MovePieces():
                if not isinstance(s.what, core.Var):
                    yield from refs_in(s.what)
                yield from _keys_in(s.source)
                yield from _keys_in(s.goal)
            case core.MoveCount():
                yield from refs_in(s.count)
                yield s.source
            case core.Bind():
                yield from refs_in(s.value)
            case core.BindRandom():
                yield from refs_in(s.base)
            case core.Branch() | core.Need():
                yield from refs_in(s.test)
            case core.Say():
                yield from refs_in(s.text.values)
            case core.Loop():
                if s.times is not None:
                    yield from refs_in(s.times)
            case core.ForEach() | core.Together():
                yield from refs_in(s.base)
                if isinstance(s, core.ForEach) and s.order is not None:
                    for _, e in s.order.items:
                        yield from refs_in(e)
            case core.Decide():
                for c in s.choices:
                    if c.only_if is not None:
                        yield from refs_in(c.only_if)
                    for p in c.picks:
                        for part in (p.base, p.count, p.such_that):
                            if part is not None:
                                yield from refs_in(part)
            case _:
                pass


def _keys_in(ref: core.PlaceRef) -> Iterator[core.PlaceRef]:
    for k in (*ref.keys, *(() if ref.owner is None else (ref.owner,))):
        yield from refs_in(k)


def refs_in(e: object, *, sizes: bool = True) -> Iterator[core.PlaceRef]:
    """Every place that a value reads, through definitions too; without `sizes` those are left out of which the value
    takes no more than a number of pieces that everybody knows."""
    if isinstance(e, core.PlaceRef):
        yield e
        yield from _keys_in(e)
    elif isinstance(e, core.Count) and not sizes and isinstance(e.base, core.Read) and e.base.place.place.counted:
        yield from _keys_in(e.base.place)
    elif isinstance(e, core.Call):
        bound = {p: a for p, a in zip(e.function.params, e.args, strict=True) if isinstance(a, core.Var)}
        if e.function.body is not None:
            for r in refs_in(e.function.body, sizes=sizes):
                yield _renamed(r, bound)
        for a in e.args:
            yield from refs_in(a, sizes=sizes)
    elif isinstance(e, tuple):
        for x in e:
            yield from refs_in(x, sizes=sizes)
    elif has(type(e)) and isinstance(e, core.Value | core.Action | core.Order):
        for f in fields(type(e)):
            if f.name not in ("span", "source", "type", "origin", "var"):
                yield from refs_in(getattr(e, f.name), sizes=sizes)


def variables_in(e: object) -> set[core.Variable]:
    """Every variable that a value reads."""
    if isinstance(e, core.Var):
        return {e.var}
    if isinstance(e, core.PlaceRef):
        return variables_in((e.owner, *e.keys))
    if isinstance(e, tuple):
        return {v for x in e for v in variables_in(x)}
    if has(type(e)) and isinstance(e, core.Value):
        found = (getattr(e, f.name) for f in fields(type(e)) if f.name not in ("span", "source", "type", "var", "function"))
        return {v for x in found for v in variables_in(x)}
    return set()


def _renamed(ref: core.PlaceRef, bound: dict[core.Variable, core.Var]) -> core.PlaceRef:
    def new(e: core.Expr) -> core.Expr:
        return bound.get(e.var, e) if isinstance(e, core.Var) else e

    return evolve(ref, owner=None if ref.owner is None else new(ref.owner), keys=tuple(new(k) for k in ref.keys))
