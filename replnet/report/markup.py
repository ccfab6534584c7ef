"""HTML that cannot be injected into: whatever is not markup already is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import final

from replnet.text.numbers import clean

EMPTY = frozenset({"meta", "br"})  # elements that have no end


@final
class Html(str):
    """Text that is markup."""

    __slots__ = ()


def element(name: str, /, *content: str, **attributes: str | None) -> Html:
    """An element; `class_` stands for class, an underscore for a hyphen, None for an attribute that is not there."""
    opening = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(clean(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = "" if name in EMPTY else f"</{name}>"
    return Html(f"<{name}{opening}>{joined(content)}{end}")


def joined(content: Iterable[str], between: str = "") -> Html:
    """The pieces in a row, escaped unless they are markup."""
    return Html(between.join(one if isinstance(one, Html) else escape(clean(one)) for one in content))
