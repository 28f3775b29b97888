"""Files, opened with care: reading neither waits nor takes more than it was allowed; a match file is held by one
process, replaced as a whole or not at all, and never written over what somebody else wrote meanwhile."""

import errno
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from attrs import define

from rulelang.errors import UsageError

try:
    import fcntl
except ImportError:  # a system without such locks: there is the look at what lies there, before it is replaced
    fcntl = None  # type: ignore[assignment]

Name = str | Path


# ---------------------------------------------------------------- reading


def read_bytes(path: Name, most: int) -> bytes:
    """What a regular file holds, up to one byte more than `most`; anything else is an OSError that says what it is."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except ValueError as err:
        raise OSError(0, "no such file", str(path)) from err  # a name that no file can have
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(0, "this is a folder", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(0, "not a regular file", str(path))
        found = []
        while most >= 0 and (part := os.read(handle, min(most + 1, 1 << 20))):
            found.append(part)
            most -= len(part)
        return b"".join(found)
    finally:
        os.close(handle)


def read_limited(path: Path, most: int, shown: str) -> bytes:
    """The same, with every way to fail as one line for the one who named the file."""
    try:
        raw = read_bytes(path, most)
    except OSError as err:
        raise UsageError(f"{shown}: {_why(err)}") from err
    if len(raw) > most:
        raise UsageError(f"{shown}: larger than {most} bytes")
    return raw


def _why(err: OSError) -> str:
    return "no such file" if isinstance(err, FileNotFoundError) else err.strerror or "cannot be read"


# ---------------------------------------------------------------- keeping a match


@define(eq=False)
class SaveFile:
    """A match file in the hands of this process"""

    path: Path
    known: bytes | None = None  # what lies there, as this process left or found it
    _lock: int = -1

    @classmethod
    def take(cls, path: Path) -> "SaveFile":
        """Takes hold of a file, whether it is there or not; if another process holds it, the OSError says which."""
        try:
            held = cls(Path(os.path.realpath(path)))
            held._take()
        except ValueError as err:
            raise OSError(0, "no file can have this name", str(path)) from err
        return held

    @property
    def _lock_path(self) -> Path:
        return self.path.parent / f".{self.path.name}.lock"

    def _take(self) -> None:
        if fcntl is None:
            return
        while True:
            try:
                handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as err:
                if err.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                    return  # nothing can be written here: that will be said when it is tried
                raise
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.exists(self._lock_path) and os.path.samestat(os.fstat(handle), os.stat(self._lock_path)):
                    os.truncate(handle, 0)
                    os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                    self._lock = handle
                    self._sweep()
                    return
                os.close(handle)  # whoever held it took it away just now: there is a new one to lock
            except BlockingIOError as err:
                holder = os.read(handle, 200).decode("utf-8", "replace").strip() or "another process"
                os.close(handle)
                raise OSError(0, f"is being played by {holder}", str(self.path)) from err
            except BaseException:
                self._lock = -1
                os.close(handle)
                raise

    def _sweep(self) -> None:
        """What a process left behind when the power failed; nobody else is at work here."""
        for name in os.listdir(self.path.parent):
            if name.startswith(f".{self.path.name}.") and name.endswith(".new"):
                _remove(str(self.path.parent / name))

    def release(self) -> None:
        if self._lock >= 0:
            with suppress(OSError):
                os.unlink(self._lock_path)
            with suppress(OSError):
                os.close(self._lock)
            self._lock = -1

    def read(self, most: int) -> bytes:
        self.known = read_bytes(self.path, most)
        return self.known

    def write(self, text: str) -> None:
        """Only over what this process left or found there."""
        data = text.encode("utf-8")
        try:
            self._check_unchanged()
            _replace(self.path, data)
        except OSError as err:
            raise OSError(err.errno, err.strerror or str(err), str(self.path)) from err
        self.known = data

    def _check_unchanged(self) -> None:
        try:
            there = read_bytes(self.path, len(self.known or b""))
        except FileNotFoundError:
            return
        if there != self.known:
            raise OSError(0, "exists already" if self.known is None else "another program has changed it meanwhile")


# ---------------------------------------------------------------- writing


def write_whole(path: Path, text: str) -> None:
    """A report or a page: whatever regular file lay there is replaced."""
    path = Path(os.path.realpath(path))
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise OSError(0, "not a regular file")
        _replace(path, text.encode("utf-8"))
    except OSError as err:
        raise OSError(err.errno, err.strerror or str(err), str(path)) from err


def _replace(path: Path, data: bytes) -> None:
    """The old file or the new one, never half of it, whatever happens."""
    temp = _write_beside(path, data)
    try:
        os.replace(temp, path)
    except BaseException:
        _remove(temp)
        raise
    with suppress(OSError):  # not every system can do this for a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_beside(path: Path, data: bytes) -> str:
    """A file of its own in the same folder, safely on the disk."""
    temp = str(path.parent / f".{path.name}.{token_hex(4)}.new")
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), mode)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)
    except BaseException:
        _remove(temp)
        raise
    return temp


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
