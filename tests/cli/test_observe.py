"""The command observe."""

from __future__ import annotations

import json

import pytest
from command_line import replnet


@pytest.fixture
def visits(tmp_path):
    rows = (f"{t},main,{t // 10}\n{t},mirror,{(t - t % 4) // 10}\n" for t in range(600))
    file = tmp_path / "visits.csv"
    file.write_text("time,node,version\n" + "".join(rows))
    return file


def test_what_was_seen_is_a_table(visits):
    run = replnet("observe", visits, "--source", "main")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("59 changes of the source over 599")
    (line,) = (line for line in run.stdout.splitlines() if line.startswith("mirror") and "freshness" in line)
    assert line.split() == ["mirror", "freshness", "0.8998", "0.8013", "..", "0.9499", "0.8983"]


def test_what_has_no_upper_bound_says_why(tmp_path):
    rows = "0,source,a\n0,m,OLD\n" + "".join(f"{10 * i + 10},source,v{i}\n{10 * i + 11},m,v{i}\n" for i in range(40))
    (tmp_path / "seen.csv").write_text("time,node,version\n" + rows)
    run = replnet("observe", tmp_path / "seen.csv")
    assert run.returncode == 0, run.stderr
    (line,) = (line for line in run.stdout.splitlines() if line.startswith("m ") and "missing_updates" in line)
    assert line.split()[3:6] == ["0.0000", "or", "more"]
    assert "  m missing_updates: no upper bound: updates that no visit saw are missing too, and only" in run.stdout
    assert "  the first 11 are left out, until every replica had a version that the source was seen with" in run.stdout
    # What is true of all rows is said once.
    assert "\n  no interval: visits see changes late, so what is measured is biased, and the truth lies" in run.stdout


def test_scripts_read_it(visits):
    rows = json.loads(replnet("observe", visits, "--source", "main", "--format", "json").stdout)["rows"]
    assert rows[0]["least"] <= rows[0]["measured"] <= rows[0]["most"]
    lines = replnet("observe", visits, "--source", "main", "--format", "csv").stdout.splitlines()
    assert lines[0].split(",")[:3] == ["group", "metric", "measured"]
    assert len(lines) == 1 + len(rows)


def test_stupid_inputs_are_named(visits, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    for arguments, said in (
        ([visits], "source: 'source' is no node of"),
        ([visits, "--source", "mane"], "did you mean main"),
        ([tmp_path / "none.csv"], "does not exist"),
        ([tmp_path], "cannot be read"),
        ([tmp_path / "empty.csv"], "cannot be read"),
    ):
        run = replnet("observe", *arguments)
        assert run.returncode == 2, run.stdout
        assert said in run.stderr
        assert "Traceback" not in run.stderr
