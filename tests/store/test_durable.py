"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os

import pytest

from replnet.store.durable import DiskError, write_whole


def test_a_file_is_written_whole_or_stays_what_it_was(tmp_path, monkeypatch):
    write_whole(tmp_path / "x", b"old")

    def broken(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(DiskError, match="x: could not be written: No space left"):
        write_whole(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
