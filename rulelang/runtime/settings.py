"""Options of a match: words to values, and whether a combination is allowed."""

import re
from itertools import islice, product
from typing import Any

from rulelang.core import nodes as core
from rulelang.core.types import BoolT, KindT, PlayerT
from rulelang.diagnostics import cut
from rulelang.errors import UsageError
from rulelang.graph.layout import make_layout
from rulelang.runtime.values import Values

MANY = 256  # combinations that are looked at
TRIED = 4_096  # combinations that are tried to find them


def option_value(game: core.Game, option: core.Option, value: Any, players: int) -> int:
    """`45`, `"yes"`, `"largest"` as the integer that stands for it."""
    found: int | None = None
    if isinstance(option.type, KindT):
        words = game.kinds[option.type.kind].members
        found = words.index(value) if value in words else None
    elif isinstance(option.type, BoolT):
        found = {"yes": 1, "no": 0, True: 1, False: 0}.get(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        found = value
    elif isinstance(value, str) and re.fullmatch("-?[0-9]{1,16}", value):
        found = int(value)
    allowed = values_of(option, players)
    if found is None or found not in allowed:
        shown = " or ".join(option_word(game, option, v) for v in allowed)
        raise UsageError(f"`{option.name}` is {shown}, not {cut(str(value))}")
    return found


def values_of(option: core.Option, players: int) -> tuple[int, ...]:
    return tuple(range(players)) if isinstance(option.type, PlayerT) else option.values


def option_word(game: core.Game, option: core.Option, value: int) -> str:
    if isinstance(option.type, KindT):
        return game.kinds[option.type.kind].members[value]
    if isinstance(option.type, BoolT):
        return "yes" if value else "no"
    return str(value)


def refused(game: core.Game, players: int, settings: dict[str, int]) -> core.Option | None:
    """The first option whose condition this combination breaks."""
    values = Values(make_layout(game, players, settings))
    values.scratch_base = values.layout.size
    for option in game.options.values():
        if option.only_if is not None:
            test = values.expr(option.only_if).fn
            if not test(values.dummy()):
                return option
    return None


def combinations(game: core.Game, players: int) -> list[dict[str, int]]:
    """Every allowed combination of options, the usual one first; of very many only the first."""
    names = list(game.options)
    ordered = [sorted(values_of(o, players), key=lambda v, d=o.default: v != d) for o in game.options.values()]  # type: ignore[misc]
    found = []
    for combination in islice(product(*ordered), TRIED):
        settings = dict(zip(names, combination, strict=True))
        if refused(game, players, settings) is None:
            found.append(settings)
        if len(found) >= MANY:
            break
    return found
