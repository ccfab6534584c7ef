"""Systems to optimise, as experiments write them."""

from __future__ import annotations

import pytest

# ruff: noqa: E501  messages are compared as they are printed
from experiment_files import SYSTEM, with_


def test_systems_to_optimise(load):
    experiment = load(SYSTEM)
    first, second = experiment.cells()
    assert first.subject.section == "optimise"
    assert first.subject.data == {
        "system": "cooperative", "maximise": "service_rate", "target": 0.4, "bandwidth": 10.0,
        "updates": "exponential(rate=1)", "downloads": "exponential", "polls": "pareto(alpha=3)", "peers": 1,
        "over": {"replicas": [2, 3000]},
    }  # fmt: skip
    assert first.key != second.key
    sizes = load(SYSTEM, "target=0.5", "bandwidth=10,20").cells()
    assert [cell.subject.data["bandwidth"] for cell in sizes] == [10, 20]
    assert sizes[0].key == second.key


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("downloads: exponential", "downloads: exponential(rate=3)", "exp.yaml:8:31: optimise.downloads.rate: is computed, so it cannot be given (a law without its rate"),
        ("downloads: exponential", "downloads: exponentil", "exp.yaml:8:14: optimise.downloads: unknown family 'exponentil'"),
        ("polls: pareto(alpha=3)", "polls: pareto", "exp.yaml:9:10: optimise.polls.alpha: missing"),
        ("  polls: pareto(alpha=3)\n", "", "exp.yaml:3:1: optimise.polls: missing"),
        ("peers: 1", "ask: 2", "exp.yaml:10:8: optimise.ask: is of redundant systems, and this one is cooperative (left out)"),
        ("  peers: 1\n", "", "optimise.peers: missing (a number, or its bounds in over: {peers: [2, 9]})"),
        ("peers: 1", "peers: 1\n  replicas: 7", "exp.yaml:11:13: optimise.replicas: given and sought"),
        ("peers: 1", "peers: 3000", "exp.yaml:10:10: optimise.peers: 3000 is not below replicas = 3000 (1 to 2999)"),
        ("[2, 3000]", "[2]", "optimise.over.replicas: [2] is not a pair"),
        ("[2, 3000]", "[20, 3]", "optimise.over.replicas: [20, 3] does not rise"),
        ("{replicas: [", "{replcas: [", "optimise.over.replcas: cannot be sought"),
        ("[0.4, 0.5]", "[0.4, 1.5]", "exp.yaml:5:11: optimise.target: 1.5 is not a freshness to reach, where target = 1.5"),
        ("system: cooperative", "system: cooprative", "exp.yaml:4:11: optimise.system: 'cooprative' is unknown here"),
        ("group: cooperative", "group: cluster", "printed[1].group: no cell has a group cluster (one of cooperative, independent)"),
    ],
)  # fmt: skip
def test_systems_that_cannot_be(messages, old, new, said):
    text = with_(old, new, SYSTEM)
    assert said in messages(text), messages(text)


def test_redundant_and_independent_systems(load, messages):
    given = "target: 0.5, bandwidth: 1000, updates: exponential(rate=1), downloads: constant"
    redundant = f"title: t\noptimise: {{system: redundant, {given}, ask: 20}}\n"
    assert [cell.subject.data["ask"] for cell in load(redundant, "ask=10,20").cells()] == [10, 20]
    assert "optimise.ask: is of redundant systems" in messages(redundant.replace("redundant", "independent"))
    assert "optimise.ask: missing" in messages(redundant.replace(", ask: 20", ""))
    assert len(load(f"title: t\noptimise: {{system: independent, {given}}}\n").cells()) == 1
