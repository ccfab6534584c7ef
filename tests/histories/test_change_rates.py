"""Change rates of many elements at once, from a log of visits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from error_tables import message_of

import replnet as rn
from replnet.histories.change_rates import likeliest_rates
from replnet.testing import assert_mean


def test_visits_at_even_distances_are_the_estimator_with_reduced_bias():
    """log((n + 1/2) / (unchanged + 1/2)) per distance, also if all visits saw a change."""
    changed = {"few": [1, 0, 0, 0, 1, 0], "all": [1] * 6, "none": [0] * 6}
    log = pd.DataFrame(
        [
            {"time": 3.0 * visit, "page": page, "changed": seen}
            for page, row in changed.items()
            for visit, seen in enumerate([0, *row])
        ]
    )
    table = rn.change_rates(log.sample(frac=1, random_state=1))
    rates = dict(zip(table["name"], table["rate"], strict=True))
    assert rates == pytest.approx({"few": np.log(6.5 / 4.5) / 3, "all": np.log(6.5 / 0.5) / 3, "none": 0.5 / 18})
    assert table.attrs == {"unit": None, "visits": 21, "never": 1, "always": 1, "notes": []}


def test_visits_at_any_distances_solve_the_equation():
    rng = np.random.default_rng(2)
    element, lengths = np.repeat(np.arange(50), 40), rng.exponential(1, 2000) + 1e-3
    changed = rng.random(2000) < rng.uniform(0.2, 1, 50)[element]
    rates = likeliest_rates(element, lengths, changed, 51)
    assert rates[50] == 0
    for i in range(50):
        mine, seen = lengths[element == i], changed[element == i]
        quiet = mine[~seen].sum() + mine.mean() / 2
        assert (mine[seen] / np.expm1(rates[i] * mine[seen])).sum() == pytest.approx(quiet, rel=1e-9)


def test_estimates_are_right_on_average():
    """5,000 pages that change 0.7 times a day, each visited 60 times at random: the mean is within 5 %."""
    rng, pages = np.random.default_rng(5), 5000
    visits = np.cumsum(rng.uniform(0.5, 1.5, (pages, 61)), axis=1)
    counts = np.cumsum(rng.poisson(0.7 * np.diff(visits, axis=1, prepend=0)), axis=1)
    log = pd.DataFrame(
        {
            "time": pd.Timestamp("2026-01-01").timestamp() + 86400 * visits.ravel(),
            "url": np.repeat([f"/{i}" for i in range(pages)], 61),
            "etag": [f"v{count}" for count in counts.ravel()],
        }
    )
    table = rn.change_rates(log)
    assert table.attrs["unit"] == "d"
    assert_mean(table["rate"], 0.7, resolution=0.07, high=2)
    assert rn.change_rates(log, "w")["rate"].tolist() == pytest.approx((7 * table["rate"]).tolist())
    net = rn.aggregate(rates=rn.change_rates(log, "h"), budget=1000, unit="d", allocate="freshness")
    assert net.spec.rates == pytest.approx(table["rate"].tolist())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"time": [1, 2], "url": ["a", "a"]},
            "record: has no column version or changed (what each visit saw: one of version, serial, ",
        ),
        ({"time": [1, 2], "url": ["a", "b"], "etag": [1, 2]}, "record: has no element with two visits (visits of "),
        ({"time": [1, 2], "url": ["a", "a"], "changed": [0, "no!"]}, "record: 'no!' is neither yes nor no (1 or 0,"),
        (
            {"time": [1, 2], "url": ["a", "a"], "sha256": [None, "b"]},
            "record: row 1, column sha256 is empty (a value in",
        ),
        ({"time": ["x", 2], "url": ["a", "a"], "etag": [1, 2]}, "record: row 1: 'x' is not a time (a number, or "),
        (
            {"time": [1, 2], "etag": [1, 2]},
            "record: has no column node (one of node, name, host, server, replica, url, page",
        ),
    ],
)
def test_errors(columns, message):
    assert message_of(rn.change_rates, pd.DataFrame(columns)).startswith(message)
    assert message_of(lambda: rn.change_rates(pd.DataFrame({"time": [1, 2], "url": "a", "etag": "b"}), "d")) == (
        "unit: d is given, and the times of record are no dates (left out)"
    )
    assert message_of(rn.change_rates, pd.DataFrame(columns), "week").startswith("unit: 'week' is no unit of time (one")


def test_repeated_and_single_visits_are_noted():
    log = pd.DataFrame({"time": [1, 1, 2, 5, 9], "name": ["a", "a", "a", "a", "b"], "version": [1, 1, 2, 2, 1]})
    table = rn.change_rates(log)
    assert table["name"].tolist() == ["a"]
    assert table.attrs["notes"] == [
        "1 visit in the instant of another of the same element: not counted",
        "1 element with a single visit: left out",
    ]


@pytest.mark.parametrize("head", ["checksum", "digest", "sha256", "md5"])
def test_an_empty_checksum_is_named_by_line_and_column(head, tmp_path):
    """Lines as an editor counts them: with the heads, an empty line, and a name of two lines; a fault excuses it."""
    lines = ["time;url;{}", "1;/a;x", "", '2;"/b\nc";y', "3;/a;", "4;/a;z", "5;/a;z"]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(lines).format(head))
    right = "a value in every cell; leave out visits that failed, or say why in a column fault"
    message = f"{log}: line 6, column {head} is empty ({right})"
    assert message_of(rn.change_rates, log) == message
    assert message_of(rn.observe, log, "/a") == message
    faults = ["fault", "", "", "", "timeout", "", ""]
    with_faults = [f"{line};{fault}" if line else line for line, fault in zip(lines, faults, strict=True)]
    log.write_text("\n".join(with_faults).format(head))
    assert rn.change_rates(log).attrs["visits"] == 4
