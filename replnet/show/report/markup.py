"""HTML that cannot be injected into, and the style sheet of a page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import final

from replnet.show.pictures import colours_used
from replnet.show.theme import FONT, THEME
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


def style_sheet(page: str) -> Html:
    """Return the <style> element for a page, whose HTML is `page`: the style sheet, with the colours that it uses.

    On dark screens it has dark colours.
    """
    used = colours_used(page)
    names = [name for name in THEME if not name.startswith(("series-", "step-"))]
    names += [name for name in used if name not in names]
    light, dark = (";".join(f"--{n}:{THEME[n][mode]}" for n in names) for mode in (0, 1))
    pictures = "".join(f".rn .f-{n}{{fill:var(--{n})}}.rn .s-{n}{{stroke:var(--{n})}}" for n in used)
    sheet = Path(__file__).with_name("page.css").read_text(encoding="utf-8").replace("FONT", FONT)
    # Paper is white whatever the screen is.
    rules = f".rn{{{light}}}@media screen and (prefers-color-scheme:dark){{.rn{{{dark}}}}}{pictures}\n{sheet}"
    return element("style", Html(rules))
