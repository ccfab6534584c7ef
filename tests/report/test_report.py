"""Reports: what is drawn, what is said, and that no text of an experiment becomes markup."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import product
from xml.etree import ElementTree

import pandas as pd
import pytest

from replnet.report import ClaimResult, FigureSpec, Section, notebook, page, plot, write
from replnet.report.arrange import MOST_MARKS, MOST_PANELS, MOST_SERIES, arrange
from replnet.report.markup import Html, element
from replnet.report.number import finite, fixed, places, text
from replnet.report.page import file_names
from replnet.report.style import NAMES, ORDERED, SERIES, THEME
from replnet.report.svg import standalone, svg
from replnet.study.sweeps.statements import Expectation, ShownErratum

NASTY = """<script>alert("1")</script> & 'x' $a$ </title></style>\x00\x1b ]]> --> _é 漢"""


def row(**values):
    known = {"group": "cluster", "metric": "freshness", "measured": 0.5, "ci_low": 0.498, "ci_high": 0.502}
    return known | {"predicted": 0.501, "z": -1.0, "verdict": "agree", "kind": "exact", "source": "P2P eq. 8"} | values


def section(rows, axes=("k",), **fields):
    known = {"name": "p2p/fig11b", "title": "Freshness by peers", "verdict": "agree"}
    return Section(table=pd.DataFrame(rows), axes=axes, **known | fields)


def grid(figure=True, **fields):
    rows = [
        row(k=k, select=select, measured=0.7 - 0.01 * k, ci_low=0.698 - 0.01 * k, ci_high=0.702 - 0.01 * k)
        for select, k in product(("random", "recent"), range(1, 10))
    ]
    rows[0]["printed"] = 0.72
    spec = FigureSpec("k", "freshness", "select") if figure else None
    return section(rows, ("k", "select"), figure=spec, **fields)


# What a page holds


class Parsed(HTMLParser):
    """Elements with attributes, text by element, and whether every element ends where it should."""

    def __init__(self, markup):
        super().__init__()
        self.elements, self.words, self.stack = [], [], []
        self.feed(markup)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "style" not in self.stack:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    def count(self, tag):
        return sum(one == tag for one, _ in self.elements)


def test_a_page_needs_nothing_but_itself_and_its_identifiers_are_its_own():
    parsed = Parsed(page([grid(), grid(), grid(name="other")], "Report", {"replnet": "1"}))
    assert len(parsed.ids()) == len(set(parsed.ids()))
    assert parsed.count("svg") == 6  # wide and narrow
    for tag, attributes in parsed.elements:
        assert tag not in ("script", "link", "img", "iframe", "object", "embed")
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        for name in ("href", "xlink:href"):
            if name in attributes:
                assert attributes[name].removeprefix("#") in parsed.ids()
        if "clip-path" in attributes:
            assert attributes["clip-path"][len("url(#") : -1] in parsed.ids()


def test_a_page_names_no_address():
    markup = page([grid()], "Report", {})
    assert set(re.findall(r"https?://[^\"' ]+", markup)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in re.sub(r"url\(#[\w.-]+\)", "", markup)
    assert "@import" not in markup


def nasty():
    rows = [
        {**row(group=NASTY, note=NASTY * 2, source=NASTY, kind=NASTY), NASTY: NASTY + str(i % 2), "k": i}
        for i in range(40)
    ]
    claim = ClaimResult(NASTY, True, False, NASTY)
    figure = FigureSpec("k", "freshness", NASTY, "group")
    return section(
        rows,
        ("k", NASTY),
        name=NASTY,
        title=NASTY,
        verdict=NASTY,
        claim=NASTY,
        paper=NASTY,
        figure=figure,
        claims=(claim,),
        errata=(ShownErratum(NASTY, "prose", NASTY, (NASTY,)), ShownErratum("", "rounding", NASTY)),
        expectations=(Expectation(NASTY, 0, 1, (NASTY,)),),
        progress=NASTY,
        about={NASTY: NASTY, "deep": {NASTY: [{NASTY: NASTY}]}},
    )


@pytest.mark.parametrize("show", [lambda s: page([s], NASTY, {NASTY: {NASTY: NASTY}}), notebook])
def test_text_is_never_markup(show):
    shown = show(nasty())
    errata = (ShownErratum("x", "prose", "x", ("x",)),)
    harmless = show(grid(claims=(ClaimResult("x"),), errata=errata, about={"deep": {"x": [{"y": 1}]}}))
    parsed, plain = Parsed(shown), Parsed(harmless)
    assert {tag for tag, _ in parsed.elements} <= {tag for tag, _ in plain.elements} | {"details", "summary", "ol"}
    assert "\x00" not in shown
    assert "\x1b" not in shown
    assert parsed.text.count('<script>alert("1")</script> &') > 20
    # A text element of the picture holds it too, cut to its length.
    assert "&lt;script&gt;alert(" in re.search(r"<svg.*?</svg>", shown, re.S)[0]


def test_elements_escape_what_is_not_markup():
    assert element("p", "<&", Html("<b>"), class_="\"'", data_what=None) == ('<p class="&quot;&#x27;">&lt;&amp;<b></p>')
    assert element("meta", http_equiv="x", name="n") == '<meta http-equiv="x" name="n">'


# One that two sections show, and one that is a cell of its own.
ERRATA = (
    ShownErratum("Table 1", "prose", "2 is printed, 3 is right", ("k = 3: 2",)),
    ShownErratum("", "rounding", "k = 4"),
)


def test_the_summary_counts():
    rows = [row(k=1), row(k=2, verdict="differ"), row(k=3, verdict="unresolved"), row(k=3, group="clients")]
    claims = (ClaimResult("a", True, True), ClaimResult("b", True, False, "", "T1"), ClaimResult("c", None, None))
    one = section(rows, verdict="differ", claims=claims, errata=ERRATA)
    words = Parsed(page([one, grid(errata=ERRATA[:1])], "Report", {})).text
    assert "2 experiments; 21 cells; measured against predicted: 20 agree, 1 unresolved, 1 differs" in words
    said = "1 of 3 claims hold, 1 of the others is known as errata; 2 errata in what the papers print"
    assert f"{said} (1 of rounding, 1 of prose)." in words


def test_every_section_has_its_line_and_its_anchor():
    sections = [grid(title="One", claim="Peers help", paper="P2P Fig. 1", progress="12 of 18 cells"), grid(title="Two")]
    parsed = Parsed(page(sections, "Report", {}))
    links = [attributes["href"] for tag, attributes in parsed.elements if tag == "a"]
    assert links == ["#p2p-fig11b", "#p2p-fig11b-2"] * 2  # contents and summary
    assert "Peers help · P2P Fig. 1 · 12 of 18 cells" in parsed.words


@pytest.mark.parametrize(
    ("measured", "predicted", "holds"),
    [(True, True, True), (True, None, True), (None, True, True), (True, False, False), (None, None, None)],
)
def test_a_claim_holds_if_nothing_speaks_against_it(measured, predicted, holds):
    assert ClaimResult("x", measured, predicted).holds is holds


def test_claims_and_errata_are_told():
    claims = (ClaimResult("Peak at 1", True, None, "0.70 at k = 1"), ClaimResult("Falls", False, True))
    met = Expectation("by our reckoning", 1, 2, ("k = 3: 0.7 is expected",))
    parsed = Parsed(notebook(grid(claims=claims, errata=ERRATA, expectations=(met,))))
    words = {"✓ holds", "✗ fails", "not checked", " measured", " predicted"}
    told = [one for one in parsed.words if one in words]
    assert told == [
        *("✓ holds", " measured", "not checked", " predicted"),
        *("✗ fails", " measured", "✓ holds", " predicted"),
    ]
    assert "0.70 at k = 1" in parsed.words
    assert [
        one for one in ("Errata of the paper", "prose", "Table 1", "k = 3: 2", " k = 4") if one not in parsed.words
    ] == []
    assert ": 2 is printed, 3 is right" in parsed.words
    assert "expected: by our reckoning " in parsed.words
    assert {"1 of 2 agree", "k = 3: 0.7 is expected"} <= set(parsed.words)


def test_errata_of_all_sections_are_listed_once():
    parsed = Parsed(page([grid(errata=ERRATA), grid(title="Two", errata=ERRATA[:1])], "Report", {}))
    links = [attributes["href"] for tag, attributes in parsed.elements if tag == "a"]
    assert links[-3:] == ["#p2p-fig11b", "#p2p-fig11b", "#p2p-fig11b-2"]  # rounding first
    assert parsed.text.count("2 is printed, 3 is right") == 3  # once in each section, and once for all
    assert "#errata" in links


def test_provenance_is_outlined():
    about = {
        "seed": 3,
        "events": 1234567,
        "none": None,
        "libraries": {"numpy": "2.4"},
        "net": {"a": [{"b": 1, "c": [1, 2]}]},
    }
    parsed = Parsed(page([grid(about=about)], "Report", {}))
    start = parsed.words.index("seed")
    assert parsed.words[start:] == [
        "seed", "3", "events", "1,234,567", "libraries", "numpy 2.4", "net", "a:\n  - b: 1\n    c: [1, 2]", "\n",
    ]  # fmt: skip


# Tables


def cells(markup):
    """The rows of all tables of a section, as text; ~ and ^ for spaces as wide as a digit and a point."""
    markup = markup.replace("\N{FIGURE SPACE}", "~").replace("\N{PUNCTUATION SPACE}", "^")
    table = re.findall(r"<tr>(.*?)</tr>", markup)
    return [[re.sub(r"<[^>]*>", "", one) for one in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", line)] for line in table]


def test_numbers_have_the_digits_their_interval_supports():
    rows = [
        row(k=1, measured=0.123456, ci_low=0.12, ci_high=0.126, predicted=0.1298765, z=-0.125),
        row(k=2, measured=1865.4321, ci_low=1800.0, ci_high=1930.0, predicted=1870.49, z=2.0, metric="rate"),
    ]
    assert cells(notebook(section(rows))) == [
        ["k", "metric", "measured", "95 % interval", "predicted", "z", "verdict"],
        ["1", "freshness", "0.1235", "0.1200 – 0.1260", "0.1299", "−0.12", "✓ agree"],
        ["2", "rate", "1865^~~~~", "1800 – 1930^~~~~", "1870^~~~~", "2.00", "✓ agree"],
    ]


def test_what_is_empty_is_left_out_and_what_is_the_same_said_once():
    markup = notebook(section([row(k=1, note="", printed=math.nan, accuracy=None), row(k=2, z=math.nan)]))
    assert cells(markup)[0] == ["k", "measured", "95 % interval", "predicted", "z", "verdict"]
    assert "group: cluster · metric: freshness · prediction: exact, P2P eq. 8" in markup
    assert cells(markup)[2][4] == ""


def test_long_words_stand_below_the_table_once():
    why = "no formula: for recent selection: the list of the source makes peers depend on their downloads"
    rows = [row(k=1), *(row(k=k, kind="limit", source="renewal equation of a large cluster", note=why) for k in (2, 3))]
    markup = notebook(section(rows))
    assert [line[-2:] for line in cells(markup)] == [
        ["prediction", "note"],
        ["exact, P2P eq. 8", ""],
        ["limit [1]", "[2]"],
        ["limit [1]", "[2]"],
    ]
    assert f"<ol><li>limit, renewal equation of a large cluster</li><li>{why}</li></ol>" in markup


def test_long_tables_show_the_worst_rows_before_the_fold():
    rows = [row(k=k, z=0.01 * k) for k in range(100)]
    rows[3] |= {"verdict": "differ", "z": 5.0}
    rows[7] |= {"verdict": "unresolved", "z": math.nan}
    rows[8] |= {"z": -4.0}
    before, after = notebook(section(rows)).split("<details>")
    assert [line[0] for line in cells(before)] == ["k", "3", "7", "8", "99", "98", "97", "96", "95"]
    assert [line[0] for line in cells(after)] == ["k", *map(str, range(100))]
    assert "The 8 rows furthest from their prediction, of 100." in before
    assert "<summary>All 100 rows</summary>" in after


def test_very_long_tables_are_cut():
    markup = notebook(section([row(k=k) for k in range(1200)]))
    assert "The first 1,000 of 1,200 rows" in markup
    assert len(cells(markup)) == 2 + 8 + 1000


def test_a_table_of_predictions_has_no_worst_rows():
    markup = notebook(section([{"k": k, "group": "a", "metric": "freshness", "predicted": k / 7} for k in range(30)]))
    assert cells(markup)[:2] == [["k", "predicted"], ["0", "0^~~~~~"]]
    assert "furthest" not in markup


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (0.49874, 0.49645, 0.50103, "0.4987"),
        (1865.4, 1842.0, 1889.0, "1865"),
        (123456.7, 100000.0, 150000.0, "123457"),
        (0.5, math.nan, math.nan, "0.50000"),
        (0.5, 0.5, 0.5, "0.50000"),
        (12345.678, math.nan, math.nan, "12346"),
        (-0.00001, -0.001, 0.001, "0.0000"),
        (-0.25, -0.3, -0.2, "−0.250"),
        (0.0, math.nan, math.nan, "0"),
        (1.5e-12, math.nan, math.nan, "1.500e−12"),
        (3e12, math.nan, math.nan, "3.000e+12"),
    ],
)
def test_rounding(value, low, high, shown):
    assert fixed(value, places(value, low, high)) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "1"), (1.0, "1"), (0.1, "0.1"), (-2.5, "−2.5"), (1e6, "1000000"), (1 / 3, "0.333333"), (True, "True"),
        (None, ""), (math.nan, ""), (pd.NA, ""), (pd.NaT, ""), ("a\x00b", "a\ufffdb"), (math.inf, "inf"),
        (1e-7, "1e−07"),
    ],
)  # fmt: skip
def test_values_as_text(value, shown):
    assert text(value) == shown


@pytest.mark.parametrize("value", [None, "1", True, math.inf, -math.inf, pd.NA, math.nan])
def test_what_is_no_number_is_nan(value):
    assert math.isnan(finite(value))


# What a figure shows


def test_the_series_of_a_figure():
    plan = arrange(grid())
    assert (plan.heading, plan.labels, plan.names, plan.left_out) == ("select", ("random", "recent"), (), ())
    (panel,) = plan.panels
    marks = panel.series["random"].marks
    assert [mark.x for mark in marks] == list(range(1, 10))
    assert (marks[0].measured, marks[0].low, marks[0].high, marks[0].printed) == pytest.approx(
        (0.69, 0.688, 0.692, 0.72)
    )
    assert math.isnan(marks[1].printed)
    assert panel.series["random"].curve == tuple((k, 0.501) for k in range(1, 10))


def test_other_metrics_are_left_alone():
    rows = [row(k=1), row(k=1, metric="service_rate", measured=17.0), row(k=2)]
    assert [m.measured for m in arrange(section(rows, figure=FigureSpec("k", "freshness"))).marks()] == [0.5, 0.5]


def test_axes_that_the_figure_does_not_name_make_panels_and_series():
    rows = [row(k=k, m=m, nu=nu, group=g) for k, m, nu, g in product((1, 2), (3, 4), (5, 6), ("a", "b"))]
    plan = arrange(section(rows, ("k", "m", "nu"), figure=FigureSpec("k", "freshness", "m")))
    assert [panel.title for panel in plan.panels] == ["a", "b"]
    assert all(one.is_predicted for panel in plan.panels for one in panel.series.values())
    assert (plan.heading, plan.labels) == ("m, nu", ("3, 5", "3, 6", "4, 5", "4, 6"))
    assert all(len(one.marks) == 2 for panel in plan.panels for one in panel.series.values())


def test_an_axis_zipped_to_x_tells_nothing_apart():
    rows = [row(k=k, nu=4 / k) for k in (1, 2, 4)]
    plan = arrange(section(rows, ("k", "nu"), figure=FigureSpec("k", "freshness")))
    assert (plan.heading, plan.labels, len(plan.panels)) == ("", ("",), 1)


def test_x_may_be_a_name():
    rows = [row(group=f"level {i}", measured=m) for i, m in ((2, 0.25), (1, 0.5), (3, math.nan))]
    plan = arrange(section(rows, (), figure=FigureSpec("group", "freshness", log=["x", "y"])))
    assert plan.names == ("level 2", "level 1", "level 3")
    assert [mark.x for mark in plan.marks()] == [0, 1, 2]
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
    (panel,) = arrange(section(rows, ("k", "select"), figure=spec)).panels
    assert panel.series["random"].curve == ((1, 0.1), (1.5, 0.1), (2, 0.1))
    assert panel.series["recent"].curve == ((1, 0.3), (1.5, 0.3), (2, 0.3))
    assert panel.series["none"].curve == ((1, 0.501), (2, 0.501))


@pytest.mark.parametrize(("value", "log"), [(1.0, {"x", "y"}), (0.0, {"x"}), (math.nan, {"x", "y"})])
def test_logarithms_need_numbers_above_zero(value, log):
    rows = [row(k=1), row(k=2, measured=value)]
    assert arrange(section(rows, figure=FigureSpec("k", "freshness", log=["x", "y"]))).log == log


def test_too_much_to_see_is_thinned_and_said():
    rows = [row(k=k, s=s, p=p) for k in range(40) for s in range(26) for p in range(10)]
    plan = arrange(section(rows, ("k", "s", "p"), figure=FigureSpec("k", "freshness", "s", "p")))
    assert (len(plan.panels), len(plan.labels)) == (MOST_PANELS, MOST_SERIES)
    assert (plan.panels[0].title, plan.panels[-1].title, plan.labels[0], plan.labels[-1]) == (
        "p = 0",
        "p = 9",
        "0",
        "25",
    )
    one = plan.panels[0].series["0"]
    assert (len(one.marks), one.marks[-1].x, len(one.curve)) == (MOST_MARKS, 39, 40)
    assert plan.left_out == (
        f"{MOST_PANELS} of 10 values of p are drawn",
        f"{MOST_SERIES} of 26 values of s are drawn",
        f"about {MOST_MARKS} of 40 values of k have a mark",
    )


NOTHING = {"measured": math.nan, "ci_low": math.nan, "ci_high": math.nan, "predicted": math.nan}


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
    assert ("<caption>" in markup or len(cells(markup)) > 2) == bool(rows)
    write(tmp_path, [empty], "Report", {})
    assert not (tmp_path / "figures").exists()
    with pytest.raises(ValueError, match="p2p/fig11b: nothing to draw"):
        plot(empty)


# Drawing


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
        svg(plot(section(rows, ("k", "s"), figure=FigureSpec("k", "freshness", "s"))), "f-", "")
    )
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"$x^2$ & <b>", "\N{HAIR SPACE}_hidden", "a b", "measured, 95 %", "predicted", "k", "freshness"} <= set(
        words
    )


def test_the_same_section_gives_the_same_bytes():
    assert page([grid()], "Report", {"a": 1}) == page([grid()], "Report", {"a": 1})


@pytest.mark.parametrize("log", ["", "xy"])
def test_pictures_follow_the_page_and_stand_alone(log):
    spec = FigureSpec("k", "freshness", "select", log=log)
    picture = svg(plot(section(grid().table, ("k", "select"), figure=spec)), "f-", "label")
    root = ElementTree.fromstring(picture)
    for node in root.iter():
        classes = node.get("class", "").split()
        for key in ("fill", "stroke"):
            if node.get(key, "none") != "none":
                assert f"{key[0]}-{NAMES[node.get(key)]}" in classes  # every colour has its dark twin
        assert "#" not in node.get("style", "")
    for shape in root.iterfind(".//{*}defs/{*}path"):
        assert not {"fill", "stroke", "class"} & set(shape.attrib)  # the page's rules do not reach what a <use> repeats
    alone = ElementTree.fromstring(standalone(picture).encode())
    style = alone[0].text
    assert style.startswith("@media (prefers-color-scheme:dark){")
    assert f".f-series-0{{fill:{THEME['series-0'][1]}}}" in style
    assert ".f-series-2" not in style


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_everything_can_be_seen(mode):
    """WCAG 2.1: 4.5 for text, 3 for what is drawn."""
    colour = {name: pair[mode] for name, pair in THEME.items()}
    for name in ("ink", "quiet", "accent", "good", "open", "bad"):
        assert contrast(colour[name], colour["paper"]) >= 4.5
    for name in ("good", "open", "bad"):
        assert contrast(colour[name], colour[f"{name}-ground"]) >= 4.5
    for pair in SERIES + ORDERED:
        assert contrast(pair[mode], colour["paper"]) >= 3


def test_no_two_names_share_a_colour():
    assert len(NAMES) == len(THEME)


# Files


def test_files(tmp_path):
    sections = [grid(), grid(figure=False, name="../../etc/pass wd")]
    assert write(tmp_path / "out", sections, "Report", {}) == tmp_path / "out" / "report.html"
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert found == [
        "out/data/etc-pass-wd.csv",
        "out/data/p2p-fig11b.csv",
        "out/figures/p2p-fig11b.svg",
        "out/report.html",
    ]
    assert (tmp_path / "out/report.html").read_text(encoding="utf-8") == page(sections, "Report", {})
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out/data/p2p-fig11b.csv"), grid().table, check_dtype=False)
    ElementTree.parse(tmp_path / "out/figures/p2p-fig11b.svg")


def test_an_interrupted_report_leaves_the_old_one(tmp_path, monkeypatch):
    write(tmp_path, [grid()], "Old", {})
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("replnet.report.files.os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path, [grid()], "New", {})
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_names_of_files():
    assert file_names(["p2p/fig3", "p2p-fig3", "P2P fig3", "..", "é", "CON"]) == [
        "p2p-fig3",
        "p2p-fig3-2",
        "P2P-fig3-3",
        "section",
        "section-2",
        "CON",
    ]


# The rest


def test_faults_are_named():
    with pytest.raises(ValueError, match="log: \\['z'\\] is not a choice"):
        FigureSpec("k", "freshness", log=["z"])
    with pytest.raises(ValueError, match="nu is not a column of the table"):
        section([row(k=1)], figure=FigureSpec("nu", "freshness"))
    with pytest.raises(ValueError, match="m is not a column of the table"):
        section([row(k=1)], ("m",))
    with pytest.raises(ValueError, match="name: a section without a name"):
        section([row(k=1)], name="")


def test_an_unfinished_experiment_is_shown():
    empty = section([], progress="0 of 18 cells", verdict="")
    words = Parsed(page([empty], "Report", {})).text
    assert "0 of 18 cells" in words
    assert "No cell is finished." in words
    assert "1 experiment; 0 cells." in words


def test_a_notebook_gets_style_and_section():
    parsed = Parsed(notebook(grid()))
    assert parsed.elements[0] == ("div", {"class": "rn"})
    assert [tag for tag, _ in parsed.elements].count("style") == 1
    assert not {"html", "head", "body"} & {tag for tag, _ in parsed.elements}


def test_importing_the_report_loads_neither_matplotlib_nor_pandas():
    program = "import sys, replnet.report; print({'matplotlib', 'pandas'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_drawing_leaves_matplotlib_as_it_was():
    from matplotlib import rcParams

    before = dict(rcParams)
    page([grid()], "Report", {})
    assert dict(rcParams) == before
