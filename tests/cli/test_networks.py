"""predict, run, network and size, as a user types them."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_line import replnet, started

from replnet.cli.main import BAD_INPUT, FINE, INCOMPLETE


def test_predict_prints_a_table_and_nothing_else():
    done = started("predict", "cascade")
    assert done.returncode == FINE
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["group", "metric", "predicted", "kind", "source"]
    assert [line.split()[3] for line in lines[2:]] == ["0.50000", "0.25000", "0.12500", "0.06250"]


def test_run_as_json_is_one_object():
    done = replnet("run", "cascade", "--horizon", "5000", "--seed", "2", "--format", "json", "-s", "depth=2")
    assert done.returncode == FINE
    data = json.loads(done.stdout)
    assert data["engine"] == "array"
    assert data["seed"] == 2
    assert [row["group"] for row in data["rows"]] == ["level 1", "level 2"]
    assert {"measured", "ci_low", "ci_high", "predicted", "z", "verdict"} <= set(data["rows"][0])


def test_run_as_csv():
    done = replnet("run", "cooperative", "--horizon", "5000", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["group"] == "cluster"
    assert float(rows[0]["predicted"]) == pytest.approx(0.680002, abs=1e-6)


def test_an_engine_is_chosen_that_can():
    done = replnet("run", "cascade", "-s", "depth=1", "-s", "delay=exponential(mean=1)", "--horizon", "64")
    assert done.returncode == FINE
    assert done.stdout.splitlines()[-1].startswith("step, ")


def test_no_path_counts_part_of_a_download():
    """Paths of a schedule in rounds may all count the same, though a share of a download more is due in each."""
    fields = ("-s", "sources=5", "-s", "rates=[1, 2, 3, 4, 5]", "-s", "weights=[1, 1, 1, 1, 1]", "-s", "order=fixed")
    most = ("--horizon", "6115.46", "--replications", "65", "-s", "budget=18.215", "--format", "json")
    rows = json.loads(replnet("run", "aggregate", *fields, *most).stdout)["rows"]
    row = next(row for row in rows if (row["group"], row["metric"]) == ("source 1", "download_rate"))
    assert row["ci_low"] < row["predicted"] < row["ci_high"]


def test_the_network_command_describes_and_draws(tmp_path):
    done = replnet("network", "cascade")
    assert done.returncode == FINE
    assert "source" in done.stdout
    for name in ("tree.png", "tree.svg"):
        assert replnet("network", "cascade", "-o", str(tmp_path / name)).returncode == FINE
        assert (tmp_path / name).stat().st_size > 1000


def test_size_by_formula_and_by_emulation():
    """lambda / (lambda + mu) = 0.9 at lambda = 18, mu = 2 in the file that ships; recent selection has no formula."""
    found = json.loads(replnet("size", "single", "--target", "freshness >= 0.9", "-s", "updates=exponential(rate=2)",
                               "-s", "downloads=exponential(rate=1)", "--format", "json").stdout)  # fmt: skip
    assert (found["vary"], found["how"]) == ("downloads.rate", "by formula")
    assert found["value"] == pytest.approx(18, rel=1e-5)
    run = replnet("size", "cooperative-recent", "--target", "freshness >= 0.6", "--precision", "0.01")
    assert run.returncode == 0, run.stderr
    assert "by emulation with common random numbers" in run.stdout


def test_size_shows_the_answer_between_its_neighbours():
    given = ("size", "cascade", "--target", "freshness >= 0.2", "--vary", "depth", "--precision", "0.02")
    lines = replnet(*given).stdout.splitlines()
    assert lines[0] == "depth = 2, the largest that meets freshness >= 0.2, by formula"
    assert [line.split()[0] for line in lines[1:6]] == ["depth", "-----", "1", "2", "3"]
    assert [line.split()[-1] for line in lines[3:6]] == ["True", "True", "False"]
    found = json.loads(replnet(*given, "--format", "json").stdout)
    assert (found["value"], found["extreme"], len(found["around"])) == (2, "largest", 3)
    for wrong, said in (("freshness >= 2", "--target: "), ("service_rate >= 2", "--vary: which field")):
        done = replnet("size", "cascade", "--target", wrong)
        assert (done.returncode, done.stdout, done.stderr.startswith(said)) == (BAD_INPUT, "", True)


def test_metrics_are_asked_for_and_demanded():
    done = replnet("predict", "cascade", "--measure", "missing_updates", "-s", "depth=1")
    assert done.stdout.splitlines()[3].split()[2:4] == ["missing_updates", "1.00000"]
    demand = ("--threshold", "missing_updates < 2", "--threshold", "level 1: currency(0.5) > 0.5")
    done = replnet("run", "cascade", "-s", "depth=1", "--horizon", "5000", "--measure", "lag", *demand)
    assert done.returncode == FINE, done.stderr
    assert "missing_updates < 2: holds" in done.stderr
    assert [line.split()[2] for line in done.stdout.splitlines()[2:6]] == [
        "freshness", "lag", "missing_updates", "currency(0.5)"
    ]  # fmt: skip
    for wrong in (("--measure", "slowness"), ("--threshold", "currency > 1"), ("--engine", "live", "--measure", "lag")):
        done = replnet("run", "cascade", *wrong)
        assert done.returncode == BAD_INPUT
        assert done.stdout == ""


def test_a_run_is_kept_reported_and_compared(tmp_path):
    folder = tmp_path / "kept"
    asked = ("run", "single", "--horizon", "2000", "-o", folder)
    first = replnet(*asked, "--format", "csv")
    assert f"kept in {folder}" in first.stderr
    assert replnet(*asked, "--format", "csv").stdout == first.stdout
    status = replnet("status", folder)
    assert (status.returncode, "1 of 1 cells are finished" in status.stdout) == (FINE, True)
    report = replnet("report", folder, "-o", tmp_path / "one.html")
    assert report.stdout.strip() == str(tmp_path / "one.html")
    assert "One run of single" in (tmp_path / "one.html").read_text()
    assert "overall: agree" in replnet("compare", folder, folder).stderr
    other = replnet("run", "single", "--horizon", "3000", "-o", folder)
    assert (other.returncode, "run.horizon: 2000.0 -> 3000.0" in other.stderr) == (BAD_INPUT, True)
    resumed = replnet("sweep", "--resume", folder)
    assert (resumed.returncode, "the directory of one run" in resumed.stderr) == (BAD_INPUT, True)


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "cascade"),
        ("run", "cascade", "--workers", "0"),
        ("size", "cascade", "--target", "freshness >= 0.5"),
        ("size", "cooperative-recent", "--target", "lag <= 0.5"),
    ],
)
def test_a_budget_ends_every_command_with_what_there_is(command):
    done = replnet(*command, "--budget", "0.000001s")
    assert (done.returncode, done.stderr.strip().splitlines()[-1][:11]) == (INCOMPLETE, "out of time")


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_budget_that_ends_within_the_first_replication_leaves_an_empty_table(form):
    """Of 1e10 events, which take half a minute at least."""
    long = ("run", "single", "-s", "downloads.rate=1e9", "--horizon", 20, "--replications", 2)
    done = replnet(*long, "--budget", "0.3s", "--format", form)
    assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (INCOMPLETE, "out of time after 0 replications")
    if form == "json":
        assert json.loads(done.stdout)["rows"] == []
    else:
        lines = done.stdout.splitlines()
        assert lines[0].startswith("group")
        assert not any(line.startswith("level 1") for line in lines)


def test_what_would_take_years_is_refused_unless_there_is_a_budget(tmp_path):
    command = ("run", "cascade", "--precision", "1e-12", "--workers", "0")
    for more in ((), ("-o", tmp_path / "run")):
        done = replnet(*command, *more)
        assert (done.returncode, done.stdout) == (BAD_INPUT, "")
        assert "precision: 1e-12 takes about" in done.stderr
        assert not (tmp_path / "run").exists()
    assert replnet(*command, "--budget", "1e-9").returncode == INCOMPLETE
    wrong = replnet(*command, "--budget", "soon")
    assert (wrong.returncode, wrong.stderr) == (BAD_INPUT, "budget: 'soon' is no time (such as 90s, 10m or 2h)\n")


def test_a_dry_run_says_what_a_run_would_take(tmp_path):
    done = replnet("run", "single", "--dry-run", "--precision", "1e-9", "--workers", "3", "-o", tmp_path / "run")
    assert done.returncode == FINE, done.stderr
    said = dict(line.split(": ") for line in done.stdout.splitlines())
    assert list(said) == ["events", "time", "memory", "workers"]
    assert float(said["events"].removeprefix("about ")) > 1e15
    assert "years on one CPU" in said["time"]
    assert said["workers"] == "3"
    assert not (tmp_path / "run").exists()
    assert replnet("run", "single", "--dry-run", "--engine", "live").returncode == BAD_INPUT
