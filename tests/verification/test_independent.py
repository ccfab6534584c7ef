"""Random networks of every kind against the second simulator of `independent.py`, which knows no engine and no formula.

Every value that an engine measures, and every prediction within its stated accuracy, is held against what that one
finds. Rows without an interval (laws without the variance that one takes, what is too rare) are left out.

FALSE_ALARM: a row fails if it is off with p < SCREEN, and again with p < CONFIRM in a run four times as long with other
seeds. So correct code fails at a row with probability SCREEN * CONFIRM = 1e-7, at any of the 20,000 rows with 0.002; if
the tails of means of so few replications are ten times those of Student's law at both, with 0.2. The seeds are fixed.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterator
from functools import cache

import pytest
from any_network import (
    ALLOCATIONS,
    LAWS,
    METRICS,
    ORDERS,
    PROCESSES,
    features,
    fixed_networks,
    network_of_several_sources,
    pairs,
)
from independent import reachable, simulated
from networks import both_ways
from ruamel.yaml import YAML
from scipy.special import stdtr

import replnet as rn
from replnet.run.emulate import fastest_engine

pytestmark = pytest.mark.verification

NETWORKS = 300
SEVERAL = 60  # besides
FEW = (8, 14, 22, 29, 43, 44, 53, 55, 80, 89)  # of every kind, and quick
SCREEN, CONFIRM = 1e-3, 1e-4
REPLICATIONS, LENGTH = 32, 20.0
MOMENTS = ("freshness at 0", "freshness at 0.5", "freshness at 3", "staleness_age at 1", "availability at 2")
FRESH = 5  # every so many networks begin with fresh copies,
TWO_WAY = 3  # and in every so many polls go both ways
RARE = 0.01  # of queries that are answered
ROUNDING = 1e-6  # of integrals over a path
Row = tuple[str, str, str]  # who says so, group, metric


@cache
def networks(number: int) -> list[rn.Network]:
    return fixed_networks(number)


def metrics_of(number: int) -> list[str]:
    return random.Random(f"metrics/{number}").sample(METRICS, 3)


def emulated(
    network: rn.Network, metrics: list[str], replications: int, seed: int
) -> Iterator[tuple[str, rn.Emulated]]:
    """By `array`, in every third network and where that does not take one by `step`, and in turn by both estimators."""
    how = {"seed": seed, "horizon": replications * LENGTH, "replications": replications, "confirm": False}
    fastest = fastest_engine(network)
    for engine in dict.fromkeys([fastest, "step"] if seed % 3 == 0 else [fastest]):
        yield f"{engine}, sampled", rn.emulate(network, engine=engine, measure=metrics, **how)
        if (engine == "array") == bool(seed % 2):
            yield f"{engine}, conditional", rn.emulate(network, engine=engine, estimator="conditional", **how)


def off(network: rn.Network, metrics: list[str], replications: int, seed: int, level: float) -> dict[Row, str]:
    """The rows of engines and formulas that are off at this level, and what they say."""
    truth = simulated(network, metrics, LENGTH, replications, seed)
    found: dict[Row, str] = {}
    for who, result in emulated(network, metrics, replications, seed):
        for row, estimate in zip(result.rows, result.estimates, strict=False):
            if row.measured is None or row.ci_low is None:
                continue
            if (row.group, row.metric) not in truth:
                if (result.about("answered", row.group) or [row])[0].measured < RARE:
                    continue  # hardly any query brings something, and none did there
                assert not any(heard(network)[name] for name in members(network, row.group)), row
                continue  # nothing ever reaches them
            value, error = truth[row.group, row.metric]
            said = f"{row.group}, {row.metric}: simulator {value:.5f} ± {error:.5f},"
            if p_value(value - row.measured, math.hypot(error, estimate.error), replications) < level:
                found[who, row.group, row.metric] = f"{said} {who} {row.measured:.5f} ± {estimate.error:.5f}"
            beyond = abs(value - (row.predicted or 0.0)) - (row.accuracy or 0.0)
            if " at " in row.metric and row.predicted is not None:  # what is rare may be seen nowhere, or everywhere
                error = max(error, math.sqrt(abs(row.predicted) / replications))
            if row.predicted is not None and p_value(max(beyond, 0.0), error, replications) < level:
                right = f"{row.kind} {row.predicted:.5f} within {row.accuracy or 0:.2g} ({row.source})"
                found["formula", row.group, row.metric] = f"{said} {right}"
    return found


def heard(network: rn.Network) -> dict[str, list[str]]:
    return reachable(network.graph)


def members(network: rn.Network, group: str) -> list[str]:
    return [name for name, about in network.graph.nodes(data=True) if about["group"] == group]


def p_value(difference: float, error: float, replications: int) -> float:
    if abs(difference) < ROUNDING:
        return 1.0
    return float(2 * stdtr(replications - 1, -abs(difference) / error)) if error > 0 else 0.0


def check(number: int) -> None:
    # The first ones are the same, however many there are.
    network, metrics = networks(max(FEW) + 1 if number in FEW else NETWORKS)[number], metrics_of(number)
    if number % FRESH == 0 or any(fault.crash is not None or fault.at is not None for fault in network.spec.faults):
        # The simulator looks back on spells where engines look ahead, which is the same in stationary networks alone.
        metrics = [name for name in metrics if "spell" not in name and "residual" not in name]
    metrics += random.Random(f"moments/{number}").sample(MOMENTS, 2)
    if number % FRESH == 0:
        network = rn.Network.from_data(network.data() | {"start": "fresh"})
    if number % TWO_WAY == 1:
        network = rn.Network.from_data(both_ways(network.data()))
    compare(network, metrics, number)


def compare(network: rn.Network, metrics: list[str], number: int) -> None:
    suspects = off(network, metrics, REPLICATIONS, number, SCREEN)
    if suspects:
        again = off(network, metrics, 4 * REPLICATIONS, NETWORKS + number, CONFIRM)
        wrong = [again[row] for row in suspects if row in again]
        assert not wrong, f"network {number}, seed {NETWORKS + number}\n{yaml(network)}" + "\n".join(wrong)


def yaml(network: rn.Network) -> str:
    text = io.StringIO()
    YAML().dump(network.data(), text)
    return text.getvalue()


LINKS = {"cycle", "ask some", "delay per link", "delay constant", "delay law", "select random", "select recent"}
SHAPES = {"one source", "several sources", "forest", "several parents", "clients", "under each", "under spread"}
FAULTS = {
    "lose", "cut at random", "cut on schedule", "crash at random", "crash on schedule", "copy kept", "copy empty",
    "bandwidth", "charge issued", "charge both", "short queue",
}  # fmt: skip
MANY = {*(f"order {order}" for order in ORDERS), *(f"allocate {how}" for how in ALLOCATIONS)}
KINDS = {"single", "cascade", "cooperative", "redundant", "aggregate", "graph", "compose"}
FEATURES = {*KINDS, *LINKS, *SHAPES, *FAULTS, *MANY, "share turns", "share independently", *LAWS, *PROCESSES}
FEATURES -= {"erlang", "shuffled"}  # spelled as the gamma law and the lattice that they are
PAIRS = 1729


def test_the_networks_combine_whatever_may_be_combined():
    """All that there is occurs, and as many pairs of it as ever met: others exclude one another."""
    assert frozenset().union(*map(features, networks(NETWORKS))) == FEATURES
    assert len(set().union(*map(pairs, networks(NETWORKS)))) == PAIRS


@pytest.mark.parametrize("number", FEW)
def test_some_networks_agree_with_the_simulator(number):
    check(number)


@pytest.mark.parametrize("number", sorted({*range(NETWORKS)} - {*FEW}))
def test_networks_agree_with_the_simulator(number):
    check(number)


@pytest.mark.parametrize("number", range(SEVERAL))
def test_networks_of_several_sources_agree_with_the_simulator(number):
    """What an answer without a copy of some source counts for, in every metric."""
    choose = random.Random(f"several sources/{number}").choice
    network, metrics = network_of_several_sources(choose), sorted({"staleness", "currency(0.4)", *metrics_of(number)})
    if any(fault.crash is not None or fault.at is not None for fault in network.spec.faults):
        metrics = [name for name in metrics if "spell" not in name and "residual" not in name]
    compare(network, metrics, number)
