"""A seed is a promise: what it gave, it gives.

`pinned.json` holds what every shipped network gives in every engine and by every estimator, and where
every law begins. A change of it is a decision that users are told of; after one,

    python tests/test_pinned.py

writes it anew. Counts are the same to the last event; other numbers to 1e-9, as the last digits of a logarithm
are the processor's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import replnet as rn
from replnet.laws.text import law
from replnet.processes.renewal import Renewals
from replnet.processes.streams import FUTURE, GOLDEN, draw_distinct, name_words, seed_words, streams, word
from replnet.run.emulate import fastest_engine
from replnet.text.documents import shipped_names

PINS = Path(__file__).with_name("pinned.json")
NETWORKS = sorted(shipped_names())
EVENTS = 4000  # on the path of a network; step takes a second for 200,000
LAWS = [
    "exponential(rate=2)",
    "constant(period=0.5)",
    "pareto(alpha=3, rate=2)",
    "pareto(alpha=1.4, rate=2)",
    "weibull(shape=0.6, rate=2)",
    "uniform(low=0, high=1)",
    "gamma(shape=2, rate=2)",
    "gamma(shape=0.4, rate=2)",
    "erlang(stages=3, rate=2)",
    "lognormal(sigma=1, rate=2)",
    "hyperexponential(weights=[0.9, 0.1], rates=[10, 0.5])",
    "lattice(values=[1, 2], weights=[0.7, 0.3])",
    "scipy(name=invgauss, mu=0.5)",
    "alternating(values=[1, 3])",
    "correlated(law=pareto(alpha=3, rate=2), rho=0.9)",
    "longrange(law=pareto(alpha=3, rate=2), hurst=0.8)",
    "modulated(rates=[10, 1], means=[1, 5])",
    "diurnal(rate=10, swing=0.8, period=24)",
    "superposition(law=pareto(alpha=3, rate=2), count=20)",
    "windowed(rate=2, window=6, period=24, share=0.8)",
    "shuffled(alternating(values=[1, 3]))",
]


def test_words_are_those_of_splitmix64():
    """The published first outputs of SplitMix64 from the state 0."""
    reference = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert [word(0, int(GOLDEN), n) for n in range(4)] == reference


def test_streams_are_named_as_ever():
    one = streams(seed_words(1, 0), name_words(["replica"]), np.ones(1, np.int64), FUTURE)
    key, gamma = int(one.key[0]), int(one.gamma[0])
    assert (key, gamma) == (0x24E89E4C304735ED, 0xDF58EB9C4B04FE69)
    assert draw_distinct(key, gamma, 7, 3, 10) == [0, 3, 7]


@pytest.mark.parametrize("text", LAWS)
def test_a_law_begins_as_ever(text):
    assert instants(text) == pytest.approx(pins()["laws"][text], rel=1e-9)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_shipped_network_gives_what_it_gave(name):
    assert name in pins()["networks"], f"{name} is new: pin what it gives by python tests/test_pinned.py"
    found, pinned = paths(name), pins()["networks"][name]
    assert found.keys() == pinned.keys()
    for how, values in found.items():
        assert values.keys() == pinned[how].keys(), how
        for key, value in values.items():
            known = pinned[how][key]
            exact = key in ("events", "queries") or known is None
            assert value == (known if exact else pytest.approx(known, rel=1e-9, abs=1e-12)), key


def pins() -> dict[str, Any]:
    return json.loads(PINS.read_text())  # type: ignore[no-any-return]


def instants(text: str) -> list[float]:
    """The age at time zero, and the instants of the first ten events after it or so."""
    process = law(text)
    one = np.zeros(1, np.int64)
    renewals = Renewals([process], one, seed_words(1, 0), name_words(["replica"]), one + 1, 64)
    window = renewals.window(10 * process.mean)
    return [float(renewals.age[0]), *window.of(0)[:10].tolist()]


def paths(name: str) -> dict[str, dict[str, float | None]]:
    network = rn.load(name)
    ways = [("array", "sampled"), ("array", "conditional"), ("step", "sampled"), ("step", "conditional")]
    if network.kind == "aggregate":
        ways = ways[:1]
    elif fastest_engine(network) == "step":
        ways = ways[2:]
    return {f"{engine}, {estimator}": path(network, engine, estimator) for engine, estimator in ways}


def path(network: rn.Network, engine: str, estimator: str) -> dict[str, float | None]:
    """What two replications measured, and how much happened."""
    horizon = EVENTS / per_unit(network)
    measure = ["missing_updates", "lag"] if estimator == "sampled" else []
    result = rn.emulate(
        network, engine, seed=1, horizon=horizon, replications=2, estimator=estimator, measure=measure, confirm=False
    )
    found: dict[str, float | None] = {f"{row.group}: {row.metric}": row.measured for row in result.rows}
    return {"events": result.events, "queries": result.queries, **found}


def per_unit(network: rn.Network) -> float:
    result = rn.emulate(network, fastest_engine(network), seed=2, horizon=1.0, replications=1, confirm=False)
    return float(max(result.events + result.queries, 1))


if __name__ == "__main__":
    found = {"laws": {text: instants(text) for text in LAWS}, "networks": {name: paths(name) for name in NETWORKS}}
    PINS.write_text(json.dumps(found, indent=1) + "\n")
