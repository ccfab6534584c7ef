"""The package in experiments/plugin, as if it were installed: a law, a formula and a metric, by their entry points."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from command_line import replnet

import replnet as rn
from replnet.ages.prediction import Basis
from replnet.ages.weights import AGE
from replnet.cli.main import BAD_INPUT
from replnet.measure import row

formula, metrics = import_module("replnet.lab.named_formulas"), import_module("replnet.measure.metrics")

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
        row.broken_metrics.cache_clear()

    formula.formulas()
    registries = (formula._KNOWN, row.ON_REQUEST, metrics.PLAIN_METRICS)
    known, shares = [dict(one) for one in registries], set(row.SHARES)
    yield install
    formula._broken.cache_clear()
    row.broken_metrics.cache_clear()
    for registry, before in zip(registries, known, strict=True):
        registry.clear()
        registry.update(before)
    row.SHARES &= shares
    for name in ("replnet_tapered", "bad_formulas", "bad_metrics"):
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
        "from replnet.lab.named_formulas import formula\n"
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
    with pytest.raises(ValueError, match=r"formula: quotient is known already, of replnet\.lab\.named_formulas"):
        formula.formula("quotient", "mine")(lambda: 1.0)


@pytest.mark.usefixtures("tapered")
@pytest.mark.parametrize("engine", ["array", "step"])
def test_its_metric_is_measured_and_predicted(engine):
    """P(X > 1) = exp(-2) for Poisson downloads at 2, and 3 exp(-2) two levels below the source."""
    net = rn.cascade(depth=2, branching=1, updates="exponential(rate=1)", downloads="exponential(rate=2)")
    found = rn.emulate(net, engine=engine, measure="overdue", seed=1, horizon=2e4 if engine == "array" else 2e3)
    one, two = found.about("overdue")
    assert one.predicted == pytest.approx(math.exp(-2), rel=1e-9)
    assert two.predicted == pytest.approx(3 * math.exp(-2), rel=1e-6)
    assert (one.kind, one.source) == ("exact", "P2P eq. 8; P(X > 1)")
    assert {one.verdict, two.verdict} <= {"agree", "unresolved"}
    own = [(row.measured, row.predicted) for row in (one, two)]
    ours = rn.emulate(net, engine=engine, measure="older(1)", seed=1, horizon=found.horizon).about("older(1)")
    assert own == [(row.measured, pytest.approx(row.predicted, rel=1e-6)) for row in ours]
    assert row.is_share("overdue")


@pytest.mark.usefixtures("tapered")
def test_its_metric_goes_wherever_ours_go(tmp_path):
    assert "overdue" in replnet("list", "metrics").stdout
    done = replnet("run", "single", "--measure", "overdue at 2", "--threshold", "overdue <= 0.9", "--explain")
    assert done.returncode == 0, done.stderr
    assert "overdue at 2: share of time or of answers whose data are older than promised, 1, at time 2" in done.stderr
    assert "overdue <= 0.9: holds" in done.stderr + done.stdout
    refused = replnet("predict", "single", "--measure", "overdue(3)")
    assert (refused.returncode, "takes nothing in brackets" in refused.stderr) == (BAD_INPUT, True)


def test_a_broken_metric_is_named_where_it_is_asked_for_and_hinders_no_other(installed, tmp_path):
    (tmp_path / "bad_metrics.py").write_text("def unmarked(copy, updates): ...\n")
    (tmp_path / "taken.py").write_text(
        "from replnet.ages.weights import AGE\n"
        "from replnet.measure.metrics import staleness_metric\n"
        "staleness_metric('lag', 'time', 'first', AGE, None)(None)\n"
    )
    groups = {"lost": "no_such_module:f", "unmarked": "bad_metrics:unmarked", "lag": "taken:lag"}
    installed(tmp_path, {"replnet.metrics": groups})
    net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=2)")
    assert rn.predict(net, measure="lag").about("lag")[0].predicted == pytest.approx(0.5)  # ours
    for name, said in (
        ("lost", "no_such_module:f does not load: ModuleNotFoundError"),
        ("unmarked", "bad_metrics:unmarked is not marked @staleness_metric('unmarked', ...)"),
    ):
        done = replnet("predict", "single", "--measure", name)
        assert (done.returncode, done.stdout) == (BAD_INPUT, "")
        assert f"measure: {said}" in done.stderr
    assert "taken:lag does not load: metric: lag is known already" in row.broken_metrics()["lag"]


@pytest.mark.parametrize(("name", "wrong"), [("a lag", "is not a name"), ("freshness", "is known already")])
def test_names_of_metrics_that_cannot_be(name, wrong):
    with pytest.raises(ValueError, match=wrong):
        metrics.staleness_metric(name, "", "first", AGE, Basis("exact", "", ""))
