"""What is missing without an extra, and which one brings it."""

from __future__ import annotations

import sys

import pytest
from command_line import replnet

import replnet as rn
from replnet.cli.main import BAD_INPUT
from replnet.text.errors import FieldError


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    """As after `pip install replnet`, in an empty folder."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    for module in ("ray", "matplotlib", "nicegui"):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("demo", "ray"),
        ("run single --engine live", "ray"),
        ("sweep p2p/fig3 --quick --address local", "ray"),
        ("network cascade -o tree.png", "report"),
        ("reproduce p2p/fig3", "report"),
        ("ui", "ui"),
    ],
)
def test_what_needs_an_extra_says_which(tmp_path, command, extra):
    done = replnet(*command.split())
    assert done.returncode == BAD_INPUT, done.stderr
    assert f"is not installed (pip install 'replnet[{extra}]')" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_report_has_figures():
    assert replnet("sweep", "p2p/fig3", "--quick", "--workers", "0", "-o", "run").returncode == 0
    done = replnet("report", "run")
    assert (done.returncode, "figures: matplotlib is not installed" in done.stderr) == (BAD_INPUT, True)


def test_all_else_works_without(tmp_path):
    assert rn.predict("cascade").rows
    assert replnet("run", "single", "--horizon", "100").returncode == 0
    assert "<svg" not in rn.load("cascade")._repr_html_()
    with pytest.raises(FieldError, match="pictures: matplotlib is not installed"):
        rn.load("cascade").draw(tmp_path / "tree.svg")
