"""Finished tables: verdicts over all cells, printed values, claims, and the difference of two runs. All exact."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.experiment.spec.axes import axis
from replnet.experiment.spec.cells import Cell, Settings
from replnet.experiment.spec.models import Claim, Printed
from replnet.experiment.sweeps.claims import checked
from replnet.experiment.sweeps.compare import contradictions, differing, frame, lines, table
from replnet.experiment.sweeps.sweep import Sweep
from replnet.experiment.sweeps.two_runs import differences
from replnet.measure import verdict
from replnet.measure.estimate import Estimate

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
    assert verdict.verdicts([verdict.Cell(Estimate(0.5032, 0.001, 32), 0.5)]) == ["differ"]
    assert [word for word, _ in words([far, near, near])] == ["differ", "agree", "agree"]
    assert [word for word, _ in words([row(0.5029, 0.5), near, near])] == ["agree", "agree", "agree"]
    cells, records = made([far, near, row(0.6, 0.5)])
    assert differing(lines(cells, records)) == ["0", "2"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(1e-6, 0.1)), min_size=3, max_size=3))
def test_verdicts_are_those_of_holm_over_all_rows(values):
    rows = [row(m, p, e) for m, p, e in values]
    expected = verdict.verdicts([verdict.Cell(Estimate(m, e, 32), p) for m, p, e in values])
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
    told = contradictions(table(cells, lines(cells, records), {}, prints), [K], prints)
    assert told == ["k = 2: cluster, freshness: 0.6 is printed, 0.5 predicted, 0.5 ± 0.002 measured (Table 1)"]


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
