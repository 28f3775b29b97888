"""Names in a scope: whose they are, which place, field, table, member or definition they mean; else what is wrong."""

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from attrs import define, field

from rulelang.core import nodes as core
from rulelang.core.idle import Noticed
from rulelang.core.nearby import Binders, binders_in, inside, known_above, line_with, other_words, part_of
from rulelang.core.scope import Bound, Family, Measure, PlaceArg, Scope, ViewArg
from rulelang.core.types import (
    BOOL,
    ERROR,
    NONE,
    NUMBER,
    PLAYER,
    BoolT,
    ErrorT,
    KindT,
    MaybeT,
    NumberT,
    PieceT,
    PlayerT,
    SetT,
    Type,
    fits,
    meet,
    plain,
    within,
)  # fmt: skip
from rulelang.core.world import World
from rulelang.diagnostics import Note, Problems, near, several
from rulelang.limits import USUAL, Limits
from rulelang.names.collect import name_span
from rulelang.names.table import Definition, Names
from rulelang.source import Span
from rulelang.surface import nodes

PLACE_WORDS = ("counter", "status", "zone", "pile", "slot")
MOST_KEYS = 4  # of which all orders are tried
PILE_WORDS = ("top", "bottom", "nth")


@define(eq=False)
class Access:
    """What a name means here.  Mistakes are reported once, and give a value that fits everywhere."""

    names: Names
    world: World
    problems: Problems
    places: dict[str, core.Place] = field(factory=dict)
    options: dict[str, core.Option] = field(factory=dict)
    functions: dict[int, core.Function] = field(factory=dict)
    loop_counts: dict[str, core.Variable] = field(factory=dict)
    counts_read: dict[str, Span] = field(factory=dict)  # of loops that stand somewhere else: where first
    given: dict[int, list[tuple[int | None, tuple[int, ...], int]]] = field(factory=dict)
    noticed: Noticed = field(factory=Noticed)
    expanding: list[Definition] = field(factory=list)
    binders: dict[int, Binders] = field(factory=dict)  # of each module, once a name in it is unknown
    told: set[tuple[str, str]] = field(factory=set)  # unknown names that were reported, by module
    limits: Limits = USUAL
    parts: int = 0  # values and lines so far, every call counted with all that it unfolds to
    depth: int = 0
    deepest: int = 0
    too_large: bool = False  # told once: what is deeper or larger still only follows from it
    unfolded: dict[int, tuple[int, int]] = field(factory=dict)  # parts and depth of a function that is made once

    # ------------------------------------------------------------ reporting

    def wrong(self, code: str, message: str, span: Span, hint: str, scope: Scope | None = None, notes: Any = ()) -> core.Const:
        self.problems.add(code, message, span, hint, heading=scope.heading if scope else "", notes=notes)
        return core.Const(0, type=ERROR, span=span)

    def enter(self, span: Span, scope: Scope, parts: int = 1, depth: int = 1) -> bool:
        """One deeper, and so many parts more: is there room for them?"""
        self.parts += parts
        self.deepest = max(self.deepest, self.depth + depth)
        if self.depth + depth > self.limits.depth:
            hint = "give a part of it a name with `let`, or let fewer definitions call one another"
            self._too_large("R004", f"nested more than {self.limits.depth} deep, definitions included", span, hint, scope)
            return False
        if self.parts > self.limits.parts:
            hint = "a definition that calls another twice, many times over, grows too large"
            self._too_large("R005", f"the rules unfold to more than {self.limits.parts} parts", span, hint, scope)
            return False
        return True

    def _too_large(self, code: str, message: str, span: Span, hint: str, scope: Scope) -> None:
        if not self.too_large:
            self.too_large = True
            self.wrong(code, message, span, hint, scope)

    @staticmethod
    def sure(found: core.Expr) -> core.Expr:
        """What may be none, where it must not be: checked while playing until it is proved."""
        if not isinstance(found.type, MaybeT):
            return found
        return core.Sure(found, type=found.type.item, span=found.span, source=found.source)

    def want(self, found: core.Expr, wanted: Type, span: Span, what: str, scope: Scope, hint: str = "") -> core.Expr:
        if not fits(found.type, wanted):
            once = (f"{span.source.path}:{span.start}:{span.end}", "R210")  # a verb that is used twice has one mistake
            if once not in self.told:
                self.told.add(once)
                self.wrong("R210", f"{what} is {wanted}, this is {found.type}", span, hint or self._type_hint(found, wanted, span), scope)
            return core.Const(0, type=ERROR, span=span)
        return self.sure(found) if isinstance(found.type, MaybeT) and not isinstance(wanted, MaybeT | ErrorT) else found

    def held(self, found: core.Expr, wanted: Type, span: Span, what: str, scope: Scope) -> core.Expr:
        """A number in the range that the declaration writes: known to be there, or looked at while playing."""
        here, there = plain(found.type), plain(wanted)
        if not isinstance(here, NumberT) or not isinstance(there, NumberT) or within(here, there):
            return found
        narrowed = meet(here, there)
        if narrowed is None:
            hint = "give a number of this range, or write a wider range"
            self.wrong("R249", f"{what} is {wanted}, this is {found.type}", span, hint, scope)
            return core.Const(0, type=ERROR, span=span)
        made = MaybeT(narrowed) if isinstance(found.type, MaybeT) else narrowed
        return core.Within(found, what, there.low, there.high, type=made, span=span, source=found.source)

    def _type_hint(self, found: core.Expr, wanted: Type, span: Span) -> str:
        if isinstance(found.type, SetT) and isinstance(wanted, NumberT):
            return "for how many there are, say `number of ...`"
        if isinstance(found.type, SetT) and isinstance(wanted, BoolT):
            return "for whether there is one, say `some ...` or `... is not empty`"
        if isinstance(found.type, SetT) and found.type.item == wanted:
            return "for one of them, say `first ...`"
        if isinstance(wanted, BoolT):
            return "a condition compares something: `... >= 1`, `... is yes`"
        printed = [name for name, t in self.fields_of(found.type) if fits(t, wanted)]
        if printed:
            text = span.text
            whole = text if re.fullmatch(r"\w+(\(\w+\))?( of \w+)*", text) else f"({text})"
            return "say which of its values is meant: " + " or ".join(f"`{name} of {whole}`" for name in printed[:3])
        return f"something that is {wanted} is needed here"

    def boolean(self, e: nodes.Expr, scope: Scope) -> core.Expr:
        return self.want(self.value(e, scope, BOOL), BOOL, e.span, "a condition", scope)

    def number(self, e: nodes.Expr, scope: Scope, what: str = "this") -> core.Expr:
        return self.want(self.value(e, scope, NUMBER), NUMBER, e.span, what, scope)

    # ------------------------------------------------------------ what the other halves do

    def value(self, e: nodes.Expr, scope: Scope, want: Type | None = None) -> core.Expr:
        raise NotImplementedError

    def group(self, e: nodes.Expr, scope: Scope, want: Type | None = None) -> core.Expr:
        raise NotImplementedError

    def measure(self, measure: Measure, item: core.Expr, span: Span) -> core.Expr:
        raise NotImplementedError

    def call_value(
        self, name: str, form: str, params: tuple[nodes.Expr, ...], args: tuple[nodes.Arg, ...], owner: core.Expr | None,
        scope: Scope, span: Span, want: Type | None,
    ) -> core.Expr:  # fmt: skip
        raise NotImplementedError

    def _use(self, name: str) -> None:
        symbol = self.names.symbols.get(name)
        if symbol is not None:
            self.names.used.add(id(symbol.node))

    def _sees(self, name: str, scope: Scope) -> bool:
        symbol = self.names.symbols.get(name)
        return symbol is None or symbol.module.name in self.names.uses.get(scope.module.name, ())

    def _property(self, e: nodes.Property, scope: Scope, want: Type | None) -> core.Expr:
        name, keys = e.target.name, e.target.keys if isinstance(e.target, nodes.Lookup) else ()
        if name in PILE_WORDS and name not in scope.names:
            return self._of_pile(name, keys, e, scope)
        binding = scope.names.get(name)
        if isinstance(binding, Measure) and not keys:
            return self.measure(binding, self.value(e.owner, scope), e.span)
        if binding is None and any(d.node.signature.form == "of" for d in self.names.definitions.get(name, [])):
            return self.call_value(name, "of", (e.owner,), (), None, scope, e.span, want)
        owner = self.value(e.owner, scope)
        return self.access(name, keys, owner, scope, e.span, want)

    def _of_pile(self, name: str, keys: tuple[nodes.Expr, ...], e: nodes.Property, scope: Scope) -> core.Expr:
        ref = self.place_ref(e.owner, scope, "a pile")
        if ref is None:
            return core.Const(0, type=ERROR, span=e.span)
        if ref.place.word != "pile":
            return self.wrong(
                "R213", f"`{ref.place.name}` is a {ref.place.word}: it has no {name}", e.span, "only a pile has an order", scope
            )
        item = ref.place.type.item if isinstance(ref.place.type, SetT) else ERROR
        if name == "nth":
            if len(keys) != 1:
                return self.wrong("R213", "`nth` needs a number", e.span, "nth(1) is the top", scope)
            index: core.Expr = self.number(keys[0], scope)
        else:
            if keys:
                return self.wrong(
                    "R213",
                    f"`{name}` takes no number",
                    e.span,
                    f"to move several say how many of what: `move 3 ... from {ref.place.name} to ...`",
                    scope,
                )
            index = core.Const(1 if name == "top" else -1, type=NUMBER, span=e.span)
        return core.Nth(ref, index, type=MaybeT(item) if name != "nth" else item, span=e.span, source=ref)

    def _yours(self, e: nodes.Yours, scope: Scope, want: Type | None) -> core.Expr:
        owner = self.whose(e.whose, e.span, scope)
        if owner is None:
            return core.Const(0, type=ERROR, span=e.span)
        keys = e.target.keys if isinstance(e.target, nodes.Lookup) else ()
        return self.access(e.target.name, keys, owner, scope, e.span, want)

    def whose(self, word: str, span: Span, scope: Scope) -> core.Expr | None:
        if word == "your":
            if scope.you is None:
                theirs = f"`{span.text.removeprefix('your ')} of ...`"
                hint = f"`your` belongs into a player's block, such as `together each player`; else say {theirs}"
                self.wrong("R302", "nobody is `you` here", span, hint, scope)
            return scope.you
        for candidate in reversed(scope.candidates):
            if isinstance(candidate.type, PlayerT):
                return candidate.expr
        hint = "`their` belongs into a clause about players: `opponents who have their ...`"
        if player := self.player_named(scope):
            hint = f"write `{line_with(span, f'{span.text.removeprefix(word).strip()} of {player}')}`"
        self.wrong("R302", "`their` speaks of nobody here", span, hint, scope)
        return None

    @staticmethod
    def player_named(scope: Scope) -> str:
        """The last player who has a name here."""
        named = [x for x, b in scope.names.items() if isinstance(b, Bound) and isinstance(b.expr.type, PlayerT)]
        return named[-1] if named else ""

    @staticmethod
    def of_a_player(name: str, what: str, span: Span, scope: Scope) -> str:
        """`guest beer`, where `guest` is a player"""
        binding = scope.names.get(name)
        if not isinstance(binding, Bound) or not isinstance(binding.expr.type, PlayerT) or span.text != f"{name} {what}":
            return ""
        return f"write `{line_with(span, f'{what} of {name}')}`"

    # ------------------------------------------------------------ names

    def access(
        self, name: str, keys: tuple[nodes.Expr, ...], owner: core.Expr | None, scope: Scope, span: Span, want: Type | None
    ) -> core.Expr:
        binding = scope.names.get(name)
        if binding is not None:
            return self._bound(name, binding, keys, owner, scope, span)
        if owner is not None and not isinstance(plain(owner.type), PlayerT):
            return self._field(name, keys, owner, scope, span)
        if owner is None:
            for candidate in reversed(scope.candidates):
                if self.field_type(candidate.type, name) is not None:
                    return self._field(name, keys, candidate.expr, scope, span)
        symbol = self.names.symbols.get(name)
        if symbol is not None and self._sees(name, scope):
            self.names.used.add(id(symbol.node))
            if symbol.sort == "place" and name in self.places:
                ref = self._ref(self.places[name], keys, owner, scope, span)
                return core.Const(0, type=ERROR, span=span) if ref is None else self.read(ref, span)
            if symbol.sort in ("table", "map") and owner is None:
                return self._table(name, keys, scope, span)
            if symbol.sort == "option" and name in self.options and not keys and owner is None:
                option = self.options[name]
                return core.OptionValue(option, type=option.type, span=span)
            if symbol.sort in ("place", "table", "map", "option"):
                return core.Const(0, type=ERROR, span=span)
        if name in self.names.definitions and any(self.sees_definition(d, scope) for d in self.names.definitions[name]):
            return self.call_value(name, "lookup" if keys else "plain", keys, (), owner, scope, span, want)
        if not keys and owner is None:
            special = self._special(name, scope, span, want)
            if special is not None:
                return special
        if name == "owner" and owner is not None:
            return core.OwnerOf(owner, type=PLAYER, span=span)
        if name == "reversed" and len(keys) == 1 and owner is None:
            base = self.group(keys[0], scope)
            item = base.type.item if isinstance(base.type, SetT) else ERROR
            return core.Reversed(base, type=SetT(item, True), span=span)
        if name == "original" and scope.original is not None:
            made: core.Expr | list[core.Statement] = scope.original(scope)
            if isinstance(made, list):
                hint = "write `original` alone in a line; what it changed can be read below it"
                return self.wrong("R221", "`original` is what happens here, not a value", span, hint, scope)
            return made
        return self._unknown(name, scope, span, want)

    def sees_definition(self, d: Definition, scope: Scope) -> bool:
        return d.module.name in self.names.uses.get(scope.module.name, ())

    def _special(self, name: str, scope: Scope, span: Span, want: Type | None) -> core.Expr | None:
        match name:
            case "players" | "player":
                return core.Players(type=SetT(PLAYER), span=span)
            case "opponents" | "opponent":
                if scope.you is None:
                    return self.wrong(
                        "R302", "nobody is `you` here, so nobody has opponents", span, "`opponents` belongs into a player's block", scope
                    )
                if scope.nested:
                    self.wrong("R301", "`opponents`: of whom?", span, "two players are in view: name the group before with `let`", scope)
                return core.Others(scope.you, type=SetT(PLAYER, True), span=span)
            case "you":
                if scope.you is None:
                    return self.wrong("R302", "nobody is `you` here", span, "`you` belongs into a player's block", scope)
                return scope.you
            case "it":
                if scope.candidates:
                    return scope.candidates[-1].expr
                return self.wrong("R302", "`it` speaks of nothing here", span, "`it` belongs into a clause or a measure", scope)
            case "none":
                return core.Const(-1, type=NONE, span=span)
        kind = self._member_kind(name, scope, want)
        if kind is not None:
            self._use(kind)
            return core.Const(self.world.kinds[kind].members.index(name), type=KindT(kind), span=span)
        for option in self.options.values():
            if name in option.words and (want is None or plain(want) == option.type):
                return core.Const(option.words.index(name), type=option.type, span=span)
        if want is not None and isinstance(plain(want), KindT):
            return None
        loops = [x for x in self.names.label(name) if x.sort == "loop"]
        if loops:
            self.counts_read.setdefault(name, span)
            return core.Var(self.loop_count(name), type=NumberT(0, None), span=span)
        return None

    def loop_count(self, name: str) -> core.Variable:
        return self.loop_counts.setdefault(name, core.Variable(name, NumberT(0, None)))

    def _member_kind(self, name: str, scope: Scope, want: Type | None) -> str | None:
        kinds = self.names.members.get(name, ())
        wanted = plain(want) if want is not None else None
        if isinstance(wanted, SetT):
            wanted = plain(wanted.item)
        if isinstance(wanted, KindT) and wanted.kind in kinds:
            return wanted.kind
        seen = []
        for kind in kinds:
            symbol = self.names.symbols.get(kind)
            if symbol is None:
                continue
            of_library = symbol.module.header is not None and symbol.module.header.word == "library"
            if (symbol.module is scope.module) or (not of_library and symbol.module.name in self.names.uses.get(scope.module.name, ())):
                seen.append(kind)
        return seen[0] if len(seen) == 1 else seen[0] if seen else None

    def _unknown(self, name: str, scope: Scope, span: Span, want: Type | None) -> core.Expr:
        if name in self.names.unread:
            return core.Const(0, type=ERROR, span=span)
        if name == "original":
            return self.wrong("R120", "`original` stands in a `replace`", span, "it is what the variant replaces", scope)
        elsewhere = [d.module.name for d in self.names.definitions.get(name, [])]
        symbol = self.names.symbols.get(name)
        if symbol is not None and not self._sees(name, scope):
            elsewhere.append(symbol.module.name)
        elsewhere += [self.names.library[name]] if name in self.names.library else []
        if elsewhere:
            return self.wrong(
                "R105",
                f"`{name}` stands in `{elsewhere[0]}`, which this file does not use",
                span,
                f"add the line `use {elsewhere[0]}`",
                scope,
            )
        if any(isinstance(plain(c.type), ErrorT) for c in scope.candidates):  # perhaps a field of what was not read
            return core.Const(0, type=ERROR, span=span)
        wanted = plain(want) if want is not None else None
        if isinstance(wanted, KindT) and self.known_above(name, span, scope) is None:
            members = self.world.kinds[wanted.kind].members
            hint = near(name, members) or f"one of: {', '.join(members[:8])}"
            return self.wrong("R104", f"`{name}` is no {wanted.kind}", span, hint, scope)
        known = {*scope.names, *self.names.symbols, *self.names.definitions, *self.names.members, *self.names.unread}
        known |= {"players", "opponents", "you"}
        for candidate in scope.candidates:
            known.update(self.field_names(candidate.type))
        hint = (
            self._those_meant(name, scope, span) or self._printed(name, scope) or near(name, known) or "declare it, or correct the spelling"
        )
        return self.unknown(f"unknown name `{name}`", name, span, hint, scope)

    @staticmethod
    def _those_meant(name: str, scope: Scope, span: Span) -> str:
        """`move them to table_top`"""
        groups = [x for x, b in scope.names.items() if isinstance(b, Bound) and isinstance(b.expr.type, SetT)]
        if name not in ("them", "those", "these") or not groups:
            return ""
        return f"say the name that they were given: `{line_with(span, groups[-1])}`"

    def _printed(self, name: str, scope: Scope) -> str:
        """`danger`, where `danger of prize` is meant"""
        things = [x for x, b in scope.names.items() if isinstance(b, Bound) and name in self.field_names(b.expr.type)]
        if things:
            return "say " + " or ".join(f"`{name} of {x}`" for x in things[-2:])
        on = [k.name for k in self.world.kinds.values() if name in k.fields]
        on += [p.name for p in self.world.pieces.values() if name in p.fields]
        return f"it is printed on `{on[0]}`: say `{name} of ...`" if on else ""

    def is_unknown(self, name: str) -> bool:
        return bool(name) and name not in self.names.symbols and name not in self.names.definitions

    def unknown_place(self, name: str, span: Span, scope: Scope) -> None:
        known = [s.name for s in self.names.symbols.values() if s.sort == "place"] + list(scope.names)
        hint = near(name, known) or "declare it: counter, status, zone, pile or slot"
        self.unknown(f"unknown place `{name}`", name, span, hint, scope)

    def unknown(self, message: str, name: str, span: Span, hint: str, scope: Scope) -> core.Const:
        """A name that nothing has; who misspells a declaration is told once, not at every use."""
        made = core.Const(0, type=ERROR, span=span)
        if name in self.names.unread or (name, scope.module.name) in self.told:
            return made
        self.told.add((name, scope.module.name))
        message, hint = other_words(name, span) or self.known_above(name, span, scope) or (message, hint)
        return self.wrong("R103", message, span, hint, scope)

    def known_above(self, name: str, span: Span, scope: Scope) -> tuple[str, str] | None:
        if id(scope.module) not in self.binders:
            self.binders[id(scope.module)] = binders_in(scope.module)
        return known_above(name, span, self.binders[id(scope.module)])

    def unknown_pieces(self, kind: str, span: Span, scope: Scope) -> core.Const:
        if kind in self.world.unknown:
            return core.Const(0, type=ERROR, span=span)
        return self.unknown(f"unknown pieces `{kind}`", kind, span, near(kind, self.world.pieces) or "declare them with `pieces`", scope)

    def _bound(self, name: str, binding: Any, keys: tuple[nodes.Expr, ...], owner: core.Expr | None, scope: Scope, span: Span) -> core.Expr:
        match binding:
            case Bound() if isinstance(binding.expr.type, ErrorT):
                return binding.expr
            case Bound() if not keys and owner is None:
                if isinstance(binding.expr, core.Var):
                    self.noticed.mentioned.add(binding.expr.var)
                return binding.expr
            case Measure() if not keys:
                if owner is None and not scope.candidates:
                    return self.wrong("R214", f"`{name}` is worked out for each: of whom?", span, f"say `{name} of ...`", scope)
                return self.measure(binding, owner if owner is not None else scope.candidates[-1].expr, span)
            case PlaceArg() if owner is None:
                if binding.ref.place.keys and not binding.ref.keys:
                    ref = self._ref(binding.ref.place, keys, binding.ref.owner, scope, span)
                    return core.Const(0, type=ERROR, span=span) if ref is None else self.read(ref, span)
                if not keys:
                    return self.read(binding.ref, span)
            case ViewArg() if not keys and owner is None:
                return self.value(binding.expr, binding.scope)
            case Family():
                ref = self._family_ref(name, binding, keys, owner, scope, span)
                return core.Const(0, type=ERROR, span=span) if ref is None else self.read(ref, span)
        return self.wrong("R214", f"`{name}` takes no key and has no owner here", span, f"write `{name}` alone", scope)

    def _family_ref(
        self, name: str, family: Family, keys: tuple[nodes.Expr, ...], owner: core.Expr | None, scope: Scope, span: Span
    ) -> core.PlaceRef | None:
        if family.place.per_player:
            if owner is None:
                self.wrong("R214", f"`{name}`: of whom?", span, f"say `{name} of ...`", scope)
                return None
            return core.PlaceRef(family.place, owner, family.keys, span)
        return self._ref(family.place, keys, None, scope, span)

    def read(self, ref: core.PlaceRef, span: Span) -> core.Expr:
        source = ref if ref.place.holds_pieces else None
        self.noticed.read.add(ref.place)
        return core.Read(ref, type=ref.place.type, span=span, source=source)

    # ------------------------------------------------------------ places

    def place_ref(self, e: nodes.Expr, scope: Scope, what: str = "a place") -> core.PlaceRef | None:
        """The place that an expression names; what is no place is reported."""
        name, owner = "", None
        keys: tuple[nodes.Expr, ...] = ()
        match e:
            case nodes.Name():
                name = e.name
            case nodes.Lookup():
                name, keys = e.name, e.keys
            case nodes.Property():
                name = e.target.name
                keys = e.target.keys if isinstance(e.target, nodes.Lookup) else ()
                owner = self.value(e.owner, scope)
            case nodes.Yours():
                name = e.target.name
                keys = e.target.keys if isinstance(e.target, nodes.Lookup) else ()
                owner = self.whose(e.whose, e.span, scope)
                if owner is None:
                    return None
        binding = scope.names.get(name)
        match binding:
            case PlaceArg() if owner is None:
                if binding.ref.place.keys and not binding.ref.keys:
                    return self._ref(binding.ref.place, keys, binding.ref.owner, scope, e.span)
                return binding.ref
            case Family():
                return self._family_ref(name, binding, keys, owner, scope, e.span)
            case ViewArg():
                return self.place_ref(binding.expr, binding.scope, what)
            case Bound() if isinstance(binding.expr.type, ErrorT):
                return None
        if (name in self.names.unread or self.names.is_unread(e.span.text)) and name not in self.names.symbols:
            return None
        symbol = self.names.symbols.get(name)
        if binding is None and symbol is not None and symbol.sort == "place" and self._sees(name, scope):
            self.names.used.add(id(symbol.node))
            if name not in self.places:
                return None
            return self._ref(self.places[name], keys, owner, scope, e.span)
        if binding is None and self.is_unknown(name):
            self.unknown_place(name, e.span, scope)
        elif binding is None and not owner and (made := [d for d in self.names.definitions.get(name, ()) if not d.is_verb]):
            self._worked_out(made[0], e, scope)
        else:
            hint = f"leave out `{e.verb}`" if isinstance(e, nodes.VerbTest) and e.verb in ("the", "a", "an") else "name the place itself"
            if isinstance(e, nodes.VerbTest):
                hint = self.of_a_player(e.verb, e.item.span.text, e.span, scope) or hint
            if isinstance(e, nodes.And):
                hint = "write a line for each of them"
            self.wrong("R215", f"`{e.span.text}` is not {what}", e.span, hint, scope)
        return None

    def _worked_out(self, d: Definition, e: nodes.Expr, scope: Scope) -> None:
        """`raise fame by 1`, where `fame` is a definition"""
        used = dict.fromkeys(x.name for x in inside(d.node.body) if isinstance(x, nodes.Name | nodes.Lookup) and x.name in self.places)
        made_of = "".join(f", `{name}`" for name in list(used)[:3])
        message = f"`{d.name}` is worked out by its definition, and cannot be changed"
        notes = [Note(name_span(d.node, d.name), "the definition")]
        hint = f"change what it is made of{made_of}" if made_of else "what changes is a counter: declare it as one"
        self.wrong("R215", message, e.span, hint, scope, notes)

    def _ref(
        self, place: core.Place, keys: tuple[nodes.Expr, ...], owner: core.Expr | None, scope: Scope, span: Span
    ) -> core.PlaceRef | None:
        if len(keys) != len(place.keys):
            self.wrong(
                "R216",
                f"`{place.name}` has {several(len(place.keys), 'key')}, here are {len(keys)}",
                span,
                _written(place.name, place.keys),
                scope,
            )
            return None
        made = self._keys(place.name, keys, place.keys, scope, span)
        if place.per_player:
            if owner is None:
                owner = self.implied_owner(place.name, span, scope)
                if owner is None:
                    return None
            elif not isinstance(plain(owner.type), PlayerT | ErrorT):
                self.wrong(
                    "R210",
                    f"the owner of `{place.name}` is a player, this is {owner.type}",
                    span,
                    f"say `{place.name} of ` a player",
                    scope,
                )
                return None
        elif owner is not None:
            self.wrong(
                "R214", f"`{place.name}` belongs to nobody", span, f"write `{place.name}` alone, or declare it under `each player`", scope
            )
            return None
        return core.PlaceRef(place, None if owner is None else self.sure(owner), made, span)

    def _keys(self, name: str, keys: tuple[nodes.Expr, ...], wanted: tuple[Type, ...], scope: Scope, span: Span) -> tuple[core.Expr, ...]:
        """The keys as values of their types; in another order they are told once."""
        found = [self.value(k, scope, t) for k, t in zip(keys, wanted, strict=True)]
        if self.are_astray(name, keys, found, wanted, scope, span):
            return tuple(core.Const(0, type=ERROR, span=k.span) for k in keys)
        what = f"the key of `{name}`"
        return tuple(self.want(x, t, k.span, what, scope) for x, t, k in zip(found, wanted, keys, strict=True))

    def are_astray(
        self, name: str, keys: tuple[nodes.Expr, ...], found: list[core.Expr], wanted: tuple[Type, ...], scope: Scope, span: Span
    ) -> bool:
        """Told, if all of them are there, but in another order."""
        order = in_order([x.type for x in found], wanted)
        if order is not None:
            hint = f"write `{name}({', '.join(keys[i].span.text for i in order)})`"
            self.wrong("R216", f"the keys of `{name}` are in another order", span, hint, scope)
        return order is not None

    def implied_owner(self, name: str, span: Span, scope: Scope) -> core.Expr | None:
        """Whose is a bare name?  Where two players are in view the author must say it."""
        candidate = next((c.expr for c in reversed(scope.candidates) if isinstance(c.type, PlayerT)), None)
        if scope.whose_is_told:
            return candidate or scope.you
        if candidate is not None and scope.you is not None:
            self.wrong("R301", f"`{name}` could be yours or theirs", span, f"say `your {name}` or `their {name}`", scope)
            return candidate
        if candidate is not None:
            return candidate
        if scope.you is None:
            self.wrong(
                "R302",
                f"`{name}` belongs to a player: whose?",
                span,
                f"say `{name} of ...`, or put the line below `together each player`",
                scope,
            )
            return None
        if scope.nested:
            self.wrong(
                "R301", f"`{name}` could belong to either of two players", span, f"say `your {name}`, or `{name} of ` the other one", scope
            )
        return scope.you

    # ------------------------------------------------------------ fields and tables

    def fields_of(self, t: Type) -> list[tuple[str, Type]]:
        t = plain(t)
        found = [self.world.kinds[t.kind].fields] if isinstance(t, KindT) and t.kind in self.world.kinds else []
        if isinstance(t, PieceT):
            found = [self.world.pieces[k].fields for k in sorted(t.kinds) if k in self.world.pieces]
        return [(name, f.type) for fields in found for name, f in fields.items()]

    def field_names(self, t: Type) -> list[str]:
        return [name for name, _ in self.fields_of(t)]

    def field_type(self, t: Type, name: str) -> core.Field | None:
        t = plain(t)
        if isinstance(t, KindT) and t.kind in self.world.kinds:
            return self.world.kinds[t.kind].fields.get(name)
        if isinstance(t, PieceT):
            for kind in sorted(t.kinds):
                if kind in self.world.pieces and name in self.world.pieces[kind].fields:
                    return self.world.pieces[kind].fields[name]
        return None

    def _field(self, name: str, keys: tuple[nodes.Expr, ...], item: core.Expr, scope: Scope, span: Span) -> core.Expr:
        if isinstance(item.type, ErrorT):
            return core.Const(0, type=ERROR, span=span)
        if name == "owner" and isinstance(plain(item.type), PieceT):
            return core.OwnerOf(item, type=PLAYER, span=span)
        if name == "position" and isinstance(plain(item.type), PieceT) and not keys:
            if item.source is None or item.source.place.word != "pile":
                return self.wrong("R213", "only in a pile a piece has a position", span, "1 is the top", scope)
            return core.PositionOf(item, item.source, type=NUMBER, span=span)
        found = self.field_type(item.type, name)
        if found is None:
            known = self.field_names(item.type)
            hint = near(name, known) or (f"it has: {', '.join(known)}" if known else "only players, pieces and kinds have fields")
            if isinstance(plain(item.type), NumberT) and (worked_out := part_of(name, span)):
                return self.wrong("R106", worked_out[0], span, worked_out[1], scope)
            hint = self._looked_up(name, item.type, span) or hint
            asked = [d.node.signature.params for d in self.names.definitions.get(name, ()) if d.node.signature.form == "lookup"]
            if asked:
                hint = f"it is written `{name}({', '.join(p.name for p in asked[0])})`"
            return self.wrong("R106", f"{plain(item.type)} has no `{name}`", span, hint, scope)
        if len(keys) != len(found.keys):
            return self.wrong(
                "R216", f"`{name}` has {several(len(found.keys), 'key')}, here are {len(keys)}", span, _written(name, found.keys), scope
            )
        made = self._keys(name, keys, found.keys, scope, span)
        self.noticed.fields.add(name)
        return core.FieldOf(name, made, item, type=found.type, span=span)

    def _looked_up(self, name: str, owner: Type, span: Span) -> str:
        """`price of bale`, where `price` is a table over the cloth of a bale"""
        table, said = self.world.tables.get(name), re.fullmatch(rf"{name}\s+of\s+(\w+(?:\s+of\s+\w+)*)", span.text)
        if table is None or said is None or len(table.keys) != 1:
            return ""
        keys = [said[1]] if fits(owner, table.keys[0]) else []
        keys += [f"{field} of {said[1]}" for field, t in self.fields_of(owner) if fits(t, table.keys[0])]
        return f"write `{line_with(span, f'{name}({keys[0]})')}`" if keys else ""

    def _table(self, name: str, keys: tuple[nodes.Expr, ...], scope: Scope, span: Span) -> core.Expr:
        table = self.world.tables.get(name)
        if table is None:
            return core.Const(0, type=ERROR, span=span)
        if len(keys) != len(table.keys):
            return self.wrong(
                "R216", f"`{name}` has {several(len(table.keys), 'key')}, here are {len(keys)}", span, _written(name, table.keys), scope
            )
        made = self._keys(name, keys, table.keys, scope, span)
        self.noticed.lookups.append((table, made))
        return core.TableAt(table, made, type=table.type, span=span)

    def fresh(self, name: str, span: Span, scope: Scope, among: core.Expr | None = None) -> None:
        """No name covers another; `among` is the group of which it would name each."""
        clash = name in scope.names or (name in self.names.symbols and self._sees(name, scope))
        clash = clash or any(self.sees_definition(d, scope) for d in self.names.definitions.get(name, []))
        kinds = [kind for kind in self.names.members.get(name, ()) if kind in self.names.symbols and self._sees(kind, scope)]
        if kinds and not clash:
            note = Note(name_span(self.names.symbols[kinds[0]].node, name), "declared here")
            hint = self._only_those(name, kinds, among) or "choose another name for it"
            self.wrong("R107", f"`{name}` is {KindT(kinds[0])}, and cannot name something else", span, hint, scope, [note])
        if clash:
            symbol = self.names.symbols.get(name)
            notes = [Note(name_span(symbol.node, name), "declared here")] if symbol is not None else []
            notes += [Note(name_span(d.node, name), "defined here") for d in self.names.definitions.get(name, [])[:1]]
            self.wrong("R107", f"`{name}` means something else already", span, "choose another name for it", scope, notes)

    def _only_those(self, name: str, kinds: list[str], among: core.Expr | None) -> str:
        """`some thyme in garden`, where a flower has a colour, a height and a sort"""
        if among is None or not isinstance(among.type, SetT):
            return ""
        if _is_one(among.type.item, kinds):
            return f"write `x in {among.span.text} where x is {name}`, or choose another name"
        printed = [f for f, t in self.fields_of(among.type.item) if _is_one(t, kinds)]
        return f"write `x in {among.span.text} where {printed[0]} of x is {name}`, or choose another name" if printed else ""


def _is_one(t: Type, kinds: list[str]) -> bool:
    t = plain(t)
    return isinstance(t, KindT) and t.kind in kinds


def in_order(found: list[Type], wanted: Sequence[Type]) -> tuple[int, ...] | None:
    """The order in which these would fit, if they do not fit as they are."""
    if len(found) > MOST_KEYS or any(isinstance(t, ErrorT) for t in found) or all(map(fits, found, wanted)):
        return None
    orders = permutations(range(len(found)))
    return next((o for o in orders if all(fits(found[i], t) for i, t in zip(o, wanted, strict=True))), None)


def _written(name: str, keys: tuple[Type, ...]) -> str:
    shown = f"({', '.join(str(k).removeprefix('a ') for k in keys)})" if keys else ""
    return f"it is written `{name}{shown}`"
