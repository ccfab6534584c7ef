"""What is predicted of the copies of many sources: closed forms, printed tables, and policies beside one another."""

from __future__ import annotations

import math

import pytest

import replnet as rn
from replnet.allocation import Pages, optimal_random_rates
from replnet.lab.papers.crawl import random_freshness
from replnet.lab.papers.staleness import query
from replnet.laws import Exponential, Gamma
from replnet.network.sources import sources_of


def predicted(measure=(), **fields) -> dict[tuple[str, str], float | None]:
    return {(row.group, row.metric): row.predicted for row in rn.predict(rn.aggregate(**fields), measure).rows}


@pytest.mark.parametrize(
    ("order", "freshness", "age"),
    [
        ("fixed", lambda r: (1 - math.exp(-r)) / r, lambda r: 1 / 2 - 1 / r + (1 - math.exp(-r)) / r**2),
        ("purely random", lambda r: 1 / (1 + r), lambda r: 1 - 1 / (1 + r)),
        (
            "random",
            lambda r: (1 - ((1 - math.exp(-r)) / r) ** 2) / r,
            lambda r: 1 / 3 + (1 / 2 - 1 / r) ** 2 - ((1 - math.exp(-r)) / r**2) ** 2,
        ),
    ],
)
@pytest.mark.parametrize("r", [0.5, 3.0])
def test_sync_table_2(order, freshness, age, r):
    """As printed, for very many elements, all alike; with a million the difference is below 1e-5."""
    count = 10**6
    found = predicted(["staleness_age"], sources=count, updates=f"exponential(rate={r})", budget=count, order=order)
    assert found["copies", "freshness"] == pytest.approx(freshness(r), abs=1e-5)
    assert found["copies", "staleness_age"] == pytest.approx(age(r), abs=1e-5)


def test_algorithm_2_of_crawl_is_best_for_pages_that_are_drawn():
    net = {"sources": 200, "rates": "uniform(low=0, high=1)", "weights": "pareto(alpha=1.5, rate=1)", "budget": 10}
    of = sources_of(rn.aggregate(**net).spec)
    pages = Pages(of.weights, of.rates)
    best = random_freshness(pages, optimal_random_rates(pages, 10).rates)
    for how in ("algorithm2", "freshness"):
        found = predicted(**net, downloads="exponential", allocate=how)["copies", "freshness"]
        assert found == pytest.approx(best, rel=1e-14)


def test_optimal_allocations_are_the_best_of_all():
    """Of each metric at constant intervals, over all policies; gamma changes and weights too."""
    goals = {
        "freshness": ("freshness", max), "age": ("staleness_age", min), "missing_updates": ("missing_updates", min),
        "update_penalty(x)": ("update_penalty(x)", min), "source_penalty(x^2)": ("source_penalty(x^2)", min),
    }  # fmt: skip
    asked = [metric for metric, _ in goals.values() if metric != "freshness"]
    for updates in ("exponential(rate=1)", "gamma(shape=3, rate=1)"):
        net = {"rates": [0.2, 1, 3], "weights": [3, 1, 2], "updates": updates, "budget": 6}
        found = {
            policy: predicted(asked, **net, allocate=policy)
            for policy in (*goals, "uniform", "proportional", "weights", "algorithm2", "change_directed")
        }
        for policy, (metric, best) in goals.items():
            values = {name: rows["copies", metric] for name, rows in found.items()}
            assert values[policy] == pytest.approx(best(value for value in values.values() if value is not None))


def test_replicas_that_share_a_budget():
    """In turns the freshest of all is one replica at the whole rate; many-to-many as (Staleness VI-E) says."""
    net = {"updates": ["exponential(rate=1)", "gamma(shape=2, rate=3)"], "allocate": [2, 4]}
    alone = predicted(["lag"], **net)
    turns = predicted(["lag"], **net, replicas=4, ask=4)
    for metric in ("freshness", "any_fresh", "all_fresh", "lag"):
        assert turns["clients", metric] == pytest.approx(alone["copies", metric], rel=1e-12)
    apart = predicted(**net, replicas=4, ask=2, share="independently", downloads="exponential")
    laws = [[Exponential(rate=0.5), Exponential(rate=1.0)]] * 4
    wanted = query([Exponential(rate=1.0), Gamma(shape=2, rate=3)], laws, 2).value
    assert apart["clients", "any_fresh"] == pytest.approx(wanted, rel=1e-9)
    # Two of three in turns are always next to one another: intervals d, 2 d of the whole process.
    two = predicted(updates=["exponential(rate=1)"], allocate=[3.0], replicas=3, ask=2)["clients", "freshness"]
    wanted = ((1 - math.exp(-1 / 3)) + (1 - math.exp(-2 / 3))) / 1
    assert two == pytest.approx(wanted, rel=1e-12)


def test_a_source_that_is_never_downloaded_is_stale_for_ever():
    never = predicted(["missing_updates", "staleness"], rates=[0, 1], budget=0)
    assert never["copies", "freshness"] == 0.5
    assert never["copies", "staleness"] == 0.5
    assert never["copies", "missing_updates"] is None
