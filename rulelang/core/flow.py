"""Surface statements to core statements: verbs expanded, hooks of layers put in their places, threads marked."""

import re
from collections.abc import Callable, Iterable, Iterator

from attrs import define, evolve, field

from rulelang.core import nodes as core
from rulelang.core.calls import as_meant, given
from rulelang.core.idle import Picked
from rulelang.core.nearby import line_with
from rulelang.core.scope import Bound, PlaceArg, Scope
from rulelang.core.threads import judge, variables_in, walk
from rulelang.core.twice import second_effect
from rulelang.core.types import BOOL, ERROR, NUMBER, PLAYER, BoolT, ErrorT, KindT, MaybeT, NumberT, PieceT, PlayerT, SetT, Type, fits, plain
from rulelang.core.values import Values
from rulelang.diagnostics import near
from rulelang.names.collect import name_span
from rulelang.names.table import Definition, Hooked, Hooks
from rulelang.surface import nodes
from rulelang.surface.parse import reads
from rulelang.surface.phrasing import of_a_phrase

Body = tuple[core.Statement, ...]


@define(eq=False)
class Flow(Values):
    """Elaborates statements.  A block is worked through line by line, each `let` adding to the scope of the next."""

    counts: range = field(default=range(2, 7))

    @property
    def players(self) -> range:
        return self.counts

    def block(self, body: Iterable[nodes.Statement], scope: Scope) -> Body:
        return self._block(body, scope)[0]

    def _block(self, body: Iterable[nodes.Statement], scope: Scope) -> tuple[Body, Scope]:
        made: list[core.Statement] = []
        ended = False
        lines = list(body)
        for number, statement in enumerate(lines):
            if number == self.limits.lines:
                self.wrong("R005", f"a block of more than {number} lines", statement.span, "give a part of it a name with `verb`", scope)
                break
            if ended:
                above = lines[number - 1].span
                hint = f"`{above.text}` in line {above.line} always leaves: give it a condition, or leave one of the two out"
                self.wrong("R320", "this line is never reached", statement.span, hint, scope)
            statements, scope = self.statement(statement, scope)
            made.extend(statements)
            ended = not ended and bool(made) and isinstance(made[-1], core.End)
        return tuple(made), scope

    def statement(self, s: nodes.Statement, scope: Scope) -> tuple[list[core.Statement], Scope]:
        if not self.enter(s.span, scope):
            return [], scope
        if not self.depth:
            self.problems.reached(s.span)
        self.depth += 1
        made = self._statement(s, scope)
        self.depth -= 1
        return made

    def _statement(self, s: nodes.Statement, scope: Scope) -> tuple[list[core.Statement], Scope]:
        match s:
            case nodes.Phrase():
                return self._phrase(s, scope), scope
            case nodes.Let():
                return self._let(s, scope)
            case nodes.Place():
                return self._local_place(s, scope)
            case nodes.Step():
                return self._step(s, scope)
            case nodes.Repeat():
                return self._repeat(s, scope)
            case nodes.If():
                test = self.boolean(s.test, scope)
                branch = core.Branch(test, self.block(s.body, scope), self.block(s.otherwise, scope), origin=scope.origin(s))
                return [branch], scope
            case nodes.Together():
                return self._together(s, scope), scope
            case nodes.InTurn():
                return self._in_turn(s, scope), scope
            case nodes.Choose():
                return self._choose(s, scope), scope
            case nodes.End():
                return self._end(s, scope), scope
            case nodes.Needs():
                return [core.Need(self.boolean(s.test, scope), origin=scope.origin(s))], scope
            case nodes.Say():
                return [core.Say(self.text(s.text, scope), origin=scope.origin(s))], scope
            case nodes.Give():
                self.wrong(
                    "R227",
                    "`give` stands in a definition of a value",
                    s.span,
                    "a verb changes something; a value is written with `define`",
                    scope,
                )
                return [], scope

    # ------------------------------------------------------------ phrases

    def _phrase(self, s: nodes.Phrase, scope: Scope) -> list[core.Statement]:
        if two := second_effect(s, lambda name: self._is_verb(name, scope)):
            self.wrong(two.code, two.message, two.span, two.hint, scope)
            return []
        match s.verb:
            case "raise" | "lower":
                return self._change(s, scope)
            case "set":
                return self._set(s, scope)
            case "move":
                return self._move(s, scope)
            case "shuffle":
                return self._shuffle(s, scope)
            case "original":
                if scope.original is None or s.item is not None or s.args:
                    self.wrong("R120", "`original` stands alone, in a `replace`", s.span, "it is what the variant replaces", scope)
                    return []
                made: list[core.Statement] | core.Expr = scope.original(scope)
                if not isinstance(made, list):
                    self.wrong("R221", "`original` is a value here, nothing that happens", s.span, "write `give original`", scope)
                    return []
                return made
        return self._call(s, scope)

    def _is_verb(self, name: str, scope: Scope) -> bool:
        """A verb, and nothing else that a value could begin with."""
        found = self.names.definitions.get(name, [])
        return bool(found) and name not in scope.names and all(d.is_verb for d in found)

    def _words(self, s: nodes.Phrase, scope: Scope, allowed: tuple[str, ...], form: str) -> dict[str, nodes.Expr] | None:
        if self.is_said_twice(s.verb, s.args, scope):
            return None
        said = {a.word: a for a in s.args}
        bad = [a for a in s.args if a.word not in allowed or a.is_label]
        if bad and (line := of_a_phrase(s.span.text, s.span.source.text, reads)):
            self.wrong("R234", line[0], s.span, line[1], scope)
            return None
        if bad:
            hint = as_meant(s, bad[0], allowed) or f"it is written `{form}`"
            self.wrong("R234", f"`{s.verb}` has no `{bad[0].word}`", bad[0].span, hint, scope)
            return None
        if s.item is None:
            self.wrong("R230", f"`{s.verb}` what?", s.span, f"it is written `{form}`", scope)
            return None
        return {word: a.value for word, a in said.items()}

    def _change(self, s: nodes.Phrase, scope: Scope) -> list[core.Statement]:
        words = self._words(s, scope, ("by",), f"{s.verb} COUNTER by NUMBER")
        if words is None or s.item is None:
            return []
        if "by" not in words:
            mended = f"{s.item.verb} by {s.item.item.span.text}" if isinstance(s.item, nodes.VerbTest) else f"{s.item.span.text} by 1"
            self.wrong("R230", f"`{s.verb}` by how much?", s.span, f"write `{s.verb} {mended}`", scope)
            return []
        ref = self.place_ref(s.item, scope, "a counter")
        was_read = ref is not None and ref.place in self.noticed.read
        amount = self.number(words["by"], scope, "the amount")
        if ref is None:
            return []
        self.noticed.change(ref.place, amount, was_read, scope.origin(s), 1 if s.verb == "raise" else -1)
        if ref.place.word != "counter":
            self.wrong(
                "R237",
                f"`{ref.place.name}` is a {ref.place.word}, not a counter",
                s.item.span,
                "only a counter is raised and lowered; a status is `set`, pieces are moved",
                scope,
            )
            return []
        return [core.Change(ref, amount, 1 if s.verb == "raise" else -1, origin=scope.origin(s))]

    def _set(self, s: nodes.Phrase, scope: Scope) -> list[core.Statement]:
        words = self._words(s, scope, ("to",), "set STATUS to VALUE")
        if words is None or s.item is None:
            return []
        if "to" not in words:
            mended = f"{s.item.verb} to {s.item.item.span.text}" if isinstance(s.item, nodes.VerbTest) else f"{s.item.span.text} to ..."
            self.wrong("R230", "`set` to what?", s.span, f"write `set {mended}`", scope)
            return []
        ref = self.place_ref(s.item, scope, "a status or counter")
        if ref is None:
            return []
        if ref.place.holds_pieces:
            self.wrong("R237", f"`{ref.place.name}` holds pieces: they are moved, not set", s.item.span, "use `move ... to ...`", scope)
            return []
        was_read = ref.place in self.noticed.read
        value = self.want(self.value(words["to"], scope, ref.place.type), ref.place.type, words["to"].span, f"`{ref.place.name}`", scope)
        self.noticed.change(ref.place, value, was_read, scope.origin(s))
        return [core.SetTo(ref, value, origin=scope.origin(s))]

    def _move(self, s: nodes.Phrase, scope: Scope) -> list[core.Statement]:
        words = self._words(s, scope, ("from", "to", "under"), "move PIECES from PLACE to PLACE")
        if words is None or s.item is None:
            return []
        if ("to" in words) == ("under" in words):
            self.wrong("R230", "`move` to where?", s.span, "say `to PLACE`, or `under PILE` for below it", scope)
            return []
        under = "under" in words
        goal = self.place_ref(words["under" if under else "to"], scope)
        source = self.place_ref(words["from"], scope) if "from" in words else None
        if goal is None or ("from" in words and source is None):
            return []
        origin = scope.origin(s)
        both = source is not None and source.place.word == goal.place.word == "counter"
        every = s.item.count.span.text == "all" if isinstance(s.item, nodes.Counted) else s.item.span.text.startswith("all ")
        if (both or every) and (line := of_a_phrase(s.span.text, s.span.source.text, reads)):
            self.wrong("R239", line[0], s.span, line[1], scope)
            return []
        if isinstance(s.item, nodes.Counted):
            return self._move_count(s, s.item, source, goal, under, scope)
        counts = isinstance(s.item, nodes.VerbTest) and any(
            not d.is_verb and not d.node.signature.params for d in self.names.definitions.get(s.item.verb, ())
        )  # `move booths_at_first booths from stock`
        if isinstance(s.item, nodes.KindName) and s.item.name in self.world.pieces:
            self.wrong("R238", "how many?", s.item.span, self._how_many(s, s.item, source), scope)
            return []
        what = core.Const(0, type=NUMBER, span=s.item.span) if counts else self.value(s.item, scope)
        if isinstance(what.type, ErrorT):
            return []
        if isinstance(what.type, MaybeT) and isinstance(what.type.item, PieceT) and isinstance(what, core.Read):
            what = evolve(what, type=SetT(what.type.item))
        if isinstance(plain(what.type), NumberT):
            lying = source if source is not None and source.place.holds_pieces else goal
            kind = plain(lying.place.type.item if isinstance(lying.place.type, SetT) else lying.place.type)
            shown = " or ".join(sorted(kind.kinds)) if isinstance(kind, PieceT) else "..."
            number = s.item.verb if isinstance(s.item, nodes.VerbTest) else s.item.span.text
            number = number if re.fullmatch(r"\w+(\(.*\))?", number) else f"({number})"
            self.wrong("R238", "so many of what?", s.item.span, f"say the kind of pieces: `move {number} {shown} from ... to ...`", scope)
            return []
        item = what.type.item if isinstance(what.type, SetT) else plain(what.type)
        if isinstance(item, ErrorT):
            return []
        if not isinstance(item, PieceT):
            self.wrong(
                "R239",
                f"{what.type} cannot be moved",
                s.item.span,
                "pieces are moved; a counter is raised or lowered, a status is set",
                scope,
            )
            return []
        source = source or what.source
        if source is None:
            self.wrong("R240", "where do these pieces come from?", s.item.span, "say `move ... from PLACE to ...`", scope)
            return []
        if not self._holds(source, s, scope) or not self._holds(goal, s, scope):
            return []
        self._check_kinds(what.type, goal, s, scope)
        if under and goal.place.word != "pile":
            self.wrong(
                "R213", f"`{goal.place.name}` is a {goal.place.word}: it has no below", s.span, "only a pile has an order; say `to`", scope
            )
        return [core.MovePieces(what, source, goal, under, origin=origin)]

    def _move_count(
        self, s: nodes.Phrase, item: nodes.Counted, source: core.PlaceRef | None, goal: core.PlaceRef, under: bool, scope: Scope
    ) -> list[core.Statement]:
        """`move 2 Cube from stock to field(c)`"""
        count = self.number(item.count, scope, "how many are moved")
        if source is None:
            self.wrong("R230", "`move` so many from where?", s.span, "say `from PLACE`", scope)
            return []
        if not self._holds(source, s, scope) or not self._holds(goal, s, scope):
            return []
        if item.kind not in self.world.pieces:
            self.unknown_pieces(item.kind, item.span, scope)
            return []
        self.names.used.add(id(self.names.symbols[item.kind].node))
        wanted = PieceT(frozenset((item.kind,)))
        held = plain(source.place.type.item if isinstance(source.place.type, SetT) else source.place.type)
        if not fits(held, wanted):
            self.wrong(
                "R210",
                f"`{source.place.name}` holds {held}, not {wanted}",
                item.span,
                "name the pieces that lie there, or the place of these",
                scope,
            )
        self._check_kinds(wanted, goal, s, scope)
        if source.place.word == "zone" and not self._alike(source.place):
            self.wrong(
                "R238",
                f"the pieces in `{source.place.name}` differ: which ones?",
                item.span,
                "let somebody `choose` them, or take the top of a pile",
                scope,
            )
        return [core.MoveCount(count, source, goal, under, origin=scope.origin(s))]

    def _how_many(self, s: nodes.Phrase, item: nodes.KindName, source: core.PlaceRef | None) -> str:
        """`move Flag from chest to flags(i)`"""
        said = {a.word: a.span.text for a in s.args}
        lie = said.pop("from", "from ...")
        to = " ".join(said.values())
        whole = f"`move {item.name} in{lie.removeprefix('from')} {to}`"
        if source is not None and source.place.word == "zone" and not self._alike(source.place):
            return f"for all of them write {whole}; else let somebody `choose` which ones"
        return f"write `move 1 {item.name} {lie} {to}`; for all of them {whole}"

    def _alike(self, place: core.Place) -> bool:
        item = plain(place.type.item if isinstance(place.type, SetT) else place.type)
        kinds = item.kinds if isinstance(item, PieceT) else frozenset()
        return len(kinds) == 1 and all(len(self.world.pieces[k].rows) <= 1 for k in kinds if k in self.world.pieces)

    def _places_for(self, s: nodes.Phrase) -> str:
        """Where the pieces of `move 2 Bee from meadow to honey` can lie."""
        kind = s.item.kind if isinstance(s.item, nodes.Counted) else ""
        lie = [p.name for p in self.places.values() if p.holds_pieces and kind in getattr(plain(_item(p.type)), "kinds", ())]
        return f"`{kind}` can lie in {', '.join(f'`{name}`' for name in lie[:4])}" if lie else "pieces lie in zones, piles and slots"

    def _holds(self, ref: core.PlaceRef, s: nodes.Phrase, scope: Scope) -> bool:
        if not ref.place.holds_pieces:
            self.wrong(
                "R239",
                f"`{ref.place.name}` is a {ref.place.word}: it holds no pieces",
                ref.span,
                self._places_for(s),
                scope,
            )
            return False
        return True

    def _check_kinds(self, found: Type, goal: core.PlaceRef, s: nodes.Phrase, scope: Scope) -> None:
        item = plain(found.item if isinstance(found, SetT) else found)
        wanted = plain(goal.place.type.item if isinstance(goal.place.type, SetT) else goal.place.type)
        if isinstance(item, PieceT) and isinstance(wanted, PieceT) and not fits(item, wanted):
            held = " or ".join(sorted(wanted.kinds))
            self.wrong("R210", f"`{goal.place.name}` is for {held}, this is {item}", s.span, "move it to a place for such pieces", scope)

    def _shuffle(self, s: nodes.Phrase, scope: Scope) -> list[core.Statement]:
        if self._words(s, scope, (), "shuffle PILE") is None or s.item is None:
            return []
        ref = self.place_ref(s.item, scope, "a pile")
        if ref is None:
            return []
        if ref.place.word != "pile":
            self.wrong("R213", f"`{ref.place.name}` is a {ref.place.word}: it has no order", s.item.span, "only a pile is shuffled", scope)
            return []
        return [core.Shuffle(ref, origin=scope.origin(s))]

    def _call(self, s: nodes.Phrase, scope: Scope) -> list[core.Statement]:
        item = (s.item,) if s.item is not None else ()
        d = self.find(s.verb, "object" if item else "bare", item, s.args, scope, s.span, True)
        if d is None or not isinstance(d.node, nodes.Verb):
            return []
        return self.expand_verb(d, item, s.args, scope, s)

    def expand_verb(
        self, d: Definition, item: tuple[nodes.Expr, ...], args: tuple[nodes.Arg, ...], scope: Scope, s: nodes.Node
    ) -> list[core.Statement]:
        if d in self.expanding:
            chain = " -> ".join(x.name for x in [*self.expanding[self.expanding.index(d) :], d])
            self.wrong("R222", f"`{d.name}` calls itself: {chain}", s.span, "a verb may not come back to itself; use `repeat`", scope)
            return []
        you, nested = scope.you, scope.nested
        if d.per_player:
            if scope.you is None:
                self.wrong("R302", f"`{d.name}` is a player's: whose?", s.span, "call it in a player's block", scope)
                return []
            you, nested = self.implied_owner(d.name, s.span, scope), False
        assert isinstance(d.node, nodes.Verb)
        layer = d.module.name if d.module in self.names.layers else scope.layer
        own = Scope(
            d.module, you=you, nested=nested, path=(*scope.path, d.name), heading=d.node.heading or scope.heading,
            mark=s.mark or d.node.mark or scope.mark, layer=layer, calls=(*scope.calls, s.span),
            outer_targets=scope.outer_targets | frozenset(scope.targets),
        )  # fmt: skip
        self.expanding.append(d)
        inner, lets = self.bind_params(d, item, args, own, scope, s.span)
        origin = scope.origin(s)
        made: list[core.Statement] = [core.Bind(var, value, origin=origin) for var, value in lets]
        made.extend(self._verb_body(d, inner, origin))
        self.expanding.pop()
        return made

    def _verb_body(self, d: Definition, scope: Scope, origin: core.Origin) -> list[core.Statement]:
        assert isinstance(d.node, nodes.Verb)
        node, original = d.node, d.original
        if original is not None:
            scope = evolve(scope, original=lambda at: self._verb_body(original, evolve(at, module=original.module, original=None), origin))
        target = core.Target(d.name)
        inner = evolve(scope, targets={d.name: target})
        return self.labelled(node, inner, lambda at: self._block(node.body, at), target, origin, False)

    # ------------------------------------------------------------ labels and hooks

    def labelled(
        self,
        node: nodes.Node,
        scope: Scope,
        body: Callable[[Scope], tuple[Body, Scope]],
        target: core.Target,
        origin: core.Origin,
        is_step: bool,
    ) -> list[core.Statement]:
        """before, body or its replacement, after: `after` happens however the body ended."""
        hooks = self.names.hooks.get(id(node), Hooks())
        made: list[core.Statement] = []
        label = scope.path[-1]
        around = evolve(scope, targets={k: v for k, v in scope.targets.items() if k != label})  # a hook stands outside
        for hook in hooks.before:
            made.extend(self._hooked(hook, around))
        path = ".".join(scope.path)
        last = scope
        if hooks.replace is not None:
            replaced = evolve(
                self._hook_scope(hooks.replace, scope), original=lambda at: list(body(evolve(scope, names={**scope.names, **at.names}))[0])
            )
            replaced = evolve(replaced, targets={**scope.targets, label: target})
            statements = self.block(hooks.replace.body, replaced)
        else:
            statements, last = body(scope)
        made.append(core.Block(target, path, statements, is_step, origin=origin))
        for hook in hooks.after:
            made.extend(self._hooked(hook, evolve(around, names=last.names)))
        return made

    def _hook_scope(self, hook: Hooked, scope: Scope) -> Scope:
        return evolve(scope, module=hook.module, layer=hook.module.name)

    def _hooked(self, hook: Hooked, scope: Scope) -> Body:
        return self.block(hook.body, self._hook_scope(hook, scope))

    def _step(self, s: nodes.Step, scope: Scope) -> tuple[list[core.Statement], Scope]:
        target = core.Target(s.label)
        inner = evolve(
            scope, targets={**scope.targets, s.label: target}, path=(*scope.path, s.label),
            heading=s.heading or scope.heading, mark=s.mark or scope.mark,
        )  # fmt: skip
        return self.labelled(s, inner, lambda at: self._block(s.body, at), target, inner.origin(s), True), scope

    def _repeat(self, s: nodes.Repeat, scope: Scope) -> tuple[list[core.Statement], Scope]:
        """The loop; its label is its count, in its body and in the lines below it."""
        times = None if s.times is None else self.number(s.times, scope, "how often")
        if s.label is None:
            count = core.Variable("times", NumberT(0, None))
            target = core.Target("")
            body = self.block(s.body, scope)
            return [core.Loop(target, ".".join(scope.path), count, times, body, origin=scope.origin(s))], scope
        is_global = not scope.calls and not scope.outer_targets and len(self.names.label(s.label)) == 1
        count = self.loop_count(s.label) if is_global else core.Variable(s.label, NumberT(0, None))
        target = core.Target(s.label)
        inner = evolve(
            scope, targets={**scope.targets, s.label: target}, path=(*scope.path, s.label),
            heading=s.heading or scope.heading, mark=s.mark or scope.mark,
        )  # fmt: skip
        after = scope
        if not is_global:
            counted = Bound(core.Var(count, type=count.type, span=s.span))
            inner, after = inner.bind(s.label, counted), scope.bind(s.label, counted)
        origin = inner.origin(s)
        label = s.label

        def loop(at: Scope) -> tuple[Body, Scope]:
            made = self.block(s.body, at)
            return (core.Loop(target, ".".join(inner.path), count, times, made, origin=origin),), at

        ends = set(_ends(s.body))
        astray = {end for child in s.body if isinstance(child, nodes.End) for end in (child.label,)} - set(scope.targets)
        is_misspelt = bool(astray) or any(not self.names.label(end) for end in ends) or label in self.names.unread
        if times is None and label not in ends and not is_misspelt:
            self.wrong("R321", f"`{label}` never ends", s.span, f"add `end {label} if ...` where the question is asked", inner)
        return self.labelled(s, inner, loop, core.Target(label), origin, False), after

    # ------------------------------------------------------------ let, places, end

    def _let(self, s: nodes.Let, scope: Scope) -> tuple[list[core.Statement], Scope]:
        self.fresh(s.name, s.span, scope)
        origin = scope.origin(s)
        if s.random:
            assert isinstance(s.value, nodes.Those)
            base = self.those(s.value, scope)
            item = base.type.item if isinstance(base.type, SetT) else ERROR
            var = core.Variable(s.name, item, base.source)
            made: core.Statement = core.BindRandom(var, base, origin=origin)
        else:
            value = self.value(s.value, scope)
            var = core.Variable(s.name, value.type, value.source)
            made = core.Bind(var, value, origin=origin)
        self.noticed.lets.append((var, s))
        bound = core.Var(var, type=var.type, span=s.span, source=var.source)
        return [made], scope.bind(s.name, Bound(bound))

    def _local_place(self, s: nodes.Place, scope: Scope) -> tuple[list[core.Statement], Scope]:
        self.fresh(s.name, s.span, scope)
        if s.word not in ("counter", "status"):
            self.wrong(
                "R241",
                f"a {s.word} inside a block",
                s.span,
                "pieces need a place that everybody knows: declare it at the left margin",
                scope,
            )
            return [], scope.bind(s.name, Bound(core.Const(0, type=ERROR, span=s.span)))
        if s.visibility:
            self.wrong("R242", "a place inside a block is seen by nobody", s.span, f"leave out `{s.visibility[0]}`", scope)
        place = self.place(s, False, scope, local=True)
        ref = core.PlaceRef(place, None, (), s.span)
        start = place.starts_at or core.Const(0, type=place.type)
        return [core.SetTo(ref, start, origin=scope.origin(s))], scope.bind(s.name, PlaceArg(ref))

    def place(self, s: nodes.Place, per_player: bool, scope: Scope, local: bool = False) -> core.Place:
        """A declared place with its type, bounds, overflow rules and start."""
        keys = tuple(self.world.type_of(k) for k in s.keys)
        for k, written in zip(keys, s.keys, strict=True):
            if self.world.size(k) is None and not isinstance(k, PlayerT | ErrorT):
                self.wrong(
                    "R202", f"the key of `{s.name}` must be a kind, players or a range", written.span, "for example `stalls(City)`", scope
                )
        item = self._place_type(s, scope)
        self._for_pieces_only(s, scope)
        low = high = None
        stops_low = stops_high = False
        if s.word == "counter":
            low, high, stops_low, stops_high = self._bounds(s, scope)
            item = NumberT(low.value if isinstance(low, core.Const) else None, high.value if isinstance(high, core.Const) else None)
        elif s.excess:
            self.wrong("R243", f"a {s.word} has no excess", s.span, "only a counter has a range that can be left", scope)
        if isinstance(item, KindT | PlayerT | PieceT) and s.starts_at is not None and s.starts_at.span.text == "none":
            hint = f"say `{str(item).removeprefix('a ')} or none`"
            self.wrong("R210", f"the start of `{s.name}` is {item}, this is none", s.starts_at.span, hint, scope)
            item = MaybeT(item)
        start = (
            None
            if s.starts_at is None
            else self.want(self.value(s.starts_at, scope, item), item, s.starts_at.span, f"the start of `{s.name}`", scope)
        )
        if s.word == "status" and start is None and not isinstance(item, ErrorT):
            if isinstance(item, MaybeT):
                start = core.Const(-1, type=item)
            elif not isinstance(item, SetT):
                first = self.world.kinds[item.kind].members[:1] if isinstance(item, KindT) and item.kind in self.world.kinds else ()
                hint = f"add `, starts at {first[0] if first else '...'}`"
                if isinstance(item, KindT | PlayerT):
                    hint += f", or say `{str(item).removeprefix('a ')} or none`: then it starts at none"
                self.wrong("R244", f"`{s.name}` does not say how it starts", s.span, hint, scope)
        if s.starts_with is not None and s.word not in ("counter", "status"):
            self.names.used.add(id(self.names.symbols[s.starts_with].node) if s.starts_with in self.names.symbols else 0)
            if s.starts_with not in self.world.pieces:
                self.unknown_pieces(s.starts_with, name_span(s, s.starts_with), scope)
            elif self.world.pieces[s.starts_with].per_player and not per_player:
                self.wrong("R245", f"`{s.starts_with}` belong to the players", s.span, f"put `{s.name}` under `each player` too", scope)
            elif per_player and self.world.pieces[s.starts_with].per_player != s.own and self.world.pieces[s.starts_with].per_player:
                self.wrong(
                    "R245", "all of whom?", s.span, f"every player has `{s.starts_with}`: say `starts with all own {s.starts_with}`", scope
                )
            elif s.own and not self.world.pieces[s.starts_with].per_player:
                self.wrong(
                    "R245", f"nobody owns `{s.starts_with}`", s.span, "leave out `own`, or declare the pieces under `each player`", scope
                )
            elif per_player and not self.world.pieces[s.starts_with].per_player:
                self.wrong(
                    "R245",
                    f"`{s.starts_with}` exist once, `{s.name}` once for each player",
                    s.span,
                    f"put `pieces {s.starts_with}` under `each player`",
                    scope,
                )
        seen = [v for v in s.visibility if v != "number public"]
        if not local and len(seen) != 1:
            self.wrong(
                "R246",
                f"`{s.name}` does not say who sees it" if not seen else f"`{s.name}` is {' and '.join(seen)}",
                s.span,
                "say `public` (all), `private` (its owner) or `hidden` (nobody)",
                scope,
            )
        if seen[:1] == ["private"] and not per_player:
            self.wrong("R246", f"`{s.name}` is private, but belongs to nobody", s.span, "put it under `each player`, or say hidden", scope)
        return core.Place(
            s.name, s.word, per_player, keys, item, low, high, stops_low, stops_high,
            "local" if local else (seen[0] if seen else "public"), "number public" in s.visibility, start, s.starts_with, s.span, s.mark,
        )  # fmt: skip

    def _for_pieces_only(self, s: nodes.Place, scope: Scope) -> None:
        if s.word not in ("counter", "status"):
            return
        if s.starts_with is not None:
            hint = "leave it out; how it starts is said with `starts at ...`"
            self.wrong("R245", f"`{s.name}` is a {s.word}: it holds no pieces to start with", s.span, hint, scope)
        if "number public" in s.visibility:
            self.wrong(
                "R246", f"`{s.name}` is a {s.word}: it holds no pieces that could be counted", s.span, "leave out `number public`", scope
            )

    def _place_type(self, s: nodes.Place, scope: Scope) -> Type:
        if s.word == "counter":
            if s.type.parts != ("number",) and not (isinstance(s.type.parts[0], nodes.Range) and len(s.type.parts) == 1):
                self.wrong("R201", "a counter counts: it is a range, or number", s.type.span, "for example `counter cubes: 0..15`", scope)
            return NUMBER
        t = self.world.type_of(s.type, scope.types)
        if s.word == "status":
            return t
        if not isinstance(plain(t), PieceT | ErrorT):
            self.wrong("R201", f"a {s.word} holds pieces, not {t}", s.type.span, "for a value use `status` or `counter`", scope)
            return ERROR
        return MaybeT(t) if s.word == "slot" else SetT(t, s.word == "pile")

    def _bounds(self, s: nodes.Place, scope: Scope) -> tuple[core.Expr | None, core.Expr | None, bool, bool]:
        part = s.type.parts[0]
        if not isinstance(part, nodes.Range):
            return None, None, False, False
        low = self.number(part.low, scope)
        high = None if part.high is None else self.number(part.high, scope)
        at_low = at_high = False
        for word, written in s.excess:
            end = self.number(written, scope)
            if word == "beyond" and high is not None and end == high:
                at_high = True
            elif word == "below" and end == low:
                at_low = True
            elif not isinstance(end.type, ErrorT):
                shown = part.span.text
                hint = f"the range is {shown}: say beyond its last or below its first number"
                self.wrong(
                    "R243", f"nothing lies {word} {written.span.text} in `{s.name}` but more of its range", written.span, hint, scope
                )
        return low, high, at_low, at_high

    def _end(self, s: nodes.End, scope: Scope) -> list[core.Statement]:
        target = scope.targets.get(s.label)
        if target is None:
            if s.label in scope.outer_targets:
                self.wrong(
                    "R310",
                    f"`end {s.label}` would end what goes on around it, from inside",
                    s.span,
                    "what is done by several at once, or by a verb, ends only itself: put the line after it",
                    scope,
                )
            else:
                hint = near(s.label, scope.targets) or "name a `repeat`, `step` or `verb` that encloses it"
                loops = [x for x in scope.targets if any(label.sort == "loop" for label in self.names.label(x))]
                if loops and s.label in ("game", "match", "play"):
                    hint = f"a game ends with its loops: write `{line_with(s.span, s.span.text.replace(s.label, loops[0], 1))}`"
                if s.label in ("if", "repeat", "step", "each", "choose", "otherwise"):
                    hint = "leave it out: a block ends where the lines stand further left"
                self.wrong("R311", f"`{s.label}` is no loop or step around this line", s.span, hint, scope)
            return []
        end = core.End(target, origin=scope.origin(s))
        if s.when is None:
            return [end]
        return [core.Branch(self.boolean(s.when, scope), (end,), (), origin=scope.origin(s))]

    # ------------------------------------------------------------ loops over things

    def _element(self, those: nodes.Those, scope: Scope) -> tuple[core.Expr, core.Variable, Scope]:
        name = those.var if those.var != "player" else None
        if scope.you is not None and name is None and _speaks_of_players(those.base):
            self.wrong("R303", "a loop over players inside a player's block needs a name", those.span, self._named(those, scope), scope)
            scope = evolve(scope, whose_is_told=True)
        base = self.those(those, scope)
        item = base.type.item if isinstance(base.type, SetT) else ERROR
        var = core.Variable(name or "you", item, base.source)
        made = core.Var(var, type=item, span=those.span, source=base.source)
        inner = scope
        if name is not None:
            inner = inner.bind(name, Bound(made))
        if isinstance(item, ErrorT) and name is None:  # what the body calls it is not known
            inner = inner.about(made, ERROR)
        if isinstance(item, ErrorT) and scope.you is None:  # perhaps players: one mistake is enough
            inner = evolve(inner, you=core.Var(var, type=PLAYER, span=those.span))
        elif isinstance(plain(item), PlayerT):
            if scope.you is None:
                inner = evolve(inner, you=made)
            else:
                if name is None and not scope.whose_is_told:
                    hint = "say `each rival in opponents`, and `... of rival`"
                    self.wrong("R303", "a loop over players inside a player's block needs a name", those.span, hint, scope)
                    inner = evolve(inner, whose_is_told=True)
                inner = evolve(inner, nested=True)
        elif name is None and not isinstance(item, ErrorT):
            self.wrong("R304", "what is each of them called?", those.span, "say `each c in ...`", scope)
        return base, var, inner

    def _named(self, those: nodes.Those, scope: Scope) -> str:
        """`together each rival in opponents who have their gold > 0`, for `together each opponent who has gold > 0`"""
        group = f"{those.base.span.text.removesuffix('s')}s"
        clause = those.span.text.removeprefix(those.base.span.text).replace(" who has ", " who have ", 1)
        own = "|".join(p.name for p in self.places.values() if p.per_player)
        if own:
            clause = re.sub(rf"(?<!their )(?<!your )\b(?=(?:{own})\b)(?!\w+\s+of\b)", "their ", clause)
        name = next(x for x in ("rival", "other", "another", "somebody") if x not in scope.names)
        return f"write `{line_with(those.span, f'{name} in {group}{clause}')}`, and below it `... of {name}`"

    def _together(self, s: nodes.Together, scope: Scope) -> list[core.Statement]:
        base, var, inner = self._element(s.those, scope)
        inner = evolve(inner, targets={}, outer_targets=inner.outer_targets | frozenset(inner.targets), mark=s.mark or inner.mark)
        before = len(self.problems.found)
        body = self.block(s.body, inner)
        is_whole = len(self.problems.found) == before and not self.names.unread
        made = judge(core.Together(var, base, body, False, False, origin=scope.origin(s)), self.problems, scope.heading)
        if made.asks and not s.secretly:
            self.wrong(
                "R306",
                "somebody is asked in here",
                s.those.span,
                "say `secretly each ...`: nobody sees an answer before all are given",
                scope,
            )
        elif s.secretly and not made.asks and is_whole:
            self.wrong("R306", "nobody is asked in here", s.those.span, "say `together each ...`", scope)
        return [made]

    def _in_turn(self, s: nodes.InTurn, scope: Scope) -> list[core.Statement]:
        base, var, inner = self._element(s.those, scope)
        order = None
        if s.order is not None:
            about = core.Variable("it", var.type)
            order = core.Order(about, self.measures(s.order, about, scope, ("by_seat",)))
        ordered = isinstance(base.type, SetT) and base.type.ordered
        if order is None and isinstance(plain(var.type), PlayerT) and not ordered:
            hint = f"write `in turn each {s.those.span.text} starting with (first player)`, or an order: `, by most ..., ties by_seat`"
            self.wrong("R305", "in turn, but from whom?", s.those.span, hint, scope)
        inner = evolve(inner, mark=s.mark or inner.mark)
        return [core.ForEach(var, base, order, self.block(s.body, inner), origin=scope.origin(s))]

    def measures(self, m: nodes.Measures, about: core.Variable, scope: Scope, ties: tuple[str, ...]) -> tuple[tuple[int, core.Expr], ...]:
        if m.ties.name not in ties:
            self.wrong("R232", f"ties `{m.ties.name}`?", m.ties.span, "one of: " + ", ".join(ties), scope)
        inner = scope.about(core.Var(about, type=about.type, span=m.span), about.type)
        made = [(1 if best == "most" else -1, self.number(e, inner, "what is compared")) for best, e in m.items]
        for _, e in made:
            if about not in variables_in(e) and all(d.code == "R315" or not d.is_error for d in self.problems.found):
                hint = f"declare it below `each player`: then it is each player's own `{e.span.text}`"
                self.wrong("R315", f"`{e.span.text}` is the same for everybody, and orders nobody", e.span, hint, scope)
        return tuple(made)

    # ------------------------------------------------------------ decisions

    def _choose(self, s: nodes.Choose, scope: Scope) -> list[core.Statement]:
        player = self._chooser(s, scope)
        if player is None:
            return []
        label = s.choices[0].name if s.optional else scope.path[-1] if scope.path else "choice"
        assert label is not None
        path = ".".join((*scope.path, label) if s.optional else scope.path)
        origin = scope.origin(s)
        choices = [self._choice(c, label, scope, False) for c in s.choices]
        joined = {id(x) for x in s.choices}
        for window in s.windows:
            if window not in self.names.windows and window not in self.names.unread:
                self.wrong(
                    "R127",
                    f"no options `during {window}`",
                    s.span,
                    near(window, self.names.windows) or f"write a block `during {window}`",
                    scope,
                )
            for c, module in self.names.windows.get(window, []):
                outside = evolve(
                    scope, module=module, names={}, candidates=(), layer=module.name if module in self.names.layers else "", mark=c.mark
                )
                if id(c) not in joined:
                    joined.add(id(c))
                    choices.append(self._choice(c, label, outside, True))
        if s.optional:
            choices.append(core.Choice("no", path + ".no", None, (), None, (), False, origin))
        seen: set[str] = set()
        for made in choices:
            if made.name in seen:
                self.wrong(
                    "R101", f"two options are called `{made.name}`", made.origin.span, "options of one decision have different names", scope
                )
            seen.add(made.name)
        decide = core.Decide(label, path, player, tuple(choices), origin=origin)
        self.noticed.decisions.append(decide)
        return [decide]

    def _chooser(self, s: nodes.Choose, scope: Scope) -> core.Expr | None:
        if s.chooser is None:
            if scope.you is None:
                hint = "put it below `in turn each player starting with (first player)`, or below `secretly each player`"
                self.wrong("R302", "who chooses?", s.span, hint, scope)
            elif scope.nested:
                self.wrong(
                    "R301",
                    "who chooses?",
                    s.span,
                    "two players are in view: say `rival chooses ...`, or do it outside of the inner loop",
                    scope,
                )
            return scope.you
        found = self.value(s.chooser, scope)
        if not isinstance(plain(found.type), PlayerT):
            if not isinstance(found.type, ErrorT):
                self.wrong("R210", f"only players choose, `{s.chooser.name}` is {found.type}", s.chooser.span, "name a player", scope)
            return None
        return found

    def _choice(self, c: nodes.Choice, label: str, scope: Scope, again: bool) -> core.Choice:
        name = c.name or label
        path = (*scope.path, c.name) if c.name else scope.path
        inner = evolve(scope, path=path, mark=c.mark or scope.mark, heading=scope.heading)
        picks = []
        for p in c.picks:
            made, inner = self._pick(p, inner)
            self.noticed.mentioned.discard(made.var)  # its own `such that` is no use of it
            picks.append(made)
        asked = self.noticed.mentioned.intersection(p.var for p in picks)  # where a later pick depends on it
        hooks = self.names.hooks.get(id(c), Hooks()) if c.name else Hooks()
        tests = [self.boolean(c.only_if, inner)] if c.only_if is not None else []
        for e, module in hooks.offers:
            tests.append(self.boolean(e, evolve(inner, module=module, layer=module.name)))
        chosen = {p.var for p in picks}
        self.noticed.mentioned -= chosen
        about_picks = [t for t in tests if not variables_in(t).isdisjoint(chosen)]  # these sort out combinations of picks
        if about_picks:
            last_pick = picks[-1]
            such = (*about_picks, *(() if last_pick.such_that is None else (last_pick.such_that,)))
            picks[-1] = evolve(last_pick, such_that=_all(such))
        guard = _all(tuple(t for t in tests if t not in about_picks))
        body: list[core.Statement] = []
        for hook in hooks.before:
            body.extend(self._hooked(hook, inner))
        last = inner
        if hooks.replace is not None:
            at = evolve(
                self._hook_scope(hooks.replace, inner),
                original=lambda now: list(self.block(c.body, evolve(inner, names={**inner.names, **now.names}))),
            )
            body.extend(self.block(hooks.replace.body, at))
        else:
            statements, last = self._block(c.body, inner)
            body.extend(statements)
        for hook in hooks.after:
            body.extend(self._hooked(hook, evolve(inner, names=last.names)))
        origin = inner.origin(c)
        self.noticed.picks.extend(Picked(p, origin, p.var in asked or p.var in self.noticed.mentioned) for p in picks)
        return core.Choice(name, ".".join(path), self._told(c, inner), tuple(picks), guard, tuple(body), again, origin)

    def text(self, t: nodes.Text, scope: Scope) -> core.Text:
        return core.Text(tuple(p if isinstance(p, str) else self.value(p, scope) for p in t.parts))

    def _told(self, c: nodes.Choice, scope: Scope) -> core.Text | None:
        """The text of an option; one with values in it stands alone, so it names everything that is picked."""
        if c.text is None:
            return None
        made = self.text(c.text, scope)
        if any(isinstance(v.type, ErrorT) for v in made.values):
            return made
        named = variables_in(made.values)
        for p in c.picks if made.values else ():
            bound = scope.names.get(p.those.var or "it")
            if isinstance(bound, Bound) and isinstance(bound.expr, core.Var) and bound.expr.var not in named:
                word = p.those.var or "it"
                self.wrong(
                    "R261", f"the text does not say which `{word}`", c.text.span, f"two options would read alike: add `{{{word}}}`", scope
                )
        return made

    def _pick(self, p: nodes.Pick, scope: Scope) -> tuple[core.Pick, Scope]:
        base, var, inner = self._candidate(p.those, scope)
        item = base.type.item if isinstance(base.type, SetT) else ERROR
        if p.those.such is not None:
            test = self._such(p.those.such, inner, var)
            base = core.Filter(var, base, test, type=base.type, span=p.those.span, source=base.source)
        count = None if p.count is None else self.number(p.count, scope, "how many")
        name = p.those.var or "it"
        t: Type = item if p.quantity == "one" else SetT(item, p.ordered)
        chosen = core.Variable(name, t, base.source)
        bound = core.Var(chosen, type=t, span=p.span, source=base.source)
        after = scope.bind(name, Bound(bound))
        such_that = None if p.such_that is None else self.boolean(p.such_that, after)
        if not isinstance(item, KindT | PlayerT | PieceT | NumberT | BoolT | ErrorT):
            self.wrong(
                "R247",
                f"nobody can choose among {base.type}",
                p.span,
                "a choice is among pieces, players, members of a kind or a range",
                scope,
            )
        made = core.Pick(p.prep, p.quantity, count, p.ordered, chosen, base, such_that, p.span)
        return made, after

    # ------------------------------------------------------------ definitions with loops

    def compute(self, body: tuple[nodes.Statement, ...], scope: Scope, d: Definition) -> core.Expr:
        """Statements over local places, then one `give`."""
        if not isinstance(body[-1], nodes.Give) or body[-1].when is not None:
            return self.wrong("R223", f"`{d.name}` gives nothing at its end", d.node.span, "end it with `give ...`", scope)
        statements, after = self._block(body[:-1], scope)
        for s in walk(statements):
            outside = isinstance(s, core.Change | core.SetTo) and s.place.place.visibility != "local"
            if outside or isinstance(s, core.MovePieces | core.MoveCount | core.Shuffle | core.BindRandom | core.Decide):
                self.wrong(
                    "R228", f"`{d.name}` is a value: it changes nothing outside", s.origin.span, "what changes something is a `verb`", scope
                )
        result = given(self.value(body[-1].value, after), body[-1])
        return core.Compute(statements, result, type=result.type, span=body[0].span)


def _all(tests: tuple[core.Expr, ...]) -> core.Expr | None:
    return None if not tests else tests[0] if len(tests) == 1 else core.All(tests, type=BOOL)


def _ends(body: Iterable[nodes.Statement]) -> Iterator[str]:
    """What the `end` lines inside would end."""
    for s in body:
        match s:
            case nodes.End():
                yield s.label
            case nodes.If():
                yield from _ends((*s.body, *s.otherwise))
            case nodes.Step() | nodes.Repeat() | nodes.Together() | nodes.InTurn():
                yield from _ends(s.body)
            case nodes.Choose():
                for c in s.choices:
                    yield from _ends(c.body)
            case _:
                pass


def _item(t: Type) -> Type:
    return t.item if isinstance(t, SetT) else t


def _speaks_of_players(e: nodes.Expr) -> bool:
    return isinstance(e, nodes.Name) and e.name in ("player", "players", "opponent", "opponents")
