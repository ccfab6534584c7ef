"""What a sweep will take, from a glance at a few of its cells."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from replnet.lab.experiment import subjects
from replnet.lab.experiment.experiment import Experiment

forecasts = import_module("replnet.lab.sweeps.forecast")


def cells(rates, horizon):
    network = {
        "kind": "cooperative", "replicas": 10, "peers": 1, "updates": "exponential(rate=1)",
        "downloads": "exponential(rate=1)", "polls": "exponential(rate=${nu})",
    }  # fmt: skip
    data = {"title": "fast polls", "vary": {"nu": rates}, "network": network, "run": {"horizon": horizon}}
    return Experiment.from_data(data).cells()


def test_a_glance_at_a_cell_is_brief_whatever_its_rates(monkeypatch):
    """No look has more events than the longest may, be they polls at 10,000 per unit of time."""
    seen, emulated = [], subjects.emulate_whole

    def counted(network, settings, longer=False):
        result = emulated(network, settings, longer)
        seen.append(result.events)
        return result

    monkeypatch.setattr(subjects, "emulate_whole", counted)
    monkeypatch.setattr(subjects, "MOST_GLANCE_EVENTS", {"array": 1e5, "step": 1e3})
    monkeypatch.setattr(forecasts, "SHORT_RUN", 0.0)
    slow, fast = cells([1, 10_000], 1e4)
    found = forecasts.forecast([slow, fast], {})
    assert max(seen) < 1.1e5
    assert found.events == pytest.approx(1e4 * (1 + 10 * (1 + 1) + 1 + 10 * (1 + 10_000)))
    finer = replace(slow, settings=replace(slow.settings, horizon=None, precision=0.01))
    assert np.isfinite(forecasts.forecast([finer], {}).seconds)


def test_a_glance_at_a_cell_that_fails_is_told(monkeypatch):
    """As in a sweep, it ends nothing: the others are looked at."""
    look = forecasts._look
    monkeypatch.setattr(forecasts, "_look", lambda cell: look(cell) if cell.values["nu"] > 1 else 1 / 0)
    found = forecasts.forecast(cells([1, 2], 10), {})
    assert found.failed == "nu = 1: ZeroDivisionError: division by zero"
    assert found.events > 0
