"""Every law against itself: formulas against quadrature, inverses against what they invert."""

from __future__ import annotations

import itertools
import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from laws_of_intervals import TEXTS
from scipy import special

from replnet import laws
from replnet.laws import Age, FieldError, Law, families, law
from replnet.laws.discrete import MOST_BREAKS, common_step
from replnet.laws.law import FAMILIES, sorted_distinct

AGES = [f"age({text})" for text in TEXTS if "1.4" not in text]
EVERY = TEXTS + AGES
SMOOTH = [text for text in EVERY if not text.startswith(("constant", "lattice", "empirical", "shuffled(windowed"))]
FINITE = [text for text in EVERY if math.isfinite(law(text).mean)]

E = np.concatenate((np.geomspace(1e-16, 1, 60), np.linspace(1, 36.7, 60)))  # all that a uniform of 53 bits gives

NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)


def points(one: Law) -> np.ndarray:
    """Short, usual and long intervals of a law, away from its jumps."""
    return np.unique(one.solve(np.array([1e-6, 1e-3, 0.1, 0.5, 1, 2, 5, 12])) * 0.999)


def quadrature(f, one: Law, low: float, high: float) -> float:
    """Integral of f from low to high, in pieces cut where the law bends or changes size; long ones in log x."""
    levels = np.concatenate((np.geomspace(1e-8, 1, 6), np.arange(2.0, 40, 2), np.arange(40.0, 600, 40)))
    cuts = [*one.breaks, *(cut for cut in np.ravel(one.solve(levels)) if math.isfinite(cut))]
    cuts = [low, *sorted({float(cut) for cut in cuts if low < cut < high})]
    if math.isfinite(high):
        cuts.append(high)
    total = 0.0
    for a, b in itertools.pairwise(cuts):
        edges = np.geomspace(a, b, 17) if b > 2 * a > 0 else np.linspace(a, b, 17)
        half = np.diff(edges)[:, None] / 2
        total += float(np.sum(half * WEIGHTS * f(edges[:-1, None] + half * (NODES + 1))))
    return total


@pytest.mark.parametrize("text", EVERY)
def test_integrals_of_the_tail_are_those_by_quadrature(text: str) -> None:
    one = law(text)
    for x in points(one):
        assert one.integrated_tail(x) == pytest.approx(quadrature(one.tail, one, 0, x), rel=1e-9)
    if math.isfinite(one.mean):
        for x in [0.0, *points(one)]:
            expected = quadrature(one.tail, one, x, math.inf)
            assert one.excess(x) == pytest.approx(expected, rel=1e-8, abs=1e-13 * one.mean)
        assert one.excess(0.0) == pytest.approx(one.mean, rel=1e-12)
        far = 1e12 * one.mean
        assert one.excess(far) + one.integrated_tail(far) == pytest.approx(one.mean, rel=1e-9)


@pytest.mark.parametrize("text", FINITE)
def test_second_moment_is_twice_the_integral_of_the_excess(text: str) -> None:
    one = law(text)
    if math.isfinite(one.second_moment):
        expected = 2 * quadrature(one.excess, one, 0, math.inf)
        assert one.second_moment == pytest.approx(expected, rel=1e-7)
        assert one.variance == pytest.approx(expected - one.mean**2, abs=1e-6 * expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("scipy(name=lomax, c=1.9)", math.inf),
        ("age(pareto(alpha=3, rate=1))", math.inf),
        ("age(weibull(shape=0.6, scale=1))", math.gamma(6) / (3 * math.gamma(1 + 1 / 0.6))),
        ("age(lognormal(sigma=2, scale=1))", math.exp(16) / 3),
        ("age(scipy(name=lomax, c=3.5))", 6 / (2.5 * 1.5 * 0.5) / (3 / 2.5)),
        ("scipy(name=fisk, c=2.5)", (0.8 * math.pi) / math.sin(0.8 * math.pi)),
    ],
)
def test_second_moments_in_closed_form(text: str, expected: float) -> None:
    assert law(text).second_moment == pytest.approx(expected, rel=1e-9)


CLOSED = [text for text in FINITE if type(law(text).age) is not Age]


@pytest.mark.parametrize("text", CLOSED)
def test_age_in_closed_form_is_the_numerical_one(text: str) -> None:
    closed, numerical = law(text).age, Age(law(text))
    x = points(closed)
    for name in ("tail", "cdf", "integrated_tail", "excess"):
        np.testing.assert_allclose(getattr(closed, name)(x), getattr(numerical, name)(x), rtol=1e-9, atol=1e-15)
    # A long age near the end of a bounded support is known to fewer digits of e than of x.
    np.testing.assert_allclose(closed.solve(E), numerical.solve(E), rtol=1e-12)
    assert closed.mean == pytest.approx(numerical.mean, rel=1e-12)
    assert closed.second_moment == pytest.approx(numerical.second_moment, rel=1e-11)


def test_every_simple_family_has_its_age_in_closed_form() -> None:
    simple = {"exponential", "constant", "pareto", "hyperexponential", "lattice", "empirical"}
    assert simple <= {text.split("(")[0] for text in CLOSED}


def test_ages_keep_their_digits_far_out() -> None:
    once, twice = Age(law("exponential(rate=1)")), Age(Age(law("exponential(rate=1)")))
    x = np.array([1e-12, 1e-3, 1.0, 30.0, 300.0])
    for one in (once, twice):
        for f in (one.tail, one.excess):
            np.testing.assert_allclose(f(x), np.exp(-x), rtol=1e-10)
        for f in (one.cdf, one.integrated_tail):
            np.testing.assert_allclose(f(x), -np.expm1(-x), rtol=1e-10)
    cube = Age(Age(law("uniform(low=0, high=1)")))
    np.testing.assert_allclose(cube.tail(1 - 1e-6), 1e-18, rtol=1e-9)
    shaped = law("weibull(shape=3, scale=1)").age
    np.testing.assert_allclose(shaped.tail(8.0), special.gammaincc(1 / 3, 512.0), rtol=1e-12)


@pytest.mark.parametrize("text", EVERY)
def test_solve_solves_equation_2(text: str) -> None:
    """e lies between the hazards just below and just above the interval."""
    one = law(text)
    x = one.solve(E)
    below, above = one.hazard(x * (1 - 1e-10)), one.hazard(x * (1 + 1e-10))
    assert np.all(below <= E * (1 + 1e-10))
    assert np.all(above >= E * (1 - 1e-10))
    assert np.all(np.diff(x) >= 0)
    assert one.isf(1.0) <= one.solve(1e-16)
    assert one.isf(0.0) >= one.solve(36.7)
    assert one.tail(0.0) == pytest.approx(1, rel=1e-12)
    assert one.quantile(0.0) == 0
    if math.isfinite(one.isf(0.0)):
        assert one.tail(one.isf(0.0)) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("text", SMOOTH)
def test_isf_inverts_the_tail(text: str) -> None:
    one = law(text)
    q = np.array([1e-12, 1e-6, 0.01, 0.3, 0.7, 0.99])
    # Near the end of a bounded support an interval is known to 2^-53 only, hence the tail.
    np.testing.assert_allclose(one.tail(one.isf(q)), q, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(one.cdf(one.quantile(q)), q, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("text", [text for text in TEXTS if text.startswith(("constant", "lattice", "empirical"))])
def test_inverses_on_atoms(text: str) -> None:
    one = law(text)
    values = np.array(one.breaks)
    np.testing.assert_array_equal(one.isf(one.tail(values)), values)
    between = (one.tail(values) + np.append(1.0, one.tail(values)[:-1])) / 2
    np.testing.assert_array_equal(one.isf(between), values)
    np.testing.assert_array_equal(one.solve(-np.log(between)), values)
    assert one.draw(0.0) == values[0]


@pytest.mark.parametrize("text", EVERY)
def test_a_draw_solves_and_depends_on_its_own_element_only(text: str) -> None:
    one = law(text)
    e = np.append(E, np.random.default_rng(1).standard_exponential(2000))
    np.testing.assert_allclose(one.draw(e), one.solve(e), rtol=2e-11)
    e = np.random.default_rng(2).standard_exponential(500) ** 3
    whole = one.draw(e)
    assert one.draw(e.reshape(20, 25)).shape == (20, 25)
    np.testing.assert_array_equal(one.draw(e.reshape(20, 25)).ravel(), whole)
    np.testing.assert_array_equal(one.draw(e[::-7]), whole[::-7])
    np.testing.assert_array_equal(one.draw(np.tile(e, 40))[-500:], whole)
    assert [float(one.draw(each)) for each in e[:50].tolist()] == whole[:50].tolist()
    assert one.draw(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("text", EVERY)
def test_covering_interval_given_the_age(text: str) -> None:
    """P(X > x | X > a) = tail(x) / tail(a), on a grid of e that is off by at most 1 / n."""
    one, n = law(text), 4000
    e = -np.log((np.arange(n) + 0.5) / n)
    for age in one.solve(np.array([1e-9, 0.3, 2.0, 20.0])):
        covering = one.covering(age, e)
        assert np.all(covering >= age)
        for x in one.solve(np.array([0.1, 1.0, 3.0])):
            if one.tail(age) > 0:
                expected = one.tail(max(x, age)) / one.tail(age)
                assert abs(np.mean(covering > x * (1 + 1e-9)) - expected) <= 1 / n + 1e-7
    ages = one.solve(E)
    for e in (0.0, 1e-16, 1.0, 40.0):
        covering = one.covering(ages, e)
        assert np.all(covering >= ages)
        assert np.all(np.isfinite(covering))


def test_covering_close_to_the_age() -> None:
    """An atom at the age is past, and of a short wait the residual is kept."""
    one = law("lattice(values=[1, 2, 5])")
    np.testing.assert_array_equal(one.covering(np.array([0.0, 0.5, 1.0, 1.5, 2.0, 5.0]), 1e-17), [1, 1, 2, 2, 5, 5])
    assert law("constant(period=2)").covering(1.5, 1e-17) == 2
    one = law("pareto(alpha=3, scale=1)")
    assert one.covering(1e3, 1e-9) - 1e3 == pytest.approx(1001e-9 / 3, rel=1e-3)
    assert one.covering(0.0, 1e-15) == pytest.approx(1e-15 / 3, rel=1e-12)


def test_span() -> None:
    assert law("exponential(rate=1)").span is None
    assert law("constant(period=0.25)").span == 0.25
    assert law("empirical(intervals=[7])").span == 7
    assert law("lattice(values=[0.3333333333333333, 0.25])").span == pytest.approx(1 / 12, rel=1e-15)
    assert law("lattice(values=[1, 3.141592653589793])").span is None
    # A lattice finer than a millionth is none.
    assert common_step([1.0, 1e6]) == 1
    assert common_step([1.0, 1e6 + 1]) is None
    assert common_step(np.random.default_rng(3).random(20_000)) is None


def test_a_long_record() -> None:
    intervals = np.random.default_rng(4).exponential(size=200_000)
    one = laws.empirical(intervals)
    e = np.append(np.random.default_rng(5).exponential(size=200_000), [0.0, 1e-17, 40.0])
    np.testing.assert_array_equal(one.draw(e), one.values[np.searchsorted(one.hazards, e)])
    assert one.mean == pytest.approx(math.fsum(intervals) / intervals.size, rel=1e-14)
    assert one.excess(0.5) == pytest.approx(np.maximum(intervals - 0.5, 0).mean(), rel=1e-12)
    assert one.tail(0.5) == np.mean(intervals > 0.5)
    assert 10 < len(one.breaks) <= MOST_BREAKS
    assert "200000 of mean" in str(one)
    assert one == laws.empirical(intervals[::-1]) != laws.empirical(intervals[1:])


def test_discrete_laws_are_canonical() -> None:
    one = laws.lattice(np.arange(1, 101), np.append(np.full(99, 1e-6), 1.0))  # drawn by bisection
    e = np.random.default_rng(6).exponential(size=1000) * 1e-4
    np.testing.assert_array_equal(one.draw(e), one.values[np.searchsorted(one.hazards, e)])
    assert laws.empirical([0, 1, 2, 0]) == laws.empirical([1, 2])
    assert laws.lattice([2, 1, 2], [1, 3, 1]) == laws.lattice([1, 2], [3, 2])
    assert laws.lattice([1, 2]) == laws.lattice([1, 2], [5, 5])


def test_scipy_is_the_family_it_names() -> None:
    stats = pytest.importorskip("scipy.stats")
    one, same = laws.Scipy.of(stats.gamma(2.5, scale=0.2)), laws.gamma(2.5, rate=2)
    assert one == laws.scipy("gamma", a=2.5, scale=0.2)
    np.testing.assert_allclose(one.solve(E), same.solve(E), rtol=1e-10)
    np.testing.assert_allclose(one.excess(points(same)), same.excess(points(same)), rtol=1e-10)
    assert one.mean == pytest.approx(same.mean, rel=1e-12)


@pytest.mark.parametrize("text", EVERY)
def test_laws_are_values_and_take_numbers_and_arrays(text: str) -> None:
    one = law(text)
    copy = pickle.loads(pickle.dumps(one))
    assert copy == one == law(text)
    assert hash(copy) == hash(one)
    assert repr(one) == str(one)
    assert one != law("exponential(rate=17)")
    for name in ("tail", "cdf", "excess", "integrated_tail", "hazard", "isf", "quantile", "draw", "solve"):
        f = getattr(one, name)
        assert np.ndim(f(0.5)) == 0
        assert np.shape(f(np.full((2, 3), 0.5))) == (2, 3)
        assert f(np.full(3, 0.5)).tolist() == pytest.approx([float(f(0.5))] * 3, rel=1e-14)


def test_infinite_mean_has_no_age() -> None:
    heavy = laws.pareto(0.9, scale=1)
    assert heavy.mean == heavy.second_moment == math.inf
    for refuse in (lambda: heavy.age, lambda: Age(heavy), heavy.require_finite_mean):
        with pytest.raises(FieldError, match="infinite mean"):
            refuse()
    endless = Age(laws.pareto(1.9, rate=1))
    assert endless.mean == endless.excess(1.0) == endless.second_moment == math.inf
    closed = laws.pareto(1.9, rate=1).age
    np.testing.assert_allclose(
        endless.integrated_tail([0.1, 10, 1e70]), closed.integrated_tail([0.1, 10, 1e70]), rtol=1e-9
    )


def test_the_law_that_the_guide_adds_is_one() -> None:
    """The example of CONTRIBUTING, as it stands there."""
    guide = Path(__file__).parents[2] / ".github" / "CONTRIBUTING.md"
    (source,) = re.findall(r"```python\n(@final\n@family.*?)```", guide.read_text(), re.DOTALL)
    exec(source, dict(vars(families)))
    try:
        text = "tapered(alpha=2.5, rate=2)"
        for check in (
            test_integrals_of_the_tail_are_those_by_quadrature,
            test_second_moment_is_twice_the_integral_of_the_excess,
            test_age_in_closed_form_is_the_numerical_one,
            test_solve_solves_equation_2,
            test_isf_inverts_the_tail,
            test_a_draw_solves_and_depends_on_its_own_element_only,
        ):
            check(text)
            check(str(law(text).age))
        assert [str(law(one)) for one in (text, "tapered(alpha=2, longest=3)")] == [text, "tapered(alpha=2, rate=1)"]
        with pytest.raises(FieldError, match=r"allowed: alpha, rate, mean, longest; for example tapered\(alpha=2"):
            law("tapered(alpha=2, scale=1)")
    finally:
        del FAMILIES["tapered"]


@pytest.mark.parametrize("numbers", [[], [3], [2, 2, 1], [[5, 1], [1, 0]], [2**40, -1, 2**40]])
def test_numbers_are_told_apart(numbers):
    assert sorted_distinct(np.array(numbers, np.int64)).tolist() == sorted({*np.ravel(numbers).astype(int).tolist()})
