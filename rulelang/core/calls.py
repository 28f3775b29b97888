"""Calls: the definition that is written like the call, its arguments, and its body as one value.

Functions are made once for each definition that takes plain values only; the others are expanded at each call."""

from attrs import define, evolve

from rulelang.core import nodes as core
from rulelang.core.access import PLACE_WORDS, Access
from rulelang.core.nearby import part_of
from rulelang.core.scope import Bound, Family, Measure, PlaceArg, Scope, ViewArg
from rulelang.core.twice import said_twice
from rulelang.core.types import (
    BOOL,
    ERROR,
    PLAYER,
    ErrorT,
    KindT,
    SetT,
    Type,
    fits,
    join,
)  # fmt: skip
from rulelang.diagnostics import Note, near
from rulelang.names.collect import KERNEL_VERBS, name_span
from rulelang.names.table import Definition
from rulelang.source import Span
from rulelang.surface import nodes
from rulelang.surface.mistakes import TOP_WORDS
from rulelang.surface.parse import reads
from rulelang.surface.phrasing import OTHER_WORDS, of_a_phrase


@define(eq=False)
class Calls(Access):
    # ------------------------------------------------------------ calls

    def measure(self, measure: Measure, item: core.Expr, span: Span) -> core.Expr:
        """`score of x`: the caller's expression about x."""
        if isinstance(item, core.Var | core.Const):
            return self._measured(measure, item)
        var = core.Variable("it", item.type, item.source)
        body = self._measured(measure, core.Var(var, type=item.type, span=span, source=item.source))
        return core.LetIn(var, item, body, type=body.type, span=span)

    def _measured(self, measure: Measure, item: core.Expr) -> core.Expr:
        value = self.value(measure.expr, measure.scope.about(item, item.type))
        value = self.want(value, measure.type, measure.expr.span, measure.title, measure.scope)
        return self.held(value, measure.type, measure.expr.span, measure.title, measure.scope)

    def _noun_phrase(self, e: nodes.NounPhrase, scope: Scope, want: Type | None) -> core.Expr:
        match e.head:
            case nodes.Name():
                return self.call_value(e.head.name, "bare", (), e.args, None, scope, e.span, want)
            case nodes.Property() if isinstance(e.head.target, nodes.Name):
                return self.call_value(e.head.target.name, "of", (e.head.owner,), e.args, None, scope, e.span, want)
            case nodes.VerbTest():
                return self.call_value(e.head.verb, "object", (e.head.item,), e.args, None, scope, e.span, want)
            case nodes.Those() | nodes.Fold() | nodes.FoldOver():
                return self.wrong("R220", "a preposition after a clause", e.args[0].span, "put the clause in brackets", scope)
        hint = f"leave `{e.args[0].span.text}` out, or put what it belongs to in brackets"
        return self.wrong("R220", f"`{e.head.span.text}` takes no `{e.args[0].word}`", e.args[0].span, hint, scope)

    def find(
        self, name: str, form: str, params: tuple[nodes.Expr, ...], args: tuple[nodes.Arg, ...], scope: Scope, span: Span, verb: bool
    ) -> Definition | None:
        """The definition whose signature is written like this call; else what is missing or too much."""
        if self.is_said_twice(name, args, scope):
            return None
        every = [d for d in self.names.definitions.get(name, []) if d.is_verb == verb]
        seen = [d for d in every if self.sees_definition(d, scope)]
        if not seen:
            home = every[0].module.name if every else self.names.library.get(name)
            if name in self.names.unread:
                return None
            if home is not None:
                message = f"`{name}` stands in `{home}`, which this file does not use"
                self.wrong("R105", message, span, self._of_a_counter(name, params) or f"add the line `use {home}`", scope)
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
            meant = [f"perhaps `{form}`?" for form, words in OTHER_WORDS.items() if verb and name in words]
            line = of_a_phrase(span.first_line.text.strip(), span.source.text, reads) if verb else part_of(name, span)
            if line is None and not verb and params and (of_player := self.of_a_player(name, params[0].span.text, span, scope)):
                line = f"`{name}` is a player", of_player
            meant = [line[1]] if line is not None else meant
            hint = meant[0] if meant else self._two_words(name, params) or near(name, [*known, *(KERNEL_VERBS if verb else ())])
            if name in TOP_WORDS:
                hint = "move it to the left margin"
            hint = hint or f"define it: `{'verb' if verb else 'define'} {name} ...`"
            here = Span(span.source, span.start, span.start + len(name)) if span.text.startswith(name) else span
            self.unknown(f"unknown {word} `{name}`", name, here, hint, scope)
            return None
        fitting = [d for d in seen if self._fits_call(d, form, params, args)]
        for d in every:
            self.names.used.add(id(d.node))
        by_words = [d for d in seen if self._words_fit(d, args)]
        fitting = [d for d in fitting if d in by_words] or (fitting if not by_words else [])
        if fitting:
            self._each_is_known(fitting[0], args, scope)
            return fitting[0]
        self._explain_mismatch(by_words or seen, name, form, params, args, scope, span)
        return None

    def _of_a_counter(self, name: str, params: tuple[nodes.Expr, ...]) -> str:
        """`pay 3 wax`, where the library's `pay` moves pieces, and `wax` is a counter"""
        test = params[0] if params else None
        verb = next((form.split()[0] for form, words in OTHER_WORDS.items() if name in words and "NUMBER" in form), "")
        place = self.places.get(test.item.name) if isinstance(test, nodes.VerbTest) and isinstance(test.item, nodes.Name) else None
        if not verb or place is None or place.word != "counter" or not isinstance(test, nodes.VerbTest):
            return ""
        return f"`{place.name}` is a counter: write `{verb} {place.name} by {test.verb}`"

    def _each_is_known(self, d: Definition, args: tuple[nodes.Arg, ...], scope: Scope) -> None:
        """`, at most 2 each` where the definition says so; elsewhere it would mean nothing"""
        known = {a.word for a in d.node.signature.args if a.each}
        for a in args:
            if a.each and a.word not in known:
                self.wrong(
                    "R234", f"`{a.word}` of `{d.name}` has no `each`", a.span, f"write `{a.span.text.removesuffix('each').rstrip()}`", scope
                )

    def is_said_twice(self, name: str, args: tuple[nodes.Arg, ...], scope: Scope) -> bool:
        """Told, if so: the first of the two would be lost."""
        found = said_twice(name, args)
        if found is not None:
            self.wrong(found.code, found.message, found.span, found.hint, scope)
        return found is not None

    def _two_words(self, name: str, params: tuple[nodes.Expr, ...]) -> str:
        """`build tower` for `build_tower`, `top deck` for `top of deck`, `income 1` for `income(1)`"""
        said = params[0].span.text if len(params) == 1 else ""
        if not said:
            return ""
        first = f"{name}_{said.split()[0]}"
        if first in self.names.definitions or first in self.names.library:
            return f"did you mean `{first}`?"
        if name in ("top", "bottom", "owner", "position"):
            return f"write `{name} of {said}`"
        symbol = self.names.symbols.get(name)
        return f"write `{name}({said})`" if symbol is not None and symbol.sort in ("table", "map", "place") else ""

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
        astray = [a for a in args if a.word not in {p.word for p in s.args} and not a.is_label]
        for p in s.args:
            if p.word not in said and p.default is None:
                if astray and not p.is_label:
                    hint = f"write `{p.word} {astray[0].value.span.text}`"
                    self.wrong("R234", f"`{name}` has no `{astray[0].word}`", astray[0].span, hint, scope, notes)
                    return
                words = [x for x in p.param.type.parts if isinstance(x, str) and (x in self.names.members or x == "none")]
                kind = self.names.symbols.get(str(p.param.type.parts[0]))
                if kind is not None and isinstance(kind.node, nodes.Kind):
                    words = [r.name for r in kind.node.rows if r.name]
                shown = " or ".join(f"`, {p.word} {word}`" for word in words or ["..."]) if p.is_label else f"`{p.word} ...`"
                code = {"remainder": "R231", "ties": "R232", "shortage": "R233"}.get(p.word, "R230")
                self.wrong(code, f"`{name}` does not say `{p.word}`", span, f"add {shown}", scope, notes)
                return
        for a in args:
            if a.word not in {p.word for p in s.args}:
                hint = near(a.word, [p.word for p in s.args]) or "leave it out"
                self.wrong("R234", f"`{name}` has no `{a.word}`", a.span, hint, scope, notes)
                return
        shown = "".join([name, " ..." * len(s.params), *(f"{', ' if a.is_label else ' '}{a.word} ..." for a in s.args)])
        self.wrong("R235", f"`{name}` is not written like this", span, f"write `{shown}`", scope, notes)

    def call_value(
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
            if isinstance(word, str) and self.world.is_any(word):
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
        variables = function.params[len(made) :]
        said_values = [self.value(e, scope, var.type) for e, var in zip(written, variables, strict=True) if e is not None]
        if s.form == "lookup" and self.are_astray(d.name, params, said_values, tuple(var.type for var in variables), scope, span):
            return core.Const(0, type=ERROR, span=span)
        for e, var, value in zip(written, variables, said_values, strict=True):
            assert e is not None
            what = f"`{var.name}` of `{d.name}`"
            made.append(self.held(self.want(value, var.type, e.span, what, scope), var.type, e.span, what, scope))
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
            return found if self.enter(span, scope, *self.unfolded[id(d)]) else None
        before, outer, self.deepest = self.parts, self.deepest, self.depth
        if not self.depth:
            self.problems.reached(d.node.span)
        s = d.node.signature
        own = core.Variable("you", PLAYER) if d.per_player else None
        variables = [core.Variable(p.name, self.world.type_of(p.type)) for p in [*s.params, *(a.param for a in s.args)]]
        params = ((own,) if own else ()) + tuple(variables)
        inner = self._definition_scope(d, core.Var(own, type=PLAYER) if own else None)
        for p, v in zip([*s.params, *(a.param for a in s.args)], variables, strict=True):
            self.fresh(p.name, p.span, inner)
            inner = inner.bind(v.name, Bound(core.Var(v, type=v.type, span=d.node.span)))
        function = core.Function(d.name, params, ERROR, None, d.node.span)
        self.expanding.append(d)
        function.body = self._overridden(d, params, self._body(d, inner))
        self.expanding.pop()
        function.type = function.body.type
        self.functions[id(d)] = function
        self.unfolded[id(d)] = (self.parts - before, self.deepest - self.depth)
        self.deepest = max(outer, self.deepest)
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
        for owner, keys, value in self.given.get(id(d), []):
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
        self.expanding.append(d)
        inner, lets = self.bind_params(d, params, args, self._definition_scope(d, owner), scope, span)
        body = self._body(d, inner)
        self.expanding.pop()
        for var, value in reversed(lets):
            body = core.LetIn(var, value, body, type=body.type, span=span, source=body.source)
        return body

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
        if (where := (str(param.span), "R107")) not in self.told:  # a definition that is used twice has one mistake
            self.told.add(where)
            self.fresh(param.name, param.span, inner)
        part = param.type.parts[0]
        if isinstance(part, nodes.Per):
            if not self.world.is_any(part.of):
                self.world.type_of(nodes.TypeExpr((part.of,), span=part.span))  # told, if it is unknown
            if part.what in PLACE_WORDS:
                family = self._family(e, scope, str(part.what))
                nothing = Bound(core.Const(0, type=ERROR, span=e.span))
                return inner.bind(param.name, nothing if family is None else family)
            each = nodes.TypeExpr((part.what,), span=part.span)
            known = all(w in variables for w in self._free(each))
            of_each = self.world.type_of(each, variables) if known else ERROR
            return inner.bind(param.name, Measure(e, scope, of_each, f"`{param.name}` of `{d.name}`"))
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
        free = self._free(param.type)
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
        if free and free[0] not in variables:
            variables[free[0]] = value.type.item if isinstance(part, nodes.SetOf) and isinstance(value.type, SetT) else value.type
        if wanted is not None:
            what = f"`{param.name}` of `{d.name}`"
            value = self.held(self.want(value, wanted, e.span, what, scope), wanted, e.span, what, scope)
            self._allowed_word(d, param, value, e, scope)
        if isinstance(value, core.Var | core.Const):
            return inner.bind(param.name, Bound(value))
        var = core.Variable(param.name, value.type, value.source)
        lets.append((var, value))
        return inner.bind(param.name, Bound(core.Var(var, type=value.type, span=e.span, source=value.source)))

    def _free(self, t: nodes.TypeExpr) -> list[str]:
        """Type variables."""
        words = [p.item if isinstance(p, nodes.SetOf) else p for p in t.parts if isinstance(p, nodes.SetOf | str)]
        return [w for w in words if self.world.is_any(w)]

    def _allowed_word(self, d: Definition, param: nodes.Param, value: core.Expr, e: nodes.Expr, scope: Scope) -> None:
        words = [w for w in param.type.parts if isinstance(w, str) and w in self.names.members]
        if words and isinstance(value, core.Const) and isinstance(value.type, KindT):
            word = self.world.kinds[value.type.kind].members[value.value]
            if word not in words:
                label = next((a.word for a in d.node.signature.args if a.param is param), param.name)
                self.wrong("R236", f"`{label}` of `{d.name}` cannot be `{word}`", e.span, "one of: " + ", ".join(words), scope)

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
        if place is None and target is not None and binding is None and self.is_unknown(target.name):
            self.unknown_place(target.name, target.span, scope)
            return None
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
        made = self.gives(d.node.body, scope, d)
        if not isinstance(d.node, nodes.Define) or d.node.gives is None:
            return made
        wanted = self.world.type_of(d.node.gives, scope.types)
        if not fits(made.type, wanted):
            hint = "mend the value or the type after `gives`"
            return self.wrong("R210", f"`{d.name}` gives {wanted}, this is {made.type}", d.node.span, hint, scope)
        return self.held(made, wanted, d.node.span, f"`{d.name}`", scope)

    def gives(self, body: tuple[nodes.Statement, ...], scope: Scope, d: Definition) -> core.Expr:
        """`let`, `needs` and `give` lines as one value, each inside the one before; loops over local places run first."""
        if body and not self.enter(body[0].span, scope):
            return core.Const(0, type=ERROR, span=body[0].span)
        self.depth += 1
        made = self._gives(body, scope, d)
        self.depth -= 1
        return made

    def _gives(self, body: tuple[nodes.Statement, ...], scope: Scope, d: Definition) -> core.Expr:
        for index, statement in enumerate(body):
            match statement:
                case nodes.Let() if not statement.random:
                    self.fresh(statement.name, statement.span, scope)
                    value = self.value(statement.value, scope)
                    var = core.Variable(statement.name, value.type, value.source)
                    self.noticed.lets.append((var, statement))
                    inner = scope.bind(statement.name, Bound(core.Var(var, type=value.type, span=statement.span, source=value.source)))
                    rest = self.gives(body[index + 1 :], inner, d)
                    return core.LetIn(var, value, rest, type=rest.type, span=statement.span, source=rest.source, lines=(statement.span,))
                case nodes.Needs():
                    test = self.boolean(statement.test, scope)
                    rest = self.gives(body[index + 1 :], scope, d)
                    return core.Demand(test, rest, type=rest.type, span=statement.span, source=rest.source, lines=(statement.span,))
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
            value = given(value, line)
            if line.when is None:
                if index + 1 < len(body):
                    return self.wrong(
                        "R224", "this line never applies", body[index + 1].span, "the line above has no condition: put that one last", scope
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
        last = body[-1]
        otherwise = f"`give {last.value.span.text} otherwise`" if isinstance(last, nodes.Give) else "the one that ends in `otherwise`"
        beyond = "`give original otherwise`" if any("original" in x.span.text.split() for x in body) else "a line `give ... otherwise`"
        hint = f"if one of these lines always applies, write the last as {otherwise}; else add {beyond}"
        return self.wrong("R226", f"`{d.name}` does not say what it gives otherwise", last.span, hint, scope)


def given(value: core.Expr, line: nodes.Statement) -> core.Expr:
    """The value of a `give` line, which knows that it is."""
    made: core.Expr = evolve(value, lines=(*value.lines, line.span))
    return made


def as_meant(s: nodes.Phrase, bad: nodes.Arg, allowed: tuple[str, ...]) -> str:
    """`raise talers with 1` as it was meant, if one word is wrong or too much."""
    if isinstance(bad.value, nodes.VerbTest) and bad.value.verb in ("each", "every", "all") and "by" in allowed:
        return f"count them: `{s.verb} {s.item.span.text if s.item else '...'} by number of ...`"
    said = [a for a in s.args if a.word in allowed]
    if bad.word in ("into", "onto", "in", "on") and "to" in allowed and "to" not in {a.word for a in said}:
        return f"write `to {bad.value.span.text}`"
    if s.item is None or bad.is_label or len(said) + 1 != len(s.args) or len(allowed) != 1:
        return ""
    value = said[0].value if said else bad.value
    return f"write `{s.verb} {s.item.span.text} {allowed[0]} {value.span.text}`"


def _placed(e: core.Expr, bound: dict[core.Variable, core.Expr]) -> core.Expr:
    return bound.get(e.var, e) if isinstance(e, core.Var) else e
