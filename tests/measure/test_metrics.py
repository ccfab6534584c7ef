"""Metrics by name: one spelling of each, and what is none."""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.measure.metrics import metric

PLAIN = rn.single(updates="exponential(rate=2)", downloads="exponential(rate=2)")


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        (" source_penalty( x ** 2 )", "source_penalty(x^2)"),
        ("currency(.40)", "currency(0.4)"),
        ("update_penalty(1 / (x + 1))", "update_penalty(1/(1+x))"),
        ("lag", "lag"),
    ],
)
def test_a_metric_has_one_name(name, canonical):
    assert metric(name).name == canonical
    assert metric(canonical).name == canonical


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing_update", "did you mean missing_updates"),
        ("source_penalty", "does not say of what"),
        ("source_penalty(y)", "is not known"),
        ("source_penalty(x +)", r"cannot be read: '\)' at character 19"),
        ("source_penalty(x", "cannot be read: ends too early"),
        ("source_penalty(x, 2)", "has 2 things in brackets"),
        ("currency()", "does not say of what"),
        ("currency(-1)", "has no lag of 0 or more"),
        ("lag(2)", "takes nothing in brackets"),
    ],
)
def test_what_is_no_metric_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        rn.predict(PLAIN, measure=[name])
