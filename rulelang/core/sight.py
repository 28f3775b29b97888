"""Where values come from: through a `let`, a loop or a pick; and who a player is."""

from rulelang.core import nodes as core
from rulelang.core.threads import walk

Origins = dict[core.Variable, tuple[core.Expr, ...]]


<<<<<<< HEAD
def check_sight(game: core.Game, problems: Problems) -> None:
    made_from = origins(game.flow)
    for s in walk(game.flow):
        match s:
            case core.Say():
                for part in s.text.values:
                    _report(part, None, made_from, "everybody hears this", s.origin, problems)
            case core.Decide():
                for c in s.choices:
                    for part in c.text.values if c.text is not None else ():
                        _report(part, s.player, made_from, "the one who chooses reads this", c.origin, problems)
            case _:
                pass
    for shown in game.shown:
        if shown.function.body is not None:
            _report(shown.function.body, None, made_from, f"everybody sees `{shown.name}`", core.Origin(shown.span), problems)


def _report(e: core.Expr, reader: core.Expr | None, made_from: Origins, what: str, origin: core.Origin, problems: Problems) -> None:
    for ref in unseen(e, reader, made_from):
        problems.add(
            "R260", f"{what}, but `{ref.place.name}` is {ref.place.visibility}",
            origin.calls[0] if origin.calls else origin.span,
            "tell only what lies open; how many pieces lie there is told where the place says `number public`",
            heading=origin.heading, notes=[Note(ref.place.span, "declared here")],
        )  # fmt: skip
        return


def unseen(e: core.Expr, reader: core.Expr | None, made_from: Origins, seen: set[core.Variable] | None = None) -> Iterator[core.PlaceRef]:
    """The places behind a value that its reader (everybody where there is none) may not see."""
    for ref in refs_in(e, sizes=False):
        if ref.place.visibility == "hidden" or (ref.place.visibility == "private" and not _is(ref.owner, reader)):
            yield ref
    seen = set() if seen is None else seen
    for var in variables_in(e) - seen:
        seen.add(var)
        for source in made_from.get(var, ()):
            yield from unseen(source, reader, made_from, seen)


=======
>>>>>>> main
def origins(flow: tuple[core.Statement, ...]) -> Origins:
    """What the value of each variable was worked out from."""
    found: Origins = {}
    for s in walk(flow):
        match s:
            case core.Bind():
                found[s.var] = (s.value,)
            case core.BindRandom() | core.ForEach() | core.Together():
                found[s.var] = (s.base,)
            case core.Decide():
                found.update({p.var: (p.base,) for c in s.choices for p in c.picks})
            case _:
                pass
    return found


def who(e: core.Expr | None) -> core.Variable | None:
    """The variable that names a player, where one does."""
    e = e.item if isinstance(e, core.Sure) else e
    return e.var if isinstance(e, core.Var) else None
