"""The interface for programs: load a game, start a match, choose, look, copy, save."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from random import Random
from typing import Any

from attrs import define, field, frozen

from rulelang import pipeline
from rulelang.core import nodes as core
from rulelang.core.nodes import Game as CoreGame
from rulelang.core.nodes import Option as CoreOption
from rulelang.core.types import PLAYER, KindT, SetT, Type
from rulelang.diagnostics import cut, near, printable
from rulelang.errors import IllegalChoice, RuleError, UsageError
from rulelang.graph import nodes as graph
from rulelang.graph.layout import CHANCE
from rulelang.limits import USUAL, Limits
from rulelang.runtime.events import AnyEvent, Began, Counted
from rulelang.runtime.knowledge import Knowledge, sees
from rulelang.runtime.machine import Machine, Pending
from rulelang.runtime.program import Program, make_program
from rulelang.runtime.settings import option_value, option_word, refused
from rulelang.runtime.story import Story
from rulelang.runtime.values import State
from rulelang.runtime.words import Words, readable
from rulelang.source import Span
from rulelang.surface import nodes

UNSEEN = object()
ChanceScript = Callable[[str, list[Any]], Any]


def load(game: str, with_: Iterable[str] = (), limits: Limits = USUAL) -> "Game":
    """`load("harbour")`, `load("harbour", with_=["winter"])`: a bundled name, a file or a folder."""
    layers = (with_,) if isinstance(with_, str) else tuple(with_)
    loaded = pipeline.load(game, layers, limits)
    return Game(game, layers, loaded, pipeline.require(loaded))


@define(eq=False)
class Game:
    """A checked game, ready to start."""

    source: str
    requested: tuple[str, ...]  # the layers that were asked for, beside what `source` itself is
    loaded: pipeline.Loaded
    core: CoreGame
    _rules: str = ""
    _parts: tuple[tuple[str, Span], ...] = ()

    @property
    def name(self) -> str:
        return self.core.name

    @property
    def title(self) -> str:
        return self.core.title

    @property
    def players(self) -> range:
        return self.core.players

    @property
    def layers(self) -> tuple[str, ...]:
        return self.core.layers

    @property
    def options(self) -> dict[str, CoreOption]:
        return self.core.options

    @property
    def rules(self) -> str:
        """A fingerprint of the rules: what is a comment or an example does not count."""
        if not self._rules:
            self._rules = sha256("\n".join(repr(item) for item in self._items()).encode()).hexdigest()[:32]
        return self._rules

    @property
    def parts(self) -> tuple[tuple[str, Span], ...]:
        """A short mark of every single rule, and where it stands: to name the first that was changed."""
        if not self._parts:
            self._parts = tuple((sha256(repr(item).encode()).hexdigest()[:4], item.span) for item in self._items())
        return self._parts

    def _items(self) -> Iterator[nodes.Node]:
        for module in (*self.loaded.modules, *self.loaded.layers):
            if module.header is not None:
                yield module.header
            yield from (i for i in module.items if not isinstance(i, nodes.Example | nodes.Invariant))

    def settings(self, players: int, options: dict[str, Any] | None) -> dict[str, int]:
        """Option values as integers, each checked, and the combination too."""
        if players not in self.players:
            raise UsageError(f"{self.title} is for {self.players[0]} to {self.players[-1]} players, not {players}")
        made = {o.name: o.default for o in self.options.values()}
        for name, value in (options or {}).items():
            if name not in self.options:
                hint = near(name, self.options) or (f"it has: {', '.join(self.options)}" if self.options else "it has none")
                raise UsageError(f"{self.title} has no option `{cut(name)}`; {hint}")
            made[name] = option_value(self.core, self.options[name], value, players)
        option = refused(self.core, players, made)
        if option is not None:
            shown = option.span.text.split("only if")[-1].split("{")[0].strip()
            raise UsageError(f"`{option.name}` cannot be {option_word(self.core, option, made[option.name])} here: only if {shown}")
        return made

    def program(
        self, players: int, options: dict[str, int], chance: Any, emit: Any = None, watch: Any = None, tally: Any = None
    ) -> Program:
        assert self.loaded.flow is not None
        counts = tuple(self.loaded.flow.loop_counts.values())
        return make_program(self.core, players, options, chance, emit, watch=watch, tally=tally, loop_counts=counts)

    def start(
        self, players: int | None = None, seed: int | str | None = None, options: dict[str, Any] | None = None,
        chance: ChanceScript | None = None, ask_forced: bool = False, names: Sequence[str] | None = None,
    ) -> "Match":  # fmt: skip
        """A new match.  `chance(what, things)` answers with the order (of a shuffle) or with one thing (of a draw)."""
        count = self.players[0] if players is None else players
        settings = self.settings(count, options)
        if seed is None:
            seed = Random().randrange(1 << 32)
        if isinstance(seed, str) and (seed != printable(seed.strip()) or seed == "scripted"):
            raise UsageError("a seed is a number, or a word on one line")
        named = tuple(names) if names is not None else seat_names(count)
        if len(named) != count or len(set(named)) != count:
            raise UsageError(f"{len(named)} names for {count} players: one each, all different")
        return Match(self, count, settings, seed, chance, ask_forced, named)


def seat_names(players: int) -> tuple[str, ...]:
    return tuple(f"seat {i}" for i in range(players))


# ---------------------------------------------------------------- decisions


@frozen(eq=False)
class Option:
    """One thing that can be chosen: `label` for people, `value` for programs"""

    index: int
    label: str
    value: tuple[Any, ...]
    decision: str

    def __repr__(self) -> str:
        return f"<option {self.index}: {self.label}>"


@define(eq=False)
class Options(Sequence[Option]):
    """All options of a decision, made when somebody looks"""

    match: "Match"
    pending: Pending

    def __len__(self) -> int:
        return self.pending.count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.match._option(self.pending, index % len(self))

    def __iter__(self) -> Iterator[Option]:
        return (self[i] for i in range(len(self)))


@frozen(eq=False)
class Decision:
    """What a seat is asked: `name` is stable, from the rules"""

    player: int
    name: str
    prompt: str
    options: Options
    origin: core.Origin


@define(eq=False)
class Dice:
    """Chance for one match: seeded, or scripted; the same position always gives the same outcome"""

    seed: int | str
    script: ChanceScript | None
    words: Words | None = None
    outcomes: dict[tuple[Any, ...], tuple[int, ...]] = field(factory=dict)

    def __call__(self, s: State, name: str, items: tuple[int, ...], t: Type, whole: bool) -> tuple[int, ...]:
        place = s[CHANCE]
        if self.script is None:
            rng = Random(f"{self.seed}/{place}")
            if whole:
                mixed = list(items)
                rng.shuffle(mixed)
                return tuple(mixed)
            return (items[rng.randrange(len(items))],)
        key = (place, name, items)
        if key not in self.outcomes:
            self.outcomes[key] = self._ask(name, items, t, whole)
        return self.outcomes[key]

    def _ask(self, name: str, items: tuple[int, ...], t: Type, whole: bool) -> tuple[int, ...]:
        assert self.script is not None and self.words is not None and isinstance(t, SetT)
        shown = [self.words.data(x, t.item) for x in items]
        answer = self.script(name, list(shown))
        wanted = list(answer) if whole else [answer]
        left = list(items)
        found = []
        for x in wanted:
            at = next((i for i, item in enumerate(left) if self.words.data(item, t.item) == x), None)
            if at is None:
                raise RuleError(f"chance gave {x!r} for `{name}`, which is not there")
            found.append(left.pop(at))
        return tuple(found + left) if whole else (found[0],)


# ---------------------------------------------------------------- matches


@define(eq=False)
class _Trace:
    """The traced build, which follows the choices of a match when somebody asks what happened"""

    machine: Machine
    knowledge: list[Knowledge]
    told: int = 0
    followed: int = 0


@define(eq=False)
class Match:
    """A match: decisions awaited, choices made, and everything that follows from them."""

    game: Game
    players: int
    settings: dict[str, int]
    seed: int | str
    script: ChanceScript | None
    ask_forced: bool
    names: tuple[str, ...]
    choices: list[tuple[int, int]] = field(factory=list)
    taken_back: list[tuple[tuple[tuple[int, int], ...], int]] = field(factory=list, init=False)  # the choices then, and how many went
    _program: Program | None = None
    _machine: Machine | None = None
    _traced: _Trace | None = None
    _dice: Dice = field(init=False)
    _words: Words = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._dice = Dice(self.seed, self.script)
        self._program = self._program or self.game.program(self.players, self.settings, self._dice)
        self._words = Words(self._program.layout, self.names)
        self._dice.words = self._words
        if self._machine is None:
            self._machine = self._fresh()

    def _fresh(self) -> Machine:
        assert self._program is not None
        machine = Machine(self._program, self._program.start[:], self.ask_forced)
        machine.begin()
        return machine

    @property
    def machine(self) -> Machine:
        assert self._machine is not None
        return self._machine

    @property
    def program(self) -> Program:
        assert self._program is not None
        return self._program

    # ------------------------------------------------------------ deciding

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What is awaited now; several at once where choices are simultaneous."""
        return tuple(
            Decision(p.player, p.ask.decide.name, self._prompt(p), Options(self, p), p.ask.decide.origin) for p in self.machine.pending
        )

    def _prompt(self, p: Pending) -> str:
        heading = p.ask.decide.origin.heading
        name = readable(p.ask.decide.name)
        return f"{heading}: {name}" if heading and heading != name else name

    def _option(self, p: Pending, k: int) -> Option:
        row = p.s[:]
        index = p.ask.pick(row, k, p.counts)
        code = p.ask.choices[index]
        picks = tuple(row[c.slot] for c in code.picks)
        is_menu = len(p.ask.choices) > 1 or not code.picks
        label = self._words.label(code.choice, is_menu, picks, code.told(row))
        return Option(k, label, self._words.value(code.choice, picks), p.ask.decide.name)

    def choose(self, player: int, option: "int | Option") -> None:
        """An option, or its index.  What is not offered is refused, and nothing changes."""
        machine = self.machine
        if machine.over:
            raise IllegalChoice("the match is over")
        pending = next((p for p in machine.pending if p.player == player), None)
        if pending is None:
            asked = ", ".join(map(str, self._asked(machine)))
            took_part = machine.fork is not None and any(t.who == player for t in machine.fork.threads)
            why = f"seat {player} has chosen already" if took_part else f"seat {player} is not asked now"
            raise IllegalChoice(f"{why}; asked: seat {asked}")
        if isinstance(option, Option):
            k = option.index
            if option.decision != pending.ask.decide.name or not 0 <= k < pending.count or self._option(pending, k).value != option.value:
                raise IllegalChoice(f"`{option.label}` is not offered at `{pending.ask.decide.name}`")
        elif isinstance(option, int) and not isinstance(option, bool):
            k = option
        else:
            raise IllegalChoice(f"{option!r} is neither an option nor an index")
        if not 0 <= k < pending.count:
            raise IllegalChoice(f"`{pending.ask.decide.name}` has options 0 to {pending.count - 1}, not {k}")
        if len(self.choices) >= self.game.core.limits.choices:
            raise RuleError(f"the match did not end within {len(self.choices)} choices")
        before = machine.copy()
        try:
            machine.choose(pending, k)
        except RuleError:
            self._machine = before
            raise
        self.choices.append((player, k))

    def play_out(self, rng: Random | None = None, limit: int | None = None) -> "Match":
        """Uniformly random legal options to the end."""
        most = self.game.core.limits.choices if limit is None else limit
        try:
            self.machine.play_out(rng or Random(f"{self.seed}/play"), self.choices, most)
        except RuleError:  # the choice that broke a rule was never made
            self._replay(self.choices[:-1])
            raise
        return self

    # ------------------------------------------------------------ the result

    @property
    def is_over(self) -> bool:
        return self.machine.over

    def _measures(self) -> list[tuple[int, ...]]:
        ranking = self.game.core.ranking
        if ranking is None:
            return [() for _ in range(self.players)]
        code = self.program.values
        at = code.variable(ranking.var)
        fns = [(sign, code.expr(e).fn) for sign, e, _ in ranking.items]
        row = self.machine.s + [0] * 64
        found = []
        for p in range(self.players):
            row[at] = p
            found.append(tuple(sign * int(f(row)) for sign, f in fns))
        return found

    @property
    def scores(self) -> tuple[int, ...]:
        """What the ranking looks at first, for every seat."""
        ranking = self.game.core.ranking
        sign = ranking.items[0][0] if ranking is not None else 1
        return tuple(sign * m[0] if m else 0 for m in self._measures())

    @property
    def ranking(self) -> tuple[tuple[int, ...], ...]:
        """Seats from first to last; those who share a rank stand together."""
        measures = self._measures()
        shared = self.game.core.ranking is None or self.game.core.ranking.shared
        order = sorted(range(self.players), key=lambda p: (tuple(-x for x in measures[p]), p))
        ranks: list[list[int]] = []
        for p in order:
            if shared and ranks and measures[ranks[-1][0]] == measures[p]:
                ranks[-1].append(p)
            else:
                ranks.append([p])
        return tuple(tuple(r) for r in ranks)

    @property
    def winners(self) -> tuple[int, ...]:
        return self.ranking[0] if self.is_over else ()

    # ------------------------------------------------------------ looking

    def get(self, name: str, player: int | None = None, key: Any = ()) -> Any:
        """Any declared or derived value, zone or status, by name."""
        keys = key if isinstance(key, tuple) else (key,)
        place = self.game.core.places.get(name)
        if place is not None:
            slot = self.slot(place, player, keys)
            return self._words.held(place, self.machine.s[slot])
        assert self.game.loaded.names is not None and self.game.loaded.flow is not None
        flow = self.game.loaded.flow
        for d in self.game.loaded.names.definitions.get(name, []):
            function = flow.functions.get(id(d))
            if function is not None:
                return self._call(function, d.per_player, player, keys)
        for var in flow.loop_counts.values():
            if var.name == name and var in self.program.layout.variables:
                return self.machine.s[self.program.layout.variables[var]]
        if name in self.settings:
            return option_word(self.game.core, self.game.options[name], self.settings[name])
        known = [*self.game.core.places, *self.game.loaded.names.definitions]
        raise KeyError(f"{name}: {near(name, known)}".rstrip(": "))

    def slot(self, place: core.Place, player: int | None, keys: tuple[Any, ...]) -> int:
        """The number of the slot of a place; keys are words or numbers."""
        layout = self.program.layout
        parts = []
        if place.per_player:
            if player is None or not 0 <= player < self.players:
                raise KeyError(f"{place.name} belongs to a player: say player=0")
            parts.append(player)
        if len(keys) != len(place.keys):
            raise KeyError(f"{place.name} has {len(place.keys)} keys")
        for k, t in zip(keys, place.keys, strict=True):
            parts.append(self._key(k, t))
        return layout.slots[place] + sum(p * stride for p, stride in zip(parts, layout.strides[place], strict=True))

    def _key(self, k: Any, t: Type) -> int:
        if isinstance(t, KindT):
            words = self.game.core.kinds[t.kind].members
            if k not in words:
                raise KeyError(f"{k} is no {t.kind}")
            return words.index(k)
        low = self.program.layout.key_low(t)
        if not isinstance(k, int) or not 0 <= k - low < self.program.layout.key_size(t):
            raise KeyError(f"no such key: {k!r}")
        return k - low

    def _call(self, function: core.Function, per_player: bool, player: int | None, keys: tuple[Any, ...]) -> Any:
        args: list[core.Expr] = []
        params = list(function.params)
        if per_player:
            if player is None:
                raise KeyError(f"{function.name} belongs to a player: say player=0")
            args.append(core.Const(player, type=params[0].type))
            params = params[1:]
        if len(params) != len(keys):
            raise KeyError(f"{function.name} has {len(params)} keys")
        for p, k in zip(params, keys, strict=True):
            value = self._key(k, p.type) + self.program.layout.key_low(p.type) if isinstance(p.type, KindT) else k
            args.append(core.Const(value, type=p.type))
        code = self.program.values.expr(core.Call(function, tuple(args), type=function.type))
        found = code.fn(self.machine.s + [0] * 64)
        if isinstance(function.type, SetT):
            from rulelang.runtime.values import rep

            if rep(function.type) == "seq":
                return [self._words.data(x, function.type.item) for x in found]
        return self._words.data(int(found), function.type)

    # ------------------------------------------------------------ what happened

    def _trace(self) -> _Trace:
        if self._traced is None:
            self._traced = self._new_trace()
        trace = self._traced
        while trace.followed < len(self.choices):
            player, k = self.choices[trace.followed]
            pending = next(p for p in trace.machine.pending if p.player == player)
            trace.machine.choose(pending, k)
            trace.followed += 1
        for event in trace.machine.events[trace.told :]:
            for knowledge in trace.knowledge:
                knowledge.learn(event)
        trace.told = len(trace.machine.events)
        return trace

    def _new_trace(self) -> _Trace:
        holder: list[Machine] = []

        def emit(event: AnyEvent) -> None:
            holder[0].events.append(event)

        program = self.game.program(self.players, self.settings, self._dice, emit)
        machine = Machine(program, program.start[:], self.ask_forced)
        holder.append(machine)
        knowledge = [Knowledge(program.layout, seat) for seat in range(self.players)]
        for k in knowledge:
            k.begin(program.start)
        machine.begin()
        return _Trace(machine, knowledge)

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        """Everything that happened and was revealed, each with its rule."""
        return tuple(self._trace().machine.events)

    @property
    def story(self) -> tuple[str, ...]:
        """The events as sentences, for a reader who may know everything."""
        teller = Story(self._trace().machine.program.layout, self._words)
        return teller.tell_all(self.events, None)

    def events_for(self, player: int) -> tuple[str, ...]:
        """What happened as that seat saw it, its own hidden choices included."""
        self._seat(player)
        trace = self._trace()
        teller = Story(trace.machine.program.layout, self._words)
        events: list[AnyEvent] = list(trace.machine.events)
        if trace.machine.fork is not None:
            for t in trace.machine.fork.threads:
                if t.who == player:
                    events.extend(t.events)
        return teller.tell_all((e for e in events if not isinstance(e, Began) or not e.inside), player)

    def _seat(self, player: int) -> None:
        if not 0 <= player < self.players:
            raise KeyError(f"no seat {player}")

    def observe(self, player: int) -> dict[str, Any]:
        """Plain data: exactly what that seat may know."""
        self._seat(player)
        trace = self._trace()
        machine = trace.machine
        knowledge = trace.knowledge[player]
        row = machine.s
        own_thread = None
        if machine.fork is not None:
            own_thread = next((t for t in machine.fork.threads if t.who == player), None)
            if own_thread is not None:
                row = own_thread.s
                knowledge = self._with_thread(knowledge, own_thread.events)
        layout = machine.program.layout
        places: dict[str, Any] = {}
        for place in self.game.core.places.values():
            shown: dict[Any, Any] = {}
            for index in range(layout.sizes[place]):
                owner, keys = layout.slot_name(place, index)
                slot = layout.slots[place] + index
                held = self._observed(place, owner, slot, row[slot], player, knowledge)
                if held is not UNSEEN:
                    at = shown
                    path = [*((str(owner),) if owner >= 0 else ()), *self._words.key_data(place, keys)]
                    for part in path[:-1]:
                        at = at.setdefault(part, {})
                    at[path[-1] if path else ""] = held
            if place.per_player or place.keys:
                places[place.name] = shown
            elif "" in shown:
                places[place.name] = shown[""]
        assert self.game.loaded.flow is not None
        told = {n.count for n in machine.program.graph.nodes if isinstance(n, graph.LoopHead) and n.told}
        counts = {v.name: machine.s[layout.variables[v]] for v in self.game.loaded.flow.loop_counts.values() if v in told}
        return {
            "seat": player,
            "counts": counts,
            "places": places,
            "shown": {v.name: self._shown(v, row) for v in self.game.core.shown},
            "asked": self._asked(machine),
            "decision": self._own_decision(machine, player),
            "over": machine.over,
        }

    def _shown(self, shown: core.Shown, row: State) -> Any:
        """`influence` as everybody sees it: by seat where it is a player's, then by key."""
        layout, code = self.program.layout, self.program.values
        domains: list[tuple[Type, range]] = [(PLAYER, range(self.players))] if shown.per_player else []
        domains += [(t, range(layout.key_low(t), layout.key_low(t) + layout.key_size(t))) for t in shown.keys]

        def at(fixed: tuple[core.Expr, ...]) -> Any:
            if len(fixed) == len(domains):
                value = code.expr(core.Call(shown.function, fixed, type=shown.function.type)).fn(row + [0] * 64)
                return self._words.data(code.store(shown.function.type, shown.span)(value), shown.function.type)
            t, values = domains[len(fixed)]
            return {str(self._words.data(v, t)): at((*fixed, core.Const(v, type=t))) for v in values}

        return at(())

    def _with_thread(self, knowledge: Knowledge, events: list[AnyEvent]) -> Knowledge:
        if not events:
            return knowledge
        mine = knowledge.copy()
        for e in events:
            mine.learn(e)
        return mine

    def _observed(self, place: core.Place, owner: int, slot: int, value: int, player: int, knowledge: Knowledge) -> Any:
        if sees(place, owner, player):
            return self._words.held(place, value)
        if not place.holds_pieces:
            return UNSEEN
        item = place.type.item if isinstance(place.type, SetT) else place.type
        loose, order = knowledge.known(slot)
        shown: dict[str, Any] = {}
        if place.counted:
            shown["count"] = knowledge.lying[slot].size
        if loose:
            shown["known"] = [self._words.data(c, item) for c in loose]
        if not place.counted:  # how many lie below is not known
            while order and order[-1] is None:
                order = order[:-1]
        if any(c is not None for c in order):
            shown["order"] = [None if c is None else self._words.data(c, item) for c in order]
        return shown or UNSEEN

    def _asked(self, machine: Machine) -> list[int]:
        """Who was asked at this point; who has answered already is not shown."""
        if machine.fork is None:
            return [p.player for p in machine.pending]
        return sorted(t.who for t in machine.fork.threads if not t.done or t.answers)

    def _own_decision(self, machine: Machine, player: int) -> dict[str, Any] | None:
        pending = next((p for p in machine.pending if p.player == player), None)
        if pending is None:
            return None
        return {
            "name": pending.ask.decide.name,
            "prompt": self._prompt(pending),
            "options": [self._option(pending, k).label for k in range(pending.count)],
        }

    def account(self, player: int) -> list[tuple[str, int]]:
        """How the score came about: for a counter what each rule added, for a formula its parts."""
        ranking = self.game.core.ranking
        if ranking is None:
            return []
        e = ranking.items[0][1]
        layout = self.program.layout
        if isinstance(e, core.Read):
            first, found = layout.slots[e.place.place] + player, {}
            begins = self.program.start[first]
            if begins:
                found["at the start"] = begins
            for event in self.events:
                if isinstance(event, Counted) and event.slot == first and event.origin is not None:
                    why = event.origin.heading or readable(event.origin.label)
                    found[why] = found.get(why, 0) + event.new - event.old
            return [(why, n) for why, n in found.items() if n]
        if isinstance(e, core.Call) and isinstance(e.function.body, core.Sum):
            parts = []
            code = self.program.values
            row = self.machine.s + [0] * 64
            for sign, term in e.function.body.terms:
                wrapped = core.LetIn(e.function.params[0], core.Const(player, type=e.function.params[0].type), term, type=term.type)
                parts.append((readable(term.span.text), sign * int(code.expr(wrapped).fn(row))))
            return parts
        return []

    # ------------------------------------------------------------ copies and files

    def copy(self) -> "Match":
        made = Match(
            self.game, self.players, self.settings, self.seed, self.script, self.ask_forced, self.names,
            list(self.choices), self._program, self.machine.copy(),
        )  # fmt: skip
        made._dice = self._dice
        made.taken_back = list(self.taken_back)
        return made

    def undo(self) -> None:
        """Takes the last choice back, as if it had never been made: for programs that try something."""
        if not self.choices:
            raise IllegalChoice("nothing to take back")
        self._replay(self.choices[:-1])
        while self.taken_back and len(self.taken_back[-1][0]) - self.taken_back[-1][1] > len(self.choices):
            self.taken_back.pop()  # the choice before it has never been made

    def take_back(self, count: int) -> None:
        """The last choices go, and the match file says so: for people, who cannot forget what they saw."""
        if not 0 < count <= len(self.choices):
            raise IllegalChoice("nothing to take back")
        before = tuple(self.choices)
        self._replay(list(before[:-count]))
        self.taken_back.append((before, count))

    def _replay(self, choices: list[tuple[int, int]]) -> None:
        self._traced = None
        self._machine = self._fresh()
        self.choices = []
        for player, k in choices:
            self.choose(player, k)

    @property
    def state(self) -> tuple[int, ...]:
        """The whole state as one tuple of integers."""
        return self.machine.key()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Match):
            return NotImplemented
        same = self.game.rules == other.game.rules and self.players == other.players and self.settings == other.settings
        return same and self.state == other.state

    def __hash__(self) -> int:
        return hash(self.state)

    def to_text(self) -> str:
        """The match as a file: a header, then one readable line for each choice."""
        from rulelang.matchfile import to_text

        return to_text(self)
