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
    done = replnet("ui", "cascada")
    assert (done.returncode, "did you mean cascade" in done.stderr) == (BAD_INPUT, True)
    done = replnet("ui", "cascade", "-s", "depth=0")
    assert (done.returncode, "out of range" in done.stderr) == (BAD_INPUT, True)
    done = replnet("ui", ".", "-s", "depth=2")
    assert (done.returncode, "is about a network" in done.stderr) == (BAD_INPUT, True)
    done = replnet("ui", "-", "-s", "depth=2")
    assert (done.returncode, "is about a network" in done.stderr) == (BAD_INPUT, True)
    done = started("ui", "-", stdin=subprocess.DEVNULL)
    assert (done.returncode, "standard input is no file" in done.stderr) == (BAD_INPUT, True)
    done = replnet("ui", "none.parquet")
    assert (done.returncode, "does not exist" in done.stderr) == (BAD_INPUT, True)
