"""Figures of every kind, drawn."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from report_sections import NOTHING, Parsed, cells, grid, row, section

from replnet.show.pictures import figure_svg as svg
from replnet.show.report import FigureSpec, page, write
from replnet.show.report.arrange import arrange
from replnet.show.report.figure import draw_figure, figure_of

NAMED = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("rows", "figure"),
    [
        ([row(k=1)], None),
        ([row(k=1)], FigureSpec("k", "service_rate")),
        ([row(k=1, **NOTHING)], FigureSpec("k", "freshness")),
        ([], FigureSpec("k", "freshness")),
    ],
)
def test_a_section_without_numbers_has_a_table_and_no_figure(rows, figure, tmp_path):
    empty = section(rows, figure=figure)
    markup = page([empty], "Report", {})
    assert "<svg" not in markup
    assert bool(cells(markup)) == bool(rows)
    write(tmp_path, [empty], "Report", {})
    assert not (tmp_path / "figures").exists()
    with pytest.raises(ValueError, match="p2p/fig11b: nothing to draw"):
        figure_of(empty)


def shapes():
    """Figures of every kind, by name."""
    law = "hyperexponential(weights=[0.9, 0.1], rates=[10, 0.5])"
    gap = [row(k=k) | (NOTHING if k % 2 else {}) for k in range(9)]
    return {
        "one point": ([row(k=1)], FigureSpec("k", "freshness", log=["x", "y"])),
        "one name": ([row(k="a")], FigureSpec("k", "freshness")),
        "gaps": (gap, FigureSpec("k", "freshness")),
        "no interval": ([row(k=k, ci_low=math.nan, ci_high=math.nan) for k in (1, 2)], FigureSpec("k", "freshness")),
        "predicted": ([{"k": k, "metric": "freshness", "predicted": k} for k in (1, 2)], FigureSpec("k", "freshness")),
        "printed": ([row(k=1, printed=0.5) | NOTHING], FigureSpec("k", "freshness")),
        "long names": ([row(k=f"{law} {i}") for i in range(5)], FigureSpec("k", "freshness")),
        "many series": ([row(k=k, s=s) for k in (1, 2) for s in range(40)], FigureSpec("k", "freshness", "s")),
        "panels": ([row(k=k, s=s) for k in (1, 2) for s in range(5)], FigureSpec("k", "freshness", None, "s")),
        "wide range": ([row(k=10.0**k, measured=10.0**-k) for k in range(9)], FigureSpec("k", "freshness", log="xy")),
        "equal": ([row(k=k, measured=0.0, ci_low=0.0, ci_high=0.0) for k in (1, 2)], FigureSpec("k", "freshness")),
        "missing names": ([row(k=1, s=None), row(k=1, s=math.nan), row(k=1, s="")], FigureSpec("k", "freshness", "s")),
        "underscores": ([row(k=1, s="_a"), row(k=1, s="_b")], FigureSpec("k", "freshness", "s")),
    }


@pytest.mark.parametrize("name", shapes())
def test_every_kind_of_figure_is_drawn_without_a_warning(name):
    rows, figure = shapes()[name]
    axes = ("k", "s") if "s" in rows[0] else ("k",)
    markup = page([section(rows, axes, figure=figure)], "Report", {})
    assert Parsed(markup).count("svg") == 2
    for picture in re.findall(r"<svg.*?</svg>", markup, re.S):
        assert "nan" not in picture.lower()
        ElementTree.fromstring(picture)


def test_labels_are_text_as_they_stand():
    rows = [row(k=k, s=s) for k in (1, 2) for s in ("$x^2$ & <b>", "_hidden", "a\nb")]
    root = ElementTree.fromstring(
        svg(figure_of(section(rows, ("k", "s"), figure=FigureSpec("k", "freshness", "s"))), "f-", "")
    )
    words = [node.text for node in root.iter(f"{NAMED}text")]
    assert {"$x^2$ & <b>", "\N{HAIR SPACE}_hidden", "a b", "measured, 95 %", "predicted", "k", "freshness"} <= set(
        words
    )


def titles(section):
    root = ElementTree.fromstring(svg(figure_of(section), "f-", ""))
    return [node.text.split("\n") for node in root.iter(f"{NAMED}title")]


def test_whoever_points_at_a_value_reads_it():
    rows = [row(k=1, s="a", printed=0.72), row(k=2, s="a", ci_low=math.nan, ci_high=math.nan)]
    rows += [row(k=1, s="b") | NOTHING | {"predicted": 0.25}, row(k=2, s="b") | NOTHING]
    assert titles(section(rows, ("k", "s"), figure=FigureSpec("k", "freshness", "s"))) == [
        ["k: 1", "s: a", "measured 0.5000 (0.4980 – 0.5020)", "predicted 0.5010", "printed 0.72"],
        ["k: 2", "s: a", "measured 0.50000", "predicted 0.50100"],
        ["k: 1", "s: b", "predicted 0.25000"],
    ]


def test_whoever_points_at_a_name_reads_all_of_it():
    long = "hyperexponential(weights=[0.9, 0.1],\n\nrates=[10, 0.5]) <b>"
    (lines,) = titles(section([row(k=long)], figure=FigureSpec("k", "freshness")))
    assert lines[0] == "k: hyperexponential(weights=[0.9, 0.1], rates=[10, 0.5]) <b>"


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("panels", [1, 3])
@pytest.mark.parametrize(("low", "high"), [(2, 4), (0.5, 20), (1e-4, 1e4), (1e-9, 1e9), (1, 1e6)])
def test_no_two_labels_of_a_logarithmic_axis_touch(low, high, panels, narrow):
    values = [low * (high / low) ** (i / 10) for i in range(11)]
    rows = [
        row(k=x, s=s, measured=x, ci_low=x * 0.9, ci_high=x * 1.1, predicted=x) for x in values for s in range(panels)
    ]
    spec = FigureSpec("k", "freshness", None, "s", log="xy")
    figure = draw_figure(arrange(section(rows, ("k", "s"), figure=spec)), narrow)
    figure.draw_without_rendering()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            ends = axis.get_view_interval()
            ticks = [tick for tick in axis.get_major_ticks() if ends[0] <= tick.get_loc() <= ends[1]]
            boxes = [tick.label1.get_window_extent() for tick in ticks if tick.label1.get_visible()]
            assert len(ticks) >= 2
            assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_drawing_leaves_matplotlib_as_it_was():
    from matplotlib import rcParams

    before = dict(rcParams)
    page([grid()], "Report", {})
    assert dict(rcParams) == before
