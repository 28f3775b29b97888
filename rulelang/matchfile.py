"""Match files: a header, what chance gave where a script said so, then one readable line for each choice.  State is
recomputed, never trusted."""

import json
from collections.abc import Iterator
from typing import Any

from attrs import define

from rulelang.api import MAX_CHOICES, ChanceScript, Game, Match, load, seat_names
from rulelang.core.types import SetT
from rulelang.errors import MatchFileError, UsageError
from rulelang.runtime.settings import option_word

SCRIPTED = "scripted"
FORMAT = "rulelang match 1"
HEADER = ("game", "with", "players", "seed", "options", "forced", "rules")
FIRST_LINE = len(HEADER) + 3  # after the header and an empty line
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
    match._dice.asked.clear()
    shadow = Match(match.game, match.players, match.settings, match.seed, match.script, match.ask_forced, seats, [], match._program)
    shadow._dice = match._dice
    choices: list[str] = []
    for player, k in match.choices:
        pending = next(p for p in shadow.machine.pending if p.player == player)
        option = shadow._option(pending, k)
        choices.append(f"{player} {option.decision}: {option.label} #{k}")
        shadow.machine.choose(pending, k)
    chance = (f"chance {name}: {json.dumps(given)}" for name, given in _given(match))
    return "\n".join([*lines, *chance, *choices, f"end {len(match.choices)}"]) + "\n"


def _given(match: Match) -> Iterator[tuple[str, Any]]:
    """What the script of a match gave: the order of a pile, or one thing."""
    for key, (t, whole) in match._dice.asked.items():
        assert isinstance(t, SetT)
        things = [match._words.data(x, t.item) for x in match._dice.outcomes[key]]
        yield key[1], things if whole else things[0]


def resume(text: str, game: Game | None = None, chance: ChanceScript | None = None) -> Match:
    """A match from its file: every choice is made again, and must be legal and read as it did."""
    head = header(text)
    try:
        game = game or load(head["game"], head["with"].split())
    except UsageError as err:
        raise _bad(2, str(err)) from err
    if game.rules != head["rules"]:
        raise _bad(8, "made under other rules: the rule files have changed since")
    match, number = begin(text, game, chance)
    return _follow(match, text.split("\n"), number)


def header(text: str) -> dict[str, str]:
    """The first lines of a match file: which game, with what, for how many, under which rules."""
    if len(text) > MAX_FILE:
        raise _bad(1, "too large for a match file")
    lines = text.split("\n", len(HEADER) + 2)
    if lines[0] != FORMAT:
        newer = lines[0].startswith("rulelang match ")
        raise _bad(1, "made by another version of rulelang" if newer else "not a match file")
    found: dict[str, str] = {}
    for number, key in enumerate(HEADER, 2):
        line = lines[number - 1] if number <= len(lines) else ""
        if not line.startswith(f"{key}:"):
            raise _bad(number, f"`{key}:` expected")
        found[key] = line[len(key) + 1 :].strip()
    if not found["players"].isdigit() or len(found["players"]) > 3:
        raise _bad(4, "`players` is a number")
    if found["forced"] not in ("asked", "silent"):
        raise _bad(7, "`forced` is asked or silent")
    return found


def begin(text: str, game: Game, chance: ChanceScript | None = None) -> tuple[Match, int]:
    """The match of a file before its first choice, whatever the rules of today are, and the line of that choice."""
    head = header(text)
    options: dict[str, Any] = {}
    for part in head["options"].split():
        name, equals, value = part.partition("=")
        if not equals:
            raise _bad(6, f"`{part}` is no option")
        options[name] = value
    lines = text.split("\n")
    if len(lines) < FIRST_LINE or lines[FIRST_LINE - 2] != "":
        raise _bad(FIRST_LINE - 1, "an empty line expected")
    told = _told(lines)
    seed: int | str = int(head["seed"]) if head["seed"].lstrip("-").isdigit() and len(head["seed"]) < 40 else head["seed"]
    if seed == SCRIPTED:
        chance = chance or told
    elif told.lines:
        raise _bad(FIRST_LINE, "chance follows the seed in this match")
    try:
        match = game.start(int(head["players"]), seed, options, chance, head["forced"] == "asked")
    except UsageError as err:
        raise _bad(4 if "players" in str(err) else 6, str(err)) from err
    return match, told.after


def _bad(line: int, message: str) -> MatchFileError:
    return MatchFileError(f"line {line}: {message}", line)


@define
class _Told:
    """`chance deck: [2, 1, 3]`: what the lines of a file say that chance gave, as a script"""

    lines: list[tuple[int, str, Any]]
    after: int  # the line after them

    def __call__(self, what: str, things: list[Any]) -> Any:
        if self.after == FIRST_LINE:
            raise _bad(5, "chance was scripted in this match: resume it with the same script")
        number, name, given = self.lines.pop(0) if self.lines else (self.after, "", None)
        if name != what:
            raise _bad(number, f"chance decides about `{what}` here")
        if given not in things and not (isinstance(given, list) and sorted(map(repr, given)) == sorted(map(repr, things))):
            raise _bad(number, "chance cannot give this")
        return given


def _told(lines: list[str]) -> _Told:
    told: list[tuple[int, str, Any]] = []
    number = FIRST_LINE
    while number <= len(lines) and lines[number - 1].startswith("chance "):
        name, _, given = lines[number - 1].removeprefix("chance ").partition(": ")
        try:
            told.append((number, name, json.loads(given)))
        except (ValueError, RecursionError) as err:
            raise _bad(number, "cut off or damaged") from err
        number += 1
    return _Told(told, number)


def _follow(match: Match, lines: list[str], first: int) -> Match:
    number = first
    while number <= len(lines) and not lines[number - 1].startswith("end "):
        line = lines[number - 1]
        if number - first > MAX_CHOICES:
            raise _bad(number, "too many choices")
        seat, _, rest = line.partition(" ")
        said, _, index = rest.rpartition(" #")
        if not seat.isdigit() or not index.isdigit() or len(seat) > 3 or len(index) > 6 or not said:
            raise _bad(number, "cut off or damaged" if line else "the file ends too early")
        pending = next((p for p in match.machine.pending if p.player == int(seat)), None)
        if pending is None:
            raise _bad(number, "the match is over" if match.is_over else f"seat {seat} is not asked here")
        k = int(index)
        if k >= pending.count:
            raise _bad(number, f"there is no option {k} here")
        option = match._option(pending, k)
        if said != f"{option.decision}: {option.label}":
            raise _bad(number, f"option {k} is `{option.decision}: {option.label}`, the line says `{said}`")
        match.choose(int(seat), k)
        number += 1
    if number > len(lines):
        raise _bad(len(lines), "the file ends too early")
    if lines[number - 1] != f"end {len(match.choices)}" or lines[number:] not in ([], [""]):
        raise _bad(number, f"`end {len(match.choices)}` and nothing more expected")
    if isinstance(match.script, _Told) and match.script.lines:
        raise _bad(match.script.lines[0][0], "chance decides nothing more in this match")
    return match
