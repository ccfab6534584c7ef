"""Files that are written for users: each is written whole or left as it was, and never through a link.

A folder may have been prepared by someone else, with a link in the place of the file that a user names, to another file
of the user. A link is refused, and a plain file is replaced in one step; a terminal, a pipe or /dev/null is written to.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from replnet.text.errors import FieldError

FULL = (errno.ENOSPC, errno.EDQUOT)
PARQUET_ENDINGS = (".parquet", ".pq")
OPEN_TO_READ = 0o644  # by everyone, and to write by its owner


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file that a user names, whole or not at all, so that an earlier file there may stay; a text is in UTF-8.

    Raises FieldError if it cannot be written, or is a link. A pipe or device is written to directly.
    """
    with output_file(path) as file:
        file.write(content.encode(errors="replace") if isinstance(content, str) else content)


@contextmanager
def output_file(path: str | Path) -> Iterator[BinaryIO]:
    """Yield a binary file to write, which takes the place of the file that a user names at the end.

    After an error or an interruption the old file is as it was; a pipe or device is written to directly. Raises
    FieldError if the path is a link, or cannot be written.
    """
    try:
        with replacing(Path(path)) as file:
            yield file
    except OSError as error:
        right = "a place with room for it" if error.errno in FULL else "a file in a folder that exists"
        raise FieldError(str(path), f"cannot be written: {error.strerror}", right) from None


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary file to write, which takes the place of a plain file, or of none, at the end.

    After an interruption there is the old file or the new one; a pipe or device is written to directly. Raises
    FieldError if the path is a link, and OSError, which names the file, if it cannot be written.
    """
    try:
        if _is_stream(path):
            with path.open("wb") as file:
                yield file
        elif path.is_symlink():
            raise FieldError(str(path), "is a link, which could lead anywhere", "another name, or remove the link")
        else:
            yield from _replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _is_stream(path: Path) -> bool:
    """Whether a path leads, also by links, to a pipe or to a device such as a terminal; False if there is nothing."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _replace(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary binary file beside `path`, which takes its place at the end, readable by everyone.

    After an error or an interruption the temporary file is removed, and what was at `path` stays.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".replnet-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(name, OPEN_TO_READ)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
