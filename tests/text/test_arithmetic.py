"""What arithmetic is worth: numbers from named values, templates, and arrays from x."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.laws import FieldError
from replnet.text.arithmetic import compile_function, expression, template

NAMES = {"m": 4, "B": 10, "k": 3, "lambda": 3, "\N{GREEK SMALL LETTER MU}": 5, "text": "recent"}
VALUES = {
    "B / m": 2.5,
    "min(m, 3, B) + max(1, 2,)": 5,
    "sqrt(m) + abs(-1) + log(1) + exp(0)": 4.0,
    "round(2.6) + floor(1.5) + ceil(1.5)": 6,
    "round(3.14159, 2)": 3.14,
    "1 < m <= 4": True,
    "lambda * 2": 6,
    "µ": 5,
    "text": "recent",
    "text if m > 3 else m": "recent",
    " 1e3 ": 1000.0,
    "2^3": 8,
    "2 ** 3 ** 0": 2,
    "-2 ** -2 ** 2": -(2**-4),
    "1 if 0 else 2 if 0 else 3": 3,
    "1 + 2 < 3 + 1 == 4": True,
    "0x1f + 1_000 + 0b11 + 0o7 + .5e1 + 2. + 010": 1058.0,
    "1 +  # one\n 2": 3,
    "1if 1else 2": 1,
    # the deepest and longest
    "(" * 200 + "k" + ")" * 200: 3,
    "-" * 499 + "k": -3,
    "+".join("k" * 250): 750,
    "**".join("1" * 167): 1,
    "1 if k else " * 41 + "2": 1,
    "abs(" * 99 + "-k" + ")" * 99: 3,
}


@pytest.mark.parametrize("text", VALUES, ids=lambda text: text[:30])
def test_values(text):
    value = expression(text).value(NAMES)
    assert (value, type(value)) == (VALUES[text], type(VALUES[text]))


def test_words_of_python_that_are_none_here_are_names():
    assert expression("True").names == {"True"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 250 + "k" + ")" * 250, "is an expression of 501 characters"),
        ("(" * 249 + "k" + ")" * 249, f"'{'(' * 56}... is not an expression: nested too deeply"),
    ],
)
def test_expressions_that_are_too_long_or_deep(text, message):
    with pytest.raises(FieldError) as caught:
        expression(text)
    assert caught.value.wrong == message


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


def test_texts_with_holes():
    names = {"k": 3, "nu": 4 / 3, "name": "pareto"}
    for text, value in {
        "${k}": 3,
        "${name}": "pareto",
        "${name}(alpha=${k}, rate=${nu})": "pareto(alpha=3, rate=1.3333333333333333)",
        "exponential(rate=${k / 3})": "exponential(rate=1)",
        "${k} ${k > 2}": "3 true",
        "a } b": "a } b",
    }.items():
        assert template(text).value(names) == value


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


@pytest.mark.parametrize(
    ("text", "values"),
    [("x < 1", [1, 1, 0]), ("(0.3 < x <= 8) * x", [0, 0.5, 8]), ("-(x >= 0.5) + 1", [1, 0, 0]), ("2", [2, 2, 2])],
)
def test_comparisons_of_arrays_are_numbers(text, values):
    assert compile_function(text, "w")(np.array([0.25, 0.5, 8.0])).tolist() == values
