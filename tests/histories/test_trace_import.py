"""Event times from files and dumps."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tracemalloc
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from replnet.histories.trace_import import history_of, import_trace, write_times
from replnet.laws import trace

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp()
RECORDS = YAML(typ="safe").load(Path(__file__).with_name("records.yaml"))


def made(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("case", RECORDS["read"], ids=lambda case: case["text"])
def test_times_are_read(tmp_path, case):
    times, notes = import_trace(made(tmp_path, case["name"], case["text"]), **case.get("options", {}))
    assert times.tolist() == case["times"]
    assert notes == case.get("notes", [])


@pytest.mark.parametrize("case", RECORDS["errors"], ids=lambda case: case["message"][:60])
def test_bad_records_say_where_and_what(tmp_path, case):
    path = made(tmp_path, case["name"], case["text"].encode("latin-1"))
    with pytest.raises(ValueError, match=r"\S") as error:
        import_trace(path, **case.get("options", {}))
    assert str(error.value).startswith(f"{tmp_path}/")
    assert str(error.value).replace(f"{tmp_path}/", "") == case["message"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "[1" + "0" * 400 + ", 2]", "is not a time"),
        ("a.json", "[" * 100_000, "is nested too deeply"),
        ("a.parquet", "PAR1", "is not Parquet"),
    ],
)
def test_what_libraries_cannot_read(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        import_trace(made(tmp_path, name, text))


@pytest.mark.parametrize(
    ("name", "message"), [("none.csv", "does not exist"), ("", "--path"), ("sub", "is a directory")]
)
def test_what_is_no_file(tmp_path, name, message):
    (tmp_path / "sub").mkdir()
    with pytest.raises(ValueError, match=message):
        import_trace(tmp_path / name, kind="csv" if name == "sub" else None)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(-(10**12), 10**12).map(lambda n: n / 1000), min_size=2, max_size=20).filter(
        lambda times: len(set(times)) > 1
    )
)
def test_what_is_written_reads_back(tmp_path, times):
    first, _ = import_trace(made(tmp_path, "a.csv", "\n".join(map(repr, times))))
    out = StringIO()
    write_times(first, out)
    again = made(tmp_path, "b.csv", out.getvalue())
    assert history_of(again).times.tolist() == sorted(times)
    assert trace(again).mean == pytest.approx(np.diff(sorted(set(times))).mean(), rel=1e-9)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    stamps = pd.to_datetime(["2024-05-01T12:00:00.0Z", "2024-05-01T12:00:01.5Z"])
    pd.DataFrame({"n": [1, 2], "timestamp": stamps}).to_parquet(path)
    assert import_trace(path)[0].tolist() == [NOON, NOON + 1.5]
    assert import_trace(path, column="n")[0].tolist() == [1, 2]
    for column, message in (
        ({"timestamp": [*stamps, None]}, "row 3: no time"),
        ({"when": [1.0, float("nan")]}, "row 2: nan is not a time"),
        ({}, "has no columns"),
    ):
        pd.DataFrame(column).to_parquet(path)
        with pytest.raises(ValueError, match=message):
            import_trace(path)


def revision(second):
    return f"<revision><timestamp>{datetime.fromtimestamp(NOON + second, UTC).isoformat()}</timestamp></revision>"


def dump(**pages):
    """A dump of pages, by title with the seconds after noon at which they were revised."""
    body = "".join(
        f"<page><title>{title}</title>{''.join(map(revision, seconds))}</page>" for title, seconds in pages.items()
    )
    return f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">{body}</mediawiki>'.encode()


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_a_page_of_a_dump(tmp_path, ending, pack):
    path = made(tmp_path, "stub-meta-history.xml" + ending, pack(dump(One=(0, 9), Two=(3600, 3601))))
    assert import_trace(path, page="One")[0].tolist() == [NOON, NOON + 9]
    assert import_trace(path, page="Two")[0].tolist() == [NOON + 3600, NOON + 3601]
    with pytest.raises(ValueError, match=r"several pages, such as 'One' and 'Two' \(one of them by --page\)"):
        import_trace(path)
    with pytest.raises(ValueError, match=r"no page 'Three' \(there is 'One', 'Two'\)"):
        import_trace(path, page="Three")


def test_a_cut_off_dump(tmp_path):
    path = made(tmp_path, "a.xml.gz", gzip.compress(dump(One=(0, 9), Two=range(99)))[:-40])
    with pytest.raises(ValueError, match="is damaged"):
        import_trace(path, page="Two")


def test_a_large_dump_needs_little_memory(tmp_path):
    """Of 50,000 elements, whose tree takes 5 MB, less than 1 MB is held at once."""
    path = made(tmp_path, "a.xml", dump(One=(0, 9)).replace(b"<timestamp>", b"<id>1</id>" * 25_000 + b"<timestamp>"))
    tracemalloc.start()
    assert import_trace(path)[0].size == 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_answers_of_the_api(tmp_path):
    def answer(pages):
        return json.dumps({"batchcomplete": "", "query": {"pages": pages}})

    stamps = [{"timestamp": "2024-05-01T12:00:09Z"}, {"timestamp": "2024-05-01T12:00:00Z"}]
    old = answer({"1": {"pageid": 1, "title": "One", "revisions": stamps}})
    new, rest = (answer([{"pageid": 1, "title": "One", "revisions": [stamp]}]) for stamp in stamps)
    for content in (old, f"[{new}, {rest}]", f"{new}\n{rest}"):
        assert import_trace(made(tmp_path, "a.json", content))[0].tolist() == [NOON, NOON + 9]
    both = made(tmp_path, "b.json", answer([{"title": title, "revisions": stamps} for title in ("One", "Two")]))
    assert import_trace(both, page="Two")[0].size == 2
    with pytest.raises(ValueError, match="several pages"):
        import_trace(both)
