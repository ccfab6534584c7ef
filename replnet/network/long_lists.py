"""Lists with an entry per source as plain data: as lists, or, since there may be millions of entries, as one text.

From 100,000 entries on, numbers stand in a text between blanks, and names between line breaks: a run directory, an
override or a sweep then handles a single value, which takes a hundredth of the time and memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replnet.text import FieldError, FieldsError, short_repr

MOST_LISTED = 100_000  # entries from which on a list is a text


def plain_list(entries: Sequence[float] | Sequence[str]) -> list[float] | list[str] | str:
    """Return numbers or names as plain data: a list, or, from 100,000 entries on, one text.

    Numbers stand between blanks, names between line breaks; names with line breaks stay a list.
    """
    if len(entries) < MOST_LISTED:
        return list(entries)  # type: ignore[return-value]
    if not isinstance(entries[0], str):
        return " ".join(map(repr, entries))
    text = "\n".join(entries)  # type: ignore[arg-type]
    return text if text.count("\n") == len(entries) - 1 else list(entries)  # type: ignore[return-value]


def is_long_list(value: object) -> bool:
    """Whether a value is a text of 100,000 numbers or more between blanks, as `plain_list` makes."""
    return isinstance(value, str) and value.count(" ") >= MOST_LISTED - 1 and "(" not in value


def numbers_in(text: str) -> list[float]:
    """Return the numbers of a text between blanks; raise FieldError if one of its words is no number."""
    try:
        return [float(word) for word in text.split(" ")]
    except ValueError as error:
        raise FieldError("", str(error), "numbers between blanks") from None


def listed_names(value: Any) -> Any:
    """Return names as a list where they are an array or a long text, as `plain_list` makes, and else as they are."""
    if isinstance(value, str) and value.count("\n") >= MOST_LISTED - 1:
        return value.split("\n")
    return value.tolist() if hasattr(value, "tolist") else value


def checked_names(value: object) -> tuple[str, ...]:
    """Return names of sources, a list of texts, as a tuple; raise FieldError for other values or repeated names.

    Raise FieldsError with every entry that is no name.
    """
    value = listed_names(value)
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise FieldError("", f"{short_repr(value)} is not a list of names", "a name for each source")
    names = tuple(value)
    bad = [place for place, name in enumerate(names) if not isinstance(name, str) or not name]
    if bad:
        raise FieldsError([((place,), f"{short_repr(names[place])} is not a name", "a text") for place in bad])
    if not names:
        raise FieldError("", "is empty", "a name for each source")
    if len(set(names)) < len(names):
        earlier = set[str]()
        again = next(name for name in names if name in earlier or earlier.add(name))  # type: ignore[func-returns-value]
        raise FieldError("", f"{short_repr(again)} is the name of two sources", "a name of its own for each source")
    return names
