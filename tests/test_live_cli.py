"""`run --engine live` as a script sees it."""

from __future__ import annotations

import json

import pytest
from test_cli import replnet

import replnet as rn
from replnet.cli.main import BAD_INPUT, FINE, RAY_LOST

pytestmark = pytest.mark.ray
LIVE = ("run", "cascade", "-s", "depth=2", "--engine", "live", "--horizon", "10")


def test_a_live_run_counts_what_step_counts():
    done = replnet(*LIVE, "--seed", "3", "--format", "json", "-s", "branching=2")
    assert done.returncode == FINE, done.stderr
    data = json.loads(done.stdout)
    network = rn.cascade(depth=2, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)")
    step = rn.emulate(network, "step", seed=3, horizon=10, replications=1)
    assert data["events"] == step.events
    for ours, theirs in zip(data["rows"], step.rows, strict=True):
        assert f"step on this path: {theirs.measured:.5f}" in ours["note"]
        assert 0 < ours["predicted"] < theirs.predicted  # the measured delay makes copies older


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (("--hosts", "0"), BAD_INPUT, "hosts"),
        (("--hosts", "many"), BAD_INPUT, "hosts"),
        (("--time-scale", "-1"), BAD_INPUT, "time scale"),
        (("--address", "127.0.0.1:1"), RAY_LOST, "127.0.0.1:1"),
    ],
)
def test_what_cannot_be_is_said(options, code, word):
    done = replnet(*LIVE, *options)
    assert done.returncode == code
    assert word in done.stderr
    assert "Traceback" not in done.stderr
