"""The smallest value of a field that will do, for networks that are not in a level or a cluster."""

from __future__ import annotations

import math

import pytest

from replnet.study.sweeps.sizing import size


def test_the_smallest_budget_that_will_do(tmp_path):
    file = tmp_path / "net.yaml"
    file.write_text("kind: aggregate\nsources: 20\nupdates: exponential(rate=1)\nbudget: 1\n")
    found = size(file, 0.8, precision=0.01)
    assert found.key == "budget"
    assert (1 - math.exp(-20 / found.value)) * found.value / 20 == pytest.approx(0.8, abs=1e-5)
