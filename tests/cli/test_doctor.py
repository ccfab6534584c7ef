"""What `doctor` looks at, and what it says where that is not as it should be."""

from __future__ import annotations

import shutil
import sys
from collections import namedtuple

from command_line import replnet

from replnet.cli import doctor
from replnet.cli.main import DIFFERS, FINE


def test_nothing_is_wrong_here():
    done = replnet("doctor")
    assert (done.returncode, "FAIL" in done.stdout) == (FINE, False)
    for seen in (
        "numba ",
        "ray ",
        "DejaVu Sans",
        "GB of disk here",
        "kernels are kept in /",
        "million events a second",
    ):
        assert seen in done.stdout, seen


def test_what_is_wrong_fails_and_what_is_not_installed_does_not(monkeypatch):
    full = namedtuple("Usage", "total used free")(10, 9, 1)
    monkeypatch.setattr(doctor, "_check_engines", list)  # which takes seconds
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: full)
    monkeypatch.setattr("replnet.compiler.cache_folder", lambda module: None)
    done = replnet("doctor")
    assert done.returncode == DIFFERS
    assert "FAIL  0 GB of disk here" in done.stdout
    assert "FAIL  kernels can be kept nowhere (NUMBA_CACHE_DIR: a folder that can be written)" in done.stdout
    monkeypatch.undo()
    monkeypatch.setattr(doctor, "_check_engines", list)
    for module in ("ray", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    done = replnet("doctor")
    assert done.returncode == FINE
    assert "without Ray (pip install 'replnet[ray]' brings it)" in done.stdout
    assert "DejaVu" not in done.stdout
