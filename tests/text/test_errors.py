"""Texts that are refused: what each says, in few words, however hostile the text."""

from __future__ import annotations

import pytest
from error_tables import message_of, read_table

from replnet.ages.weights import weight
from replnet.laws import law
from replnet.measure.metrics import metric
from replnet.network.aggregate import penalty_of
from replnet.run.threshold import read_threshold
from replnet.text.arithmetic import compile_function, expression, template
from replnet.text.grammar import ARITHMETIC, LAW, parse
from replnet.text.units import time_in, without_units

TABLE = read_table(__file__)
READERS = {
    "expression": lambda text: expression(text).value({"k": 0, "m": 1, "text": "recent"}),
    "template": template,
    "LAW": lambda text: parse(text, LAW),
    "ARITHMETIC": lambda text: parse(text, ARITHMETIC),
    "penalty": penalty_of,
    "weight": lambda text: compile_function(text, "w"),
    "threshold": lambda text: read_threshold(text, "--threshold"),
    "law with units, in seconds": lambda text: without_units(text, "s"),
    "law with units, in none": lambda text: without_units(text, None),
    "time": lambda text: time_in(text, "s", "horizon"),
}


@pytest.mark.parametrize(("reader", "text"), [(reader, text) for reader in TABLE for text in TABLE[reader]])
def test_errors(reader, text):
    assert message_of(READERS[reader], text) == TABLE[reader][text]


LONG = 100_000
HOSTILE = [
    "(" * LONG, "abs(" * LONG, "[" * LONG, "-" * LONG + "x", "+".join("x" * LONG), "x" * LONG, "9" * LONG, "1e" * LONG,
    "${" * LONG, "'" * LONG, '"\\' * LONG, "#" * LONG, " " * LONG, ":" * LONG, "\0", "\ud800", "x²", "١",
    "(" * 240 + "x" + ")" * 240, "(-" * 250, "f(-" * 166, "9**9**9**9", "1_" * 240,
]  # fmt: skip
PLACES = [
    law,
    weight,
    lambda text: expression(text).value({"x": 1}),
    lambda text: template(f"a${{{text}}}").value({"x": 1}),
    READERS["threshold"],
    lambda text: read_threshold(f"freshness > {text}", "--threshold"),
    lambda text: read_threshold(f"level 1: source_penalty({text}) > 1", "--threshold"),
    lambda text: metric(f"currency({text})"),
]


@pytest.mark.parametrize("place", range(len(PLACES)))
@pytest.mark.parametrize("text", HOSTILE, ids=[repr(text[:8]) for text in HOSTILE])
def test_hostile_texts_are_refused_in_few_words(place, text):
    message = message_of(PLACES[place], text)
    assert "(" in message
    assert len(message) < 1000
