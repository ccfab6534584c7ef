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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("B / m", 2.5),
        ("7 // 2", 3),
        ("7 % 4", 3),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("min(m, 3, B)", 3),
        ("max(m, 3)", 4),
        ("sqrt(m) + abs(-1) + log(1) + exp(0)", 4.0),
        ("round(2.6) + floor(1.5) + ceil(1.5)", 6),
        ("round(3.14159, 2)", 3.14),
        ("1 if m > 3 else 2", 1),
        ("1 < m <= 4", True),
        ("lambda * 2", 6),
        ("µ", 5),
        ("text", "recent"),
        ("text if m > 3 else m", "recent"),
        (" 1e3 ", 1000.0),
    ],
)
def test_arithmetic(text, expected):
    names = {"m": 4, "B": 10, "lambda": 3, "\N{GREEK SMALL LETTER MU}": 5, "text": "recent"}
    value = expression(text).value(names)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("4 / k", "4 / k divides by zero"),
        ("4 % k", "4 % k divides by zero"),
        ("k ** (k - 1)", "k ** (k - 1) divides by zero"),
        ("9**9**9", "9**9**9 is too large"),
        ("9.0**9**9", "9.0**9**9 is too large"),
        ("1e200 * 1e200", "1e200 * 1e200 is too large"),
        ("exp(1000)", "exp(1000) is too large"),
        ("sqrt(k - 1)", "sqrt(k - 1) is not a real number"),
        ("log(k)", "log(k) is not a real number"),
        ("(-8) ** 0.5", "(-8) ** 0.5 is not a real number"),
        ("text + 1", "text is the text 'recent'"),
        ("round(5, -10 ** 9)", "round(5, -10 ** 9) rounds to -1000000000 digits"),
    ],
)
def test_results_that_are_none(text, wrong):
    with pytest.raises(FieldError) as caught:
        expression(text).value({"k": 0, "text": "recent"})
    assert caught.value.wrong == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("__import__(os)", "__import__ is not a function here"),
        ("__import__('os')", "\"__import__('os')\" is not an expression: \"'os')\" at character 12"),
        ("k.real", "'k.real' is not an expression: '.real' at character 2"),
        ("[k][0]", "'[k][0]' is not an expression: '[k][0]' at character 1"),
        ("(lambda: 1)()", "'(lambda: 1)()' is not an expression: ': 1)()' at character 8"),
        ("k and m", "'k and m' is not an expression: 'and m' at character 3"),
        ("k in m", "'k in m' is not an expression: 'in m' at character 3"),
        ("k if", "'k if' is not an expression: ends too early"),
        ("k if m", "'k if m' is not an expression: ends too early"),
        ("", "'' is not an expression: ends too early"),
        ("'a'", "\"'a'\" is not an expression: \"'a'\" at character 1"),
        ("True", None),
        ("1j", "'1j' is not an expression: 'j' at character 2"),
        ("1e999", "1e999 is too large"),
        ("min(k)", "min(k) does not fit min"),
        ("sqrt(k, 2)", "sqrt(k, 2) does not fit sqrt"),
        ("round(k, ndigits=2)", "round(k, ndigits=2) does not fit round"),
        ("f'{k}'", "\"f'{k}'\" is not an expression: \"'{k}'\" at character 2"),
        ("(k := 1)", "'(k := 1)' is not an expression: ':= 1)' at character 4"),
        ("${k}", "'${k}' is not an expression"),
        ("(" * 400 + "k" + ")" * 400, "is an expression of 801 characters"),
        ("(" * 249 + "k" + ")" * 249, f"'{'(' * 56}... is not an expression: nested too deeply"),
    ],
)
def test_texts_that_are_no_expressions(text, wrong):
    if wrong is None:  # words of Python that are none here are names
        assert expression(text).names == {"True"}
        return
    with pytest.raises(FieldError) as caught:
        expression(text)
    assert caught.value.wrong == wrong


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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8 - 3 - 2", 3),
        ("8 / 4 / 2", 1.0),
        ("2 ** 3 ** 0", 2),
        ("2^3", 8),
        ("-2 ** -2 ** 2", -(2**-4)),
        ("- - + 3", 3),
        ("-3 % 5 * 2", 4),
        ("1 + 2 < 3 + 1 == 4", True),
        ("(1 < 2) + 1", 2),
        ("1 if 0 else 2 if 0 else 3", 3),
        ("(1 if 0 else 2) * 3", 6),
        ("max(1, 2,)", 2),
        ("0x1f + 1_000 + 0b11 + .5e1 + 2. + 010", 1051.0),
        ("1 +  # one\n 2", 3),
        ("1if 1else 2", 1),
    ],
)
def test_signs_bind_as_in_python(text, value):
    found = expression(text).value({})
    assert (found, type(found)) == (value, type(value))


@settings(max_examples=300, deadline=1000)
@given(st.text(alphabet="k1290.+-*/%()<>=, eminaxsqrtlogdf", max_size=40))
def test_any_text_is_an_expression_or_refused_at_once(text):
    """And an expression has a finite value or is refused."""
    try:
        found = expression(text)
        value = found.value(dict.fromkeys(found.names, 3))
    except FieldError:
        return
    assert math.isfinite(value)


def test_texts_with_holes():
    names = {"k": 3, "nu": 4 / 3, "name": "pareto"}
    assert template("${k}").value(names) == 3
    assert template("${name}").value(names) == "pareto"
    assert template("${name}(alpha=${k}, rate=${nu})").value(names) == "pareto(alpha=3, rate=1.3333333333333333)"
    assert template("exponential(rate=${k / 3})").value(names) == "exponential(rate=1)"
    assert template("${k} ${k > 2}").value(names) == "3 true"
    for text in ("${k", "a ${ b", "${{k}}"):
        with pytest.raises(FieldError, match="without its }"):
            template(text)
    assert template("a } b").value({}) == "a } b"


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


@settings(max_examples=500, deadline=None)
@given(texts)
def test_values_are_those_of_python(text):
    try:
        found = expression(text).value({"x": 0.5, "k": 3})
    except FieldError:
        return  # divides by zero, too large, too long or not real
    assert found == eval(text, {"x": 0.5, "k": 3})


@settings(max_examples=300, deadline=None)
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
