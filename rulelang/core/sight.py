"""Where values come from: through a `let`, a loop or a pick; and who a player is."""

from rulelang.core import nodes as core
from rulelang.core.threads import walk

Origins = dict[core.Variable, tuple[core.Expr, ...]]


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
