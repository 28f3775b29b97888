"""Examples, run: given a position, run labels of the rules, choose, and compare with what the rulebook expects.

An example starts from the declared starts, without set-up.  `given` takes pieces that were not given yet; what lay
in the place before is set aside.  A choice with one answer happens silently."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import define, evolve, field, frozen

from rulelang.core import nodes as core
from rulelang.core.check import check
from rulelang.core.flow import Flow
from rulelang.core.scope import Bound, Scope
from rulelang.core.types import PLAYER, BoolT, ErrorT, KindT, MaybeT, NumberT, PieceT, PlayerT, SetT, Type, plain, within
from rulelang.diagnostics import Diagnostic, Note, Problems, near, several
from rulelang.errors import RuleError, UsageError
from rulelang.graph.layout import Universe
from rulelang.names.table import Definition, LabelSymbol, Names
from rulelang.pipeline import Loaded
from rulelang.runtime.machine import Machine, Pending
from rulelang.runtime.program import Program, make_program
from rulelang.runtime.settings import option_value, refused
from rulelang.runtime.values import State, members, rep
from rulelang.runtime.words import Words
from rulelang.source import Span
from rulelang.surface import nodes
from rulelang.surface.phrasing import meant


@frozen
class ClaimResult:
    """One example, and what came of it"""

    name: str
    origin: str
    module: str
    span: Span
    problem: Diagnostic | None

    @property
    def ok(self) -> bool:
        return self.problem is None


class Failed(Exception):
    """An example that does not hold, with the line and the reason"""

    def __init__(self, code: str, message: str, span: Span, hint: str = "") -> None:
        super().__init__(message)
        self.found = (code, message, span, hint)


def run_claims(loaded: Loaded, only_module: str | None = None) -> list[ClaimResult]:
    """Every example of a game with its layers (and of the libraries it uses), or of one module."""
    assert loaded.names is not None
    return [run_example(loaded, e, m) for e, m in loaded.names.examples if only_module is None or m.name == only_module]


def run_example(loaded: Loaded, example: nodes.Example, module: nodes.Module, make: Callable[..., Program] = make_program) -> ClaimResult:
    """One example; `make` builds what runs."""
    assert loaded.names is not None and loaded.game is not None and loaded.flow is not None
    problem = None
    try:
        _Run(loaded.names, loaded.game, loaded.flow, example, module, make).all()
    except Failed as failed:
        code, message, span, hint = failed.found
        problem = Diagnostic(code, message, span, hint, example.origin or "")
    except RuleError as err:
        message = f"the rules stop: {str(err).splitlines()[0]}"
        notes = (Note(err.origin.span, "at this rule"),) if isinstance(err.origin, core.Origin) and err.origin.span.source.path else ()
        hint = "mend the rule, or begin the example with another position"
        problem = Diagnostic("R403", message, example.span, hint, example.origin or "", notes)
    return ClaimResult(example.text, example.origin or "", module.name, example.span, problem)


def check_examples(loaded: Loaded) -> None:
    """Adds a finding for every name in the examples of a file that nothing has; what they claim is for `rulelang test`."""
    assert loaded.names is not None and loaded.game is not None and loaded.flow is not None
    for example, module in loaded.names.examples:
        if module.source.path == loaded.sources[0].path:
            for failed in _Run(loaded.names, loaded.game, loaded.flow, example, module, make_program).astray():
                loaded.problems.add(*failed.found, heading=example.origin or "")


@define(eq=False)
class _Run:
    names: Names
    game: core.Game
    flow: Flow
    example: nodes.Example
    module: nodes.Module
    make: Callable[..., Program]
    seats: tuple[str, ...] = ()
    settings: dict[str, int] = field(factory=dict)
    counts: dict[str, int] = field(factory=dict)
    script: dict[str, list[nodes.ExampleValue]] = field(factory=dict)
    aside: dict[int, int] = field(factory=dict)  # pieces out of place, by universe, as a bag
    given_slots: set[int] = field(factory=set)
    fixed: list[nodes.ExState] = field(factory=list)
    row: State = field(factory=list)
    base: Program | None = None
    machine: Machine | None = None
    line: nodes.ExampleLine | None = None

    # ------------------------------------------------------------ the names in it

    def astray(self) -> Iterator[Failed]:
        """Names that nothing has, and a beginning without players: known before anything runs."""
        lines = self.example.lines
        if not lines or not isinstance(lines[0], nodes.ExPlayers):
            yield Failed("R401", "an example begins with its players", self.example.span, "players anna, ben")
            return
        self.seats = lines[0].names
        for line in lines[1:]:
            match line:
                case nodes.ExState(word="given" | "expect"):
                    yield from self._unknown_target(line)
                case nodes.ExRun():
                    yield from (self._no_label(label, line) for label in line.labels if not self._labels(label))
            player = line.target.owner if isinstance(line, nodes.ExState) else getattr(line, "player", None)
            if player is not None and player not in self.seats:
                yield self._nobody(player, line.span)

    def _unknown_target(self, line: nodes.ExState) -> Iterator[Failed]:
        name, ended = line.target.name, ("winners",) if line.word == "expect" else ()
        known = [*self.game.places, *self.names.definitions, *self.flow.loop_counts, *ended]
        if name in known:
            return
        hint = near(name, known) or "name a place or a definition of the rules"
        if name in self.seats:  # `given anna: 2 ink`
            said = next((said for said in meant(line.span.text, line.span.source.text, self.example.span.text)), None)
            hint = said.told(said.mended) if said is not None else f"the place comes first: `{line.word} PLACE of {name}: ...`"
        yield Failed("R103", f"unknown {'place' if line.word == 'given' else 'name'} `{name}`", line.target.span, hint)

    def _labels(self, label: str) -> list[LabelSymbol]:
        return [x for x in self.names.label(label) if x.sort in ("step", "loop", "verb")]

    def _no_label(self, label: str, line: nodes.ExRun) -> Failed:
        known = [x.path[-1] for x in self.names.labels if x.sort != "option"]
        return Failed("R122", f"no step, loop or verb `{label}`", line.span, near(label, known) or "name one of the rules")

    def _nobody(self, name: str, span: Span) -> Failed:
        return Failed("R103", f"nobody is called `{name}` here", span, near(name, self.seats) or f"players: {', '.join(self.seats)}")

    # ------------------------------------------------------------ the lines, in order

    def all(self) -> None:
        for failed in self.astray():
            raise failed
        lines = list(self.example.lines)
        assert isinstance(lines[0], nodes.ExPlayers)
        for line in lines:
            if isinstance(line, nodes.ExOption):
                self._option(line)
        self._players(lines[0])
        self._fix_definitions(lines)
        self.base = self._program(())
        self.row = self.base.start[:]
        for line in lines[1:]:
            self.line = line
            match line:
                case nodes.ExState(word="given"):
                    self._given(line)
                case nodes.ExState(word="chance"):
                    self.script.setdefault(line.target.name, []).extend(line.values)
                case nodes.ExState():
                    self._expect(line)
                case nodes.ExRun():
                    self._run(line)
                case nodes.ExChoice():
                    self._choice(line)
                case nodes.ExThat():
                    self._that(line)
                case nodes.ExPlayers():
                    raise Failed("R401", "the players are named once", line.span, "at the start of the example")
                case nodes.ExOption():
                    pass

    def _players(self, line: nodes.ExPlayers) -> None:
        if len(self.seats) not in self.game.players:
            raise Failed(
                "R401",
                f"{len(self.seats)} players",
                line.span,
                f"{self.game.title} is for {self.game.players[0]} to {self.game.players[-1]}",
            )
        if len(set(self.seats)) != len(self.seats):
            raise Failed("R401", "two players have one name", line.span, "give them different names")
        self.settings = {o.name: self.settings.get(o.name, o.default) for o in self.game.options.values()}
        barred = refused(self.game, len(self.seats), self.settings)
        if barred is not None:
            at = next((x.span for x in self.example.lines if isinstance(x, nodes.ExOption) and x.name == barred.name), line.span)
            shown = barred.span.text.split("only if")[-1].split("{")[0].strip()
            raise Failed("R401", f"`{barred.name}` cannot be so here", at, f"only if {shown}")

    def _option(self, line: nodes.ExOption) -> None:
        option = self.game.options.get(line.name)
        if option is None:
            raise Failed("R103", f"no option `{line.name}`", line.span, near(line.name, self.game.options))
        named = isinstance(option.type, PlayerT) and isinstance(line.value, str)
        try:
            value = self._seat(str(line.value), line.span) if named else line.value
            self.settings[line.name] = option_value(self.game, option, value, len(self.seats))
        except UsageError as err:
            raise Failed("R401", str(err), line.span) from err

    def _fix_definitions(self, lines: Iterable[nodes.ExampleLine]) -> None:
        """`given purse: 42, 0` fixes a definition: the rules are checked once more with it."""
        for line in lines:
            if isinstance(line, nodes.ExState) and line.word == "given" and self._known_as(line.target.name) is not None:
                self.fixed.append(line)
        if not self.fixed:
            return
        problems = Problems()
        given: dict[int, list[tuple[int | None, tuple[int, ...], int]]] = {}
        for line in self.fixed:
            d = self._known_as(line.target.name)
            function = self.flow.functions.get(id(d))
            if d is None or function is None:
                raise Failed("R401", f"`{line.target.name}` cannot be given", line.span, "only a value without measures can")
            keys = self._keys(d, function, line)
            for owner, value in self._by_owner(line, d.per_player):
                given.setdefault(id(d), []).append((owner, keys, self._literal(value, function.type)))
        self.game, self.flow = check(self.names, problems, given, self.game.limits)

    def _known_as(self, name: str) -> Definition | None:
        """The definition that is called so in the file of the example; another library may have one of that name."""
        scope = Scope(self.module)
        return next((d for d in self.names.definitions.get(name, ()) if self.flow.sees_definition(d, scope)), None)

    def _program(self, body: tuple[core.Statement, ...]) -> Program:
        counts = tuple(self.flow.loop_counts.values())
        return self.make(self.game, len(self.seats), self.settings, self._chance, None, flow=body, loop_counts=counts)

    # ------------------------------------------------------------ words to values

    def _key(self, k: int | str, t: Type, span: Span) -> int:
        if isinstance(t, KindT):
            words = self.game.kinds[t.kind].members
            if k not in words:
                raise Failed("R104", f"`{k}` is no {t.kind}", span, near(str(k), words))
            return words.index(str(k))
        if isinstance(t, PlayerT):
            return self._seat(str(k), span)
        if not isinstance(k, int):
            raise Failed("R401", f"`{k}` is no number", span)
        return k

    def _keys(self, d: Definition, function: core.Function, line: nodes.ExState) -> tuple[int, ...]:
        """`price(2)`: what stands between the brackets, as the definition takes it."""
        params = function.params[1:] if d.per_player else function.params
        if len(params) != len(line.target.keys):
            raise Failed("R216", f"`{d.name}` has {several(len(params), 'key')}, here are {len(line.target.keys)}", line.target.span)
        keys = tuple(self._key(k, p.type, line.span) for k, p in zip(line.target.keys, params, strict=True))
        for k, p in zip(keys, params, strict=True):
            if not within(NumberT(k, k), p.type):
                message = f"`{p.name}` of `{d.name}` is {p.type}, this is the number {k}"
                raise Failed("R249", message, line.target.span, "give a number of this range, or write a wider range")
        return keys

    def _seat(self, name: str, span: Span) -> int:
        if name not in self.seats:
            raise self._nobody(name, span)
        return self.seats.index(name)

    def _by_owner(self, line: nodes.ExState, per_player: bool) -> list[tuple[int | None, nodes.ExampleValue]]:
        if line.target.owner is not None:
            if not per_player:
                raise Failed("R214", f"`{line.target.name}` belongs to nobody", line.span, "leave out `of ...`")
            if len(line.values) != 1:
                raise Failed("R401", "one value for one player", line.span)
            return [(self._seat(line.target.owner, line.span), line.values[0])]
        if per_player:
            if len(line.values) != len(self.seats):
                raise Failed(
                    "R401", f"{several(len(line.values), 'value')} for {several(len(self.seats), 'player')}", line.span,
                    f"one for each player in order, or `{line.target.name} of {self.seats[0]}: ...`",
                )  # fmt: skip
            return list(enumerate(line.values))
        if len(line.values) != 1:
            hint = "write one; what every player has of their own is declared below `each player`"
            raise Failed("R401", f"`{line.target.name}` has one value, here are {len(line.values)}", line.span, hint)
        return [(None, line.values[0])]

    def _literal(self, value: nodes.ExampleValue, t: Type) -> int:
        if isinstance(t, MaybeT):
            return -1 if value.cells == ("none",) else self._literal(value, t.item)
        if isinstance(t, SetT) and value.items is not None and not isinstance(plain(t.item), PieceT):
            return sum(1 << self._cell(item[0], t.item, value.span) for item in value.items)
        if value.items is not None or len(value.cells) != 1:
            raise Failed("R401", f"`{value.span.text}` is not {t}", value.span)
        return self._cell(value.cells[0], t, value.span)

    def _cell(self, cell: int | str | bool, t: Type, span: Span) -> int:
        match t:
            case BoolT() if isinstance(cell, bool):
                return int(cell)
            case KindT():
                return self._key(cell, t, span)
            case PlayerT():
                return self._seat(str(cell), span)
            case NumberT() if isinstance(cell, int) and not isinstance(cell, bool):
                return cell
        raise Failed("R401", f"`{span.text}` is not {t}", span)

    # ------------------------------------------------------------ given

    def _place(self, target: nodes.Target) -> core.Place:
        place = self.game.places.get(target.name)
        if place is None:
            raise Failed("R103", f"unknown place `{target.name}`", target.span, near(target.name, self.game.places))
        if len(target.keys) != len(place.keys):
            raise Failed("R216", f"`{place.name}` has {several(len(place.keys), 'key')}, here are {len(target.keys)}", target.span)
        return place

    def _slot(self, place: core.Place, owner: int | None, target: nodes.Target) -> int:
        assert self.base is not None
        layout = self.base.layout
        parts = [] if owner is None else [owner]
        for k, t in zip(target.keys, place.keys, strict=True):
            at = self._key(k, t, target.span) - layout.key_low(t)
            if not 0 <= at < layout.key_size(t):
                raise Failed("R401", f"`{place.name}` has no key {k}", target.span)
            parts.append(at)
        return layout.slots[place] + sum(p * stride for p, stride in zip(parts, layout.strides[place], strict=True))

    def _given(self, line: nodes.ExState) -> None:
        if line in self.fixed:
            return
        if self.machine is not None and self.machine.pending:
            raise Failed("R402", "`given` while somebody is asked", line.span, "give the position before `run`")
        loops = {v.name for v in self.flow.loop_counts.values()}
        if line.target.name in loops and line.target.name not in self.game.places:
            self.counts[line.target.name] = self._cell(line.values[0].cells[0], NumberT(), line.span)
            return
        place = self._place(line.target)
        for owner, value in self._by_owner(line, place.per_player):
            slot = self._slot(place, owner, line.target)
            if place.holds_pieces:
                self._give_pieces(place, owner, slot, value)
            else:
                self.row[slot] = self._in_range(self._literal(value, place.type), place, value.span)

    @staticmethod
    def _in_range(value: int, place: core.Place, span: Span) -> int:
        t = place.type
        if isinstance(t, NumberT) and ((t.low is not None and value < t.low) or (t.high is not None and value > t.high)):
            raise Failed("R401", f"`{place.name}` cannot be {value}", span, f"it is {t}")
        return value

    def _universe(self, place: core.Place) -> Universe:
        assert self.base is not None
        return self.base.layout.universe(place.type)

    def _lying(self, place: core.Place, value: int, universe: Universe) -> int:
        """What a slot holds, as a bag."""
        if place.word == "pile":
            return universe.bag(universe.unpack(value))
        if place.word == "slot":
            return 0 if value < 0 else universe.unit(value)
        return value

    def _give_pieces(self, place: core.Place, owner: int | None, slot: int, value: nodes.ExampleValue) -> None:
        universe = self._universe(place)
        self.aside[id(universe)] = self.aside.get(id(universe), 0) + self._lying(place, self.row[slot], universe)
        self.row[slot] = {"slot": -1}.get(place.word, 0)
        self.given_slots.add(slot)
        classes = [self._fetch(place, universe, wanted, value.span) for wanted in self._wanted(place, universe, owner, value)]
        if place.word == "pile":
            self.row[slot] = universe.pack(classes)
        elif place.word == "slot":
            if len(classes) > 1:
                raise Failed("R401", f"`{place.name}` holds one piece", value.span)
            self.row[slot] = classes[0] if classes else -1
        else:
            self.row[slot] = universe.bag(classes)

    def _wanted(self, place: core.Place, universe: Universe, owner: int | None, value: nodes.ExampleValue) -> list[list[int]]:
        """For each piece that is written the classes that it can mean."""
        item = plain(place.type.item if isinstance(place.type, SetT) else place.type)
        assert isinstance(item, PieceT)
        if value.items is None and len(value.cells) == 1 and isinstance(value.cells[0], int) and not isinstance(value.cells[0], bool):
            alike = [
                c
                for c, cls in enumerate(universe.classes)
                if cls.kind in item.kinds and cls.owner in (-1, owner if owner is not None else cls.owner)
            ]
            return [alike] * value.cells[0]
        written = value.items if value.items is not None else (value.cells,)
        return [self._fitting(item, universe, owner, cells, value.span) for cells in written]

    def _fitting(self, item: PieceT, universe: Universe, owner: int | None, cells: nodes.Item, span: Span) -> list[int]:
        words = self._words()
        found = []
        for c, cls in enumerate(universe.classes):
            if cls.kind not in item.kinds:
                continue
            if cls.owner >= 0 and len(cells) == 1 and cells[0] in self.seats and not self.game.pieces[cls.kind].fields:
                if cls.owner == self.seats.index(str(cells[0])):
                    found.append(c)
                continue
            printed = tuple(words.cells(c, item))
            shown = tuple("none" if p is None else p for p in printed)
            if shown[: len(cells)] == cells and cls.owner in (-1, owner if owner is not None else cls.owner):
                found.append(c)
        if not found:
            raise Failed("R401", f"no piece is `{' '.join(map(str, cells))}`", span, "write it like its row; the first cells suffice")
        return found

    def _words(self) -> Words:
        assert self.base is not None
        return Words(self.base.layout, self.seats)

    def _fetch(self, place: core.Place, universe: Universe, wanted: list[int], span: Span) -> int:
        """Takes one of these from what was set aside, or from where it lies and was not given."""
        key = id(universe)
        for c in wanted:
            if self.aside.get(key, 0) & universe.field_mask(c):
                self.aside[key] -= universe.unit(c)
                return c
        assert self.base is not None
        layout = self.base.layout
        for c in wanted:
            for other in self.game.places.values():
                if not other.holds_pieces or self._universe(other) is not universe:
                    continue
                for slot in range(layout.slots[other], layout.slots[other] + layout.sizes[other]):
                    if slot not in self.given_slots and self._take(other, slot, c, universe):
                        return c
        raise Failed("R401", "this piece was given before, or there are no more of it", span, f"into `{place.name}`")

    def _take(self, place: core.Place, slot: int, c: int, universe: Universe) -> bool:
        value = self.row[slot]
        if place.word == "zone":
            if not value & universe.field_mask(c):
                return False
            self.row[slot] = value - universe.unit(c)
        elif place.word == "pile":
            order = list(universe.unpack(value))
            if c not in order:
                return False
            order.remove(c)
            self.row[slot] = universe.pack(order)
        else:
            if value != c:
                return False
            self.row[slot] = -1
        return True

    # ------------------------------------------------------------ run and chance

    def _chance(self, s: State, name: str, items: tuple[int, ...], t: Type, whole: bool) -> tuple[int, ...]:
        script = self.script.get(name)
        if not script:
            return items if whole else items[:1]
        assert isinstance(t, SetT)
        value = script.pop(0)
        words, left, found = self._words(), list(items), []
        written = value.items if whole and value.items is not None else (value.cells,)
        for cells in written:
            at = None
            for i, x in enumerate(left):
                if isinstance(plain(t.item), PieceT):
                    item = plain(t.item)
                    assert isinstance(item, PieceT)
                    fits = tuple(words.cells(x, item))[: len(cells)] == cells
                else:
                    fits = x == self._cell(cells[0], t.item, value.span)
                if fits:
                    at = i
                    break
            if at is None:
                raise Failed("R401", f"chance cannot give `{' '.join(map(str, cells))}` for `{name}`", value.span, "it is not there")
            found.append(left.pop(at))
        return tuple(found + left) if whole else tuple(found[:1])

    def _run(self, line: nodes.ExRun) -> None:
        for label in line.labels:
            self._nothing_open(line.span)
            self._run_label(label, line)

    def _nothing_open(self, span: Span) -> None:
        if self.machine is not None and self.machine.pending:
            who = ", ".join(f"{self.seats[p.player]} at `{p.ask.decide.name}`" for p in self.machine.pending)
            raise Failed("R402", f"somebody is still asked: {who}", span, "write what they choose first")

    def _run_label(self, label: str, line: nodes.ExRun) -> None:
        problems = Problems()
        body = self._elaborate(label, line, problems)
        if problems.has_errors:
            wrong = problems.sorted()[0]
            raise Failed("R401", f"`{label}` cannot be run by itself: {wrong.message}", line.span, wrong.hint)
        program = self._program(body)
        row = program.start[:]
        for place in self.game.places.values():
            first, size = program.layout.slots[place], program.layout.sizes[place]
            row[first : first + size] = self.row[first : first + size]
        for var in self.flow.loop_counts.values():
            row[program.layout.variables[var]] = self.counts.get(var.name, 0)
        self.machine = Machine(program, row, silence=True)
        self.machine.begin()
        self._settle()

    def _elaborate(self, label: str, line: nodes.ExRun, problems: Problems) -> tuple[core.Statement, ...]:
        found = self._labels(label)
        found = [f for f in found if f.path == tuple(label.split("."))] or found
        found = [f for f in found if f.module.header is None or f.module.header.word != "library"] or found
        if len(found) > 1 and any(f.node is not found[0].node for f in found):
            raise Failed("R125", f"`{label}` could mean several labels", line.span, "say which: " + ", ".join(f.text for f in found[:4]))
        symbol = found[0]
        you = None
        if line.player is not None:
            you = core.Const(self._seat(line.player, line.span), type=PLAYER, span=line.span)
        scope = Scope(symbol.module, you=you, path=symbol.path[:-1])
        flow = evolve(self.flow, problems=problems)
        self._enclosing_counts(symbol)
        if symbol.sort == "verb":
            d = self._definition(symbol)
            if d.node.signature.params or d.node.signature.args:
                raise Failed("R401", f"`{label}` needs more than a player", line.span, "run the step that uses it")
            return tuple(flow.expand_verb(d, (), (), scope, symbol.node))
        assert isinstance(symbol.node, nodes.Step | nodes.Repeat)
        made, _ = flow.statement(symbol.node, scope)
        return tuple(made)

    def _definition(self, symbol: LabelSymbol) -> Definition:
        for d in self.names.definitions[symbol.path[-1]]:
            at: Definition | None = d
            while at is not None:
                if at.node is symbol.node:
                    return d
                at = at.original
        raise AssertionError(symbol.text)

    def _enclosing_counts(self, symbol: LabelSymbol) -> None:
        for part in symbol.path[:-1]:
            if part in {v.name for v in self.flow.loop_counts.values()}:
                self.counts.setdefault(part, 1)

    def _settle(self) -> None:
        """The table after the last effect becomes the position of the example."""
        machine = self.machine
        assert machine is not None
        for place in self.game.places.values():
            first, size = machine.program.layout.slots[place], machine.program.layout.sizes[place]
            self.row[first : first + size] = machine.s[first : first + size]
        for var in self.flow.loop_counts.values():
            self.counts[var.name] = machine.s[machine.program.layout.variables[var]]

    # ------------------------------------------------------------ choices

    def _choice(self, line: nodes.ExChoice) -> None:
        seat = self._seat(line.player, line.span)
        machine = self.machine
        pending = [p for p in machine.pending if p.player == seat] if machine is not None else []
        k = self._find(pending[0], line) if pending else None
        if line.word == "cannot choose":
            if k is not None:
                raise Failed("R404", f"{line.player} can choose this", line.span, "the example says that it is refused")
            return
        if not pending:
            raise Failed("R404", f"{line.player} is not asked here", line.span, self._asked())
        if k is None:
            asked = pending[0].ask.decide
            said = [str(cell) for _, value in line.values[:1] for cell in value.cells[:1]] if line.name == asked.name else []
            option = next((c.choice.name for c in pending[0].ask.choices if c.choice.name in said), "")
            if option:
                hint = f"write `{line.span.text.replace(f' {line.name}', '', 1)}`"
                raise Failed("R404", f"`{line.name}` asks, and `{option}` answers", line.span, hint)
            raise Failed("R404", f"{line.player} cannot choose this at `{asked.name}`", line.span, self._offered(pending[0]))
        if line.word == "chooses":
            assert machine is not None
            machine.choose(pending[0], k)
            self._settle()

    def _asked(self) -> str:
        if self.machine is None or not self.machine.pending:
            return "nobody is asked: a choice with one answer happens silently"
        return "asked: " + ", ".join(f"{self.seats[p.player]} at `{p.ask.decide.name}`" for p in self.machine.pending)

    def _offered(self, pending: Pending) -> str:
        words = self._machine_words()
        labels = []
        for k in range(min(pending.count, 6)):
            row = pending.s[:]
            code = pending.ask.choices[pending.ask.pick(row, k, pending.counts)]
            named = evolve(code.choice, text=None)  # as an example writes it
            labels.append(words.label(named, True, tuple(row[p.slot] for p in code.picks), ()))
        return "offered: " + "; ".join(labels) + (" ..." if pending.count > 6 else "")

    def _machine_words(self) -> Words:
        assert self.machine is not None
        return Words(self.machine.program.layout, self.seats)

    def _find(self, pending: Pending, line: nodes.ExChoice) -> int | None:
        names = [c.choice.name for c in pending.ask.choices]
        if line.name not in names:
            return None
        index = names.index(line.name)
        code = pending.ask.choices[index]
        before = sum(c.count(pending.s[:]) for c in pending.ask.choices[:index])
        if len(line.values) != len(code.picks):
            raise Failed("R401", f"`{line.name}` has {several(len(code.picks), 'pick')}, here are {len(line.values)}", line.span)
        for n in range(code.count(pending.s[:])):
            row = pending.s[:]
            if code.picks:
                code.bind(row, n)
            if all(
                (prep == p.pick.prep) and self._matches(row[p.slot], p.pick.var.type, value)
                for p, (prep, value) in zip(code.picks, line.values, strict=True)
            ):
                return before + n
        return None

    def _matches(self, value: int, t: Type, written: nodes.ExampleValue) -> bool:
        words = self._machine_words()
        if isinstance(t, SetT):
            items = list(words.items(value, t))
            wanted = list(written.items) if written.items is not None else [written.cells]
            if len(items) != len(wanted):
                return False
            if t.ordered:
                return all(self._same(x, t.item, cells, words) for x, cells in zip(items, wanted, strict=True))
            return self._pairs(items, wanted, t.item, words)
        return written.items is None and self._same(value, t, written.cells, words)

    def _pairs(self, items: list[int], wanted: list[nodes.Item], t: Type, words: Words) -> bool:
        """Every written piece has one of its own; the longest descriptions choose first."""
        left = list(items)
        for cells in sorted(wanted, key=len, reverse=True):
            found = next((x for x in left if self._same(x, t, cells, words)), None)
            if found is None:
                return False
            left.remove(found)
        return True

    def _same(self, value: int, t: Type, cells: nodes.Item, words: Words) -> bool:
        t = plain(t)
        if isinstance(t, PieceT):
            universe = words.layout.universe(t)
            cls = universe.classes[value]
            if not self.game.pieces[cls.kind].fields:
                return cells == ((self.seats[cls.owner] if cls.owner >= 0 else cls.kind.lower()),)
            shown = tuple("none" if c is None else c for c in words.cells(value, t))
            return shown[: len(cells)] == cells
        if len(cells) != 1:
            return False
        if isinstance(t, PlayerT):
            return self.seats[value] == cells[0]
        found = words.data(value, t)
        return bool(found == cells[0]) and isinstance(found, bool) == isinstance(cells[0], bool)

    # ------------------------------------------------------------ expect

    def _expect(self, line: nodes.ExState) -> None:
        if line.target.name == "winners" and "winners" not in self.game.places:
            self._expect_winners(line)
            return
        place = self.game.places.get(line.target.name)
        if place is not None:
            self._place(line.target)
            for owner, value in self._by_owner(line, place.per_player):
                self._compare_place(place, self._slot(place, owner, line.target), value, owner)
            return
        loops = {v.name: v for v in self.flow.loop_counts.values()}
        if line.target.name in loops:
            if self.counts.get(line.target.name, 0) != line.values[0].cells[0]:
                raise Failed(
                    "R400",
                    f"`{line.target.name}` is {self.counts.get(line.target.name, 0)}",
                    line.span,
                    f"the example says {line.values[0].span.text}",
                )
            return
        self._expect_definition(line)

    def _whose(self, name: str, owner: int | None) -> str:
        return f"`{name}`" if owner is None else f"`{name}` of {self.seats[owner]}"

    def _compare_place(self, place: core.Place, slot: int, value: nodes.ExampleValue, owner: int | None) -> None:
        found = self.row[slot]
        whose = self._whose(place.name, owner)
        if not place.holds_pieces:
            if found != self._literal(value, place.type):
                raise Failed(
                    "R400", f"{whose} is {self._words().text(found, place.type)}", value.span, f"the example says {value.span.text}"
                )
            return
        universe = self._universe(place)
        item = plain(place.type.item if isinstance(place.type, SetT) else place.type)
        assert isinstance(item, PieceT)
        lying = (
            universe.unpack(found)
            if place.word == "pile"
            else tuple(c for c, n in universe.items(self._lying(place, found, universe)) for _ in range(n))
        )
        words = self._words()
        if value.items is None and len(value.cells) == 1 and isinstance(value.cells[0], int) and not isinstance(value.cells[0], bool):
            same = len(lying) == value.cells[0]
            shown = str(len(lying))
        elif value.items is None and value.cells == ("none",):
            same, shown = not lying, words.group(lying, item)
        else:
            wanted = list(value.items) if value.items is not None else [value.cells]
            shown = words.group(lying, item)
            if place.word == "pile":
                same = len(lying) == len(wanted) and all(self._same(x, item, cells, words) for x, cells in zip(lying, wanted, strict=True))
            else:
                same = len(lying) == len(wanted) and self._pairs(list(lying), wanted, item, words)
        if not same:
            raise Failed("R400", f"{whose} holds {shown}", value.span, f"the example says {value.span.text}")

    def _scope(self) -> Scope:
        scope = Scope(self.module)
        for seat, name in enumerate(self.seats):
            scope = scope.bind(name, Bound(core.Const(seat, type=PLAYER)))
        return scope

    def _value(self, e: core.Expr) -> tuple[Any, Type]:
        assert self.base is not None
        code = self.base.values.expr(e)
        row = self.row + [0] * 256
        for var in self.flow.loop_counts.values():
            row[self.base.layout.variables[var]] = self.counts.get(var.name, 0)
        return code.fn(row), e.type

    def _that(self, line: nodes.ExThat) -> None:
        problems = Problems()
        flow = evolve(self.flow, problems=problems)
        test = flow.boolean(line.test, self._scope())
        self._checked(problems, line.span)
        if not self._value(test)[0]:
            raise Failed("R400", f"it does not hold that {line.test.span.text}", line.span)

    @staticmethod
    def _checked(problems: Problems, span: Span) -> None:
        if problems.has_errors:
            first = problems.sorted()[0]
            raise Failed(first.code, first.message, first.span if first.span.source.path else span, first.hint)

    def _expect_definition(self, line: nodes.ExState) -> None:
        d = self._known_as(line.target.name)
        if d is None:
            known = [*self.game.places, *self.names.definitions, "winners"]
            raise Failed("R103", f"unknown name `{line.target.name}`", line.target.span, near(line.target.name, known))
        problems = Problems()
        flow = evolve(self.flow, problems=problems)
        function = flow.function(d, self._scope(), line.span)
        self._checked(problems, line.span)
        assert function is not None
        own = len(function.params) - len(line.target.keys)
        types = [p.type for p in function.params[own:]]
        keys = tuple(core.Const(k, type=t) for k, t in zip(self._keys(d, function, line), types, strict=True))
        for owner, value in self._by_owner(line, d.per_player):
            args = (() if owner is None else (core.Const(owner, type=PLAYER),)) + keys
            found, t = self._value(core.Call(function, args, type=function.type))
            self._compare_value(found, t, value, self._whose(d.name, owner))

    def _compare_value(self, found: Any, t: Type, value: nodes.ExampleValue, whose: str) -> None:
        words = self._words()
        if isinstance(t, ErrorT):
            raise Failed("R400", f"{whose} has no value", value.span)
        if isinstance(t, SetT):
            form = rep(t)
            items = (
                list(found)
                if form == "seq"
                else [c for c, n in words.layout.universe(t).items(found) for _ in range(n)]
                if form == "bag"
                else list(members(found))
            )
            wanted = list(value.items) if value.items is not None else [value.cells]
            if len(items) != len(wanted) or not self._pairs(items, wanted, t.item, words):
                raise Failed("R400", f"{whose} is {words.group(tuple(items), t.item)}", value.span, f"the example says {value.span.text}")
        elif isinstance(plain(t), PieceT):
            same = (found < 0) == (value.cells == ("none",)) and (found < 0 or self._same(found, t, value.cells, words))
            if not same:
                raise Failed("R400", f"{whose} is {words.text(found, t)}", value.span, f"the example says {value.span.text}")
        elif int(found) != self._literal(value, t):
            raise Failed("R400", f"{whose} is {words.text(int(found), t)}", value.span, f"the example says {value.span.text}")

    def _expect_winners(self, line: nodes.ExState) -> None:
        ranking = self.game.ranking
        if ranking is None:
            raise Failed("R401", "this game has no ranking", line.span)
        measures = []
        for seat in range(len(self.seats)):
            e = [core.LetIn(ranking.var, core.Const(seat, type=PLAYER), x, type=x.type) for _, x, _ in ranking.items]
            measures.append(tuple(sign * int(self._value(v)[0]) for v, (sign, _, _) in zip(e, ranking.items, strict=True)))
        best = max(measures)
        winners = {self.seats[i] for i, m in enumerate(measures) if m == best}
        if not ranking.shared:
            winners = {self.seats[measures.index(best)]}
        wanted = {str(v.cells[0]) for v in line.values}
        if winners != wanted:
            raise Failed(
                "R400", f"the winners are {', '.join(sorted(winners))}", line.span, f"the example says {', '.join(sorted(wanted))}"
            )
