"""Pages, notebooks and files: what is said, and that no text of an experiment becomes markup."""

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
from replnet.show.report import FigureSpec, page, write
from replnet.show.report.page import file_names, in_notebook

NASTY = """<script>alert("1")</script> & 'x' $a$ </title></style>\x00\x1b ]]> --> _é 漢"""


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
    claim = CheckedClaim(NASTY, True, False, NASTY)
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


@pytest.mark.parametrize("show", [lambda s: page([s], NASTY, {NASTY: {NASTY: NASTY}}), in_notebook])
def test_text_is_never_markup(show):
    shown = show(nasty())
    errata = (ShownErratum("x", "prose", "x", ("x",)),)
    harmless = show(grid(claims=(CheckedClaim("x", None, None, ""),), errata=errata, about={"deep": {"x": [{"y": 1}]}}))
    parsed, plain = Parsed(shown), Parsed(harmless)
    assert {tag for tag, _ in parsed.elements} <= {tag for tag, _ in plain.elements} | {"details", "summary", "ol"}
    assert "\x00" not in shown
    assert "\x1b" not in shown
    assert parsed.text.count('<script>alert("1")</script> &') > 20
    # A text element of the picture holds it too, cut to its length.
    assert "&lt;script&gt;alert(" in re.search(r"<svg.*?</svg>", shown, re.S)[0]


# One that two sections show, and one that is a cell of its own.
ERRATA = (
    ShownErratum("Table 1", "prose", "2 is printed, 3 is right", ("k = 3: 2",)),
    ShownErratum("", "rounding", "k = 4"),
)


def test_the_summary_counts():
    rows = [row(k=1), row(k=2, verdict="differ"), row(k=3, verdict="unresolved"), row(k=3, group="clients")]
    claims = (
        CheckedClaim("a", True, True, ""),
        CheckedClaim("b", True, False, "", "T1"),
        CheckedClaim("c", None, None, ""),
    )
    one = section(rows, verdict="differ", claims=claims, errata=ERRATA)
    words = Parsed(page([one, grid(errata=ERRATA[:1])], "Report", {})).text
    assert "2 experiments; 21 cells; measured against predicted: 20 agree, 1 unresolved, 1 differs" in words
    said = "1 of 2 claims hold, 1 of the others is known as errata, 1 not tested; 2 errata in what the papers print"
    assert f"{said} (1 of rounding, 1 of prose)." in words


def test_cells_that_failed_are_counted():
    rows = [row(k=1), row(k=2, verdict="differ"), {"k": 3, "verdict": "failed", "note": "no room"}]
    words = Parsed(page([section(rows, verdict="differ", progress="1 failed: no room")], "Report", {})).text
    assert "3 cells; measured against predicted: 1 agree, 1 differs, 1 failed." in words
    assert "no room" in words


def test_a_report_of_one_experiment_says_its_title_once():
    heads = [re.findall(r"<h[12]>(.*?)</h[12]>", page([grid(title="One")], title, {})) for title in ("One", "Report")]
    assert heads == [["One"], ["Report", "One"]]


def test_every_section_has_its_line_and_its_anchor():
    sections = [grid(title="One", claim="Peers help", paper="P2P Fig. 1", progress="12 of 18 cells"), grid(title="Two")]
    parsed = Parsed(page(sections, "Report", {}))
    links = [attributes["href"] for tag, attributes in parsed.elements if tag == "a"]
    assert links == ["#p2p-fig11b", "#p2p-fig11b-2"] * 2  # contents and summary
    assert "Peers help · P2P Fig. 1 · 12 of 18 cells" in parsed.words


def test_claims_and_errata_are_told():
    claims = (CheckedClaim("Peak at 1", True, None, "0.70 at k = 1"), CheckedClaim("Falls", False, True, ""))
    met = Expectation("by our reckoning", 1, 2, ("k = 3: 0.7 is expected",))
    parsed = Parsed(in_notebook(grid(claims=claims, errata=ERRATA, expectations=(met,))))
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


def test_the_same_section_gives_the_same_bytes():
    assert page([grid()], "Report", {"a": 1}) == page([grid()], "Report", {"a": 1})


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

    monkeypatch.setattr(os, "replace", full)
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


def test_an_unfinished_experiment_is_shown():
    empty = section([], progress="0 of 18 cells", verdict="")
    parsed = Parsed(page([empty], "Report", {}))
    words = parsed.text
    assert "0 of 18 cells" in words
    assert "No cell is finished." in words
    assert "0 cells." in parsed.words


def test_a_notebook_gets_style_and_section():
    parsed = Parsed(in_notebook(grid()))
    assert parsed.elements[0] == ("div", {"class": "rn"})
    assert [tag for tag, _ in parsed.elements].count("style") == 1
    assert not {"html", "head", "body"} & {tag for tag, _ in parsed.elements}


def test_importing_the_report_loads_neither_matplotlib_nor_pandas():
    program = "import sys, replnet.show.report; print({'matplotlib', 'pandas'} & set(sys.modules))"
    run = programs.run([sys.executable, "-c", program], check=True)
    assert run.stdout.strip() == "set()"


def test_a_legend_says_what_is_in_the_tables():
    """Of print only where something is printed; and a column of claims only where there are some."""
    plain = page([section([row(k=1)]), section([row(k=2)], name="other")], "Report", {})
    assert "How to read the tables" in plain
    assert "contradicts" not in plain
    assert ">claims<" not in plain
    printed = row(k=1, printed=0.5, printed_verdict="agree")
    both = page([section([printed], claims=(CheckedClaim("it rises", True, True, ""),)), grid()], "Report", {})
    assert "contradicts" in both
    assert ">claims<" in both


def test_one_file_is_written_where_one_is_named(tmp_path):
    made = write(tmp_path / "deep" / "Report.HTML", [grid()], "Report", {})
    assert made.read_text() == page([grid()], "Report", {})
    assert [file.name for file in tmp_path.rglob("*.*")] == ["Report.HTML"]
