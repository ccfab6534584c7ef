"""Files that are there whole or not at all, and a lock that one process holds.

A folder may have been prepared by someone else. What is written goes into plain files of the folder
itself, never through a link, and a pipe in the place of a file is not waited for.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import socket
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, final

from replnet.text.errors import printable

LOCK = "lock"
PARTIAL = ".partial"  # the end of a name that is not yet a file of its own
CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)  # of folders, on file systems that have no need or no notion of it
GLIMPSES = 10  # attempts at a lock that a reader may hold for a moment, to see whether anyone writes
GLIMPSE = 0.02  # seconds between them


@final
class RefusedError(ValueError):
    """A run directory that cannot be used as asked; no cell in it was lost."""


@final
class DiskError(OSError):
    """The disk took no more. What was acknowledged is kept, and the same command carries on from there."""


def plain(data: Any, what: str) -> str:
    """As JSON on one line; what JSON cannot hold exactly is refused."""
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: {error} (plain data: text, finite numbers, lists and mappings of them)") from error


def canonical(data: Any) -> str:
    """Equal for equal data: 1 and 1.0, which Python calls equal, stay apart."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"), sort_keys=True)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(data: Mapping[str, Any], what: str) -> bytes:
    """JSON that carries the SHA-256 of what it says."""
    content = json.loads(plain(data, what))
    return (json.dumps({"sha256": digest(canonical(content)), **content}, indent=1) + "\n").encode()


def unsealed(raw: bytes) -> dict[str, Any] | None:
    """What was sealed; None if that is not what this says."""
    try:
        content = json.loads(raw)
        seal = content.pop("sha256")
        return content if seal == digest(canonical(content)) else None
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return None


def open_plain(path: Path, flags: int) -> int:
    """A descriptor of a plain file. What is opened to be written is no link either."""
    writing = flags & (os.O_WRONLY | os.O_RDWR)
    try:
        fd = os.open(path, flags | os.O_NONBLOCK | (os.O_NOFOLLOW if writing else 0), 0o644)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise _not_plain(path) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _not_plain(path)
    return fd


def _not_plain(path: Path) -> RefusedError:
    return RefusedError(f"{path}: is a link, a folder, a pipe or a device (remove it, or name another place)")


def read_plain(path: Path) -> bytes:
    with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
        return file.read()


def write_whole(path: Path, data: bytes) -> None:
    """Whatever happens meanwhile, `path` holds what it held before or all of `data`."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        partial.unlink(missing_ok=True)  # of a process that died
        with os.fdopen(open_plain(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and not isinstance(error, DiskError):
            raise DiskError(f"{path}: could not be written: {error.strerror or error}") from error
        raise


def sync_folder(folder: Path) -> None:
    """A name that was given or taken away survives a loss of power only after this."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise DiskError(f"{folder}: could not be synchronised with the disk: {error.strerror or error}") from error


@contextmanager
def _begun(place: Path) -> Iterator[None]:
    """A place in which nothing can begin is refused in words."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskError(f"{place}: {why} (make room, then the same command carries on)") from error
        raise RefusedError(f"{place}: cannot be written: {why} (give a directory where you may write)") from error


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """In this folder, which is made if it is not there."""
    with _begun(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with lock(folder / LOCK, folder):
        yield


@contextmanager
def lock(file: Path, place: Path, *, keep: bool = True) -> Iterator[None]:
    """Held by one process at a time: whoever asks for the same file meanwhile is told who writes in this place.

    The kernel gives it back when its holder ends, however that ends; the file stays if `keep` says so.
    """
    fd = _acquired(file, place)
    try:
        _sign(fd, f"process {os.getpid()} on {socket.gethostname()}")
        yield
        _sign(fd, "")
    finally:
        if not keep:
            file.unlink(missing_ok=True)
        os.close(fd)


def _acquired(file: Path, place: Path) -> int:
    """A descriptor of the lock file, which nobody else has locked."""
    while True:
        with _begun(place):
            fd = open_plain(file, os.O_RDWR | os.O_CREAT)
        try:
            with _begun(place):
                mine = _locked(fd)
            if not mine:
                raise RefusedError(
                    f"{place}: {_holder(fd)} is writing here (wait until it ends, stop it, or name another place; "
                    "reading is possible meanwhile)"
                )
            if is_at(file, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def is_at(file: Path, fd: int) -> bool:
    """Else it was removed or moved meanwhile, and what is done to it is done to no file of this name."""
    try:
        return os.path.samestat(os.stat(file, follow_symlinks=False), os.fstat(fd))
    except (FileNotFoundError, NotADirectoryError):
        return False


def writer(folder: Path) -> str:
    """Who writes in the folder just now; empty if nobody does."""
    try:
        fd = open_plain(folder / LOCK, os.O_RDONLY)
    except (OSError, RefusedError):
        return ""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(fd)
    else:
        return ""
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    for _ in range(GLIMPSES):
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(GLIMPSE)
    return False


def _sign(fd: int, text: str) -> None:
    """For the messages of others only, so a full disk does not matter."""
    with suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, text.encode(), 0)


def _holder(fd: int) -> str:
    return printable(os.pread(fd, 300, 0).decode(errors="replace"), 300) or "another process"
