"""Surface values to core values: every type checked.  Names are resolved by `access`, definitions called by `calls`."""

from attrs import define, evolve

from rulelang.core import nodes as core
from rulelang.core.calls import Calls
from rulelang.core.scope import Bound, Scope
from rulelang.core.types import (
    BOOL,
    ERROR,
    NUMBER,
    ErrorT,
    KindT,
    MaybeT,
    NumberT,
    PieceT,
    PlayerT,
    SetT,
    Type,
    fits,
    join,
    plain,
)  # fmt: skip
from rulelang.diagnostics import near
from rulelang.surface import nodes
from rulelang.surface.mistakes import LANGUAGE


@define(eq=False)
class Values(Calls):
    """Elaborates values: arithmetic, tests, groups, clauses and folds."""

    # ------------------------------------------------------------ values

    def value(self, e: nodes.Expr, scope: Scope, want: Type | None = None) -> core.Expr:
        if not self.enter(e.span, scope):
            return core.Const(0, type=ERROR, span=e.span)
        self.depth += 1
        made = self._value(e, scope, want)
        self.depth -= 1
        return made

    def _value(self, e: nodes.Expr, scope: Scope, want: Type | None) -> core.Expr:
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
                tests = self._tests(e, scope)
                return core.AnyOf(tests, type=_yes_or_no(tests), span=e.span)
            case nodes.And():
                tests = self._tests(e, scope)
                return core.All(tests, type=_yes_or_no(tests), span=e.span)
            case nodes.Not():
                return core.Not(self.boolean(e.item, scope), type=BOOL, span=e.span)
            case nodes.Compare() | nodes.Is() if self._of_both(e, scope):
                return core.Const(0, type=ERROR, span=e.span)
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
                return self.call_value(e.verb, "object", (e.item,), (), None, scope, e.span, want)
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
                hint = f"say only `{e.count.span.text}`; pieces are moved: `move {e.span.text} from ... to ...`"
                return self.wrong("R229", f"`{e.span.text}` are pieces, and here a number is needed", e.span, hint, scope)

    def _of_both(self, e: nodes.Compare | nodes.Is, scope: Scope) -> bool:
        """`has wool > wool`: one is yours and one is theirs, but which?"""
        if e.left.span.text != e.right.span.text or not isinstance(e.left, nodes.Name | nodes.Lookup) or scope.you is None:
            return False
        symbol, name = self.names.symbols.get(e.left.name), e.left.span.text
        is_own = symbol is not None and symbol.sort == "place" and symbol.per_player and e.left.name not in scope.names
        if not is_own or not any(isinstance(c.type, PlayerT) for c in scope.candidates):
            return False
        between = e.span.text[len(name) : -len(name)]
        hint = f"say `their {name}{between}your {name}`, or the other way round"
        self.wrong("R301", f"each `{name}` could be yours or theirs", e.span, hint, scope)
        return True

    def _tests(self, e: nodes.Or | nodes.And, scope: Scope) -> tuple[core.Expr, ...]:
        """`ship is 1 or ship is 2`; who writes `ship is 1 or 2` is told so."""
        first, said = e.items[0], ""
        if isinstance(first, nodes.Is | nodes.Compare):
            word = "or" if isinstance(e, nodes.Or) else "and"
            said = f"{first.span.text} {word} {first.span.text[: first.right.span.start - first.span.start]}"
        made = [self.boolean(first, scope)]
        if isinstance(made[0].type, ErrorT):  # perhaps no condition at all: one mistake is enough
            return tuple(made)
        for x in e.items[1:]:
            hint = f"say it in full: `{said}{x.span.text}`" if said else ""
            made.append(self.want(self.value(x, scope, BOOL), BOOL, x.span, "a condition", scope, hint))
        return tuple(made)

    def _whole_kind(self, e: nodes.KindName, scope: Scope) -> core.Expr:
        kind = self.world.kinds.get(e.name)
        if kind is None or not self._sees(e.name, scope):
            if e.name in self.names.unread:
                return core.Const(0, type=ERROR, span=e.span)
            if e.name in self.world.pieces:
                return self.wrong("R212", f"`{e.name}` are pieces: they lie somewhere", e.span, f"say where: `{e.name} in ...`", scope)
            small = f"write it small: `{e.name.lower()}`" if e.name.lower() in LANGUAGE else ""
            hint = small or near(e.name, self.world.kinds) or "declare it with `kind`"
            return self.wrong("R103", f"unknown kind `{e.name}`", e.span, hint, scope)
        self._use(e.name)
        mask = (1 << len(kind.members)) - 1
        return core.Const(mask, type=SetT(KindT(e.name)), span=e.span)

    # ------------------------------------------------------------ groups, clauses, folds

    def group(self, e: nodes.Expr, scope: Scope, want: Type | None = None) -> core.Expr:
        made = self.value(e, scope, want)
        t = made.type
        if isinstance(t, MaybeT) and isinstance(t.item, PieceT) and isinstance(made, core.Read):
            return evolve(made, type=SetT(t.item))  # a slot, read as the set of what it holds
        if isinstance(plain(t), ErrorT):
            return evolve(made, type=ERROR)
        if not isinstance(t, SetT):
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
        if self._name_each(those, scope, base):
            inner = inner.bind(var.name, Bound(made))
        return base, var, inner

    def _name_each(self, those: nodes.Those, scope: Scope, base: core.Expr) -> bool:
        """`c in hand`: is there a name for each of them, and does it cover no other?"""
        if those.var is None or those.var == "player":
            return False
        self.fresh(those.var, those.span, scope, base)
        return True

    def those(self, e: nodes.Those, scope: Scope) -> core.Expr:
        if e.such is None:
            whole = self.group(e.base, scope)
            self._name_each(e, scope, whole)
            return whole
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
                        self.call_value(
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
            return self.unknown_pieces(e.kind, e.span, scope)
        self._use(e.kind)
        base = self.group(e.place, scope)
        if isinstance(base.type, ErrorT):
            return base
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


def _yes_or_no(tests: tuple[core.Expr, ...]) -> Type:
    return ERROR if isinstance(tests[0].type, ErrorT) else BOOL
