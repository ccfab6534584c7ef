"""What arithmetic is worth: as in Python and NumPy."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.laws import FieldError
from replnet.text.arithmetic import compile_function, expression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(" * 200 + "k" + ")" * 200, 3),
        ("-" * 499 + "k", -3),
        ("+".join("k" * 250), 750),
        ("**".join("1" * 167), 1),
        ("1 if k else " * 41 + "2", 1),
        ("abs(" * 99 + "-k" + ")" * 99, 3),
    ],
)
def test_the_deepest_expressions(text, value):
    assert expression(text).value({"k": 3}) == value


def test_expressions_that_are_too_long_or_deep():
    for depth, wrong in (
        (250, "is an expression of 501 characters"),
        (249, f"'{'(' * 56}... is not an expression: nested too deeply"),
    ):
        with pytest.raises(FieldError) as caught:
            expression("(" * depth + "k" + ")" * depth)
        assert caught.value.wrong == wrong


@settings(max_examples=300)
@given(st.text(alphabet="k1290.+-*/%()<>=, eminaxsqrtlogdf", max_size=40))
def test_any_text_is_an_expression_or_refused_at_once(text):
    """And an expression has a finite value or is refused."""
    try:
        parsed = expression(text)
        value = parsed.value(dict.fromkeys(parsed.names, 3))
    except FieldError:
        return
    assert math.isfinite(value)


operands = st.sampled_from(["x", "k", "2", "3.5", ".5", "1e-1", "0"])
signs = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="])
texts = st.recursive(
    operands,
    lambda inner: (
        st.tuples(inner, signs, inner).map(" ".join)
        | st.tuples(st.sampled_from("+-"), inner).map("".join)
        | inner.map("({})".format)
        | st.tuples(inner, inner, inner).map(lambda three: "{} if {} else {}".format(*three))
        | st.tuples(inner, inner).map(lambda two: "max({}, {})".format(*two))
    ),
    max_leaves=12,
)


@settings(max_examples=500)
@given(texts)
def test_values_are_those_of_python(text):
    try:
        value = expression(text).value({"x": 0.5, "k": 3})
    except FieldError:
        return  # divides by zero, too large, too long or not real
    assert value == eval(text, {"x": 0.5, "k": 3})


@settings(max_examples=300)
@given(texts.filter(lambda text: not {*"<>=%f"} & {*text} and "//" not in text))
def test_values_of_arrays_are_those_of_numpy(text):
    x = np.array([0.25, 0.5, 8.0])
    names = {"x": x, "k": np.full(3, np.pi), "max": np.maximum, "number": lambda value: np.full(3, float(value))}
    with np.errstate(all="ignore"):
        expected = eval(re.sub(r"\d*\.?\d+(e-1)?", r"number(\g<0>)", text), names)
    np.testing.assert_allclose(compile_function(text.replace("k", "pi"), "w")(x), expected, rtol=1e-12)


def test_comparisons_of_arrays_are_numbers():
    for text, values in (("x < 1", [1, 1, 0]), ("(0.3 < x <= 8) * x", [0, 0.5, 8]), ("2", [2, 2, 2])):
        assert compile_function(text, "w")(np.array([0.25, 0.5, 8.0])).tolist() == values
