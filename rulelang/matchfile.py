"""Match files: a header, then one readable line for each choice.  State is recomputed, never trusted."""

from collections.abc import Callable
from typing import Any

from rulelang.api import MAX_CHOICES, ChanceScript, Game, Match, load, seat_names
from rulelang.errors import MatchFileError, UsageError
from rulelang.runtime.settings import option_word

SCRIPTED = "scripted"
FORMAT = "rulelang match 1"
MAX_FILE = 16_000_000


def to_text(match: Match) -> str:
    options = " ".join(f"{n}={option_word(match.game.core, match.game.options[n], v)}" for n, v in match.settings.items())
    lines = [
        FORMAT,
        f"game: {match.game.source}",
        f"with: {' '.join(match.game.requested)}".rstrip(),
        f"players: {match.players}",
        f"seed: {match.seed if match.script is None else SCRIPTED}",
        f"options: {options}".rstrip(),
        f"forced: {'asked' if match.ask_forced else 'silent'}",
        f"rules: {match.game.rules}",
        "",
    ]
    seats = seat_names(match.players)  # a file knows seats, not people
    shadow = Match(match.game, match.players, match.settings, match.seed, match.script, match.ask_forced, seats, [], match._program)
    shadow._dice = match._dice
    for player, k in match.choices:
        pending = next(p for p in shadow.machine.pending if p.player == player)
        option = shadow._option(pending, k)
        lines.append(f"{player} {option.decision}: {option.label} #{k}")
        shadow.machine.choose(pending, k)
    lines.append(f"end {len(match.choices)}")
    return "\n".join(lines) + "\n"


def resume(text: str, game: Game | None = None, chance: ChanceScript | None = None) -> Match:
    """A match from its file: every choice is made again, and must be legal and read as it did."""
    if len(text) > MAX_FILE:
        raise MatchFileError("line 1: too large for a match file", 1)
    lines = text.split("\n")

    def bad(line: int, message: str) -> MatchFileError:
        return MatchFileError(f"line {line}: {message}", line)

    if lines[0] != FORMAT:
        newer = lines[0].startswith("rulelang match ")
        raise bad(1, "made by another version of rulelang" if newer else "not a match file")
    header: dict[str, str] = {}
    for number, key in enumerate(("game", "with", "players", "seed", "options", "forced", "rules"), 2):
        line = lines[number - 1] if number <= len(lines) else ""
        if not line.startswith(f"{key}:"):
            raise bad(number, f"`{key}:` expected")
        header[key] = line[len(key) + 1 :].strip()
    if not header["players"].isdigit() or len(header["players"]) > 3:
        raise bad(4, "`players` is a number")
    if header["forced"] not in ("asked", "silent"):
        raise bad(7, "`forced` is asked or silent")
    options: dict[str, Any] = {}
    for part in header["options"].split():
        name, equals, value = part.partition("=")
        if not equals:
            raise bad(6, f"`{part}` is no option")
        options[name] = value
    try:
        game = game or load(header["game"], header["with"].split())
    except UsageError as err:
        raise bad(2, str(err)) from err
    if game.rules != header["rules"]:
        raise bad(8, "made under other rules: the rule files have changed since")
    seed: int | str = int(header["seed"]) if header["seed"].lstrip("-").isdigit() and len(header["seed"]) < 40 else header["seed"]
    if seed == SCRIPTED and chance is None:
        raise bad(5, "chance was scripted in this match: resume it with the same script")
    try:
        match = game.start(int(header["players"]), seed, options, chance, header["forced"] == "asked")
    except UsageError as err:
        raise bad(4 if "players" in str(err) else 6, str(err)) from err
    if len(lines) < 9 or lines[8] != "":
        raise bad(9, "an empty line expected")
    return _follow(match, lines, bad)


def _follow(match: Match, lines: list[str], bad: Callable[[int, str], MatchFileError]) -> Match:
    number = 10
    while number <= len(lines) and not lines[number - 1].startswith("end "):
        line = lines[number - 1]
        if number - 10 > MAX_CHOICES:
            raise bad(number, "too many choices")
        seat, _, rest = line.partition(" ")
        said, _, index = rest.rpartition(" #")
        if not seat.isdigit() or not index.isdigit() or len(seat) > 3 or len(index) > 6 or not said:
            raise bad(number, "cut off or damaged" if line else "the file ends too early")
        pending = next((p for p in match.machine.pending if p.player == int(seat)), None)
        if pending is None:
            raise bad(number, "the match is over" if match.is_over else f"seat {seat} is not asked here")
        k = int(index)
        if k >= pending.count:
            raise bad(number, f"there is no option {k} here")
        option = match._option(pending, k)
        if said != f"{option.decision}: {option.label}":
            raise bad(number, f"option {k} is `{option.decision}: {option.label}`, the line says `{said}`")
        match.choose(int(seat), k)
        number += 1
    if number > len(lines):
        raise bad(len(lines), "the file ends too early")
    if lines[number - 1] != f"end {len(match.choices)}" or lines[number:] not in ([], [""]):
        raise bad(number, f"`end {len(match.choices)}` and nothing more expected")
    return match
