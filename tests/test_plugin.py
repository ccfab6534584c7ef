"""The package in experiments/plugin, as if it were installed: a law and a formula, found by their entry points."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import replnet

import replnet as rn
from replnet.cli.main import BAD_INPUT
from replnet.papers import formula

PLUGIN = Path(__file__).parents[1] / "experiments" / "plugin"


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Callable[..., None]:
    """Installs modules in a folder, with entry points by their group."""

    def install(folder: Path, groups: dict[str, dict[str, str]]) -> None:
        info = tmp_path / "mine-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
        lines = [line for group, points in groups.items() for line in (f"[{group}]", *map(" = ".join, points.items()))]
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.syspath_prepend(folder)
        formula._broken.cache_clear()

    known = dict(formula.formulas())
    yield install
    formula._broken.cache_clear()
    formula._KNOWN.clear()
    formula._KNOWN.update(known)
    for name in ("replnet_tapered", "bad_formulas"):
        sys.modules.pop(name, None)


@pytest.fixture
def tapered(installed) -> None:
    installed(PLUGIN, tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]["entry-points"])


@pytest.mark.usefixtures("tapered")
def test_its_law_is_one_like_any_other():
    """E[X] = 3 / 3 and P(age > x) = (1 - x / 3)^3; downloads at 2 are Poisson: p = E of that, by quadrature."""
    law = rn.law("tapered(alpha=2, rate=1)")
    assert (law.mean, float(law.tail(1.5)), float(law.age.tail(1.5))) == (1.0, 0.25, 0.125)
    fields = ("-s", "updates=tapered(alpha=2, rate=1)", "-s", "downloads=tapered(alpha=3, rate=2)")
    for engine, horizon in (("array", "20000"), ("step", "500")):
        done = replnet("run", "single", *fields, "--engine", engine, "--horizon", horizon, "--format", "json")
        row = json.loads(done.stdout)["rows"][0]
        assert row["verdict"] in ("agree", "unresolved"), done.stdout
        assert row["source"] == "P2P eq. 8"


@pytest.mark.usefixtures("tapered")
@pytest.mark.parametrize("updates", ["tapered(alpha=2, rate=1)", "exponential(rate=1)"])
def test_its_formula_says_what_ours_says(updates):
    found = rn.formula("nightly", updates=updates, period=0.5).rows[0]
    assert (found.group, found.metric, found.kind, found.source) == ("copy", "freshness", "exact", "P2P eq. 8")
    ours = rn.predict(rn.single(updates=updates, downloads="constant(period=0.5)")).rows[0]
    assert found.predicted == pytest.approx(ours.predicted, rel=1e-9)


@pytest.mark.usefixtures("tapered")
def test_its_formula_is_listed_and_says_what_its_arguments_are():
    assert "nightly(updates, period)" in replnet("formula").stdout
    done = replnet("formula", "nightly", "-s", "updates=exponential(rate=1)")
    assert (done.returncode, "period: missing (between two downloads)" in done.stderr) == (BAD_INPUT, True)


def test_a_broken_formula_is_named_where_it_is_asked_for_and_hinders_no_other(installed, tmp_path):
    (tmp_path / "bad_formulas.py").write_text(
        "from replnet.papers.formula import formula\n"
        "def unmarked(): ...\n"
        "@formula('bare', 'nowhere')\n"
        "def bare(x): return 1.0\n"
        "@formula('undescribed', 'nowhere')\n"
        "def undescribed(x: float): return 1.0\n"
    )
    names = ("unmarked", "bare", "undescribed")
    groups = {"lost": "no_such_module:f", **{name: f"bad_formulas:{name}" for name in names}}
    installed(tmp_path, {"replnet.formulas": groups})
    assert rn.formula("quotient", of=1, over=2).rows
    for name, said in (
        ("lost", "no_such_module:f does not load: ModuleNotFoundError"),
        ("unmarked", "bad_formulas:unmarked is not marked @formula('unmarked', ...)"),
        ("bare", "bad_formulas:bare does not load: bare: its argument 'x' has no type"),
        ("undescribed", "bad_formulas:undescribed does not load: undescribed: its argument 'x' is not described"),
    ):
        done = replnet("formula", name)
        assert (done.returncode, done.stdout) == (BAD_INPUT, "")
        assert f"name: {said}" in done.stderr
        assert name not in rn.formulas()


def test_names_are_not_taken_twice():
    with pytest.raises(ValueError, match=r"formula: quotient is known already, of replnet\.papers\.formula"):
        formula.formula("quotient", "mine")(lambda: 1.0)
