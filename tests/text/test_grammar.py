"""The grammar that laws, weights, named values, metrics and demands share."""

from __future__ import annotations

import pytest

from replnet.network.aggregate import penalty_of
from replnet.run.threshold import read_threshold
from replnet.text.grammar import ARITHMETIC, LAW, Term, canonical, parse


def drawn(node: Term) -> object:
    """Return a tree without places: of each part its kind, value and parts, or its value alone if it has no parts."""
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


def test_names_are_those_of_python():
    assert canonical("\N{MICRO SIGN}") == parse("\N{MICRO SIGN}", ARITHMETIC).value == "\N{GREEK SMALL LETTER MU}"
    assert parse("e\N{COMBINING ACUTE ACCENT}", ARITHMETIC).value == "\N{LATIN SMALL LETTER E WITH ACUTE}"


def test_a_policy_that_is_a_penalty():
    assert penalty_of(" source_penalty (x ** 2)") == ("source", "x ** 2")
    assert penalty_of("update_penalty((x > 2) * x)") == ("update", "(x > 2) * x")
    assert penalty_of("uniform") is None


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
    demand = read_threshold(text, "--threshold")
    assert (demand.group, demand.metric, demand.above, demand.bound) == (group, name, above, bound)
