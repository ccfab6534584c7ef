"""Orders of downloads carried out: their shape exactly, what copies are worth by hand, and against formulas."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import stdtrit

from replnet.ages.information_age import direct
from replnet.engines.aggregate.carousel import Carousel
from replnet.engines.aggregate.copies import followed, together
from replnet.engines.aggregate.kernels import fresh_time
from replnet.engines.aggregate.processes import CHUNK, before, chunks, named, renewals
from replnet.engines.aggregate.refreshes import Draws, Listed, Renewing, Round, Scattered, Shuffled, freshest
from replnet.laws import Constant, Exponential, FieldError, Gamma, Pareto, Uniform
from replnet.laws.processes.streams import seed_words
from replnet.laws.text import at_rate
from replnet.measure.estimate import ratio
from replnet.papers.crawl_policies import order_freshness
from replnet.papers.crawling import Pages, fixed_freshness, optimal_random, optimal_slotted, random_freshness
from replnet.papers.sync_order import FIXED, RANDOM, PurelyRandom, RandomOrder

FALSE_ALARM = 1e-6  # chance that one comparison fails correct code, by Student's law
POISSON = Exponential(rate=1.0)


def assert_agrees(samples, expected: float, *, resolution: float) -> None:
    """Fail if the mean over replications is not `expected`, or if an error of `resolution` could pass.

    Samples are means over hundreds of sources or over long times, so Student's law is theirs to all that
    matters here; what is wrong by `resolution` is seen with chance above 0.999.
    """
    samples = np.asarray(samples, dtype=float)
    estimate = ratio(samples, np.ones(samples.size))
    allowed = estimate.error * stdtrit(samples.size - 1, 1 - FALSE_ALARM / 2)
    assert allowed + 3.2 * estimate.error <= resolution, f"{samples.size} resolve {allowed + 3.2 * estimate.error:.2g}"
    assert abs(estimate.value - expected) <= allowed + 1e-12


def listed(refreshes, horizon: float, seed: int = 1, replication: int = 0) -> Listed:
    (only,) = refreshes.listed(seed_words(seed, replication), horizon)
    return only


def in_time(found: Listed) -> tuple[np.ndarray, np.ndarray]:
    """All instants in order, and whose they are."""
    who = np.repeat(np.arange(found.age.size), found.sizes)
    order = np.argsort(found.instants, kind="stable")
    return found.instants[order], who[order]


# ---- orders


def test_rounds_in_fixed_order():
    times, who = in_time(listed(Round(np.arange(4), 0.5, 4), 11.0))
    assert (np.diff(who) % 4 == 1).all()
    np.testing.assert_allclose(np.diff(times), 0.5, rtol=1e-12)
    assert 0 <= times[0] < 0.5
    assert 10.5 <= times[-1] < 11


def test_rounds_in_random_order():
    times, who = in_time(listed(Shuffled(5, 1.0), 200.0))
    np.testing.assert_allclose(np.diff(times), 0.2, rtol=1e-9)
    # Where a round begins is chance: at one of five places every five have everybody.
    rounds = [who[k:][: (who.size - k) // 5 * 5].reshape(-1, 5) for k in range(5)]
    whole = next(one for one in rounds if (np.sort(one, axis=1) == np.arange(5)).all())
    assert len({tuple(row) for row in whole.tolist()}) > 60  # of 120, in 200 rounds


def test_permutations_are_even():
    """24 orders of 4 sources in 24,000 rounds: chi-square, 23 degrees; beyond 74 with chance 3e-7."""
    _, who = in_time(listed(Shuffled(4, 1.0), 24_001.0, seed=5))
    starts = [k for k in range(4) if (np.sort(who[k : k + 400].reshape(-1, 4), axis=1) == np.arange(4)).all()]
    whole = who[starts[0] : starts[0] + 96_000].reshape(-1, 4) @ [64, 16, 4, 1]
    counts = np.unique(whole, return_counts=True)[1]
    assert counts.size == 24
    assert ((counts - 1000.0) ** 2 / 1000).sum() < 74


def test_draws_follow_the_shares():
    """Counts of 30,000 draws: beyond 5 standard deviations with chance 6e-7 each; sees errors of 5 % of the rarest."""
    chance = np.array([0.1, 0.0, 0.3, 0.6])
    times, who = in_time(listed(Draws(chance, 0.1), 3000.0, seed=2))
    np.testing.assert_allclose(np.diff(times), 0.1, rtol=1e-8)
    counts = np.bincount(who, minlength=4)
    assert counts.sum() == pytest.approx(30_000, abs=1)
    assert (np.abs(counts - 30_000 * chance) <= 5 * np.sqrt(30_000 * chance * (1 - chance))).all()


def test_own_intervals():
    often = np.array([0.5, 0.0, 4.0])
    for refreshes in (Renewing(Constant(rate=1.0), often), Scattered(often)):
        made = listed(refreshes, 40.0, seed=3)
        assert made.sizes[1] == 0
        for i in (0, 2):
            gaps = np.diff([-made.age[i], *made.of(np.array([i])).instants]) * often[i]
            if isinstance(refreshes, Renewing):
                np.testing.assert_allclose(gaps, 1, rtol=1e-9)
            else:
                assert 0 <= gaps.min() < gaps.max() <= 2
            assert abs(made.sizes[i] - 40 * often[i]) <= 1


ALIKE = [Round(np.arange(7), 1 / 7, 7), Shuffled(7, 1.0), Draws(np.ones(7) / 7, 1 / 7), Scattered(np.ones(7))]
ALIKE += [Renewing(law, np.ones(7)) for law in (Constant(rate=3.0), Exponential(rate=1.0), Gamma(shape=0.5, rate=2.0))]


@pytest.mark.parametrize("refreshes", ALIKE, ids=lambda one: type(one).__name__)
def test_seeds_horizons_and_a_past(refreshes):
    one, same = (listed(refreshes, 5.0, 4, 2) for _ in range(2))
    assert one.instants.tobytes() == same.instants.tobytes()
    for other in (listed(refreshes, 5.0, 4, 3), listed(refreshes, 5.0, 5, 2)):
        assert one.instants[0] != other.instants[0]
    longer = listed(refreshes, 9.0, 4, 2)
    assert longer.age.tobytes() == one.age.tobytes()
    assert longer.instants[longer.instants < 5.0].tolist() == one.instants.tolist()
    assert ((one.age >= 0) & np.isfinite(one.age)).all()


@pytest.mark.parametrize("refreshes", ALIKE, ids=lambda one: type(one).__name__)
def test_ages_at_zero_are_stationary(refreshes):
    """The age of the last refresh has the mean that it has later; 2,000 replications of 7 sources.

    Sources are not independent, so the means over sources are the samples; ages have no heavy tail here.
    """
    ages = np.array([listed(refreshes, 3.7, 9, k).age.mean() for k in range(2000)])
    later = []
    for k in range(2000):
        found = listed(refreshes, 3.7, 9, k)
        last = -found.age
        np.maximum.at(last, np.repeat(np.arange(7), found.sizes), found.instants)
        later.append((3.7 - last).mean())
    assert_agrees(ages - np.array(later), 0.0, resolution=0.35)


@pytest.mark.parametrize("turns", [True, False])
def test_replicas_share_the_downloads_of_a_source(turns):
    often, m = np.array([2.0, 0.0, 0.7]), 3
    alone = listed(Renewing(Gamma(shape=3.0, rate=1.0), often), 60.0)
    shared = Renewing(Gamma(shape=3.0, rate=1.0), often, m, turns).listed(seed_words(1, 0), 60.0)
    together_ = freshest(shared)
    assert len(shared) == m
    assert all(np.isinf(one.age[1]) and one.sizes[1] == 0 for one in shared)
    if turns:  # the very same downloads, dealt
        assert together_.instants.tolist() == alone.instants.tolist()
        assert together_.age.tolist() == pytest.approx(alone.age.tolist(), rel=1e-15)
        whose = np.argsort(np.concatenate([one.of(np.array([0])).instants for one in shared]))
        dealt = np.repeat(np.arange(m), [one.sizes[0] for one in shared])[whose]
        assert (np.diff(dealt) % m == 1).all()
        # And before zero as well: the ages of the three are those of the last three downloads.
        ages = sorted(one.age[0] for one in shared)
        run, names = seed_words(1, 0), named(np.arange(3))[:1]
        past = before(Gamma(shape=3.0, rate=1.0), often[:1], run, names, "downloads", alone.age[:1], np.zeros(1), m)
        assert ages == past[0, :m].tolist()
        assert shared[(dealt[0] - 1) % m].age[0] == ages[0]
    else:
        assert together_.sizes.sum() == sum(one.instants.size for one in shared)
        assert shared[0].instants[0] != shared[1].instants[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Draws(np.array([0.5, 0.4]), 1.0), "refreshes.shares: they add up to 0.9"),
        (lambda: Round(np.array([0, 2]), 1.0, 2), "refreshes.order: not a list of sources"),
        (lambda: Round(np.array([0, 1]), 0.0, 2), "refreshes.slot: 0.0 is not above 0"),
        (lambda: Renewing(POISSON, np.array([-1.0])), "refreshes.rates: not a list"),
        (lambda: listed(Renewing(POISSON, np.ones(1000)), 1e9), "horizon: 1e+12 downloads"),
    ],
)
def test_errors_name_the_field(make, words):
    with pytest.raises(FieldError) as caught:
        make()
    assert str(caught.value).startswith(words)


# ---- processes


def test_a_source_does_not_depend_on_the_others():
    """Its stream is named by its number: more sources behind it change nothing."""
    run, rates = seed_words(3, 0), np.full(5, 2.0)
    first = renewals(POISSON, rates[:3], run, named(np.arange(3)), "updates", 9.0)
    second = renewals(POISSON, rates, run, named(np.arange(5)), "updates", 9.0)
    assert first.age.tolist() == second.age[:3].tolist()
    assert all(row.min() > 9 for row in (first.rows[:, -1], second.rows[:, -1]))
    known = min(first.rows.shape[1], second.rows.shape[1])
    assert first.rows[:, :known].tolist() == second.rows[:3, :known].tolist()


def test_chunks_are_all_sources_once_and_little_waste():
    rates = np.random.default_rng(1).pareto(0.5, 30_000)
    horizon, seen = 100.0, []
    for chunk in chunks(rates, horizon):
        seen += chunk.tolist()
        assert chunk.size == 1 or horizon * rates[chunk].max() * chunk.size <= 2 * CHUNK
    assert sorted(seen) == list(range(rates.size))


# ---- copies


def plain_fresh_time(horizon, changes, change_age, refreshes, refresh_age):
    """The twin of the kernel, interval by interval: fresh from a refresh to the next change."""
    past = [(-change_age, 0), (-refresh_age, 1)]
    events = [(t, 0) for t in changes if t < horizon] + [(t, 1) for t in refreshes]
    time, fresh, total = 0.0, sorted(past)[-1][1], 0.0
    for t, kind in [*sorted(events), (horizon, 0)]:
        total += (t - time) * fresh
        time, fresh = t, kind
    return total


def test_the_kernel_does_as_its_plain_twin():
    rng = np.random.default_rng(5)
    for _ in range(100):
        n, horizon = int(rng.integers(1, 5)), 10.0
        # On a lattice, so that changes and refreshes meet.
        changes = np.cumsum(rng.integers(1, 5, (n, 40)), axis=1) / 4
        changes[:, -1] = 99
        refreshes = [np.unique(rng.integers(1, 40, rng.integers(0, 9))) / 4 for _ in range(n)]
        ages = rng.integers(0, 4, (2, n)).astype(float)
        begin, out = np.concatenate([[0], np.cumsum([r.size for r in refreshes])]), np.empty(n)
        fresh_time(horizon, changes, ages[0], begin, np.concatenate(refreshes), ages[1], out)
        expected = [plain_fresh_time(horizon, changes[k], ages[0, k], refreshes[k], ages[1, k]) for k in range(n)]
        assert out.tolist() == pytest.approx(expected, abs=1e-12)


def test_together_as_by_hand():
    rng = np.random.default_rng(3)
    for _ in range(50):
        n, horizon = int(rng.integers(1, 4)), 8.0
        cuts = [np.sort(rng.uniform(0, horizon, 2 * rng.integers(0, 4))) for _ in range(n)]
        stale = [(one[::2], one[1::2]) for one in cuts]
        any_fresh = all_fresh = 0.0
        for low, high in pairwise(np.unique(np.concatenate([[0, horizon], *cuts]))):
            late = sum(bool(((begin < high) & (end > low)).any()) for begin, end in stale)
            any_fresh += (high - low) * (late < n)
            all_fresh += (high - low) * (late == 0)
        assert together(stale, n, horizon) == pytest.approx((any_fresh, all_fresh), abs=1e-12)


def worth(refreshes, rates, horizon, *, replications=40, seed=7, weights=None, law=POISSON) -> np.ndarray:
    """Mean freshness over sources, per replication."""
    rates = np.asarray(rates, dtype=float)
    weights = np.ones(rates.size) if weights is None else np.asarray(weights, dtype=float)
    found = np.empty(replications)
    for replication in range(replications):
        run, fresh = seed_words(seed, replication), np.empty(rates.size)
        copies = freshest(refreshes.listed(run, horizon))
        for chunk in followed([(law, np.arange(rates.size))], rates, run, horizon):
            fresh[chunk.some] = chunk.fresh(copies)
        found[replication] = weights @ fresh / weights.sum() / horizon
    return found


COUNT = 400


@pytest.mark.parametrize("r", [0.3, 4.0])
@pytest.mark.parametrize("order", ["fixed", "random", "purely random"])
def test_table_2(order, r):
    """All sources alike, with the formulas for so many."""
    made, expected = {
        "fixed": (Round(np.arange(COUNT), 1 / COUNT, COUNT), FIXED),
        "random": (Shuffled(COUNT, 1.0), RandomOrder(COUNT)),
        "purely random": (Draws(np.ones(COUNT) / COUNT, 1 / COUNT), PurelyRandom(1 / COUNT)),
    }[order]
    fresh = worth(made, np.full(COUNT, r), 100.0, seed=int(10 * r))
    assert_agrees(fresh, float(expected.freshness_at(r)), resolution=0.007)


def test_own_shares_and_own_intervals():
    """Every source has a share of its own, and so a formula of its own."""
    rates, often = np.linspace(0.2, 3, COUNT), np.linspace(0.4, 2, COUNT)
    each = [float(PurelyRandom(float(f / often.sum())).freshness(a, f)) for a, f in zip(rates, often, strict=True)]
    drawn = worth(Draws(often / often.sum(), 1 / often.sum()), rates, 100.0)
    assert_agrees(drawn, float(np.mean(each)), resolution=0.007)
    scattered = worth(Scattered(often), rates, 100.0)
    assert_agrees(scattered, float(np.mean(RANDOM.freshness(rates, often))), resolution=0.007)


def pages(size: int = 300) -> Pages:
    rng = np.random.default_rng(size)
    u, d = rng.random(size), rng.random(size)
    u[0], d[1], d[2] = 0, 0, 20
    return Pages(u, d)


BUDGET = 30.0
OPTIMAL = optimal_random(pages(), BUDGET).rates
SCHEDULE = Carousel(OPTIMAL).take(3000)
UNEVEN = np.repeat(np.arange(300), 2)  # two slots of every source in a row, then none for long


@pytest.mark.parametrize(
    ("refreshes", "expected", "horizon"),
    [
        (Renewing(POISSON, OPTIMAL), random_freshness(pages(), OPTIMAL), 20.0),
        (Renewing(Constant(rate=1), OPTIMAL), fixed_freshness(pages(), OPTIMAL), 20.0),
        # From time zero on, however short the horizon is beside the round.
        (Round(SCHEDULE, 1 / BUDGET, 300), order_freshness(pages(), SCHEDULE, 1 / BUDGET), 20.0),
        (Round(SCHEDULE, 1 / BUDGET, 300), order_freshness(pages(), SCHEDULE, 1 / BUDGET), 0.5),
        (Round(UNEVEN, 0.01, 300), order_freshness(pages(), UNEVEN, 0.01), 20.0),
    ],
    ids=["equation 5", "equation 6", "carousel", "carousel, short", "uneven order"],
)
def test_crawls_are_as_fresh_as_formulas_say(refreshes, expected, horizon):
    fresh = worth(refreshes, pages().changes, horizon, weights=pages().utilities, replications=300)
    assert_agrees(fresh, expected, resolution=0.012)


def test_draws_in_slots_are_as_fresh_as_equation_3_says_over_a_slot():
    """Few sources and many changes in a slot, where continuous time is another thing."""
    few = Pages([1.0, 2.0, 3.0], [2.0, 1.0, 0.5])
    shares = optimal_slotted(few).rates
    each = [PurelyRandom(p).freshness(d, p) for p, d in zip(shares, few.changes, strict=True)]
    expected = float(few.utilities @ each) / float(few.utilities.sum())
    assert abs(expected - random_freshness(few, shares)) > 0.05
    fresh = worth(Draws(shares, 1.0), few.changes, 500.0, weights=few.utilities, replications=300)
    assert_agrees(fresh, expected, resolution=0.01)


@pytest.mark.parametrize(
    ("changes", "downloads"),
    [
        (Pareto(alpha=3, rate=1.0), Uniform(low=0, high=1)),
        (Constant(rate=2.0), Gamma(shape=4.0, rate=1.0)),
        (Gamma(shape=0.5, rate=1.0), Constant(rate=1.0)),
    ],
    ids=str,
)
def test_changes_and_downloads_of_other_laws(changes, downloads):
    """The rates scale the laws."""
    fresh = worth(Renewing(downloads, np.full(COUNT, 2.0)), np.full(COUNT, 1.5), 60.0, law=changes)
    expected = direct(at_rate(downloads, 2.0)).freshness(at_rate(changes, 1.5)).value
    assert_agrees(fresh, expected, resolution=0.01)


def test_what_never_changes_and_what_is_never_downloaded():
    """What never changes is fresh, downloaded or not; what changes and is never downloaded is not."""
    fresh = worth(Renewing(POISSON, np.array([0.0, 1.0, 0.0])), [0, 0, 1], 5.0, replications=3)
    assert fresh == pytest.approx(2 / 3, abs=1e-15)


def test_chunks_do_not_matter(monkeypatch):
    rates = np.linspace(0, 5, 30)
    for law in (POISSON, Pareto(1.2, rate=3.0)):
        made = Renewing(law, np.linspace(0.1, 3, 30))
        whole = worth(made, rates, 200.0, replications=2, law=law)
        monkeypatch.setattr("replnet.engines.aggregate.processes.CHUNK", 500)
        parts = worth(made, rates, 200.0, replications=2, law=law)
        monkeypatch.undo()
        assert whole.tolist() == parts.tolist()
