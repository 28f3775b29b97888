"""Matches with people at a terminal: seat by seat, handed over where there are several, saved whatever happens."""

import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NoReturn

from attrs import define, field

from rulelang.api import Match
from rulelang.board import Screen, View
from rulelang.diagnostics import printable
from rulelang.errors import RuleError
from rulelang.runtime.events import Drawn, Moved, Shuffled
from rulelang.runtime.words import readable
from rulelang.telling import result

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

TOLD = 16  # lines of what happened before a decision; the log has all
HELP = """\
a number       chooses that option            u          takes your last choice back
some letters   choose the option they name,   s [FILE]   saves the match
               or list those they could mean  l          everything that happened, as you saw it
(nothing)      shows the table again          b          the whole board, every piece described
                                              q          leaves the match"""


# ---------------------------------------------------------------- saving


def save_file(path: Path, text: str) -> None:
    """The old file or the new one, never half of it, whatever happens."""
    path = path.resolve()
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "not a regular file")
        handle, temp = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temp, path.stat().st_mode & 0o777 if path.exists() else 0o644)
            os.replace(temp, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temp)
            raise
    except OSError as err:
        raise OSError(err.errno, err.strerror, str(path)) from err
    with suppress(OSError):  # not every system can sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def free_name(match: Match) -> Path:
    """A file of its own for a match that nobody gave a name."""
    stem = f"{match.game.name}-{match.seed}"
    names = (Path(f"{stem}{'' if n == 1 else f'-{n}'}.match") for n in range(1, 10_000))
    return next((p for p in names if not p.exists()), Path(f"{stem}.match"))


# ---------------------------------------------------------------- playing


class Left(Exception):
    """Somebody left the match."""


def choose_at_random(match: Match, seat: int) -> None:
    """The same position always gives the same choice, so that a resumed match goes on as it would have."""
    decision = next(d for d in match.decisions if d.player == seat)
    match.choose(seat, Random(f"{match.seed}/{len(match.choices)}/{seat}").randrange(len(decision.options)))


def meant(said: str, labels: Sequence[str]) -> list[int]:
    """The options that an answer could mean: by number, by label, by its beginning, by words in it."""
    number = said.removeprefix("#")
    word = said.casefold()
    if number.isdecimal() and len(number) < 7:
        counted = [int(number) - 1] if 0 < int(number) <= len(labels) else []
        named = [i for i, label in enumerate(labels) if label == said]
        return list(dict.fromkeys([*counted, *named]))
    known = [label.casefold() for label in labels]
    for found in ([i for i, x in enumerate(known) if x == word], [i for i, x in enumerate(known) if x.startswith(word)]):
        if len(found) == 1:
            return found
    return [i for i, x in enumerate(known) if all(w in x for w in word.split())]


@define(eq=False)
class Session:
    """A match with people at it.  With several people the screen is handed over, so that nobody sees another's secrets."""

    match: Match
    seats: tuple[str, ...]
    screen: Screen
    file: Path | None = None
    always: bool = False  # save after every choice
    _at: int | None = None
    _told: dict[int, tuple[str, ...]] = field(factory=dict)
    _prompts: "dict[int, PromptSession[str]]" = field(factory=dict)
    _unsaved: bool = False

    @property
    def humans(self) -> list[int]:
        return [seat for seat, sort in enumerate(self.seats) if sort == "human"]

    def play(self) -> None:
        """To the end, or until somebody leaves; whatever interrupts it, the match is saved first."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        try:
            while not self.match.is_over:
                self.step()
            self.finish()
        except Left:
            return
        except (KeyboardInterrupt, EOFError, RuleError) as err:
            self.screen.console.print()
            self.save(self.file or free_name(self.match), aloud=True)
            if not isinstance(err, EOFError):
                raise

    def step(self) -> None:
        asked = [d.player for d in self.match.decisions]
        bot = next((p for p in asked if p not in self.humans), None)
        if bot is not None:
            choose_at_random(self.match, bot)
            return
        self.autosave()
        seat = self._at if self._at in asked else asked[0]
        if len(self.humans) > 1 and seat != self._at:
            self.screen.clear()
            self.screen.say(f"Hand over to {self.match.names[seat]}.", "bold")
            self.read(seat, "Press Enter when only they can see the screen. ", ())
        self._at = seat
        self.turn(seat)
        self.autosave()

    def finish(self) -> None:
        self.autosave()
        self.screen.clear()
        self.screen.rule(f"{self.match.game.title} · the end")
        if len(self.humans) == 1:
            self.screen.happened(self.news(self.humans[0]), TOLD)
        for level, text in result(self.match):
            self.screen.say("  " * level + text, "" if level else "bold")

    # ------------------------------------------------------------ files

    def autosave(self) -> None:
        if self.always and self.file is not None:
            self.save(self.file)

    def save(self, path: Path, aloud: bool = False) -> None:
        try:
            save_file(path, self.match.to_text())
        except OSError as err:
            if aloud or not self._unsaved:
                self.screen.say(f"cannot save to {path}: {err.strerror or err}; the match goes on in memory", "red")
            self._unsaved = True
            return
        if aloud or self._unsaved:
            self.screen.say(f"saved to {path}; to go on: rulelang play --resume {path}", "green")
        self._unsaved = False
        self.file = self.file or path

    def leave(self, sure: bool) -> None:
        if self.file is not None:
            self.save(self.file, aloud=True)
        if (self.file is not None and not self._unsaved) or sure:
            raise Left
        self.screen.say("This match is not saved: s FILE saves it, q once more leaves it.", "yellow")

    # ------------------------------------------------------------ one decision

    def news(self, seat: int) -> Sequence[str]:
        """What this seat has not been told yet; after a join lines of others can stand before its own."""
        lines, told = self.match.events_for(seat), self._told.get(seat, ())
        same = next((n for n, (a, b) in enumerate(zip(lines, told, strict=False)) if a != b), min(len(lines), len(told)))
        heading = next((line for line in reversed(lines[:same]) if line.startswith(("-- ", "== "))), "-- ")
        last = max((n for n, line in enumerate(lines) if not line.startswith(("-- ", "== "))), default=-1)
        return [heading, *lines[same : last + 1]] if last >= same else []

    def show(self, seat: int, whole: bool = False) -> list[str]:
        """The table, what happened, and the question; gives the labels of the options."""
        view = View(self.match.game.core, self.match.names, self.match.observe(seat), whole)
        where = ", ".join(f"{readable(name)} {n}" for name, n in view.seen["counts"].items() if n)
        self.screen.clear()
        self.screen.rule(" · ".join(x for x in (view.game.title, where, f"you are {view.names[seat]}") if x))
        self.screen.board(view)
        if not whole and (news := self.news(seat)):
            self.screen.rule("what happened")
            self.screen.happened(news, TOLD if self.screen.console.height > 44 or not self.screen.console.is_terminal else TOLD // 2)
        asked = view.seen["decision"]
        labels: list[str] = asked["options"]
        self.screen.rule(asked["prompt"])
        self.screen.options(labels, range(len(labels)))
        return labels

    def turn(self, seat: int) -> None:
        """Asks until an option is chosen or a choice was taken back."""
        labels = self.show(seat)
        said = ""
        while True:
            before, said = said, self.read(seat, "> ", labels).strip()
            word, _, rest = said.partition(" ")
            if said in ("", "b"):
                labels = self.show(seat, said == "b")
            elif said == "?":
                self.help(seat)
            elif said == "l":
                self.screen.happened(self.match.events_for(seat))
            elif said == "q":
                self.leave(sure=before == "q")
            elif word == "s":
                self.save(Path(rest) if rest else self.file or free_name(self.match), aloud=True)
            elif said == "u":
                if self.take_back(seat):
                    return
            elif len(found := meant(said, labels)) == 1:
                self._told[seat] = self.match.events_for(seat)
                self.match.choose(seat, found[0])
                return
            elif found:
                self.screen.options(labels, found)
                if said.isdecimal():
                    self.screen.say(f"The number or the name?  #{found[0] + 1} or #{found[1] + 1} says it.", "yellow")
            else:
                self.screen.say(f"No option is called `{said}`; ? explains.", "yellow")

    def help(self, seat: int) -> None:
        origin = next(d.origin for d in self.match.decisions if d.player == seat)
        self.screen.say(HELP)
        mark = f" ({origin.mark})" if origin.mark else ""
        self.screen.say(f"\nThis question comes from {origin.span.source.path}, line {origin.span.line}{mark}.", "dim")

    def take_back(self, seat: int) -> bool:
        mine = [i for i, (player, _) in enumerate(self.match.choices) if player == seat]
        if not mine:
            self.screen.say("You have made no choice yet.", "yellow")
            return False
        if len(self.humans) > 1 and self.revealed(mine[-1]):
            self.screen.say("Others have chosen or something was revealed since: your choice stands.", "yellow")
            return False
        while len(self.match.choices) > mine[-1]:
            self.match.undo()
        return True

    def revealed(self, at: int) -> bool:
        """Did others choose, or did chance or a covered place show something, after that choice?"""
        if at < len(self.match.choices) - 1:
            return True
        before = self.match.copy()
        before.undo()
        new = self.match.events[len(before.events) :]
        return any(isinstance(e, Shuffled | Drawn) or (isinstance(e, Moved) and e.source.visibility == "hidden") for e in new)

    def read(self, seat: int, prompt: str, labels: Sequence[str]) -> str:
        """One line from a person: with completion where there is a terminal."""
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            said = input(prompt)
            self.screen.say(said)
            return said
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter

        words = WordCompleter([printable(label) for label in labels], ignore_case=True, sentence=True, match_middle=True)
        asked = self._prompts.setdefault(seat, PromptSession(reserve_space_for_menu=5))
        toolbar = "number or name · ? help · u take back · s save · l log · b board · q leave" if labels else None
        return asked.prompt(prompt, completer=words, bottom_toolbar=toolbar)


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt
