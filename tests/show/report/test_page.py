"""Sections, pages, notebooks and files: what is said, and that no text of an experiment becomes markup."""

from __future__ import annotations

import os
import re
import sys
from xml.etree import ElementTree

import pandas as pd
import programs
import pytest
from report_sections import Parsed, grid, row, section

from replnet.lab.sweeps.statements import CheckedClaim, Expectation, ShownErratum
from replnet.show.report import FigureSpec, holds, page, write
from replnet.show.report.markup import Html, element
from replnet.show.report.page import file_names, in_notebook

NASTY = """<script>alert("1")</script> & 'x' $a$ </title></style>\x00\x1b ]]> --> _é 漢"""
# One that two sections show, and one that is a cell of its own.
ERRATA = (
    ShownErratum("Table 1", "prose", "2 is printed, 3 is right", ("k = 3: 2",)),
    ShownErratum("", "rounding", "k = 4"),
)
CLAIMS = (
    CheckedClaim("Peak at 1", True, None, "0.70 at k = 1"),
    CheckedClaim("Falls", False, True, "", "T1"),
    CheckedClaim("Formula", None, True, ""),
    CheckedClaim("Neither", None, None, ""),
)


def test_a_page_needs_nothing_but_itself_and_its_identifiers_are_its_own():
    markup = page([grid(), grid(), grid(name="other")], "Report", {"replnet": "1"})
    parsed = Parsed(markup)
    assert len(parsed.ids()) == len(set(parsed.ids()))
    assert parsed.count("svg") == 6  # wide and narrow
    for tag, attributes in parsed.elements:
        assert tag not in ("script", "link", "img", "iframe", "object", "embed")
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "xlink:href")]
        assert attributes.get("href", "#" + parsed.ids()[0]).removeprefix("#") in parsed.ids()
        if "clip-path" in attributes:
            assert attributes["clip-path"][len("url(#") : -1] in parsed.ids()
    assert set(re.findall(r"https?://[^\"' ]+", markup)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in re.sub(r"url\(#[\w.-]+\)", "", markup)
    assert "@import" not in markup
    assert markup == page([grid(), grid(), grid(name="other")], "Report", {"replnet": "1"})


def nasty():
    known = row(group=NASTY, note=NASTY * 2, source=NASTY, kind=NASTY)
    rows = [{**known, NASTY: NASTY + str(i % 2), "k": i} for i in range(40)]
    words = dict.fromkeys(("name", "title", "verdict", "claim", "paper", "progress"), NASTY)
    return section(
        rows, ("k", NASTY), figure=FigureSpec("k", "freshness", NASTY, "group"), **words,
        claims=(CheckedClaim(NASTY, True, False, NASTY),),
        errata=(ShownErratum(NASTY, "prose", NASTY, (NASTY,)), ShownErratum("", "rounding", NASTY)),
        expectations=(Expectation(NASTY, 0, 1, (NASTY,)),),
        about={NASTY: NASTY, "deep": {NASTY: [{NASTY: NASTY}]}},
    )  # fmt: skip


@pytest.mark.parametrize("show", [lambda s: page([s], NASTY, {NASTY: {NASTY: NASTY}}), in_notebook])
def test_text_is_never_markup(show):
    shown = show(nasty())
    harmless = show(grid(claims=CLAIMS, errata=ERRATA[:1], about={"deep": {"x": [{"y": 1}]}}))
    parsed, plain = Parsed(shown), Parsed(harmless)
    assert {tag for tag, _ in parsed.elements} <= {tag for tag, _ in plain.elements} | {"details", "summary", "ol"}
    assert not {"\x00", "\x1b"} & set(shown)
    assert parsed.text.count('<script>alert("1")</script> &') > 20
    # A text element of the picture holds it too, cut to its length.
    assert "&lt;script&gt;alert(" in re.search(r"<svg.*?</svg>", shown, re.S)[0]


def test_everything_is_said_in_its_order():
    rows = [row(k=1, printed=0.5, printed_verdict="agree"), row(k=2, verdict="differ"), row(k=3, verdict="unresolved"),
            row(k=3, group="clients"), {"k": 4, "verdict": "failed", "note": "no room"}]  # fmt: skip
    met = Expectation("by our reckoning", 1, 2, ("k = 3: 0.7 is expected",))
    about = {"seed": 3, "events": 1234567, "none": None, "libraries": {"numpy": "2.4"},
             "net": {"a": [{"b": 1, "c": [1, 2]}]}}  # fmt: skip
    first = section(rows, verdict="differ", claims=CLAIMS, errata=ERRATA, expectations=(met,), title="One", about=about,
                    claim="Peers help", paper="P2P Fig. 1", progress="12 of 18 cells")  # fmt: skip
    sections = [first, grid(title="Two", errata=ERRATA[:1]), section([], name="Three", title="Three", verdict="")]
    parsed = Parsed(page(sections, "Report", {"replnet": "1"}))
    words = parsed.text
    links = [attributes["href"] for tag, attributes in parsed.elements if tag == "a"]
    anchors = ["#p2p-fig11b", "#p2p-fig11b-2", "#Three"]
    assert links == [*anchors, "#errata", "#provenance", *anchors, anchors[0], *anchors[:2]]  # rounding first
    at = 0
    for part in (
        "3 experiments; 22 cells; measured against predicted: 20 agree, 1 unresolved, 1 differs, 1 failed; "
        "2 of 3 claims hold, 1 of the others is known as errata, 1 not tested; 2 errata in what the papers print "
        "(1 of rounding, 1 of prose).",
        "Peers help · P2P Fig. 1 · 12 of 18 cells", "How to read the tables", "contradicts", "One", "Claims",
        "Peak at 1 ✓ holds  measured not checked  predicted 0.70 at k = 1 ",
        "Falls ✗ fails  measured ✓ holds  predicted erratum: T1",
        "Formula ✓ holds  predicted Neither not checked  measured not checked  predicted",
        "Errata of the paper prose   Table 1 : 2 is printed, 3 is right k = 3: 2 rounding  k = 4",
        "expected: by our reckoning  1 of 2 agree k = 3: 0.7 is expected", "no room",
        "seed 3 events 1,234,567 libraries numpy 2.4 net a:\n  - b: 1\n    c: [1, 2]", "Two",
        "2 is printed, 3 is right", "0 cells", "No cell is finished.", "Errata of the papers",
        "2 is printed, 3 is right", "Where these numbers come from replnet 1",
    ):  # fmt: skip
        assert part in words[at:], part
        at = words.index(part, at) + len(part)
    assert "none" not in parsed.words


def test_what_there_is_none_of_is_left_out():
    plain = page([section([row(k=1)], title="One"), section([row(k=2)], name="other")], "Report", {})
    assert not [part for part in ("contradicts", ">claims<", "errata", "come from") if part in plain]
    heads = [re.findall(r"<h[12]>(.*?)</h[12]>", page([grid(title="One")], title, {})) for title in ("One", "Report")]
    assert heads == [["One"], ["Report", "One"]]


def test_files(tmp_path):
    sections = [grid(), grid(figure=False, name="../../etc/pass wd")]
    assert write(tmp_path / "out", sections, "Report", {}) == tmp_path / "out" / "report.html"
    found = {str(path.relative_to(tmp_path / "out")) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"data/etc-pass-wd.csv", "data/p2p-fig11b.csv", "figures/p2p-fig11b.svg", "report.html"}
    assert (tmp_path / "out/report.html").read_text(encoding="utf-8") == page(sections, "Report", {})
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out/data/p2p-fig11b.csv"), grid().table, check_dtype=False)
    ElementTree.parse(tmp_path / "out/figures/p2p-fig11b.svg")
    alone = write(tmp_path / "deep" / "Report.HTML", [grid()], "Report", {})
    assert alone.read_text() == page([grid()], "Report", {})
    assert list(alone.parent.iterdir()) == [alone]


def test_an_interrupted_report_leaves_the_old_one(tmp_path, monkeypatch):
    write(tmp_path, [grid()], "Old", {})
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path, [grid()], "New", {})
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_names_of_files():
    names = ["p2p-fig3", "p2p-fig3-2", "P2P-fig3-3", "section", "section-2", "CON"]
    assert file_names(["p2p/fig3", "p2p-fig3", "P2P fig3", "..", "é", "CON"]) == names


def test_a_notebook_gets_style_and_section():
    parsed = Parsed(in_notebook(grid()))
    assert parsed.elements[0] == ("div", {"class": "rn"})
    assert parsed.count("style") == 1
    assert not {"html", "head", "body"} & {tag for tag, _ in parsed.elements}


def test_importing_the_report_loads_neither_matplotlib_nor_pandas():
    program = "import sys, replnet.show.report; print({'matplotlib', 'pandas'} & set(sys.modules))"
    assert programs.run([sys.executable, "-c", program], check=True).stdout == "set()\n"


# What a report is made of: sections, and markup that cannot be injected into.


@pytest.mark.parametrize(
    ("measured", "predicted", "result", "fails"),
    [(True, True, True, False), (True, None, True, False), (None, True, True, False), (True, False, False, True),
     (None, None, False, False)],
)  # fmt: skip
def test_a_claim_holds_if_nothing_speaks_against_it(measured, predicted, result, fails):
    claim = CheckedClaim("x", measured, predicted, "")
    assert (holds(claim), claim.fails) == (result, fails)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FigureSpec("k", "freshness", log=["z"]), r"log: \['z'\] is not a choice"),
        (lambda: section([row(k=1)], figure=FigureSpec("nu", "freshness")), "nu is not a column of the table"),
        (lambda: section([row(k=1)], ("m",)), "m is not a column of the table"),
        (lambda: section([row(k=1)], name=""), "name: a section without a name"),
    ],
)
def test_faults_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_elements_escape_what_is_not_markup():
    assert element("p", "<&", Html("<b>"), class_="\"'", data_what=None) == ('<p class="&quot;&#x27;">&lt;&amp;<b></p>')
    assert element("meta", http_equiv="x", name="n") == '<meta http-equiv="x" name="n">'
