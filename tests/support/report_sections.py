"""Sections of reports as tests need them, and what their pages hold."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from itertools import product

import pandas as pd

from replnet.show.report import FigureSpec, Section

NOTHING = {"measured": math.nan, "ci_low": math.nan, "ci_high": math.nan, "predicted": math.nan}


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


def cells(markup):
    """The rows of all tables of a section, as text; ~ and ^ for spaces as wide as a digit and a point."""
    markup = markup.replace("\N{FIGURE SPACE}", "~").replace("\N{PUNCTUATION SPACE}", "^")
    table = re.findall(r"<tr>(.*?)</tr>", markup)
    return [[re.sub(r"<[^>]*>", "", one) for one in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", line)] for line in table]
