"""Wrong calls of the public functions: each raises rn.InputError, whose message names the field, on one line."""

from __future__ import annotations

import copy
import pickle

import pytest
from error_tables import read_table

import replnet as rn

CALLS = read_table(__file__, "input_errors.yaml")


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_raises_an_input_error_that_names_the_field(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=2)")
    with pytest.raises(rn.InputError) as caught:
        eval(call, {"rn": rn, "net": net, "E": "exponential(rate=1)"})
    assert (str(caught.value), isinstance(caught.value, ValueError)) == (CALLS[call], True)
    assert not list(tmp_path.iterdir())


def test_the_problems_of_an_input_are_there_one_by_one_and_travel_to_other_processes():
    calls = ("rn.exponential(rate=-1)", "rn.cascade(dept=3, updates='x')", "rn.superposition([1, 'x'])")
    for call in calls:
        with pytest.raises(rn.InputError) as caught:
            eval(call)
        error = caught.value
        assert error.problems
        assert all(problem.field and problem.wrong and problem.right for problem in error.problems)
        for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert (type(twin), str(twin), twin.problems) == (type(error), str(error), error.problems)
