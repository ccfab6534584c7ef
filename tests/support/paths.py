"""One path of a network by each engine, and what has to be the same of two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import replnet as rn
from replnet.engines.array import array
from replnet.engines.log import Columns
from replnet.engines.nodes import step
from replnet.engines.path import Path, Task
from replnet.engines.plan import Plan, plan
from replnet.engines.start import MOST_PULLS_FOR_AGES
from replnet.measure.metrics import metrics
from replnet.network.topology import REPLICA, Topology

# Integrals over a path add the same terms in different orders.
ROUNDING = 1e-9
ABSENT = 1e99  # in the place of NaN, which equals nothing, itself included


def task(
    network: rn.Network | Topology, seed: int = 1, horizon: float = 8.0, sampled: bool = True,
    measure: Iterable[str] = (), **more: Any,
) -> Task:  # fmt: skip
    """Rows of groups and of all their sources."""
    compiled = Plan(network) if isinstance(network, Topology) else plan(network)
    questions = {one.name: one.question for one in metrics(measure)}
    return Task(compiled, seed, horizon, sampled, questions, compiled.rows, **more)


def walks(compiled: Plan) -> bool:
    """Whether `array` takes it."""
    return compiled.constant_delay is not None and not (compiled.has_recent_polls and compiled.faults)


def both(of: Task, replication: int = 0) -> tuple[Path, Path]:
    return array.run_path(of, replication), step.run_path(of, replication)


def assert_same(of: Task, ours: Path, theirs: Path) -> None:
    assert ours.counts == theirs.counts
    if of.questions and max(ours.depth, theirs.depth) * of.plan.pull_rate > MOST_PULLS_FOR_AGES["step"]:
        return  # of a copy that came so long ago, or never will, `array` can afford to look for the date further back
    assert (ours.depth, ours.unproven) == (theirs.depth, theirs.unproven)
    assert_close(ours.shares, theirs.shares)
    assert_close(ours.unknown_shares, theirs.unknown_shares)
    assert ours.profiles.keys() == theirs.profiles.keys()
    for key, profile in theirs.profiles.items():
        np.testing.assert_allclose(ours.profiles[key], profile, rtol=ROUNDING, atol=1e-6)
    if of.needs_departures or not of.sampled:  # else `array` knows of copies when they go stale, and not when they left
        replicas = of.plan.topology.role == REPLICA
        assert np.array_equal(ours.copies[:, replicas], theirs.copies[:, replicas])


def assert_close(ours: dict[Any, Any], theirs: dict[Any, Any]) -> None:
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert ours[key] == pytest.approx(value, rel=ROUNDING, abs=ROUNDING), key


def assert_agree(of: Task, replication: int = 0) -> None:
    """That both engines walk the same path."""
    assert_same(of, *both(of, replication))


def logged(engine: Any, of: Task) -> tuple[list[tuple[float, ...]], Path]:
    """The rows of the log of a path, in order, and the path."""
    log = list[Columns]()
    path = engine.run_path(replace(of, keep=lambda _: log.append))
    return rows(log), path


def rows(found: list[Columns]) -> list[tuple[float, ...]]:
    """Of a log, in order."""
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    return sorted(zip(*(np.nan_to_num(column, nan=ABSENT).tolist() for column in columns), strict=True))
