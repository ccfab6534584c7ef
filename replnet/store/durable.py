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

from replnet.text import FieldError, InputError, printable

LOCK = "lock"
PARTIAL = ".partial"  # the end of the name of a file that is being written
CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)  # errors of file systems on which folders need no sync, or have none
LOCK_ATTEMPTS = 10  # at a lock, which a reader holds for a moment to see whether anyone writes
ATTEMPTS_APART = 0.02  # seconds between them


@final
class RefusedError(InputError):
    """The error of a run directory that cannot be used as asked, with what to do; no finished cell in it was lost."""


@final
class DiskError(OSError):
    """The error of a write that failed, mostly as a disk is full; records that were acknowledged before are kept.

    After room is made the same command carries on from there.
    """


def json_line(data: Any, name: str) -> str:
    """Return `data` as JSON on one line; raise FieldError, which calls it `name`, if JSON cannot hold it exactly."""
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        right = "plain data: text, finite numbers, lists and mappings of them"
        raise FieldError(name, str(error), right) from error


def json_data(data: Any, name: str) -> Any:
    """Return `data` as it is read again from JSON, in which tuples are lists and keys are texts.

    Raises FieldError, which calls it `name`, if JSON cannot hold it exactly.
    """
    return json.loads(json_line(data, name))


def canonical_json(data: Any) -> str:
    """Return the one JSON text of some data, with sorted keys; raise ValueError or TypeError if JSON cannot hold it.

    Unlike in Python, 1 and 1.0 have different texts.
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":"), sort_keys=True)


def digest(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def seal(data: Mapping[str, Any], name: str) -> bytes:
    """Return `data` as the bytes of a JSON file that carries the SHA-256 of its content, for `unseal`.

    Raises FieldError, which calls the data `name`, if JSON cannot hold them.
    """
    content = json_data(data, name)
    return (json.dumps({"sha256": digest(canonical_json(content)), **content}, indent=1) + "\n").encode()


def unseal(raw: bytes) -> dict[str, Any] | None:
    """Return the data of a JSON file that `seal` wrote, from its bytes `raw`, without the SHA-256.

    None if the bytes are no such file, or the data have another SHA-256 than it carries.
    """
    try:
        content = json.loads(raw)
        checksum = content.pop("sha256")
        return content if checksum == digest(canonical_json(content)) else None
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return None


def open_plain_file(path: Path, flags: int) -> int:
    """Open a plain file and return its descriptor; `flags` are those of os.open.

    Raises RefusedError for anything that is not a plain file, and, to write, also for a link to one.
    """
    writing = flags & (os.O_WRONLY | os.O_RDWR)
    try:
        fd = os.open(path, flags | os.O_NONBLOCK | (os.O_NOFOLLOW if writing else 0), 0o644)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise _not_a_plain_file(path) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _not_a_plain_file(path)
    return fd


def _not_a_plain_file(path: Path) -> RefusedError:
    """Return the error that says that what is at `path` is not a plain file."""
    return RefusedError(f"{path}: is a link, a folder, a pipe or a device (remove it, or name another place)")


def read_plain_file(path: Path) -> bytes:
    """Return the content of a plain file, as bytes.

    Raises RefusedError for anything else than a plain file or a link to one, and FileNotFoundError if there is nothing.
    """
    with os.fdopen(open_plain_file(path, os.O_RDONLY), "rb") as file:
        return file.read()


def write_whole(path: Path, data: bytes) -> None:
    """Replace the content of a file, or create it; whatever happens, the file has all of the old content or of the new.

    Once it returns the new content is safe from a loss of power. Raises DiskError if it could not be written.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        partial.unlink(missing_ok=True)  # left by a process that died
        with os.fdopen(open_plain_file(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
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
    """Bring the names in a folder to the disk; raise DiskError if that fails.

    Only then does a file that was added or removed survive a loss of power.
    """
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
def explain_failures(place: Path) -> Iterator[None]:
    """Raise an OSError in the block as a DiskError if the disk is full, else as a RefusedError.

    Both say what to do about `place`.
    """
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskError(f"{place}: {why} (make room, then the same command carries on)") from error
        raise RefusedError(f"{place}: cannot be written: {why} (give a directory where you may write)") from error


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder during the block, so that this process alone writes in it.

    A missing folder is created, and the lock file in it stays. Raises RefusedError if another process holds the lock or
    the folder cannot be written, and DiskError if the disk is full.
    """
    with explain_failures(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with lock(folder / LOCK, folder):
        yield


@contextmanager
def lock(file: Path, place: Path, *, keep: bool = True) -> Iterator[None]:
    """Hold a lock file during the block, which one process at a time can; raise RefusedError if another has it.

    `place` is what the lock is for, in messages, which also name the holder. The kernel releases the lock when its
    holder ends, in whatever way. The file is created if it is missing, and stays, or is removed at the end if `keep` is
    False.
    """
    fd = _open_lock(file, place)
    try:
        _write_holder(fd, f"process {os.getpid()} on {socket.gethostname()}")
        yield
        _write_holder(fd, "")
    finally:
        if not keep:
            file.unlink(missing_ok=True)
        os.close(fd)


def _open_lock(file: Path, place: Path) -> int:
    """Open the lock file, lock it and return its descriptor; raise RefusedError if another process has locked it."""
    while True:
        with explain_failures(place):
            fd = open_plain_file(file, os.O_RDWR | os.O_CREAT)
        try:
            with explain_failures(place):
                is_locked = _try_to_lock(fd)
            if not is_locked:
                raise RefusedError(
                    f"{place}: {_read_holder(fd)} is writing here (wait until it ends, stop it, or name another place; "
                    "reading is possible meanwhile)"
                )
            if is_at(file, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def is_at(file: Path, fd: int) -> bool:
    """Whether an open file still has this name; if not, it was removed or moved, and what is written to it is lost."""
    try:
        return os.path.samestat(os.stat(file, follow_symlinks=False), os.fstat(fd))
    except (FileNotFoundError, NotADirectoryError):
        return False


def writer(folder: Path) -> str:
    """Return which process writes in the folder just now, such as "process 12 on alpha"; empty if none does."""
    try:
        fd = open_plain_file(folder / LOCK, os.O_RDONLY)
    except (OSError, RefusedError):
        return ""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_holder(fd)
    else:
        return ""
    finally:
        os.close(fd)


def _try_to_lock(fd: int) -> bool:
    """Lock an open file, by its descriptor, for this process alone; return whether that succeeded.

    There are ten attempts in 0.2 s, as a reader may hold the lock for a moment.
    """
    for _ in range(LOCK_ATTEMPTS):
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(ATTEMPTS_APART)
    return False


def _write_holder(fd: int, text: str) -> None:
    """Write into the lock file, by its descriptor, who holds it: `text`, which is empty for nobody.

    A full disk is ignored, as only messages of other processes need it.
    """
    with suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, text.encode(), 0)


def _read_holder(fd: int) -> str:
    """Return who holds the lock, as its file says, by the descriptor; `another process` if it says nothing."""
    return printable(os.pread(fd, 300, 0).decode(errors="replace"), 300) or "another process"
