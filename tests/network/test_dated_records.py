"""Records of dates in a network: their intervals are real time, which a network counts in its unit or refuses."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np
import pytest

import replnet as rn
from replnet.text.errors import FieldError, InputError

HOURS = np.array([0.0, 1.0, 3.0, 3.5, 8.0, 9.0])  # of the events, which come from 2026 on
START = 1_767_225_600
FORMS = {
    "seconds since 1970": "\n".join(f"{START + 3600 * hour:.0f}" for hour in HOURS),
    "milliseconds since 1970": "\n".join(f"{(START + 3600 * hour) * 1e3:.0f}" for hour in HOURS),
    "microseconds, in a column of any name": "left,right\n"
    + "\n".join(f"0,{(START + 3600 * hour) * 1e6:.0f}" for hour in HOURS),
    "dates": "\n".join(datetime.fromtimestamp(START + 3600 * hour, UTC).isoformat() for hour in HOURS),
}
LAWS = {
    "shuffled": "trace(file=FILE)",
    "as recorded": "trace(file=FILE, order=recorded)",
    "shuffled again": "shuffled(trace(file=FILE, order=recorded))",
    "age": "age(trace(file=FILE))",
    "correlated": "correlated(law=trace(file=FILE), rho=0.5)",
    "long memory": "longrange(law=trace(file=FILE), hurst=0.8)",
    "union": "superposition(law=trace(file=FILE), count=3)",
    "interval of a union": "shuffled(superposition(law=trace(file=FILE), count=3))",
    "age of another order": "age(correlated(law=trace(file=FILE), rho=0.5))",
}


@pytest.fixture(params=FORMS)
def file(tmp_path, request):
    path = tmp_path / "record.csv"
    path.write_text(FORMS[request.param])
    return f'"{path}", column=2' if "column" in request.param else f'"{path}"'


def networks(law):
    """Networks of every kind, which have the law in every place where one may be, by that place."""
    plain = "exponential(rate=1)"
    nodes = {"s": {"role": "source", "updates": plain}, "r": {"downloads": plain}}
    links = [{"from": "s", "to": "r"}]
    return {
        "updates": lambda unit: rn.single(updates=law, downloads=plain, unit=unit),
        "downloads": lambda unit: rn.single(updates=plain, downloads=law, unit=unit),
        "downloads[2]": lambda unit: rn.cascade(depth=2, updates=plain, downloads=[plain, law], unit=unit),
        "polls": lambda unit: rn.cooperative(replicas=3, updates=plain, downloads=plain, polls=law, unit=unit),
        "queries": lambda unit: rn.redundant(
            replicas=2, ask=1, updates=plain, downloads=plain, queries=law, unit=unit
        ),
        "clients.queries": lambda unit: rn.single(
            updates=plain, downloads=plain, clients={"ask": 1, "queries": law}, unit=unit
        ),
        "tiers[1].downloads": lambda unit: rn.compose(
            updates=plain, tiers=[{"kind": "single", "downloads": law}], unit=unit
        ),
        "nodes.s.updates": lambda unit: rn.graph(
            nodes={**nodes, "s": {"role": "source", "updates": law}}, links=links, unit=unit
        ),
        "links[1].delay": lambda unit: rn.graph(
            nodes=nodes, links=[{**links[0], "delay": f"shuffled({law})"}], unit=unit
        ),
        "delay": lambda unit: rn.single(updates=plain, downloads=plain, delay=f"shuffled({law})", unit=unit),
        "faults[1].up": lambda unit: rn.single(
            updates=plain, downloads=plain, unit=unit,
            faults=[{"crash": "replica 1", "up": f"shuffled({law})", "down": plain}],
        ),
    }  # fmt: skip


def laws_in(data):
    """All texts of laws in plain data that name a file."""
    return re.findall(r"\w+\(.*?file=.*?unit=(\w+)", str(data))


def test_a_record_of_dates_says_that_it_counts_seconds(file):
    law = rn.law(f"trace(file={file})")
    assert law.unit == "s"
    assert str(law).endswith(", unit=s)")
    assert law.mean == 9 * 3600 / 5
    assert rn.law(f"trace(file={file}, unit=h)").values.tolist() == [0.5, 1, 2, 4.5]


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_network_counts_a_record_of_dates_in_its_unit(file, law):
    text = law.replace("FILE", file)
    hours, minutes = (rn.single(updates=text, downloads="constant(period=90min)", unit=unit) for unit in ("h", "min"))
    of_hours, of_minutes = hours.spec.updates, minutes.spec.updates
    assert (of_hours.unit, of_minutes.unit) == ("h", "min")
    assert of_minutes.mean == pytest.approx(60 * of_hours.mean, rel=1e-12)
    assert rn.predict(hours).rows[0].predicted == pytest.approx(rn.predict(minutes).rows[0].predicted, abs=1e-9)
    # Whichever way the law comes into the network, it is the same.
    assert rn.single(updates=rn.law(text), downloads="constant(period=90min)", unit="h") == hours
    assert rn.single(updates=of_minutes, downloads="constant(period=1.5)", unit="h").spec.updates.mean == pytest.approx(
        of_hours.mean, rel=1e-12
    )
    assert rn.Network.from_data(hours.data()) == hours
    assert rn.law(str(of_hours)) == of_hours


@pytest.mark.parametrize("place", networks("shuffled(trace(file=x))"))
def test_every_place_of_a_law_is_converted_and_refused_alike(tmp_path, place):
    path = tmp_path / "record.csv"
    path.write_text(FORMS["dates"])
    made = networks(f"trace(file={path})")[place]
    assert laws_in(made("h").data()) == ["h"]
    with pytest.raises(InputError) as caught:
        made(None)
    (problem,) = caught.value.problems
    assert problem.field == place
    assert "counts seconds, but the network has no unit" in problem.wrong
    assert problem.right.startswith("unit: s, or another")


def test_the_laws_of_an_aggregate(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text(FORMS["dates"])
    updates = [f"trace(file={path})", "exponential(mean=30min)"]
    network = rn.aggregate(updates=updates, budget="2/h", unit="h", downloads=f"trace(file={path})")
    assert [law.mean for law in network.spec.updates] == [1.8, 0.5]
    for fields, name in (({"updates": updates[0]}, "updates"), ({"updates": [updates[0]] * 2}, "updates[1]")):
        with pytest.raises(InputError) as caught:
            rn.aggregate(**{"sources": 2, "budget": 2, **fields})
        assert caught.value.problems[0].field == name


def test_plain_numbers_beside_a_record_of_dates_are_those_of_the_network(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text(FORMS["dates"])
    network = rn.single(
        updates=f"superposition(laws=[trace(file={path}), exponential(rate=2), exponential(rate=3/h)])",
        downloads="constant(period=1)", unit="h",
    )  # fmt: skip
    assert network.spec.updates.rate == pytest.approx(5 / 9 + 2 + 3)


def test_plain_numbers_are_of_the_unit_that_is_said_of_them(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text("\n".join(map(str, HOURS / 24)))
    assert rn.single(updates=f"trace(file={path})", downloads="constant(period=1)").spec.updates.unit is None
    days = rn.law(f"trace(file={path}, unit=d)")
    assert (days.unit, days.mean) == ("d", pytest.approx(9 / 24 / 5))
    assert rn.single(updates=days, downloads="constant(period=1)", unit="h").spec.updates.mean == pytest.approx(9 / 5)


@pytest.mark.parametrize("unit", ["year", 3, ["s"]])
def test_a_unit_that_does_not_exist(tmp_path, unit):
    path = tmp_path / "record.csv"
    path.write_text(FORMS["dates"])
    with pytest.raises(FieldError, match="no unit of time") as caught:
        rn.trace(file=path, unit=unit)
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
def test_numbers_are_dates_where_all_of_them_are(tmp_path, times, unit):
    path = tmp_path / "record.csv"
    path.write_text("\n".join(map(str, times)))
    assert rn.trace(file=path).unit == (None if unit is None else "s")
    assert rn.trace(file=path).mean == np.diff(times)[0] / {None: 1, "s": 1, "ms": 1e3, "us": 1e6}[unit]


def test_laws_of_one_text_are_those_of_the_unit_of_each_cell(tmp_path):
    (tmp_path / "record.csv").write_text(FORMS["dates"])
    experiment = tmp_path / "experiment.yaml"
    experiment.write_text(
        "title: a record in two units\nvary: {unit: [min, h]}\n"
        "network: {kind: single, unit: '${unit}', updates: trace(file=record.csv), "
        "downloads: exponential(mean=90min)}\nrun: {horizon: 100, replications: 30}\n"
    )
    by_unit = rn.sweep(experiment, workers=0).table.set_index("unit")["predicted"]
    assert by_unit["min"] == pytest.approx(by_unit["h"], rel=1e-9)


def test_a_system_whose_size_is_sought_counts_in_its_unit(tmp_path):
    from replnet.lab.inverse.system import Optimise
    from replnet.text.validation import validate

    path = tmp_path / "record.csv"
    path.write_text(FORMS["dates"])
    data = {"system": "independent", "target": 0.8, "updates": f"trace(file={path})", "downloads": "constant"}
    system = validate(Optimise, {**data, "bandwidth": "2/min", "unit": "h"})
    assert (system.bandwidth, system.updates.mean) == (120, 1.8)
    assert system.network(2.0, (0, 0)).spec.updates.mean == 1.8
    with pytest.raises(InputError, match="no unit"):
        validate(Optimise, {**data, "bandwidth": 2})
