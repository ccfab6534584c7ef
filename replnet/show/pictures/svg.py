"""Pictures as files and as SVG of pages.

The SVG of matplotlib is parsed, and every colour of the theme becomes a plain attribute, which any program reads, and a
class, which a style sheet overrides: `f-ink` fills, `s-ink` strokes. Identifiers get a prefix, so that several pictures
live in one page. The same figure gives the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from replnet.show.theme import COLOUR_NAMES, FONT, THEME
from replnet.text import FieldError, clean, require_extra, write_file

FORMATS = ("png", "svg", "pdf")
DRAWING_FONT = "DejaVu Sans"  # which matplotlib brings
SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
TEXT_SEPARATOR = "\n\n"  # between the texts of points in the label of their line


def has_font() -> bool:
    """Whether matplotlib finds the font of the pictures, and not another in its place."""
    from matplotlib.font_manager import findfont

    try:
        findfont(DRAWING_FONT, fallback_to_default=False)
    except ValueError:
        return False
    return True


@contextmanager
def matplotlib_settings(**more: Any) -> Iterator[None]:
    """Set up matplotlib, inside this context, so that pictures are always alike; `more` are further rcParams.

    Text stays text, and a letter that the font lacks is a box. Raise FieldError if matplotlib is not installed.
    """
    require_extra("matplotlib", "pictures")
    from matplotlib import rc_context

    settings: Any = {"svg.hashsalt": "replnet", "svg.fonttype": "none", "font.family": DRAWING_FONT, **more}
    with rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
        yield


def picture_format(path: Path) -> str:
    """Return the format of a picture, one of FORMATS, by the ending of its file; raise FieldError for another."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        right = f"a file that ends in {', '.join(f'.{ending}' for ending in FORMATS)}"
        raise FieldError("file", f"{path} is no kind of picture", right)
    return kind


def write_picture(path: Path, make: Callable[[], Any], label: str, **settings: Any) -> None:
    """Write the matplotlib Figure that `make` returns to a file, as PNG, SVG or PDF by its ending.

    `label` is for those who cannot see it, and `settings` are those of matplotlib (rcParams) while it is made. An
    earlier file is replaced once the new one is whole. Raise FieldError for another ending.
    """
    kind = picture_format(path)
    with matplotlib_settings(**settings):
        figure = make()
        if kind == "svg":
            write_file(path, standalone(figure_svg(figure, "", label, transparent=False)))
        else:
            write_file(path, _picture_bytes(figure, kind, dpi=150))


def _picture_bytes(figure: Any, kind: str, **how: Any) -> bytes:
    """Return the bytes of a matplotlib Figure, saved as png, svg or pdf (`kind`); `how` are options of savefig.

    The same figure gives the same bytes.
    """
    buffer = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib_settings():
        figure.savefig(buffer, format=kind, metadata=metadata, **how)
    return buffer.getvalue()


def figure_svg(figure: Any, prefix: str, label: str, transparent: bool = True) -> str:
    """Return a matplotlib Figure as an SVG element of a page, whose style sheet has the colours.

    `prefix` makes its identifiers unique in the page; `label` is for those who cannot see. It has a background of its
    own unless it is `transparent`.
    """
    root = ElementTree.fromstring(_picture_bytes(figure, "svg", transparent=transparent))
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
    return ElementTree.tostring(root, encoding="unicode")


def standalone(picture: str) -> str:
    """Return a picture, an <svg> element as `figure_svg` makes it, as the text of a file that is dark where its viewer
    is.
    """
    rules = "".join(f".f-{n}{{fill:{THEME[n][1]}}}.s-{n}{{stroke:{THEME[n][1]}}}" for n in colours_used(picture))
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    opening = picture.index(">") + 1
    return f'<?xml version="1.0" encoding="utf-8"?>\n{picture[:opening]}{style}{picture[opening:]}\n'


def colours_used(markup: str) -> list[str]:
    """Return the sorted names of the theme's colours in the classes of a picture, or of a page with pictures, each
    once.
    """
    classes = re.findall(r'<[^<>]* class="([^"]*)"', markup)
    return sorted(
        {class_name[2:] for names in classes for class_name in names.split() if class_name[:2] in ("f-", "s-")}
    )


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
