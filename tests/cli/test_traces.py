"""The commands about recorded processes."""

from __future__ import annotations

import csv
import json
from io import StringIO

import numpy as np
import pytest
from click.testing import CliRunner
from recorded import pair, written

from replnet.cli.traces import audit as audit_command
from replnet.cli.traces import trace as trace_command
from replnet.laws import Exponential, FieldError
from replnet.measure.row import ON_REQUEST


@pytest.fixture
def files(tmp_path):
    u, d = pair(12, Exponential(mean=5000), Exponential(mean=9000), 6e5)
    paths = [written(tmp_path / name, np.floor(h.times) + 1.7e9) for name, h in (("u.csv", u), ("d.csv", d))]
    return tmp_path, *paths


def ran(command, *arguments):
    done = CliRunner().invoke(command, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_an_audit_in_every_form(files):
    _, u, d = files
    both = ("--updates", u, "--downloads", d)
    text = ran(audit_command, *both)
    for words in ("staleness", "renewal laws", "unseen polls", "Poisson", "ages independent", "2023-11", "days"):
        assert words in text
    data = json.loads(ran(audit_command, *both, "--format", "json"))
    names = [row["metric"] for row in data["rows"]]
    assert names == ["staleness", "staleness_age", "lag", "missing_updates"]
    assert set(names) <= set(ON_REQUEST)  # and mean what they mean in the table of a run
    assert {"window", "checks", "notes", "conclusion", "download_age_given_update_age"} <= set(data)
    rows = list(csv.DictReader(StringIO(ran(audit_command, *both, "--format", "csv"))))
    assert float(rows[0]["measured"]) == data["rows"][0]["measured"]
    late = json.loads(ran(audit_command, *both, "--since", "2023-11-17T00:00:00Z", "--format", "json"))
    assert late["window"]["start"] == 1_700_179_200


def test_a_fit_in_every_form_and_picture(files):
    folder, u, _ = files
    text = ran(trace_command, "fit", u, "--target", "0.2", "-o", folder / "a.svg")
    assert "law of the intervals, in seconds" in text
    for words in ("exponential(mean=", "AIC", "tail:", "empirical law", "times as many"):
        assert words in text
    assert (folder / "a.svg").read_text().count("<svg") == 1
    data = json.loads(ran(trace_command, "fit", u, "--format", "json"))
    assert data["needs"][1]["target"] == 0.2
    assert {one["family"] for one in data["fits"]} >= {"exponential", "weibull"}
    rows = list(csv.DictReader(StringIO(ran(trace_command, "fit", u, "--format", "csv"))))
    assert [float(row["rate"]) for row in rows] == [one["rate"] for one in data["staleness"]]


def test_the_command_writes_data_to_stdout_and_words_to_stderr(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("30\n10\n20\n")
    done = CliRunner().invoke(trace_command, ["import", str(path)], catch_exceptions=False)
    assert done.stdout == "timestamp\n10\n20\n30\n"
    assert "sorted" in done.stderr
    out = tmp_path / "out.csv"
    done = CliRunner().invoke(trace_command, ["import", str(path), "-o", str(out)], catch_exceptions=False)
    assert done.stdout == ""
    assert out.read_text() == "timestamp\n10\n20\n30\n"
    with pytest.raises(ValueError, match="cannot be written"):
        CliRunner().invoke(
            trace_command, ["import", str(path), "-o", str(tmp_path / "no" / "out.csv")], catch_exceptions=False
        )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "a.csv has 0 events (2 or more)"),
        ("timestamp\n17\n", "a.csv has 1 event (2 or more)"),
        ("timestamp\n17\n19\n18\n", "a.csv:4: earlier than the event before it"),
        ("timestamp\n17\nnan\n18\n", "a.csv:3: 'nan' is not a time"),
        ("timestamp\n17\nhello\n", "a.csv:3: 'hello' is not a time"),
        ("timestamp\n17\n17\n17\n", "a.csv: events at 1 instant"),
        ("1\n2\n3\n4\n", "a.csv: intervals: 3 are too few to fit"),
        ("\n".join(map(str, range(50))), "constant(period=1)"),
    ],
)
def test_bad_files_are_named(tmp_path, content, said):
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"\S") as error:
        ran(trace_command, "fit", path)
    assert said in str(error.value)


def test_an_audit_names_the_file_too(tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("\n".join(map(str, range(50))))
    for content, said in (("1\n2\nnan\n", "bad.csv:3: 'nan'"), ("0\n25\n49\n", "bad.csv: 3 events while both run")):
        bad.write_text(content)
        for options in (("--updates", good, "--downloads", bad), ("--updates", bad, "--downloads", good)):
            with pytest.raises(ValueError, match=r"\S") as error:
                ran(audit_command, *options)
            assert said.replace("both run", "both histories run") in str(error.value)


def test_files_that_are_not_there(files):
    folder, u, d = files
    for options in (("--updates", folder / "no.csv", "--downloads", d), ("--updates", u, "--downloads", folder)):
        with pytest.raises(ValueError, match=r"does not exist|is a directory"):
            ran(audit_command, *options)
    with pytest.raises(ValueError, match="--since: 'soon' is not a time"):
        ran(audit_command, "--updates", u, "--downloads", d, "--since", "soon")


def test_a_rate_in_every_form(files):
    folder, u, d = files
    text = ran(trace_command, "rate", u, "--visits", "constant(period=4000)", "--window", "10")
    for words in ("changes a day", "last modified, bias-reduced", "bias of 10 visits", "if Poisson"):
        assert words in text
    data = json.loads(ran(trace_command, "rate", u, "--visits", "constant(period=4000)", "--format", "json"))
    assert data["history"]["unit"] == "s"
    one = data["estimates"][3]
    assert one["estimator"] == "last modified"
    assert one["ci_low"] < 1 / 5000 < one["ci_high"]
    seen = list(csv.DictReader(StringIO(ran(trace_command, "rate", u, "--visits", d, "--format", "csv"))))
    assert [row["estimator"] for row in seen] == ["changes seen", "maximum likelihood", "last modified"]
    assert seen[0]["poisson_bias"] == ""
    with pytest.raises(FieldError, match="does not exist"):
        ran(trace_command, "rate", u, "--visits", folder / "none.csv")
