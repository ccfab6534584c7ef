"""Orders of downloads: their shape exactly, in equilibrium, and worth what formulas say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from replnet.allocation import Pages, optimal_random_rates, optimal_slot_shares
from replnet.allocation.orders import FIXED, RANDOM, purely_random, random_order
from replnet.lab.papers.crawl import fixed_freshness, order_freshness, random_freshness
from replnet.laws import Constant, Exponential, FieldError, Gamma, Law
from replnet.network.sources import source_words
from replnet.processes.carousel import Carousel
from replnet.processes.process_set import ProcessSet
from replnet.processes.schedules import Draws, Events, Round, Scattered, Schedule, Shuffled
from replnet.processes.streams import PURPOSES, seed_words
from replnet.testing import FALSE_ALARM


def assert_agrees(samples, expected: float, *, resolution: float) -> None:
    """Fail if the mean over replications is not `expected`, or if an error of `resolution` could pass.

    Samples are means over hundreds of sources or over long times, so Student's law is theirs to all that
    matters here; what is wrong by `resolution` is seen with chance above 0.999.
    """
    samples = np.asarray(samples, dtype=float)
    error = float(samples.std(ddof=1)) / samples.size**0.5
    allowed = error * student.isf(FALSE_ALARM / 2, samples.size - 1)
    assert allowed + 3.2 * error <= resolution, f"{samples.size} resolve {allowed + 3.2 * error:.2g}"
    assert abs(samples.mean() - expected) <= allowed + 1e-12


def made(of: Schedule | tuple[Law, np.ndarray], size: int, seed: int = 1, replication: int = 0) -> ProcessSet:
    """A schedule of so many processes, or renewals of a law at these rates."""
    names, none = source_words(size), np.zeros(1, np.uint64)
    run, purpose = seed_words(seed, replication), np.full(size, PURPOSES["downloads"])
    laws, rates = ([of[0]], of[1]) if isinstance(of, tuple) else ([Exponential(rate=1.0)], np.ones(size))
    schedules = [] if isinstance(of, tuple) else [(of, np.arange(size), run)]
    return ProcessSet(laws, np.zeros(size, np.int64), rates, none, run + names, purpose, schedules)


def in_time(of: ProcessSet, horizon: float) -> Events:
    """All instants in order, and whose they are."""
    at, who = [np.empty(0)], [np.empty(0, np.int64)]
    while of.now < horizon:
        window = of.window(horizon)
        for p in range(of.age.size):
            at.append(window.of(p).copy())
            who.append(np.full(at[-1].size, p))
    times, whose = np.concatenate(at), np.concatenate(who)
    order = np.argsort(times, kind="stable")
    return times[order], whose[order]


def test_rounds_in_fixed_order():
    times, who = in_time(made(Round(np.arange(4), 0.5, 4), 4), 11.0)
    assert (np.diff(who) % 4 == 1).all()
    np.testing.assert_allclose(np.diff(times), 0.5, rtol=1e-12)
    assert 0 <= times[0] < 0.5
    assert 10.5 <= times[-1] < 11


def test_permutations_are_even():
    """24 orders of 4 sources in 24,000 rounds: chi-square, 23 degrees; beyond 74 with chance 3e-7."""
    times, who = in_time(made(Shuffled(4, 1.0), 4, seed=5), 24_001.0)
    np.testing.assert_allclose(np.diff(times), 0.25, rtol=1e-7)
    starts = [k for k in range(4) if (np.sort(who[k : k + 400].reshape(-1, 4), axis=1) == np.arange(4)).all()]
    whole = who[starts[0] : starts[0] + 96_000].reshape(-1, 4) @ [64, 16, 4, 1]
    counts = np.unique(whole, return_counts=True)[1]
    assert counts.size == 24
    assert ((counts - 1000.0) ** 2 / 1000).sum() < 74


def test_draws_follow_the_shares():
    """Counts of 30,000 draws: beyond 5 standard deviations with chance 6e-7 each; sees errors of 5 % of the rarest."""
    chance = np.array([0.1, 0.0, 0.3, 0.6])
    times, who = in_time(made(Draws(chance, 0.1), 4, seed=2), 3000.0)
    np.testing.assert_allclose(np.diff(times), 0.1, rtol=1e-8)
    counts = np.bincount(who, minlength=4)
    assert counts.sum() == pytest.approx(30_000, abs=1)
    assert (np.abs(counts - 30_000 * chance) <= 5 * np.sqrt(30_000 * chance * (1 - chance))).all()


@pytest.mark.parametrize("scattered", [False, True])
def test_own_intervals(scattered):
    often = np.array([0.5, 0.0, 4.0])
    of = made(Scattered(often) if scattered else (Constant(rate=1.0), often), 3, seed=3)
    times, who = in_time(of, 40.0)
    assert 1 not in who
    for i in (0, 2):
        gaps = np.diff([-of.age[i], *times[who == i]]) * often[i]
        if scattered:
            assert 0 <= gaps.min() < gaps.max() <= 2
        else:
            np.testing.assert_allclose(gaps, 1, rtol=1e-9)
        assert abs((who == i).sum() - 40 * often[i]) <= 1


ALIKE = {
    "round": Round(np.arange(7), 1 / 7, 7),
    "uneven": Round(np.array([0, 1, 2, 0, 3, 4, 5, 6]), 1 / 7, 7),
    "shuffled": Shuffled(7, 1.0),
    "draws": Draws(np.ones(7) / 7, 1 / 7),
    "scattered": Scattered(np.ones(7)),
    "constant": (Constant(rate=3.0), np.ones(7)),
    "gamma": (Gamma(shape=0.5, rate=2.0), np.ones(7)),
}


@pytest.mark.parametrize("of", ALIKE.values(), ids=ALIKE)
def test_seeds_horizons_and_a_past(of):
    one, same = (in_time(made(of, 7, 4, 2), 5.0) for _ in range(2))
    assert one[0].tobytes() == same[0].tobytes()
    for other in (in_time(made(of, 7, 4, 3), 5.0), in_time(made(of, 7, 5, 2), 5.0)):
        assert one[0][0] != other[0][0]
    times, who = in_time(made(of, 7, 4, 2), 9.0)
    assert times[times < 5.0].tolist() == one[0].tolist()
    assert who[times < 5.0].tolist() == one[1].tolist()
    clockwork = made(of, 7, 4, 2)
    assert (clockwork.age >= 0).all()
    deep, shallow = clockwork.past(20.0), clockwork.past(6.0)
    for p in range(7):
        assert deep.of(p)[-1] == -clockwork.age[p]
        assert deep.of(p)[deep.of(p) >= -6].tolist() == shallow.of(p).tolist()
        assert (np.diff(deep.of(p)) > 0).all()


@pytest.mark.parametrize("of", ALIKE.values(), ids=ALIKE)
def test_ages_at_zero_are_stationary(of):
    """The age of the last one has the mean that it has later; 600 replications of 7 processes.

    Processes are not independent, so the means over them are the samples; ages have no heavy tail here.
    """
    differences = []
    for k in range(600):
        clockwork = made(of, 7, 9, k)
        last = -clockwork.age
        times, who = in_time(clockwork, 3.7)
        np.maximum.at(last, who, times)
        differences.append(clockwork.age.mean() - (3.7 - last).mean())
    assert_agrees(differences, 0.0, resolution=0.35)


@pytest.mark.parametrize("of", [Round(np.arange(2), 1e-12, 2), Scattered(np.full(2, 1e12))])
def test_more_than_a_memory_holds_is_refused(of):
    with pytest.raises(FieldError, match=r"^horizon: "):
        of.timetable(seed_words(1, 0), source_words(2)).between(0.0, 1e6)


def worth(of, changes, horizon: float, *, replications: int, weights=None) -> list[float]:
    """What is to be expected of the freshness of sources that change at these rates, given when they are downloaded.

    A copy of age a is fresh with probability exp(-rate a) (P2P eq. 8).
    """
    changes = np.asarray(changes, dtype=float)
    weights = np.ones(changes.size) if weights is None else np.asarray(weights, dtype=float)
    found = []
    for replication in range(replications):
        clockwork = made(of, changes.size, 7, replication)
        times, who = in_time(clockwork, horizon)
        owner = np.concatenate([np.arange(changes.size), who])
        begin = np.concatenate([np.zeros(changes.size), times])
        age = np.concatenate([clockwork.age, np.zeros(times.size)])
        order = np.lexsort((begin, owner))
        owner, begin, age = owner[order], begin[order], age[order]
        end = np.where(np.append(owner[1:], -1) == owner, np.append(begin[1:], 0.0), horizon)
        rate = changes[owner]
        with np.errstate(invalid="ignore", divide="ignore"):
            fresh = np.exp(-rate * age) * -np.expm1(-rate * (end - begin)) / rate
        fresh = np.where(rate == 0, end - begin, fresh)
        found.append(float(weights @ np.bincount(owner, fresh, changes.size) / weights.sum() / horizon))
    return found


N, COUNT = 200, 300
FEW, OFTEN = np.linspace(0.2, 3, N), np.linspace(0.4, 2, N)  # how often sources change, and are downloaded
CHANCE = np.random.default_rng(COUNT)
UTILITIES, CHANGES = CHANCE.random(COUNT), CHANCE.random(COUNT)
UTILITIES[0], CHANGES[1], CHANGES[2] = 0, 0, 20
PAGES = Pages(UTILITIES, CHANGES)
BUDGET = 30.0
OPTIMAL = optimal_random_rates(PAGES, BUDGET).rates
SCHEDULE = Carousel(OPTIMAL).take(3000)
UNEVEN = np.repeat(np.arange(COUNT), 2)  # two slots of every source in a row, then none for long
# Few sources and many changes in a slot, where continuous time is another thing.
SLOTS = Pages([1.0, 2.0, 3.0], [2.0, 1.0, 0.5])
SHARES = optimal_slot_shares(SLOTS).rates


def drawn(shares, changes, rates) -> np.ndarray:
    """Return the freshness of sources that are drawn with these shares, and so downloaded at these rates."""
    each = zip(shares.tolist(), changes, rates, strict=True)
    return np.array([float(purely_random(share).freshness(change, rate)) for share, change, rate in each])


ORDERS = {  # how sources are downloaded, and their freshness by Sync, Table 2
    "fixed": (Round(np.arange(N), 1 / N, N), FIXED),
    "random": (Shuffled(N, 1.0), random_order(N)),
    "purely random": (Draws(np.ones(N) / N, 1 / N), purely_random(1 / N)),
}
WORTH = {  # orders, the pages with how often they change, what is expected, the horizon and what is resolved
    **{
        f"{name}, {r} changes": (of, Pages(np.ones(N), np.full(N, r)), float(by.freshness_at(r)), 20.0, 0.005)
        for name, (of, by) in ORDERS.items()
        for r in (0.3, 4.0)
    },
    "own shares": (
        Draws(OFTEN / OFTEN.sum(), 1 / OFTEN.sum()), Pages(np.ones(N), FEW),
        drawn(OFTEN / OFTEN.sum(), FEW, OFTEN).mean(), 40.0, 0.007,
    ),
    "own intervals": (Scattered(OFTEN), Pages(np.ones(N), FEW), RANDOM.freshness(FEW, OFTEN).mean(), 40.0, 0.007),
    "equation 5": ((Exponential(rate=1.0), OPTIMAL), PAGES, random_freshness(PAGES, OPTIMAL), 20.0, 0.012),
    "equation 6": ((Constant(rate=1.0), OPTIMAL), PAGES, fixed_freshness(PAGES, OPTIMAL), 20.0, 0.012),
    # From time zero on, however short the horizon is beside the round.
    **{
        f"carousel, {horizon}": (
            Round(SCHEDULE, 1 / BUDGET, COUNT), PAGES, order_freshness(PAGES, SCHEDULE, 1 / BUDGET), horizon, 0.012,
        )
        for horizon in (0.5, 20.0)
    },
    "uneven order": (Round(UNEVEN, 0.01, COUNT), PAGES, order_freshness(PAGES, UNEVEN, 0.01), 20.0, 0.012),
    "slots": (Draws(SHARES, 1.0), SLOTS, SLOTS.mean(drawn(SHARES, SLOTS.changes, SHARES)), 500.0, 0.015),
}  # fmt: skip


@pytest.mark.parametrize(("of", "pages", "expected", "horizon", "resolution"), WORTH.values(), ids=WORTH)
def test_sources_are_as_fresh_as_formulas_say(of, pages, expected, horizon, resolution):
    fresh = worth(of, pages.changes, horizon, weights=pages.utilities, replications=60)
    assert_agrees(fresh, expected, resolution=resolution)


def test_what_never_changes_and_what_is_never_downloaded():
    """What never changes is fresh, downloaded or not; what changes and is never downloaded is not."""
    fresh = worth((Exponential(rate=1.0), np.array([0.0, 1.0, 0.0])), [0, 0, 1], 5.0, replications=3)
    assert fresh == pytest.approx([2 / 3] * 3, abs=1e-15)


def test_a_source_does_not_depend_on_the_others():
    """Its stream is named by its number: more sources behind it change nothing."""
    law = Exponential(rate=1.0)
    few, many = (in_time(made((law, np.full(n, 2.0)), n, 3), 9.0) for n in (3, 5))
    for i in range(3):
        assert few[0][few[1] == i].tolist() == many[0][many[1] == i].tolist()
