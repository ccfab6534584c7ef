"""Experiments that tests write to files."""

from __future__ import annotations

from textwrap import dedent

BASE = """\
title: Peers
values:
  nu: 4 / k
vary:
  k: 1:9
network:
  kind: cooperative
  replicas: 10
  peers: ${k}
  updates: exponential(rate=1)
  downloads: exponential(rate=1)
  polls: exponential(rate=${nu})
"""
SYSTEM = """\
title: Sizes
vary: {target: [0.4, 0.5]}
optimise:
  system: cooperative
  target: ${target}
  bandwidth: 10
  updates: exponential(rate=1)
  downloads: exponential
  polls: pareto(alpha=3)
  peers: 1
  over: {replicas: [2, 3000]}
printed:
  - {at: {target: 0.4}, group: cooperative, metric: service_rate, value: 1865, within: 0.5}
"""
FORMULA = """\
title: Gamma rates
values: {r: 2 * s}
vary:
  spread: [0, 0.5, 1]
  s: [0.5, 1]
formula:
  name: gamma-rates
  ratio: ${r}
"""


def with_(old: str, new: str, text: str = BASE) -> str:
    assert old in text
    return text.replace(old, new)


PRINTED = BASE + dedent("""\
    quick: {run: {precision: 0.01}, vary: {k: [1, 3]}, values: {nu: 5 / k}}
    run: {precision: 0.001, seed: 3}
    printed:
      - {at: {k: 1}, group: cluster, value: 0.68, within: 0.005}
      - {at: {k: 9}, group: cluster, value: 0.6, within: 0.005}
    claims:
      - {text: best, argmax: freshness, over: k, is: 1}
      - {text: best of two, argmax: freshness, over: k, is: [9, 3]}
      - {text: nine, argmax: freshness, over: k, is: 9}
    """)


EXPECTED = BASE + dedent("""\
    quick: {vary: {k: [1, 3]}}
    expected:
      - {at: {k: 1}, group: cluster, value: 0.68, reason: eq. 8 at k = 1}
      - {at: {k: 9}, group: cluster, value: 0.6, reason: eq. 8 at k = 9, erratum: Table 1}
    claims:
      - {text: high, lies: freshness, from: 0.6, erratum: Table 1}
      - {text: best, argmax: freshness, over: k, is: 1}
    errata:
      Table 1: {kind: rounding, text: 0.6 is 0.5}
    """)


# Sections of every sort, and several that name the axes and values of others.
ALL_SECTIONS = """\
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
