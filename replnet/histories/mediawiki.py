"""When a page of a MediaWiki was revised, from its XML dumps and the answers of its API.

Dumps hold millions of pages; they are read as a stream, packed or not, and no further
than the page that is asked for.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError, iterparse

API_KEYS = {"query", "batchcomplete", "continue"}
OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
SHOWN = 5  # titles in a message

Pages = dict[str, list[tuple[str, object]]]


def revisions_of_dump(source: Path, page: str | None) -> Iterator[tuple[str, object]]:
    """Timestamps of the revisions of `page`, or of the only page there is."""
    kept: tuple[str, list[str]] | None = None
    others: list[str] = []
    try:
        with _open(source) as file:
            for title, stamps in _pages(file):
                if page is not None and title != page:
                    others = [*others, title][-SHOWN:]
                    continue
                if kept is not None:
                    raise _several(source, kept[0], title)
                kept = (title, stamps)
                if page is not None:
                    break
    except ParseError as error:
        line, column = error.position
        raise ValueError(f"{source}:{line}:{column + 1}: is not XML: {error} (a dump of MediaWiki)") from None
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, UnicodeError) as error:
        raise ValueError(f"{source}: is damaged: {error} (a whole file)") from None
    if kept is None:
        raise _no_page(source, page, others)
    yield from ((f"{source}: revision {place}", stamp) for place, stamp in enumerate(kept[1], 1))


def _open(source: Path) -> IO[bytes]:
    opener: Any = OPENERS.get(source.suffix.lower())
    return opener(source, "rb") if opener else source.open("rb")  # type: ignore[no-any-return]


def _pages(file: IO[bytes]) -> Iterator[tuple[str, list[str]]]:
    """Title and timestamps of every page; elements are dropped as soon as they end, so memory does not grow."""
    path: list[Element] = []
    title, stamps = "", list[str]()
    for event, element in iterparse(file, events=("start", "end")):
        if event == "start":
            path.append(element)
            continue
        path.pop()
        name, parent = _name(element), _name(path[-1]) if path else ""
        if name == "title" and parent == "page":
            title = element.text or ""
        elif name == "timestamp" and parent == "revision":
            stamps.append(element.text or "")
        elif name == "page":
            yield title, stamps
            title, stamps = "", []
        if path:
            path[-1].remove(element)


def _name(element: Element) -> str:
    """Without the namespace, which differs from version to version."""
    return str(element.tag).rpartition("}")[2]


def revisions_of_api(source: Path, answers: list[Any]) -> Pages:
    """The revisions of every page in answers to prop=revisions, of either format version."""
    pages: Pages = {}
    for answer in answers:
        query = answer.get("query") if isinstance(answer, dict) else None
        listed = query.get("pages", []) if isinstance(query, dict) else []
        for one in listed.values() if isinstance(listed, dict) else listed:
            stamps = pages.setdefault(str(one.get("title", one.get("pageid"))), [])
            for revision in one.get("revisions", []):
                if "timestamp" not in revision:
                    wrong = f"{source}: revision {len(stamps) + 1} of {one.get('title')!r} has no timestamp"
                    raise ValueError(f"{wrong} (answers to rvprop=timestamp)")
                stamps.append((f"{source}: revision {len(stamps) + 1}", revision["timestamp"]))
    return pages


def pick(source: Path, pages: Pages, page: str | None) -> list[tuple[str, object]]:
    """The revisions of `page`, or of the only one."""
    if page is None and len(pages) == 1:
        return next(iter(pages.values()))
    if page is None and pages:
        first, second, *_ = pages
        raise _several(source, first, second)
    if page is None or page not in pages:
        raise _no_page(source, page, list(pages)[:SHOWN])
    return pages[page]


def _several(source: Path, first: str, second: str) -> ValueError:
    return ValueError(f"{source}: holds several pages, such as {first!r} and {second!r} (one of them by --page)")


def _no_page(source: Path, page: str | None, others: list[str]) -> ValueError:
    wanted = "no page" if page is None else f"no page {page!r}"
    there = f"there is {', '.join(map(repr, others))}" if others else "a dump or an answer with revisions"
    return ValueError(f"{source}: has {wanted} ({there})")
