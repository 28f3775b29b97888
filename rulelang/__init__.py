"""rulelang: the rules of a game are a text file, checked like a program, read like a rulebook, played at once.

import rulelang
match = rulelang.load("harbour").start(players=3, seed=7)
match.choose(match.decisions[0].player, 0)
"""

from typing import Any

__all__ = ["Game", "IllegalChoice", "Match", "MatchFileError", "RuleError", "RulesError", "load", "resume"]
__version__ = "0.1.0"

_HOMES = {
    "Game": "rulelang.api",
    "Match": "rulelang.api",
    "load": "rulelang.api",
    "resume": "rulelang.matchfile",
    "IllegalChoice": "rulelang.errors",
    "MatchFileError": "rulelang.errors",
    "RuleError": "rulelang.errors",
    "RulesError": "rulelang.errors",
}


def __getattr__(name: str) -> Any:
    # Imports cost more than a small game's check: pay for them only when they are used.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rulelang' has no attribute {name!r}")
