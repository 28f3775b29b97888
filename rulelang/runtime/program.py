"""A game made ready to run for one player count and one set of options: closures by node number, slots, a start.

The same graph is built in three ways: fast; traced (`emit`), which also reports every effect; and counted (`tally`),
which keeps what fired.  All take the same choices."""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, evolve, field

from rulelang.core import nodes as core
from rulelang.core.apparent import ruled, untold
from rulelang.core.sight import origins
from rulelang.core.threads import walk
from rulelang.core.types import SetT, Type
from rulelang.errors import RuleError
from rulelang.graph import nodes as graph
from rulelang.graph.compile import compile_graph
from rulelang.graph.layout import CHANCE, FIRST, Layout, add_universes, error_at, make_layout
from rulelang.limits import MEMBERS
from rulelang.runtime.budget import BY
from rulelang.runtime.choices import AskCode, Choices
from rulelang.runtime.counting import Counting, Tally
from rulelang.runtime.effects import Emit
from rulelang.runtime.events import Again, Began, Drawn, Shuffled
from rulelang.runtime.values import SEQ_BITS, Fn, State, Values, pack_seq

Chance = Callable[[State, str, tuple[int, ...], Type, bool], tuple[int, ...]]
Step = Callable[[State], int]


@define(eq=False)
class ForkCode:
    """`together`: who takes part, where threads begin, and which slots they may write"""

    fork: graph.Fork
    who: Fn
    var: int
    asks: bool
    added: tuple[int, ...]  # counters and zones: differences are added up
    limits: tuple[tuple[int, int, int, str], ...]  # counters that several may change: slot, range, name
    set: tuple[int, ...]  # everything else: one thread at most writes it


@define(eq=False)
class Program:
    layout: Layout
    graph: graph.PhaseGraph
    steps: list[Step]
    asks: dict[int, AskCode]
    forks: dict[int, ForkCode]
    ends: frozenset[int]
    start: State
    places: int  # where the slots of all declared places end
    persistent: int
    dead: dict[int, tuple[int, ...]]
    values: Choices

    def run(self, s: State, pc: int) -> int:
        """Walks the graph until somebody is asked, threads begin or end, or the match is over."""
        steps, budget = self.steps, self.values.budget
        try:
            for n in range(budget.left):
                pc = steps[pc](s)
                if pc < 0:
                    budget.left -= n + 1
                    return ~pc
        except RuleError as err:
            raise err if err.origin is not None else error_at(str(err), self.graph.nodes[pc].origin) from err
        raise self._endless(s, pc)

    def _endless(self, s: State, pc: int) -> RuleError:
        """Which loop goes round, and whether anything changes in it: one more round is looked at."""
        row, seen = s[:], list[int]()
        budget = self.values.budget
        heads = graph.LoopHead | graph.EachHead
        before: dict[int, State] = {}
        same: dict[int, bool] = {}
        for _ in range(4 * len(self.steps)):
            budget.renew()
            seen.append(pc)
            if isinstance(self.graph.nodes[pc], heads):
                same[pc] = before.get(pc) == row[FIRST : self.places]
                before[pc] = row[FIRST : self.places]
            try:
                pc = self.steps[pc](row)
            except RuleError:
                break
            if pc < 0:
                break
        head = min((n for n in seen if isinstance(self.graph.nodes[n], heads)), default=seen[0])
        node = self.graph.nodes[head]
        name = f"`{node.path.rpartition('.')[2]}`" if node.path else "a loop"
        told = ", and nothing changes in it" if same.get(head) else ""
        return error_at(f"{name} goes round without asking anybody{told}", node.origin)

    def key(self, s: State) -> tuple[int, ...]:
        """The state as plain data: what is out of scope counts as 0."""
        kept = s[: self.persistent]
        for at in self.dead.get(s[0], ()):
            kept[at] = 0
        return tuple(kept)


@define(eq=False)
class _Maker:
    layout: Layout
    code: Choices
    chance: Chance
    emit: Emit | None
    watch: Callable[[State], None] | None = None
    asks: dict[int, AskCode] = field(factory=dict)
    forks: dict[int, ForkCode] = field(factory=dict)
    made: list[Step] = field(factory=list)

    def steps(self, g: graph.PhaseGraph) -> list[Step]:
        """One closure for each node.  In the fast build nothing is left of steps that only have a name, and a loop
        in which nobody is asked runs as a loop of the host."""
        nodes = list(g.nodes) if self.emit is not None or self.watch is not None else [_past_names(n, g.nodes) for n in g.nodes]
        self.made.extend([_never] * len(nodes))
        todo, seen = [g.entry], set[int]()
        while todo:  # what stands inside another closure is not built again
            at = todo.pop()
            if at < 0 or at in seen:
                continue
            seen.add(at)
            node = nodes[at]
            after = nodes[node.next] if isinstance(node, graph.Do | graph.EachStart) else None
            if isinstance(node, graph.Do) and isinstance(after, graph.Test):  # effects and the question after them are one step
                self.made[at] = self._do_and_test(node, after)
                todo.extend(graph.followers(after))
            elif isinstance(node, graph.EachStart) and isinstance(after, graph.EachHead) and _closed(after, nodes):
                self.made[at], is_whole = self._host_loop(node, after, nodes)
                todo.extend((after.exit,) if is_whole else (after.body, after.exit))
            else:
                self.made[at] = self.step(node)
                todo.extend(graph.followers(node))
        return self.made

    def _do_and_test(self, node: graph.Do, after: graph.Test) -> Step:
        effect = _in_a_row(self.effects(node))
        test = self.code.expr(after.test)
        t, yes, no = test.fn, after.yes, after.no
        if test.const:
            return _do((effect,), yes if test.value else no)

        def both(s: State) -> int:
            effect(s)
            return yes if t(s) else no

        return both

    def _straight(self, at: int, top: int, nodes: list[graph.AnyNode], depth: int = 0) -> Callable[[State], None] | None:
        """A body of effects and questions only, as closures inside one another; nothing for anything else."""
        if at == top:
            return _nothing
        node = nodes[at]
        if isinstance(node, graph.Do) and depth < 8:
            rest = self._straight(node.next, top, nodes, depth + 1)
            if rest is None:
                return None
            effects = self.effects(node) if rest is _nothing else (*self.effects(node), rest)
            return _in_a_row(effects) if effects else _nothing
        if isinstance(node, graph.Test) and depth < 8:
            yes, no = self._straight(node.yes, top, nodes, depth + 1), self._straight(node.no, top, nodes, depth + 1)
            if yes is None or no is None:
                return None
            return _branch(self.code.expr(node.test).fn, yes, no)
        return None

    def _host_loop(self, node: graph.EachStart, head: graph.EachHead, nodes: list[graph.AnyNode]) -> tuple[Step, bool]:
        """The loop, and whether its body is part of it."""
        items, order, var = self.code.seq(node.base), self._order(node.order), self.code.variable(head.var)
        body, top, exit_, made = head.body, head.id, head.exit, self.made
        effect = self._straight(body, top, nodes) if order is None else None
        budget, origin = self.code.budget, node.origin
        if effect is _nothing:
            return _jump(exit_), True
        if effect is not None:

            def one(s: State) -> int:
                found = items(s)
                budget.left -= len(found)
                if budget.left < 0:
                    budget.spend(0, origin)
                for x in found:
                    s[var] = x
                    effect(s)
                return exit_

            return one, True

        def several(s: State) -> int:
            found = items(s)
            budget.spend(len(found), origin)
            if order is not None:
                found = order(s, found)
            left = before = budget.left
            for x in found:
                s[var] = x
                pc = made[body](s)
                while pc != top and left:
                    left -= 1
                    pc = made[pc](s)
            budget.spend(before - left + (not left), origin)
            return exit_

        return several, False

    def effects(self, node: graph.Do) -> tuple[Callable[[State], None], ...]:
        """What a node does; of what is only said the fast build knows nothing."""
        return tuple(self.code.effect(a) for a in node.actions if self.emit is not None or not isinstance(a, core.Say))

    def step(self, node: graph.AnyNode) -> Step:
        code, emit = self.code, self.emit
        match node:
            case graph.Do():
                return _do(self.effects(node), node.next)
            case graph.Test():
                test = code.expr(node.test)
                f, yes, no = test.fn, node.yes, node.no
                if test.const:
                    return _jump(yes if test.value else no)
                return lambda s: yes if f(s) else no
            case graph.LoopStart():
                return self._loop_start(node)
            case graph.LoopHead():
                return self._loop_head(node)
            case graph.EachStart():
                return self._each_start(node)
            case graph.EachHead():
                return self._each_head(node)
            case graph.Ask():
                self.asks[node.id] = code.ask(node.decide, node.bodies)
                return _jump(~node.id)
            case graph.Fork():
                self.forks[node.id] = self._fork(node)
                return _jump(~node.id)
            case graph.Chance():
                return self._chance(node)
            case graph.StepStart() if emit is not None:
                event, then = Began(node.origin, node.path, node.inside), node.next

                def began(s: State) -> int:
                    emit(event)
                    return then

                return began
            case graph.StepEnd() if self.watch is not None and not node.inside:
                return _watched(self.watch, node.next)
            case graph.StepStart() | graph.StepEnd():
                return _jump(node.next)
            case graph.ThreadEnd() | graph.Stop():
                return _jump(~node.id)

    def _loop_start(self, node: graph.LoopStart) -> Step:
        at, then = self.code.variable(node.count), node.next
        if node.times is None:

            def start(s: State) -> int:
                s[at] = 0
                return then

            return start
        limit, times = self.code.variable(node.limit), self.code.expr(node.times).fn

        def start_counted(s: State) -> int:
            s[at] = 0
            s[limit] = times(s)
            return then

        return start_counted

    def _loop_head(self, node: graph.LoopHead) -> Step:
        at, body, exit_ = self.code.variable(node.count), node.body, node.exit
        emit = self.emit if node.told else None
        origin, name = node.origin, node.count.name
        limit = None if node.limit is None else self.code.variable(node.limit)

        def again(s: State) -> int:
            if limit is not None and s[at] >= s[limit]:
                return exit_
            s[at] += 1
            if emit is not None:
                emit(Again(origin, name, s[at]))
            return body

        return again

    def _each_start(self, node: graph.EachStart) -> Step:
        queue, then, items = self.code.variable(node.queue), node.next, self.code.seq(node.base)
        order = self._order(node.order)
        memo: dict[Any, int] = {}

        def start(s: State) -> int:
            found = items(s)
            if order is not None:
                found = order(s, found)
            packed = memo.get(found)
            if packed is None:
                packed = pack_seq(found)
                if len(memo) < 4096 and len(found) < 100:
                    memo[found] = packed
            s[queue] = packed
            return then

        return start

    def _order(self, order: core.Order | None) -> Callable[[State, Iterable[int]], tuple[int, ...]] | None:
        if order is None:
            return None
        at = self.code.variable(order.var)
        items = [(sign, self.code.expr(e).fn) for sign, e in order.items]

        def sort(s: State, found: Iterable[int]) -> tuple[int, ...]:
            keys = {}
            for x in found:
                s[at] = x
                keys[x] = tuple(-sign * f(s) for sign, f in items)
            return tuple(sorted(keys, key=lambda x: (*keys[x], x)))

        return sort

    def _each_head(self, node: graph.EachHead) -> Step:
        queue, var, body, exit_ = self.code.variable(node.queue), self.code.variable(node.var), node.body, node.exit
        mask = (1 << SEQ_BITS) - 1

        def head(s: State) -> int:
            left = s[queue]
            if not left:
                return exit_
            s[var] = (left & mask) - 1
            s[queue] = left >> SEQ_BITS
            return body

        return head

    def _fork(self, node: graph.Fork) -> ForkCode:
        added: set[int] = set()
        fixed: set[int] = set()
        for s in walk(node.together.body):
            for ref in _written(s):
                first, size = self.layout.slots[ref.place], self.layout.sizes[ref.place]
                if ref.place.visibility != "local":
                    (added if ref.place.word in ("counter", "zone") else fixed).update(range(first, first + size))
                elif not _inside(ref.place, node.together.body):
                    (added if ref.place.word == "counter" else fixed).update(range(first, first + size))
        who = self.code.seq(node.together.base)
        var = self.code.variable(node.together.var)
        limits: list[tuple[int, int, int, str]] = []
        for place in self.layout.slots:
            if place.word == "counter" and self.layout.slots[place] in added and not (place.stops_low or place.stops_high):
                low, high = self.code.limits(place)
                first = self.layout.slots[place]
                limits.extend((i, low, high, place.name) for i in range(first, first + self.layout.sizes[place]))
        return ForkCode(node, who, var, node.together.asks, tuple(sorted(added)), tuple(limits), tuple(sorted(fixed)))

    def _chance(self, node: graph.Chance) -> Step:
        a, then, chance, emit = node.action, node.next, self.chance, self.emit
        if isinstance(a, core.Shuffle):
            universe, slot, place = self.layout.universe(a.place.place.type), self.code.slot(a.place).fn, a.place.place

            def shuffle(s: State) -> int:
                i = slot(s)
                items = universe.unpack(s[i])
                s[i] = universe.pack(chance(s, place.name, items, place.type, True))
                s[CHANCE] += 1
                if emit is not None:
                    emit(Shuffled(node.origin, place, i))
                return then

            return shuffle
        at, items_of, var = self.code.variable(a.var), self.code.seq(a.base), a.var
        most, budget = self.layout.game.limits.cells, self.code.budget

        def draw(s: State) -> int:
            found = items_of(s)
            if len(found) > most:
                raise error_at(f"chance picks one of {len(found)}: at most {most}", node.origin)
            budget.spend(len(found) // BY, node.origin)
            items = tuple(found)
            if not items:
                raise error_at("chance has nothing to pick from", node.origin)
            s[at] = chance(s, var.name, items, SetT(var.type), False)[0]
            s[CHANCE] += 1
            if emit is not None:
                emit(Drawn(node.origin, var, s[at]))
            return then

        return draw


def _past_names(node: graph.AnyNode, nodes: tuple[graph.AnyNode, ...]) -> graph.AnyNode:
    """The node with its edges past steps that do nothing but bear a name."""

    def past(at: int) -> int:
        while at >= 0 and isinstance(found := nodes[at], graph.StepStart | graph.StepEnd):
            at = found.next
        return at

    new: dict[str, Any] = {name: past(getattr(node, name)) for name in ("next", "yes", "no", "body", "exit") if hasattr(node, name)}
    if isinstance(node, graph.Ask):
        new["bodies"] = tuple(past(b) for b in node.bodies)
    return evolve(node, **new) if any(getattr(node, name) != to for name, to in new.items()) else node


def _closed(head: graph.EachHead, nodes: list[graph.AnyNode]) -> bool:
    """Does every way through the body come back to the head, and nobody is asked on it?"""
    todo, seen = [head.body], {head.id}
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        node = nodes[at]
        if isinstance(node, graph.Ask | graph.Fork | graph.Stop | graph.ThreadEnd) or at == head.exit or len(seen) > 200:
            return False
        todo.extend(graph.followers(node))
    return True


def _never(s: State) -> int:
    raise AssertionError("a node that no way leads to")


def _nothing(s: State) -> None:
    """The end of a straight body"""


def _branch(test: Fn, yes: Callable[[State], None], no: Callable[[State], None]) -> Callable[[State], None]:
    def branch(s: State) -> None:
        if test(s):
            yes(s)
        else:
            no(s)

    return branch


def _in_a_row(effects: tuple[Callable[[State], None], ...]) -> Callable[[State], None]:
    if len(effects) == 1:
        return effects[0]
    if len(effects) == 2:
        first, second = effects

        def two(s: State) -> None:
            first(s)
            second(s)

        return two

    def row(s: State) -> None:
        for f in effects:
            f(s)

    return row


def _do(effects: tuple[Callable[[State], None], ...], then: int) -> Step:
    effect = _in_a_row(effects)

    def do(s: State) -> int:
        effect(s)
        return then

    return do


def _watched(watch: Callable[[State], None], then: int) -> Step:
    def step(s: State) -> int:
        watch(s)
        return then

    return step


def _jump(to: int) -> Step:
    return lambda s: to


def _slots(layout: Layout) -> Iterable[tuple[core.Variable | core.Place, int]]:
    """Every slot that belongs to a scope: variables, and places inside a body."""
    yield from layout.variables.items()
    for place, first in layout.slots.items():
        if place.visibility == "local":
            yield from ((place, first + i) for i in range(layout.sizes[place]))


def _live(node: graph.Ask | graph.Fork | graph.Stop) -> frozenset[core.Variable | core.Place]:
    return frozenset() if isinstance(node, graph.Stop) else node.live


def _written(s: core.Statement) -> tuple[core.PlaceRef, ...]:
    match s:
        case core.Change() | core.SetTo() | core.Shuffle():
            return (s.place,)
        case core.MovePieces() | core.MoveCount():
            return (s.source, s.goal)
        case _:
            return ()


def _inside(place: core.Place, body: tuple[core.Statement, ...]) -> bool:
    return any(isinstance(s, core.SetTo) and s.place.place is place and s.origin.span is place.span for s in walk(body))


def _variables(g: graph.PhaseGraph) -> Iterable[core.Variable]:
    """Every variable that can live while somebody thinks."""
    for node in g.nodes:
        match node:
            case graph.Do():
                for a in node.actions:
                    if isinstance(a, core.Bind):
                        yield a.var
            case graph.Chance():
                if isinstance(node.action, core.BindRandom):
                    yield node.action.var
            case graph.LoopStart():
                yield node.count
                if node.times is not None:
                    yield node.limit
            case graph.EachHead():
                yield from (node.queue, node.var)
            case graph.Fork():
                yield node.together.var
            case graph.Ask():
                for c in node.decide.choices:
                    for p in c.picks:
                        yield p.var
            case _:
                pass


def _local_places(body: Iterable[core.Statement]) -> Iterable[core.Place]:
    for s in walk(tuple(body)):
        if isinstance(s, core.SetTo) and s.place.place.visibility == "local":
            yield s.place.place


def with_pieces(layout: Layout) -> Layout:
    """The pieces of so many players: how many there are of each kind."""
    numbers = Values(layout)
    numbers.scratch_base = layout.size + 10_000
    add_universes(layout, {k: numbers.settled(p.count) for k, p in layout.game.pieces.items() if p.count is not None})
    return layout


def make_program(
    game: core.Game, players: int, options: dict[str, int], chance: Chance, emit: Emit | None = None, *,
    watch: Callable[[State], None] | None = None, tally: Tally | None = None,
    flow: tuple[core.Statement, ...] | None = None, extra: tuple[core.Variable, ...] = (), loop_counts: Iterable[core.Variable] = (),
) -> Program:  # fmt: skip
    """Closures for every node.  `flow` stands in for the game's own where an example runs a single step."""
    body = game.flow if flow is None else flow
    layout = make_layout(game, players, options)
    with_pieces(layout)
    for place in dict.fromkeys(_local_places(body)):
        layout.add_place(place)
    code = Choices(layout, emit=emit) if tally is None else Counting(layout, emit=emit, tally=tally)
    run = code.as_run(body)
    g = compile_graph(run)
    code.origins, code.untold, code.ruled = origins(run), untold(run), ruled(run)
    for var in dict.fromkeys([*loop_counts, *extra, *_variables(g)]):
        layout.variables[var] = layout.size
        layout.size += 1
    persistent = layout.size
    places = make_layout(game, players, options).size
    code.scratch_base = persistent
    code.run_pure = _pure
    maker = _Maker(layout, code, chance, emit, watch)
    steps = maker.steps(g)
    start = _start(game, layout, code)
    counted = {layout.variables[c] for c in loop_counts}
    dead = {
        n.id: tuple(at for thing, at in _slots(layout) if thing not in _live(n) and at not in counted)
        for n in g.nodes if isinstance(n, graph.Ask | graph.Fork | graph.Stop)
    }  # fmt: skip
    ends = frozenset(n.id for n in g.nodes if isinstance(n, graph.ThreadEnd))
    return Program(layout, g, steps, maker.asks, maker.forks, ends, start, places, persistent, dead, code)


def _pure(code: Choices, body: tuple[core.Statement, ...]) -> Callable[[State], None]:
    """A definition with loops: a small graph of its own over scratch slots."""
    layout, inner = code.layout, compile_graph(code.as_run(body))
    for place in dict.fromkeys(_local_places(body)):
        if _size(layout, place) > MEMBERS:
            raise error_at(f"`{place.name}` stands for too many places", core.Origin(place.span))
        # Local places of a value live in the scratch slots: one variable stands for each.
        for index in range(_size(layout, place)):
            var = core.Variable(f"{place.name}{index}", place.type)
            at = code.variable(var)
            if index == 0:
                layout.slots[place] = at
        layout.strides[place] = _strides(layout, place)
        layout.sizes[place] = _size(layout, place)
    steps = _Maker(layout, code, _no_chance, None).steps(inner)
    entry, budget, origin = inner.entry, code.budget, inner.nodes[inner.entry].origin

    def run(s: State) -> None:
        pc = entry
        for n in range(budget.left):
            pc = steps[pc](s)
            if pc < 0:
                budget.spend(n + 1, origin)
                return
        raise error_at("a definition goes round for ever", origin)

    return run


def _size(layout: Layout, place: core.Place) -> int:
    total = 1
    for k in place.keys:
        total *= layout.key_size(k)
    return total


def _strides(layout: Layout, place: core.Place) -> tuple[int, ...]:
    strides: list[int] = []
    total = 1
    for k in reversed(place.keys):
        strides.insert(0, total)
        total *= layout.key_size(k)
    return tuple(strides)


def _no_chance(s: State, name: str, items: tuple[int, ...], t: Type, whole: bool) -> tuple[int, ...]:
    raise AssertionError("a value has no chance")


def _start(game: core.Game, layout: Layout, code: Choices) -> State:
    """Every place as it starts, before the first rule."""
    s = [0] * (layout.size + len(code.layout.scratch) + 64)
    for place in game.places.values():
        first, size = layout.slots[place], layout.sizes[place]
        value = 0
        if place.word == "slot":
            value = -1
        for index in range(size):
            owner, _keys = layout.slot_name(place, index)
            if place.starts_at is not None:
                code.env = {}
                fn = code.as_type(place.starts_at, place.type)
                value = code.store(place.type, place.span)(fn.fn(s))
            elif place.word == "counter" and place.low is not None:
                value = max(0, code.settled(place.low))
            if place.word == "counter":
                low, high = code.limits(place)
                if not low <= value <= high:
                    raise error_at(f"`{place.name}` would start at {value}, outside of its range", core.Origin(place.span))
            if place.starts_with is not None:
                universe = layout.universe(place.type)
                classes = [
                    c for c, cls in enumerate(universe.classes)
                    if cls.kind == place.starts_with and cls.owner == (owner if cls.owner >= 0 else cls.owner)
                    for _ in range(cls.count)
                ]  # fmt: skip
                value = universe.pack(classes) if place.word == "pile" else universe.bag(classes)
            s[first + index] = value
    return s
