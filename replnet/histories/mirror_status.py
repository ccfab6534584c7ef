"""What monitors of mirrors write: the mirror status of Arch Linux, and the state file of mirmon.

Both probe mirrors for a file with the instant at which the project wrote it, so that each probe says when the data of
a mirror had left the source.

Arch Linux (https://archlinux.org/mirrors/status/json/): an object with `version`, `last_check` and `urls`. In version
3 each of these has the `last_sync` that its last good check brought, so that a file is one poll of all mirrors; in
version 4, of one mirror, each has `logs` with the `check_time`, `last_sync` and `is_success` of every check of a day.

mirmon (mirmon.state): a line per mirror with seven fields: its url; the instant that its last good probe brought
("age"); the status of its last probe; when its last good probe was; the results of probes; a time, a minus and a letter
per day for how old the mirror was; and when its last probe was. What there never was is `undef`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from replnet.histories.records import Record, record_of_rows
from replnet.text import FieldError, count_text

ARCH, MIRMON = "Arch Linux mirror status", "state of mirmon"
ARCH_VERSIONS = (3, 4)
MIRMON_FIELDS = 7
MIRMON_LINE = re.compile(r"\S+://\S+(\s+\S+)*")
UNDEFINED = "undef"
DAY_CLASSES = {"s": "fresh", "b": "oldish", "f": "old", "z": "bad"}  # and x: no probe on that day
MOST_MIRRORS_LISTED = 5  # in a note


def is_arch_status(data: Any) -> bool:
    """Whether an object of JSON is, or was meant to be, the mirror status of Arch Linux."""
    return isinstance(data, dict) and "urls" in data


def arch_status(name: str, data: dict[str, Any]) -> Record:
    """Return the checks in a mirror status of Arch Linux; raise a FieldError that names `name` for anything else."""
    if data.get("version") not in ARCH_VERSIONS:
        wrong = f"is a mirror status of version {data.get('version')!r}"
        raise FieldError(name, wrong, "version 3, of all mirrors, or 4, of one with its logs")
    urls = data["urls"]
    if not isinstance(urls, list) or not all(isinstance(mirror, dict) and "url" in mirror for mirror in urls):
        raise FieldError(name, "its urls are no list of mirrors with a url", "urls: [{url: ..., last_sync: ...}, ...]")
    rows = [row for mirror in urls for row in _arch_checks(name, mirror, data.get("last_check"))]
    return record_of_rows(name, ARCH, rows)


def _arch_checks(name: str, mirror: dict[str, Any], last_check: Any) -> Iterator[dict[str, Any]]:
    """Yield a row, by the names of `COLUMNS`, for each check of a mirror: those of its logs, or else its last one.

    `last_check` is when all mirrors were checked, for one that does not say. Raise a FieldError, which names `name`, if
    there is no time, or the logs are none.
    """
    logs = mirror.get("logs")
    if logs is None:
        logs = [{"check_time": mirror.get("last_check") or last_check, "last_sync": mirror.get("last_sync")}]
    if not isinstance(logs, list) or not all(isinstance(check, dict) for check in logs):
        raise FieldError(name, f"the logs of {mirror['url']} are no list of checks", "logs: [{check_time: ...}, ...]")
    for check in logs:
        if not check.get("check_time"):
            raise FieldError(
                name, f"does not say when {mirror['url']} was checked", "last_check, or check_time of logs"
            )
        left = check.get("last_sync")
        good = check.get("is_success", True) and left
        fault = None if good else str(check.get("error") or "no instant of the last sync")
        yield {"time": check["check_time"], "node": mirror["url"], "left": left if good else None, "fault": fault}


def is_mirmon_state(lines: list[str]) -> bool:
    """Whether the first lines of a text look like those of the state file of mirmon: each begins with a URL."""
    return bool(lines) and all(MIRMON_LINE.fullmatch(line.strip()) and "," not in line for line in lines)


def mirmon_state(name: str, lines: list[str]) -> Record:
    """Return the last good probe of each mirror in a state file of mirmon, and the last probe if that was a failure.

    `lines` are those of the file `name`. Raise a FieldError that names the line if one has not seven fields.
    """
    rows, days = list[dict[str, Any]](), dict[str, Counter[str]]()
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != MIRMON_FIELDS:
            raise FieldError(f"{name}:{number}", f"has {len(fields)} fields", f"the {MIRMON_FIELDS} of mirmon.state")
        url, left, status, good_probe, _, history, probe = fields
        if UNDEFINED not in (left, good_probe):
            rows.append({"time": good_probe, "node": url, "left": left, "fault": None})
        if probe not in (UNDEFINED, good_probe):
            rows.append({"time": probe, "node": url, "left": None, "fault": status.replace("_", " ")})
        days[url] = Counter(history.partition("-")[2])
    return record_of_rows(name, MIRMON, rows, _day_notes(days))


def _day_notes(days: dict[str, Counter[str]]) -> list[str]:
    """Return a note on the days on which mirrors were old, the worst of them by name; none if no day was judged.

    `days` has, for each mirror, how many of its days are of which class, a letter of DAY_CLASSES.
    """
    judged = {url: sum(classes[letter] for letter in DAY_CLASSES) for url, classes in days.items()}
    old = {url: judged[url] - days[url]["s"] for url in days}
    if not any(judged.values()):
        return []
    worst = sorted((url for url in days if old[url]), key=lambda url: -old[url] / judged[url])
    fresh, unseen = sum(judged[url] > 0 == old[url] for url in days), sum(not judged[url] for url in days)
    others = [f"{count_text(unseen, 'mirror')} not judged"] if unseen else []
    texts = [f"by its days, {count_text(fresh, 'mirror')} of {len(days)} always fresh", *others]
    for url in worst[:MOST_MIRRORS_LISTED]:
        counts = [f"{word} {days[url][letter]}" for letter, word in DAY_CLASSES.items() if days[url][letter]]
        texts.append(f"{url} on {judged[url]} days: {', '.join(counts)}")
    if len(worst) > MOST_MIRRORS_LISTED:
        texts.append(f"{len(worst) - MOST_MIRRORS_LISTED} more that were not")
    return ["; ".join(texts)]
