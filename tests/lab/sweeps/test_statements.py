"""Claims about finished tables, mistakes of a paper, and what was expected. All exact."""

from __future__ import annotations

import math

import pytest
from tables import NOTHING, SELECT, SETTINGS, K, lines_of, made, printed, row

from replnet.lab.experiment.axes import axis
from replnet.lab.experiment.cells import Cell
from replnet.lab.experiment.sections import Claim, Erratum, Expected, Printed
from replnet.lab.sweeps.judged_table import judged_lines
from replnet.lab.sweeps.statements import (
    CheckedClaim,
    check_claim,
    claims_in_words,
    expectations,
    how_many_hold,
    shown_errata,
)


def errata_of(rows, claims=(), printed=(), expected=(), errata=()):
    found = lines_of(rows, printed, expected)
    checks = [check_claim(claim, found, (K,), ()) for claim in claims]
    return shown_errata(dict(errata), found, checks), expectations(found)


@pytest.mark.parametrize(
    ("one", "value", "kind"),
    [
        (row(0.5, 0.5), 0.504, None),
        (row(0.5, 0.5), 0.51, "rounding"),  # off by one unit of the last digit
        (row(0.5, 0.5), 0.52, "equations"),
        (row(0.5), 0.52, "simulation"),  # only what was measured speaks against it
        (row(0.6, 0.5), 0.53, None),  # the prediction is what is wrong
    ],
)
def test_a_contradiction_has_a_kind(one, value, kind):
    shown, _ = errata_of([one], printed=[printed(value)])
    assert [found.kind for found in shown] == ([kind] if kind else [])


def test_a_mistake_is_counted_once_with_all_that_shows_it():
    """Cells, values that are expected, and a claim; one cell besides is a mistake of its own."""
    mistake = Erratum(kind="simulation", text="0.6 is printed, 0.5 is right")
    named = {"group": "cluster", "value": 0.6, "within": 0.005, "erratum": "Table 1"}
    shown, met = errata_of(
        [row(0.5, 0.5), row(0.5, 0.5), row(0.5, 0.5)],
        printed=[Printed(at={"k": 1}, **named), printed(0.7, k=2)],
        expected=[Expected(at={"k": 3}, reason="as it is at k = 1", **named)],
        claims=[Claim(text="high", lies="freshness", **{"from": 0.55}, where={"k": 1}, erratum="Table 1")],
        errata={"Table 1": mistake, "Table 2": mistake},
    )
    assert [(one.name, one.kind, len(one.cells)) for one in shown] == [
        ("Table 1", "simulation", 3),
        ("", "equations", 0),
    ]
    assert shown[0].cells[1].startswith("k = 3: cluster, freshness: 0.6 is expected, 0.5 predicted")
    assert shown[0].cells[2] == "high: measured: not k = 1 (0.5) above 0.55; predicted: not k = 1 (0.5) above 0.55"
    assert [(one.reason, one.agree, one.count, one.others) for one in met] == [("as it is at k = 1", 0, 1, ())]


HOLDS, FAILS = CheckedClaim("a", True, None, ""), CheckedClaim("b", True, False, "predicted: not ...", "Table 1")
CLOSE, UNTESTED = CheckedClaim("c", None, None, "measured: too close to tell"), CheckedClaim("d", None, None, "")


@pytest.mark.parametrize(
    ("claims", "number", "words"),
    [
        ([], "", ""),
        ([UNTESTED], "none tested", "1 claim not tested"),
        ([UNTESTED] * 3, "none tested", "3 claims not tested"),
        ([HOLDS, HOLDS], "2 of 2", "2 of 2 claims hold"),
        ([HOLDS, CLOSE], "1 of 2", "1 of 2 claims hold"),
        ([HOLDS, UNTESTED], "1 of 1", "1 of 1 claim hold, 1 not tested"),
        ([HOLDS, FAILS, UNTESTED], "1 of 2", "1 of 2 claims hold, 1 of the others is known as errata, 1 not tested"),
    ],
)
def test_claims_that_no_row_could_test_are_none_that_do_not_hold(claims, number, words):
    assert (how_many_hold(claims), claims_in_words(claims)) == (number, words)


def test_what_is_expected_is_no_mistake_of_a_paper():
    value = Expected(at={}, group="cluster", value=0.6, reason="by our reckoning")
    shown, met = errata_of([row(0.5, 0.5), row(0.6, 0.6)], expected=[value])
    assert shown == ()
    assert [(one.reason, one.agree, one.count) for one in met] == [("by our reckoning", 1, 2)]
    assert met[0].others == (
        "k = 1: cluster, freshness: 0.6 is expected, 0.5 predicted, 0.5 ± 0.002 measured (by our reckoning)",
    )


def judged(claim, rows, axes=(K,), zips=()):
    cells, records = made(rows, axes)
    found = check_claim(Claim(text="c", **claim), judged_lines(cells, records), axes, zips)
    return found.measured, found.predicted


PEAK = {"argmax": "freshness", "over": "k", "is": 2}


@pytest.mark.parametrize(
    ("claim", "values", "holds"),
    [
        (PEAK, (0.5, 0.6, 0.5), True),
        (PEAK, (0.7, 0.6, 0.5), False),
        (PEAK, (0.601, 0.6, 0.5), None),  # within chance
        ({**PEAK, "is": [1, 2]}, (0.7, 0.6, 0.5), True),
        ({"rises": "freshness", "over": "k"}, (0.4, 0.5, 0.6), True),
        ({"rises": "freshness", "over": "k"}, (0.4, 0.5, 0.45), False),
        ({"rises": "freshness", "over": "k"}, (0.4, 0.5, 0.4995), True),  # one of two is too close
        ({"falls": "freshness", "over": "k"}, (0.6, 0.5, 0.4), True),
        ({"falls": "freshness", "over": "k", "where": {"k": 1}}, (0.1, 0.5, 0.4), None),  # nothing to compare
        ({"lies": "freshness", "from": 0.4, "to": 0.6}, (0.5, 0.6, 0.4), True),
        ({"lies": "freshness", "from": 0.4}, (0.5, 0.9, 0.3), False),
        ({"lies": "freshness", "to": 0.8}, (0.5, 0.9, 0.3), False),
        ({"lies": "freshness", "to": 0.8, "where": {"k": 1}}, (0.801, 0.9, 0.3), None),  # within chance
    ],
)
def test_claims(claim, values, holds):
    assert judged(claim, [row(value) for value in values]) == (holds, None)


def test_claims_on_predictions_are_exact_up_to_their_accuracy():
    rising = {"rises": "freshness", "over": "k"}
    assert judged(rising, [row(0.5, p) for p in (0.4, 0.5, 0.499)])[1] is False
    assert judged(rising, [row(0.5, p, accuracy=0.001) for p in (0.4, 0.5, 0.499)])[1] is True
    assert judged(rising, [row(0.5, p) for p in (0.4, 0.5, 0.5)])[1] is True


def test_order_compares_at_equal_values_of_the_other_axes():
    order = {"order": [{"select": "random"}, {"select": "recent"}], "metric": "freshness"}
    values = [0.5, 0.4, 0.9, 0.8, 0.3, 0.3]
    assert judged(order, [row(value) for value in values], (K, SELECT)) == (True, None)
    values[3] = 0.95
    assert judged(order, [row(value) for value in values], (K, SELECT)) == (False, None)


def test_too_many_comparisons_need_more_evidence():
    """2.9 standard errors of a difference are beyond chance for one comparison (p = 0.004), and not for a hundred."""
    axis_ = axis("k", list(range(100)))
    cells = [Cell(str(k), {"k": k}, NOTHING, SETTINGS) for k in axis_.values]
    off = 2.9 * math.hypot(0.001, 0.001)
    claim = Claim(text="c", rises="freshness", over="k")
    for count, holds in ((2, False), (100, True)):
        values = [0.1 + 0.005 * k for k in range(count)]
        values[1] = values[0] - off
        records = {str(k): {"rows": [row(value)]} for k, value in enumerate(values)}
        assert check_claim(claim, judged_lines(cells[:count], records), [axis_], ()).measured is holds
