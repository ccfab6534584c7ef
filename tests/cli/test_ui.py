"""The command `ui` without its pages: what is missing, and what is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command_line import replnet, started

from replnet.cli.main import BAD_INPUT


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "nicegui", None)
    done = replnet("ui", "cascade")
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert "pip install 'replnet[ui]'" in done.stderr


def test_what_cannot_be_opened_is_said_before_anything_is_served():
    pytest.importorskip("nicegui", reason="the pages need NiceGUI (pip install 'replnet[ui]')")
    for words, said in (
        (("cascada",), "did you mean cascade"),
        (("cascade", "-s", "depth=0"), "out of range"),
        ((".", "-s", "depth=2"), "is about a network"),
        (("-", "-s", "depth=2"), "is about a network"),
        (("none.parquet",), "does not exist"),
    ):
        done = replnet("ui", *words)
        assert (done.returncode, said in done.stderr) == (BAD_INPUT, True)
    done = started("ui", "-", stdin=subprocess.DEVNULL)
    assert (done.returncode, "standard input is no file" in done.stderr) == (BAD_INPUT, True)
