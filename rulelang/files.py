"""Files, opened with care: whatever lies at a path, reading it neither waits nor takes more than it was allowed."""

import os
import stat
from pathlib import Path

from rulelang.errors import UsageError


def read_bytes(path: Path, most: int) -> bytes:
    """What a regular file holds, up to one byte more than `most`; anything else is an OSError that says what it is."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(0, "not a regular file", str(path))
            return file.read(most + 1)
    except ValueError as err:
        raise OSError(0, "no such file", str(path)) from err  # a name that no file can have


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_limited(path: Path, most: int, shown: str) -> bytes:
    """The same, with every way to fail as one line for the one who named the file."""
    try:
        raw = read_bytes(path, most)
    except IsADirectoryError as err:
        raise UsageError(f"{shown}: this is a folder") from err
    except FileNotFoundError as err:
        raise UsageError(f"{shown}: no such file") from err
    except OSError as err:
        raise UsageError(f"{shown}: {err.strerror or 'cannot be read'}") from err
    if len(raw) > most:
        raise UsageError(f"{shown}: larger than {most} bytes")
    return raw
