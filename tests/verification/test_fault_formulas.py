"""Crashes, cuts and losses measured beside what formulas there are.

Verdicts are those of the product: with all formulas right, a table shows a `differ` with probability 0.01; seeds are
fixed. The resolution of every check is asserted with it.
"""

from __future__ import annotations

import pytest

import replnet as rn

pytestmark = pytest.mark.verification

E1 = "exponential(rate=1)"
CHURN = {"up": "exponential(mean=5)", "down": "exponential(mean=2)"}


def tree(*faults, **fields):
    usual = {"depth": 1, "branching": 10, "updates": E1, "downloads": E1}
    return rn.cascade(**{**usual, **fields}, faults=list(faults))


def rows(network, **how):
    result = rn.emulate(network, seed=1, **{"horizon": 2e4, **how})
    return {(row.group, row.metric): row for row in result.rows}


def assert_agrees(row, predicted, within=0.01):
    """By the product's own test, of which one table in a hundred fails; twice `within` would have shown."""
    assert row.predicted == pytest.approx(predicted)
    assert row.verdict == "agree"
    assert row.ci_high - row.ci_low <= 2 * within


def test_a_copy_that_survives_a_crash_is_an_old_one():
    found = rows(tree({"crash": "level 1", "copy": "kept", **CHURN}))
    assert_agrees(found["level 1", "availability"], 5 / 7)
    assert_agrees(found["level 1", "freshness"], 1 / (1 + 1 + 0.2 * 1 / (0.5 + 1)))


@pytest.mark.parametrize("down", ["exponential(mean=2)", "uniform(low=0, high=4)"])
def test_a_copy_that_is_lost_does_not_count_until_the_next_download(down):
    found = rows(tree({"crash": "replicas", "up": "exponential(mean=5)", "down": down}))
    assert_agrees(found["level 1", "availability"], 5 / 7 * 1 / 1.2)
    assert_agrees(found["level 1", "freshness"], 1.2 / 2.2)


def test_lost_messages_thin_the_downloads_of_every_level():
    found = rows(tree({"lose": 0.1}, depth=2, branching=4))
    q = 0.81 / 1.81
    assert_agrees(found["level 1", "freshness"], q)
    assert_agrees(found["level 2", "freshness"], q * q)


def test_lost_messages_in_a_cluster():
    network = rn.cooperative(
        replicas=10, updates=E1, downloads=E1, polls="exponential(rate=4)", faults=[{"lose": 0.2}],
    )  # fmt: skip
    thinned = rn.cooperative(
        replicas=10, updates=E1, downloads="exponential(rate=0.64)", polls="exponential(rate=2.56)"
    )
    assert_agrees(rows(network)["cluster", "freshness"], rn.predict(thinned).rows[0].predicted)


@pytest.mark.parametrize("ask", [1, 3])
def test_a_query_is_answered_if_one_of_its_pulls_gets_through(ask):
    network = rn.redundant(
        replicas=5, ask=ask, updates=E1, downloads=E1, queries="exponential(rate=10)", faults=[{"lose": 0.3}]
    )
    assert_agrees(rows(network)["clients", "answered"], 1 - (1 - 0.49) ** ask)
