"""What a figure shows, before it is drawn."""

from __future__ import annotations

import math
from itertools import product

import pandas as pd
import pytest
from report_sections import grid, row, section

from replnet.show.report import FigureSpec
from replnet.show.report.arrange import MOST_MARKS, MOST_PANELS, MOST_SERIES, arrange


def points(series):
    """Of the predicted curve."""
    return list(zip(series["curve_x"].tolist(), series["curve_y"].tolist(), strict=True))


def test_the_series_of_a_figure():
    plan = arrange(grid())
    assert (plan.heading, plan.labels, plan.names, plan.left_out) == ("select", ("random", "recent"), (), ())
    ((_, series),) = plan.panels
    marks = series["random"]
    assert marks["x"].tolist() == list(range(1, 10))
    first = [marks[part][0] for part in ("measured", "ci_low", "ci_high", "printed")]
    assert first == pytest.approx((0.69, 0.688, 0.692, 0.72))
    assert math.isnan(marks["printed"][1])
    assert points(series["random"]) == [(k, 0.501) for k in range(1, 10)]


def test_other_metrics_are_left_alone():
    rows = [row(k=1), row(k=1, metric="service_rate", measured=17.0), row(k=2)]
    plan = arrange(section(rows, figure=FigureSpec("k", "freshness")))
    assert plan.marks("measured").tolist() == [0.5, 0.5]


def test_axes_that_the_figure_does_not_name_make_panels_and_series():
    rows = [row(k=k, m=m, nu=nu, group=g) for k, m, nu, g in product((1, 2), (3, 4), (5, 6), ("a", "b"))]
    plan = arrange(section(rows, ("k", "m", "nu"), figure=FigureSpec("k", "freshness", "m")))
    assert [title for title, _ in plan.panels] == ["a", "b"]
    assert not any(math.isnan(y) for _, panel in plan.panels for one in panel.values() for _, y in points(one))
    assert (plan.heading, plan.labels) == ("m, nu", ("3, 5", "3, 6", "4, 5", "4, 6"))
    assert all(one["x"].tolist() == [1, 2] for _, panel in plan.panels for one in panel.values())


def test_an_axis_zipped_to_x_tells_nothing_apart():
    rows = [row(k=k, nu=4 / k) for k in (1, 2, 4)]
    plan = arrange(section(rows, ("k", "nu"), figure=FigureSpec("k", "freshness")))
    assert (plan.heading, plan.labels, len(plan.panels)) == ("", ("",), 1)


def test_x_may_be_a_name():
    rows = [row(group=f"level {i}", measured=m) for i, m in ((2, 0.25), (1, 0.5), (3, math.nan))]
    plan = arrange(section(rows, (), figure=FigureSpec("group", "freshness", log=["x", "y"])))
    assert plan.names == ("level 2", "level 1", "level 3")
    assert plan.marks("x").tolist() == [0, 1, 2]
    assert plan.log == {"y"}


def test_a_curve_on_a_finer_grid():
    curve = pd.DataFrame(
        [
            {"k": k / 2, "select": s, "metric": m, "predicted": p}
            for k in (4, 3, 2)
            for s, m, p in [("random", "freshness", 0.1), ("random", "rate", 0.2), ("recent", "freshness", 0.3)]
        ]
    )
    rows = [row(k=k, select=s) for s in ("random", "recent", "none") for k in (1, 2)]
    spec = FigureSpec("k", "freshness", "select", curve=curve)
    ((_, series),) = arrange(section(rows, ("k", "select"), figure=spec)).panels
    assert points(series["random"]) == [(1, 0.1), (1.5, 0.1), (2, 0.1)]
    assert points(series["recent"]) == [(1, 0.3), (1.5, 0.3), (2, 0.3)]
    assert points(series["none"]) == [(1, 0.501), (2, 0.501)]


@pytest.mark.parametrize(("value", "log"), [(1.0, {"x", "y"}), (0.0, {"x"}), (math.nan, {"x", "y"})])
def test_logarithms_need_numbers_above_zero(value, log):
    rows = [row(k=1), row(k=2, measured=value)]
    assert arrange(section(rows, figure=FigureSpec("k", "freshness", log=["x", "y"]))).log == log


def test_too_much_to_see_is_thinned_and_said():
    rows = [row(k=k, s=s, p=p) for k in range(40) for s in range(26) for p in range(10)]
    plan = arrange(section(rows, ("k", "s", "p"), figure=FigureSpec("k", "freshness", "s", "p")))
    assert (len(plan.panels), len(plan.labels)) == (MOST_PANELS, MOST_SERIES)
    (first, series), (last, _) = plan.panels[0], plan.panels[-1]
    assert (first, last, plan.labels[0], plan.labels[-1]) == ("p = 0", "p = 9", "0", "25")
    places = series["0"]["x"]
    assert (len(places), places[-1], len(points(series["0"]))) == (MOST_MARKS, 39, 40)
    assert plan.left_out == (
        f"{MOST_PANELS} of 10 values of p are drawn",
        f"{MOST_SERIES} of 26 values of s are drawn",
        f"about {MOST_MARKS} of 40 values of k have a mark",
    )
