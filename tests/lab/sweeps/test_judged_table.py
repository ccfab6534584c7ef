"""Finished tables: verdicts over all cells, and the difference of two runs. All exact."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import SETTINGS, K, lines_of, made, row

from replnet.lab.experiment.axes import axis
from replnet.lab.sweeps.judged_table import compare_sweeps, judged_lines, table_of_rows
from replnet.measure import verdict
from replnet.measure.estimate import Estimate


def words(rows):
    return [line.row.verdict for line in lines_of(rows)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(1e-6, 0.1)), min_size=3, max_size=3))
def test_verdicts_are_those_of_holm_over_all_rows(values):
    expected = verdict.verdicts([verdict.Comparison(Estimate(m, e, 32), p) for m, p, e in values])
    assert words([row(m, p, e) for m, p, e in values]) == expected


def test_unfinished_and_failed_cells():
    cells, records = made([row(0.5, 0.5), None, row(0.6, 0.6)])
    rows = [line.data() for line in judged_lines(cells, records, failures={"1": "out of memory"})]
    found = [(one["k"], one["verdict"], one["note"]) for one in rows]
    assert found == [(1, "agree", ""), (2, "failed", "out of memory"), (3, "agree", "")]
    assert table_of_rows(rows, [K])["measured"].isna().tolist() == [False, True, False]


def test_columns_are_of_one_kind():
    mixed = axis("x", [1, "auto"])
    rows = [line.data() for line in judged_lines(*made([row(0.5)] * 2, [mixed]))]
    assert table_of_rows(rows, [mixed])["x"].tolist() == ["1", "auto"]
    assert table_of_rows([], [mixed]).columns.tolist()[:3] == ["x", "group", "metric"]


def run(rows, name, axes=(K,)):
    """Return as much of a sweep as a difference takes."""
    lines = judged_lines(*made(rows, axes))
    return SimpleNamespace(lines=lines, folder=name, experiment=SimpleNamespace(axes=axes, settings=SETTINGS))


def test_the_difference_of_two_runs():
    second = run([row(0.5), row(0.5), row(0.1)], "b")
    axes, rows, word = compare_sweeps(run([row(0.5), row(0.6), None], "a"), second)
    assert (axes, word) == (["k"], "differ")
    assert [one["difference"] for one in rows] == pytest.approx([0, 0.1])
    assert [one["verdict"] for one in rows] == ["agree", "differ"]
    half = Estimate(0, math.hypot(0.001, 0.001), 32).half_width
    assert rows[1]["ci_high"] - rows[1]["ci_low"] == pytest.approx(2 * half)
    with pytest.raises(ValueError, match="a and b: have no measured row in common"):
        compare_sweeps(run([row(0.5), None, None], "a"), run([None, row(0.5), None], "b"))
    with pytest.raises(ValueError, match="b: k varies here and not in the other run"):
        compare_sweeps(run([row(0.5)], "a", (axis("j", [1]),)), second)


def test_what_was_chosen_and_not_measured_has_a_difference_and_no_interval():
    """As the best size that a search by emulation found; old records of it have a value and no replications."""
    chosen = {**row(10.0, error=None), "replications": None, "metric": "replicas"}
    (line,) = lines_of([chosen])
    assert (line.row.measured, line.row.ci_low, line.row.verdict) == (10.0, None, "")
    assert {name: line.row.record()[name] for name in chosen} == chosen
    _, (one,), word = compare_sweeps(run([chosen], "a"), run([chosen], "b"))
    assert (one["difference"], one["ci_low"], one["z"], word) == (0.0, None, None, "unresolved")
