"""Metrics that a program gives as functions, in the place of names."""

from __future__ import annotations

import math
import sys
from importlib import import_module

import numpy as np
import programs
import pytest

import replnet as rn

own, metrics = import_module("replnet.measure.own_metrics"), import_module("replnet.measure.metrics")

NET = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=2)")

MARKED = """
import numpy as np, replnet as rn
from replnet.ages.prediction import Basis
from replnet.ages.weights import threshold
from replnet.measure.metrics import staleness_metric

def much_too_late(age):
    return age > LIMIT

@staleness_metric("overdue", "share of time", "data", threshold(1.0), Basis("exact", "P(X > 1)", ""), share=True)
def overdue(copy, updates):
    return float(copy.tail(np.array([1.0]))[0])

LIMIT = 0.5
if __name__ == "__main__":
    net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=2)")
    names = {"much_too_late": "source_penalty(threshold(0.5))", "overdue": "older(1)"}
    asked = [much_too_late, overdue, *names.values()]
    for workers in (0, 2):
        result = rn.emulate(net, measure=asked, workers=workers, horizon=1e6)
        for name, twin in names.items():
            (mine,), (other,) = result.about(name), result.about(twin)
            assert abs(mine.measured - other.measured) < 1e-9, (name, workers)
            assert abs(mine.predicted - other.predicted) < 1e-6, (name, workers)
"""


@pytest.fixture(autouse=True)
def _forgotten():
    """Makes unknown again what a test makes known."""
    registries = (metrics.PLAIN_METRICS, metrics.ON_REQUEST, own.FUNCTIONS)
    before, shares = [dict(registry) for registry in registries], set(metrics.SHARES)
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)
    metrics.SHARES.clear()
    metrics.SHARES.update(shares)


def squared(age):
    return age**2


def stepped(age):
    return 1.0 if age > 0.5 else 0.0


def capped(age):
    return np.minimum(age, 2.0)


def grown(age):
    return math.exp(age / 10)


@pytest.mark.parametrize(
    ("function", "weight"),
    [(squared, "x^2"), (stepped, "threshold(0.5)"), (capped, "min(x, 2)"), (grown, "exp(x / 10)")],
)
@pytest.mark.parametrize("engine", ["array", "step"])
def test_a_function_is_measured_and_predicted_as_the_weight_that_says_the_same(function, weight, engine):
    result = rn.emulate(NET, engine, measure=[function, f"source_penalty({weight})"], horizon=2e3)
    (mine,), (named,) = result.about(function.__name__), result.about(f"source_penalty({weight})")
    assert mine.measured == pytest.approx(named.measured, rel=1e-9)
    assert mine.predicted == pytest.approx(named.predicted, rel=1e-6)
    assert rn.predict(NET, function).about(function.__name__)[0].predicted == mine.predicted


def test_it_is_known_by_its_name_and_a_later_function_of_the_name_takes_its_place():
    def cost(age):
        return age > 1.0

    (early,) = rn.predict(NET, cost).about("cost")
    assert rn.predict(NET, "cost").about("cost") == [early]
    assert rn.predict(NET, "cost").table.attrs["units"]["cost"].startswith("cost(time since the first missed update)")

    def cost(age):
        return age > 2.0

    (late,) = rn.predict(NET, [cost, "cost", cost]).about("cost")
    assert late.predicted == pytest.approx(early.predicted * math.exp(-2), rel=1e-6)
    earlier = cost

    def cost(age):
        return age > 3.0

    with pytest.raises(rn.InputError, match="measure: two functions are called cost"):
        rn.predict(NET, [earlier, cost])


def test_functions_of_a_program_travel_to_other_processes(tmp_path):
    (tmp_path / "mine.py").write_text(MARKED)
    programs.run([sys.executable, tmp_path / "mine.py"], check=True)


def test_one_that_holds_what_cannot_travel_is_measured_here():
    text = sys.stdout  # a file, which no other process can have

    def held(age):
        return age if text else 0.0

    first, second = (rn.emulate(NET, measure=held, workers=workers, horizon=5e4) for workers in (0, 2))
    assert first.about("held") == second.about("held")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda age: age, "a lambda has no name for the table"),
        (min, "min fails at an age of 0: TypeError"),
        (NET.draw, "draw fails at an age of 0"),
    ],
)
def test_functions_that_are_no_costs(function, message):
    with pytest.raises(rn.InputError, match=f"measure: {message}"):
        rn.predict(NET, function)


def test_names_that_are_taken_values_that_are_none_and_directories_are_refused(tmp_path):
    def lag(age):
        return age

    def negative(age):
        return 1 - age

    def paired(age, other):
        return age

    for function, message in (
        (lag, "lag is known already"),
        (negative, "negative is not a cost at x = 2"),
        (paired, "paired takes other arguments"),
    ):
        with pytest.raises(rn.InputError, match=f"measure: {message}"):
            rn.emulate(NET, measure=function)
    with pytest.raises(rn.InputError, match="measure: squared is a function of this program"):
        rn.emulate(NET, measure=squared, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
