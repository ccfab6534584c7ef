"""Figures of every kind, drawn: without a warning, readable by a pointer, light and dark."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from recorded import pair
from report_sections import NOTHING, cells, grid, row, section

from replnet.histories.history import History
from replnet.histories.trace_fit import fit
from replnet.laws import Exponential
from replnet.show.pictures import figure_svg, standalone
from replnet.show.report import FigureSpec, draw, page, write
from replnet.show.report.arrange import arrange
from replnet.show.report.figure import draw_figure, figure_of
from replnet.show.theme import COLOUR_NAMES, ORDERED, SERIES, THEME, shades

NAMED = "{http://www.w3.org/2000/svg}"
LAW = "hyperexponential(weights=[0.9, 0.1],\n\nrates=[10, 0.5]) <b>"


def spec(*more, **how):
    return FigureSpec("k", "freshness", *more, **how)


def drawn(rows, axes=("k", "s"), figure=None):
    return ElementTree.fromstring(figure_svg(figure_of(section(rows, axes, figure=figure or spec("s"))), "f-", ""))


@pytest.mark.parametrize(
    ("rows", "figure"),
    [([row(k=1)], None), ([row(k=1)], FigureSpec("k", "service_rate")), ([row(k=1, **NOTHING)], spec()), ([], spec())],
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


SHAPES = {
    "one point": ([row(k=1)], spec(log=["x", "y"])),
    "one name": ([row(k="a")], spec()),
    "gaps": ([row(k=k) | (NOTHING if k % 2 else {}) for k in range(9)], spec()),
    "predicted": ([{"k": k, "metric": "freshness", "predicted": k} for k in (1, 2)], spec()),
    "printed": ([row(k=1, printed=0.5) | NOTHING], spec()),
    "long names": ([row(k=f"{LAW} {i}") for i in range(5)], spec()),
    "many series": ([row(k=k, s=s) for k in (1, 2) for s in range(40)], spec("s")),
    "panels": ([row(k=k, s=s) for k in (1, 2) for s in range(5)], spec(None, "s")),
    "wide range": ([row(k=10.0**k, measured=10.0**-k) for k in range(9)], spec(log="xy")),
    "equal": ([row(k=k, measured=0.0, ci_low=0.0, ci_high=0.0) for k in (1, 2)], spec()),
    "missing names": ([row(k=1, s=None), row(k=1, s=math.nan), row(k=1, s="")], spec("s")),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("narrow", [False, True])
def test_every_kind_of_figure_is_drawn_without_a_warning(name, narrow):
    rows, figure = SHAPES[name]
    plan = arrange(section(rows, ("k", "s") if "s" in rows[0] else ("k",), figure=figure))
    picture = figure_svg(draw_figure(plan, narrow), "f-", "")
    assert "nan" not in picture.lower()
    ElementTree.fromstring(picture)


def test_labels_are_text_as_they_stand():
    root = drawn([row(k=k, s=s) for k in (1, 2) for s in ("$x^2$ & <b>", "_hidden", "a\nb")])
    labels = {"$x^2$ & <b>", "\N{HAIR SPACE}_hidden", "a b", "measured, 95 %", "predicted", "k", "freshness"}
    assert labels <= {node.text for node in root.iter(f"{NAMED}text")}


def test_whoever_points_at_a_value_reads_it():
    rows = [row(k=1, s="a", printed=0.72), row(k=2, s="a", ci_low=math.nan, ci_high=math.nan)]
    rows += [row(k=1, s="b") | NOTHING | {"predicted": 0.25}, row(k=2, s="b") | NOTHING]
    assert [node.text.split("\n") for node in drawn(rows).iter(f"{NAMED}title")] == [
        ["k: 1", "s: a", "measured 0.5000 (0.4980 – 0.5020)", "predicted 0.5010", "printed 0.72"],
        ["k: 2", "s: a", "measured 0.50000", "predicted 0.50100"],
        ["k: 1", "s: b", "predicted 0.25000"],
    ]
    (title,) = drawn([row(k=LAW)], ("k",), spec()).iter(f"{NAMED}title")
    assert title.text.split("\n")[0] == f"k: {' '.join(LAW.split())}"


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("panels", [1, 3])
@pytest.mark.parametrize(("low", "high"), [(2, 4), (0.5, 20), (1e-9, 1e9), (1, 1e6)])
def test_no_two_labels_of_a_logarithmic_axis_touch(low, high, panels, narrow):
    values = [low * (high / low) ** (i / 10) for i in range(11)]
    rows = [
        row(k=x, s=s, measured=x, ci_low=x * 0.9, ci_high=x * 1.1, predicted=x) for x in values for s in range(panels)
    ]
    figure = draw_figure(arrange(section(rows, ("k", "s"), figure=spec(None, "s", log="xy"))), narrow)
    figure.draw_without_rendering()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
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


@pytest.mark.parametrize("log", ["", "xy"])
def test_pictures_follow_the_page_and_stand_alone(log):
    figure = spec("select", log=log)
    picture = figure_svg(figure_of(section(grid().table, ("k", "select"), figure=figure)), "f-", "label")
    root = ElementTree.fromstring(picture)
    for node in root.iter():
        for key in ("fill", "stroke"):
            if node.get(key, "none") != "none":  # every colour has its dark twin
                assert f"{key[0]}-{COLOUR_NAMES[node.get(key)]}" in node.get("class", "").split()
        assert "#" not in node.get("style", "")
    for shape in root.iterfind(".//{*}defs/{*}path"):
        assert not {"fill", "stroke", "class"} & set(shape.attrib)  # the page's rules do not reach what a <use> repeats
    style = ElementTree.fromstring(standalone(picture).encode())[0].text
    assert style.startswith("@media (prefers-color-scheme:dark){")
    assert f".f-series-0{{fill:{THEME['series-0'][1]}}}" in style
    assert ".f-series-2" not in style


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_everything_can_be_seen(mode):
    """WCAG 2.1: 4.5 for text, 3 for what is drawn."""
    colour = {name: pair[mode] for name, pair in THEME.items()}
    for name in ("ink", "quiet", "accent", "good", "open", "bad"):
        assert contrast(colour[name], colour["paper"]) >= 4.5
        assert contrast(colour[name], colour.get(f"{name}-ground", colour["paper"])) >= 4.5
    assert all(contrast(pair[mode], colour["paper"]) >= 3 for pair in SERIES + ORDERED)
    assert len(COLOUR_NAMES) == len(THEME)
    assert (shades(1), shades(2)) == ([ORDERED[6][0]], [ORDERED[0][0], ORDERED[-1][0]])


# Pictures of recorded histories.


def test_pictures_are_the_same_twice(tmp_path):
    updates, _ = pair(12, Exponential(mean=5000), Exponential(mean=9000), 6e5)
    dated = fit(History(np.floor(updates.times) + 1.7e9, "u"))
    for name in ("a.svg", "b.svg"):
        draw(dated, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "events an hour, over the day" in (tmp_path / "a.svg").read_text()
    draw(fit(History(dated.history.times[:60] - dated.history.start, "u")), tmp_path / "c.svg")
    assert "events an hour" not in (tmp_path / "c.svg").read_text()
    with pytest.raises(ValueError, match=r"file: .*a.gif is no kind of picture"):
        draw(dated, tmp_path / "a.gif")
