"""What texts are read as, what is said of those that are refused, and that this is short, however hostile they are."""

from __future__ import annotations

import pytest
from error_tables import message_of, read_table

from replnet.ages.weights import weight
from replnet.laws import law
from replnet.measure.metrics import metric
from replnet.network.aggregate import penalty_of
from replnet.run.threshold import read_threshold
from replnet.text.arithmetic import compile_function, expression, template
from replnet.text.grammar import ARITHMETIC, LAW, Term, canonical, parse
from replnet.text.units import time_in, without_units

NAMES = {"m": 4, "B": 10, "k": 3, "nu": 4 / 3, "lambda": 3, "\N{GREEK SMALL LETTER MU}": 5, "zero": 0, "text": "recent"}


def tree(node: Term) -> object:
    """Return a tree as a list of kind, value and parts, and a part that has none as its value."""
    value = list(node.value) if node.kind == "comparison" else node.value
    return [node.kind, value, *map(tree, node.parts)] if node.parts else value


def demand(text: str) -> list[object]:
    """Return what a threshold demands: group, metric, whether the metric is to be above the bound, and the bound."""
    threshold = read_threshold(text, "--threshold")
    return [threshold.group, threshold.metric, threshold.above, threshold.bound]


READERS = {
    "expression": lambda text: expression(text).value(NAMES),
    "template": lambda text: template(text).value(NAMES),
    "LAW": lambda text: tree(parse(text, LAW)),
    "ARITHMETIC": lambda text: tree(parse(text, ARITHMETIC)),
    "penalty": lambda text: (penalty := penalty_of(text)) and list(penalty),
    "weight": lambda text: compile_function(text, "w"),
    "threshold": demand,
    "law with units, in seconds": lambda text: without_units(text, "s"),
    "law with units, in none": lambda text: without_units(text, None),
    "time": lambda text: time_in(text, "s", "horizon"),
}
ERRORS, VALUES = read_table(__file__), read_table(__file__, "values.yaml")


@pytest.mark.parametrize(("reader", "text"), [(reader, text) for reader in ERRORS for text in ERRORS[reader]])
def test_errors(reader, text):
    assert message_of(READERS[reader], text) == ERRORS[reader][text]


@pytest.mark.parametrize(("reader", "text"), [(reader, text) for reader in VALUES for text in VALUES[reader]])
def test_values(reader, text):
    value, expected = READERS[reader](text), VALUES[reader][text]
    assert (value, type(value)) == (expected, type(expected))


def test_every_part_knows_where_it_stands():
    text = " min( x ,2)  / (k - 1) < 3 if a else -b"
    sources = [node.source for node in parse(text, ARITHMETIC).walk()]
    assert sources == [
        "min( x ,2)  / (k - 1) < 3 if a else -b", "min( x ,2)  / (k - 1) < 3", "min( x ,2)  / (k - 1)", "min( x ,2)",
        "x", "2", "(k - 1)", "k", "1", "3", "a", "-b", "b",
    ]  # fmt: skip
    assert [node.source for node in parse("a( b = c, d)", LAW).walk()] == ["a( b = c, d)", "b = c", "c", "d"]


def test_names_are_those_of_python():
    assert canonical("\N{MICRO SIGN}") == parse("\N{MICRO SIGN}", ARITHMETIC).value == "\N{GREEK SMALL LETTER MU}"
    assert parse("e\N{COMBINING ACUTE ACCENT}", ARITHMETIC).value == "\N{LATIN SMALL LETTER E WITH ACUTE}"
    assert expression("True").names == {"True"}


LONG = 100_000
HOSTILE = [
    "(" * LONG, "abs(" * LONG, "[" * LONG, "-" * LONG + "x", "+".join("x" * LONG), "x" * LONG, "9" * LONG, "1e" * LONG,
    "${" * LONG, "'" * LONG, '"\\' * LONG, "#" * LONG, " " * LONG, ":" * LONG, "\0", "\ud800", "x²", "١",
    "(" * 240 + "x" + ")" * 240, "(-" * 250, "f(-" * 166, "9**9**9**9", "1_" * 240,
]  # fmt: skip
PLACES = [
    law,
    weight,
    READERS["expression"],
    lambda text: template(f"a${{{text}}}").value({"x": 1}),
    demand,
    lambda text: demand(f"freshness > {text}"),
    lambda text: demand(f"level 1: source_penalty({text}) > 1"),
    lambda text: metric(f"currency({text})"),
]


@pytest.mark.parametrize("place", range(len(PLACES)))
@pytest.mark.parametrize("text", HOSTILE, ids=[repr(text[:8]) for text in HOSTILE])
def test_hostile_texts_are_refused_in_few_words(place, text):
    message = message_of(PLACES[place], text)
    assert "(" in message
    assert len(message) < 1000
