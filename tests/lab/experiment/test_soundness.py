"""What is wrong in one place does not hide what is wrong in another, and brings no error of its own."""

from __future__ import annotations

from itertools import combinations

import pytest

RIGHT = """\
title: Of a cluster
vary:
  k: [1, 2]
  j: 1:3
values:
  nu: 4 / k
  mu: 2 * nu
network:
  kind: cooperative
  replicas: 10
  peers: ${k}
  updates: exponential(rate=1)
  downloads: exponential(rate=${j})
  polls: exponential(rate=${mu})
  delay: 0.1
run: {precision: 0.1}
quick: {vary: {k: [2]}}
measure: [freshness, lag]
printed:
  - {at: {k: 1, j: 1}, group: cluster, metric: freshness, value: 0.5, within: 0.1, reading: about}
  - {at: {k: 2, j: 3}, group: cluster, metric: lag, value: 0.5, within: 0.1, reading: about}
claims:
  - {text: one, falls: freshness, over: k, erratum: none}
errata: {none: {kind: prose, text: no mistake at all}}
figure: {x: k, y: freshness, series: j}
"""

WRONG = {
    "vary.k": ("k: [1, 2]", "k: []"),
    "vary.j": ("1:3", "3:1"),
    "values.nu": ("4 / k", "4 / q"),
    "network.replicas": ("replicas: 10", "replicas: 0"),
    "network.updates.rate": ("exponential(rate=1)", "exponential(rate=-1)"),
    "network.polls": ("${mu}", "${muh}"),
    "network.delay": ("delay: 0.1", "delay: -1"),
    "run.precision": ("precision: 0.1", "precision: -1"),
    "quick.vary.q": ("{vary: {k: [2]}}", "{vary: {q: [2]}}"),
    "measure[2]": ("[freshness, lag]", "[freshness, speed]"),
    "printed[1].value": ("metric: freshness, value: 0.5", "metric: freshness, value: much"),
    "printed[2].at.jj": ("k: 2, j: 3", "k: 2, jj: 3"),
    "claims[1].over": ("over: k", "over: kk"),
    "errata.none.kind": ("kind: prose", "kind: slip"),
    "figure.series": ("series: j", "series: jj"),
}


def fields(told: str) -> list[str]:
    return [line.split(": ")[1] for line in told.splitlines() if line.startswith("exp.yaml:")]


@pytest.mark.parametrize("field", WRONG)
def test_one_fault_is_one_problem(messages, field):
    assert fields(messages(RIGHT.replace(*WRONG[field]))) == expected(field)


def expected(*wrong: str) -> list[str]:
    """In the order of the file."""
    return [field for field in WRONG if field in wrong]


@pytest.mark.parametrize("pair", [*combinations(WRONG, 2)], ids=" and ".join)
def test_two_faults_are_two_problems(messages, pair):
    text = RIGHT
    for field in pair:
        assert WRONG[field][0] in text, field
        text = text.replace(*WRONG[field])
    assert fields(messages(text)) == expected(*pair)


def test_all_of_them(messages):
    text = RIGHT
    for old, new in WRONG.values():
        text = text.replace(old, new)
    assert fields(messages(text)) == [*WRONG]
