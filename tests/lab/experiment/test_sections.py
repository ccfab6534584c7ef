"""The sections of a file: what is expected and printed, and their JSON Schema."""

from __future__ import annotations

import json
from fractions import Fraction

import jsonschema
import pytest
from experiment_files import EXPECTED, SYSTEM

from replnet.lab.experiment.experiment import Experiment
from replnet.lab.experiment.sections import Printed, experiment_schema
from replnet.text.documents import parse_yaml, read_yaml, shipped, shipped_names


def test_expected_values_and_errata(load):
    experiment = load(EXPECTED)
    assert [(one.value, one.within, one.reason) for one in experiment.expected] == [
        (0.68, pytest.approx(0.005), "eq. 8 at k = 1"), (0.6, pytest.approx(0.05), "eq. 8 at k = 9"),
    ]  # fmt: skip
    assert experiment.errata["Table 1"].kind == "rounding"
    again = Experiment.from_data(json.loads(json.dumps(experiment.data)))
    assert (again.expected, again.errata, again.claims) == (experiment.expected, experiment.errata, experiment.claims)
    assert [one.at for one in experiment.quick().expected] == [{"k": 1}]
    # Of another network only claims remain that are no mistake of the paper about its own.
    other = load(EXPECTED, "nu=3")
    assert (other.expected, other.errata, [claim.text for claim in other.claims]) == ((), {}, ["best"])


def test_the_schema_knows_every_field_and_says_what_it_is():
    schema = experiment_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    for name in ("", "Run", "Quick", "Printed", "Expected", "Erratum", "Claim", "Figure", "Optimise", "Cooperative"):
        part = schema["$defs"][name] if name else schema
        assert part["additionalProperties"] is False
        assert all("description" in field for field in part["properties"].values()), name
    assert "is" in schema["$defs"]["Claim"]["properties"]
    assert schema["$defs"]["Cooperative"]["required"] == ["kind"]
    assert schema["required"] == ["title"]


def test_the_examples_and_the_schema():
    """A validator for editors, which Ray brings along, takes the files that ship and refuses what is misspelt."""
    validator = jsonschema.Draft7Validator(experiment_schema())
    for name in shipped_names("experiments"):
        data = read_yaml(shipped(name, "experiments")).data
        assert list(validator.iter_errors(data)) == []
    for wrong in (
        {"tittle": "t"},
        {"run": {"precison": 1}},
        {"network": {"kind": "single", "updats": "x"}},
        {"vary": {"k": []}},
    ):
        assert not validator.is_valid({**data, **wrong})
    system = parse_yaml(SYSTEM, "exp.yaml").data
    assert validator.is_valid(system)
    assert not validator.is_valid({**system, "optimise": {**system["optimise"], "bandwith": 1}})
    replicas = {"title": "t", "network": {"kind": "cooperative", "replicas": "${m}"}}
    assert validator.is_valid(replicas)
    assert not validator.is_valid({"title": "t", "network": {"kind": "cooperative", "replicas": "m"}})


@pytest.mark.parametrize(
    ("value", "within"),
    [(0.75, 0.005), (1865, 0.5), ("0.90", 0.005), ("99e3", 500), ("4.6e6", 5e4), (-0.452, 0.0005), ("1/36", 1e-9)],
)
def test_a_value_stands_for_what_rounds_to_it(value, within):
    one = Printed(group="cluster", value=value)
    assert one.within == pytest.approx(within, rel=1e-12)
    assert one.value == pytest.approx(float(Fraction(str(value))), rel=1e-15)
    assert Printed(group="cluster", value=value, within=0.3).within == 0.3
