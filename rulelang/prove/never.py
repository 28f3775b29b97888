"""What never happens, as findings: conditions, options, rows of tables and values of options that no match comes to."""

from collections.abc import Iterator

from rulelang.core import nodes as core
from rulelang.core.flow import Flow
from rulelang.core.idle import expected, own_files
from rulelang.diagnostics import Problems, printable
from rulelang.names.table import Names
from rulelang.prove.reach import Never, nevers, unasked
from rulelang.runtime.settings import MANY, combinations, option_word


def report_nevers(game: core.Game, flow: Flow, names: Names, problems: Problems) -> set[tuple[str, int]]:
    """Warnings about what stands in the game itself, or in the one layer that is on it; gives the steps that can happen."""
    looked_at = own_files(names)
    found, reached = nevers(game, flow.functions.values(), {var for var, _ in flow.noticed.lets})
    for never in found:
        if never.span.source.path in looked_at:
            problems.add("R342", _said(never), never.span.first_line, _hint(never), heading=never.heading, is_error=False)
    asked = set(expected(names))
    for part in unasked(game, flow.noticed.lookups):
        name = part.table.name
        if part.row.source.path in looked_at and name not in asked and name not in game.maps:
            keys = part.asked or "other keys together"
            what = f"nothing asks for {part.cells}" if part.cells else f"nothing asks for this row of `{name}`"
            hint = f"{'narrow the key' if part.cells else 'leave the row out'}, or ask for more"
            problems.add("R345", what, part.row.first_line, f"what the rules ask for is {keys}: {hint}", is_error=False)
    for option, words in _refused(game):
        if option.span.source.path in looked_at:
            hint = "no number of players and no other option allows it: change `only if`, or leave the value out"
            problems.add("R342", f"`{option.name}` can never be {words}", option.span.first_line, hint, is_error=False)
    return reached


def _said(never: Never) -> str:
    why = f": {printable(never.why)}" if never.why else ""
    match never.sort:
        case "if":
            return f"this never holds, so what depends on it never happens{why}"
        case "otherwise":
            return f"this always holds, so `otherwise` never happens{why}"
        case "give":
            return f"this never holds, so this line never applies{why}"
        case "below":
            return f"this always holds, so the lines below never apply{why}"
        case "offer":
            return f"`{never.name}` is never offered{why}"
    return f"`{never.name}` is never offered: there is nothing to pick"


def _hint(never: Never) -> str:
    if never.sort in ("offer", "pick"):
        return "change the condition or the range, or leave the option out"
    if never.sort in ("give", "below"):
        return "the first line that applies counts: change the condition, or put the narrower one above"
    return "change the condition, or leave out what never happens"


def _refused(game: core.Game) -> Iterator[tuple[core.Option, str]]:
    """Values of options that `only if` never lets through."""
    if all(o.only_if is None for o in game.options.values()):
        return
    seen: dict[str, set[int]] = {name: set() for name in game.options}
    for players in game.players:
        every = combinations(game, players)
        if len(every) >= MANY:
            return
        for settings in every:
            for name, value in settings.items():
                seen[name].add(value)
    for option in game.options.values():
        left = [v for v in option.values if v not in seen[option.name]]
        if left and seen[option.name]:
            yield option, " or ".join(option_word(game, option, v) for v in left)
