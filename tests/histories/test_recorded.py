"""What others recorded, by the content of their files: what is understood, and what is wrong with it."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from error_tables import by_message, message_of, read_table, write_files

import replnet as rn
from replnet.text import FieldError, FieldsError

RECORDED = read_table(__file__, "recorded.yaml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A new folder, in which the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def observed(case):
    """Write the files of a case, and observe the first of them, or what the case says."""
    for name in case["files"]:
        Path(name).parent.mkdir(exist_ok=True)
    write_files(case)
    return rn.observe(case.get("record", next(iter(case["files"]))), case.get("source"))


@pytest.mark.parametrize("case", RECORDED["read"], ids=lambda case: case["what"])
def test_what_others_recorded_is_understood(folder, case):
    result = observed(case)
    assert result.visits == case["visits"]
    table = {(row["group"], row["metric"]): row for row in result.rows}
    for group, metric, *values in case.get("rows", []):
        row = table[group, metric]
        assert [row[column] for column in ("measured", "least", "most")] == pytest.approx(values), row
    notes = [note for note in result.notes if "are left out" not in note]
    assert len(notes) == len(case.get("notes", [])), notes
    for note, begin in zip(notes, case.get("notes", []), strict=True):
        assert note.startswith(begin), note


@pytest.mark.parametrize("case", by_message(RECORDED["errors"]))
def test_what_is_broken_is_named(folder, case):
    assert message_of(observed, case) == case["message"]


def test_departures_say_what_versions_say(tmp_path):
    """Of the same copies: whichever of both is recorded, and the ages beside them."""
    rng = np.random.default_rng(8)
    updates, pulls = np.cumsum(rng.exponential(1, 3000)), np.cumsum(rng.exponential(1.5, 1900))
    pulls = pulls[(pulls > updates[0] + 3) & (pulls < updates[-1])]
    left = np.maximum.accumulate(pulls - rng.uniform(0, 3, pulls.size))
    np.savetxt(tmp_path / "updates.csv", updates, header="time", comments="")
    copies = pd.DataFrame({"time": pulls, "left": left})
    copies.to_parquet(tmp_path / "copies.parquet")
    by_left = rn.observe(tmp_path / "copies.parquet", str(tmp_path / "updates.csv")).table.set_index("metric")
    just_before = np.nextafter(updates[1:], 0)
    versions = pd.DataFrame(
        {
            "time": np.concatenate([updates, just_before, pulls]),
            "node": ["source"] * (2 * updates.size - 1) + ["copies"] * pulls.size,
            "version": np.concatenate(
                [np.arange(updates.size), np.arange(updates.size - 1), np.searchsorted(updates, left, "right") - 1]
            ),
        }
    )
    by_version = rn.observe(versions).table.set_index("metric")
    for metric in ("freshness", "staleness_age", "lag", "missing_updates"):
        for column in ("measured", "least", "most"):
            assert by_left.loc[metric, column] == pytest.approx(by_version.loc[metric, column])
    # Each copy is as old as the pull is late, and ages until the next.
    gaps = np.diff(pulls)
    late = (pulls - left)[:-1]
    age = float((late * gaps + gaps**2 / 2).sum() / gaps.sum())
    alone = rn.observe(copies.assign(node="copies")).table.set_index("metric")
    assert alone.loc["information_age", "measured"] == pytest.approx(age)
    assert by_left.loc["information_age", "measured"] == pytest.approx(age, rel=0.01)
    assert alone.loc["information_age", "least"] < age == pytest.approx(alone.loc["information_age", "most"])


def test_a_database_of_somebody_else_stays_as_it_is(tmp_path):
    path = tmp_path / "places.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table places(name text)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(rn.InputError, match="is no history of visits"):
        rn.observe(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["places.sqlite"]


@pytest.mark.parametrize("case", RECORDED["read"], ids=lambda case: case["what"])
def test_what_is_damaged_is_understood_or_refused(folder, case):
    """Files that are cut, or in which something stands twice, is missing, or is another letter."""
    rng = np.random.default_rng(len(case["what"]))
    for _ in range(40):
        files = dict(case["files"])
        name = str(rng.choice(list(files)))
        text = files[name]
        first, last = sorted(rng.integers(0, len(text) + 1, 2).tolist())
        letter = rng.choice(list('0-9.,:{}[]"\n\t\x00 eé'))
        other = text[:first] + letter + text[first + 1 :]
        damages = (text[:last], text[:first] + text[last:], text[:last] + text[first:], other)
        files[name] = damages[rng.integers(len(damages))]
        with suppress(FieldError, FieldsError, rn.InputError):
            str(observed({**case, "files": files}))
