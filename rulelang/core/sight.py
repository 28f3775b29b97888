"""What a value may tell: the places that it reads, also through a definition, a `let`, a loop or a pick.  The number of
pieces in a place whose number is public tells nothing."""

from collections.abc import Iterator

from rulelang.core import nodes as core
from rulelang.core.threads import refs_in, variables_in, walk

Origins = dict[core.Variable, tuple[core.Expr, ...]]


def unseen(e: core.Expr, made_from: Origins, seen: frozenset[core.Variable] = frozenset()) -> Iterator[core.PlaceRef]:
    """The places behind a value that not everybody sees."""
    yield from (ref for ref in refs_in(e, sizes=False) if ref.place.visibility in ("private", "hidden"))
    for var in variables_in(e) - seen:
        for source in made_from.get(var, ()):
            yield from unseen(source, made_from, seen | {var})


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
