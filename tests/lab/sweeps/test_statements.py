"""Claims about finished tables, mistakes of a paper, and what was expected. All exact."""

from __future__ import annotations

import math

import pytest
from error_tables import read_table
from tables import SELECT, K, lines_of, made, printed, row

from replnet.lab.experiment.axes import axis
from replnet.lab.experiment.sections import Claim, Erratum, Expected, Printed
from replnet.lab.sweeps.judged_table import judged_lines
from replnet.lab.sweeps.statements import (
    CheckedClaim,
    check_claim,
    claims_in_words,
    contradictions,
    expectations,
    how_many_hold,
    shown_errata,
)

TABLE = read_table(__file__, "statements.yaml")
CHECKED = {
    "holds": CheckedClaim("a", True, None, ""),
    "fails": CheckedClaim("b", True, False, "predicted: not ...", "Table 1"),
    "close": CheckedClaim("c", None, None, "measured: too close to tell"),
    "untested": CheckedClaim("d", None, None, ""),
}


@pytest.mark.parametrize(("measured", "value", "word", "kind"), TABLE["stated"])
def test_a_printed_value(measured, value, word, kind):
    lines = lines_of([row(**measured)], [printed(value)])
    assert lines[0].printed[1] == word
    assert [shown.kind for shown in shown_errata({}, lines, ())] == ([kind] if kind else [])


def test_the_most_particular_print_counts():
    lines = lines_of([row(0.5, 0.5)] * 3, [printed(0.5), printed(0.6, k=2)])
    assert [line.printed[1] for line in lines] == ["agree", "contradicts", "agree"]
    words = "k = 2: cluster, freshness: 0.6 is printed, 0.5 predicted, 0.5 ± 0.002 measured (Table 1)"
    assert contradictions(lines) == [words]


def test_a_mistake_is_counted_once_with_all_that_shows_it():
    """Cells, values that are expected, and a claim; one cell besides is a mistake of its own."""
    mistake = Erratum(kind="simulation", text="0.6 is printed, 0.5 is right")
    named = {"group": "cluster", "value": 0.6, "within": 0.005, "erratum": "Table 1"}
    lines = lines_of(
        [row(0.5, 0.5)] * 3,
        [Printed(at={"k": 1}, **named), printed(0.7, k=2)],
        [Expected(at={"k": 3}, reason="as it is at k = 1", **named)],
    )
    high = Claim(text="high", lies="freshness", **{"from": 0.55}, where={"k": 1}, erratum="Table 1")
    shown = shown_errata({"Table 1": mistake, "Table 2": mistake}, lines, [check_claim(high, lines, (K,), ())])
    assert [(one.name, one.kind, len(one.cells)) for one in shown] == [
        ("Table 1", "simulation", 3),
        ("", "equations", 0),
    ]
    assert shown[0].cells[1].startswith("k = 3: cluster, freshness: 0.6 is expected, 0.5 predicted")
    assert shown[0].cells[2] == "high: measured: not k = 1 (0.5) above 0.55; predicted: not k = 1 (0.5) above 0.55"
    assert [(one.reason, one.agree, one.count, one.others) for one in expectations(lines)] == [
        ("as it is at k = 1", 0, 1, ())
    ]


def test_what_is_expected_is_no_mistake_of_a_paper():
    value = Expected(at={}, group="cluster", value=0.6, reason="by our reckoning")
    lines = lines_of([row(0.5, 0.5), row(0.6, 0.6)], expected=[value])
    assert shown_errata({}, lines, ()) == ()
    (met,) = expectations(lines)
    assert (met.reason, met.agree, met.count) == ("by our reckoning", 1, 2)
    words = "k = 1: cluster, freshness: 0.6 is expected, 0.5 predicted, 0.5 ± 0.002 measured (by our reckoning)"
    assert met.others == (words,)


@pytest.mark.parametrize(("claims", "number", "words"), TABLE["in_words"])
def test_claims_that_no_row_could_test_are_none_that_do_not_hold(claims, number, words):
    checked = [CHECKED[claim] for claim in claims]
    assert (how_many_hold(checked), claims_in_words(checked)) == (number, words)


def judged(claim, rows, axes=(K,)):
    found = check_claim(Claim(text="c", **claim), judged_lines(*made(rows, axes)), axes, ())
    return found.measured, found.predicted


@pytest.mark.parametrize(("claim", "values", "holds"), TABLE["claims"])
def test_claims(claim, values, holds):
    assert judged(claim, [row(value) for value in values]) == (holds, None)


def test_claims_on_predictions_are_exact_up_to_their_accuracy():
    rising = {"rises": "freshness", "over": "k"}
    assert judged(rising, [row(0.5, p) for p in (0.4, 0.5, 0.499)])[1] is False
    assert judged(rising, [row(0.5, p, accuracy=0.001) for p in (0.4, 0.5, 0.499)])[1] is True
    assert judged(rising, [row(0.5, p) for p in (0.4, 0.5, 0.5)])[1] is True


@pytest.mark.parametrize(("fourth", "holds"), [(0.8, True), (0.95, False)])
def test_order_compares_at_equal_values_of_the_other_axes(fourth, holds):
    order = {"order": [{"select": "random"}, {"select": "recent"}], "metric": "freshness"}
    values = [0.5, 0.4, 0.9, fourth, 0.3, 0.3]
    assert judged(order, [row(value) for value in values], (K, SELECT)) == (holds, None)


@pytest.mark.parametrize(("count", "holds"), [(2, False), (100, True)])
def test_too_many_comparisons_need_more_evidence(count, holds):
    """2.9 standard errors of a difference are beyond chance for one comparison (p = 0.004), and not for a hundred."""
    values = [0.1 + 0.005 * k for k in range(count)]
    values[1] = values[0] - 2.9 * math.hypot(0.001, 0.001)
    rising = {"rises": "freshness", "over": "k"}
    assert judged(rising, [row(value) for value in values], [axis("k", list(range(count)))]) == (holds, None)


@pytest.mark.parametrize(
    ("claim", "errors", "holds"),
    [
        ({"rises": "freshness", "over": "k"}, (None, None, None), None),
        ({"rises": "freshness", "over": "k"}, (None, 0.001, 0.001), False),  # two of them can tell
        ({"argmax": "freshness", "over": "k", "is": [1, 2]}, (0.001, None, 0.001), None),  # k = 2 may be the largest
        ({"argmax": "freshness", "over": "k", "is": 3}, (None, 0.001, 0.001), False),  # k = 2 is larger for sure
        ({"lies": "freshness", "from": 0.9}, (None, None, None), None),
    ],
)
def test_values_without_an_interval_test_no_claim(claim, errors, holds):
    doubt = "no interval: infinite variance of pareto(alpha=1.5, rate=1)"
    rows = [
        row(value, error=error, doubt="" if error else doubt)
        for value, error in zip((0.4, 0.6, 0.5), errors, strict=True)
    ]
    checked = check_claim(Claim(text="c", **claim), judged_lines(*made(rows)), (K,), ())
    assert (checked.measured, checked.untested, checked.tested) == (holds, holds is None, holds is not None)
    assert (checked.detail == f"measured: {doubt}") == (holds is None)


def test_an_experiment_of_few_replications_leaves_room_for_chance_itself():
    rows = [row(value, error=None, replications=1, doubt="fewer than 30 replications") for value in (0.4, 0.6, 0.5)]
    assert judged({"lies": "freshness", "from": 0.3}, rows) == (True, None)
    assert judged({"lies": "freshness", "from": 0.45}, rows) == (False, None)
