"""Loggers: what they are told of a sweep, and that none of them can break one."""

from __future__ import annotations

import os
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from command_line import SMALL, replnet, started

import replnet as rn
from replnet.lab.sweeps import logger

MLFLOW = Path(__file__).parents[3] / "experiments" / "mlflow"
loggers = import_module("replnet.lab.sweeps.loggers")


@pytest.fixture
def told(monkeypatch):
    """Return a list of what a logger was told, which is known for the time of a test."""
    monkeypatch.setattr(loggers, "_KNOWN", {})
    calls = []

    @logger("memory")
    class Memory:
        def cell(self, run, parameters, rows):
            calls.append(("cell", run, parameters, rows))

        def end(self, run, parameters, rows):
            calls.append(("end", run, parameters, rows))

    return calls


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_a_logger_is_told_of_every_cell_and_of_the_end(told, file, tmp_path):
    sweep = rn.sweep(file, tmp_path / "run", workers=0)
    assert (sweep.notes, {run for _, run, *_ in told}) == ((), {sweep.run})
    assert [what for what, *_ in told] == ["cell", "cell", "end"]
    (_, _, parameters, (row,)) = min(told[:2], key=lambda call: call[2]["rate"])
    wanted = {"experiment": "small", "network": "single", "formula": None, "rate": 1, "longer": False}
    assert parameters.items() >= (wanted | {"downloads": "exponential(rate=1)"}).items()
    assert (row["group"], row["metric"], row["predicted"], row["kind"]) == ("level 1", "freshness", 0.5, "exact")
    assert row["measured"] == pytest.approx(0.5, abs=0.05)
    _, _, ended, rows = told[2]
    assert (ended["finished"], ended["cells"], ended["verdict"], ended["incomplete"]) == (2, 2, "agree", "")
    assert (ended["folder"], rows) == (str(tmp_path / "run"), sweep.rows)


def test_a_sweep_that_is_carried_on_with_tells_the_rest(told, file, tmp_path):
    def stop(glimpse):
        if glimpse.done == 1:
            raise KeyboardInterrupt

    assert rn.sweep(file, tmp_path / "run", workers=0, progress=stop).incomplete
    rn.sweep(file, tmp_path / "run", workers=0)
    assert [what for what, *_ in told] == ["cell", "end", "cell", "end"]
    assert [parameters["finished"] for what, _, parameters, _ in told if what == "end"] == [1, 2]
    assert len({run for _, run, *_ in told}) == 1


FAILING = {
    "at a cell": ("cell", "ValueError: no room"),
    "at the end": ("end", "ValueError: no room"),
    "at once": ("__init__", "ValueError: no room"),
    "by leaving": ("leave", "SystemExit: 3"),
}


@pytest.mark.parametrize(("where", "why"), FAILING.values(), ids=FAILING)
def test_a_logger_that_fails_breaks_nothing_and_is_noted_once(told, file, where, why):
    def fail(*_):
        raise SystemExit(3) if where == "leave" else ValueError("no room")

    methods = {"cell": lambda *_: None, "end": lambda *_: None}
    logger("bad")(type("Bad", (), methods | {"cell" if where == "leave" else where: fail}))
    done = replnet("sweep", file, "--workers", 0)
    assert done.returncode == 0, done.stderr
    note = f"note: logger bad: {why} (it was told nothing more of this sweep)"
    assert [line for line in done.stderr.splitlines() if "logger" in line] == [note]
    assert [what for what, *_ in told] == ["cell", "cell", "end"]


def test_what_a_logger_prints_is_no_part_of_the_table(told, file):
    logger("loud")(type("Loud", (), {"cell": lambda *_: print("a cell"), "end": lambda *_: print("the end")}))
    done = replnet("sweep", file, "--workers", 0, "--format", "csv")
    assert done.stdout.startswith("rate,")
    assert "a cell" not in done.stdout
    assert [done.stderr.count(words) for words in ("a cell", "the end")] == [2, 1]


def test_rows_are_a_logger_s_own(told, file):
    logger("a")(type("A", (), {"cell": lambda _, *told: told[2].clear(), "end": lambda _, *told: told[1].clear()}))
    assert len(rn.sweep(file, workers=0).rows) == 2
    assert [len(rows) for *_, rows in told] == [1, 1, 2]


@pytest.mark.parametrize(
    ("name", "kind", "wrong"),
    [
        ("memory", type("Again", (), {"cell": print, "end": print}), "memory is known already, of "),
        ("half", type("Half", (), {"cell": print}), "its class has no method end"),
        ("none", type("Nothing", (), {}), "its class has no method cell and no end"),
    ],
)
@pytest.mark.usefixtures("told")
def test_classes_that_are_no_loggers(name, kind, wrong):
    with pytest.raises(ValueError, match=wrong):
        logger(name)(kind)


def test_a_sweep_is_in_mlflow(file, tmp_path):
    pytest.importorskip("mlflow", reason="MLflow is not installed (pip install mlflow)")
    from mlflow import MlflowClient

    (info := tmp_path / "replnet_mlflow-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: replnet-mlflow\nVersion: 1.0\n")
    points = tomllib.loads((MLFLOW / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [line for group, named in points.items() for line in (f"[{group}]", *map(" = ".join, named.items()))]
    (info / "entry_points.txt").write_text("\n".join(lines))
    paths = os.pathsep.join(map(str, (tmp_path, MLFLOW, MLFLOW.parents[1])))
    environment = os.environ | {"PYTHONPATH": paths, "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db"}
    for _ in range(2):  # the second finds all cells finished, and logs to the same runs
        done = started("sweep", file, "-o", tmp_path / "run", "--workers", 0, env=environment, cwd=tmp_path)
        assert (done.returncode, "note:" in done.stderr) == (0, False), done.stderr
    client = MlflowClient(environment["MLFLOW_TRACKING_URI"])
    experiment = client.get_experiment_by_name("small")
    runs = client.search_runs([experiment.experiment_id])
    whole = [run for run in runs if run.data.tags["replnet.cell"] == "sweep"]
    cells = {run.data.params["rate"]: run.data.metrics for run in runs if run not in whole}
    assert (len(whole), sorted(cells)) == (1, ["1", "2"])
    assert cells["1"]["level 1/freshness/predicted"] == 0.5
    assert whole[0].data.tags["replnet.verdict"] == "agree"
    assert {run.data.tags.get("mlflow.parentRunId") for run in runs} == {None, whole[0].info.run_id}
