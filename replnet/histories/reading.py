"""Visits of a source and its replicas, made of what somebody recorded.

Who the source is, and what its versions are, depends on what there is:

    versions                        those of the node that is named the source
    departures, and updates         a copy that left at S has the updates up to S                                (1)
    departures, of a source too     those of replicas are versions of the source, if half of them are its own    (2)
                                    else they are instants of pulls, as in (1)
    departures alone                nobody knows the source: there are information ages, and no freshness
    neither                         a row is a change, and a replica that changes takes what the source has
    changed or not, by a crawler    the page is the source, and what the crawler keeps is its replica            (3)

The source of (1) and the crawler of (3) are known at every instant: a visit just before each of their changes says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replnet.histories.change_rate import rate_of_sightings
from replnet.histories.git_copies import git_place, git_record
from replnet.histories.history import DAY, are_dates
from replnet.histories.record_files import RecordSource, read_records
from replnet.histories.records import SOURCE, Record, is_missing, is_yes, placed_entries
from replnet.histories.times import times_of_entries
from replnet.histories.trace_import import import_trace
from replnet.histories.visits import FailedVisit, Visits, visits_of, visits_of_changes
from replnet.laws import Floats
from replnet.text import FieldError, count_text, suggestion

CRAWLER = "crawler"
SLACK = 1.0  # by which a departure may be later than its visit, before clocks are doubted
MOST_FAULTS_LISTED = 3  # kinds of faults of a node, in a note


def read_visits(record: RecordSource, source: str | None = None, stamp: str | None = None) -> Visits:
    """Return the visits in a record: a file or a folder, several of them, a DataFrame, or REPOSITORY:PATH of replicas.

    `source` names the node that the others copy, by default the one called source; or it is a file of the times of its
    updates, or REPOSITORY:PATH. `stamp` is a regular expression that finds, in files of repositories, the instant at
    which their data left the source. Raises a FieldError if the record cannot be read, lacks a column or a value, or
    has no such node or no other.
    """
    source = None if source is None else str(source)  # a name in a DataFrame may be a number
    places = record if isinstance(record, list | tuple) else [record]
    replicas = [str(place) for place in places if isinstance(place, str) and git_place(place) is not None]
    if source is not None and git_place(source) is not None:
        return _visits_of_record(git_record([str(place) for place in places], source, SOURCE, stamp), SOURCE, None)
    if replicas:
        raise FieldError("source", f"is none that {replicas[0]} could be a copy of", "--source REPOSITORY:PATH")
    if stamp is not None:
        raise FieldError("left", "looks into files of git repositories", "--source and --replica REPOSITORY:PATH")
    if source is None or not Path(source).is_file():
        return _visits_of_record(read_records(record), source, None)
    updates, notes = import_trace(Path(source))
    rows = read_records(record, one_node=True)
    return _visits_of_record(replace(rows, notes=(*rows.notes, *notes)), Path(source).stem, np.unique(updates))


def _visits_of_record(record: Record, wanted: str | None, updates: Floats | None) -> Visits:
    """Return the visits in a record; the source is the node `wanted`, with these `updates` unless they are None.

    `updates` are ascending instants, known apart from the record. Raise a FieldError if no row says what a node had, or
    if there is no such source, or no replica.
    """
    table, (times, notes) = (
        record.table,
        times_of_entries(record.name, placed_entries(record.name, record.table, "time"), None),
    )
    nodes = table["node"].astype(str).to_numpy(dtype=str)
    departures = _departures(record)
    values = [departures] if departures is not None else []
    order = np.argsort(times, kind="stable")
    good, texts = _what_was_good(table, departures)
    faults = tuple(FailedVisit(float(times[i]), str(nodes[i]), texts[i]) for i in order.tolist() if not good[i])
    order = order[good[order]]
    if not order.size:
        raise FieldError(record.name, "has no visit that brought something", "a version, or a departure, in a row")
    table, times, nodes = table.iloc[order], times[order], nodes[order]
    departures = values[0][order] if values else None
    if updates is not None:
        visits = _visits_beside(record.name, times, nodes, table, departures, (str(wanted), updates))
    elif "changed" in table:
        visits = _visits_of_crawler(record.name, times, nodes, table["changed"].tolist(), wanted)
    else:
        visits = _visits_by_rows(record, times, nodes, table, departures, wanted)
    ages = {} if departures is None else {name: departures[nodes == name] for name in visits.replicas}
    return replace(
        visits,
        name=record.name,
        complete=visits.complete or record.complete,
        departures={name: left for name, left in ages.items() if np.isfinite(left).all()},
        faults=faults,
        notes=(
            *record.notes,
            *notes,
            *_early_notes(times, nodes, departures),
            *visits.notes,
        ),
    )


def _departures(record: Record) -> Floats | None:
    """Return the departure of each row of a record, NaN where it has none; None if no row has one."""
    entries = placed_entries(record.name, record.table, "left") if "left" in record.table else []
    if not entries:
        return None
    departures = np.full(len(record.table), np.nan)
    has_one = [not is_missing(value) for value in record.table["left"].tolist()]
    departures[has_one] = times_of_entries(record.name, entries, None)[0]
    return departures


def _what_was_good(table: Any, departures: Floats | None) -> tuple[NDArray[np.bool_], list[str]]:
    """Return a mask of the rows of a table that say what a node had, and for each row a text on why it may not.

    `departures` are those of the rows, NaN where there is none; None if no row has one.
    """
    texts = ["" if is_missing(fault) else str(fault) for fault in table.get("fault", [""] * len(table))]
    good = np.array([not text for text in texts], dtype=bool)
    if "version" in table or departures is not None:
        has_value = np.zeros(good.size, dtype=bool) if departures is None else np.isfinite(departures)
        if "version" in table:
            has_value |= np.array([not is_missing(value) for value in table["version"].tolist()])
        good &= has_value
    return good, [text or "it said nothing" for text in texts]


def _versions(table: Any) -> list[str]:
    """Return the version of each row of a table as text, without space around it; empty where there is none."""
    return ["" if is_missing(version) else str(version).strip() for version in table["version"].tolist()]


# ---- Notes


def fault_times(faults: Sequence[FailedVisit]) -> dict[str, Floats]:
    """Return the times of visits that brought nothing, by node, in the order in which they are given."""
    times: dict[str, list[float]] = {}
    for fault in faults:
        times.setdefault(fault.node, []).append(fault.time)
    return {node: np.array(instants) for node, instants in times.items()}


def fault_causes(faults: Sequence[FailedVisit]) -> dict[str, str]:
    """Return by node a text on why visits brought nothing, its 3 most usual causes first."""
    causes: dict[str, Counter[str]] = {}
    for fault in faults:
        causes.setdefault(fault.node, Counter())[fault.text] += 1
    return {node: _causes_text(texts) for node, texts in causes.items()}


def _causes_text(texts: Counter[str]) -> str:
    """Return the 3 most usual of these causes as one text, and how many others there are.

    `texts` counts each cause; if there are several, their counts are told.
    """
    listed = [f"{text} ({count})" if len(texts) > 1 else text for text, count in texts.most_common(MOST_FAULTS_LISTED)]
    more = [f"{len(texts) - MOST_FAULTS_LISTED} others"] if len(texts) > MOST_FAULTS_LISTED else []
    return ", ".join([*listed, *more])


def _early_notes(times: Floats, nodes: NDArray[Any], departures: Floats | None) -> Iterator[str]:
    """Yield a note for each node that was seen with data whose departure is more than 1 later than its visit.

    `times`, `nodes` and `departures` are those of all visits; without departures (None) there are no notes.
    """
    if departures is not None:
        early = departures > times + SLACK
        for name in dict.fromkeys(nodes[early].tolist()):
            most = float((departures - times)[early & (nodes == name)].max())
            yield f"{name}: had data up to {most:.3g} before they left the source: clocks differ"


# ---- Who is the source


def _source(name: str, nodes: NDArray[Any], wanted: str | None) -> str:
    """Return the name of the source: `wanted`, or "source" if that is None.

    `nodes` has the node of each visit, and `name` is that of the record. Raise a FieldError if none of them is the
    source, or if no other node is among them.
    """
    names = list(dict.fromkeys(nodes.tolist()))
    source = SOURCE if wanted is None else wanted
    if source not in names:
        raise FieldError("source", f"{source!r} is no node of {name}", suggestion(source, names))
    if len(names) == 1:
        raise FieldError(name, "has no replica", "rows of a source and of what copies it")
    return source


def _visits_by_rows(
    record: Record, times: Floats, nodes: NDArray[Any], table: Any, departures: Floats | None, wanted: str | None
) -> Visits:
    """Return visits by the rows of a record, in the order of their times, one of whose nodes may be the source.

    `wanted` is the name of the source, by default "source". Without versions, and with departures of replicas alone,
    there is no source. Raise a FieldError if there is none else, or no other node.
    """
    has_source = (SOURCE if wanted is None else wanted) in nodes
    if wanted is None and not has_source and departures is not None:
        codes = np.searchsorted(np.unique(departures[np.isfinite(departures)]), departures)
        visits = visits_of(times, nodes, [str(code) for code in codes], str(nodes[0]))
        return replace(visits, source="", notes=tuple(note for note in visits.notes if "older version" in note))
    source = _source(record.name, nodes, wanted)
    if departures is not None and "version" in table:
        texts = _versions(table)
        if "" in texts and np.isfinite(departures[nodes == source]).all():
            return _visits_by_departures(times, nodes, departures, source)
        lacking = [text or f"{left:.17g}" for text, left in zip(texts, departures.tolist(), strict=True)]
        return visits_of(times, nodes, lacking, source)
    if departures is not None:
        return _visits_by_departures(times, nodes, departures, source)
    if "version" in table:
        return visits_of(times, nodes, _versions(table), source)
    return visits_of_changes(times, nodes, source)


def _visits_by_departures(times: Floats, nodes: NDArray[Any], departures: Floats, source: str) -> Visits:
    """Return visits whose versions are told by departures, of the source and of replicas, (2)."""
    published = np.unique(departures[nodes == source])
    copied = np.unique(departures[nodes != source])
    if 2 * np.count_nonzero(np.isin(copied, published)) >= copied.size:
        return visits_of(times, nodes, [f"{left!r}" for left in departures.tolist()], source)
    return visits_of(
        times, nodes, [str(place) for place in np.searchsorted(published, departures, side="right")], source
    )


def _visits_beside(
    name: str, times: Floats, nodes: NDArray[Any], table: Any, departures: Floats | None, source: tuple[str, Floats]
) -> Visits:
    """Return visits of replicas beside a source that is known by its name and its updates, ascending instants, (1).

    Raise a FieldError if replicas have versions alone, which nothing compares with times, or if one has that name.
    """
    own_name, updates = source
    if own_name in nodes:
        raise FieldError("source", f"{own_name!r} is also a node of {name}", "a file of updates with another name")
    if departures is None:
        if "version" in table:
            raise FieldError(
                name, "has versions, and the source only times", "the departures of copies, in a column left"
            )
        all_nodes = np.concatenate([np.full(updates.size, own_name), nodes])
        all_times = np.concatenate([updates, times])
        order = np.argsort(all_times, kind="stable")
        return visits_of_changes(all_times[order], all_nodes[order], own_name)
    if not np.isfinite(departures).all():
        raise FieldError(name, "has rows without a departure", "a value in the column left")
    source_times, source_versions = _known_always(updates, np.arange(1, updates.size + 1))
    versions = np.concatenate([source_versions, np.searchsorted(updates, departures, side="right")])
    all_nodes = np.concatenate([np.full(source_times.size, own_name), nodes])
    all_times = np.concatenate([source_times, times])
    order = np.argsort(all_times, kind="stable")
    return visits_of(all_times[order], all_nodes[order], [str(version) for version in versions[order]], own_name)


def _known_always(times: Floats, versions: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    """Return the times and the versions of visits to a node that got versions[i] at times[i], which ascend.

    There is a visit at each of these times, and one just before the next, so that the node is known at every instant.
    """
    before = np.nextafter(times[1:], -np.inf)
    all_times, all_versions = np.append(times, before), np.append(versions, versions[:-1])
    order = np.argsort(all_times, kind="stable")
    return all_times[order], all_versions[order]


def _visits_of_crawler(
    name: str, times: Floats, nodes: NDArray[Any], changed: Sequence[Any], wanted: str | None
) -> Visits:
    """Return visits of a page, the source, and of what a crawler keeps of it, (3); `changed` is what its log says.

    Raise a FieldError if there are several pages, none of which is `wanted`, or if something is neither yes nor no.
    """
    pages = list(dict.fromkeys(nodes.tolist()))
    page = pages[0] if wanted is None and len(pages) == 1 else wanted
    if page not in pages:
        if page is None:
            raise FieldError(name, f"has {len(pages)} pages", f"one of them by --source, such as {pages[0]}")
        raise FieldError("source", f"{page!r} is no page of {name}", suggestion(page, pages))
    found_changed = is_yes(name, [word for word, node in zip(changed, nodes.tolist(), strict=True) if node == page])
    visits = np.unique(times[nodes == page])
    if visits.size < found_changed.size:
        raise FieldError(name, f"has visits of {page} in the same instant", "one visit at a time")
    number = np.cumsum(found_changed)
    copy_times, copies = _known_always(visits, number)
    all_times = np.concatenate([visits, copy_times])
    versions, all_nodes = np.append(number, copies), np.repeat([page, CRAWLER], [visits.size, copy_times.size])
    order = np.argsort(all_times, kind="stable")
    # Names and no numbers, as any number of changes may lie between two visits.
    crawled = visits_of(all_times[order], all_nodes[order], [f"v{version}" for version in versions[order]], str(page))
    notes = _rate_notes(str(page), visits, np.diff(number) > 0) if visits.size > 1 else ()
    return replace(crawled, notes=(*crawled.notes, *notes))


def _rate_notes(page: str, visits: Floats, changed: NDArray[np.bool_]) -> Iterator[str]:
    """Yield a note on how often a page changes, by whether `visits` but the first found it changed.

    There is none if it never did.
    """
    if changed.any():
        per, unit = (DAY, "a day") if are_dates(visits) else (1.0, "a unit of time")
        rate, low, high = (value * per for value in rate_of_sightings(visits, changed))
        seen = f"{np.count_nonzero(changed):,} of {count_text(changed.size, 'visit')} found it changed"
        often = (
            "more often than visits can tell"
            if np.isinf(rate)
            else f"{rate:.4g} times {unit} ({low:.4g} .. {high:.4g})"
        )
        yield f"{page}: {seen}; if it changes at random, that is {often}"
