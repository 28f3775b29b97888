"""Files, opened with care: reading neither waits nor takes more than it was allowed; a match file is held by one
process, replaced as a whole or not at all, and never written over what somebody else wrote meanwhile."""

import errno
import os
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from attrs import define

from rulelang.errors import UsageError

try:
    import fcntl
except ImportError:  # a system without such locks: there is the look at what lies there, before it is replaced
    fcntl = None  # type: ignore[assignment]

Name = str | Path
STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)  # nothing can be written in this folder
UNABLE = (*CLOSED, errno.EINVAL, errno.EBADF, errno.EISDIR, errno.ENOTSUP)  # a system that cannot synchronise a folder


# ---------------------------------------------------------------- looking

NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ)  # said of names that no file has


def sort_of(name: Name) -> str:
    """What lies there, wherever links lead: a `file`, a `folder`, something `other`, or nothing; a name that the system
    refuses is the name of nothing.  What may not be looked at counts as a file: who reads it is told why.  A disk that fails
    is no answer."""
    try:
        mode = os.stat(name).st_mode
    except PermissionError:
        return "file"
    except ValueError:
        return ""
    except OSError as err:
        if err.errno in NOWHERE:
            return ""
        raise
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def is_called(path: Path) -> bool:
    """Does what is found there bear this name, letter by letter?  Some disks find `Storm` for who asks for `storm`."""
    try:
        return path.name in os.listdir(path.parent)
    except OSError:  # a folder that may not be looked through, or none: what is found in it must do
        return True


def lies_in(path: Path, *folders: Path) -> bool:
    """Does something that is there lie in one of these folders, when every link is followed?"""
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)


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


def read_some(path: Path, most: int, shown: str) -> bytes:
    """The same, with every way to fail as one line for the one who named the file."""
    try:
        return read_bytes(path, most)
    except OSError as err:
        raise UsageError(f"{shown}: {_why(err)}") from err


def read_limited(path: Path, most: int, shown: str) -> bytes:
    """The whole file, or one line that says why not."""
    raw = read_some(path, most, shown)
    if len(raw) > most:
        raise UsageError(f"{shown}: larger than {most} bytes")
    return raw


def _why(err: OSError) -> str:
    return "no such file" if isinstance(err, FileNotFoundError) else err.strerror or "cannot be read"


# ---------------------------------------------------------------- keeping a match


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Whoever stops the program waits until this is done, and then it stops."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda n, frame: came.append(n)) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])


@define(eq=False)
class SaveFile:
    """A file in the hands of this process: `name` as somebody wrote it, `path` where it really lies"""

    name: Path
    path: Path
    known: bytes | None = None  # what lies there, as this process left or found it
    _lock: int = -1

    @classmethod
    def take(cls, name: Path) -> "SaveFile":
        """Takes hold of a file, whether it is there or not; if another process holds it, the OSError says which."""
        try:
            held = cls(name, Path(os.path.realpath(name)))
        except ValueError as err:
            raise OSError(0, "no file can have this name", str(name)) from err
        try:
            with uninterrupted(), _named(name):
                held._take()
        except BaseException:
            held.release()
            raise
        return held

    @property
    def _lock_path(self) -> Path:
        return self.path.parent / f".{self.path.name}.lock"

    def _take(self) -> None:
        while fcntl is not None and self._lock < 0:
            try:
                handle = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as err:
                if err.errno in CLOSED:
                    return  # that will be said when something is to be written
                raise
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as err:
                holder = _holder(handle)
                raise OSError(0, f"in use by {holder}: leave it there first, or go on with a copy") from err
            except OSError:  # a disk that knows no locks: there is still the look at what lies there
                _remove(self._lock_path)
                _close(handle)
                return
            self._lock = handle
            if not self._is_current():  # whoever held it took it away just now: there is a new one to lock
                _close(handle)
                self._lock = -1
        self._sign()
        self._sweep()

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._lock), os.stat(self._lock_path))
        except FileNotFoundError:
            return False
        except OSError:
            self._let_go()
            raise

    def _sign(self) -> None:
        """So that others can be told; on a full disk they are not."""
        with suppress(OSError):
            os.ftruncate(self._lock, 0)
            os.write(self._lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode())

    def _sweep(self) -> None:
        """What a process left behind when it was killed or the power failed; nobody else is at work here."""
        with suppress(OSError):
            for name in os.listdir(self.path.parent) if self._lock >= 0 else ():
                if name.startswith(f".{self.path.name}.") and name.endswith(".new"):
                    _remove(self.path.parent / name)

    def release(self) -> None:
        with uninterrupted():
            self._let_go()

    def _let_go(self) -> None:
        if self._lock >= 0:
            _remove(self._lock_path)
            _close(self._lock)
            self._lock = -1

    def write(self, text: str) -> None:
        """Only over what this process left or found there."""
        with uninterrupted(), _named(self.name):
            self._check_unchanged()
            self._put(text.encode("utf-8"))

    def _check_unchanged(self) -> None:
        try:
            there = read_bytes(self.path, len(self.known or b""))
        except FileNotFoundError:
            return
        if there != self.known:
            raise OSError(0, "exists already" if self.known is None else "another program has changed it meanwhile")

    def _put(self, data: bytes) -> None:
        """The old file or the new one, never half of it, whatever happens."""
        temp = _write_beside(self.path, data)
        try:
            os.replace(temp, self.path)
        except BaseException:
            _remove(temp)
            raise
        self.known = data
        _synchronise(self.path.parent)

    def replace(self, text: str) -> None:
        """Over whatever regular file lies there."""
        with uninterrupted(), _named(self.name):
            if sort_of(self.path) not in ("", "file"):
                raise OSError(0, "not a regular file")
            self._put(text.encode("utf-8"))


@contextmanager
def _named(name: Path) -> Iterator[None]:
    """Errors speak of the file as it was named, not of what lies beside it for a moment."""
    try:
        yield
    except OSError as err:
        raise OSError(err.errno, err.strerror or str(err), str(name)) from err


def _holder(handle: int) -> str:
    said = b""
    with suppress(OSError):
        said = os.read(handle, 200)
    _close(handle)
    return said.decode("utf-8", "replace").strip() or "another process"


# ---------------------------------------------------------------- writing


def write_whole(name: Path, text: str) -> None:
    """A page: what lay there is replaced."""
    held = SaveFile.take(name)
    try:
        held.replace(text)
    finally:
        held.release()


def write_new(name: Path, text: str) -> None:
    """A file that must not be there yet."""
    held = SaveFile.take(name)
    try:
        held.write(text)
    finally:
        held.release()


def _write_beside(path: Path, data: bytes) -> Path:
    """A file of its own in the same folder, safely on the disk."""
    temp = path.parent / f".{path.name}.{token_hex(4)}.new"
    there = os.path.exists(path)
    if there and not os.access(path, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))  # the folder would allow it, the file does not
    mode = stat.S_IMODE(os.stat(path).st_mode) if there else 0o644
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


def _synchronise(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as err:
        if err.errno not in UNABLE:
            raise


def _remove(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)


def _close(handle: int) -> None:
    with suppress(OSError):
        os.close(handle)
