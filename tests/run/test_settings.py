"""The settings of a run, and the four places where users give them."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict, fields, replace

import pytest

import replnet as rn
from replnet.cli.networks import run as run_command
from replnet.lab.experiment.sections import Run
from replnet.run.settings import Settings
from replnet.store import read_contents

FEWEST = "a whole number above 0, 30 or more for intervals"
DEFAULTS = {field.name: field.default for field in fields(Settings)}


def test_each_is_an_argument_of_emulate_with_the_same_default():
    parameters = inspect.signature(rn.emulate).parameters
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS


def test_each_is_an_option_of_run_with_the_same_default():
    options = run_command.make_context("run", ["cascade"]).params
    without_option = {"confirm"}  # which only programs have a use for
    assert {name: options[name] for name in DEFAULTS.keys() - without_option} == {
        name: default for name, default in DEFAULTS.items() if name not in without_option
    }


def test_those_of_a_cell_are_the_section_run_and_what_is_measured():
    of_cell = Settings().of_cell()
    assert {name: value for name, value in of_cell.items() if name != "measure"} == Run().model_dump()
    assert list(of_cell) == [name for name in DEFAULTS if name not in ("by", "confirm")]


def test_all_of_them_are_kept_with_a_run(tmp_path):
    rn.emulate("single", seed=3, horizon=50, replications=4, confirm=False, out=tmp_path)
    settings = Settings("array", seed=3, horizon=50.0, replications=4, confirm=False)
    assert read_contents(tmp_path).header["run"] == json.loads(json.dumps(asdict(settings)))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("engine", "arry", "engine: 'arry' is not an engine (array or step)"),
        ("estimator", "x", "estimator: 'x' is not an estimator (sampled or conditional)"),
        ("seed", -1, "seed: -1 is not a whole number of 0 or more (such as 1)"),
        ("seed", 1.5, "seed: 1.5 is not a whole number of 0 or more (such as 1)"),
        ("replications", 0, f"replications: 0 is not a number of replications ({FEWEST})"),
        ("horizon", 0, "horizon: 0 is not a number above 0 (such as 1e4)"),
        ("precision", float("nan"), "precision: nan is not a number above 0 (such as 0.01)"),
        ("resolution", True, "resolution: True is not a number above 0 (such as 0.01)"),
        ("by", "group", "by: 'group' is not a way to split rows (source)"),
    ],
)
def test_a_wrong_one_is_named(name, value, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        replace(Settings(), **{name: value})
    assert str(error.value) == words
