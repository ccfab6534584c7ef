"""Files of which one field holds something else: whatever it is, the field is named and the place is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from experiment_files import ALL_SECTIONS

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

Place = tuple[str | int, ...]


def places(data: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of each field; of long lists, those of the first two items."""
    items = data.items() if isinstance(data, dict) else enumerate(data[:2]) if isinstance(data, list) else ()
    for key, below in items:
        yield (*place, key)
        yield from places(below, (*place, key))


def with_hole(data: Any, place: Place) -> Any:
    """Return the data with HOLE at a place."""
    if not place:
        return HOLE
    items = dict(enumerate(data)) if isinstance(data, list) else data
    items = {**items, place[0]: with_hole(items.get(place[0]), place[1:])}
    return [*items.values()] if isinstance(data, list) else items


def refusal(read: Callable[..., object], *arguments: object) -> InputError | None:
    """Return the error with which an input is refused, or None."""
    try:
        read(*arguments)
    except InputError as error:
        return error
    return None


def check_fields(data: dict[str, Any], fields: dict[str, Any], file: Path, read: Callable[[Path], object]) -> None:
    """Fail unless a file is read with each wrong value of each field, or refused with a place and the field's name."""
    for place in dict.fromkeys([*places(data), *((field.alias or key,) for key, field in fields.items())]):
        key = [part for part in place if isinstance(part, str)][-1]
        text = yaml_text(with_hole(data, place))
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
    check_fields(data, KINDS[data["kind"]].model_fields, tmp_path / "network.yaml", lambda file: load(file).size)


def test_an_experiment_of_which_one_field_is_wrong(tmp_path):
    data = parse_yaml(ALL_SECTIONS, "experiment.yaml").data
    data |= {"zip": [["k", "l"]], "set": {"delay": 0.2}}
    data["vary"]["l"], data["quick"]["vary"]["l"] = [3, 4], [3]
    data["values"]["mu"] = "2 * nu + 0 * l"
    data["network"]["clients"] = {"queries": "constant(rate=1)"}
    data["expected"] = [{"at": {"k": 1}, "group": "cluster", "value": 0.5, "reason": "it is known"}]
    data["claims"].append({"text": "two", "order": [{"k": 1}, {"k": 2}], "metric": "freshness", "where": {"j": 1}})
    check_fields(data, Sections.model_fields, tmp_path / "experiment.yaml", lambda file: load_experiment(file).cells())


@pytest.mark.parametrize("name", NETWORKS)
def test_an_override_that_is_wrong_is_named(name):
    data = read_yaml(shipped(name)).data
    keys = [".".join(str(part + 1) if isinstance(part, int) else part for part in place) for place in places(data)]
    for key in [*keys, *KINDS[data["kind"]].model_fields, "unit.x", "kind.x", "x.y", "downloads.x"]:
        for value in WRONG:
            error = refusal(load, name, [f"{key}={value}"])
            assert error is None or f"-s {key}=" in str(error), str(error)
