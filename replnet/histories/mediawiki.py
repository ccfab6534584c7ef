"""When pages of a MediaWiki were revised, by its XML dumps and by the answers of its API.

Dumps hold millions of pages; they are read as a stream, packed or not, and no further than the page that is asked for.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError, iterparse

from replnet.histories.times import Entry
from replnet.text import FieldError

Page = tuple[str, Sequence[object]]  # title, and the timestamps of its revisions

OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
API_KEYS = {"query", "batchcomplete", "continue"}
MOST_TITLES_LISTED = 5  # in a message


def dump_entries(source: Path, page: str | None) -> list[Entry]:
    """Return the timestamps of the revisions of the page with this title, or of the only page if it is None.

    Each is as it is written, after its place in `source`, an XML dump of MediaWiki, packed or not. Raise a FieldError
    if the file is damaged, has no such page, or has several pages and no title is given.
    """
    try:
        with OPENERS.get(source.suffix.lower(), Path.open)(source, "rb") as file:
            return _revision_entries(source, _pages(file), page)
    except ParseError as error:
        line, column = error.position
        raise FieldError(f"{source}:{line}:{column + 1}", f"is not XML: {error}", "a dump of MediaWiki") from None
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, UnicodeError) as error:
        raise FieldError(str(source), f"is damaged: {error}", "a whole file") from None


def _pages(file: IO[bytes]) -> Iterator[Page]:
    """Yield the title of every page of an XML dump, and the timestamps of its revisions as they are written.

    The file is read as a stream, so that memory does not grow with it.
    """
    path: list[Element] = []
    title, stamps = "", list[object]()
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
    """Return the name of an element without its namespace, which differs from version to version."""
    return str(element.tag).rpartition("}")[2]


def api_entries(source: Path, answers: list[Any], page: str | None) -> list[Entry]:
    """Return the times of the revisions of a page in answers of MediaWiki to prop=revisions, of either format version.

    Each comes with its place in `source`. `page` is a title, or None for the only page. Raise a FieldError if there is
    no such page, or several without a title, or if a revision has no time.
    """
    pages: dict[str, list[object]] = {}
    for answer in answers:
        query = answer.get("query") if isinstance(answer, dict) else None
        page_list = query.get("pages", []) if isinstance(query, dict) else []
        for page_data in page_list.values() if isinstance(page_list, dict) else page_list:
            stamps = pages.setdefault(str(page_data.get("title", page_data.get("pageid"))), [])
            for revision in page_data.get("revisions", []):
                if "timestamp" not in revision:
                    wrong = f"revision {len(stamps) + 1} of {page_data.get('title')!r} has no timestamp"
                    raise FieldError(str(source), wrong, "answers to rvprop=timestamp")
                stamps.append(revision["timestamp"])
    if page is not None and page not in pages:
        raise _no_page(source, page, list(pages)[:MOST_TITLES_LISTED])
    return _revision_entries(source, pages.items(), page)


def _revision_entries(source: Path, pages: Iterable[Page], page: str | None) -> list[Entry]:
    """Return the times of the revisions of `page`, or of the only page if it is None, each with its place in `source`.

    Pages after it are not read. Raise a FieldError if there is no such page, or several without a title.
    """
    chosen: Page | None = None
    others = deque[str](maxlen=MOST_TITLES_LISTED)
    for title, stamps in pages:
        if page is not None and title != page:
            others.append(title)
            continue
        if chosen is not None:
            wrong = f"holds several pages, such as {chosen[0]!r} and {title!r}"
            raise FieldError(str(source), wrong, "one of them by --page")
        chosen = title, stamps
        if page is not None:
            break
    if chosen is None:
        raise _no_page(source, page, others)
    return [(f"{source}: revision {place}", stamp) for place, stamp in enumerate(chosen[1], 1)]


def _no_page(source: Path, page: str | None, others: Iterable[str]) -> FieldError:
    """Return the error that a source has no page with this title, or none at all (None), with titles of others."""
    titles = ", ".join(map(repr, others))
    right = f"there is {titles}" if titles else "a dump or an answer with revisions"
    return FieldError(str(source), f"has no page{'' if page is None else f' {page!r}'}", right)
