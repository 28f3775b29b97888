"""Modules in, names out: every declaration under its name, layers applied by label, each conflict with both places."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from rulelang.diagnostics import Note, Problems, near
from rulelang.names.table import Definition, Hooked, Hooks, LabelSymbol, Names, Symbol
from rulelang.source import Span
from rulelang.surface import nodes

KERNEL_VERBS = ("raise", "lower", "set", "move", "shuffle", "original")
FUNCTION_WORDS = [
    "among",
    "into",
    "onto",
    "to",
    "from",
    "with",
    "against",
    "under",
    "on",
    "at",
    "for",
    "by",
    "each",
    "every",
    "who",
    "where",
    "has",
    "your",
    "their",
    "after",
    "some",
    "first",
    "last",
    "any",
    "exactly",
    "ordered",
    "is",
    "in",
    "and",
    "or",
    "not",
    "mod",
    "most",
    "fewest",
    "times",
    "if",
    "otherwise",
    "together",
    "secretly",
    "let",
    "choose",
    "may",
    "repeat",
    "step",
    "end",
    "give",
    "needs",
    "say",
    "when",
]
BUILT_IN = [
    "players",
    "player",
    "opponents",
    "opponent",
    "you",
    "it",
    "none",
    "number",
    "top",
    "bottom",
    "nth",
    "owner",
    "reversed",
    "original",
    "yes",
    "no",
]


def collect(
    modules: tuple[nodes.Module, ...],
    layers: tuple[nodes.Module, ...],
    problems: Problems,
    library: Mapping[str, str] = MappingProxyType({}),
) -> Names | None:
    """`modules` are the game's files and libraries in the order of use; `layers` come last, in the order given.
    `library` names the file of everything that could be used."""
    games = [m for m in modules if m.header and m.header.word == "game"]
    main = games[0] if games else modules[-1] if modules else None
    if main is None or main.header is None:
        return None
    names = Names(main.header, modules + layers, layers, library=library)
    own = {m.name for m in modules + layers if m.header and m.header.word != "library"}
    base_uses = _used_by(main)
    for module in names.modules:
        is_library = module.header is not None and module.header.word == "library"
        on_base = base_uses if module in layers else set()  # a layer speaks the words of its game
        names.uses[module.name] = frozenset(_used_by(module) | {module.name} | on_base | (set() if is_library else own))
    for module in names.modules:
        _declare(module, names, problems)
    for module in names.modules:
        _flow(module, names, problems)
    names.unread = frozenset(word for module in names.modules for word in module.unread)
    for module in layers:
        _override(module, names, problems)
    _check_extensions(names, problems)
    _collect_labels(names)
    for module in layers:
        _hook(module, names, problems)
    return names


def _used_by(module: nodes.Module) -> set[str]:
    return {name for item in module.items if isinstance(item, nodes.Use) for name in item.names}


# ---------------------------------------------------------------- declarations


def _declare(module: nodes.Module, names: Names, problems: Problems) -> None:
    for item in module.items:
        for node, per_player in _spread(item):
            if isinstance(node, nodes.Kind | nodes.Pieces):
                _add(Symbol(node.name, "kind" if isinstance(node, nodes.Kind) else "pieces", node, module, per_player), names, problems)
                if isinstance(node, nodes.Kind):
                    _members(node, node.rows, names, problems)
            elif isinstance(node, nodes.Table | nodes.Map):
                _add(Symbol(node.name, _sort(node), node, module), names, problems)
            elif isinstance(node, nodes.Place):
                _add(Symbol(node.name, "place", node, module, per_player), names, problems)
            elif isinstance(node, nodes.Option):
                _add(Symbol(node.name, "option", node, module), names, problems)
                names.options.append((node, module))
            elif isinstance(node, nodes.Define | nodes.Verb):
                _define(Definition(node, module, per_player), names, problems)
            elif isinstance(node, nodes.Extend):
                names.extensions.setdefault(node.name, []).append((node, module))
            elif isinstance(node, nodes.ReplaceRows):
                names.new_rows.setdefault(node.name, []).append(node)


def _sort(node: nodes.Table | nodes.Map) -> str:
    return "table" if isinstance(node, nodes.Table) else "map"


def _spread(item: nodes.Node) -> Iterator[tuple[nodes.Node, bool]]:
    if isinstance(item, nodes.EachPlayer):
        for inner in item.items:
            yield inner, True
    else:
        yield item, False


def name_span(node: nodes.Node, name: str) -> Span:
    """The place of the name itself inside its declaration."""
    at = node.span.source.text.find(name, node.span.start, node.span.end)
    return Span(node.span.source, at, at + len(name)) if at >= 0 else node.span


def _add(symbol: Symbol, names: Names, problems: Problems) -> None:
    other = names.symbols.get(symbol.name)
    here = name_span(symbol.node, symbol.name)
    if symbol.name in (*BUILT_IN, *FUNCTION_WORDS):
        problems.add("R102", f"`{symbol.name}` is a word of the language", here, "choose another name")
        names.symbols.setdefault(symbol.name, symbol)
    elif other is not None and names_meet(other.module, symbol.module, names):
        problems.add(
            "R101",
            f"`{symbol.name}` is declared twice",
            here,
            "choose another name for one of them",
            notes=[Note(name_span(other.node, other.name), "declared here first")],
        )
    else:
        names.symbols[symbol.name] = symbol


def names_meet(a: nodes.Module, b: nodes.Module, names: Names) -> bool:
    return a.name in names.uses.get(b.name, ()) or b.name in names.uses.get(a.name, ()) or a is b


def _members(kind: nodes.Kind, rows: Iterable[nodes.Row], names: Names, problems: Problems, add: bool = True) -> None:
    seen: dict[str, nodes.Row] = {}
    for row in rows:
        if row.name is None:
            continue
        if row.name in seen:
            problems.add(
                "R101",
                f"`{row.name}` stands twice in `{kind.name}`",
                row.span,
                "a member is listed once",
                notes=[Note(seen[row.name].span, "listed here first")],
            )
        elif add:
            names.members[row.name] = (*names.members.get(row.name, ()), kind.name)
        seen[row.name] = row


def _define(made: Definition, names: Names, problems: Problems) -> None:
    same = names.definitions.setdefault(made.name, [])
    alike = names.shapes.setdefault((made.name, *shape(made.node.signature)), [])
    for other in alike:
        if names_meet(other.module, made.module, names):
            problems.add(
                "R101",
                f"`{made.name}` is defined twice in the same form",
                name_span(made.node, made.name),
                f"a variant says `replace define {made.name}`"
                if made.module in names.layers
                else "give one of them another name, preposition or label",
                notes=[Note(name_span(other.node, other.name), "defined here first")],
            )
            return
    symbol = names.symbols.get(made.name)
    if symbol is not None and names_meet(symbol.module, made.module, names):
        problems.add(
            "R101",
            f"`{made.name}` is declared twice",
            name_span(made.node, made.name),
            "choose another name for one of them",
            notes=[Note(name_span(symbol.node, symbol.name), "declared here first")],
        )
    if made.name in (*BUILT_IN, *KERNEL_VERBS, *FUNCTION_WORDS):
        problems.add("R102", f"`{made.name}` is a word of the language", name_span(made.node, made.name), "choose another name")
    same.append(made)
    alike.append(made)


def shape(s: nodes.Signature) -> tuple[object, ...]:
    """What tells two signatures with one name apart: form, prepositions, labels that must be said."""
    preps = frozenset(a.word for a in s.args if not a.is_label)
    labels = frozenset(a.word for a in s.args if a.is_label)
    needed = frozenset(
        (a.word, str(a.param.type.parts)) for a in s.args if a.is_label and all(isinstance(p, str) for p in a.param.type.parts)
    )
    return ("object" if s.form in ("object", "of") else s.form, len(s.params), preps, labels, needed)


# ---------------------------------------------------------------- flow


def _flow(module: nodes.Module, names: Names, problems: Problems) -> None:
    is_layer = module in names.layers
    for item in module.items:
        match item:
            case nodes.Step() | nodes.Repeat():
                if is_layer:
                    problems.add(
                        "R121",
                        f"`{item.label}` would never happen: a variant says where its steps belong",
                        item.span,
                        "put it below `before ...`, `after ...` or `replace ...` and a label of the game",
                    )
                names.flow.append((item, module))
            case nodes.During():
                for window in item.windows:
                    names.windows.setdefault(window, []).extend((c, module) for c in item.choices)
            case nodes.Ranking():
                if names.ranking is not None:
                    problems.add(
                        "R101",
                        "a second ranking",
                        item.span,
                        "one game has one ranking; a layer says `replace ranking`",
                        notes=[Note(names.ranking[0].span, "the first")],
                    )
                names.ranking = (item, module)
            case nodes.Show():
                names.shown.append((item, module))
            case nodes.Invariant():
                names.invariants.append((item, module))
            case nodes.Example():
                names.examples.append((item, module))
            case nodes.Hook() | nodes.Offer() | nodes.ReplaceDeclaration() | nodes.Extend() | nodes.ReplaceRows():
                if not is_layer and not (isinstance(item, nodes.Extend) and module.header and module.header.word == "data"):
                    problems.add(
                        "R120",
                        "only a variant can change what others declare",
                        item.span,
                        'begin the file with `variant NAME of GAME "Title"`',
                    )
            case _:
                pass


def _override(module: nodes.Module, names: Names, problems: Problems) -> None:
    for item in module.items:
        if not isinstance(item, nodes.ReplaceDeclaration):
            continue
        new = item.item
        if isinstance(new, nodes.Ranking):
            if names.ranking is not None and names.ranking[1] in names.layers:
                _conflict("ranking", names.ranking[0].span, new.span, problems)
            names.ranking = (new, module)
        elif isinstance(new, nodes.Table | nodes.Map):
            old = _declared(new.name, _sort(new), "replace", name_span(new, new.name), names, problems)
            if old is None:
                continue
            if not any(old.node is item for item in old.module.items):  # it replaces already
                _conflict(new.name, name_span(old.node, old.name), name_span(new, new.name), problems)
            names.symbols[new.name] = Symbol(new.name, _sort(new), new, module)
        else:
            _replace_definition(new, module, names, problems)


def _replace_definition(new: nodes.Define | nodes.Verb, module: nodes.Module, names: Names, problems: Problems) -> None:
    name = new.signature.name
    here = name_span(new, name)
    olds = names.definitions.get(name, [])
    if not olds:
        _dangling("definition", name, here, names.definitions, names, problems)
        return
    for index, old in enumerate(olds):
        if shape(old.node.signature)[:4] == shape(new.signature)[:4]:
            if old.original is not None:
                _conflict(name, name_span(old.node, name), here, problems)
            olds[index] = Definition(new, module, old.per_player, old)
            return
    problems.add(
        "R124",
        f"`{name}` is replaced in another form",
        here,
        "keep name, prepositions, labels and keys as they were",
        notes=[Note(name_span(olds[0].node, name), "the definition in the game")],
    )


def _dangling(what: str, name: str, span: Span, known: Iterable[str], names: Names, problems: Problems) -> None:
    if names.is_unread(name):
        return
    game = names.header.name if names.header.word == "game" else "GAME"
    hint = near(name, known) or f"`rulelang show labels {game}` lists everything that can be named"
    problems.add("R122", f"no {what} `{name}` to change", span, hint)


def _declared(name: str, sort: str, verb: str, span: Span, names: Names, problems: Problems) -> Symbol | None:
    """What `extend map exits` speaks of; where it is of another sort, the line that would say so."""
    found = names.symbols.get(name)
    if found is not None and found.sort == sort:
        return found
    if found is not None and found.sort in ("kind", "pieces", "table", "map"):
        problems.add("R122", f"`{name}` is no {sort}", span, f"write `{verb} {found.sort} {name}`")
    else:
        _dangling(sort, name, span, [s.name for s in names.symbols.values() if s.sort == sort], names, problems)
    return None


def _conflict(name: str, first: Span, second: Span, problems: Problems) -> None:
    problems.add(
        "R123",
        f"`{name}` is replaced by two layers",
        second,
        "leave one of the layers out, or let one say `after` or `before`",
        notes=[Note(first, "replaced here as well")],
    )


def _check_extensions(names: Names, problems: Problems) -> None:
    for name, extensions in names.extensions.items():
        for extend, _module in extensions:
            symbol = _declared(name, extend.word, "extend", name_span(extend, name), names, problems)
            if symbol is not None and isinstance(symbol.node, nodes.Kind):
                _members(symbol.node, [*symbol.node.rows, *(r for r in extend.rows if isinstance(r, nodes.Row))], names, problems, False)
    for name, changes in names.new_rows.items():
        known = [s.name for s in names.symbols.values() if s.sort in ("table", "map")]
        if name not in known:
            for change in changes:
                _dangling("table or map", name, name_span(change, name), known, names, problems)


# ---------------------------------------------------------------- labels and hooks


def _collect_labels(names: Names) -> None:
    for item, module in names.flow:
        names.labels.extend(walk_labels((item,), (), module))
    for definitions in names.definitions.values():
        for definition in definitions:
            at: Definition | None = definition
            while at is not None:
                if isinstance(at.node, nodes.Verb):
                    if at is definition:  # what was replaced is part of the verb, not another one
                        names.labels.append(LabelSymbol((at.name,), "verb", at.node, at.module, at.node.heading or ""))
                    names.labels.extend(walk_labels(at.node.body, (at.name,), at.module))
                at = at.original
    for window, choices in names.windows.items():
        for choice, module in choices:
            names.labels.extend(_choice_labels(choice, (window,), module))
    for module in names.layers:
        for declared in module.items:
            if isinstance(declared, nodes.Hook):
                names.labels.extend(walk_labels(declared.body, (), module))


def walk_labels(body: Iterable[nodes.Statement], path: tuple[str, ...], module: nodes.Module) -> Iterator[LabelSymbol]:
    for statement in body:
        match statement:
            case nodes.Step():
                here = (*path, statement.label)
                yield LabelSymbol(here, "step", statement, module, statement.heading or "")
                yield from walk_labels(statement.body, here, module)
            case nodes.Repeat():
                here = (*path, statement.label) if statement.label else path
                if statement.label:
                    yield LabelSymbol(here, "loop", statement, module, statement.heading or "")
                yield from walk_labels(statement.body, here, module)
            case nodes.If():
                yield from walk_labels(statement.body, path, module)
                yield from walk_labels(statement.otherwise, path, module)
            case nodes.Together() | nodes.InTurn():
                yield from walk_labels(statement.body, path, module)
            case nodes.Choose():
                for choice in statement.choices:
                    yield from _choice_labels(choice, path, module)
            case _:
                pass


def _choice_labels(choice: nodes.Choice, path: tuple[str, ...], module: nodes.Module) -> Iterator[LabelSymbol]:
    here = (*path, choice.name) if choice.name else path
    if choice.name:
        yield LabelSymbol(here, "option", choice, module, choice.text.written if choice.text else "")
    yield from walk_labels(choice.body, here, module)


def _hook(module: nodes.Module, names: Names, problems: Problems) -> None:
    for item in module.items:
        if isinstance(item, nodes.Hook | nodes.Offer):
            for label in item.labels:
                for found in _labelled(label, names, problems):
                    _hook_one(item, label, found, module, names, problems)


def _labelled(label: nodes.Label, names: Names, problems: Problems) -> list[LabelSymbol]:
    name = ".".join(label.parts)
    found = names.label(name)
    if not found:
        plain = [d for d in names.definitions.get(name, []) if not d.is_verb]
        if plain:
            problems.add("R122", f"`{name}` is a value, not a step", label.span, f"a value is changed with `replace define {name}`")
        else:
            _dangling("label", name, label.span, [x.text for x in names.labels] + [x.path[-1] for x in names.labels], names, problems)
        return []
    verbs = [f for f in found if f.sort == "verb"]
    exact = [f for f in found if f.path == label.parts] or verbs
    if len(found) > 1 and not verbs and len(exact) != 1:
        problems.add(
            "R125",
            f"`{name}` could mean {len(found)} labels",
            label.span,
            "say which: " + " or ".join(f"`{f.text}`" for f in found[:4]),
            notes=[Note(name_span(f.node, f.path[-1]), f.text) for f in found[:2]],
        )
        return []
    return verbs or exact or found


def _hook_one(
    item: nodes.Hook | nodes.Offer, label: nodes.Label, found: LabelSymbol, module: nodes.Module, names: Names, problems: Problems
) -> None:
    hooks = names.hooks.setdefault(id(found.node), Hooks())
    if isinstance(item, nodes.Offer):
        if found.sort != "option":
            problems.add("R126", f"`{found.text}` is no option", label.span, "`offer` adds a condition to an option of a decision")
        else:
            hooks.offers.append((item.only_if, module))
        return
    hooked = Hooked(item.body, module, label.span)
    if item.word == "before":
        hooks.before.append(hooked)
    elif item.word == "after":
        hooks.after.append(hooked)
    elif hooks.replace is not None:
        _conflict(found.text, hooks.replace.span, label.span, problems)
    else:
        hooks.replace = hooked
