"""Match files: a header, then one readable line for each choice.  State is recomputed, never trusted; a file is taken
only as it would be written again, letter by letter."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rulelang.api import ChanceScript, Game, Match, load, seat_names
from rulelang.diagnostics import cut, printable
from rulelang.errors import MatchFileError, RuleError, RulesError, UsageError
from rulelang.limits import USUAL
from rulelang.runtime.settings import option_word

SCRIPTED = "scripted"
FORMAT = "rulelang match 1"
KEYS = ("game", "with", "players", "seed", "options", "forced", "rules")
FIRST = len(KEYS) + 3  # the line of the first choice
CHOICE = re.compile(r"(0|[1-9][0-9]?) (.+) #(0|[1-9][0-9]{0,7})")
BACK = re.compile(r"back ([1-9][0-9]{0,5})")
LONGEST = 10_000  # characters of a line that says what is played with which layers
Bad = Callable[[int, str], MatchFileError]


def to_text(match: Match) -> str:
    lines = header(match)
    done = 0
    for before, count in match.taken_back:
        lines += [*_choices(match, before, done), f"back {count}"]
        done = len(before) - count
    lines += [*_choices(match, match.choices, done), f"end {len(match.choices)}"]
    return "\n".join(lines) + "\n"


def _choices(match: Match, choices: Sequence[tuple[int, int]], first: int) -> Iterator[str]:
    """One line for each, from the first on; a file knows seats, not people."""
    seats = seat_names(match.players)
    shadow = Match(match.game, match.players, match.settings, match.seed, match.script, match.ask_forced, seats, [], match._program)
    shadow._dice = match._dice
    for number, (player, k) in enumerate(choices):
        pending = next(p for p in shadow.machine.pending if p.player == player)
        if number >= first:
            option = shadow._option(pending, k)
            yield f"{player} {printable(f'{option.decision}: {option.label}')} #{k}"
        shadow.machine.choose(pending, k)


def header(match: Match) -> list[str]:
    game, options = match.game, {n: option_word(match.game.core, match.game.options[n], v) for n, v in match.settings.items()}
    values = (
        game.source if game.source == printable(game.source) else game.name,  # a path of several lines is for the caller to know
        shlex.join(game.requested),
        str(match.players),
        str(match.seed if match.script is None else SCRIPTED),
        " ".join(f"{n}={v}" for n, v in options.items()),
        "asked" if match.ask_forced else "silent",
        f"{game.rules} {''.join(mark for mark, _ in game.parts)}",
    )
    return [FORMAT, *(f"{key}: {value}".rstrip() for key, value in zip(KEYS, values, strict=True)), ""]


def resume(saved: str | bytes, game: Game | None = None, chance: ChanceScript | None = None) -> Match:
    """A match from its file: every choice is made again, and must be legal and read as it did."""

    def bad(line: int, message: str) -> MatchFileError:
        return MatchFileError(printable(f"line {line}: {message}"), line)

    lines = _lines(saved, game, bad)
    said: dict[str, str] = {}
    for number, key in enumerate(KEYS, 2):
        if number > len(lines):
            raise bad(len(lines), "the file ends too early")
        line = lines[number - 1]
        if not line.startswith(f"{key}:"):
            raise bad(number, f"`{key}:` expected")
        said[key] = line[len(key) + 1 :].strip()
    if not re.fullmatch("[1-9][0-9]?", said["players"]):
        raise bad(4, "`players` is a number")
    if said["seed"] == SCRIPTED and chance is None:
        raise bad(5, "chance was scripted in this match: resume it with the same script")
    if said["forced"] not in ("asked", "silent"):
        raise bad(7, "`forced` is asked or silent")
    as_given = {2, 3} if game is not None else set()  # where the rules lie is for the caller to say
    game = game or _game(said, bad)
    if game.rules != said["rules"].partition(" ")[0]:
        raise bad(8, f"made under other rules{_first_change(game, said['rules'].partition(' ')[2])}")
    match = _start(game, said, chance, bad)
    for number, (line, wanted) in enumerate(zip(lines, header(match), strict=False), 1):
        if line != wanted and number not in as_given and not (number == 5 and chance is not None):
            raise bad(number, f"`{cut(wanted)}` expected" if wanted else "an empty line expected")
    if len(lines) < FIRST:
        raise bad(len(lines), "the file ends too early")
    return _follow(match, lines, bad)


def _lines(saved: str | bytes, game: Game | None, bad: Bad) -> list[str]:
    limits = USUAL if game is None else game.core.limits
    if len(saved) > limits.save:
        raise bad(1, "too large for a match file")
    if isinstance(saved, bytes):
        try:
            text = saved.decode("utf-8")
        except UnicodeDecodeError as err:
            raise bad(saved[: err.start].count(b"\n") + 1, "damaged: this is no text") from err
    else:
        text = saved
    lines = text.split("\n")
    if lines[0] != FORMAT:
        other = re.fullmatch("rulelang match [1-9][0-9]{0,5}", lines[0])
        raise bad(1, f"made by a newer version of rulelang: this one reads `{FORMAT}`" if other else "not a match file")
    return lines


def _game(said: dict[str, str], bad: Bad) -> Game:
    """The game that a file names.  Whatever lies there, nothing of it is shown: the file may come from a stranger."""
    if not said["game"]:
        raise bad(2, "`game:` names no game")
    for number, key in ((2, "game"), (3, "with")):
        if len(said[key]) > LONGEST:
            raise bad(number, f"`{key}` is longer than {LONGEST} characters")
    try:
        layers = shlex.split(said["with"])
    except ValueError as err:
        raise bad(3, "a quotation mark is missing") from err
    try:
        return load(said["game"], layers)
    except UsageError as err:
        raise bad(2, str(err)) from err
    except RulesError as err:
        raise bad(2, "the rules that it names have errors; `rulelang check` shows them") from err


def _start(game: Game, said: dict[str, str], chance: ChanceScript | None, bad: Bad) -> Match:
    options: dict[str, Any] = {}
    for part in said["options"].split():
        name, equals, value = part.partition("=")
        if not equals:
            raise bad(6, f"`{cut(part)}` is no option")
        options[name] = value
    number = re.fullmatch("0|-?[1-9][0-9]{0,39}", said["seed"])
    try:
        return game.start(int(said["players"]), int(said["seed"]) if number else said["seed"], options, chance, said["forced"] == "asked")
    except UsageError as err:
        raise bad(4 if int(said["players"]) not in game.players else 6, str(err)) from err
    except RuleError as err:
        raise bad(FIRST, f"a rule is broken: {cut(str(err).splitlines()[0])}") from err


def _first_change(game: Game, marks: str) -> str:
    """The first rule that is another one than when the match was saved."""
    width = len(game.parts[0][0])
    for at, (mark, span) in enumerate(game.parts):
        if marks and marks[at * width : (at + 1) * width] != mark:
            return f": the first that differs is {span}, `{cut(span.text.splitlines()[0])}`"
    return ": the rule files have changed since"


def _follow(match: Match, lines: list[str], bad: Bad) -> Match:
    """Every choice again.  Where a line is wrong, what came before it was not."""

    def broken(message: str) -> MatchFileError:
        sound = f"before this line all is sound: a copy that ends here, with `end {len(match.choices)}`, can be played on"
        return bad(number, f"{message}; {sound}")

    number = FIRST
    repeated = 0
    while number <= len(lines) and not lines[number - 1].startswith("end "):
        line = lines[number - 1]
        back = BACK.fullmatch(line)
        if back is not None:
            count = int(back[1])
            if count > len(match.choices):
                raise broken(f"{count} choices cannot be taken back after {len(match.choices)}")
            repeated += len(match.choices) - count
            if repeated > match.game.core.limits.steps:
                raise broken("too much was taken back")
            match.take_back(count)
        else:
            _choose(match, line, broken)
        number += 1
    if number > len(lines):
        raise bad(len(lines), "the file ends too early")
    if lines[number - 1] != f"end {len(match.choices)}" or lines[number:] != [""]:
        raise bad(number, f"`end {len(match.choices)}` and nothing more expected")
    return match


def _choose(match: Match, line: str, broken: Callable[[str], MatchFileError]) -> None:
    parts = CHOICE.fullmatch(line)
    if parts is None:
        raise broken("cut off or damaged" if line else "the file ends too early")
    seat, said, k = int(parts[1]), parts[2], int(parts[3])
    pending = next((p for p in match.machine.pending if p.player == seat), None)
    if pending is None:
        raise broken("the match is over" if match.is_over else f"seat {seat} is not asked here")
    if k >= pending.count:
        raise broken(f"there is no option {k} here")
    option = match._option(pending, k)
    label = printable(f"{option.decision}: {option.label}")
    if said != label:
        raise broken(f"option {k} is `{cut(label)}`, the line says `{cut(said)}`")
    try:
        match.choose(seat, k)
    except RuleError as err:
        raise broken(f"this choice breaks a rule: {cut(str(err).splitlines()[0])}") from err
