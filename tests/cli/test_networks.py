"""predict, run, network and size, as programs read them, and runs that are kept."""

from __future__ import annotations

import csv
import io
import json

import pytest
from command_line import replnet

from replnet.cli.main import BAD_INPUT, FINE, INCOMPLETE


def test_a_run_as_data():
    run = ("run", "cascade", "--horizon", "5000", "--seed", "2", "-s", "depth=2", "--format")
    data = json.loads(replnet(*run, "json").stdout)
    assert (data["engine"], data["seed"], data["verdict"]) == ("array", 2, "agree")
    assert [row["group"] for row in data["rows"]] == ["level 1", "level 2"]
    rows = list(csv.DictReader(io.StringIO(replnet(*run, "csv").stdout)))
    assert list(rows[0]) == list(data["rows"][0])
    assert [float(row["measured"]) for row in rows] == [row["measured"] for row in data["rows"]]


def test_no_path_counts_part_of_a_download():
    """Paths of a schedule in rounds may all count the same, though a share of a download more is due in each."""
    fields = ("-s", "sources=5", "-s", "rates=[1, 2, 3, 4, 5]", "-s", "weights=[1, 1, 1, 1, 1]", "-s", "order=fixed")
    most = ("--horizon", "6115.46", "--replications", "65", "-s", "budget=18.215", "--format", "json")
    rows = json.loads(replnet("run", "aggregate", *fields, *most).stdout)["rows"]
    row = next(row for row in rows if (row["group"], row["metric"]) == ("source 1", "download_rate"))
    assert row["ci_low"] < row["predicted"] < row["ci_high"]


def test_a_network_is_described_and_drawn(tmp_path):
    done = replnet("network", "cascade", "-o", tmp_path / "tree.svg")
    assert (done.returncode, done.stderr.endswith(f"drawn to {tmp_path / 'tree.svg'}\n")) == (FINE, True)
    assert done.stdout.startswith("cascade: 1 source, 120 replicas\n")
    assert "└─ 3.3.3" not in done.stdout
    assert "</svg>" in (tmp_path / "tree.svg").read_text()
    assert "\n├─ 1  downloads exponential(rate=2)\n│  ├─ 1.1\n" in replnet("network", "cascade").stdout


def test_a_run_is_kept_reported_and_compared(tmp_path):
    folder, page = tmp_path / "kept", tmp_path / "one.html"
    asked = ("run", "single", "--horizon", "2000", "-o", folder)
    first = replnet(*asked, "--format", "csv")
    assert f"kept in {folder}" in first.stderr
    assert replnet(*asked, "--format", "csv").stdout == first.stdout
    assert "1 of 1 cells are finished" in replnet("status", folder).stdout
    assert replnet("report", folder, "-o", page).stdout == f"{page}\n"
    assert "One run of single" in page.read_text()
    assert "overall: agree" in replnet("compare", folder, folder).stderr
    other = replnet("run", "single", "--horizon", "3000", "-o", folder)
    assert (other.returncode, "run.horizon: 2000.0 -> 3000.0" in other.stderr) == (BAD_INPUT, True)
    resumed = replnet("sweep", "--resume", folder)
    assert (resumed.returncode, "the directory of one run" in resumed.stderr) == (BAD_INPUT, True)


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_budget_that_ends_within_the_first_replication_leaves_an_empty_table(form):
    """Of 1e10 events, which take half a minute at least."""
    long = ("run", "single", "-s", "downloads.rate=1e9", "--horizon", 20, "--replications", 2)
    done = replnet(*long, "--budget", "0.3s", "--format", form)
    assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (INCOMPLETE, "out of time after 0 replications")
    assert '"rows": []' in done.stdout if form == "json" else done.stdout.startswith("group")
    assert "level 1" not in done.stdout
