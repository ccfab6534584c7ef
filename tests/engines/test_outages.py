"""Crashes, cuts and losses: what formulas there are, exact schedules, and what users may get wrong."""

from __future__ import annotations

import numpy as np
import pytest

import replnet as rn
from replnet.engines import array, step
from replnet.engines.outages import Faults, Outages, _alternating, _merged
from replnet.engines.plan import plan
from replnet.laws.processes.streams import name_words, seed_words
from replnet.testing import FALSE_ALARM

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


@pytest.mark.parametrize("engine", ["array", "step"])
class TestSchedule:
    """Paths of ten units of time."""

    def path(self, engine, network):
        compiled = plan(network)
        if engine == "array":
            return array.run_path(compiled, 1, 0, 10.0, True)
        return step.run_path(compiled, 1, 0, 10.0, True)

    def test_a_crash_takes_exactly_its_time(self, engine):
        path = self.path(engine, tree({"crash": "level 1", "at": 4, "lasts": 2.5, "copy": "kept"}))
        assert path.shares["level 1", "availability"] == pytest.approx((75.0, 100.0))

    def test_one_that_lasts_for_ever_leaves_nothing_after_it(self, engine):
        path = self.path(engine, tree({"crash": "1", "at": 4}, branching=1))
        assert path.shares["level 1", "availability"] == pytest.approx((4.0, 10.0))
        before = self.path(engine, tree(branching=1))
        assert path.counts[1] < before.counts[1]

    def test_no_message_passes_a_cut(self, engine):
        """From the cut on, nobody gets anything that left the source after it."""
        network = tree({"cut": ["source", "level 1"], "at": 0}, updates="constant(period=3)")
        compiled = plan(network)
        if engine == "array":
            path = array.run_path(compiled, 1, 0, 10.0, False)
        else:
            path = step.run_path(compiled, 1, 0, 10.0, False)
        assert (path.copies[0, 1:] < 0).all()
        assert path.counts[1] > 50  # they went on trying

    def test_a_source_that_is_down_changes_but_does_not_answer(self, engine):
        path = self.path(engine, tree({"crash": "source", "at": 0}, updates="constant(period=3)"))
        assert path.counts[0] in (3, 4)
        assert path.fresh[0] < 0.35


def test_the_same_outages_are_met_whatever_else_runs():
    crash = {"crash": "level 1", **CHURN}
    small, large = (plan(tree(crash, branching=n)) for n in (3, 30))
    ends = [
        Outages(p.names, p.faults, seed_words(5, 0), 10.0, 100.0).by_node[p.names.index("2")] for p in (small, large)
    ]
    assert np.array_equal(*ends)


def test_alternating_times_do_not_depend_on_how_far_they_are_looked_up():
    laws = rn.pareto(alpha=3, mean=5), rn.uniform(low=0, high=4)
    for seed in range(200):
        near, far = (_alternating(laws, seed_words(seed, 0), name_words(["x"]), d, h) for d, h in ((20, 20), (99, 300)))
        assert (np.diff(near.ravel()) >= 0).all()
        far = far[(far[:, 1] > -20) & (far[:, 0] < 20)]
        assert np.allclose(near, far, rtol=0, atol=1e-9)


def test_alternating_times_are_stationary():
    """Hoeffding over independent runs: a share of time that is off by twice the radius would show."""
    laws, runs = (rn.pareto(alpha=3, mean=5), rn.uniform(low=0, high=4)), 3000
    radius = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * runs))
    assert radius < 0.05
    for begin, end in ((-20.0, -19.0), (0.0, 0.5), (30.0, 31.0)):
        shares = []
        for seed in range(runs):
            spans = _alternating(laws, seed_words(seed, 1), name_words(["y"]), 20.0, 31.0)
            shares.append(np.clip(np.minimum(spans[:, 1], end) - np.maximum(spans[:, 0], begin), 0, None).sum())
        assert abs(np.mean(shares) / (end - begin) - 2 / 7) <= radius


def test_spans_that_touch_are_one_and_empty_if_one_does():
    spans = [(5.0, 6.0, False), (0.0, 2.0, False), (1.0, 3.0, True), (3.0, 4.0, False)]
    assert _merged(spans) == [(0.0, 4.0, True), (5.0, 6.0, False)]


def test_without_faults_there_are_no_outages():
    outages = Outages(("a",), Faults(), seed_words(1, 0), 1.0, 1.0)
    assert outages.turns == []
    assert not outages.down(0, 0.5)
    assert not outages.cut(0, 0, 0.5)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"crash": "levl 1", "at": 1}, r"faults\[1\].crash: there is no node or group levl 1 .did you mean level 1"),
        ({"crash": "clients", "at": 1}, r"crash: there is no node or group clients"),
        ({"crash": "level 1"}, r"does not say when \(at and perhaps lasts, or up and down"),
        ({"crash": "level 1", "at": -1}, r"faults\[1\].at: -1 is not a finite time"),
        ({"crash": "level 1", "at": 1, **CHURN}, "does not say when"),
        ({"cut": ["source"], "at": 1}, "is not two sides"),
        ({"lose": 1.5}, "not a share of messages"),
        ({"lose": 0.5, "at": 3}, r"faults\[1\].at: does not fit here"),
        ({"lose": 0.5, "copy": "kept"}, r"faults\[1\].copy: does not fit here: only with crash"),
        ({}, "neither crash nor cut nor lose"),
        ({"crash": [], "at": 1}, "names nobody"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(fault, said):
    with pytest.raises(rn.InputError, match=said):
        tree(fault)


def test_a_description_says_what_goes_wrong():
    said = tree(
        {"crash": "level 1", "copy": "kept", **CHURN}, {"cut": ["source", ["1", "2"]], "at": 3, "lasts": 2},
        {"lose": 0.01}, {"crash": "1", "at": 3},
    ).describe()  # fmt: skip
    assert "  level 1 crash, up exponential(mean=5), down exponential(mean=2); copies kept\n" in said
    assert "  cut between source and 1, 2, at 3 for 2\n" in said
    assert "  0.01 of all messages get lost\n" in said
    assert "  1 crash, at 3 for ever; copies empty\n" in said


def test_clients_do_not_crash():
    with pytest.raises(rn.InputError, match="clients do not crash"):
        rn.redundant(replicas=2, ask=1, updates=E1, downloads=E1, queries=E1, faults=[{"crash": "clients", "at": 1}])
