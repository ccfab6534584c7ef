"""The command line as a script sees it: stdout, stderr, exit codes."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys

import pytest

from replnet.cli.main import BAD_INPUT, DIFFERS, FINE, INCOMPLETE


def replnet(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "replnet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def test_predict_prints_a_table_and_nothing_else():
    done = replnet("predict", "cascade")
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


@pytest.mark.parametrize(
    ("threshold", "code", "word"),
    [
        ("freshness > 0.5", FINE, "holds"),
        ("freshness > 0.9", DIFFERS, "failed"),
        ("cluster: freshness < 0.9", FINE, "holds"),
        ("freshness > 0.68", INCOMPLETE, "unresolved"),
    ],
)
def test_thresholds_are_judged_on_the_interval(threshold, code, word):
    done = replnet("run", "cooperative", "--horizon", "5000", "--threshold", threshold)
    assert done.returncode == code
    assert word in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "nowhere.yaml"),
        ("predict", "/tmp"),
        ("predict", "cascade", "-s", "depht=3"),
        ("predict", "cascade", "-s", "depth=0"),
        ("predict", "cascade", "-s", "downloads=pareto(alpha=1, rate=1)"),
        ("run", "cascade", "--horizon", "nan"),
        ("run", "cascade", "--seed", "-1"),
        ("run", "cascade", "--threshold", "freshness"),
        ("run", "cascade", "--threshold", "level 9: freshness > 0.1"),
        ("run", "cascade", "--threshold", "speed > 0.1"),
        ("run", "cascade", "--engine", "array", "-s", "delay=exponential(mean=1)"),
        ("nothing",),
    ],
)
def test_bad_input_is_one_message_and_exit_code_two(arguments):
    done = replnet(*arguments)
    assert done.returncode == BAD_INPUT
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_every_error_of_a_file_comes_at_once_with_its_place(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("kind: cascade\ndepth: 0\nupdates: exponential(rate=-1)\ndownload: constant(rate=1)\n")
    done = replnet("predict", str(path))
    assert done.returncode == BAD_INPUT
    for place in (":2:8: depth:", ":3:27: updates.rate:", ":4:1: download:"):
        assert place in done.stderr


def test_colour_only_where_someone_looks():
    assert "\x1b" not in replnet("run", "single", "--horizon", "1000").stdout


def test_the_network_command_describes_and_draws(tmp_path):
    done = replnet("network", "cascade")
    assert done.returncode == FINE
    assert "source" in done.stdout
    for name in ("tree.png", "tree.svg"):
        assert replnet("network", "cascade", "-o", str(tmp_path / name)).returncode == FINE
        assert (tmp_path / name).stat().st_size > 1000


def test_ctrl_c_ends_in_what_there_is():
    run = subprocess.Popen(
        [sys.executable, "-m", "replnet", "run", "cascade", "--horizon", "1e9"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stderr is not None
    assert "replication" in run.stderr.readline()  # it is under way
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=30)
    assert run.returncode == INCOMPLETE
    assert "interrupted" in stderr
    assert "Traceback" not in stderr


def test_doctor_finds_nothing_wrong_here():
    done = replnet("doctor")
    assert done.returncode == FINE
    assert "FAIL" not in done.stdout


MANY = ("-s", "sources=2", "-s", "rates=[1, 9]", "-s", "weights=[1, 1]", "-s", "budget=10", "-s", "allocate=uniform")


def test_of_many_sources_the_mean_is_demanded_unless_one_is_named():
    """At 5 downloads a unit of time they are fresh to (1 - exp(-1/5)) 5 = 0.906 and (1 - exp(-9/5)) 5/9 = 0.464."""
    asked = ("--horizon", "5000", "--threshold", "freshness > 0.6", "--threshold", "source 2: freshness > 0.6")
    done = replnet("run", "aggregate", *MANY, *asked)
    assert done.returncode == DIFFERS
    assert "\nfreshness > 0.6: holds\n" in f"\n{done.stderr}"
    assert "source 2: freshness > 0.6: failed" in done.stderr
    found = [
        json.loads(replnet("size", "aggregate", *MANY, "--target", target, "--format", "json").stdout)["value"]
        for target in ("freshness >= 0.6", "source 2: freshness >= 0.464")
    ]
    assert found[0] < found[1] == pytest.approx(10, rel=0.01)


def test_no_path_counts_part_of_a_download():
    """Paths of a schedule in rounds may all count the same, though a share of a download more is due in each."""
    fields = ("-s", "sources=5", "-s", "rates=[1, 2, 3, 4, 5]", "-s", "weights=[1, 1, 1, 1, 1]", "-s", "order=fixed")
    most = ("--horizon", "6115.46", "--replications", "65", "-s", "budget=18.215", "--format", "json")
    rows = json.loads(replnet("run", "aggregate", *fields, *most).stdout)["rows"]
    row = next(row for row in rows if (row["group"], row["metric"]) == ("source 1", "download_rate"))
    assert row["ci_low"] < row["predicted"] < row["ci_high"]
