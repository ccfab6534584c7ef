"""Event times from files and dumps."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from datetime import UTC, datetime
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replnet.histories.trace_import import history_of, import_trace, write_times
from replnet.laws import trace

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp()


def made(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "times", "note"),
    [
        ("a.csv", "timestamp\n10\n30\n20\n", [10, 20, 30], "out of order: 1, sorted"),
        ("a.csv", "30\n20\n10\n", [10, 20, 30], ""),
        ("a.csv", "# seconds\n\n10\n10\n12.5\n", [10, 10, 12.5], "in the same instant as another: 1, kept"),
        ("a.csv", "user,time\nx,10\ny,12\n", [10, 12], ""),
        ("a.txt", "2024-05-01T12:00:00Z\n2024-05-01T15:00:00+02:00\n", [NOON, NOON + 3600], ""),
        ("a.txt", "2024-05-01 12:00\n2024-05-02 12:00\n", [NOON, NOON + 86_400], "no zone"),
        ("a.csv", f"time\n{NOON:.0f}000\n{NOON:.0f}500\n", [NOON, NOON + 0.5], "taken as ms"),
        ("a.json", f"[{NOON:.0f}, {NOON + 5:.0f}]", [NOON, NOON + 5], ""),
        ("a.json", '[{"id": 1, "timestamp": "2024-05-01T12:00:00Z"}, {"timestamp": "2024-05-01T13:00:00Z"}]',
         [NOON, NOON + 3600], ""),
        ("a.jsonl", '{"date": 3}\n\n{"date": 5}\n', [3, 5], ""),
    ],
)  # fmt: skip
def test_times_are_read(tmp_path, name, content, times, note):
    found, notes = import_trace(made(tmp_path, name, content))
    assert found.tolist() == times
    assert len(notes) == bool(note)
    assert all(note in one for one in notes)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "", "a.csv: has no events (2 or more)"),
        ("a.csv", "timestamp\n", "a.csv: has no events"),
        ("a.csv", "timestamp\n17\n", "a.csv: has 1 event (events at 2 or more instants)"),
        ("a.csv", "timestamp\n17\n17\n", "a.csv: has 2 events of one instant"),
        ("a.csv", "timestamp\n17\nnan\n", "a.csv:3: 'nan' is not a time"),
        ("a.csv", "timestamp\n17\ninf\n18\n", "a.csv:3: 'inf' is not a time"),
        ("a.csv", "timestamp\n17\n\n# hm\nyesterday\n", "a.csv:5: 'yesterday' is not a time (a number, or an ISO 8601"),
        ("a.csv", "2024-05-01T12:00:00Z\n2024-05-01T12:00:00\n", "a.csv:2: a date without a zone (an offset or Z"),
        ("a.csv", "timestamp\n17\n2024-05-01T12:00:00Z\n", "1 dates among 1 numbers"),
        ("a.csv", "a,time\n1,2\n3\n", "a.csv:3: has 1 columns (at least 2)"),
        ("a.csv", "2024-13-01\n2024-12-01\n", "a.csv:1: '2024-13-01' is not a time"),
        ("a.csv", b"\xff\xfe\x00\x01", "a.csv: is not text"),
        ("a.json", "{", "a.json:1: is not JSON"),
        ("a.json", '{"a": 1}', "a.json: is not a list"),
        ("a.json", '[{"when": 1}]', "a.json: entry 1: has no time (one of the keys timestamp"),
        ("a.json", "[1, true]", "a.json: entry 2: 'True' is not a time"),
        ("a.json", "[1, 1e999]", "a.json: entry 2: inf is not a time"),
        ("a.json", "[1" + "0" * 400 + ", 2]", "is not a time"),
        ("a.json", "[" * 100_000, "a.json: is nested too deeply"),
        ("a.parquet", b"PAR1", "a.parquet: "),
        ("a.xml", "<mediawiki><page>", "a.xml:1:18: is not XML"),
        ("a.xml", "<mediawiki/>", "a.xml: has no page"),
        ("a.xml.gz", b"no gzip", "a.xml.gz: is damaged"),
    ],
)  # fmt: skip
def test_bad_records_say_where_and_what(tmp_path, name, content, said):
    with pytest.raises(ValueError, match=r"\S") as error:
        import_trace(made(tmp_path, name, content))
    assert said in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_what_is_asked_for_must_be_there(tmp_path):
    plain = made(tmp_path, "a.csv", "when,time\n1,2\n3,4\n")
    assert import_trace(plain, column="when")[0].tolist() == [1, 3]
    for how, said in [
        ({"column": "what"}, "no column 'what' (one of when, time)"),
        ({"path": "x"}, "has no paths"),
        ({"page": "x"}, "has no pages"),
    ]:
        with pytest.raises(ValueError, match=r"a\.csv") as error:
            import_trace(plain, **how)
        assert said in str(error.value)
    with pytest.raises(ValueError, match="does not exist"):
        import_trace(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="--path"):
        import_trace(tmp_path)
    assert import_trace(plain, unit="ms")[0].tolist() == [0.002, 0.004]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(-(10**12), 10**12).map(lambda n: n / 1000), min_size=2, max_size=20).filter(
        lambda x: len(set(x)) > 1
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
    pd.DataFrame({"timestamp": [*stamps, None]}).to_parquet(path)
    with pytest.raises(ValueError, match="row 3: no time"):
        import_trace(path)
    pd.DataFrame({"when": [1.0, float("nan")]}).to_parquet(path)
    with pytest.raises(ValueError, match="row 2: nan is not a time"):
        import_trace(path)


DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo><sitename>Wiki</sitename></siteinfo>
  <page><title>One</title><ns>0</ns><id>1</id>
    <revision><id>1</id><timestamp>2024-05-01T12:00:00Z</timestamp><contributor><id>7</id></contributor></revision>
    <revision><id>2</id><timestamp>2024-05-01T12:00:09Z</timestamp></revision>
  </page>
  <page><title>Two</title><ns>0</ns><id>2</id>
    <revision><id>3</id><timestamp>2024-05-01T13:00:00Z</timestamp></revision>
    <revision><id>4</id><timestamp>2024-05-01T13:00:01Z</timestamp></revision>
  </page>
</mediawiki>
"""


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_a_page_of_a_dump(tmp_path, ending, pack):
    path = made(tmp_path, "stub-meta-history.xml" + ending, pack(DUMP.encode()))
    assert import_trace(path, page="One")[0].tolist() == [NOON, NOON + 9]
    assert import_trace(path, page="Two")[0].tolist() == [NOON + 3600, NOON + 3601]
    with pytest.raises(ValueError, match=r"several pages, such as 'One' and 'Two' \(one of them by --page\)"):
        import_trace(path)
    with pytest.raises(ValueError, match=r"no page 'Three' \(there is 'One', 'Two'\)"):
        import_trace(path, page="Three")


def test_a_cut_off_dump(tmp_path):
    path = made(tmp_path, "a.xml.gz", gzip.compress(DUMP.encode())[:-40])
    with pytest.raises(ValueError, match="is damaged"):
        import_trace(path, page="Two")


def test_a_large_dump_needs_little_memory(tmp_path):
    """A page of 20,000 revisions, 1.7 MB of XML, takes less than 8 MB, as much as its tree alone would."""
    import tracemalloc

    body = "".join(
        f"<revision><id>{n}</id><timestamp>2024-05-01T12:{n // 60 % 60:02}:{n % 60:02}Z</timestamp></revision>"
        for n in range(20_000)
    )
    path = made(tmp_path, "a.xml", f"<mediawiki><page><title>One</title>{body}</page></mediawiki>")
    tracemalloc.start()
    times, _ = import_trace(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert times.size == 20_000
    assert peak < 8e6


def answer(pages):
    return {"batchcomplete": "", "query": {"pages": pages}}


def test_answers_of_the_api(tmp_path):
    stamps = [{"timestamp": "2024-05-01T12:00:09Z"}, {"timestamp": "2024-05-01T12:00:00Z"}]
    old = answer({"1": {"pageid": 1, "title": "One", "revisions": stamps}})
    new = answer([{"pageid": 1, "title": "One", "revisions": stamps[:1]}])
    rest = answer([{"pageid": 1, "title": "One", "revisions": stamps[1:]}])
    for content in (json.dumps(old), json.dumps([new, rest]), json.dumps(new) + "\n" + json.dumps(rest)):
        assert import_trace(made(tmp_path, "a.json", content))[0].tolist() == [NOON, NOON + 9]
    both = answer([{"title": "One", "revisions": stamps}, {"title": "Two", "revisions": stamps}])
    path = made(tmp_path, "a.json", json.dumps(both))
    assert import_trace(path, page="Two")[0].size == 2
    for how, said in [({}, "several pages"), ({"page": "Three"}, "no page 'Three'")]:
        with pytest.raises(ValueError, match=said):
            import_trace(path, **how)
    bare = made(tmp_path, "a.json", json.dumps(answer([{"title": "One", "revisions": [{"revid": 3}]}])))
    with pytest.raises(ValueError, match="revision 1 of 'One' has no timestamp"):
        import_trace(bare)


def test_a_long_record(tmp_path):
    path = made(tmp_path, "a.csv", "timestamp\n" + "\n".join(map(str, range(0, 200_000, 2))))
    assert import_trace(path)[0].size == 100_000
