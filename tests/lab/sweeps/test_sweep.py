"""Sweeps: the same table whatever happens on the way, nothing run twice, nothing lost.

Those that are killed are in tests/lab/test_kept_run and test_sweep_ray.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from importlib import import_module

import numpy as np
import programs
import pytest

import replnet as rn
from replnet.deadline import UnreasonableError
from replnet.lab.experiment.cells import key_of_longer
from replnet.lab.experiment.experiment import Experiment
from replnet.lab.sweeps.sweep import Sweep
from replnet.network.network import Network
from replnet.run.result import provenance
from replnet.show.report.section import section_of
from replnet.store.store import RefusedError

sweeps = import_module("replnet.lab.sweeps.sweep")

SMALL = {
    "name": "small",
    "title": "a few cells",
    "vary": {"k": [1, 2, 3], "select": ["random", "recent"]},
    "network": {
        "kind": "cooperative", "replicas": 5, "peers": "${k}", "select": "${select}", "updates": "exponential(rate=1)",
        "downloads": "exponential(rate=1)", "polls": "exponential(rate=${4 / k})",
    },
    "run": {"estimator": "conditional", "horizon": 200, "seed": 3},
    "claims": [
        {"text": "random beats recent", "order": [{"select": "random"}, {"select": "recent"}], "metric": "freshness"}
    ],
    "figure": {"x": "k", "series": "select"},
}  # fmt: skip
ONE_CELL = {"vary": {"k": [1], "select": ["random"]}, "claims": [], "figure": None}


def small(**changes) -> Experiment:
    return Experiment.from_data({**SMALL, **changes})


@pytest.fixture
def ran(monkeypatch):
    """The values of the cells that are run, in their order; the result of a cell may be changed by `ran.change`."""

    class Cells(list):
        change = staticmethod(lambda cell, record: record)

    cells, run = Cells(), sweeps.run_cell

    def told(cell):
        cells.append(cell.values)
        return cells.change(cell, run(cell))

    monkeypatch.setattr(sweeps, "run_cell", told)
    return cells


def wrong(cell, record):
    """Change the prediction of one cell."""
    if cell.values == {"k": 1, "select": "random"}:
        for row in record["rows"]:
            row["predicted"] += 0.2
    return record


def test_a_sweep_and_what_is_finished_of_it(tmp_path, ran):
    found = rn.sweep(small(), tmp_path, workers=0)
    assert (found.verdict, found.incomplete, found.done) == ("agree", "", 6)
    assert list(found.table.columns[:7]) == ["k", "select", "group", "metric", "measured", "ci_low", "ci_high"]
    assert list(found.table["k"]) == [1, 1, 2, 2, 3, 3]
    assert [claim.measured for claim in found.claims] == [True]
    assert found.events == sum(found.records[cell.key]["events"] for cell in found.cells)
    assert "random beats recent" in found._repr_html_()
    assert found.plot().axes
    again = Sweep.read(tmp_path)
    assert (again.rows, again.provenance["seed"]) == (found.rows, 3)
    # A cell is what emulate gives, in whatever order.
    alone = rn.emulate(Network.from_data(found.cells[0].subject.data), seed=3, horizon=200, estimator="conditional")
    assert (found.rows[0]["measured"], found.rows[0]["predicted"]) == (alone.rows[0].measured, alone.rows[0].predicted)
    assert found.rows[0]["ci_low"] == pytest.approx(alone.rows[0].ci_low, rel=1e-12)
    chance = random.Random(1)
    assert rn.sweep(small(), workers=0, order=lambda cell: chance.random()).hash == found.hash
    # What is finished is not run again, and texts may change; a new value of an axis leaves the others.
    ran.clear()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert rn.sweep(small(), tmp_path, workers=0).rows == found.rows
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    wider = small(title="another", claims=[], vary={"k": [1, 2, 3, 4], "select": ["random", "recent"]})
    assert rn.sweep(wider, tmp_path, workers=0).rows[:6] == found.rows
    assert sorted(ran, key=str) == [{"k": 4, "select": "random"}, {"k": 4, "select": "recent"}]


def test_another_experiment_is_refused(tmp_path):
    rn.sweep(small(), tmp_path, workers=0)
    for changes, said in (
        ({"run": {**SMALL["run"], "seed": 4}}, r"run\.seed: 3 -> 4"),
        ({"network": {**SMALL["network"], "replicas": 6}}, r"network\.replicas: 5 -> 6"),
        (
            {"vary": {"k": [1, 2], "select": ["random", "recent"]}},
            r"2 of 6 .* not among .*\n    vary\.k: \[1, 2, 3\] -> ",
        ),
    ):
        with pytest.raises(RefusedError, match=said):
            rn.sweep(small(**changes), tmp_path, workers=0)
    with pytest.raises(ValueError, match="overrides: only an experiment from a file takes them"):
        rn.sweep(small(), overrides=["k=1"])


def test_what_would_take_years_is_refused_and_leaves_no_directory(tmp_path):
    endless = small(run={"precision": 1e-12, "horizon": 200})
    with pytest.raises(UnreasonableError, match=r"^precision: 1e-12 takes about .* on 1 CPU .* where k = 3, select"):
        rn.sweep(endless, tmp_path / "run", workers=2)
    assert not (tmp_path / "run").exists()


def test_a_budget_ends_a_sweep_with_what_there_is(tmp_path):
    """That of one cell is over while it is run."""
    there = rn.sweep(small(**ONE_CELL), tmp_path, workers=0)
    found = rn.sweep(small(run={**SMALL["run"], "precision": 1e-12}), workers=0, budget=0.5)
    assert found.incomplete == "out of time; 0 of 6 cells are finished"
    found = rn.sweep(small(), tmp_path, workers=0, budget=1e-9)
    assert (found.stopped, found.done) == ("out of time", 1)
    assert found.records == there.records


@pytest.mark.parametrize(
    ("longer", "done", "said"), [(False, 2, "interrupted; 2 of 6 cells are finished"), (True, 0, "interrupted")]
)
def test_a_run_on_two_kinds_of_cpu_says_so(tmp_path, monkeypatch, ran, longer, done, said):
    """Once, and only if cells were left to the second."""

    def interrupt(now):
        if (now.longer, now.done) == (longer, done):
            raise KeyboardInterrupt

    ran.change = wrong
    monkeypatch.setattr("replnet.lab.kept_run.instructions", lambda: "OLD")
    found = rn.sweep(small(), tmp_path, workers=0, progress=interrupt)
    assert (found.incomplete, len(found.table), found.mixed) == (said, len(ran), "")
    mixed = "cells were computed with different instructions (OLD; NEW): last digits may differ"
    for instructions in ("NEW", "NEWEST"):
        monkeypatch.setattr("replnet.lab.kept_run.instructions", lambda name=instructions: name)
        assert rn.sweep(small(), tmp_path, workers=0).mixed == mixed
    assert Sweep.read(tmp_path).mixed == mixed


def test_the_instructions_are_those_that_are_in_use():
    """And part of the provenance; what is turned off is not among them."""
    known = np.show_config(mode="dicts")["SIMD Extensions"]
    program = "from replnet.run.result import instructions; print(instructions())"
    off = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(known["found"])}
    run = programs.run([sys.executable, "-c", program], check=True, env=off)
    assert run.stdout.split() == known["baseline"]
    assert provenance({})["instructions"].split()[: len(known["baseline"])] == known["baseline"]


def test_a_folder_that_goes_away_is_named(tmp_path):
    """Between two rounds; within one it is the journal that notices."""

    def remove(now):
        if now.done == 6:
            shutil.rmtree(tmp_path / "run")

    with pytest.raises(sweeps.DiskError, match=r"run: removed while the sweep ran, and with it 6 finished cells"):
        rn.sweep(small(), tmp_path / "run", workers=0, progress=remove)
    assert not (tmp_path / "run" / "table.parquet").exists()


def test_a_failed_cell_is_told_and_tried_again(tmp_path, ran):
    def fail(cell, record):
        if cell.values == {"k": 2, "select": "recent"}:
            raise RuntimeError("out of luck")
        return record

    ran.change = fail
    found = rn.sweep(small(), tmp_path, workers=0)
    assert found.incomplete == "5 of 6 cells are finished; 1 failed: RuntimeError: out of luck"
    failed = found.table[found.table["verdict"] == "failed"]
    assert list(failed["note"]) == ["RuntimeError: out of luck"]
    assert Sweep.read(tmp_path).failures == found.failures
    assert not (tmp_path / "table.parquet").exists()
    ran.clear()
    ran.change = lambda cell, record: record
    assert rn.sweep(small(), tmp_path, workers=0).incomplete == ""
    assert (len(ran), Sweep.read(tmp_path).failures) == (1, {})


@pytest.mark.parametrize(("longer", "verdict"), [(True, "differ"), (False, "agree")])
def test_a_cell_that_differs_is_run_longer_before_it_is_called_so(tmp_path, ran, longer, verdict):
    """One whose prediction is wrong, and one that differs by chance."""
    ran.change = lambda cell, record: wrong(cell, record) if longer or not cell.longer else record
    found = rn.sweep(small(), tmp_path, workers=0)
    first, again = (found.records[key] for key in (found.cells[0].key, key_of_longer(found.cells[0].key)))
    assert (found.verdict, len(ran), len(found.records)) == (verdict, 7, 7)
    assert again["events"] > 3 * first["events"]
    assert found.rows[0]["measured"] == again["rows"][0]["measured"]
    assert rn.sweep(small(), tmp_path, workers=0).rows == Sweep.read(tmp_path).rows == found.rows
    assert len(ran) == 7


def test_what_is_not_kept_is_as_if_it_were_not_there(ran):
    """A level that differs is neither judged nor run longer nor claimed about where another one is kept."""

    def wrong_below(cell, record):
        for row in record["rows"]:
            row["predicted"] += 0.2 if row["group"] == "level 3" else 0.0
        return record

    ran.change = wrong_below
    laws = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=${rate})"}
    # Predicted, level 3 is made to rise above level 2.
    claim = {"text": "freshness falls with depth", "falls": "freshness", "over": "group"}
    data = {
        "title": "t", "vary": {"rate": [1, 2]}, "network": {"kind": "cascade", "depth": 3, **laws},
        "run": {"horizon": 1e4}, "claims": [claim],
    }  # fmt: skip
    all_of_them = rn.sweep(data, workers=0)
    kept = rn.sweep({**data, "groups": ["level 1", "level 2"]}, workers=0)
    assert list(kept.table["group"]) == ["level 1", "level 2"] * 2
    assert (all_of_them.verdict, len(all_of_them.records)) == ("differ", 4)
    assert (kept.verdict, len(kept.records)) == ("agree", 2)
    assert [claim.predicted for claim in all_of_them.claims + kept.claims] == [False, True]


def test_the_predicted_curve_is_finer_than_the_cells():
    """Between rates there is something, and predicted there; between whole numbers of peers there is nothing."""
    rates = section_of(rn.sweep("p2p/fig4a", quick=True, overrides=["run.precision=0.1"], workers=0)).figure
    assert len(rates.curve) > 3 * 9
    at = {(row["downloads"], row["rate"]): row["predicted"] for row in rates.curve.to_dict("records")}
    assert at["exponential", 2.0] == pytest.approx(0.5)
    assert all(rate / (rate + 2) == pytest.approx(p) for (law, rate), p in at.items() if law == "exponential")
    assert section_of(rn.sweep(small(), workers=0)).figure.curve is None
