"""What a row says of a prediction that is known too roughly. All exact."""

from __future__ import annotations

import math

import pytest

from replnet.ages.prediction import Prediction, unknown
from replnet.measure.row import drop_if_rough


@pytest.mark.parametrize(
    ("metric", "value", "accuracy", "known"),
    [
        ("freshness", 0.475, 0.05, ""),
        ("freshness", 0.475, 0.084, "freshness is only known to lie between 0.391 and 0.559"),
        ("freshness", 0.97, 0.06, "freshness is only known to lie between 0.91 and 1"),
        ("freshness", 0.05, 0.03, "freshness is only known to lie between 0.02 and 0.08"),  # above half of it
        ("freshness", 0.001, 0.004, ""),  # less than anyone asks of a share
        ("currency(0.4)", 0.5, 0.06, "currency(0.4) is only known to lie between 0.44 and 0.56"),
        ("missing_updates", 38.97, 19.4, ""),
        ("missing_updates", 38.97, 960.0, "missing_updates is only known to lie between 0 and 999"),
        ("lag", 0.02, 0.04, "lag is only known to lie between 0 and 0.06"),
        ("lag", 0.0, 1e-12, ""),  # rounding
    ],
)
def test_a_prediction_with_bounds_too_wide_is_none(metric, value, accuracy, known):
    one = Prediction(value, "approximation", "pairs of neighbours", accuracy=accuracy)
    stated = drop_if_rough(metric, one)
    if known:
        assert math.isnan(stated.value)
        assert (stated.kind, stated.note) == ("", f"no prediction: {known}")
    else:
        assert stated is one


def test_what_is_not_predicted_keeps_its_reason():
    why = unknown("lines that overflow")
    assert drop_if_rough("freshness", why) is why
