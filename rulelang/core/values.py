"""Surface values to core values: every name resolved, every type checked, definitions called or expanded."""

from typing import Any

from attrs import define, evolve, field

from rulelang.core import nodes as core
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
    NoneT,
    NumberT,
    PieceT,
    PlayerT,
    SetT,
    Type,
    fits,
    join,
    plain,
)  # fmt: skip
from rulelang.core.world import World
from rulelang.diagnostics import Note, Problems, near
from rulelang.names.collect import KERNEL_VERBS, name_span
from rulelang.names.table import Definition, Names
from rulelang.source import Span
from rulelang.surface import nodes

PLACE_WORDS = ("counter", "status", "zone", "pile", "slot")
PILE_WORDS = ("top", "bottom", "nth")
MAX_EXPANSIONS = 20_000


@define(eq=False)
class Values:
    """Elaborates values.  Functions are made once for each definition that takes plain values only."""

    names: Names
    world: World
    problems: Problems
    places: dict[str, core.Place] = field(factory=dict)
    options: dict[str, core.Option] = field(factory=dict)
    functions: dict[int, core.Function] = field(factory=dict)
    loop_counts: dict[str, core.Variable] = field(factory=dict)
    given: dict[str, list[tuple[int | None, tuple[int, ...], int]]] = field(factory=dict)
    expanding: list[Definition] = field(factory=list)
    expansions: int = 0

    # ------------------------------------------------------------ reporting

    def wrong(self, code: str, message: str, span: Span, hint: str, scope: Scope | None = None, notes: Any = ()) -> core.Const:
        self.problems.add(code, message, span, hint, heading=scope.heading if scope else "", notes=notes)
        return core.Const(0, type=ERROR, span=span)

    @staticmethod
    def sure(found: core.Expr) -> core.Expr:
        """What may be none, where it must not be: checked while playing until it is proved."""
        if not isinstance(found.type, MaybeT):
            return found
        return core.Sure(found, type=found.type.item, span=found.span, source=found.source)

    def want(self, found: core.Expr, wanted: Type, span: Span, what: str, scope: Scope) -> core.Expr:
        if not fits(found.type, wanted):
            self.wrong("R210", f"{what} is {wanted}, this is {found.type}", span, self._type_hint(found, wanted), scope)
            return core.Const(0, type=ERROR, span=span)
        return self.sure(found) if isinstance(found.type, MaybeT) and not isinstance(wanted, MaybeT | ErrorT) else found

    @staticmethod
    def _type_hint(found: core.Expr, wanted: Type) -> str:
        if isinstance(found.type, SetT) and isinstance(wanted, NumberT):
            return "for how many there are, say `number of ...`"
        if isinstance(found.type, SetT) and isinstance(wanted, BoolT):
            return "for whether there is one, say `some ...` or `... is not empty`"
        if isinstance(found.type, SetT) and found.type.item == wanted:
            return "for one of them, say `first ...`"
        if isinstance(wanted, BoolT):
            return "a condition compares something: `... >= 1`, `... is yes`"
        return f"something that is {wanted} is needed here"

    def boolean(self, e: nodes.Expr, scope: Scope) -> core.Expr:
        return self.want(self.value(e, scope, BOOL), BOOL, e.span, "a condition", scope)

    def number(self, e: nodes.Expr, scope: Scope, what: str = "this") -> core.Expr:
        return self.want(self.value(e, scope, NUMBER), NUMBER, e.span, what, scope)

    # ------------------------------------------------------------ values

    def value(self, e: nodes.Expr, scope: Scope, want: Type | None = None) -> core.Expr:
        match e:
            case nodes.Number():
                return core.Const(e.value, type=NumberT(e.value, e.value), span=e.span)
            case nodes.Truth():
                return core.Const(int(e.value), type=BOOL, span=e.span)
            case nodes.Name():
                return self.access(e.name, (), None, scope, e.span, want)
            case nodes.Lookup():
                return self.access(e.name, e.keys, None, scope, e.span, want)
            case nodes.KindName():
                return self._whole_kind(e, scope)
            case nodes.Property():
                return self._property(e, scope, want)
            case nodes.Yours():
                return self._yours(e, scope, want)
            case nodes.Range():
                low = self.number(e.low, scope)
                if e.high is None:
                    return self.wrong("R211", "this range has no end", e.span, "as a value a range needs both ends: 1..5", scope)
                high = self.number(e.high, scope)
                return core.Span_(low, high, type=SetT(_range_type(low, high), True), span=e.span)
            case nodes.Ordered():
                return self._ordered(e, scope)
            case nodes.OfKind():
                return self._of_kind(e, scope)
            case nodes.ListOf():
                return self._list(e, scope, want)
            case nodes.Or():
                return core.AnyOf(tuple(self.boolean(x, scope) for x in e.items), type=BOOL, span=e.span)
            case nodes.And():
                return core.All(tuple(self.boolean(x, scope) for x in e.items), type=BOOL, span=e.span)
            case nodes.Not():
                return core.Not(self.boolean(e.item, scope), type=BOOL, span=e.span)
            case nodes.Compare():
                left, right = self.number(e.left, scope, "what is compared"), self.number(e.right, scope, "what is compared")
                return core.Compare(e.op, left, right, type=BOOL, span=e.span)
            case nodes.Is():
                return self._is(e, scope)
            case nodes.IsIn():
                base = self.group(e.right, scope)
                item_type = base.type.item if isinstance(base.type, SetT) else ERROR
                item = self.want(self.value(e.left, scope, item_type), item_type, e.left.span, "what is looked for", scope)
                found: core.Expr = core.Contains(item, base, type=BOOL, span=e.span)
                return core.Not(found, type=BOOL, span=e.span) if e.negated else found
            case nodes.IsEmpty():
                base = self.group(e.item, scope)
                count = core.Count(base, type=NUMBER, span=e.span)
                zero = core.Const(0, type=NUMBER, span=e.span)
                return core.Compare("!=" if e.negated else "==", count, zero, type=BOOL, span=e.span)
            case nodes.Sum():
                terms = [(1, self.number(e.first, scope, "what is added"))]
                terms += [(1 if sign == "+" else -1, self.number(x, scope, "what is added")) for sign, x in e.rest]
                return core.Sum(tuple(terms), type=_sum_type(terms), span=e.span)
            case nodes.Times():
                return core.Product(self.number(e.left, scope), self.number(e.right, scope), type=NUMBER, span=e.span)
            case nodes.Divided():
                return core.Quotient(self.number(e.left, scope), self.number(e.right, scope), e.up, type=NUMBER, span=e.span)
            case nodes.Modulo():
                return core.Remainder(self.number(e.left, scope), self.number(e.right, scope), type=NUMBER, span=e.span)
            case nodes.VerbTest():
                return self._call_value(e.verb, "object", (e.item,), (), None, scope, e.span, want)
            case nodes.Those():
                return self.those(e, scope)
            case nodes.Fold():
                return self._fold(e, scope)
            case nodes.FoldOver():
                return self._fold_over(e, scope)
            case nodes.Every():
                base, var, inner = self._candidate(e.those, scope)
                test = self.boolean(e.test, inner)
                return core.ForAll(var, base, test, type=BOOL, span=e.span)
            case nodes.NounPhrase():
                return self._noun_phrase(e, scope, want)
            case nodes.Counted():
                return self.wrong(
                    "R229", f"`{e.span.text}` is moved, not computed", e.span, f"write `move {e.span.text} from ... to ...`", scope
                )

    def _whole_kind(self, e: nodes.KindName, scope: Scope) -> core.Expr:
        kind = self.world.kinds.get(e.name)
        if kind is None or not self._sees(e.name, scope):
            if e.name in self.world.pieces:
                return self.wrong("R212", f"`{e.name}` are pieces: they lie somewhere", e.span, f"say where: `{e.name} in ...`", scope)
            return self.wrong("R103", f"unknown kind `{e.name}`", e.span, near(e.name, self.world.kinds) or "declare it with `kind`", scope)
        self._use(e.name)
        mask = (1 << len(kind.members)) - 1
        return core.Const(mask, type=SetT(KindT(e.name)), span=e.span)

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
            return self._call_value(name, "of", (e.owner,), (), None, scope, e.span, want)
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
                self.wrong(
                    "R302",
                    "nobody is `you` here",
                    span,
                    "`your` belongs into a player's block: `together each player`, `in turn each player`",
                    scope,
                )
            return scope.you
        for candidate in reversed(scope.candidates):
            if isinstance(candidate.type, PlayerT):
                return candidate.expr
        self.wrong(
            "R302",
            "`their` speaks of nobody here",
            span,
            "`their` belongs into a clause about players: `opponents who have their ...`",
            scope,
        )
        return None

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
            if symbol.sort == "table" and owner is None:
                return self._table(name, keys, scope, span)
            if symbol.sort == "option" and name in self.options and not keys and owner is None:
                option = self.options[name]
                return core.OptionValue(option, type=option.type, span=span)
            if symbol.sort in ("place", "table", "option"):
                return core.Const(0, type=ERROR, span=span)
        if name in self.names.definitions and any(self.sees_definition(d, scope) for d in self.names.definitions[name]):
            return self._call_value(name, "lookup" if keys else "plain", keys, (), owner, scope, span, want)
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
            made: core.Expr = scope.original(scope)
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
        if elsewhere:
            return self.wrong(
                "R105",
                f"`{name}` stands in `{elsewhere[0]}`, which this file does not use",
                span,
                f"add the line `use {elsewhere[0]}`",
                scope,
            )
        wanted = plain(want) if want is not None else None
        if isinstance(wanted, KindT):
            members = self.world.kinds[wanted.kind].members
            hint = near(name, members) or f"one of: {', '.join(members[:8])}"
            return self.wrong("R104", f"`{name}` is no {wanted.kind}", span, hint, scope)
        known = {*scope.names, *self.names.symbols, *self.names.definitions, *self.names.members, "players", "opponents", "you"}
        for candidate in scope.candidates:
            known.update(self.field_names(candidate.type))
        return self.wrong("R103", f"unknown name `{name}`", span, near(name, known) or "declare it, or correct the spelling", scope)

    def _bound(self, name: str, binding: Any, keys: tuple[nodes.Expr, ...], owner: core.Expr | None, scope: Scope, span: Span) -> core.Expr:
        match binding:
            case Bound() if isinstance(binding.expr.type, ErrorT):
                return binding.expr
            case Bound() if not keys and owner is None:
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
        if name in self.names.unread and name not in self.names.symbols:
            return None
        symbol = self.names.symbols.get(name)
        if binding is None and symbol is not None and symbol.sort == "place" and self._sees(name, scope):
            self.names.used.add(id(symbol.node))
            if name not in self.places:
                return None
            return self._ref(self.places[name], keys, owner, scope, e.span)
        if binding is None and symbol is None and name and name not in self.names.definitions:
            known = [s.name for s in self.names.symbols.values() if s.sort == "place"] + list(scope.names)
            self.wrong(
                "R103", f"unknown place `{name}`", e.span, near(name, known) or "declare it: counter, status, zone, pile or slot", scope
            )
        else:
            self.wrong("R215", f"`{e.span.text}` is not {what}", e.span, "name the place itself", scope)
        return None

    def _ref(
        self, place: core.Place, keys: tuple[nodes.Expr, ...], owner: core.Expr | None, scope: Scope, span: Span
    ) -> core.PlaceRef | None:
        if len(keys) != len(place.keys):
            wanted = f"{place.name}({', '.join(str(k).removeprefix('a ') for k in place.keys)})" if place.keys else place.name
            self.wrong("R216", f"`{place.name}` has {len(place.keys)} keys, here are {len(keys)}", span, f"it is written `{wanted}`", scope)
            return None
        made = tuple(
            self.want(self.value(k, scope, t), t, k.span, f"the key of `{place.name}`", scope)
            for k, t in zip(keys, place.keys, strict=True)
        )
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

    def implied_owner(self, name: str, span: Span, scope: Scope) -> core.Expr | None:
        """Whose is a bare name?  Where two players are in view the author must say it."""
        candidate = next((c.expr for c in reversed(scope.candidates) if isinstance(c.type, PlayerT)), None)
        if candidate is not None and scope.you is not None:
            self.wrong("R301", f"`{name}` could be yours or theirs", span, f"say `your {name}` or `their {name}`", scope)
            return candidate
        if candidate is not None:
            return candidate
        if scope.you is None:
            self.wrong(
                "R302", f"`{name}` belongs to a player: whose?", span, f"say `{name} of ...`, or put it into a player's block", scope
            )
            return None
        if scope.nested:
            self.wrong(
                "R301", f"`{name}` could belong to either of two players", span, f"say `your {name}`, or `{name} of ` the other one", scope
            )
        return scope.you

    # ------------------------------------------------------------ fields and tables

    def field_names(self, t: Type) -> list[str]:
        t = plain(t)
        if isinstance(t, KindT) and t.kind in self.world.kinds:
            return list(self.world.kinds[t.kind].fields)
        if isinstance(t, PieceT):
            return [f for k in t.kinds if k in self.world.pieces for f in self.world.pieces[k].fields]
        return []

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
            return self.wrong("R106", f"{item.type} has no `{name}`", span, hint, scope)
        if len(keys) != len(found.keys):
            return self.wrong(
                "R216", f"`{name}` has {len(found.keys)} keys, here are {len(keys)}", span, "give one value for each key", scope
            )
        made = tuple(
            self.want(self.value(k, scope, t), t, k.span, f"the key of `{name}`", scope) for k, t in zip(keys, found.keys, strict=True)
        )
        return core.FieldOf(name, made, item, type=found.type, span=span)

    def _table(self, name: str, keys: tuple[nodes.Expr, ...], scope: Scope, span: Span) -> core.Expr:
        table = self.world.tables.get(name)
        if table is None:
            return core.Const(0, type=ERROR, span=span)
        if len(keys) != len(table.keys):
            return self.wrong(
                "R216", f"`{name}` has {len(table.keys)} keys, here are {len(keys)}", span, "give one value for each key", scope
            )
        made = tuple(
            self.want(self.value(k, scope, t), t, k.span, f"the key of `{name}`", scope) for k, t in zip(keys, table.keys, strict=True)
        )
        return core.TableAt(table, made, type=table.type, span=span)

    # ------------------------------------------------------------ groups, clauses, folds

    def group(self, e: nodes.Expr, scope: Scope, want: Type | None = None) -> core.Expr:
        made = self.value(e, scope, want)
        t = made.type
        if isinstance(t, MaybeT) and isinstance(t.item, PieceT) and isinstance(made, core.Read):
            return evolve(made, type=SetT(t.item))  # a slot, read as the set of what it holds
        if not isinstance(t, SetT | ErrorT):
            return self.wrong(
                "R217", f"`{e.span.text}` is {t}, not a group", e.span, "a group is a place, a kind, players, a range or a list", scope
            )
        return made

    def _candidate(self, those: nodes.Those, scope: Scope) -> tuple[core.Expr, core.Variable, Scope]:
        base = self.group(those.base, scope)
        item = base.type.item if isinstance(base.type, SetT) else ERROR
        var = core.Variable(those.var or "it", item, base.source)
        made = core.Var(var, type=item, span=those.span, source=base.source)
        inner = scope.about(made, item)
        if those.var is not None and those.var != "player":
            self.fresh(those.var, those.span, scope)
            inner = inner.bind(those.var, Bound(made))
        return base, var, inner

    def fresh(self, name: str, span: Span, scope: Scope) -> None:
        """No name covers another."""
        clash = name in scope.names or (name in self.names.symbols and self._sees(name, scope))
        clash = clash or any(self.sees_definition(d, scope) for d in self.names.definitions.get(name, []))
        if clash:
            symbol = self.names.symbols.get(name)
            notes = [Note(name_span(symbol.node, name), "declared here")] if symbol is not None else []
            notes += [Note(name_span(d.node, name), "defined here") for d in self.names.definitions.get(name, [])[:1]]
            self.wrong("R107", f"`{name}` means something else already", span, "choose another name for it", scope, notes)

    def those(self, e: nodes.Those, scope: Scope) -> core.Expr:
        if e.such is None:
            return self.group(e.base, scope)
        base, var, inner = self._candidate(e, scope)
        test = self._such(e.such, inner, var)
        return core.Filter(var, base, test, type=base.type, span=e.span, source=base.source)

    def _such(self, such: nodes.Such, inner: Scope, var: core.Variable) -> core.Expr:
        if such.word == "who":
            owner = core.Var(var, type=var.type, span=such.span)
            if not isinstance(plain(var.type), PlayerT | ErrorT):
                return self.wrong("R218", f"`who` is for players, this is about {var.type}", such.span, "for things say `where`", inner)
            match such.test:
                case nodes.VerbTest():
                    return self.want(
                        self._call_value(
                            such.test.verb,
                            "object",
                            (such.test.item,),
                            (),
                            owner,
                            evolve(inner, candidates=inner.candidates[:-1]),
                            such.test.span,
                            BOOL,
                        ),
                        BOOL,
                        such.test.span,
                        "a condition",
                        inner,
                    )
                case nodes.Name() | nodes.Lookup():
                    keys = such.test.keys if isinstance(such.test, nodes.Lookup) else ()
                    return self.want(
                        self.access(such.test.name, keys, owner, inner, such.test.span, BOOL), BOOL, such.test.span, "a condition", inner
                    )
        return self.boolean(such.test, inner)

    def _fold(self, e: nodes.Fold, scope: Scope) -> core.Expr:
        if e.op in ("some", "no"):
            base, var, inner = self._candidate(e.those, scope)
            if e.those.such is None:
                count = core.Count(base, type=NUMBER, span=e.span)
                op = "!=" if e.op == "some" else "=="
                return core.Compare(op, count, core.Const(0, type=NUMBER), type=BOOL, span=e.span)
            found: core.Expr = core.Exists(var, base, self._such(e.those.such, inner, var), type=BOOL, span=e.span)
            return found if e.op == "some" else core.Not(found, type=BOOL, span=e.span)
        group = self.those(e.those, scope)
        if e.op == "number of":
            if isinstance(group, core.Players):
                return core.PlayerCount(type=NumberT(self.players.start, self.players[-1]), span=e.span)
            return core.Count(group, type=NumberT(0, None), span=e.span)
        item = group.type.item if isinstance(group.type, SetT) else ERROR
        sure = isinstance(group, core.Players) or (isinstance(group, core.Arranged) and isinstance(group.base, core.Players))
        return core.FirstOf(group, e.op == "last", type=item if sure else MaybeT(item), span=e.span, source=group.source)

    @property
    def players(self) -> range:
        return range(2, 7)

    def _fold_over(self, e: nodes.FoldOver, scope: Scope) -> core.Expr:
        base, var, inner = self._candidate(e.those, scope)
        if e.those.such is not None:
            test = self._such(e.those.such, inner, var)
            base = core.Filter(var, base, test, type=base.type, span=e.those.span, source=base.source)
        measure = self.number(e.measure, inner, "what is counted")
        return core.Over(e.op.removesuffix(" of"), var, base, measure, type=NUMBER, span=e.span)

    def _ordered(self, e: nodes.Ordered, scope: Scope) -> core.Expr:
        base = self.group(e.base, scope)
        item = base.type.item if isinstance(base.type, SetT) else ERROR
        start = self.want(self.value(e.start, scope, item), item, e.start.span, f"what `{e.order}` names", scope)
        ring = isinstance(item, PlayerT | ErrorT) or (isinstance(item, KindT) and self.world.kinds[item.kind].is_ring)
        if not ring:
            return self.wrong(
                "R219",
                f"`{e.order}` needs an order that closes; {item} has none",
                e.span,
                "players and rings have one: declare it with `ring`",
                scope,
            )
        return core.Arranged(base, start, e.order == "after", type=SetT(item, True), span=e.span)

    def _of_kind(self, e: nodes.OfKind, scope: Scope) -> core.Expr:
        if e.kind not in self.world.pieces:
            return self.wrong(
                "R103", f"unknown pieces `{e.kind}`", e.span, near(e.kind, self.world.pieces) or "declare them with `pieces`", scope
            )
        self._use(e.kind)
        base = self.group(e.place, scope)
        return core.OfKind(base, frozenset((e.kind,)), type=SetT(PieceT(frozenset((e.kind,)))), span=e.span, source=base.source)

    def _list(self, e: nodes.ListOf, scope: Scope, want: Type | None) -> core.Expr:
        inner = want.item if isinstance(want, SetT) else None
        items = tuple(self.value(x, scope, inner) for x in e.items)
        found: Type = inner or ERROR
        for x in items:
            made = join(found, x.type)
            if made is None:
                return self.wrong("R201", f"{x.type} beside {found}", x.span, "all items of a list have one type", scope)
            found = made
        return core.ListOf(items, type=SetT(found), span=e.span)

    def _is(self, e: nodes.Is, scope: Scope) -> core.Expr:
        left = self.value(e.left, scope)
        right = self.value(e.right, scope, left.type)
        if isinstance(left.type, ErrorT) or isinstance(right.type, ErrorT):
            return core.Const(0, type=ERROR, span=e.span)
        if not fits(left.type, right.type) and not fits(right.type, left.type):
            return self.wrong("R210", f"{left.type} is never {right.type}", e.span, "compare things of one kind", scope)
        if isinstance(left.type, SetT):
            same: core.Expr = core.SameSet(left, right, type=BOOL, span=e.span)
            return core.Not(same, type=BOOL, span=e.span) if e.negated else same
        return core.Compare("!=" if e.negated else "==", left, right, type=BOOL, span=e.span)

    # ------------------------------------------------------------ calls

    def measure(self, measure: Measure, item: core.Expr, span: Span) -> core.Expr:
        """`score of x`: the caller's expression about x."""
        if isinstance(item, core.Var | core.Const):
            return self.value(measure.expr, measure.scope.about(item, item.type))
        var = core.Variable("it", item.type, item.source)
        made = core.Var(var, type=item.type, span=span, source=item.source)
        body = self.value(measure.expr, measure.scope.about(made, item.type))
        return core.LetIn(var, item, body, type=body.type, span=span)

    def _noun_phrase(self, e: nodes.NounPhrase, scope: Scope, want: Type | None) -> core.Expr:
        match e.head:
            case nodes.Name():
                return self._call_value(e.head.name, "bare", (), e.args, None, scope, e.span, want)
            case nodes.Property() if isinstance(e.head.target, nodes.Name):
                return self._call_value(e.head.target.name, "of", (e.head.owner,), e.args, None, scope, e.span, want)
            case nodes.VerbTest():
                return self._call_value(e.head.verb, "object", (e.head.item,), e.args, None, scope, e.span, want)
            case nodes.Those() | nodes.Fold() | nodes.FoldOver():
                return self.wrong("R220", "a preposition after a clause", e.args[0].span, "put the clause in brackets", scope)
        return self.wrong(
            "R220", f"`{e.head.span.text}` takes no `{e.args[0].word}`", e.args[0].span, "only a definition with that word does", scope
        )

    def find(
        self, name: str, form: str, params: tuple[nodes.Expr, ...], args: tuple[nodes.Arg, ...], scope: Scope, span: Span, verb: bool
    ) -> Definition | None:
        """The definition whose signature is written like this call; else what is missing or too much."""
        every = [d for d in self.names.definitions.get(name, []) if d.is_verb == verb]
        seen = [d for d in every if self.sees_definition(d, scope)]
        if not seen:
            if every:
                self.wrong(
                    "R105",
                    f"`{name}` stands in `{every[0].module.name}`, which this file does not use",
                    span,
                    f"add the line `use {every[0].module.name}`",
                    scope,
                )
                return None
            known = [d for d, made in self.names.definitions.items() if made[0].is_verb == verb]
            if verb and self.names.definitions.get(name):
                self.wrong(
                    "R221",
                    f"`{name}` is a value, not something that happens",
                    span,
                    "a verb changes something: raise, lower, set, move, ...",
                    scope,
                )
                return None
            if not verb and self.names.definitions.get(name):
                self.wrong("R221", f"`{name}` is a verb, not a value", span, "a verb stands at the start of a line of its own", scope)
                return None
            word = "verb" if verb else "name"
            self.wrong(
                "R103",
                f"unknown {word} `{name}`",
                span,
                near(name, [*known, *(KERNEL_VERBS if verb else ())]) or f"define it: `{'verb' if verb else 'define'} {name} ...`",
                scope,
            )
            return None
        fitting = [d for d in seen if self._fits_call(d, form, params, args)]
        for d in every:
            self.names.used.add(id(d.node))
        by_words = [d for d in seen if self._words_fit(d, args)]
        fitting = [d for d in fitting if d in by_words] or (fitting if not by_words else [])
        if fitting:
            return fitting[0]
        self._explain_mismatch(by_words or seen, name, form, params, args, scope, span)
        return None

    def _fits_call(self, d: Definition, form: str, params: tuple[nodes.Expr, ...], args: tuple[nodes.Arg, ...]) -> bool:
        s = d.node.signature
        own = "bare" if s.form == "plain" else s.form
        called = "bare" if form == "plain" else form
        if own != called or len(s.params) != len(params):
            return False
        said = {(a.word, a.is_label) for a in args}
        known = {(a.word, a.is_label) for a in s.args}
        needed = {(a.word, a.is_label) for a in s.args if a.default is None}
        return needed <= said <= known and len(said) == len(args)

    def _words_fit(self, d: Definition, args: tuple[nodes.Arg, ...]) -> bool:
        """Two signatures that differ in the words of one label: `remainder stays` and `remainder largest`."""
        for a in args:
            for p in d.node.signature.args:
                if p.word == a.word and isinstance(a.value, nodes.Name) and a.value.name in self.names.members:
                    words = [x for x in p.param.type.parts if isinstance(x, str)]
                    if words and all(w in self.names.members for w in words) and a.value.name not in words:
                        return False
        return True

    def _explain_mismatch(
        self,
        seen: list[Definition],
        name: str,
        form: str,
        params: tuple[nodes.Expr, ...],
        args: tuple[nodes.Arg, ...],
        scope: Scope,
        span: Span,
    ) -> None:
        def distance(d: Definition) -> int:
            said = {a.word for a in args}
            known = {a.word for a in d.node.signature.args}
            return len(said ^ known) + abs(len(d.node.signature.params) - len(params))

        best = min(seen, key=distance)
        s = best.node.signature
        notes = [Note(name_span(best.node, name), f"`{name}` is written like this")]
        said = {a.word: a for a in args}
        for p in s.args:
            if p.word not in said and p.default is None:
                words = [x for x in p.param.type.parts if isinstance(x, str) and x in self.names.members]
                kind = self.names.symbols.get(str(p.param.type.parts[0]))
                if kind is not None and isinstance(kind.node, nodes.Kind):
                    words = [r.name for r in kind.node.rows if r.name]
                shown = f", {p.word} {' or '.join(words) if words else '...'}" if p.is_label else f"{p.word} ..."
                code = {"remainder": "R231", "ties": "R232", "shortage": "R233"}.get(p.word, "R230")
                self.wrong(code, f"`{name}` does not say `{p.word}`", span, f"add `{shown}`", scope, notes)
                return
        for a in args:
            if a.word not in {p.word for p in s.args}:
                hint = near(a.word, [p.word for p in s.args]) or "leave it out"
                self.wrong("R234", f"`{name}` has no `{a.word}`", a.span, hint, scope, notes)
                return
        self.wrong("R235", f"`{name}` is not written like this", span, "compare it with its definition", scope, notes)

    def _call_value(
        self,
        name: str,
        form: str,
        params: tuple[nodes.Expr, ...],
        args: tuple[nodes.Arg, ...],
        owner: core.Expr | None,
        scope: Scope,
        span: Span,
        want: Type | None,
    ) -> core.Expr:
        d = self.find(name, form, params, args, scope, span, False)
        if d is None:
            return core.Const(0, type=ERROR, span=span)
        if d.per_player:
            if owner is None:
                owner = self.implied_owner(name, span, scope)
            if owner is None:
                return core.Const(0, type=ERROR, span=span)
            owner = self.want(owner, PLAYER, span, f"the owner of `{name}`", scope)
        elif owner is not None:
            return self.wrong("R214", f"`{name}` belongs to nobody", span, f"write `{name}` alone, or define it under `each player`", scope)
        if self._is_function(d):
            return self._call_function(d, params, args, owner, scope, span)
        return self._expand_value(d, params, args, owner, scope, span)

    def _is_function(self, d: Definition) -> bool:
        s = d.node.signature
        return all(self._by_value(p.type) for p in [*s.params, *(a.param for a in s.args)])

    def _by_value(self, t: nodes.TypeExpr) -> bool:
        for part in t.parts:
            if isinstance(part, nodes.Per) or part in PLACE_WORDS:
                return False
            word = part.item if isinstance(part, nodes.SetOf) else part
            if isinstance(word, str) and word[:1].isupper() and word not in self.names.symbols:
                return False  # a type variable: every call has types of its own
        return True

    def _call_function(
        self, d: Definition, params: tuple[nodes.Expr, ...], args: tuple[nodes.Arg, ...], owner: core.Expr | None, scope: Scope, span: Span
    ) -> core.Expr:
        function = self.function(d, scope, span)
        if function is None:
            return core.Const(0, type=ERROR, span=span)
        made = [] if owner is None else [owner]
        said = {a.word: a.value for a in args}
        s = d.node.signature
        written = list(params) + [said.get(a.word, a.default) for a in s.args]
        for e, var in zip(written, function.params[len(made) :], strict=True):
            assert e is not None
            made.append(self.want(self.value(e, scope, var.type), var.type, e.span, f"`{var.name}` of `{d.name}`", scope))
        source = function.body.source if function.body is not None else None
        if source is not None:  # `wallet` lies where its definition says, of this player
            bound = dict(zip(function.params, made, strict=True))
            source = core.PlaceRef(
                source.place, _placed(source.owner, bound) if source.owner is not None else None,
                tuple(_placed(k, bound) for k in source.keys), span,
            )  # fmt: skip
        return core.Call(function, tuple(made), type=function.type, span=span, source=source)

    def function(self, d: Definition, scope: Scope, span: Span) -> core.Function | None:
        if d in self.expanding:
            chain = " -> ".join(x.name for x in [*self.expanding[self.expanding.index(d) :], d])
            self.wrong("R222", f"`{d.name}` is defined by itself: {chain}", span, "a definition may not come back to itself", scope)
            return None
        found = self.functions.get(id(d))
        if found is not None:
            return found
        s = d.node.signature
        if d.original is not None and not s.params and not s.args:
            s = d.original.node.signature
        own = core.Variable("you", PLAYER) if d.per_player else None
        variables = [core.Variable(p.name, self.world.type_of(p.type)) for p in [*s.params, *(a.param for a in s.args)]]
        params = ((own,) if own else ()) + tuple(variables)
        inner = self._definition_scope(d, core.Var(own, type=PLAYER) if own else None)
        for v in variables:
            inner = inner.bind(v.name, Bound(core.Var(v, type=v.type, span=d.node.span)))
        function = core.Function(d.name, params, ERROR, None, d.node.span)
        self.expanding.append(d)
        function.body = self._overridden(d, params, self._body(d, inner))
        self.expanding.pop()
        function.type = function.body.type
        assert isinstance(d.node, nodes.Define)
        if d.node.gives is not None:
            wanted = self.world.type_of(d.node.gives)
            if not fits(function.type, wanted):
                self.wrong(
                    "R210",
                    f"`{d.name}` gives {wanted}, this is {function.type}",
                    d.node.span,
                    "mend the value or the type after `gives`",
                    inner,
                )
        self.functions[id(d)] = function
        return function

    def _definition_scope(self, d: Definition, you: core.Expr | None) -> Scope:
        layer = d.module.name if d.module in self.names.layers else ""
        inner = Scope(d.module, you=you, path=(d.name,), layer=layer, mark=d.node.mark)
        original = d.original
        if original is not None:
            inner = evolve(inner, original=lambda at: self._original_value(original, at))
        return inner

    def _original_value(self, original: Definition, at: Scope) -> core.Expr:
        """`original` in a replaced definition: the value that it had, with the same keys."""
        inner = self._definition_scope(original, at.you)
        s = original.node.signature
        for p in [*s.params, *(a.param for a in s.args)]:
            if p.name in at.names:
                inner = inner.bind(p.name, at.names[p.name])
            else:
                return self.wrong(
                    "R124", f"`original` needs `{p.name}`", original.node.span, f"name the parameter `{p.name}` as it was", at
                )
        return self._body(original, inner)

    def _overridden(self, d: Definition, params: tuple[core.Variable, ...], body: core.Expr) -> core.Expr:
        """An example may fix a definition: `given purse: 42, 0`."""
        cases = []
        for owner, keys, value in self.given.get(d.name, []):
            fixed = ((owner,) if d.per_player and owner is not None else ()) + keys
            tests = tuple(
                core.Compare("==", core.Var(p, type=p.type), core.Const(k, type=p.type), type=BOOL)
                for p, k in zip(params, fixed, strict=False)
            )
            cases.append((core.All(tests, type=BOOL), core.Const(value, type=body.type)))
        return core.Case(tuple(cases), body, type=body.type, span=body.span) if cases else body

    def _expand_value(
        self, d: Definition, params: tuple[nodes.Expr, ...], args: tuple[nodes.Arg, ...], owner: core.Expr | None, scope: Scope, span: Span
    ) -> core.Expr:
        if d in self.expanding:
            return self.wrong("R222", f"`{d.name}` is defined by itself", span, "a definition may not come back to itself", scope)
        if not self.count_expansion(span, scope):
            return core.Const(0, type=ERROR, span=span)
        self.expanding.append(d)
        inner, lets = self.bind_params(d, params, args, self._definition_scope(d, owner), scope, span)
        body = self._body(d, inner)
        self.expanding.pop()
        for var, value in reversed(lets):
            body = core.LetIn(var, value, body, type=body.type, span=span, source=body.source)
        return body

    def count_expansion(self, span: Span, scope: Scope) -> bool:
        self.expansions += 1
        if self.expansions == MAX_EXPANSIONS + 1:
            self.wrong(
                "R005",
                f"definitions unfold to more than {MAX_EXPANSIONS} pieces",
                span,
                "a definition that calls another twice, many times over, grows too large",
                scope,
            )
        return self.expansions <= MAX_EXPANSIONS

    def bind_params(
        self, d: Definition, params: tuple[nodes.Expr, ...], args: tuple[nodes.Arg, ...], inner: Scope, scope: Scope, span: Span
    ) -> tuple[Scope, list[tuple[core.Variable, core.Expr]]]:
        """Arguments to parameters: values once, at the call; places and measures as what they are."""
        s = d.node.signature
        said = {a.word: a.value for a in args}
        pairs = list(zip(s.params, params, [scope] * len(params), strict=True))
        late: list[tuple[nodes.Param, nodes.Expr]] = []
        for a in s.args:
            if a.word in said:
                pairs.append((a.param, said[a.word], scope))
            elif a.default is not None:
                late.append((a.param, a.default))
        lets: list[tuple[core.Variable, core.Expr]] = []
        variables: dict[str, Type] = {}
        for param, e, where in pairs:
            inner = self._bind_one(d, param, e, inner, where, variables, lets)
        for param, e in late:
            inner = self._bind_one(d, param, e, inner, inner, variables, lets)
        return evolve(inner, types=variables), lets

    def _bind_one(
        self,
        d: Definition,
        param: nodes.Param,
        e: nodes.Expr,
        inner: Scope,
        scope: Scope,
        variables: dict[str, Type],
        lets: list[tuple[core.Variable, core.Expr]],
    ) -> Scope:
        part = param.type.parts[0]
        if isinstance(part, nodes.Per):
            if part.what in PLACE_WORDS:
                family = self._family(e, scope, str(part.what))
                nothing = Bound(core.Const(0, type=ERROR, span=e.span))
                return inner.bind(param.name, nothing if family is None else family)
            return inner.bind(param.name, Measure(e, scope))
        if part in PLACE_WORDS:
            if part == "zone" and not self._names_place(e, scope):
                view = self.group(e, scope)
                if view.source is None and not isinstance(view.type, ErrorT):
                    self.wrong(
                        "R215",
                        f"`{e.span.text}` lies in no place",
                        e.span,
                        f"`{param.name}` of `{d.name}` is a place, or a part of one",
                        scope,
                    )
                if view.source is None:
                    return inner.bind(param.name, Bound(core.Const(0, type=ERROR, span=e.span)))
                return inner.bind(param.name, ViewArg(e, scope))
            ref = self.place_ref(e, scope, f"a {part}")
            if ref is None:
                return inner.bind(param.name, Bound(core.Const(0, type=ERROR, span=e.span)))
            if part != ref.place.word and not (part == "zone" and ref.place.holds_pieces):
                self.wrong(
                    "R215",
                    f"`{param.name}` of `{d.name}` is a {part}, `{ref.place.name}` is a {ref.place.word}",
                    e.span,
                    f"give a {part}",
                    scope,
                )
                return inner.bind(param.name, Bound(core.Const(0, type=ERROR, span=e.span)))
            return inner.bind(param.name, PlaceArg(self._fixed(ref, lets)))
        free = [w for w in _type_words(param.type) if w[:1].isupper() and w not in self.names.symbols]
        wanted: Type | None
        if free:
            wanted = variables.get(free[0])
            if wanted is not None:
                wanted = self.world.type_of(param.type, variables)
        else:
            wanted = self.world.type_of(param.type)
        value = self.value(e, scope, wanted)
        if isinstance(wanted, SetT) or (free and isinstance(part, nodes.SetOf)):
            value = self.group(e, scope, wanted)
        if free and free[0] not in variables and not isinstance(value.type, ErrorT):
            variables[free[0]] = value.type.item if isinstance(part, nodes.SetOf) and isinstance(value.type, SetT) else value.type
        if wanted is not None:
            value = self.want(value, wanted, e.span, f"`{param.name}` of `{d.name}`", scope)
            self._allowed_word(d, param, value, e, scope)
        if isinstance(value, core.Var | core.Const):
            return inner.bind(param.name, Bound(value))
        var = core.Variable(param.name, value.type, value.source)
        lets.append((var, value))
        return inner.bind(param.name, Bound(core.Var(var, type=value.type, span=e.span, source=value.source)))

    def _allowed_word(self, d: Definition, param: nodes.Param, value: core.Expr, e: nodes.Expr, scope: Scope) -> None:
        words = [w for w in param.type.parts if isinstance(w, str) and w in self.names.members]
        if words and isinstance(value, core.Const) and isinstance(value.type, KindT):
            word = self.world.kinds[value.type.kind].members[value.value]
            if word not in words:
                self.wrong("R236", f"`{param.name}` of `{d.name}` cannot be `{word}` here", e.span, "one of: " + ", ".join(words), scope)

    def _names_place(self, e: nodes.Expr, scope: Scope) -> bool:
        target = e.target if isinstance(e, nodes.Property | nodes.Yours) else e
        if not isinstance(target, nodes.Name | nodes.Lookup):
            return False
        binding = scope.names.get(target.name)
        if binding is not None:
            return isinstance(binding, PlaceArg | Family) or (
                isinstance(binding, ViewArg) and self._names_place(binding.expr, binding.scope)
            )
        symbol = self.names.symbols.get(target.name)
        return symbol is not None and symbol.sort == "place"

    def _family(self, e: nodes.Expr, scope: Scope, word: str) -> Family | None:
        target = e if isinstance(e, nodes.Name | nodes.Lookup) else None
        binding = scope.names.get(target.name) if target is not None else None
        if isinstance(binding, Family):
            return binding
        place = self.places.get(target.name) if target is not None else None
        if place is None or target is None:
            self.wrong(
                "R215",
                f"`{e.span.text}` is no {word} that exists once for each",
                e.span,
                f"name a {word} declared under `each player`, or one with a key",
                scope,
            )
            return None
        self._use(place.name)
        if place.word != word:
            self.wrong("R215", f"`{place.name}` is a {place.word}, not a {word}", e.span, f"give a {word}", scope)
            return None
        keys = target.keys if isinstance(target, nodes.Lookup) else ()
        made = tuple(
            self.want(self.value(k, scope, t), t, k.span, f"the key of `{place.name}`", scope)
            for k, t in zip(keys, place.keys, strict=False)
        )
        return Family(place, made)

    def _fixed(self, ref: core.PlaceRef, lets: list[tuple[core.Variable, core.Expr]]) -> core.PlaceRef:
        """Key and owner of a place argument are fixed at the call."""

        def fix(e: core.Expr) -> core.Expr:
            if isinstance(e, core.Var | core.Const):
                return e
            var = core.Variable("key", e.type, e.source)
            lets.append((var, e))
            return core.Var(var, type=e.type, span=e.span)

        return core.PlaceRef(ref.place, None if ref.owner is None else fix(ref.owner), tuple(fix(k) for k in ref.keys), ref.span)

    # ------------------------------------------------------------ bodies of value definitions

    def _body(self, d: Definition, scope: Scope) -> core.Expr:
        return self.gives(d.node.body, scope, d)

    def gives(self, body: tuple[nodes.Statement, ...], scope: Scope, d: Definition) -> core.Expr:
        """`let`, `needs` and `give` lines as one value; loops over local places run first."""
        for index, statement in enumerate(body):
            match statement:
                case nodes.Let() if not statement.random:
                    self.fresh(statement.name, statement.span, scope)
                    value = self.value(statement.value, scope)
                    var = core.Variable(statement.name, value.type, value.source)
                    inner = scope.bind(statement.name, Bound(core.Var(var, type=value.type, span=statement.span, source=value.source)))
                    rest = self.gives(body[index + 1 :], inner, d)
                    return core.LetIn(var, value, rest, type=rest.type, span=statement.span, source=rest.source)
                case nodes.Needs():
                    test = self.boolean(statement.test, scope)
                    rest = self.gives(body[index + 1 :], scope, d)
                    return core.Demand(test, rest, type=rest.type, span=statement.span, source=rest.source)
                case nodes.Give():
                    return self._give(body[index:], scope, d)
                case _:
                    return self.compute(body[index:], scope, d)
        return self.wrong("R223", f"`{d.name}` gives nothing", d.node.span, "end it with `give ...`", scope)

    def compute(self, body: tuple[nodes.Statement, ...], scope: Scope, d: Definition) -> core.Expr:
        raise NotImplementedError  # Flow runs statements

    def _give(self, body: tuple[nodes.Statement, ...], scope: Scope, d: Definition) -> core.Expr:
        cases: list[tuple[core.Expr, core.Expr]] = []
        found: Type = ERROR
        for index, line in enumerate(body):
            if not isinstance(line, nodes.Give):
                return self.wrong("R223", "after `give` there are only `give` lines", line.span, "put `let` and `needs` before them", scope)
            value = self.value(line.value, scope, None if isinstance(found, ErrorT) else found)
            made = join(found, value.type)
            if made is None:
                return self.wrong(
                    "R201", f"`{d.name}` gives {value.type} here and {found} before", line.span, "all `give` lines have one type", scope
                )
            found = made
            if line.when is None:
                if index + 1 < len(body):
                    return self.wrong(
                        "R224", "lines after this one never apply", body[index + 1].span, "the line without a condition is the last", scope
                    )
                if cases and not line.otherwise:
                    self.wrong(
                        "R225",
                        "the last of several `give` lines says `otherwise`",
                        line.span,
                        "write `give ... otherwise`: the first line that applies counts",
                        scope,
                    )
                if not cases:
                    if line.otherwise:
                        self.wrong("R225", "`otherwise` to what?", line.span, "a single line is written `give ...`", scope)
                    return value
                return core.Case(tuple(cases), value, type=found, span=body[0].span)
            cases.append((self.boolean(line.when, scope), value))
        return self.wrong("R226", f"`{d.name}` does not say what it gives otherwise", body[-1].span, "add `give ... otherwise`", scope)


def _placed(e: core.Expr, bound: dict[core.Variable, core.Expr]) -> core.Expr:
    return bound.get(e.var, e) if isinstance(e, core.Var) else e


def _type_words(t: nodes.TypeExpr) -> list[str]:
    return [p.item if isinstance(p, nodes.SetOf) else p for p in t.parts if isinstance(p, nodes.SetOf | str)]


def _range_type(low: core.Expr, high: core.Expr) -> Type:
    first = low.type.low if isinstance(low.type, NumberT) else None
    last = high.type.high if isinstance(high.type, NumberT) else None
    return NumberT(first, last)


def _sum_type(terms: list[tuple[int, core.Expr]]) -> Type:
    low: int | None = 0
    high: int | None = 0
    for sign, e in terms:
        t = e.type if isinstance(e.type, NumberT) else NUMBER
        a, b = (t.low, t.high) if sign > 0 else (None if t.high is None else -t.high, None if t.low is None else -t.low)
        low = None if low is None or a is None else low + a
        high = None if high is None or b is None else high + b
    return NumberT(low, high)


__all__ = ["NoneT", "Values"]
