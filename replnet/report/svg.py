"""Figures as SVG for light and dark pages.

What matplotlib writes is parsed, and every colour of the theme becomes a plain
attribute, which any program reads, and a class, which a style sheet overrides:
`f-ink` fills, `s-ink` strokes. Identifiers get a prefix, so that several
pictures live in one page. The same figure gives the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from replnet.report.markup import Html
from replnet.report.style import FONT, NAMES, drawing_rules
from replnet.text.numbers import clean

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
SETTINGS: Any = {"svg.hashsalt": "replnet", "svg.fonttype": "none"}


def svg(figure: Any, prefix: str, label: str) -> Html:
    """The picture as an element of a page, whose style sheet has the colours; `label` is for those who cannot see."""
    root = ElementTree.fromstring(_drawn(figure))
    _strip(root)
    for node in root.iter():
        node.tag = node.tag.removeprefix(SVG)
        _identify(node, prefix)
        _classify(node)
    # What is drawn by reference takes the colours of the reference, where the page's style sheet reaches.
    for shape in root.iterfind(".//defs/path"):
        for key in ("fill", "stroke", "class"):
            shape.attrib.pop(key, None)
    root.attrib |= {"xmlns": SVG[1:-1], "role": "img", "aria-label": clean(label), "font-family": FONT}
    # What matplotlib says in a style sheet, which would hold for the whole page.
    root.attrib |= {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    return Html(ElementTree.tostring(root, encoding="unicode"))


def standalone(picture: Html) -> str:
    """The picture as a file: dark where its viewer is."""
    rules = drawing_rules(drawn_colours(picture), dark=True)
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    opening = picture.index(">") + 1
    return f'<?xml version="1.0" encoding="utf-8"?>\n{picture[:opening]}{style}{picture[opening:]}\n'


def drawn_colours(picture: str) -> set[str]:
    """The names of the theme's colours in the classes of a picture, or of a page with pictures."""
    classes = re.findall(r'<[^<>]* class="([^"]*)"', picture)
    return {one[2:] for several in classes for one in several.split() if one[:2] in ("f-", "s-")}


def _drawn(figure: Any) -> str:
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context(SETTINGS), warnings.catch_warnings():
        # Text stays text: that matplotlib's own font lacks a letter does not matter.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return buffer.getvalue()


def _strip(root: ElementTree.Element) -> None:
    """Without metadata, matplotlib's style sheet and what it has drawn invisibly."""
    for parent in list(root.iter()):
        for child in list(parent):
            invisible = child.get("style") == "fill: none" and child.tag == f"{SVG}path"
            if child.tag in (f"{SVG}metadata", f"{SVG}style") or invisible:
                parent.remove(child)


def _identify(node: ElementTree.Element, prefix: str) -> None:
    if LINK in node.attrib:
        node.set("href", "#" + prefix + node.attrib.pop(LINK)[1:])
    if "id" in node.attrib:
        node.set("id", prefix + node.attrib["id"])
    if "clip-path" in node.attrib:
        node.set("clip-path", node.attrib["clip-path"].replace("url(#", f"url(#{prefix}"))


def _classify(node: ElementTree.Element) -> None:
    """Colours out of the style, into attributes and classes."""
    classes, kept = [], []
    for key, value in _declarations(node.attrib.pop("style", "")):
        if key in ("fill", "stroke") and value in NAMES:
            classes.append(f"{key[0]}-{NAMES[value]}")
        if key in ("fill", "stroke"):
            node.set(key, value)
        elif key != "font-family":
            kept.append(f"{key}:{value}")
    if classes:
        node.set("class", " ".join(classes))
    if kept:
        node.set("style", ";".join(kept))


def _declarations(style: str) -> Iterator[tuple[str, str]]:
    for one in style.split(";"):
        key, _, value = (part.strip() for part in one.partition(":"))
        if key == "font":  # older matplotlib: size and family in one
            key, value = "font-size", next((word for word in value.split() if word.endswith("px")), "")
        if key:
            yield key, value
