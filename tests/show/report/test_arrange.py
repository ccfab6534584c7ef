"""What a figure shows, before it is drawn."""

from __future__ import annotations

import math
from itertools import product

import pandas as pd
import pytest
from report_sections import grid, row, section

from replnet.show.report import FigureSpec
from replnet.show.report.arrange import MOST_MARKS, MOST_PANELS, MOST_SERIES, arrange


def arranged(rows, axes=("k",), *spec, **more):
    return arrange(section(rows, axes, figure=FigureSpec("k", "freshness", *spec, **more)))


def points(series):
    """Of the predicted curve."""
    return list(zip(series["curve_x"].tolist(), series["curve_y"].tolist(), strict=True))


def test_the_series_of_a_figure():
    plan = arrange(grid())
    assert (plan.heading, plan.labels, plan.names, plan.left_out) == ("select", ("random", "recent"), (), ())
    ((_, series),) = plan.panels
    marks = series["random"]
    assert marks["x"].tolist() == list(range(1, 10))
    assert [marks[part][0] for part in ("measured", "ci_low", "ci_high", "printed")] == [0.69, 0.688, 0.692, 0.72]
    assert math.isnan(marks["printed"][1])
    assert points(marks) == [(k, 0.501) for k in range(1, 10)]


def test_other_metrics_are_left_alone():
    plan = arranged([row(k=1), row(k=1, metric="service_rate", measured=17.0), row(k=2)])
    assert plan.marks("measured").tolist() == [0.5, 0.5]


def test_axes_that_the_figure_does_not_name_make_panels_and_series():
    rows = [row(k=k, m=m, nu=nu, group=g) for k, m, nu, g in product((1, 2), (3, 4), (5, 6), ("a", "b"))]
    plan = arranged(rows, ("k", "m", "nu"), "m")
    assert [title for title, _ in plan.panels] == ["a", "b"]
    assert (plan.heading, plan.labels) == ("m, nu", ("3, 5", "3, 6", "4, 5", "4, 6"))
    all_series = [series for _, panel in plan.panels for series in panel.values()]
    assert all(points(series) == [(1, 0.501), (2, 0.501)] for series in all_series)
    zipped = arranged([row(k=k, nu=4 / k) for k in (1, 2, 4)], ("k", "nu"))  # which tells nothing apart
    assert (zipped.heading, zipped.labels, len(zipped.panels)) == ("", ("",), 1)


def test_x_may_be_a_name():
    rows = [row(group=f"level {i}", measured=m) for i, m in ((2, 0.25), (1, 0.5), (3, math.nan))]
    plan = arrange(section(rows, (), figure=FigureSpec("group", "freshness", log=["x", "y"])))
    assert plan.names == ("level 2", "level 1", "level 3")
    assert (plan.marks("x").tolist(), plan.log) == ([0, 1, 2], {"y"})


def test_a_curve_on_a_finer_grid():
    known = [("random", "freshness", 0.1), ("random", "rate", 0.2), ("recent", "freshness", 0.3)]
    curve = [{"k": k / 2, "select": s, "metric": m, "predicted": p} for k in (4, 3, 2) for s, m, p in known]
    rows = [row(k=k, select=s) for s in ("random", "recent", "none") for k in (1, 2)]
    ((_, series),) = arranged(rows, ("k", "select"), "select", curve=pd.DataFrame(curve)).panels
    assert points(series["random"]) == [(1, 0.1), (1.5, 0.1), (2, 0.1)]
    assert points(series["recent"]) == [(1, 0.3), (1.5, 0.3), (2, 0.3)]
    assert points(series["none"]) == [(1, 0.501), (2, 0.501)]


@pytest.mark.parametrize(("value", "log"), [(1.0, {"x", "y"}), (0.0, {"x"}), (math.nan, {"x", "y"})])
def test_logarithms_need_numbers_above_zero(value, log):
    assert arranged([row(k=1), row(k=2, measured=value)], log=["x", "y"]).log == log


def test_too_much_to_see_is_thinned_and_said():
    rows = [row(k=k, s=s, p=p) for k in range(40) for s in range(26) for p in range(10)]
    plan = arranged(rows, ("k", "s", "p"), "s", "p")
    assert (len(plan.panels), len(plan.labels)) == (MOST_PANELS, MOST_SERIES)
    (first, series), (last, _) = plan.panels[0], plan.panels[-1]
    assert (first, last, plan.labels[0], plan.labels[-1]) == ("p = 0", "p = 9", "0", "25")
    assert (len(series["0"]["x"]), series["0"]["x"][-1], len(points(series["0"]))) == (MOST_MARKS, 39, 40)
    assert plan.left_out == (
        f"{MOST_PANELS} of 10 values of p are drawn",
        f"{MOST_SERIES} of 26 values of s are drawn",
        f"about {MOST_MARKS} of 40 values of k have a mark",
    )
