"""When paths in git repositories changed, hostile repositories among them."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import programs
import pytest
from command_line import replnet

import replnet as rn
from replnet.histories.trace_import import import_trace


def git(folder, *arguments, at=0):
    stamp = f"{1_700_000_000 + at} +0200"
    hidden = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    dates = {"GIT_AUTHOR_DATE": "1600000000 +0000", "GIT_COMMITTER_DATE": stamp}
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *who, *arguments]
    programs.run(command, check=True, env={**os.environ, **hidden, **dates})


def commit(folder, name, content, at):
    (folder / name).write_text(content)
    git(folder, "add", "--", name)
    git(folder, "commit", "-m", "x", at=at)


def seconds(folder, path):
    """Seconds from the first commit of all to those that changed a path."""
    return (import_trace(folder, path=path)[0] - 1_700_000_000).tolist()


@pytest.mark.parametrize("objects", ["sha1", "sha256"])
def test_the_history_of_a_path(tmp_path, objects):
    """Commits that changed it, at the time they came to the branch: a side branch counts once, when merged."""
    git(tmp_path, "init", "-b", "main", f"--object-format={objects}")
    commit(tmp_path, "list.dat", "1", 0)
    commit(tmp_path, "other.dat", "1", 10)
    commit(tmp_path, "list.dat", "2", 20)
    git(tmp_path, "checkout", "-b", "side")
    commit(tmp_path, "list.dat", "3", 30)
    commit(tmp_path, "list.dat", "4", 40)
    git(tmp_path, "checkout", "main")
    commit(tmp_path, "other.dat", "2", 50)
    git(tmp_path, "merge", "--no-ff", "side", "-m", "merge", at=60)
    assert seconds(tmp_path, "list.dat") == [0, 20, 60]
    for path in ("nothing.dat", "*.dat"):
        with pytest.raises(ValueError, match="no commit changed"):
            import_trace(tmp_path, path=path)


def test_no_repository(tmp_path, monkeypatch):
    def refused(path, message):
        with pytest.raises(ValueError, match=message):
            import_trace(tmp_path, path=path)

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    refused("a", "not a git repository")
    git(tmp_path, "init", "-b", "main")
    refused("a", "does not have any commits")
    commit(tmp_path, "a", "1", 0)
    refused("/etc/passwd", "outside repository")
    refused("a\0b", "is not a path")
    monkeypatch.setenv("PATH", str(tmp_path))
    refused("a", "git is not installed")


def test_a_folder_whose_name_has_a_line_break(tmp_path):
    folder = tmp_path / "a\nb" / "sub"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "-b", "main")
    with pytest.raises(ValueError, match="whose name has a line break"):
        import_trace(folder, path="a")


def hostile(tmp_path, url):
    """A repository of two commits whose configuration names programs wherever it can; and the file they would make."""
    folder, ran, hooks = tmp_path / "work", tmp_path / "RAN", tmp_path / "hooks"
    folder.mkdir()
    hooks.mkdir()
    git(folder, "init", "-b", "main")
    commit(folder, ".gitattributes", "* diff=x filter=x", 0)
    commit(folder, "list.dat", "1", 10)
    commit(folder, "list.dat", "2", 20)
    head = programs.run(["git", "-C", folder, "cat-file", "commit", "HEAD"], check=True).stdout
    signed = head.replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n", 1)
    store = ["git", "-C", folder, "hash-object", "-t", "commit", "-w", "--stdin"]
    name = programs.run(store, check=True, input=signed).stdout.strip()
    git(folder, "reset", "--hard", name)
    (hooks / "more").write_text(f"[core]\n    fsmonitor = touch {ran}\n")
    (hooks / "attributes").write_text("* diff=x\n")
    for hook in ("post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / hook).chmod(0o755)
    with (folder / ".git" / "config").open("a") as file:
        file.write(Path(__file__).with_name("hostile.gitconfig").read_text().format(ran=ran, hooks=hooks, url=url))
    return folder, ran


def without(folder, revision):
    """As if the object had been left out of a partial clone."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", f"--git-dir={folder}/.git", "rev-parse", revision]
    name = programs.run(command, check=True, env=environment).stdout.strip()
    (folder / ".git" / "objects" / name[:2] / name[2:]).unlink()


@pytest.mark.parametrize("url", ["ext::touch {ran}", "ssh://host/x", "file:///x", "git://host/x"])
@pytest.mark.parametrize("missing", ["", "HEAD~1^{tree}", "HEAD~1", "HEAD"])
def test_a_hostile_repository_runs_nothing(tmp_path, url, missing):
    folder, ran = hostile(tmp_path, url.format(ran=tmp_path / "RAN"))
    if missing:
        without(folder, missing)
        words = rf"^{folder}: lacks objects that its commits name: .* \(a complete clone: nothing is fetched"
        with pytest.raises(ValueError, match=words):
            import_trace(folder, path="list.dat")
    else:
        assert seconds(folder, "list.dat") == [10, 20]
    assert not ran.exists()


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
        assert seconds(folder, path) == times, folder


def built(stamp, body):
    """The text of a list that is made from another, with the instant at which that was taken."""
    return f"! Last modified: {stamp}\n{body}\n"


COPIED = (0, 2, 3, 7, 9)  # of the versions 0 to 9 that a source has from 0, 100, ..., 900 on, each 30 s later
HELD = list(zip(COPIED, [100 * number + 30 for number in COPIED], [230, 330, 730, 930], strict=False))


@pytest.fixture
def repositories(tmp_path):
    """A source that changes a list every 100 s, and back in the end, and a replica that copies some of its versions."""
    source, replica = tmp_path / "source", tmp_path / "mirror"
    for folder in (source, replica):
        folder.mkdir()
        git(folder, "init", "-b", "main")
    for number in range(11):
        commit(source, "list.txt", f"{number % 10}", 100 * number)
    for number in COPIED:
        commit(replica, "copy.txt", f"{number}", 100 * number + 30)
    commit(replica, "copy.txt", "patched here", 950)
    for number in COPIED:
        instant = datetime.fromtimestamp(1_700_000_000 + 100 * number + 20, UTC)
        commit(replica, "built.txt", built(f"{instant:%a, %d %b %Y %H:%M:%S GMT}", number), 100 * number + 30)
    return f"{source}:list.txt", str(replica)


def test_a_repository_beside_the_one_that_it_copies(repositories):
    """Of five pulls the content says what they brought, the sixth brought nothing of the source."""
    source, replica = repositories
    result = rn.observe([f"{replica}:copy.txt"], source)
    assert result.visits == {"source": 9, "mirror": 5}
    assert result.notes == ("mirror: 1 of 6 commits are left out, as they brought nothing that the source had",)
    table = {row["metric"]: [row[column] for column in ("measured", "least", "most")] for row in result.rows}
    behind = sum(t // 100 - number for number, begin, end in HELD for t in range(begin, end, 10))
    assert table["freshness"] == pytest.approx([4 * 70 / 900] * 3)
    assert table["missing_updates"] == pytest.approx([behind * 10 / 900] * 3)


def test_repositories_on_the_command_line(repositories):
    source, replica = repositories
    done = replnet("observe", "--source", source, "--replica", f"{replica}:copy.txt", "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("mirror,freshness,0.3111")
    without = replnet("observe", "--replica", f"{replica}:copy.txt")
    assert (without.returncode, without.stderr.count("--source REPOSITORY:PATH")) == (2, 1)


def test_a_stamp_in_a_copy_says_what_it_is_made_of(repositories):
    source, replica = repositories
    result = rn.observe(f"{replica}:built.txt", source, left="^! Last modified: (.*)$")
    table = {row["metric"]: [row[column] for column in ("measured", "least", "most")] for row in result.rows}
    age = sum((end - begin) * ((begin + end) / 2 - 100 * number - 20) for number, begin, end in HELD) / 900
    assert table["freshness"] == pytest.approx([4 * 70 / 900] * 3)
    assert table["information_age"] == pytest.approx([age] * 3)


@pytest.mark.parametrize(
    ("replica", "how", "message"),
    [
        ("list.txt", {}, "names no git repository (REPOSITORY:PATH"),
        ("MIRROR:none.txt", {}, "no commit changed it"),
        ("MIRROR:built.txt", {}, "never has a file that the source had (--left 'REGEX'"),
        ("MIRROR:copy.txt", {"left": "stamp: (.*)"}, "has no file in which 'stamp: (.*)' finds something"),
        ("MIRROR:copy.txt", {"left": "stamp"}, "left: 'stamp' has 0 groups"),
        ("MIRROR:copy.txt", {"left": "("}, "left: '(': missing ), unterminated subpattern"),
        ("MIRROR:copy.txt\n", {}, "has a line break"),
    ],
)
def test_repositories_that_do_not_fit_are_refused(repositories, replica, how, message):
    source, folder = repositories
    with pytest.raises(ValueError, match=re.escape(message)):
        rn.observe(replica.replace("MIRROR", folder), source, **how)
