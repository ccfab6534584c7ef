"""experiments/README.md: what of the papers is where, held against the files and the formulas."""

from __future__ import annotations

import re
from pathlib import Path

from replnet.lab.named_formulas import formulas
from replnet.text.documents import shipped_names

TABLE = Path(__file__).parents[1] / "experiments" / "README.md"
PAPER = {"P2P": "p2p", "Staleness": "staleness", "Sync": "sync", "Crawl": "crawl"}


def rows() -> list[tuple[str, list[str]]]:
    """The paper and the cells of every row."""
    found, paper = [], ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("## "):
            paper = line.removeprefix("## ")
        elif line.startswith("| ") and not line.startswith(("| place", "| ---")):
            found.append((paper, [cell.strip() for cell in line.strip("|").split("|")]))
    return found


def named(cell: str) -> list[str]:
    return re.findall(r"`([\w/.-]+)`", cell)


def test_every_row_says_where_it_is_covered_or_why_not():
    for paper, cells in rows():
        assert paper in PAPER
        assert len(cells) == 4, cells
        assert cells[0], cells
        assert named(cells[2]) or named(cells[3]) or cells[2].startswith("not covered: "), cells


def test_every_experiment_stands_in_the_table_of_its_paper_and_exists():
    found = {name for paper, cells in rows() for name in named(cells[2]) if name.startswith(f"{PAPER[paper]}/")}
    assert found == set(shipped_names("experiments"))


def test_every_formula_stands_in_the_table_and_exists():
    assert {name for _, cells in rows() for name in named(cells[3])} == set(formulas())
    others = {name for _, cells in rows() for name in named(cells[2])} - set(shipped_names("experiments"))
    gone = [name for name in others if name not in formulas() and not (TABLE.parents[1] / name).exists()]
    assert gone == []
