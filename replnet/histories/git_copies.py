"""What a replica that is a git repository had of a source that is one: who committed which content of a path when.

Both are written REPOSITORY:PATH. A commit of the replica is a pull, and what it brought is told by the content: it is
what the source had with the same object, the last time before that commit. A copy that is made from the source, and is
not the same, may have a stamp in it, the instant at which its data left the source, which a regular expression finds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from replnet.histories.git_history import PathChange, path_changes
from replnet.histories.records import Record, record_of_rows
from replnet.histories.times import read_time
from replnet.text import FieldError

GIT = "git repositories"
RIGHT = "REPOSITORY:PATH, a folder with a git repository and a path in it"


def git_place(text: str) -> tuple[Path, str] | None:
    """Return the repository and the path in it that REPOSITORY:PATH names; None if no folder stands before a colon."""
    for at, letter in enumerate(text):
        if letter == ":" and text[at + 1 :] and Path(text[:at] or "/nowhere").is_dir():
            return Path(text[:at]), text[at + 1 :]
    return None


def git_record(replicas: Sequence[str], source: str, source_name: str, stamp: str | None) -> Record:
    """Return what these replicas had of the source, all as REPOSITORY:PATH, with the source under `source_name`.

    `stamp` is a regular expression with one group, the instant at which the data of a file left the source; None for
    files that are the same at both. Raise a FieldError if there is no such repository or path, or if the files of a
    replica are never those of the source, nor have a stamp.
    """
    pattern = None if stamp is None else _pattern(stamp)
    updates = _changes(source, pattern)
    names = [Path(text.partition(":")[0]).resolve().name.removesuffix(".git") for text in replicas]
    if len({*names, source_name}) <= len(names):
        names = list(replicas)
    stamped = all(change.stamp for change in updates)
    rows: list[dict[str, Any]] = [
        {"time": change.time, "node": source_name, "version": str(number)}
        | ({"left": _instant(source, change.stamp) if stamped else float(change.time)} if pattern else {})
        for number, change in enumerate(updates)
    ]
    notes = list[str]()
    for text, name in zip(replicas, names, strict=True):
        pulls = _changes(text, pattern)
        if pattern is None:
            copies = _copied_versions(updates, pulls)
            cells = [{"time": pull.time, "node": name, "version": str(number)} for pull, number in copies]
            wrong, right = "never has a file that the source had", "--left 'REGEX' that finds a stamp in the files"
        else:
            cells = [
                {"time": pull.time, "node": name, "left": _instant(text, pull.stamp)} for pull in pulls if pull.stamp
            ]
            wrong, right = f"has no file in which {stamp!r} finds something", "a stamp that all its files have"
        if not cells:
            raise FieldError(text, wrong, right)
        if len(cells) < len(pulls):
            why = "they brought nothing that the source had" if pattern is None else "their files have no stamp"
            notes.append(f"{name}: {len(pulls) - len(cells)} of {len(pulls)} commits are left out, as {why}")
        rows += cells
    record = record_of_rows(source, GIT, rows, notes)
    return Record(record.name, record.kind, record.table, record.notes, complete=True)


def _pattern(text: str) -> re.Pattern[str]:
    """Return a compiled regular expression; raise a FieldError unless it is one with one group."""
    try:
        pattern = re.compile(text, re.MULTILINE)
    except re.error as error:
        raise FieldError("left", f"{text!r}: {error}", "such as 'Last modified: (.*)'") from None
    if pattern.groups != 1:
        raise FieldError("left", f"{text!r} has {pattern.groups} groups", "one in brackets: the instant")
    return pattern


def _instant(place: str, stamp: str | None) -> float:
    """Return the instant that a stamp says, in seconds since 1970: a number of them, or a date of ISO 8601 or of mail.

    Raise a FieldError, which names `place`, if it says none.
    """
    text = str(stamp)
    try:
        return read_time(place, text)[0]
    except FieldError:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            date = None
        if date is None:
            raise
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _changes(text: str, stamp: re.Pattern[str] | None) -> list[PathChange]:
    """Return the commits that changed a path, given as REPOSITORY:PATH, in the order of their times.

    `stamp` finds the instant in each file at which its data left the source; None looks for none. Raise a FieldError if
    there is no such repository, or no such commit.
    """
    place = git_place(text)
    if place is None:
        raise FieldError(text, "names no git repository", RIGHT)
    changes = path_changes(*place, stamp)
    if not changes:
        raise FieldError(text, "no commit changed it", "a path as `git log -- PATH` knows it")
    return sorted(changes, key=lambda change: change.time)


def _copied_versions(updates: Sequence[PathChange], pulls: Sequence[PathChange]) -> list[tuple[PathChange, int]]:
    """Return each pull with the number of the update that it brought, where the source ever had that content.

    Of several updates with the same content it is the last before the pull, or else the first.
    """
    places: dict[str, list[int]] = {}
    for number, update in enumerate(updates):
        places.setdefault(update.content, []).append(number)
    copies = []
    for pull in pulls:
        if numbers := places.get(pull.content):
            before = bisect_right([updates[number].time for number in numbers], pull.time)
            copies.append((pull, numbers[max(before - 1, 0)]))
    return copies
