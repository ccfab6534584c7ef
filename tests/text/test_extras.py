"""What is missing without an extra, and which one brings it."""

from __future__ import annotations

import sys

import pytest
from command_line import replnet

import replnet as rn
from replnet.cli.main import BAD_INPUT
from replnet.text.errors import FieldError


@pytest.fixture
def bare(monkeypatch):
    """As after `pip install replnet`."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for module in ("ray", "matplotlib", "nicegui"):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (("demo",), "ray"),
        (("run", "single", "--engine", "live"), "ray"),
        (("sweep", "p2p/fig3", "--quick", "--address", "local"), "ray"),
        (("network", "cascade", "-o", "tree.png"), "report"),
        (("reproduce", "p2p/fig3"), "report"),
        (("ui",), "ui"),
    ],
    ids=lambda one: one if isinstance(one, str) else one[0],
)
def test_what_needs_an_extra_says_which(tmp_path, monkeypatch, command, extra):
    monkeypatch.chdir(tmp_path)
    done = replnet(*command)
    assert done.returncode == BAD_INPUT, done.stderr
    assert f"is not installed (pip install 'replnet[{extra}]')" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("bare")
def test_a_report_has_figures(tmp_path):
    run = ("sweep", "p2p/fig3", "--quick", "--workers", "0", "-o", tmp_path / "run")
    assert replnet(*run).returncode == 0
    done = replnet("report", tmp_path / "run")
    assert (done.returncode, "figures: matplotlib is not installed" in done.stderr) == (BAD_INPUT, True)


@pytest.mark.usefixtures("bare")
def test_all_else_works_without(tmp_path):
    assert rn.predict("cascade").rows
    assert replnet("run", "single", "--horizon", "100").returncode == 0
    assert "<svg" not in rn.load("cascade")._repr_html_()
    with pytest.raises(FieldError, match="pictures: matplotlib is not installed"):
        rn.load("cascade").draw(tmp_path / "tree.svg")
