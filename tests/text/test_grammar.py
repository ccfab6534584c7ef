"""The grammar that laws, weights, named values, metrics and demands share."""

from __future__ import annotations

from functools import partial

import pytest

from replnet.ages.weights import weight
from replnet.laws import FieldError, law
from replnet.measure.metrics import metric
from replnet.network.aggregate import penalty_of
from replnet.run.threshold import read_threshold
from replnet.text.arithmetic import expression, template
from replnet.text.grammar import ARITHMETIC, LAW, Term, canonical, parse

demand = partial(read_threshold, field="--threshold")


def drawn(node: Term) -> object:
    """A tree without places."""
    parts = [drawn(part) for part in node.parts]
    return (node.kind, node.value, *parts) if parts else node.value


@pytest.mark.parametrize(
    ("text", "form", "tree"),
    [
        ("a(1, b=c(2))", LAW, ("call", "a", "1", ("named", "b", ("call", "c", "2")))),
        ("a([x,'y z'],)", LAW, ("call", "a", ("list", None, "x", "y z"))),
        ("t(file=../a-b.csv, ${k + 1})", LAW, ("call", "t", ("named", "file", "../a-b.csv"), "${k + 1}")),
        (r"'it\'s'", LAW, "it's"),
        ("-a ** -b * c", ARITHMETIC, ("sign", "*", ("sign", "-", ("sign", "**", "a", ("sign", "-", "b"))), "c")),
        ("a < b <= 2^c", ARITHMETIC, ("comparison", ("<", "<="), "a", "b", ("sign", "**", 2, "c"))),
        ("(a - b) - c", ARITHMETIC, ("sign", "-", ("sign", "-", "a", "b"), "c")),
        ("a if b else c if d else e", ARITHMETIC, ("if", "if", "a", "b", ("if", "if", "c", "d", "e"))),
        ("f(x, n=1)", ARITHMETIC, ("call", "f", "x", ("named", "n", 1))),
    ],
)  # fmt: skip
def test_trees(text, form, tree):
    assert drawn(parse(text, form)) == tree


def test_every_part_knows_where_it_stands():
    text = " min( x ,2)  / (k - 1) < 3 if a else -b"
    sources = [node.source for node in parse(text, ARITHMETIC).walk()]
    assert sources == [
        "min( x ,2)  / (k - 1) < 3 if a else -b", "min( x ,2)  / (k - 1) < 3", "min( x ,2)  / (k - 1)", "min( x ,2)",
        "x", "2", "(k - 1)", "k", "1", "3", "a", "-b", "b",
    ]  # fmt: skip
    assert [node.source for node in parse("a( b = c, d)", LAW).walk()] == ["a( b = c, d)", "b = c", "c", "d"]


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ("a(", LAW, r"ends too early \(expected a value\)"),
        ("a(b=1 c)", LAW, r"'c\)' at character 7 \(expected a comma or '\)'\)"),
        ("(a)", LAW, r"'\(a\)' at character 1 \(expected a law such as"),
        ("a  b", LAW, r"'b' at character 4 \(expected nothing more\)"),
        ("1 + ", ARITHMETIC, r"ends too early \(expected a value\)"),
        ("1 if 2", ARITHMETIC, r"ends too early \(expected 'else'\)"),
        ("(1, 2)", ARITHMETIC, r"', 2\)' at character 3 \(expected '\)'\)"),
        ("a and b", ARITHMETIC, r"'and b' at character 3 \(expected nothing more\)"),
        ("٣", ARITHMETIC, r"'٣' at character 1"),
        ("a\u00a0+ b", ARITHMETIC, r"at character 1 "),
    ],
)
def test_what_cannot_be_read_says_where(text, form, message):
    with pytest.raises(FieldError, match=message):
        parse(text, form)


def test_names_are_those_of_python():
    assert canonical("\N{MICRO SIGN}") == parse("\N{MICRO SIGN}", ARITHMETIC).value == "\N{GREEK SMALL LETTER MU}"
    assert parse("e\N{COMBINING ACUTE ACCENT}", ARITHMETIC).value == "\N{LATIN SMALL LETTER E WITH ACUTE}"


def test_a_policy_that_is_a_penalty():
    assert penalty_of(" source_penalty (x ** 2)") == ("source", "x ** 2")
    assert penalty_of("update_penalty((x > 2) * x)") == ("update", "(x > 2) * x")
    assert penalty_of("uniform") is None
    for text, message in (
        ("update_penalty", "has no argument in brackets"),
        (
            "update_penalty(x +)",
            r"cannot be read: '\)' at character 19 \(a weight in brackets, such as update_penalty\(x\)",
        ),
        ("update_penalty(x, 2)", "has 2 arguments in brackets"),
    ):
        with pytest.raises(FieldError, match=message):
            penalty_of(text)


@pytest.mark.parametrize(
    ("text", "group", "name", "above", "bound"),
    [
        ("freshness > 0.9", None, "freshness", True, 0.9),
        (" level 1 of b : source_penalty((x<2)*x)<=1e-3", "level 1 of b", "source_penalty((x<2)*x)", False, 1e-3),
        ("level 2:currency( .40 ) >= -1", "level 2", "currency(0.4)", True, -1.0),
        ("freshness < 1 / 3", None, "freshness", False, 1 / 3),
    ],
)
def test_demands(text, group, name, above, bound):
    found = demand(text)
    assert (found.group, found.metric, found.above, found.bound) == (group, name, above, bound)


@pytest.mark.parametrize(
    "text",
    ["", "freshness", ": freshness > 1", "freshness == 1", "0 < freshness < 1", "freshness > x", "-lag > 1", "a b > 1"],
)
def test_what_is_no_demand(text):
    with pytest.raises(ValueError, match="does not compare a metric with a number"):
        demand(text)


LONG = 100_000
HOSTILE = [
    "(" * LONG, "abs(" * LONG, "[" * LONG, "-" * LONG + "x", "+".join("x" * LONG), "x" * LONG, "9" * LONG, "1e" * LONG,
    "${" * LONG, "'" * LONG, '"\\' * LONG, "#" * LONG, " " * LONG, ":" * LONG, "\0", "\ud800", "x²", "١",
    "(" * 240 + "x" + ")" * 240, "(-" * 250, "f(-" * 166, "9**9**9**9", "1_" * 240,
]  # fmt: skip
READERS = [
    law,
    weight,
    lambda text: expression(text).value({"x": 1}),
    lambda text: template(f"a${{{text}}}").value({"x": 1}),
    demand,
    lambda text: demand(f"freshness > {text}"),
    lambda text: demand(f"level 1: source_penalty({text}) > 1"),
    lambda text: metric(f"currency({text})"),
]


@pytest.mark.parametrize("place", range(len(READERS)))
@pytest.mark.parametrize("text", HOSTILE, ids=[repr(text[:8]) for text in HOSTILE])
def test_hostile_texts_are_refused_in_few_words(place, text):
    with pytest.raises(ValueError, match=r"\(.*\)") as caught:
        READERS[place](text)
    assert len(str(caught.value)) < 1000
