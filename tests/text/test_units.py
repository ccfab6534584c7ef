"""Times and rates with a unit of their own, in the one unit of a network."""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.run.threshold import read_threshold
from replnet.text.errors import FieldError, InputError
from replnet.text.units import in_unit, name_units, time_in, without_units

LAWS = {"updates": "exponential(mean=5min)", "downloads": {"pareto": {"alpha": 3, "rate": "3/h"}}}


@pytest.mark.parametrize(
    ("text", "unit", "converted"),
    [
        ("exponential(mean=5min)", "h", "exponential(mean=0.083333333333333329)"),
        ("exponential(rate = 3 / h)", "min", "exponential(rate = 0.050000000000000003)"),
        ("lattice(values=[90s, 2min], weights=[1, 3])", "s", "lattice(values=[90, 120], weights=[1, 3])"),
        ("older(1e3ms)", "s", "older(1)"),
        ("currency(0:1h:9)", "min", "currency(0:60:9)"),
        ("freshness at 2d", "h", "freshness at 48"),
        ("trace(file=5min.csv, column=x5s)", None, "trace(file=5min.csv, column=x5s)"),
        ("trace(file=run-5min.csv)", None, "trace(file=run-5min.csv)"),
        ("exponential(rate=${nu}s)", None, "exponential(rate=${nu}s)"),
    ],
)
def test_units_leave_a_text(text, unit, converted):
    assert without_units(text, unit) == converted


def test_values_that_are_times_or_rates():
    assert in_unit("1.5 h", "min", "mean") == 90
    assert in_unit("2/s", "min", "rate") == 120
    assert in_unit("soon", "min", "mean") == "soon"
    assert time_in(None, "s", "horizon") is None
    assert time_in("1w", "d", "horizon") == 7
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


def test_a_unit_that_does_not_exist_is_said_once():
    with pytest.raises(InputError) as caught:
        rn.single(unit="year", **LAWS)
    assert [problem.field for problem in caught.value.problems] == ["unit"]
