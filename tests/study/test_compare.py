"""Finished tables: verdicts over all cells, printed values, claims, and the difference of two runs. All exact."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.measure import verdict
from replnet.measure.estimate import Estimate
from replnet.study.experiment.axes import axis
from replnet.study.experiment.cells import Cell, Settings
from replnet.study.experiment.statements import Claim, Erratum, Expected, Printed
from replnet.study.sweeps.claims import checked
from replnet.study.sweeps.errata import contradictions, expectations, shown_errata
from replnet.study.sweeps.sweep import Sweep
from replnet.study.sweeps.table import differing, frame, lines, table
from replnet.study.sweeps.two_runs import differences

SETTINGS = Settings(None, "sampled", 1, None, None, None, 0.02)
K = axis("k", [1, 2, 3])
SELECT = axis("select", ["random", "recent"])


def row(measured, predicted=None, error=0.001, accuracy=None, **more):
    estimate = Estimate(measured, error, 32)
    interval = {"ci_low": estimate.low, "ci_high": estimate.high} if error is not None else {}
    return {
        "group": "cluster", "metric": "freshness", "measured": measured, "error": error, "replications": 32,
        "ci_low": None, "ci_high": None, **interval, "doubt": "", "predicted": predicted, "kind": "", "source": "",
        "accuracy": accuracy, "note": "", **more,
    }  # fmt: skip


def made(rows, axes=(K,)):
    """Cells and records, a row each, in the order of one or two axes."""
    names = [one.name for one in axes]
    points = product(*(one.values for one in axes))
    cells = [Cell(str(i), dict(zip(names, point, strict=True)), {}, SETTINGS) for i, point in enumerate(points)]
    records = {str(i): {"rows": [one], "events": 1, "incomplete": ""} for i, one in enumerate(rows) if one is not None}
    return cells, records


def words(rows, printed=()):
    cells, records = made(rows)
    return [(one["verdict"], one["printed_verdict"]) for one in table(cells, lines(cells, records), {}, printed)]


def test_all_cells_are_judged_together():
    """z = 3.2 differs by itself (p = 0.003 < 0.01), and agrees as the second of three after none."""
    far, near = row(0.5032, 0.5), row(0.5001, 0.5)
    assert verdict.verdicts([verdict.Comparison(Estimate(0.5032, 0.001, 32), 0.5)]) == ["differ"]
    assert [word for word, _ in words([far, near, near])] == ["differ", "agree", "agree"]
    assert [word for word, _ in words([row(0.5029, 0.5), near, near])] == ["agree", "agree", "agree"]
    cells, records = made([far, near, row(0.6, 0.5)])
    assert differing(lines(cells, records)) == ["0", "2"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(1e-6, 0.1)), min_size=3, max_size=3))
def test_verdicts_are_those_of_holm_over_all_rows(values):
    rows = [row(m, p, e) for m, p, e in values]
    expected = verdict.verdicts([verdict.Comparison(Estimate(m, e, 32), p) for m, p, e in values])
    assert [word for word, _ in words(rows)] == expected


def test_unfinished_and_failed_cells():
    cells, records = made([row(0.5, 0.5), None, row(0.6, 0.6)])
    rows = table(cells, lines(cells, records), {"1": "out of memory"}, ())
    found = [(one["k"], one["verdict"], one["note"]) for one in rows]
    assert found == [(1, "agree", ""), (2, "failed", "out of memory"), (3, "agree", "")]
    assert frame(rows, [K])["measured"].isna().tolist() == [False, True, False]


def test_columns_are_of_one_kind():
    mixed = axis("x", [1, "auto"])
    cells = [Cell(str(i), {"x": value}, {}, SETTINGS) for i, value in enumerate(mixed.values)]
    rows = table(cells, lines(cells, {str(i): {"rows": [row(0.5)]} for i in range(2)}), {}, ())
    assert frame(rows, [mixed])["x"].tolist() == ["1", "auto"]
    assert frame([], [mixed]).columns.tolist()[:3] == ["x", "group", "metric"]


def printed(value, within=0.005, **at):
    return Printed(at=at, group="cluster", metric="freshness", value=value, within=within, note="Table 1")


def paper(**statements):
    """As much of an experiment as its errata take."""
    nothing = {"printed": (), "expected": (), "claims": (), "errata": {}}
    return SimpleNamespace(axes=(K,), **{**nothing, **statements})


def errata_of(rows, claims=(), **statements):
    cells, records = made(rows)
    e = paper(claims=claims, **statements)
    kept = lines(cells, records)
    found = table(cells, kept, {}, e.printed, e.expected)
    return shown_errata(e, found, [checked(claim, kept, (K,), ()) for claim in claims]), expectations(e, found)


@pytest.mark.parametrize(
    ("one", "value", "said"),
    [
        (row(0.5, 0.5), 0.504, "agree"),
        (row(0.5, 0.5), 0.506, "contradicts"),
        (row(0.5, 0.5, accuracy=0.002), 0.506, "agree"),
        (row(0.6, 0.5), 0.5, "contradicts"),  # the prediction is wrong: what was measured counts
        (row(0.6, 0.5), 0.6, "agree"),
        (row(0.5), 0.504, "agree"),  # without a prediction too
        (row(0.5), 0.52, "contradicts"),
        (row(0.5, error=0.1), 0.52, "unresolved"),
    ],
)
def test_printed_values(one, value, said):
    assert words([one], [printed(value)])[0][1] == said


def test_the_most_particular_print_counts():
    near = row(0.5, 0.5)
    prints = [printed(0.5), printed(0.6, k=2)]
    assert [said for _, said in words([near, near, near], prints)] == ["agree", "contradicts", "agree"]
    cells, records = made([near, near, near])
    told = contradictions(paper(printed=prints), table(cells, lines(cells, records), {}, prints))
    assert told == ["k = 2: cluster, freshness: 0.6 is printed, 0.5 predicted, 0.5 ± 0.002 measured (Table 1)"]


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


def test_what_is_expected_is_no_mistake_of_a_paper():
    value = Expected(at={}, group="cluster", value=0.6, reason="by our reckoning")
    shown, met = errata_of([row(0.5, 0.5), row(0.6, 0.6)], expected=[value])
    assert shown == ()
    assert [(one.reason, one.agree, one.count) for one in met] == [("by our reckoning", 1, 2)]
    assert met[0].others == (
        "k = 1: cluster, freshness: 0.6 is expected, 0.5 predicted, 0.5 ± 0.002 measured (by our reckoning)",
    )


@pytest.mark.parametrize(
    ("value", "within"),
    [(0.75, 0.005), (1865, 0.5), ("0.90", 0.005), ("99e3", 500), ("4.6e6", 5e4), (-0.452, 0.0005), ("1/36", 1e-9)],
)
def test_a_value_stands_for_what_rounds_to_it(value, within):
    one = Printed(group="cluster", value=value)
    assert one.within == pytest.approx(within, rel=1e-12)
    assert one.value == pytest.approx(float(Fraction(str(value))), rel=1e-15)
    assert Printed(group="cluster", value=value, within=0.3).within == 0.3


def judged(claim, rows, axes=(K,), zips=()):
    cells, records = made(rows, axes)
    found = checked(Claim(text="c", **claim), lines(cells, records), axes, zips)
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
    cells = [Cell(str(k), {"k": k}, {}, SETTINGS) for k in axis_.values]
    off = 2.9 * math.hypot(0.001, 0.001)
    claim = Claim(text="c", rises="freshness", over="k")
    for count, holds in ((2, False), (100, True)):
        values = [0.1 + 0.005 * k for k in range(count)]
        values[1] = values[0] - off
        records = {str(k): {"rows": [row(value)]} for k, value in enumerate(values)}
        assert checked(claim, lines(cells[:count], records), [axis_], ()).measured is holds


class Run:
    """As much of a sweep as a difference takes."""

    def __init__(self, rows, name):
        self.cells, self.final = made(rows)
        self.folder = name
        self.experiment = type("E", (), {"axes": (K,), "measure": (), "groups": (), "settings": SETTINGS})


def test_the_difference_of_two_runs():
    first = Run([row(0.5), row(0.6), None], "a")
    second = Run([row(0.5), row(0.5), row(0.1)], "b")
    axes, rows, word = differences(first, second)
    assert axes == ["k"]
    assert [one["difference"] for one in rows] == pytest.approx([0, 0.1])
    assert [one["verdict"] for one in rows] == ["agree", "differ"]
    half = Estimate(0, math.hypot(0.001, 0.001), 32).half_width
    assert rows[1]["ci_high"] - rows[1]["ci_low"] == pytest.approx(2 * half)
    assert word == "differ"
    with pytest.raises(ValueError, match="a and b: have no measured row in common"):
        differences(Run([row(0.5), None, None], "a"), Run([None, row(0.5), None], "b"))


def test_a_sweep_without_a_view_says_so():
    with pytest.raises(ValueError, match="nothing draws this sweep"):
        Sweep(None, {}).plot()
