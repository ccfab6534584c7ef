"""Sweeps: the same table whatever happens on the way, nothing run twice, nothing lost."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path

import numpy as np
import programs
import pytest

import replnet as rn
from replnet.deadline import UnreasonableError
from replnet.lab.experiment.cells import key_of_longer
from replnet.lab.experiment.experiment import Experiment, load_experiment
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


def small(**changes) -> Experiment:
    return Experiment.from_data({**SMALL, **changes})


def parquet(folder: Path) -> str:
    return hashlib.sha256((folder / "table.parquet").read_bytes()).hexdigest()


def test_a_sweep(tmp_path):
    found = rn.sweep(small(), tmp_path, workers=0)
    assert (found.verdict, found.incomplete, found.done) == ("agree", "", 6)
    assert list(found.table.columns[:7]) == ["k", "select", "group", "metric", "measured", "ci_low", "ci_high"]
    assert list(found.table["k"]) == [1, 1, 2, 2, 3, 3]
    assert [claim.measured for claim in found.claims] == [True]
    assert found.events == sum(found.records[cell.key]["events"] for cell in found.cells)
    assert "random beats recent" in found._repr_html_()
    assert found.plot().axes
    again = Sweep.read(tmp_path)
    assert again.rows == found.rows
    assert again.provenance["seed"] == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_what_would_take_years_is_refused_and_leaves_no_directory(tmp_path, workers):
    endless = small(run={"precision": 1e-12, "horizon": 200})
    with pytest.raises(UnreasonableError, match=r"^precision: 1e-12 takes about .* on 1 CPU .* where k = 3, select"):
        rn.sweep(endless, tmp_path / "run", workers=workers)
    assert not (tmp_path / "run").exists()


def test_a_budget_ends_a_sweep_with_what_there_is(tmp_path):
    """That of one cell is over while it is run."""
    there = rn.sweep(small(vary={"k": [1], "select": ["random"]}, claims=[], figure=None), tmp_path, workers=0)
    for workers in (0, 2):
        found = rn.sweep(small(run={**SMALL["run"], "precision": 1e-12}), workers=workers, budget=0.5)
        assert found.incomplete == "out of time; 0 of 6 cells are finished"
    found = rn.sweep(small(), tmp_path, workers=0, budget=1e-9)
    assert (found.stopped, found.done) == ("out of time", 1)
    assert found.records == there.records


def test_a_run_on_two_kinds_of_cpu_says_so(tmp_path, monkeypatch):
    """Once, and only if cells were left to the second."""

    def interrupt(now):
        if now.done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(sweeps, "instructions", lambda: "OLD")
    assert not rn.sweep(small(), tmp_path, workers=0, progress=interrupt).mixed
    monkeypatch.setattr(sweeps, "instructions", lambda: "NEW")
    said = "cells were computed with different instructions (OLD; NEW): last digits may differ"
    assert rn.sweep(small(), tmp_path, workers=0).mixed == said
    monkeypatch.setattr(sweeps, "instructions", lambda: "NEWEST")
    assert rn.sweep(small(), tmp_path, workers=0).mixed == said
    assert Sweep.read(tmp_path).mixed == said


def test_the_instructions_are_those_that_are_in_use():
    """And part of the provenance; what is turned off is not among them."""
    sets = provenance({})["instructions"].split()
    program = "from replnet.run.result import instructions; print(instructions())"
    off = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(np.show_config(mode="dicts")["SIMD Extensions"]["found"])}
    run = programs.run([sys.executable, "-c", program], check=True, env=off)
    assert run.stdout.split() == np.show_config(mode="dicts")["SIMD Extensions"]["baseline"]
    assert sets[: len(run.stdout.split())] == run.stdout.split()


def test_a_folder_that_goes_away_in_the_middle_is_named(tmp_path):
    """And nothing is written beside what it took with it."""
    gone = []

    def remove(now):
        if now.done == 2 and not gone:
            gone.append(shutil.rmtree(tmp_path / "run"))

    with pytest.raises(sweeps.DiskError, match=r"run/journal: removed, moved or replaced .* 2 finished cells"):
        rn.sweep(small(), tmp_path / "run", workers=0, progress=remove)
    assert not (tmp_path / "run").exists()


def test_cells_are_those_that_emulate_gives():
    found = rn.sweep(small(), workers=0)
    cell = found.cells[0]
    network = Network.from_data(cell.subject.data)
    alone = rn.emulate(network, seed=3, horizon=200, estimator="conditional")
    assert found.rows[0]["measured"] == alone.rows[0].measured
    assert found.rows[0]["predicted"] == alone.rows[0].predicted
    assert found.rows[0]["ci_low"] == pytest.approx(alone.rows[0].ci_low, rel=1e-12)


def test_the_table_does_not_depend_on_the_order():
    tables = {rn.sweep(small(), workers=0).hash}
    for seed in range(3):
        chance = random.Random(seed)
        tables.add(sweeps.sweep(small(), workers=0, order=lambda cell, c=chance: c.random()).hash)
    assert len(tables) == 1


def test_what_is_finished_is_not_run_again(tmp_path, monkeypatch):
    first = rn.sweep(small(), tmp_path, workers=0)
    before = parquet(tmp_path)
    monkeypatch.setattr(sweeps, "run_cell", lambda cell: pytest.fail("ran again"))
    assert rn.sweep(small(), tmp_path, workers=0).rows == first.rows
    assert parquet(tmp_path) == before


def test_a_new_value_of_an_axis_leaves_the_others(tmp_path, monkeypatch):
    rn.sweep(small(), tmp_path, workers=0)
    ran = []
    run = sweeps.run_cell
    monkeypatch.setattr(sweeps, "run_cell", lambda cell: ran.append(cell.values) or run(cell))
    wider = small(vary={"k": [1, 2, 3, 4], "select": ["random", "recent"]})
    found = rn.sweep(wider, tmp_path, workers=0)
    assert sorted(values["select"] for values in ran if values["k"] == 4) == ["random", "recent"]
    assert len(ran) == 2
    assert found.rows == rn.sweep(wider, workers=0).rows


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"run": {**SMALL["run"], "seed": 4}}, r"run\.seed: 3 -> 4"),
        ({"network": {**SMALL["network"], "replicas": 6}}, r"network\.replicas: 5 -> 6"),
        (
            {"vary": {"k": [1, 2], "select": ["random", "recent"]}},
            r"2 of 6 finished cells are not among those asked for",
        ),
    ],
)
def test_another_experiment_is_refused(tmp_path, changes, said):
    rn.sweep(small(), tmp_path, workers=0)
    with pytest.raises(RefusedError, match=said):
        rn.sweep(small(**changes), tmp_path, workers=0)


def test_texts_and_claims_may_change(tmp_path):
    rn.sweep(small(), tmp_path, workers=0)
    assert rn.sweep(small(title="another title", claims=[]), tmp_path, workers=0).done == 6


def test_a_failed_cell_is_told_and_tried_again(tmp_path, monkeypatch):
    run = sweeps.run_cell

    def fragile(cell):
        if cell.values == {"k": 2, "select": "recent"}:
            raise RuntimeError("out of luck")
        return run(cell)

    with monkeypatch.context() as patched:
        patched.setattr(sweeps, "run_cell", fragile)
        found = rn.sweep(small(), tmp_path, workers=0)
    assert found.incomplete == "5 of 6 cells are finished; 1 failed: RuntimeError: out of luck"
    failed = found.table[found.table["verdict"] == "failed"]
    assert list(failed["note"]) == ["RuntimeError: out of luck"]
    assert Sweep.read(tmp_path).failures == found.failures
    assert not (tmp_path / "table.parquet").exists()
    whole = rn.sweep(small(), tmp_path, workers=0)
    assert whole.incomplete == ""
    assert whole.rows == rn.sweep(small(), workers=0).rows
    assert Sweep.read(tmp_path).failures == {}


def test_ctrl_c_keeps_what_is_finished(tmp_path, monkeypatch):
    run, count = sweeps.run_cell, [0]

    def interrupted(cell):
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        return run(cell)

    with monkeypatch.context() as patched:
        patched.setattr(sweeps, "run_cell", interrupted)
        found = rn.sweep(small(), tmp_path, workers=0)
    assert found.incomplete == "interrupted; 2 of 6 cells are finished"
    assert len(found.table) == 2
    assert rn.sweep(small(), tmp_path, workers=0).rows == rn.sweep(small(), workers=0).rows


def wrong_once(monkeypatch, by):
    """Predictions off by so much in one cell, as long as it is not run longer."""
    run = sweeps.run_cell

    def wrong(cell):
        record = run(cell)
        if cell.values == {"k": 1, "select": "random"} and not (by is None and cell.longer):
            shift = 0.2 if by is None else by
            for row in record["rows"]:
                row["predicted"] = row["predicted"] + shift
        return record

    monkeypatch.setattr(sweeps, "run_cell", wrong)


def test_a_cell_that_differs_is_run_longer_before_it_is_called_so(tmp_path, monkeypatch):
    wrong_once(monkeypatch, 0.2)
    found = rn.sweep(small(), tmp_path, workers=0)
    key = found.cells[0].key
    assert found.verdict == "differ"
    assert found.records[key_of_longer(key)]["events"] > 3 * found.records[key]["events"]
    assert found.rows[0]["measured"] == found.records[key_of_longer(key)]["rows"][0]["measured"]
    assert len(found.records) == 7
    assert Sweep.read(tmp_path).rows == found.rows


def test_a_cell_that_differs_by_chance_agrees_in_the_end(tmp_path, monkeypatch):
    wrong_once(monkeypatch, None)
    found = rn.sweep(small(), tmp_path, workers=0)
    assert found.verdict == "agree"
    assert found.rows[0]["measured"] == found.records[key_of_longer(found.cells[0].key)]["rows"][0]["measured"]
    monkeypatch.setattr(sweeps, "run_cell", lambda cell: pytest.fail("ran again"))
    assert rn.sweep(small(), tmp_path, workers=0).rows == found.rows


def test_metrics_and_groups_are_chosen():
    laws = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=1)"}
    data = {"title": "t", "network": {"kind": "cascade", "depth": 3, **laws}, "run": {"horizon": 100}}
    assert list(rn.sweep(data, workers=0).table["group"]) == ["level 1", "level 2", "level 3"]
    assert list(rn.sweep({**data, "groups": ["level 2"]}, workers=0).table["group"]) == ["level 2"]


def test_what_is_not_kept_is_as_if_it_were_not_there(monkeypatch):
    """A level that differs is neither judged nor run longer nor claimed about where another one is kept."""
    run = sweeps.run_cell

    def wrong(cell):
        record = run(cell)
        for row in record["rows"]:
            row["predicted"] += 0.2 if row["group"] == "level 3" else 0.0
        return record

    monkeypatch.setattr(sweeps, "run_cell", wrong)
    laws = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=${rate})"}
    # Predicted, level 3 is made to rise above level 2.
    claim = {"text": "freshness falls with depth", "falls": "freshness", "over": "group"}
    data = {
        "title": "t", "vary": {"rate": [1, 2]}, "network": {"kind": "cascade", "depth": 3, **laws},
        "run": {"horizon": 1e4}, "claims": [claim],
    }  # fmt: skip
    all_of_them = rn.sweep(data, workers=0)
    kept = rn.sweep({**data, "groups": ["level 1", "level 2"]}, workers=0)
    assert (all_of_them.verdict, len(all_of_them.records)) == ("differ", 4)
    assert (kept.verdict, len(kept.records)) == ("agree", 2)
    assert [claim.predicted for claim in all_of_them.claims + kept.claims] == [False, True]


def test_the_predicted_curve_is_finer_than_the_cells():
    """Between rates there is something, and predicted there; between whole numbers of peers there is nothing."""
    rates = section_of(rn.sweep("p2p/fig4a", quick=True, overrides=["run.precision=0.02"], workers=0)).figure
    assert len(rates.curve) > 3 * 9
    at = {(row["downloads"], row["rate"]): row["predicted"] for row in rates.curve.to_dict("records")}
    assert at["exponential", 2.0] == pytest.approx(0.5)
    assert all(rate / (rate + 2) == pytest.approx(p) for (law, rate), p in at.items() if law == "exponential")
    assert section_of(rn.sweep(small(), workers=0)).figure.curve is None


def test_precision_is_reached_by_a_short_run():
    found = rn.sweep(small(run={"precision": 0.01, "estimator": "conditional"}), workers=0)
    assert all(row["ci_high"] - row["ci_low"] <= 0.02 for row in found.rows)
    assert found.incomplete == ""


# ---- Processes that die

PROGRAM = """
import sys, replnet as rn
from replnet.lab.experiment.cells import key_of_longer
from replnet.lab.experiment.experiment import load_experiment
print("begun", flush=True)
rn.sweep(load_experiment(sys.argv[1]), sys.argv[2], workers=0, progress=lambda g: print(g.done, flush=True))
"""


def begin(file: Path, folder: Path) -> AbstractContextManager[subprocess.Popen]:
    environment = {**os.environ, "PYTHONHASHSEED": "random"}
    return programs.running([sys.executable, "-c", PROGRAM, file, folder], stdout=subprocess.PIPE, env=environment)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps({**SMALL, "vary": {"k": "1:4", "select": ["random", "recent"]}}))
    return path


def test_kills_and_resumes_end_in_the_same_table(tmp_path, file):
    """Two kills as soon as a cell is acknowledged, under hash seeds of their own; then it ends with another one."""
    straight, folder = tmp_path / "straight", tmp_path / "killed"
    for kill in (1, 2):
        with begin(file, folder) as process:
            for line in process.stdout:
                if line.strip() == str(2 * kill).encode():
                    process.send_signal(signal.SIGKILL)
            process.wait()
        assert process.returncode == -signal.SIGKILL
        assert Sweep.read(folder).done >= 2 * kill
    whole, resumed = (sweeps.sweep(load_experiment(file), out, workers=0) for out in (straight, folder))
    assert parquet(folder) == parquet(straight)
    assert resumed.hash == whole.hash


@pytest.mark.slow
def test_kills_at_any_moment(tmp_path, file):
    """200 kills at random moments: what was acknowledged is there, and in the end the table is the same."""
    chance = random.Random(5)
    straight = sweeps.sweep(load_experiment(file), workers=0).hash
    folder, kills = tmp_path / "run-0", 0
    for run in range(1000):
        with begin(file, folder) as process:
            time.sleep(0.5 + 1.5 * chance.random())
            process.kill()
            said = [line.strip() for line in process.stdout][1:]
            process.wait()
        kills += process.returncode == -signal.SIGKILL
        acknowledged = max((int(number) for number in said), default=0)
        if (folder / "header.json").exists():
            assert Sweep.read(folder).done >= acknowledged
        if said and acknowledged == 8 and process.returncode == 0:
            assert Sweep.read(folder).hash == straight
            folder = tmp_path / f"run-{run + 1}"
        if kills == 200:
            break
    assert sweeps.sweep(load_experiment(file), folder, workers=0).hash == straight
