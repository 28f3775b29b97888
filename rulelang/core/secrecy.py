"""No rule tells what its reader may not know.

Every value bears the secrets that it was made from: places that are private or hidden, read directly, through a
definition, a `let` or a place inside a body.  Whatever happens because of a secret (in an `if`, a loop, after an
`end ... if`) bears it too.  A secret is told where somebody who may not see its place sees the outcome: a change of a
public place, a number of pieces, a question, the options and texts of a decision, `say`, `show`.

What a player chooses is theirs to tell.  A piece is told by moving it: in the open it is no secret any more."""

from collections.abc import Iterable

from attrs import define, evolve, field, fields, frozen, has

from rulelang.core import nodes as core
from rulelang.core.sight import who
from rulelang.core.threads import refs_in
from rulelang.core.types import NoneT, PieceT, SetT, plain
from rulelang.diagnostics import Note, Problems
from rulelang.source import Span


@frozen
class Secret:
    """`hand` of one player, or of nobody in particular; `trail` are the lines that carried it on"""

    place: core.Place
    owner: core.Variable | None
    trail: tuple[Span, ...] = field(default=(), eq=False)

    @property
    def key(self) -> tuple[core.Place, tuple[str, ...]]:
        return self.place, tuple(map(str, self.trail))

    def seen_by(self, reader: core.Variable | None) -> bool:
        return self.place.visibility == "private" and reader is not None and self.owner is reader


Label = frozenset[Secret]
NOTHING: Label = frozenset()


@frozen
class Known:
    """What a variable or a place of a body bears: what it is, and how many it is"""

    content: Label = NOTHING
    size: Label = NOTHING


Env = dict[core.Variable | core.Place, Known]


@define(eq=False)
class Repeat:
    """What a body that comes again ended with: with that it begins, too"""

    env: Env = field(factory=dict)
    ended: Label = NOTHING


@define(eq=False)
class _Flow:
    problems: Problems
    env: Env = field(factory=dict)
    told: set[tuple[core.Place, tuple[str, ...]]] = field(factory=set)
    repeats: dict[int, Repeat] = field(factory=dict)
    thread: core.Variable | None = None  # whose thread this is: nobody sees what is asked in it

    # ------------------------------------------------------------ values

    def label(self, e: object) -> Label:
        match e:
            case core.Count():
                return self.size(e.base)
            case core.Compare() if isinstance(e.left.type, NoneT) or isinstance(e.right.type, NoneT):
                return self.size(e.left) | self.size(e.right)
            case core.Var():
                return self.env.get(e.var, Known()).content
            case core.PlaceRef():
                return self.place(e) | self.keys(e)
            case core.Call():
                return _join([*(self.place(r) for r in refs_in(e, sizes=False)), *map(self.label, e.args)])
            case tuple():
                return _join(map(self.label, e))
        if not (has(type(e)) and isinstance(e, core.Value | core.Action)):
            return NOTHING
        inside = (f.name for f in fields(type(e)) if f.name not in ("span", "source", "type", "lines", "origin", "var"))
        return _join(self.label(getattr(e, name)) for name in inside)

    def place(self, ref: core.PlaceRef) -> Label:
        if ref.place.visibility == "local":
            return self.env.get(ref.place, Known()).content
        if ref.place.visibility == "public":
            return NOTHING
        return frozenset((Secret(ref.place, who(ref.owner)),))

    def keys(self, ref: core.PlaceRef) -> Label:
        return _join(map(self.label, (*ref.keys, *(() if ref.owner is None else (ref.owner,)))))

    def size(self, e: core.Expr) -> Label:
        """What the number of its members tells; of one thing, whether it is there."""
        match e:
            case core.Read():
                return self.keys(e.place) | (NOTHING if e.place.place.counted else self.place(e.place))
            case core.Nth():
                return self.keys(e.place) | self.label(e.index) | (NOTHING if e.place.place.counted else self.place(e.place))
            case core.FirstOf():
                return self.size(e.base)
            case core.Var():
                return self.env.get(e.var, Known()).size
        return self.label(e)

    # ------------------------------------------------------------ who sees it

    def tell(self, found: Label, reader: core.Variable | None, what: str, origin: core.Origin, hint: str = "") -> None:
        told = sorted((s for s in found if not s.seen_by(reader)), key=lambda s: (s.place.name, len(s.trail)))
        new = [s for s in told if not s.trail or s.key not in self.told]  # what one line told is told once
        if not new:
            return
        secret = new[0]
        self.told.update(s.key for s in new)
        of = " of another player" if secret.place.visibility == "private" and secret.place.per_player and reader is not None else ""
        notes = [Note(c, "called from here") for c in origin.calls[-1:]]
        notes += [Note(span, "read here") for span in secret.trail if span.start != origin.span.start]
        self.problems.add(
            "R260", f"{what}, and it tells of `{secret.place.name}`{of}, which is {secret.place.visibility}",
            _first_line(origin.span),
            hint or f"lay open what it depends on first: move it from `{secret.place.name}` to a public place",
            heading=origin.heading, notes=[*notes, Note(_first_line(secret.place.span), "declared here")],
        )  # fmt: skip

    def seen(self, ref: core.PlaceRef, found: Label, what: str, origin: core.Origin) -> None:
        """A change of a place, before those who see it."""
        match ref.place.visibility:
            case "public":
                self.tell(found, None, what, origin)
            case "private":
                self.tell(found, who(ref.owner), what, origin)

    # ------------------------------------------------------------ statements

    def block(self, body: Iterable[core.Statement], why: Label) -> dict[core.Target, Label]:
        """What ends early in here, and the secrets that this depends on."""
        ended: dict[core.Target, Label] = {}
        for s in body:
            for target, found in self.statement(s, why | _join(ended.values())).items():
                ended[target] = ended.get(target, NOTHING) | found
        return ended

    def statement(self, s: core.Statement, why: Label) -> dict[core.Target, Label]:
        match s:
            case core.Change():
                self.change(s, s.place, s.amount, why)
            case core.SetTo():
                self.change(s, s.place, s.value, why)
            case core.MovePieces():
                self.move(s, why)
            case core.MoveCount():
                self.moved(s, self.label(s.count) | why)
            case core.Shuffle():
                self.tell(why, None, "everybody sees that this is shuffled", s.origin)
            case core.Bind():
                self.env[s.var] = Known(_on(self.label(s.value) | why, s), _on(self.size(s.value) | why, s))
            case core.BindRandom():
                self.env[s.var] = Known(_on(self.label(s.base) | why, s))
            case core.Branch():
                because = why | _on(self.label(s.test), s)
                return _both(self.block(s.then, because), self.block(s.otherwise, because))
            case core.Block():
                ended = self.block(s.body, why)
                ended.pop(s.target, None)
                return ended
            case core.Loop():
                ended = self.again(s.body, why | _on(NOTHING if s.times is None else self.label(s.times), s))
                ended.pop(s.target, None)
                return ended
            case core.ForEach() | core.Together():
                return self.each(s, why)
            case core.Decide():
                return self.decide(s, why)
            case core.End():
                return {s.target: why}
            case core.Say():
                self.tell(self.label(s.text.values) | why, None, "everybody hears this", s.origin, "say only what lies open")
            case core.Need():
                pass
        return {}

    def again(self, body: tuple[core.Statement, ...], why: Label) -> dict[core.Target, Label]:
        """A body that comes again.  One pass: `check_secrecy` goes through the whole game until nothing new comes, since a
        loop that was gone through until then inside every pass of the loop around it would take forever."""
        last = self.repeats.setdefault(id(body), Repeat())
        self.env = _wider(self.env, last.env)
        ended = self.block(body, why | last.ended)
        self.env = last.env = _wider(last.env, self.env)
        last.ended |= _join(ended.values())
        return ended

    def each(self, s: core.ForEach | core.Together, why: Label) -> dict[core.Target, Label]:
        order = s.order.items if isinstance(s, core.ForEach) and s.order is not None else ()
        because = why | _on(self.size(s.base) | self.label(tuple(e for _, e in order)), s)
        self.env[s.var] = Known(_on(self.label(s.base), s))
        outer = self.thread
        if isinstance(s, core.Together) and s.asks:
            self.tell(because, None, "everybody sees who is asked here", s.origin)
            self.thread = s.var
        ended = self.again(s.body, because)
        self.thread = outer
        return ended

    def change(self, s: core.Change | core.SetTo, ref: core.PlaceRef, value: core.Expr, why: Label) -> None:
        found = self.label(value) | self.keys(ref) | why
        if ref.place.visibility == "local":
            old = NOTHING if isinstance(s, core.SetTo) and not ref.place.keys else self.env.get(ref.place, Known()).content
            self.env[ref.place] = Known(old | _on(found, s))
        else:
            self.seen(ref, found, f"`{ref.place.name}` changes", s.origin)

    def move(self, s: core.MovePieces, why: Label) -> None:
        one = not isinstance(s.what.type, SetT)
        number = NOTHING if one or s.goal.place.visibility == "public" else self.size(s.what)
        self.moved(s, number | why)
        if isinstance(s.what, core.Var):
            self.env[s.what.var] = Known(self.place(s.goal), self.env.get(s.what.var, Known()).size)

    def moved(self, s: core.MovePieces | core.MoveCount, found: Label) -> None:
        found = found | self.keys(s.source) | self.keys(s.goal)
        for ref in (s.source, s.goal):
            if ref.place.counted or ref.place.visibility == "public":
                self.tell(found, None, f"everybody sees how many pieces `{ref.place.name}` has", s.origin)
                return
        for ref in (s.source, s.goal):
            self.seen(ref, found, f"`{ref.place.name}` changes", s.origin)

    def decide(self, s: core.Decide, why: Label) -> dict[core.Target, Label]:
        reader = who(s.player)
        if self.thread is None or self.thread is not reader:
            self.tell(why, None, "everybody sees that this is asked", s.origin)
        ended: dict[core.Target, Label] = {}
        for c in s.choices:
            offered = why | (NOTHING if c.only_if is None else self.label(c.only_if))
            for p in c.picks:
                offered |= _join(self.label(x) for x in (p.base, p.count, p.such_that) if x is not None)
                item = p.var.type.item if isinstance(p.var.type, SetT) else p.var.type
                lies = self.place(p.base.source) if p.base.source is not None and isinstance(plain(item), PieceT) else NOTHING
                self.env[p.var] = Known(lies)
            self.tell(offered, reader, "the options differ", c.origin, "offer only what the one who chooses may know")
            if c.text is not None:
                self.tell(self.label(c.text.values), reader, "the one who chooses reads this", c.origin, "tell only what lies open")
            for target, found in self.block(c.body, why).items():
                ended[target] = ended.get(target, NOTHING) | found
        return ended


def check_secrecy(game: core.Game, problems: Problems) -> None:
    """Reports every rule that tells a secret."""
    flow = _Flow(Problems())
    before: list[tuple[Env, Label]] | None = None
    while (now := [(r.env, r.ended) for r in flow.repeats.values()]) != before:
        before, flow.env = now, {}
        flow.block(game.flow, NOTHING)
    flow.problems, flow.told, flow.env = problems, set(), {}
    flow.block(game.flow, NOTHING)
    for shown in game.shown:
        found = flow.label(shown.function.body)
        hint = "show only what lies open; how many pieces lie there is open where the place says `number public`"
        flow.tell(found, None, f"everybody sees `{shown.name}`", core.Origin(shown.span), hint)


def _join(labels: Iterable[Label]) -> Label:
    found: Label = NOTHING
    for label in labels:
        found |= label
    return found


def _on(label: Label, s: core.Action) -> Label:
    """The same secrets, carried on by this line."""
    return frozenset(evolve(x, trail=(*x.trail, _first_line(s.origin.span))) if len(x.trail) < 3 else x for x in label)


def _wider(a: Env, b: Env) -> Env:
    """What is known after one way or the other."""
    both = {k: Known(a[k].content | b[k].content, a[k].size | b[k].size) for k in a.keys() & b.keys() if a[k] != b[k]}
    return {**b, **a, **both}


def _both(a: dict[core.Target, Label], b: dict[core.Target, Label]) -> dict[core.Target, Label]:
    return {t: a.get(t, NOTHING) | b.get(t, NOTHING) for t in (*a, *b)}


def _first_line(span: Span) -> Span:
    end = span.source.text.find("\n", span.start)
    return Span(span.source, span.start, min(span.end, end if end >= 0 else span.end))
