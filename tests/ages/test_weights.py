"""Weights of ages: closed forms against expressions and quadrature, and what is no weight."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from replnet.ages.weights import LOGARITHM, RECIPROCAL, power, threshold, weight

CLOSED = ["1", "x", "x^2", "x^0.5", "1/(1+x)", "log(1+x)", "threshold(0.3)"]


@pytest.mark.parametrize("w", [*CLOSED, "2*x/2", "1/(1 + 1*x)", "min(x, 2)", "x/(1+x)", "1 - exp(-x)", "(x > 0.3) * x"])
def test_integrals_against_adaptive_quadrature(w):
    w = weight(w)
    for x in (0.2, 1.7, 9.0):
        breaks = [at for at in (0.3, 2.0) if at < x]
        for one, whole in itertools.pairwise(w.orders):
            value = quad(one, 0, x, points=breaks or None, epsabs=0, epsrel=1e-12, limit=200)[0]
            assert float(whole(x)) == pytest.approx(value, rel=1e-10, abs=1e-15)


def test_panels_of_an_expression_are_not_empty():
    """A curve that is made for 3 ends at 4, where an empty panel divided by its width."""
    own = weight("min(x, 1)")
    for last in (3.0, 4.0):
        assert own.integral(np.array([0.5, last])) == pytest.approx([0.125, last - 0.5])


@pytest.mark.parametrize("text", [*CLOSED, "min(x, 3)"])
def test_weights_write_themselves(text):
    assert str(weight(text)) == text
    assert weight(str(weight(text))) == weight(text)


@pytest.mark.parametrize(
    ("spelled_out", "closed"),
    [
        ("1 + 0*x", power(0.0)), ("2*x/2", power(1.0)), ("x*x", power(2.0)), ("sqrt(x)", power(0.5)),
        ("1/(1 + 1*x)", RECIPROCAL), ("log1p(1*x)", LOGARITHM),
    ],
)  # fmt: skip
def test_expressions_are_like_what_they_spell_out(spelled_out, closed):
    one = weight(spelled_out)
    assert (one.is_measure, one.limit) == (closed.is_measure, closed.limit)
    for x in (1e-9, 0.049, 0.051, 40.0, 1e5):
        assert [float(order(x)) for order in one.orders] == pytest.approx(
            [float(order(x)) for order in closed.orders], rel=1e-10, abs=1e-30
        )


def test_weights_by_other_spellings():
    assert weight("constant") == weight(1) == power(0.0)
    assert weight(" x ** 2 ") == power(2.0)
    assert weight("log1p(x)") == LOGARITHM
    assert weight("1 / (x + 1)") == RECIPROCAL
    assert weight("threshold( 0.5 )") == threshold(0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x +", "cannot be read"),
        ("__import__('os').getcwd()", "cannot be read: .* at character 12"),
        ("y", "is not known"),
        ("min(x)", r"min\(x\) does not fit min \(2 numbers\)"),
        ("x % 2", "x % 2 has a sign that is not known here"),
        ("log2(x)", "log2 is not a function here"),
        ("1/x", "infinite at 0"),
        ("x - 1", "not a cost at x = 0"),
        ("log(x + 0.5)", "not a cost"),
        ("threshold(-1)", "negative"),
        ("threshold(a)", "not an age"),
        ("x" + "+x" * 300, "at most 500"),
    ],
)
def test_what_is_no_weight_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        weight(text)


def test_weights_that_overflow_are_infinite_there():
    grows = weight("exp(x)")
    assert float(grows.integral(np.array(2.0))) == pytest.approx(math.expm1(2), rel=1e-10)
    assert float(grows.integral(np.array(1e3))) == math.inf
