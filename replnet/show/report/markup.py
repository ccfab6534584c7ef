"""Markup of pages and pictures: HTML that cannot be injected into, one theme, and figures as SVG.

Series take the colours of Okabe and Ito, which the colour-blind tell apart; an ordered scale takes steps of one hue,
from the weak to the strong against the page. The SVG of matplotlib is parsed, and every colour of the theme becomes a
plain attribute, which any program reads, and a class, which a style sheet overrides: `f-ink` fills, `s-ink` strokes.
Identifiers get a prefix, so that several pictures live in one page. The same figure gives the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, final
from xml.etree import ElementTree

from replnet.text import clean

EMPTY_ELEMENTS = frozenset({"meta", "br"})  # elements that have no end


@final
class Html(str):
    """A text that is markup, and is not escaped."""

    __slots__ = ()


def element(name: str, /, *content: str, **attributes: str | None) -> Html:
    """Return an HTML element of the tag `name`, with content, escaped unless it is markup, and with attributes.

    `class_` stands for class, an underscore for a hyphen; an attribute that is None is left out.
    """
    opening = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(clean(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = "" if name in EMPTY_ELEMENTS else f"</{name}>"
    return Html(f"<{name}{opening}>{join_html(content)}{end}")


def join_html(content: Iterable[str], between: str = "") -> Html:
    """Return pieces one after another, with `between` between them, each piece escaped unless it is markup."""
    return Html(between.join(piece if isinstance(piece, Html) else escape(clean(piece)) for piece in content))


# The theme

SCALE_STEPS = 12  # of the ordered scale
# The weakest, the middle and the strongest shade of the ordered scale, on a light page and on a dark one.
SCALE_SHADES = ("#4d9ccb", "#11699c", "#0b2847"), ("#376f98", "#4fa3d8", "#d6eefc")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def _scale(shades: tuple[str, str, str]) -> list[str]:
    """Return the colours of the ordered scale, evenly from the first shade to the second, and on to the third."""
    parts = [[int(shade[i : i + 2], 16) for i in (1, 3, 5)] for shade in shades]
    steps = []
    for step in range(SCALE_STEPS):
        share = 2 * step / (SCALE_STEPS - 1)
        start, end, share = (parts[0], parts[1], share) if share <= 1 else (parts[1], parts[2], share - 1)
        steps.append("#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(start, end, strict=True)))
    return steps


ORDERED = list(zip(*map(_scale, SCALE_SHADES), strict=True))
SERIES = [  # light page, dark page
    ("#0072b2", "#4aa8e0"),
    ("#d55e00", "#f2813a"),
    ("#009e73", "#2fc596"),
    ("#b8629a", "#dd9cc3"),
    ("#c78400", "#efb536"),
    ("#3a9bd2", "#8ccff5"),
    ("#4c5661", "#c3ccd4"),
    ("#9c8f00", "#e8db4a"),
]
THEME: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#14181d"),
    "ink": ("#1d2731", "#e4e9ed"),
    "quiet": ("#5a6773", "#9ba7b2"),
    "line": ("#dde2e7", "#313a43"),
    "faint": ("#f5f7f9", "#1b2127"),
    "accent": ("#00639c", "#6dbcf0"),
    "good": ("#00694c", "#5fd3ab"),
    "good-ground": ("#e2f3ed", "#12332a"),
    "open": ("#7d5200", "#f0bd55"),
    "open-ground": ("#fcf0d6", "#3a2c10"),
    "bad": ("#a83a00", "#ff9d6b"),
    "bad-ground": ("#fde9df", "#431f10"),
    **{f"series-{i}": pair for i, pair in enumerate(SERIES)},
    **{f"step-{i}": pair for i, pair in enumerate(ORDERED)},
}
COLOUR_NAMES = {light: name for name, (light, _) in THEME.items()}


def light(name: str) -> str:
    """Return the colour of this name in the theme, as #rrggbb, for a light page."""
    return THEME[name][0]


def style_sheet(page: str) -> Html:
    """Return the <style> of a page, whose HTML is `page`, with rules for the colours that its pictures use."""
    used = _colours_used(page)
    names = [name for name in THEME if not name.startswith(("series-", "step-"))]
    names += [name for name in used if name not in names]
    light, dark = (";".join(f"--{n}:{THEME[n][mode]}" for n in names) for mode in (0, 1))
    pictures = "".join(f".rn .f-{n}{{fill:var(--{n})}}.rn .s-{n}{{stroke:var(--{n})}}" for n in used)
    sheet = Path(__file__).with_name("page.css").read_text(encoding="utf-8").replace("FONT", FONT)
    # Paper is white whatever the screen is.
    rules = f".rn{{{light}}}@media screen and (prefers-color-scheme:dark){{.rn{{{dark}}}}}{pictures}\n{sheet}"
    return element("style", Html(rules))


def _colours_used(markup: str) -> list[str]:
    """Return the names of the theme's colours in the classes of a picture, or of a page with pictures."""
    classes = re.findall(r'<[^<>]* class="([^"]*)"', markup)
    return sorted(
        {class_name[2:] for names in classes for class_name in names.split() if class_name[:2] in ("f-", "s-")}
    )


# Pictures

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
TEXT_SEPARATOR = "\n\n"  # between the texts of points in the label of their line


def svg(figure: Any, prefix: str, label: str) -> Html:
    """Return a matplotlib Figure as an SVG element of a page, whose style sheet has the colours.

    `prefix` makes its identifiers unique in the page; `label` is for those who cannot see.
    """
    root = ElementTree.fromstring(_matplotlib_svg(figure))
    _add_titles(root, figure)
    for parent in list(root.iter()):
        for child in list(parent):
            # Metadata, matplotlib's style sheet, and what it has drawn invisibly.
            invisible = child.get("style") == "fill: none" and child.tag == f"{SVG}path"
            if child.tag in (f"{SVG}metadata", f"{SVG}style") or invisible:
                parent.remove(child)
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
    """Return a picture as the text of an SVG file that is dark where its viewer is."""
    rules = "".join(f".f-{n}{{fill:{THEME[n][1]}}}.s-{n}{{stroke:{THEME[n][1]}}}" for n in _colours_used(picture))
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    opening = picture.index(">") + 1
    return f'<?xml version="1.0" encoding="utf-8"?>\n{picture[:opening]}{style}{picture[opening:]}\n'


def _matplotlib_svg(figure: Any) -> str:
    """Return the SVG that matplotlib writes, the same for the same figure."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    settings: Any = {"svg.hashsalt": "replnet", "svg.fonttype": "none"}
    with rc_context(settings), warnings.catch_warnings():
        # Text stays text: that matplotlib's own font lacks a letter does not matter.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return buffer.getvalue()


def _add_titles(root: ElementTree.Element, figure: Any) -> None:
    """Give the invisible marks in the SVG of a figure the texts of their points, which a browser shows to a pointer.

    `root` is the SVG, and is changed. A line of the figure that has an identifier has these texts in its label.
    """
    lines = {line.get_gid(): line for axes in figure.axes for line in axes.lines if line.get_gid()}
    for group in root.iter(f"{SVG}g"):
        if line := lines.get(group.get("id")):
            for mark, words in zip(group.iter(f"{SVG}use"), line.get_label().split(TEXT_SEPARATOR), strict=True):
                mark.set("style", "opacity:0")
                ElementTree.SubElement(mark, f"{SVG}title").text = clean(words)


def _identify(node: ElementTree.Element, prefix: str) -> None:
    """Put the prefix before the identifier of an SVG element, and before those that it refers to, in place."""
    if LINK in node.attrib:
        node.set("href", "#" + prefix + node.attrib.pop(LINK)[1:])
    if "id" in node.attrib:
        node.set("id", prefix + node.attrib["id"])
    if "clip-path" in node.attrib:
        node.set("clip-path", node.attrib["clip-path"].replace("url(#", f"url(#{prefix}"))


def _classify(node: ElementTree.Element) -> None:
    """Replace the style of an SVG element, in place: colours become attributes, and classes if they are of the theme.

    What else the style says is kept, but for the family of the font.
    """
    classes, rest = [], []
    for rule in node.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in rule.partition(":"))
        if key == "font":  # older matplotlib: size and family in one
            key, value = "font-size", next((word for word in value.split() if word.endswith("px")), "")
        if key in ("fill", "stroke"):
            node.set(key, value)
            classes += [f"{key[0]}-{COLOUR_NAMES[value]}"] if value in COLOUR_NAMES else []
        elif key and key != "font-family":
            rest.append(f"{key}:{value}")
    if classes:
        node.set("class", " ".join(classes))
    if rest:
        node.set("style", ";".join(rest))
