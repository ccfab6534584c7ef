"""Times and rates with a unit of their own, in the one unit of a network."""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.run.threshold import read_threshold
from replnet.text.errors import FieldError, InputError
from replnet.text.numbers import interval_words
from replnet.text.units import in_unit, name_units, time_in

LAWS = {"updates": "exponential(mean=5min)", "downloads": {"pareto": {"alpha": 3, "rate": "3/h"}}}


def test_values_that_are_times_or_rates():
    assert in_unit("1.5 h", "min", "mean") == 90
    assert in_unit("2/s", "min", "rate") == 120
    assert in_unit("soon", "min", "mean") == "soon"
    assert time_in(None, "s", "horizon") is None
    assert name_units("units of time since, per unit of time", "h") == "hours since, per hour"
    assert name_units("units of time", None) == "units of time"


def test_a_network_counts_in_its_unit():
    hours, minutes = (rn.single(unit=unit, delay="30s", bandwidth="2/s", **LAWS) for unit in ("h", "min"))
    assert (minutes.spec.delay, hours.spec.bandwidth) == (0.5, 7200)
    assert hours.spec.updates.mean == pytest.approx(1 / 12)
    assert rn.Network.from_data(hours.data()) == hours
    assert "events per hour" in hours.describe()
    of_hours, of_minutes = (rn.predict(net, measure=["information_age", "older(20min)"]) for net in (hours, minutes))
    assert of_minutes.rows[-2].predicted == pytest.approx(60 * of_hours.rows[-2].predicted)
    assert of_minutes.rows[-1].predicted == pytest.approx(of_hours.rows[-1].predicted)
    assert of_minutes.table.attrs["units"]["information_age"].startswith("minutes since")
    assert rn.emulate(minutes, horizon="10h", replications=30).horizon == 600
    with pytest.raises(FieldError, match="horizon: 'long' is no time"):
        rn.emulate(minutes, horizon="long")
    assert read_threshold("level 1: staleness_age <= 1h", "target", "min").bound == 60


@pytest.mark.parametrize(
    ("text", "unit", "bound"),
    [
        ("staleness_age <= 5 min", "h", 5 / 60),
        ("lag < 2 h", "min", 120),
        ("currency(90min) at 2h > 50 %", "h", 0.5),
        ("service_rate >= 100/h", "d", 2400),
        ("freshness > 90%", None, 0.9),
        ("source_penalty(x) < 1h", "min", 60),
    ],
)
def test_bounds_of_thresholds_have_units(text, unit, bound):
    assert read_threshold(text, "target", unit).bound == pytest.approx(bound)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("lag < 2h", None, "2h has a unit, but the network has none for its times (unit: h in the network, for all"),
        ("lag < 2/h", "h", "2/h is a rate, and lag is a time (5min, or a number)"),
        ("freshness > 2 h", "h", "2 h is a time, and freshness is a share (0.9 or 90%)"),
        ("service_rate > 50%", "h", "50% is a share, and service_rate is a rate (100/h, or a number)"),
        ("missing_updates < 1d", "h", "1d is a time, and missing_updates is a number (without a unit)"),
        ("lag < 2 months", "h", "'lag < 2 months' does not compare a metric with a number"),
    ],
)
def test_bounds_that_do_not_fit_their_metric(text, unit, message):
    with pytest.raises(FieldError) as caught:
        read_threshold(text, "target", unit)
    assert str(caught.value).startswith(f"target: {message}")


@pytest.mark.parametrize(
    ("rate", "unit", "words"),
    [
        (0.5, "h", "every 2 h"),
        (1, "h", "every hour"),
        (1 / 7, "d", "every 7 days"),
        (7, "w", "every day"),
        (1 / 90, "s", "every 1.5 min"),
        (1, "min", ""),
        (2, "s", ""),
        (0, "h", ""),
        (0.5, None, ""),
    ],
)
def test_rates_below_one_a_minute_are_told_as_people_tell_them(rate, unit, words):
    assert interval_words(rate, unit) == words


def test_descriptions_tell_rates_as_people_do():
    laws = {"updates": "constant(period=1d)", "downloads": "exponential(mean=90min)"}
    lines = rn.single(unit="h", **laws).describe().splitlines()
    assert lines[1].endswith("updates constant(period=24) (every day)")
    assert lines[2].endswith("downloads exponential(mean=1.5) (every 1.5 h on average)")
    assert (
        "every" not in rn.single(unit="ms", updates="constant(period=1s)", downloads="constant(period=1s)").describe()
    )
    sources = rn.aggregate(unit="h", rates=["1/d", "2/h", 60], budget="10/d").describe()
    assert "rates from 0.04167 (every day) to 60\n" in sources


def test_rates_of_sources_have_units():
    assert rn.aggregate(unit="h", rates=["1/d", 2], budget=1).spec.rates == (1 / 24, 2.0)
    for rates, message in ((["5min"], "5min is a time"), (["1/d", "often"], r"rates\[2\]: 'often' is not a number")):
        with pytest.raises(InputError, match=message):
            rn.aggregate(unit="h", rates=rates, budget=1)


def test_a_unit_that_does_not_exist_is_said_once():
    with pytest.raises(InputError) as caught:
        rn.single(unit="year", **LAWS)
    assert [problem.field for problem in caught.value.problems] == ["unit"]
