"""Schedules of visits to many sources: rates, times and what is expected of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from error_tables import message_of

import replnet as rn
from replnet.testing import assert_mean

PAGES = pd.DataFrame({"name": ["a", "b", "c", "d", "e"], "rate": [1, 2, 50, 0, 1], "weight": [1.0, 3, 1, 1, 0]})


def crawler(**fields) -> rn.Network:
    return rn.aggregate(**{"rates": PAGES, "budget": 4, "allocate": "freshness"} | fields)


def test_a_row_for_each_source():
    table = rn.schedule(crawler(), visits=3)
    assert table["name"].tolist() == ["a", "b", "c", "d", "e"]
    assert table["weight"].tolist() == [1, 3, 1, 1, 0]
    assert table["visit_rate"].sum() == pytest.approx(4)
    predicted = rn.predict(crawler()).rows
    by_source = [row.predicted for row in predicted if row.metric == "freshness" and row.group.startswith("source")]
    assert table["freshness"].tolist() == by_source
    assert table.attrs["freshness"] == predicted[0].predicted
    assert table.attrs["never"] == {
        "it never changes": 1, "its weight is 0": 1, "it changes so often that visits do more good elsewhere": 1,
    }  # fmt: skip
    times = table.loc[:1, ["next_1", "next_2", "next_3"]].to_numpy()
    np.testing.assert_allclose(np.diff(times), table.loc[:1, ["visit_interval"]].to_numpy() * [1, 1])
    assert np.all(times[:, 0] < table.loc[:1, "visit_interval"])
    assert table.loc[2:, ["visit_interval", "next_1"]].isna().all(axis=None)


@pytest.mark.parametrize("order", ["independent", "fixed", "carousel"])
def test_all_visits_up_to_a_time_are_the_next_visits_of_all(order):
    net = crawler(order=order, allocate="uniform" if order == "fixed" else "freshness")
    table = rn.schedule(net, visits=60).set_index("name").filter(like="next_")
    expected = table.stack().droplevel(1).sort_values(kind="stable")
    visits = rn.schedule(net, until=10)
    np.testing.assert_allclose(visits["time"], expected[expected < 10])
    assert visits["time"].is_monotonic_increasing
    assert visits.groupby("name").size().to_dict() == expected[expected < 10].groupby(level=0).size().to_dict()


def test_the_load_is_even():
    """Visits in a tenth of a unit are 2 of 200 off for equal sources; random ones have a deviation of 14."""
    equal = rn.aggregate(rates=np.ones(3000), budget=2000)
    mixed = rn.aggregate(rates=np.random.default_rng(1).gamma(0.5, 2, 3000), budget=2000, allocate="freshness")
    for net, most_off in ((equal, 2), (mixed, 40)):
        load = np.histogram(rn.schedule(net, until=5)["time"], bins=50, range=(0, 5))[0]
        assert np.abs(load - 200).max() <= most_off


def test_dates_and_units():
    net = crawler(unit="h")
    plain, dated = rn.schedule(net), rn.schedule(net, start="2026-01-01T06:00:00+01:00")
    since = (dated["next_1"] - pd.Timestamp("2026-01-01T05:00:00Z")) / pd.Timedelta(hours=1)
    np.testing.assert_allclose(since[:2], plain["next_1"][:2], atol=1e-6)
    assert dated["next_1"].isna().tolist() == [False, False, True, True, True]
    a_day = rn.schedule(net, start="2026-01-01", until="1d")
    assert len(a_day) == len(rn.schedule(net, until=24)) == pytest.approx(96, abs=2)
    assert a_day["time"].equals(rn.schedule(net, start="2026-01-01", until="2026-01-02")["time"])


def test_random_visits_have_rates_and_no_times():
    for fields, words in (
        ({"downloads": "exponential"}, "visits at exponential intervals come at random times"),
        ({"order": "purely random"}, "visits in purely random order come at random times"),
        ({"replicas": 2, "share": "independently"}, "replicas visit at times of their own, which are random"),
    ):
        table = rn.schedule(crawler(**fields))
        assert table.columns[-1] == "freshness"
        assert table.attrs["times"] == words
        assert message_of(lambda fields=fields: rn.schedule(crawler(**fields), visits=1)).startswith(f"visits: {words}")


def test_tiers_delays_and_lists_of_visits():
    tier = {"kind": "aggregate", "rates": PAGES, "budget": 4, "allocate": "freshness"}
    below = {"kind": "single", "downloads": "exponential(rate=1)"}
    columns = ["name", "visit_rate", "freshness"]
    composed = rn.schedule(rn.compose(tiers=[tier, below]))
    pd.testing.assert_frame_equal(composed[columns], rn.schedule(crawler())[columns])
    delayed = rn.schedule(crawler(delay=0.1))
    assert delayed["freshness"].isna().all()
    assert delayed.attrs["freshness"] is None
    assert delayed.attrs["note"] == "no formula: downloads that take time"
    again = rn.schedule(crawler(rates=composed, allocate=composed))
    np.testing.assert_allclose(again["freshness"], composed["freshness"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"visits": 0}, "visits: 0 is out of range (a whole number from 1 to 1,000)"),
        ({"visits": 1, "until": 2}, "until: given together with visits (one of both: so many of each, or all up to a "),
        ({"visits": "two"}, "visits: 'two' is not a number (a whole number from 1 to 1,000)"),
        ({"until": 0}, "until: 0 is not after the start (a later time)"),
        ({"until": 1e9}, "until: about 4e+09 visits (at most 50,000,000, which are over by 1.25e+07)"),
        ({"until": "2h"}, "until: 2h has a unit, but the network has none for its times (unit: h beside it, "),
        ({"start": "soon"}, "start: 'soon' is no time (a number, one with a unit such as 2h, or a date such as "),
        ({"start": "2026-01-01"}, "start: is a date, and the network has no unit for its times (unit: d, or another)"),
    ],
)
def test_errors(how, message):
    assert message_of(lambda: rn.schedule(crawler(), **how)).startswith(message)


def test_too_many_visits_and_networks_without_a_budget():
    many = rn.aggregate(rates=np.ones(60_000), budget=1)
    assert message_of(lambda: rn.schedule(many, visits=1000)) == (
        "visits: 1,000 of each of 60,000 sources are too many (at most 833)"
    )
    assert message_of(rn.schedule, "cascade") == (
        "kind: cascade has no budget that is allocated to many sources "
        "(kind: aggregate, or compose with an aggregate as its first tier)"
    )


@pytest.mark.parametrize(("allocate", "order"), [("freshness", "independent"), ("algorithm2", "carousel")])
def test_what_a_schedule_promises_is_what_happens(allocate, order):
    """300 random pages: 1,000 runs of their updates at the visits of the schedule show errors of 0.005."""
    rng = np.random.default_rng(7)
    pages = pd.DataFrame(
        {"name": list(map(str, range(300))), "rate": rng.gamma(0.7, 1, 300), "weight": rng.random(300)}
    )
    net = rn.aggregate(rates=pages, budget=250, allocate=allocate, order=order)
    table, visits = rn.schedule(net), rn.schedule(net, until=60)
    often = table["visit_rate"] > 0.2
    shares = np.zeros((1000, 0))
    for row in table[often].itertuples():
        times = visits["time"][visits["name"] == row.name].to_numpy()
        fresh_until = times[:-1] + rng.exponential(1 / row.rate, (1000, times.size - 1))
        fresh = np.minimum(fresh_until, times[1:]) - times[:-1]
        shares = np.column_stack([shares, fresh.sum(axis=1) / (times[-1] - times[0])])
    weights = table["weight"][often] / table["weight"][often].sum()
    expected = float(weights @ table["freshness"][often])
    assert_mean(shares @ weights.to_numpy(), expected, resolution=0.005, low=expected - 0.02, high=expected + 0.02)
    assert rn.emulate(net, horizon=2000, seed=3, workers=0).verdict == "agree"
