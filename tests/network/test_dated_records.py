"""Records of dates in a network: their intervals are real time, which a network counts in its unit or refuses."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from error_tables import read_table

import replnet as rn
from replnet.lab.inverse.system import Optimise
from replnet.text.errors import FieldError, InputError
from replnet.text.validation import validate

HOURS = np.array([0.0, 1.0, 3.0, 3.5, 8.0, 9.0])  # of the events, which come from 2026 on
SECONDS = 1_767_225_600 + 3600 * HOURS
FORMS = {
    "seconds since 1970": "\n".join(f"{second:.0f}" for second in SECONDS),
    "milliseconds since 1970": "\n".join(f"{second * 1e3:.0f}" for second in SECONDS),
    "microseconds, in a column of any name": "left,right\n" + "\n".join(f"0,{second * 1e6:.0f}" for second in SECONDS),
    "dates": "\n".join(datetime.fromtimestamp(second, UTC).isoformat() for second in SECONDS),
}
TABLE = read_table(__file__, "dated_records.yaml")
E1 = "exponential(rate=1)"


@pytest.fixture
def record(tmp_path):
    """The path of a record of dates."""
    (tmp_path / "record.csv").write_text(FORMS["dates"])
    return tmp_path / "record.csv"


@pytest.mark.parametrize("form", FORMS)
def test_a_record_of_dates_says_that_it_counts_seconds(record, form):
    record.write_text(FORMS[form])
    column = ", column=2" if "column" in form else ""
    law = rn.law(f'trace(file="{record}"{column})')
    assert law.unit == "s"
    assert str(law).endswith(", unit=s)")
    assert law.mean == 9 * 3600 / 5
    assert rn.law(f'trace(file="{record}"{column}, unit=h)').values.tolist() == [0.5, 1, 2, 4.5]


@pytest.mark.parametrize("law", TABLE["laws"].values(), ids=TABLE["laws"])
def test_a_network_counts_a_record_of_dates_in_its_unit(record, law):
    text = law.replace("FILE", f'"{record}"')
    hours, minutes = (rn.single(updates=text, downloads="constant(period=90min)", unit=unit) for unit in ("h", "min"))
    of_hours, of_minutes = hours.spec.updates, minutes.spec.updates
    assert (of_hours.unit, of_minutes.unit) == ("h", "min")
    assert of_minutes.mean == pytest.approx(60 * of_hours.mean, rel=1e-12)
    assert rn.predict(hours).rows[0].predicted == pytest.approx(rn.predict(minutes).rows[0].predicted, abs=1e-9)
    # Whichever way the law comes into the network, it is the same.
    assert rn.single(updates=rn.law(text), downloads="constant(period=90min)", unit="h") == hours
    converted = rn.single(updates=of_minutes, downloads="constant(period=1.5)", unit="h").spec.updates
    assert converted.mean == pytest.approx(of_hours.mean, rel=1e-12)
    assert rn.Network.from_data(hours.data()) == hours
    assert rn.law(str(of_hours)) == of_hours


def with_law(data, law):
    """Return plain data with a law in the place of the text LAW."""
    if isinstance(data, dict):
        return {key: with_law(part, law) for key, part in data.items()}
    return [with_law(part, law) for part in data] if isinstance(data, list) else law if data == "LAW" else data


@pytest.mark.parametrize("place", TABLE["places"])
def test_every_place_of_a_law_is_converted_and_refused_alike(record, place):
    data = with_law(TABLE["places"][place], f"shuffled(trace(file={record}))")
    assert "unit=h)" in str(rn.Network.from_data({**data, "unit": "h"}).data())
    with pytest.raises(InputError) as caught:
        rn.Network.from_data(data)
    (problem,) = caught.value.problems
    assert problem.field == place
    assert "counts seconds, but the network has no unit" in problem.wrong
    assert problem.right.startswith("unit: s, or another")


def test_other_numbers_are_those_of_the_network(record):
    laws = [f"trace(file={record})", "exponential(rate=2)", "exponential(rate=3/h)"]
    network = rn.single(updates={"superposition": {"laws": laws}}, downloads="constant(period=1)", unit="h")
    assert network.spec.updates.rate == pytest.approx(5 / 9 + 2 + 3)
    laws = [f"trace(file={record})", "exponential(mean=30min)"]
    network = rn.aggregate(updates=laws, budget="2/h", unit="h", downloads=f"trace(file={record})")
    assert [law.mean for law in network.spec.updates] == [1.8, 0.5]


def test_plain_numbers_are_of_the_unit_that_is_said_of_them(record):
    record.write_text("\n".join(map(str, HOURS / 24)))
    assert rn.single(updates=f"trace(file={record})", downloads=E1).spec.updates.unit is None
    days = rn.law(f"trace(file={record}, unit=d)")
    assert (days.unit, days.mean) == ("d", pytest.approx(9 / 24 / 5))
    assert rn.single(updates=days, downloads=E1, unit="h").spec.updates.mean == pytest.approx(9 / 5)
    for unit in ("year", 3, ["s"]):
        with pytest.raises(FieldError, match="no unit of time") as caught:
            rn.trace(file=record, unit=unit)
        assert caught.value.field == "unit"


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        ([631_152_000, 4_102_444_800], "s"),
        ([631_151_999, 4_102_444_800], None),
        ([631_152_000, 4_102_444_801], None),
        ([631_152_000_000, 4_102_444_800_000], "ms"),
        ([4_102_444_801, 631_152_000_000], None),
        ([0.0, 1_700_000_000.0], None),
        ([631_152_000_000_000, 4_102_444_800_000_000], "us"),
        ([-1_700_000_001.0, -1_700_000_000.0], None),
    ],
)
def test_numbers_are_dates_where_all_of_them_are(record, times, unit):
    record.write_text("\n".join(map(str, times)))
    assert rn.trace(file=record).unit == (None if unit is None else "s")
    assert rn.trace(file=record).mean == np.diff(times)[0] / {None: 1, "s": 1, "ms": 1e3, "us": 1e6}[unit]


def test_laws_of_one_text_are_those_of_the_unit_of_each_cell(record):
    experiment = record.with_name("experiment.yaml")
    experiment.write_text(
        "title: a record in two units\nvary: {unit: [min, h]}\n"
        "network: {kind: single, unit: '${unit}', updates: trace(file=record.csv), "
        "downloads: exponential(mean=90min)}\nrun: {horizon: 100, replications: 30}\n"
    )
    by_unit = rn.sweep(experiment, workers=0).table.set_index("unit")["predicted"]
    assert by_unit["min"] == pytest.approx(by_unit["h"], rel=1e-9)


def test_a_system_whose_size_is_sought_counts_in_its_unit(record):
    data = {"system": "independent", "target": 0.8, "updates": f"trace(file={record})", "downloads": "constant"}
    system = validate(Optimise, {**data, "bandwidth": "2/min", "unit": "h"})
    assert (system.bandwidth, system.updates.mean) == (120, 1.8)
    assert system.network(2.0, (0, 0)).spec.updates.mean == 1.8
    with pytest.raises(InputError, match="no unit"):
        validate(Optimise, {**data, "bandwidth": 2})
