"""No rule tells what its reader may not know.

Every value bears the secrets that it was made from: places that are private or hidden, read directly, through a
definition, a `let` or a place inside a body.  Whatever happens because of a secret (in an `if`, a loop, after an
`end ... if`) bears it too.  A secret is told where somebody who may not see its place sees the outcome: a change of a
public place, a number of pieces, a step or a pass of a loop, a question and who is asked, the options and texts of a
decision, `say`, `show`.

What a player chooses is theirs to tell.  A piece is told by moving it: in the open it is no secret any more."""

from collections.abc import Iterable

from attrs import define, evolve, field, fields, frozen, has

from rulelang.core import nodes as core
from rulelang.core.sight import who
from rulelang.core.threads import refs_in, walk
from rulelang.core.types import NoneT, PieceT, SetT, plain
from rulelang.diagnostics import Note, Problems
from rulelang.source import Span

LONGEST = 9  # lines of a way that are shown


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
    left: dict[core.Target, Env] = field(factory=dict)  # what was known where an `end` left a step or a loop
    thread: core.Variable | None = None  # whose thread this is: nobody sees what is asked in it
    asked: bool = False  # this thread has surely been asked before: a second question is not noticed
    inside: bool = False  # of an option or a thread: steps and passes are not announced
    opens: tuple[core.MovePieces | core.MoveCount, ...] = ()  # what lays pieces open
    looked_at: set[str] = field(factory=set)  # lines whose outcome somebody sees
    read: dict[int, tuple[core.Call, tuple[core.PlaceRef, ...]]] = field(factory=dict)  # what each call reads

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
                if id(e) not in self.read:
                    self.read[id(e)] = e, tuple(refs_in(e, sizes=False))
                return _join([*map(self.place, self.read[id(e)][1]), *map(self.label, e.args)])
            case tuple():
                return _join(map(self.label, e))
        if not (has(type(e)) and isinstance(e, core.Value | core.Action | core.Order)):
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
        self.looked_at.add(f"{origin.span.source.path}:{origin.span.line}")
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
            origin.span.first_line,
            hint or self.laid_open(secret, origin),
            heading=origin.heading, notes=[*notes, Note(secret.place.span.first_line, "declared here")],
        )  # fmt: skip

    def laid_open(self, secret: Secret, origin: core.Origin) -> str:
        """What to do first; where a line further down does it, that one."""
        for s in self.opens:
            here = (s.origin.label, s.origin.calls, s.origin.span.source) == (origin.label, origin.calls, origin.span.source)
            if here and s.source.place is secret.place and s.origin.span.start > origin.span.end:
                return f"line {s.origin.span.line} lays open what it depends on: write `{s.origin.span.text}` before this line"
        return f"lay open what it depends on first: move it from `{secret.place.name}` to a public place"

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
                self.tell(self.keys(s.place) | why, None, "everybody sees that this is shuffled", s.origin)
            case core.Bind():
                self.env[s.var] = Known(_on(self.label(s.value) | why, s), _on(self.size(s.value) | why, s))
            case core.BindRandom():
                self.env[s.var] = Known(_on(self.label(s.base) | why, s))
            case core.Branch():
                because = why | _on(self.label(s.test), s)
                return self.either([(s.then, because), (s.otherwise, because)])
            case core.Block():
                if s.is_step and not self.inside:
                    self.tell(why, None, "everybody sees that this step begins", s.origin)
                ended = self.block(s.body, why)
                return self.leave(s.target, ended)
            case core.Loop():
                return self.loop(s, why)
            case core.ForEach() | core.Together():
                return self.each(s, why)
            case core.Decide():
                return self.decide(s, why)
            case core.End():
                self.left[s.target] = _wider(self.left.get(s.target, {}), self.env)
                return {s.target: why}
            case core.Say():
                self.tell(self.label(s.text.values) | why, None, "everybody hears this", s.origin, "say only what lies open")
            case core.Need():
                pass
        return {}

    def either(self, ways: Iterable[tuple[tuple[core.Statement, ...], Label]]) -> dict[core.Target, Label]:
        """One body or another: afterwards all is known that any of them left behind."""
        before, after, asked = self.env, list[tuple[Env, bool]](), self.asked
        ended: dict[core.Target, Label] = {}
        for body, why in ways:
            self.env, self.asked = dict(before), asked
            for target, found in self.block(body, why).items():
                ended[target] = ended.get(target, NOTHING) | found
            after.append((self.env, self.asked))
        self.env, self.asked = before, all(a for _, a in after) and bool(after)
        for n, (env, _) in enumerate(after):
            self.env = env if n == 0 else _wider(self.env, env)
        return ended

    def leave(self, target: core.Target, ended: dict[core.Target, Label]) -> dict[core.Target, Label]:
        """After a step or a loop: it came to its end, or an `end` left it."""
        self.env = _wider(self.env, self.left.pop(target, {}))
        return {t: found for t, found in ended.items() if t is not target}

    def loop(self, s: core.Loop, why: Label) -> dict[core.Target, Label]:
        """`repeat digging`: how often it goes round is a number, and everybody hears of every pass."""
        before, asked = self.env, self.asked
        because = why | _on(NOTHING if s.times is None else self.label(s.times), s)
        ended = self.again(s.body, because)
        rounds = because | _on(_join(ended.values()), s)
        self.env[s.count] = Known(rounds)
        if s.target.label and not self.inside and not s.origin.calls:
            self.tell(rounds, None, "everybody sees how often this goes round", s.origin)
        if s.times is not None:
            self.env, self.asked = _wider(self.env, before), asked
        return self.leave(s.target, ended)

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
        before, outer = self.env, (self.thread, self.asked, self.inside)
        if isinstance(s, core.Together) and s.asks:
            self.tell(because | self.label(s.base), None, "everybody sees who is asked here", s.origin)
            self.thread, self.asked, self.inside = s.var, False, True
        ended = self.again(s.body, because)
        self.thread, self.asked, self.inside = outer
        self.env = {k: _anybodys(known, s.var) for k, known in _wider(self.env, before).items()}
        last = self.repeats[id(s.body)]
        last.env = {k: _anybodys(known, s.var) for k, known in last.env.items()}
        return ended

    def change(self, s: core.Change | core.SetTo, ref: core.PlaceRef, value: core.Expr, why: Label) -> None:
        found = self.label(value) | self.keys(ref) | why
        if ref.place.visibility == "local":
            old = NOTHING if isinstance(s, core.SetTo) and not ref.place.keys else self.env.get(ref.place, Known()).content
            self.env[ref.place] = Known(old | _on(found, s))
        else:
            self.seen(ref, found, f"`{ref.place.name}` changes", s.origin)

    def move(self, s: core.MovePieces, why: Label) -> None:
        """Pieces that are laid open tell of the place where they lay, which is no secret any more; what else decided on
        them is one."""
        one, what = not isinstance(s.what.type, SetT), s.what.item if isinstance(s.what, core.Sure) else s.what
        lay = self.place(s.source)
        chosen = frozenset(x for x in self.label(what) if x not in lay)
        number = NOTHING if one or s.goal.place.visibility == "public" else self.size(what)
        self.moved(s, number | why)
        if "public" in (s.source.place.visibility, s.goal.place.visibility):
            self.tell(chosen, None, f"everybody sees which pieces leave `{s.source.place.name}`", s.origin)
        else:
            for ref in (s.source, s.goal):
                self.seen(ref, chosen, f"it is seen which pieces leave `{s.source.place.name}`", s.origin)
        if isinstance(what, core.Var):
            self.env[what.var] = Known(chosen | _on(why, s) | self.place(s.goal), self.env.get(what.var, Known()).size)

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
            self.tell(self.label(s.player) - why, None, "everybody sees who is asked here", s.origin)
        elif not self.asked:
            self.tell(why, None, "everybody sees who is asked here", s.origin)
        self.asked = self.thread is not None
        for c in s.choices:
            for p in c.picks:
                item = p.var.type.item if isinstance(p.var.type, SetT) else p.var.type
                lies = self.place(p.base.source) if p.base.source is not None and isinstance(plain(item), PieceT) else NOTHING
                self.env[p.var] = Known(lies)
            offered = why | (NOTHING if c.only_if is None else self.label(c.only_if))
            for p in c.picks:
                offered |= _join(self.label(x) for x in (p.base, p.count, p.such_that) if x is not None)
            self.tell(offered, reader, "the options differ", c.origin, "offer only what the one who chooses may know")
            if c.text is not None:
                self.tell(self.label(c.text.values), reader, "the one who chooses reads this", c.origin, "tell only what lies open")
        outer, self.inside = self.inside, True
        ended = self.either([(c.body, why) for c in s.choices])
        self.inside = outer
        return ended


def check_secrecy(game: core.Game, problems: Problems) -> frozenset[str]:
    """Reports every rule that tells a secret; answers with all lines of which somebody sees something."""
    opens = [s for s in walk(game.flow) if isinstance(s, core.MovePieces | core.MoveCount) and s.goal.place.visibility == "public"]
    flow = _Flow(Problems(), opens=tuple(opens))
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
    return frozenset(flow.looked_at)


def _join(labels: Iterable[Label]) -> Label:
    found: Label = NOTHING
    for label in labels:
        found |= label
    return found


def _on(label: Label, s: core.Action) -> Label:
    """The same secrets, carried on by this line; a way that comes round again is shown once."""
    here = s.origin.span.first_line
    return frozenset(x if _shown(here, x.trail) else evolve(x, trail=(*x.trail, here)) for x in label)


def _shown(here: Span, trail: tuple[Span, ...]) -> bool:
    return len(trail) >= LONGEST or any((t.source, t.start) == (here.source, here.start) for t in trail)


def _wider(a: Env, b: Env) -> Env:
    """What is known after one way or the other."""
    found = {**b, **a}
    for k, other in b.items():
        here = found[k]
        if here is not other and not (here.content >= other.content and here.size >= other.size):  # most are as they were
            found[k] = Known(here.content | other.content, here.size | other.size)
    return found


def _anybodys(known: Known, who: core.Variable) -> Known:
    """After the pass of one player the next has the same name: what was theirs is somebody's."""
    if not any(x.owner is who for label in (known.content, known.size) for x in label):
        return known
    return Known(*(frozenset(evolve(x, owner=None) if x.owner is who else x for x in label) for label in (known.content, known.size)))
