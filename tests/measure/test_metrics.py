"""Metrics by name: one spelling of each, and what is none."""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.measure.metrics import metric, metrics

PLAIN = rn.single(updates="exponential(rate=2)", downloads="exponential(rate=2)")


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        (" source_penalty( x ** 2 )", "source_penalty(x^2)"),
        ("currency(.40)", "currency(0.4)"),
        ("update_penalty(1 / (x + 1))", "update_penalty(1/(1+x))"),
    ],
)
def test_a_metric_has_one_name(name, canonical):
    assert metric(name).name == metric(canonical).name == canonical


def test_a_range_is_its_points():
    assert [one.name for one in metrics(["freshness at 0:1:3", "currency(1:3)"])] == [
        "freshness at 0", "freshness at 0.5", "freshness at 1", "currency(1)", "currency(2)", "currency(3)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing_update", "did you mean missing_updates"),
        ("source_penalty", "has no argument in brackets"),
        ("source_penalty(y)", "is not known"),
        ("source_penalty(x +)", r"cannot be read: '\)' at character 19"),
        ("source_penalty(x", "cannot be read: ends too early"),
        ("source_penalty(x, 2)", "has 2 arguments in brackets"),
        ("currency()", "has no argument in brackets"),
        ("currency(-1)", "has no lag of 0 or more"),
        ("lag(2)", "takes nothing in brackets"),
        ("freshness at noon", "is not a time"),
        ("fresh_spell at 2", "takes longer than a moment"),
        ("age_quantile(1)", "is no quantile"),
        ("older(-1)", "has no time of 0 or more"),
        ("freshness at 2:1", "does not rise"),
        ("freshness at 0:1:5000", "points"),
    ],
)
def test_what_is_no_metric_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        rn.predict(PLAIN, measure=[name])
