"""Experiments of the Staleness paper about a formula, and the periods that lock. Nothing here is left to chance."""

from __future__ import annotations

import math

import pytest

import replnet as rn
from replnet.ages.information_age import direct
from replnet.ages.penalties import staleness
from replnet.laws import Constant
from replnet.laws.law import span_ratio
from replnet.papers.phase_lock import over_phases
from replnet.study.experiment.experiment import load_experiment
from replnet.study.formulas.registry import computation
from replnet.text.documents import shipped_names
from replnet.text.errors import InputError

PAIRS = [(5, 5), (5, 10), (5, 2.5), (5, 3), (5, 3.1), (5, 4), (4, 6), (0.3, 0.1), (7, 25)]


def rows(**arguments) -> dict[tuple[str, str], float | None]:
    return {(row["group"], row["metric"]): row["predicted"] for row in computation(arguments).rows()}


def at_phase(updates: float, downloads: float, phase: float, rounds: int = 60) -> float:
    """The plain way: every download in turn, until the next."""
    stale = 0.0
    for k in range(rounds):
        age = (k * downloads + phase) % updates
        stale += max(downloads - (updates - age), 0.0)
    return stale / (rounds * downloads)


@pytest.mark.parametrize(("updates", "downloads"), PAIRS)
def test_staleness_phase_by_phase(updates, downloads):
    """60 rounds visit all places equally often, whose number divides 60, or 50 or 7 of other rounds."""
    found, p = over_phases(updates, downloads), span_ratio(downloads, updates)
    assert p is not None
    width, rounds = updates / p.denominator, 12 * p.denominator
    inside = [at_phase(updates, downloads, width * (i + 0.5) / 40, rounds) for i in range(40)]
    assert found.lowest <= min(inside)
    assert max(inside) <= found.highest
    assert sum(inside) / 40 == pytest.approx(found.mean, rel=1e-9)
    # Piecewise linear: the ends are half a step beyond the first and the last.
    assert min(inside) - found.lowest == pytest.approx((found.highest - found.lowest) / 80, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("updates", "downloads"), [*PAIRS, (5, math.pi), (1, math.sqrt(2))])
def test_the_mean_over_phases_is_that_of_independent_ages(updates, downloads):
    known = staleness(direct(Constant(period=downloads)), Constant(period=updates)).value
    assert over_phases(updates, downloads).mean == pytest.approx(known, rel=1e-9)


def test_an_irrational_ratio_has_no_phase():
    found = over_phases(5, math.pi)
    assert found.lowest == found.mean == found.highest
    assert rows(name="phase-lock", updates=5, downloads=5) == {
        ("lowest", "staleness"): 0, ("mean", "staleness"): 0.5, ("highest", "staleness"): 1,
    }  # fmt: skip


def test_crawl_rates_follow_equations_73_and_74():
    found = rows(name="crawl-rate", sources=1e11, rate=8, spread=46, missing=10, page=25_000)
    pages = 1e11 * 8 / (2 * 10) / 86_400
    assert found["popularity by updates", "pages_per_second"] == pytest.approx(pages, rel=1e-12)
    assert found["popularity uniform", "pages_per_second"] == pytest.approx(pages / 46, rel=1e-12)
    assert found["popularity by updates", "gigabits_per_second"] == pytest.approx(pages * 2e5 / 1e9, rel=1e-12)


@pytest.mark.parametrize(("weight", "extra"), [(1, 1 / 3), ("x", math.sqrt(2) - 1)])
def test_two_independent_replicas(weight, extra):
    """Of two at rate r / 2 each the freshest is younger than x with chance 1 - (1 - x r / 2)^2, x up to 2 / r.

    E[w2] of that at rate r is that of constant intervals at 1: 2 / (3 r) = 1 / 2 and 1 / (3 r^2) = 1 / 6.
    """
    about = {"updates": "constant(rate=3)", "rate": 1}
    found = rows(name="independent-replicas", replicas=2, weight=weight, **about)
    assert found["replicas", "extra_bandwidth"] == pytest.approx(extra, rel=1e-8)


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"name": "phase-lock", "updates": 0, "downloads": 1}, "updates: 0 is not"),
        ({"name": "crawl-rate", "sources": 1, "rate": 1, "spread": 0.5, "missing": 1, "page": 1}, "spread: "),
        ({"name": "independent-replicas", "replicas": 0, "updates": "constant(rate=1)", "weight": "x"}, "replicas"),
        ({"name": "independent-replicas", "replicas": 2, "updates": "constant(rate=1)", "weight": "y"}, "weight: "),
        ({"name": "independent-replicas", "replicas": 2, "updates": "constant(rate=1)", "weight": True}, "weight: "),
    ],
)
def test_arguments_that_make_no_sense(arguments, wrong):
    with pytest.raises(InputError, match=wrong):
        computation(arguments)


SHIPPED = [name for name in shipped_names("experiments") if name.startswith("staleness/")]


@pytest.mark.parametrize("name", SHIPPED)
def test_experiments_that_ship(name):
    experiment = load_experiment(name)
    assert experiment.title
    assert experiment.claim
    assert experiment.paper.startswith("Staleness ")
    assert 1 < len(experiment.quick().cells()) <= len(experiment.cells())


def test_what_the_paper_prints_and_its_equations_do_not_say():
    found = {name: rn.sweep(load_experiment(f"staleness/{name}"), workers=0) for name in ("crawl-rate", "one-to-many")}
    assert [line.partition(" (")[0] for line in found["crawl-rate"].contradictions] == [
        "omega = 1: popularity uniform, pages per second: 99000 is printed, 1.0064e+05 predicted",
        "omega = 10: popularity by updates, gigabits per second: 92 is printed, 92.593 predicted",
    ]
    assert [line.partition(" (")[0] for line in found["one-to-many"].contradictions] == [
        "weight = x, replicas = many: replicas, extra bandwidth: 5 is printed, 1.4495 predicted"
    ]
    assert all(claim.predicted for one in found.values() for claim in one.claims)


def test_a_path_of_its_own_says_that_it_keeps_its_phase():
    """At periods of 5 and 5 a path is stale for the share of its phase, here up to the ends of the run."""
    overrides = ["downloads=constant(period=5)", "run.seed=1:6"]
    rows = rn.sweep(load_experiment("staleness/phase-lock", overrides), workers=0).rows
    measured = [row["measured"] for row in rows]
    assert len(set(measured)) == len(rows) == 6
    assert max(measured) - min(measured) > 0.5
    for row in rows:
        assert row["verdict"] == "unresolved"
        assert row["predicted"] == pytest.approx(0.5)
        assert "keep their phases; this is a random one" in row["note"]
        assert "on one path ages depend, by up to 0.8" in row["note"]
