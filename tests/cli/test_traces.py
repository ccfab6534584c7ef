"""The commands about recorded processes."""

from __future__ import annotations

import csv
import json
from io import StringIO

import numpy as np
import pytest
from command_line import replnet
from recorded import pair, written

from replnet.laws import Exponential
from replnet.measure.row import ON_REQUEST


@pytest.fixture
def files(tmp_path):
    u, d = pair(12, Exponential(mean=5000), Exponential(mean=9000), 6e5)
    paths = [written(tmp_path / name, np.floor(h.times) + 1.7e9) for name, h in (("u.csv", u), ("d.csv", d))]
    return tmp_path, *paths


def ran(*arguments):
    done = replnet(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_audit_in_every_form(files):
    _, u, d = files
    both = ("--updates", u, "--downloads", d)
    text = ran("audit", *both)
    for words in ("staleness", "renewal laws", "unseen polls", "Poisson", "ages independent", "2023-11", "days"):
        assert words in text
    data = json.loads(ran("audit", *both, "--format", "json"))
    names = [row["metric"] for row in data["rows"]]
    assert names == ["staleness", "staleness_age", "lag", "missing_updates"]
    assert set(names) <= set(ON_REQUEST)  # and mean what they mean in the table of a run
    assert {"window", "checks", "notes", "conclusion", "download_age_given_update_age"} <= set(data)
    rows = list(csv.DictReader(StringIO(ran("audit", *both, "--format", "csv"))))
    assert float(rows[0]["measured"]) == data["rows"][0]["measured"]
    late = json.loads(ran("audit", *both, "--since", "2023-11-17T00:00:00Z", "--format", "json"))
    assert late["window"]["start"] == 1_700_179_200


def test_a_fit_in_every_form_and_picture(files):
    folder, u, _ = files
    text = ran("trace", "fit", u, "--target", "0.2", "-o", folder / "a.svg")
    assert "law of the intervals, in seconds" in text
    for words in ("exponential(mean=", "AIC", "tail:", "empirical law", "times as many"):
        assert words in text
    assert (folder / "a.svg").read_text().count("<svg") == 1
    data = json.loads(ran("trace", "fit", u, "--format", "json"))
    assert data["needs"][1]["target"] == 0.2
    assert {one["family"] for one in data["fits"]} >= {"exponential", "weibull"}
    rows = list(csv.DictReader(StringIO(ran("trace", "fit", u, "--format", "csv"))))
    assert [float(row["rate"]) for row in rows] == [one["rate"] for one in data["staleness"]]


def test_the_command_writes_data_to_stdout_and_words_to_stderr(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("30\n10\n20\n")
    done = replnet("trace", "import", path)
    assert done.stdout == "timestamp\n10\n20\n30\n"
    assert "sorted" in done.stderr
    out = tmp_path / "out.csv"
    done = replnet("trace", "import", path, "-o", out)
    assert (done.stdout, done.stderr.endswith(f"3 events to {out}\n")) == ("", True)
    assert out.read_text() == "timestamp\n10\n20\n30\n"


def test_a_rate_in_every_form(files):
    _, u, d = files
    text = ran("trace", "rate", u, "--visits", "constant(period=4000)", "--window", "10")
    for words in ("changes a day", "last modified, bias-reduced", "bias of 10 visits", "if Poisson"):
        assert words in text
    data = json.loads(ran("trace", "rate", u, "--visits", "constant(period=4000)", "--format", "json"))
    assert data["history"]["unit"] == "s"
    one = data["estimates"][3]
    assert one["estimator"] == "last modified"
    assert one["ci_low"] < 1 / 5000 < one["ci_high"]
    seen = list(csv.DictReader(StringIO(ran("trace", "rate", u, "--visits", d, "--format", "csv"))))
    assert [row["estimator"] for row in seen] == ["changes seen", "maximum likelihood", "last modified"]
    assert seen[0]["poisson_bias"] == ""
