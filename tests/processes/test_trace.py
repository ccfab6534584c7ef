"""Recorded event times as laws: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from replnet import laws
from replnet.laws import FieldError, law


def file_with(folder: Path, content: str | bytes) -> Path:
    path = folder / "events.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "timestamp\n1\n2\n2\n4.5\n",
        "1\n2\n4.5",
        "# recorded\r\n1\r\n\r\n2\r\n4.5\r\n",
        'name,timestamp\na,1\nb,2\n"x,y",4.5\n',
        "1;a\n2;b\n4.5;c\n",
        "\ufefftime\n1\n2\n4.5\n",
        "2026-01-01T00:00:01Z\n2026-01-01 00:00:02\n2026-01-01T01:00:04.500000+01:00\n",
    ],
)
def test_trace(tmp_path: Path, content: str) -> None:
    path = file_with(tmp_path, content)
    one = laws.trace(path)
    assert (one.values.tolist(), one.weights.tolist()) == ([1, 2.5], [1, 1])
    assert one.unit == ("s" if "2026" in content else None)
    # A law of seconds is another one than a law of plain numbers.
    assert (one == laws.empirical([1, 2.5])) == (one.unit is None)
    assert law(str(one)) == one
    assert str(path) in str(one)


def test_trace_column_and_folder(tmp_path: Path) -> None:
    path = file_with(tmp_path, "made,seen\n1,10\n2,30\n4,40\n")
    for column in ("seen", 2):
        one = laws.trace(path, column=column)
        assert one == laws.empirical([10, 20]) == law(str(one))
    assert law("trace(events.csv, column=seen)", folder=tmp_path) == laws.empirical([10, 20])
    assert law(f"trace({path})", folder=Path("elsewhere")) == laws.empirical([1, 2])


TEXT = "a,b\n1,2\n3\n"


@pytest.mark.parametrize(
    ("content", "column", "field", "message"),
    [
        ("", None, "file", "0 events"),
        ("time\n", None, "file", "0 events"),
        ("time\n5\n", None, "file", "1 event "),
        ("5\n5\n", None, "file", "fewer than 2 instants"),
        ("time\n1\n3\n2\n", None, "file", "csv:4: earlier"),
        ("1\n2\nx\n", None, "file", "csv:3: 'x' is not a time"),
        ("1\nnan\n3\n", None, "file", "csv:2: 'nan'"),
        ("2026-01-01\n2026-01-02\n1\n", None, "file", "csv:3: a number after a date"),
        (b"\x00\x01\x02", None, "file", "not text"),
        (b"\xff\xfe1\n2\n", None, "file", "not text"),
        (TEXT, 7, "column", "no column 7"),
        (TEXT, "b", "file", "csv:3: has 1 column"),
        (TEXT, "c", "column", "one of a, b"),
        (TEXT, True, "column", "not a column"),
    ],
)
def test_trace_refused(tmp_path: Path, content: str | bytes, column: object, field: str, message: str) -> None:
    with pytest.raises(FieldError, match=message) as caught:
        laws.trace(file_with(tmp_path, content), column=column)
    assert caught.value.field == field


@pytest.mark.parametrize("file", ["missing.csv", "", 3, "."])
def test_trace_without_a_file(tmp_path: Path, file: object) -> None:
    with pytest.raises(FieldError) as caught:
        law({"trace": {"file": file}}, folder=tmp_path)
    assert caught.value.field == "file"
