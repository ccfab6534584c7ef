"""Finished tables: verdicts over all cells, printed values, and the difference of two runs. All exact."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import NOTHING, SETTINGS, K, lines_of, made, printed, row

from replnet.lab.experiment.axes import axis
from replnet.lab.experiment.cells import Cell
from replnet.lab.sweeps.judged_table import compare_sweeps, judged_lines, table_of_rows
from replnet.lab.sweeps.statements import contradictions
from replnet.measure import verdict
from replnet.measure.estimate import Estimate


def words(rows, printed=()):
    return [(line.row.verdict, line.printed[1]) for line in lines_of(rows, printed)]


def test_all_cells_are_judged_together():
    """z = 3.2 differs by itself (p = 0.003 < 0.01), and agrees as the second of three after none."""
    far, near = row(0.5032, 0.5), row(0.5001, 0.5)
    assert verdict.verdicts([verdict.Comparison(Estimate(0.5032, 0.001, 32), 0.5)]) == ["differ"]
    assert [word for word, _ in words([far, near, near])] == ["differ", "agree", "agree"]
    assert [word for word, _ in words([row(0.5029, 0.5), near, near])] == ["agree", "agree", "agree"]
    differing = [line.cell.key for line in lines_of([far, near, row(0.6, 0.5)]) if line.row.verdict == "differ"]
    assert differing == ["0", "2"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(1e-6, 0.1)), min_size=3, max_size=3))
def test_verdicts_are_those_of_holm_over_all_rows(values):
    rows = [row(m, p, e) for m, p, e in values]
    expected = verdict.verdicts([verdict.Comparison(Estimate(m, e, 32), p) for m, p, e in values])
    assert [word for word, _ in words(rows)] == expected


def test_unfinished_and_failed_cells():
    cells, records = made([row(0.5, 0.5), None, row(0.6, 0.6)])
    rows = [line.data() for line in judged_lines(cells, records, failures={"1": "out of memory"})]
    found = [(one["k"], one["verdict"], one["note"]) for one in rows]
    assert found == [(1, "agree", ""), (2, "failed", "out of memory"), (3, "agree", "")]
    assert table_of_rows(rows, [K])["measured"].isna().tolist() == [False, True, False]


def test_columns_are_of_one_kind():
    mixed = axis("x", [1, "auto"])
    cells = [Cell(str(i), {"x": value}, NOTHING, SETTINGS) for i, value in enumerate(mixed.values)]
    rows = [line.data() for line in judged_lines(cells, {str(i): {"rows": [row(0.5)]} for i in range(2)})]
    assert table_of_rows(rows, [mixed])["x"].tolist() == ["1", "auto"]
    assert table_of_rows([], [mixed]).columns.tolist()[:3] == ["x", "group", "metric"]


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
    told = contradictions(lines_of([near, near, near], prints))
    assert told == ["k = 2: cluster, freshness: 0.6 is printed, 0.5 predicted, 0.5 ± 0.002 measured (Table 1)"]


class Run:
    """As much of a sweep as a difference takes."""

    def __init__(self, rows, name):
        self.lines, self.folder = lines_of(rows), name
        self.experiment = SimpleNamespace(axes=(K,), settings=SETTINGS)


def test_the_difference_of_two_runs():
    first = Run([row(0.5), row(0.6), None], "a")
    second = Run([row(0.5), row(0.5), row(0.1)], "b")
    axes, rows, word = compare_sweeps(first, second)
    assert axes == ["k"]
    assert [one["difference"] for one in rows] == pytest.approx([0, 0.1])
    assert [one["verdict"] for one in rows] == ["agree", "differ"]
    half = Estimate(0, math.hypot(0.001, 0.001), 32).half_width
    assert rows[1]["ci_high"] - rows[1]["ci_low"] == pytest.approx(2 * half)
    assert word == "differ"
    with pytest.raises(ValueError, match="a and b: have no measured row in common"):
        compare_sweeps(Run([row(0.5), None, None], "a"), Run([None, row(0.5), None], "b"))


def test_what_was_chosen_and_not_measured_has_a_difference_and_no_interval():
    """As the best size that a search by emulation found; old records of it have a value and no replications."""
    chosen = {**row(10.0, error=None), "replications": None, "metric": "replicas"}
    (line,) = lines_of([chosen])
    assert (line.row.measured, line.row.ci_low, line.row.verdict) == (10.0, None, "")
    assert {name: line.row.record()[name] for name in chosen} == chosen
    _, (one,), word = compare_sweeps(Run([chosen], "a"), Run([chosen], "b"))
    assert (one["difference"], one["ci_low"], one["z"], word) == (0.0, None, None, "unresolved")
