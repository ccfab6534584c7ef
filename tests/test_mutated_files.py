"""Files of which one field holds something else: whatever it is, the field is named and the place is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from replnet.lab.experiment.experiment import load_experiment
from replnet.lab.experiment.sections import Sections
from replnet.network.network import load
from replnet.network.specification import KINDS
from replnet.text.documents import parse_yaml, read_yaml, shipped, shipped_names
from replnet.text.errors import InputError, field_name
from replnet.text.yaml_writer import yaml_text

HOLE = "PUT-HERE"
WRONG = ["{a: 1}", "[[1]]", ".nan", "9" * 350]  # which hardly a field may be
PERHAPS_WRONG = ["[]", "5", "-1", "1e300", "'no: (such, thing'", "null"]  # and another field may be what no longer fits
EXPERIMENT = """\
title: Of a cluster
vary: {k: [1, 2], l: [3, 4], j: 1:3}
values: {nu: 4 / k, mu: 2 * nu + 0 * l}
zip: [[k, l]]
network: {kind: cooperative, replicas: 10, peers: "${k}", updates: exponential(rate=1),
          downloads: "exponential(rate=${j})", polls: "exponential(rate=${mu})", clients: {queries: constant(rate=1)}}
set: {delay: 0.1}
run: {precision: 0.1}
quick: {vary: {k: [2], l: [3]}, run: {precision: 0.2}}
measure: [freshness, lag]
printed: [{at: {k: 1, j: 1}, group: cluster, metric: freshness, value: 0.5, within: 0.1, erratum: slip}]
expected: [{at: {k: 1, j: 1}, group: cluster, metric: freshness, value: 0.5, reason: it is known}]
claims: [{text: one, falls: freshness, over: k, where: {j: 1}}, {text: two, order: [{k: 1}, {k: 2}], metric: freshness}]
errata: {slip: {kind: prose, text: a slip}}
figure: {x: k, y: freshness, series: j}
"""

Place = tuple[str | int, ...]


def places(data: Any, place: Place = ()) -> Iterator[Place]:
    """Yield where each field stands; of long lists, those of the first two items."""
    items = data.items() if isinstance(data, dict) else enumerate(data[:2]) if isinstance(data, list) else ()
    for key, below in items:
        yield (*place, key)
        yield from places(below, (*place, key))


def with_hole(data: dict[str, Any], place: Place) -> str:
    """Return the YAML of the data, with HOLE at a place."""
    data = deepcopy(data)
    part: Any = data
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = HOLE
    return yaml_text(data)


def refusal(read: Callable[..., object], *arguments: object) -> InputError | None:
    """Return what is said of an input that is refused."""
    try:
        read(*arguments)
    except InputError as error:
        return error
    return None


def check(text: str, place: Place, file: Path, read: Callable[[Path], object]) -> None:
    """Fail unless a file is read with each wrong value, or refused with a place and the name of the field."""
    key = [part for part in place if isinstance(part, str)][-1]
    for value in WRONG + PERHAPS_WRONG:
        file.write_text(text.replace(HOLE, value))
        if error := refusal(read, file):
            assert all(problem.line and problem.column for problem in error.problems), str(error)
            within = any(field_name(place).startswith(problem.field) for problem in error.problems)
            assert within or key in str(error) or value in PERHAPS_WRONG, str(error)
            assert "<" not in str(error).partition("(")[0], str(error)


NETWORKS = [name for name in shipped_names() if "file" not in read_yaml(shipped(name)).data]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_which_one_field_is_wrong(name, tmp_path):
    data = read_yaml(shipped(name)).data
    fields = [(field.alias or key,) for key, field in KINDS[data["kind"]].model_fields.items()]
    for place in dict.fromkeys([*places(data), *fields]):
        check(with_hole(data, place), place, tmp_path / "network.yaml", lambda file: load(file).size)


def test_an_experiment_of_which_one_field_is_wrong(tmp_path):
    data = parse_yaml(EXPERIMENT, "experiment.yaml").data
    fields = [(field.alias or key,) for key, field in Sections.model_fields.items()]
    for place in dict.fromkeys([*places(data), *fields]):
        check(with_hole(data, place), place, tmp_path / "experiment.yaml", lambda file: load_experiment(file).cells())


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("value", WRONG)
def test_an_override_that_is_wrong_is_named(name, value):
    data = read_yaml(shipped(name)).data
    keys = [".".join(str(part + 1) if isinstance(part, int) else part for part in place) for place in places(data)]
    for key in [*keys, *KINDS[data["kind"]].model_fields, "unit.x", "kind.x", "x.y", "downloads.x"]:
        error = refusal(load, name, [f"{key}={value}"])
        assert error is None or f"-s {key}=" in str(error), str(error)
