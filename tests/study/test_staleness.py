"""Staleness beyond fresh or not: paths replayed event by event, predictions beside them, and what is refused."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import networks, troubled
from test_cli import replnet

import replnet as rn
from replnet.cli.codes import BAD_INPUT, FINE
from replnet.engines import array, start
from replnet.engines.outages import DOWN, Outages
from replnet.engines.plan import Plan, plan
from replnet.engines.record import ANSWER, EVENTS, REPLY, START, Columns
from replnet.engines.wiring import renewals
from replnet.laws.processes.streams import seed_words
from replnet.measure.metrics import metric
from replnet.study import behind
from replnet.study.behind import following, looks
from replnet.study.experiment.experiment import Experiment

UPDATE = EVENTS.index("update")
BRIEF = 5e3  # events that `step` walks in no time
NAMES = (
    "staleness", "staleness_age", "change_age", "information_age", "missing_updates", "lag", "currency(0.4)",
    "source_penalty(1/(1+x))", "source_penalty(threshold(0.3))", "update_penalty(x)", "update_penalty(log(1+x))",
)  # fmt: skip
QUESTIONS = {name: metric(name).question for name in NAMES}

# What each costs at t: of the updates that are missed, and of when the copy left its source.
AT = {
    "staleness": lambda t, missed, left: float(bool(missed)),
    "staleness_age": lambda t, missed, left: t - missed[0] if missed else 0.0,
    "change_age": lambda t, missed, left: t - missed[-1] if missed else 0.0,
    "information_age": lambda t, missed, left: t - left,
    "missing_updates": lambda t, missed, left: float(len(missed)),
    "lag": lambda t, missed, left: t - missed[0] if missed else 0.0,
    "currency(0.4)": lambda t, missed, left: float(not missed or t - missed[0] < 0.4),
    "source_penalty(1/(1+x))": lambda t, missed, left: 1 / (1 + t - missed[0]) if missed else 0.0,
    "source_penalty(threshold(0.3))": lambda t, missed, left: float(bool(missed) and t - missed[0] >= 0.3),
    "update_penalty(x)": lambda t, missed, left: sum(t - u for u in missed),
    "update_penalty(log(1+x))": lambda t, missed, left: sum(math.log1p(t - u) for u in missed),
}  # fmt: skip
# Their integrals over a time in which nothing happens.
LONG = {
    "staleness": lambda a, b, missed, left: (b - a) * bool(missed),
    "staleness_age": lambda a, b, missed, left: square(b - missed[0]) - square(a - missed[0]) if missed else 0.0,
    "change_age": lambda a, b, missed, left: square(b - missed[-1]) - square(a - missed[-1]) if missed else 0.0,
    "information_age": lambda a, b, missed, left: square(b - left) - square(a - left),
    "missing_updates": lambda a, b, missed, left: (b - a) * len(missed),
    "lag": lambda a, b, missed, left: square(b - missed[0]) - square(a - missed[0]) if missed else 0.0,
    "currency(0.4)": lambda a, b, missed, left: max(min(b, missed[0] + 0.4) - a, 0.0) if missed else b - a,
    "source_penalty(1/(1+x))": lambda a, b, missed, left: (
        math.log1p(b - missed[0]) - math.log1p(a - missed[0]) if missed else 0.0
    ),
    "source_penalty(threshold(0.3))": lambda a, b, missed, left: (
        max(b - max(a, missed[0] + 0.3), 0.0) if missed else 0.0
    ),
    "update_penalty(x)": lambda a, b, missed, left: sum(square(b - u) - square(a - u) for u in missed),
    "update_penalty(log(1+x))": lambda a, b, missed, left: sum(dull(b - u) - dull(a - u) for u in missed),
}


def square(x: float) -> float:
    return x**2 / 2


def dull(x: float) -> float:
    return (1 + x) * math.log1p(x) - x


class Naive:
    """The same sums, one event after another."""

    def __init__(self, of: Plan, seed: int, horizon: float, rows: list[Columns], deep: float) -> None:
        run, self._plan = seed_words(seed, 0), of
        past = renewals(of, run, range(len(of.sources))).past(deep)
        self._updates = [[float(u) for u in past.of(row)] for row in range(len(of.sources))]
        self._costs, self._whole, self._stale, self.undated = (defaultdict(float) for _ in range(4))
        self._left, self._down = {}, set()
        events = [
            (float(at), 1 if what == UPDATE else 2, int(what), int(node), float(left), int(source))
            for some in rows
            for at, what, node, _, left, source in zip(*some, strict=True)
            if what in (UPDATE, REPLY, ANSWER, START)
        ]
        turns = Outages(of.names, of.faults, run, 0.0, horizon).turns
        events += [
            (at, 0, -1 - turn - 2 * empties, node, math.nan, -1) for at, turn, node, empties in turns if at < horizon
        ]
        events.sort(key=lambda event: (max(event[0], 0.0), event[1] if event[2] != START else -1))
        now = 0.0
        for at, _, what, node, left, source in events:
            self._pass(now, max(now, at))
            now = max(now, at)
            self._happen(now, what, node, left, source)
        self._pass(now, horizon)

    def _pass(self, a: float, b: float) -> None:
        for (node, source), left in self._left.items():
            if node in self._down or math.isnan(left) or a == b:
                continue
            if left == -math.inf:
                self._lose(node, source, b - a)
                continue
            missed = self._missed(source, left, a)
            self._add(node, source, b - a, {name: LONG[name](a, b, missed, left) for name in NAMES}, missed)

    def _happen(self, now: float, what: int, node: int, left: float, source: int) -> None:
        if what < 0:
            turn, empties = (-1 - what) % 2, (-1 - what) // 2
            (self._down.add if turn == DOWN else self._down.discard)(node)
            if turn == DOWN and empties:
                self._left.update({copy: math.nan for copy in self._left if copy[0] == node})
        elif what == UPDATE:
            assert source == node
            self._updates[self._plan.sources.index(node)].append(now)
        elif self._plan.roles[node] == "source" or not self._plan.reached[:, node].any():
            return
        elif what == ANSWER:
            if left == -math.inf:
                self._lose(node, source, 1.0)
            elif not math.isnan(left):
                missed = self._missed(source, left, now)
                self._add(node, source, 1.0, {name: AT[name](now, missed, left) for name in NAMES}, missed)
        elif not self._plan.clients[node]:
            held = self._left.get((node, source), math.nan)
            if math.isnan(held) or left > held:
                self._left[node, source] = left

    def _missed(self, source: int, left: float, now: float) -> list[float]:
        return [u for u in self._updates[self._plan.sources.index(source)] if left < u <= now]

    def _rows(self, node: int, source: int) -> tuple[str, str]:
        """What counts it: the group, and what this has of the source."""
        group = self._plan.groups[self._plan.group[node]]
        return group, f"{group} of {self._plan.names[source]}"

    def _lose(self, node: int, source: int, whole: float) -> None:
        for row in self._rows(node, source):
            self.undated[row] += whole

    def _add(self, node: int, source: int, whole: float, costs: dict[str, float], missed: list[float]) -> None:
        for row in self._rows(node, source):
            self._whole[row] += whole
            self._stale[row] += whole * bool(missed)
            for name in NAMES:
                self._costs[row, name] += costs[name]

    def shares(self, keys) -> dict:
        return {
            (group, name): (self._costs[group, name], (self._stale if name == "lag" else self._whole)[group])
            for group, name in keys
        }


def assert_replayed(network: rn.Network, seed: int, batch: int, horizon: float = 6.0) -> None:
    """Both engines, which here look up the past as far as each other, and not so far as to take time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(behind, "MOST_PULLS", {"array": 500.0, "step": 500.0})
        patch.setattr(start, "MOST_EVENTS", 100_000)
        patch.setattr(behind, "BATCH", batch)
        replayed(plan(network), seed, horizon)


def replayed(compiled: Plan, seed: int, horizon: float) -> None:
    path = array.run_path(compiled, seed, 0, horizon, True)
    found = following(compiled, "array", seed, horizon, QUESTIONS)(0, path)
    rows: list[Columns] = []
    back = looks(compiled, path, horizon, "array")
    array.record_path(compiled, seed, 0, horizon, rows.append, back)
    oldest = min((float(some.left[np.isfinite(some.left)].min(initial=0.0)) for some in rows), default=0.0)
    naive = Naive(compiled, seed, horizon, rows, -oldest + 1.0)
    every = found.shares | found.of_sources
    ours = {key: share for key, share in every.items() if key[1] in NAMES}
    for key, share in naive.shares(ours).items():
        assert ours[key] == pytest.approx(share, rel=1e-8, abs=1e-8), key
    for group in compiled.rows:
        assert (found.undated.get(group, 0.0) > 0) == (naive.undated[group] > 0)
    ahead = float(renewals(compiled, seed_words(seed, 0), range(len(compiled.processes))).residual.max())
    if max(path.depth, ahead) * compiled.rate < BRIEF:  # `step` plans ahead to the first instant of every process
        same = following(compiled, "step", seed, horizon, QUESTIONS)(0, path)
        assert same.undated == pytest.approx(found.undated, rel=1e-8)
        for key, share in ours.items():
            assert (same.shares | same.of_sources)[key] == pytest.approx(share, rel=1e-8, abs=1e-8), key


BATCHES = st.sampled_from([4, 1 << 18])  # rows settled at once: a few, or all of these paths


@settings(max_examples=60, deadline=None, derandomize=True)
@given(network=networks(), seed=st.integers(0, 2**32), batch=BATCHES)
def test_any_network_costs_what_a_replay_event_by_event_says(network, seed, batch):
    assert_replayed(network, seed, batch)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(network=troubled(), seed=st.integers(0, 2**32), batch=BATCHES)
def test_it_does_when_things_go_wrong(network, seed, batch):
    assert_replayed(network, seed, batch)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(network=networks() | troubled(), seed=st.integers(0, 2**32), batch=BATCHES)
def test_many_networks_do(network, seed, batch):
    assert_replayed(network, seed, batch)


PARETO, CONSTANT = "pareto(alpha=3, rate=2)", "constant(rate=2)"
PLAIN = rn.single(updates="exponential(rate=2)", downloads="exponential(rate=2)")
FIGURES = ("staleness", "currency(0.4)", "source_penalty(x)", "missing_updates", "update_penalty(1/(1+x))")
EVERY = (*NAMES, "update_penalty(min(x, 1))")
CHURN = {"crash": "level 1", "up": "exponential(mean=5)", "down": "exponential(mean=1)", "copy": "empty"}
CASES = {
    "Fig. 4 to 8 (a)": (rn.single(updates=PARETO, downloads=CONSTANT), FIGURES),
    "Fig. 4 to 8 (b)": (rn.single(updates=CONSTANT, downloads=PARETO), FIGURES),
    "eq. 48": (PLAIN, EVERY),
    "late replies": (rn.single(updates=PARETO, downloads="gamma(shape=2, rate=2)", delay=0.1), EVERY),
    "cascade": (
        rn.cascade(depth=3, branching=2, updates="uniform(low=0.1, high=0.9)", downloads="weibull(shape=0.8, rate=2)"),
        EVERY,
    ),
    "cluster": (
        rn.cooperative(
            replicas=5, updates="exponential(rate=1)", downloads="exponential(rate=1)", polls="exponential(rate=4)",
            clients={"ask": 2, "queries": "exponential(rate=3)"},
        ),
        EVERY,
    ),
    "best of two": (
        rn.redundant(
            replicas=3, ask=2, updates="gamma(shape=2, rate=1)", downloads="uniform(low=0.5, high=1.5)",
            queries="exponential(rate=4)",
        ),
        EVERY,
    ),
    "churn": (rn.single(updates="exponential(rate=1)", downloads="exponential(rate=2)", faults=[CHURN]), EVERY),
}  # fmt: skip
FALSE_ALARM = 1e-6  # of one row, as far as Student's law holds, which it does nearly with so many replications
RESOLVED = 0.15  # of its value: the smallest error that every row would show


@pytest.mark.parametrize(("network", "names"), CASES.values(), ids=CASES)
def test_what_is_measured_is_what_is_predicted(network, names):
    from scipy.special import stdtrit

    result = rn.emulate(network, seed=5, horizon=8e4, replications=256, measure=names, confirm=False)
    assert {row.metric for row in result.rows} >= set(names)
    for row, estimate in zip(result.rows, result.estimates, strict=True):
        if row.metric not in names:
            continue
        if estimate.doubt:
            assert "(b)" in next(name for name, case in CASES.items() if case[0] is network)
            assert "infinite variance" in row.note
            continue
        allowed = -float(stdtrit(estimate.replications - 1, FALSE_ALARM / 2)) * estimate.error
        assert 2 * allowed <= RESOLVED * estimate.value, row
        assert abs(estimate.value - row.predicted) <= allowed + (row.accuracy or 0.0) + 1e-12, row


def table(network, names, **how):
    return {row.metric: row for row in rn.emulate(network, horizon=2e3, measure=names, **how).rows}


def test_what_has_no_variance_has_no_interval_and_what_has_no_mean_no_verdict():
    """Pareto 3 downloads: w3(D) = D^2 / 2 has no variance; with w = x not even a mean. Pareto 5 has both for w = 1."""
    rows = table(rn.single(updates=CONSTANT, downloads=PARETO), (*FIGURES, "update_penalty(x)"))
    kept = {name for name, row in rows.items() if row.ci_low is not None}
    assert kept == {"freshness", "staleness", "currency(0.4)", "update_penalty(1/(1+x))"}
    assert rows["missing_updates"].predicted == pytest.approx(2)
    assert rows["missing_updates"].verdict == "unresolved"
    assert rows["update_penalty(x)"].predicted is None
    assert rows["update_penalty(x)"].verdict == ""
    assert "infinite because E[w2(X)], w = x, is" in rows["update_penalty(x)"].note
    light = table(rn.single(updates=CONSTANT, downloads="pareto(alpha=5, rate=2)"), ["missing_updates"])
    assert light["missing_updates"].ci_low is not None


def test_the_law_of_outages_counts_as_well():
    for down, why in (
        (PARETO, "infinite variance of lag under pareto"),
        ("exponential(mean=1)", "kept through a crash"),
    ):
        churn = CHURN | {"down": down, "copy": "kept"}
        net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=1)", faults=[churn])
        row = table(net, ["lag"])["lag"]
        assert (row.ci_low is None) == (down == PARETO)
        assert row.predicted is None
        assert why in row.note


def test_both_engines_measure_the_same():
    net = rn.cascade(depth=2, branching=2, updates=PARETO, downloads="exponential(rate=2)", delay=0.05)
    ours, theirs = (table(net, NAMES, engine=engine, replications=30, confirm=False) for engine in ("array", "step"))
    for name in NAMES:
        assert ours[name].measured == pytest.approx(theirs[name].measured, rel=1e-9)


def test_nothing_else_changes_when_it_is_measured():
    net = rn.cascade(depth=2, branching=2, updates=PARETO, downloads="exponential(rate=2)", bandwidth=30)
    plain, more = (rn.emulate(net, horizon=2e3, confirm=False, measure=names) for names in ((), ["lag"]))
    kept = [replace(row, verdict="") for row in more.rows if row.metric != "lag"]
    assert kept == [replace(row, verdict="") for row in plain.rows]


def test_copies_that_cannot_be_dated_are_left_out_and_said(monkeypatch):
    monkeypatch.setattr(behind, "MOST_PULLS", {"array": 1.0})
    net = rn.cascade(depth=2, branching=1, updates="exponential(rate=9)", downloads="pareto(alpha=2.1, rate=1)")
    rows = rn.emulate(net, horizon=64, measure=["staleness"]).rows
    row = next(row for row in rows if (row.group, row.metric) == ("level 2", "staleness"))
    assert row.ci_low is None
    assert "nobody knows how old copies were" in row.note


def test_a_copy_that_is_lost_at_time_zero_is_not_behind():
    gone = {"crash": "level 1", "at": 0, "lasts": 2, "copy": "empty"}
    net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=0.2)", faults=[gone])
    for engine in ("array", "step"):
        rows = table(net, ["staleness"], engine=engine, replications=400, confirm=False)
        assert rows["staleness"].measured == pytest.approx(1 - rows["freshness"].measured, rel=1e-9)


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


def test_it_is_measured_against_updates_that_happened():
    with pytest.raises(ValueError, match="against the updates that happened"):
        rn.emulate(PLAIN, estimator="conditional", measure=["lag"])
    assert rn.emulate(PLAIN, horizon=64, estimator="conditional", measure=["freshness"]).rows


def test_the_command_line_takes_it():
    done = replnet("predict", "cascade", "--measure", "missing_updates", "-s", "depth=1")
    assert done.stdout.splitlines()[3].split()[2:4] == ["missing_updates", "1.00000"]
    demand = ("--threshold", "missing_updates < 2", "--threshold", "level 1: currency(0.5) > 0.5")
    done = replnet("run", "cascade", "-s", "depth=1", "--horizon", "5000", "--measure", "lag", *demand)
    assert done.returncode == FINE, done.stderr
    assert "missing_updates < 2: holds" in done.stderr
    assert [line.split()[2] for line in done.stdout.splitlines()[2:6]] == [
        "freshness", "lag", "missing_updates", "currency(0.5)"
    ]  # fmt: skip
    for wrong in (("--measure", "slowness"), ("--threshold", "currency > 1"), ("--engine", "live", "--measure", "lag")):
        done = replnet("run", "cascade", *wrong)
        assert done.returncode == BAD_INPUT
        assert done.stdout == ""


EXPERIMENT = {
    "title": "t",
    "network": {"kind": "single", "updates": CONSTANT, "downloads": "exponential(rate=1)"},
    "vary": {"downloads.rate": [1, 2]},
    "run": {"horizon": 200_000}, "measure": ["staleness", "source_penalty( x )"],
}  # fmt: skip


def test_an_experiment_measures_what_it_keeps(tmp_path):
    swept = rn.sweep(Experiment.from_data(EXPERIMENT), out=tmp_path / "run", workers=0)
    assert set(swept.table.metric) == {"staleness", "source_penalty(x)"}
    assert len(swept.table) == 4
    assert set(swept.table.verdict) == {"agree"}


def test_what_an_experiment_speaks_of_it_has_to_measure():
    claims = [{"text": "c", "falls": "missing_updates", "over": "downloads.rate"}]
    for measure in ({}, {"measure": ["staleness"]}):
        data = {key: value for key, value in EXPERIMENT.items() if key != "measure"} | measure | {"claims": claims}
        with pytest.raises(rn.InputError, match="missing_updates is not measured"):
            Experiment.from_data(data).cells()
