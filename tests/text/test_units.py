"""Times and rates with a unit of their own, in the one unit of a network."""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.run.threshold import read_threshold
from replnet.text.errors import FieldError, InputError
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


def test_a_unit_that_does_not_exist_is_said_once():
    with pytest.raises(InputError) as caught:
        rn.single(unit="year", **LAWS)
    assert [problem.field for problem in caught.value.problems] == ["unit"]
