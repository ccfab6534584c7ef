"""Event times from files, dumps and repositories."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
from datetime import UTC, datetime
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replnet.cli.traces import trace as trace_command
from replnet.histories.trace_import import import_trace, recorded, write_times
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
        ("a.csv", "timestamp\n17\nnan\n", "a.csv:3: nan is not a time"),
        ("a.csv", "timestamp\n17\ninf\n18\n", "a.csv:3: inf is not a time"),
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
    assert recorded(again).times.tolist() == sorted(times)
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


def git(folder, *arguments, at=0):
    stamp = f"{1_700_000_000 + at} +0200"
    hidden = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    dates = {"GIT_AUTHOR_DATE": "1600000000 +0000", "GIT_COMMITTER_DATE": stamp}
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *who, *arguments]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **hidden, **dates})


def commit(folder, name, content, at):
    (folder / name).write_text(content)
    git(folder, "add", "--", name)
    git(folder, "commit", "-m", "x", at=at)


def test_the_history_of_a_path(tmp_path):
    """Commits that changed it, at the time they came to the branch: a side branch counts once, when merged."""
    git(tmp_path, "init", "-b", "main")
    commit(tmp_path, "list.dat", "1", 0)
    commit(tmp_path, "other.dat", "1", 10)
    commit(tmp_path, "list.dat", "2", 20)
    git(tmp_path, "checkout", "-b", "side")
    commit(tmp_path, "list.dat", "3", 30)
    commit(tmp_path, "list.dat", "4", 40)
    git(tmp_path, "checkout", "main")
    commit(tmp_path, "other.dat", "2", 50)
    git(tmp_path, "merge", "--no-ff", "side", "-m", "merge", at=60)
    times, notes = import_trace(tmp_path, path="list.dat")
    assert (times - 1_700_000_000).tolist() == [0, 20, 60]
    assert notes == []
    with pytest.raises(ValueError, match=r"no commit changed nothing\.dat"):
        import_trace(tmp_path, path="nothing.dat")
    with pytest.raises(ValueError, match="no commit changed"):
        import_trace(tmp_path, path="*.dat")


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ValueError, match="not a git repository"):
        import_trace(tmp_path, path="a")
    git(tmp_path, "init", "-b", "main")
    with pytest.raises(ValueError, match="does not have any commits"):
        import_trace(tmp_path, path="a")
    commit(tmp_path, "a", "1", 0)
    with pytest.raises(ValueError, match="outside repository"):
        import_trace(tmp_path, path="/etc/passwd")
    with pytest.raises(ValueError, match="is not a path"):
        import_trace(tmp_path, path="a\0b")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="git is not installed"):
        import_trace(tmp_path, path="a")


HOSTILE = """
[core]
    repositoryformatversion = 1
    fsmonitor = touch {ran}
    pager = touch {ran}
    sshCommand = touch {ran}
    hooksPath = {hooks}
    attributesFile = {hooks}/attributes
    editor = touch {ran}
    gitProxy = touch {ran}
    alternateRefsCommand = touch {ran}
[extensions]
    partialClone = origin
[remote "origin"]
    url = {url}
    fetch = +refs/heads/*:refs/remotes/origin/*
    promisor = true
    partialclonefilter = tree:0
    uploadpack = touch {ran};false
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[include]
    path = {hooks}/more
[diff]
    external = touch {ran}
[diff "x"]
    textconv = touch {ran}
    command = touch {ran}
[log]
    showSignature = true
[gpg]
    program = touch {ran}
[credential]
    helper = !touch {ran}
[pager]
    log = touch {ran}
    rev-parse = touch {ran}
[alias]
    log = !touch {ran}
    rev-parse = !touch {ran}
"""


def hostile(tmp_path, url):
    """A repository of two commits whose configuration names programs wherever it can; and the file they would make."""
    folder, ran, hooks = tmp_path / "work", tmp_path / "RAN", tmp_path / "hooks"
    folder.mkdir()
    hooks.mkdir()
    git(folder, "init", "-b", "main")
    commit(folder, ".gitattributes", "* diff=x filter=x", 0)
    commit(folder, "list.dat", "1", 10)
    commit(folder, "list.dat", "2", 20)
    signed = subprocess.run(
        ["git", "-C", str(folder), "cat-file", "commit", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n", 1)
    name = subprocess.run(
        ["git", "-C", str(folder), "hash-object", "-t", "commit", "-w", "--stdin"],
        check=True, capture_output=True, text=True, input=signed,
    ).stdout.strip()  # fmt: skip
    git(folder, "reset", "--hard", name)
    (hooks / "more").write_text(f"[core]\n    fsmonitor = touch {ran}\n")
    (hooks / "attributes").write_text("* diff=x\n")
    for hook in ("post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / hook).chmod(0o755)
    with (folder / ".git" / "config").open("a") as file:
        file.write(HOSTILE.format(ran=ran, hooks=hooks, url=url.format(ran=ran)))
    return folder, ran


def without(folder, revision):
    """As if the object had been left out of a partial clone."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    name = subprocess.run(
        ["git", f"--git-dir={folder}/.git", "rev-parse", revision],
        check=True, capture_output=True, text=True, env=environment,
    ).stdout.strip()  # fmt: skip
    (folder / ".git" / "objects" / name[:2] / name[2:]).unlink()


@pytest.mark.parametrize("url", ["ext::touch {ran}", "ssh://host/x", "file:///x", "git://host/x"])
@pytest.mark.parametrize("missing", ["", "HEAD~1^{tree}", "HEAD~1", "HEAD"])
def test_a_hostile_repository_runs_nothing(tmp_path, url, missing):
    folder, ran = hostile(tmp_path, url)
    if missing:
        without(folder, missing)
        with pytest.raises(ValueError, match=r"\S") as error:
            import_trace(folder, path="list.dat")
    else:
        assert (import_trace(folder, path="list.dat")[0] - 1_700_000_000).tolist() == [10, 20]
    assert not ran.exists()
    if missing:
        assert str(folder) in str(error.value)
        assert "lacks objects that its commits name: " in str(error.value)
        assert "(a complete clone: nothing is fetched" in str(error.value)


def test_shallow_bare_and_linked_repositories_and_folders_in_them(tmp_path):
    whole = tmp_path / "whole"
    (whole / "sub").mkdir(parents=True)
    git(whole, "init", "-b", "main")
    for at in (0, 10, 20):
        commit(whole, "sub/list.dat", str(at), at)
    git(tmp_path, "clone", "--depth=2", whole.as_uri(), "shallow")
    git(tmp_path, "clone", "--bare", str(whole), "bare")
    git(whole, "worktree", "add", "--detach", str(tmp_path / "linked"), "HEAD~1")
    for folder, path, times in [
        (whole, "sub/list.dat", [0, 10, 20]),
        (whole, str(whole / "sub" / "list.dat"), [0, 10, 20]),
        (whole / "sub", "list.dat", [0, 10, 20]),
        (tmp_path / "shallow", "sub", [10, 20]),
        (tmp_path / "bare", "sub/list.dat", [0, 10, 20]),
        (tmp_path / "linked", "sub/list.dat", [0, 10]),
    ]:
        assert (import_trace(folder, path=path)[0] - 1_700_000_000).tolist() == times, folder


def test_objects_named_by_sha256(tmp_path):
    git(tmp_path, "init", "-b", "main", "--object-format=sha256")
    commit(tmp_path, "a", "1", 0)
    commit(tmp_path, "a", "2", 10)
    assert (import_trace(tmp_path, path="a")[0] - 1_700_000_000).tolist() == [0, 10]


def test_a_long_record(tmp_path):
    path = made(tmp_path, "a.csv", "timestamp\n" + "\n".join(map(str, range(0, 200_000, 2))))
    assert import_trace(path)[0].size == 100_000


def test_the_command_writes_data_to_stdout_and_words_to_stderr(tmp_path):
    path = made(tmp_path, "a.csv", "30\n10\n20\n")
    done = CliRunner().invoke(trace_command, ["import", str(path)], catch_exceptions=False)
    assert done.stdout == "timestamp\n10\n20\n30\n"
    assert "sorted" in done.stderr
    out = tmp_path / "out.csv"
    done = CliRunner().invoke(trace_command, ["import", str(path), "-o", str(out)], catch_exceptions=False)
    assert done.stdout == ""
    assert out.read_text() == "timestamp\n10\n20\n30\n"
    with pytest.raises(ValueError, match="cannot be written"):
        CliRunner().invoke(
            trace_command, ["import", str(path), "-o", str(tmp_path / "no" / "out.csv")], catch_exceptions=False
        )
