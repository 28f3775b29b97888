"""What a program that uses rulelang can catch.  Authors' mistakes are diagnostics; these carry them out."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rulelang.diagnostics import Diagnostic


class RulelangError(Exception):
    """Everything that rulelang raises on purpose."""


class RulesError(RulelangError):
    """The rules could not be loaded: carries every diagnostic, and reads like `rulelang check`."""

    def __init__(self, problems: "tuple[Diagnostic, ...]", text: str) -> None:
        super().__init__(text)
        self.problems = problems


class RuleError(RulelangError):
    """A rule was broken while a match ran: a counter left its range, a pile was short, a loop never asked."""

    def __init__(self, message: str, origin: object = None) -> None:
        super().__init__(message)
        self.origin = origin  # the rule, as the core knows it


class IllegalChoice(RulelangError):
    """A choice that is not offered: the wrong seat, the wrong option, twice, or after the end."""


class MatchFileError(RulelangError):
    """A match file that is damaged, forged, or made under other rules; `line` is the line that is wrong."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class UsageError(RulelangError):
    """An unknown game, option, layer or player count: one line, and a suggestion."""
