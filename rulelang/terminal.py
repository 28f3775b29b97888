"""Matches with people at a terminal: seat by seat, handed over where there are several, saved whatever happens."""

import errno
import logging
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from attrs import define, field

from rulelang.api import Match
from rulelang.board import Screen, View
from rulelang.diagnostics import printable
from rulelang.files import SaveFile, sort_of, uninterrupted
from rulelang.runtime.words import readable
from rulelang.telling import result

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

GONE = (errno.EIO, errno.EBADF, errno.ENXIO)  # what a terminal that was closed answers
TOLD = 16  # lines of what happened before a decision; the log has all
HELP = """\
a number       chooses that option            u          takes your last choice back
some letters   choose the option they name,   s [FILE]   saves the match
               or list those they could mean  l          everything that happened, as you saw it
(nothing)      shows the table again          b          the whole board, every piece described
                                              q          leaves the match"""


def usual_name(match: Match) -> Path:
    return Path(f"{match.game.name}-{re.sub('[^0-9A-Za-z-]', '', str(match.seed))[:40]}.match")


def free_name(match: Match) -> Path:
    """A file of its own for a match that nobody gave a name."""
    stem = usual_name(match).stem
    names = (Path(f"{stem}{'' if n == 1 else f'-{n}'}.match") for n in range(1, 10_000))
    return next((p for p in names if not sort_of(p)), Path(f"{stem}.match"))


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
    file: SaveFile | None = None  # where the match is kept, after every choice
    _at: int | None = None
    _told: dict[int, tuple[str, ...]] = field(factory=dict)
    _prompts: "dict[int, PromptSession[str]]" = field(factory=dict)
    _unsaved: bool = False
    _notice: tuple[str, str] | None = None
    _worried: bool = False  # somebody was told that it is not saved
    _copies: dict[Path, SaveFile] = field(factory=dict)

    @property
    def humans(self) -> list[int]:
        return [seat for seat, sort in enumerate(self.seats) if sort == "human"]

    def play(self) -> None:
        """To the end, or until somebody leaves; whatever interrupts it, the match is saved first."""
        try:
            while not self.match.is_over:
                self.step()
            self.finish()
        except Left:
            return
        except BaseException as err:
            self.rescue()
            if err.args and err.args[0] in GONE:
                raise KeyboardInterrupt from err
            if not isinstance(err, EOFError):
                raise
        finally:
            for held in self._copies.values():
                held.release()

    def rescue(self) -> None:
        """Saves first and speaks then: there may be nobody left to hear it.  Where the usual file fails, another folder must do."""
        name = free_name(self.match)
        places = [self.file.name if self.file is not None else name, name, Path(tempfile.gettempdir(), name)]
        with uninterrupted():
            said = [self.keep(places[0])]
            while self._unsaved and len(said) < len(places):
                said.append(self.keep(places[len(said)]))
            with suppress(OSError):
                self.screen.say("\n" + "\n".join(dict.fromkeys(said)))

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
        self.notice()
        while self._unsaved:
            said = self.read(self.humans[0], "s FILE saves the match elsewhere, q leaves it: ", ()).strip()
            if said == "q":
                return
            if said.startswith("s "):
                self.save(Path(said[2:].strip()))

    # ------------------------------------------------------------ files

    def autosave(self) -> None:
        if self.file is not None:
            self.save(self.file.name, aloud=False)

    def save(self, path: Path, aloud: bool = True) -> None:
        """What goes wrong, or right again, is said at once, or where it is not wiped off by the next table."""
        was_unsaved = self._unsaved
        said = self.keep(path)
        if self._unsaved:
            said += "; the match goes on in memory, s FILE saves it elsewhere"
        style = "red" if self._unsaved else "green"
        if self._unsaved or aloud:
            self._notice = (said, style)
        elif was_unsaved:  # nobody needs to know of what went well before they heard of it
            self._notice = (said, style) if self._worried else None
        if aloud:
            self.notice()

    def notice(self) -> None:
        if self._notice is not None:
            self.screen.say(*self._notice)
            self._notice = self._notice if self._unsaved else None
            self._worried = self._unsaved

    def keep(self, path: Path) -> str:
        """Saves the match, and says how that went; where the usual file fails, another one takes its place."""
        try:
            held = self._held(path)
            held.write(self.match.to_text())
        except OSError as err:
            self._unsaved = True
            return f"cannot save to {path}: {err.strerror or err}"
        if self.file is None or self._unsaved:
            self.file = held
        self._unsaved = False
        return f"saved to {path}; to go on: rulelang play --resume {shlex.quote(str(path))}"

    def _held(self, path: Path) -> SaveFile:
        real = Path(os.path.abspath(path))
        for held in (self.file, *self._copies.values()):
            if held is not None and real in (held.path, Path(os.path.abspath(held.name))):
                return held
        self._copies[real] = SaveFile.take(path)
        return self._copies[real]

    def leave(self, sure: bool) -> None:
        if self.file is not None:
            self.save(self.file.name)
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
        self.notice()
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
                self.save(Path(rest) if rest else self.file.name if self.file is not None else free_name(self.match))
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
        """With several people only if all agree, whatever happened since: to ask only after something hidden was drawn would tell that
        it was.  The match file keeps what was taken back."""
        mine = [i for i, (player, _) in enumerate(self.match.choices) if player == seat]
        if not mine:
            self.screen.say("You have made no choice yet.", "yellow")
            return False
        if len(self.humans) > 1:
            self.screen.say("Your last choice goes, and all that was chosen since; the match file will say so.", "yellow")
            if self.read(seat, "If everybody at the table agrees, type yes: ", ()).strip().casefold() != "yes":
                self.screen.say("Your choice stands.", "yellow")
                return False
        self.match.take_back(len(self.match.choices) - mine[-1])
        return True

    def read(self, seat: int, prompt: str, labels: Sequence[str]) -> str:
        """One line from a person: with completion where there is a terminal."""
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            said = input(prompt)
            self.screen.say(said)
            return said
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter

        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would tell a closed terminal about the closed terminal
        words = WordCompleter([printable(label) for label in labels], ignore_case=True, sentence=True, match_middle=True)
        asked = self._prompts.setdefault(seat, PromptSession(reserve_space_for_menu=5))
        toolbar = "number or name · ? help · u take back · s save · l log · b board · q leave" if labels else None
        return asked.prompt(prompt, completer=words, bottom_toolbar=toolbar)
