"""When a path in a git repository changed, from repositories that nobody vouches for.

The configuration of a repository can name programs that git starts: a transport that fetches what a
partial clone lacks, a monitor of its files, a checker of signatures, a filter of differences. So git
reads the commits from an empty repository of our own, which borrows nothing but the other's objects.
There it knows of no remote that could be asked for a missing object either, in versions that do not
know GIT_NO_LAZY_FETCH yet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from replnet.text.errors import FieldError

KEPT = ("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")  # of the caller's environment
HARMLESS = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",  # none
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}
UNCONFIGURED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
INCOMPLETE = ("bad object", "bad tree object", "unable to read", "could not read", "failed to traverse")


def commit_times(repository: Path, path: str) -> list[int]:
    """Committer dates of what changed `path` on the branch that is checked out, in seconds since 1970, latest first.

    A side branch counts once, when it was merged.
    """
    # Git starts no program for these two questions, and reads no object.
    where = _git(
        repository, {}, "rev-parse", "--path-format=absolute", "--show-object-format",
        "--git-path", "objects", "--git-path", "shallow", "--show-cdup",
    )  # fmt: skip
    form, objects, shallow, *up = where.removesuffix("\n").split("\n")
    if len(up) > 1:
        raise FieldError(str(repository), "lies in a folder whose name has a line break", "a folder with a plain name")
    head = _git(repository, {}, "rev-parse", "--quiet", "--verify", "HEAD", silent="does not have any commits")
    with TemporaryDirectory(prefix="replnet-git-") as scratch:
        own = Path(scratch) / "empty.git"
        _git(repository, UNCONFIGURED, "init", "-q", "--bare", "--template=", f"--object-format={form}", str(own))
        if Path(shallow).is_file():
            # Where a shallow clone ends, its first commit is one that has no parents.
            shutil.copyfile(shallow, own / "shallow")
        top = repository.joinpath(*up).resolve()  # of the work tree, or the folder itself where there is none
        ours = {"GIT_DIR": str(own), "GIT_WORK_TREE": str(top), "GIT_OBJECT_DIRECTORY": objects}
        said = _git(
            repository, UNCONFIGURED | ours, "--literal-pathspecs", "log", "--first-parent", "--format=%ct",
            "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap", head.strip(), "--", path,
        )  # fmt: skip
    return [int(stamp) for stamp in said.split()]


def _git(repository: Path, more: dict[str, str], *arguments: str, silent: str = "") -> str:
    """What git prints; `silent` says what is wrong where it fails without a word."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in KEPT}
    command = ["git", "-C", str(repository), "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", *arguments]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
            env={**kept, **HARMLESS, **more},
        )  # fmt: skip
    except FileNotFoundError:
        raise FieldError(str(repository), "git is not installed", "git on the PATH") from None
    if run.returncode:
        said = (run.stderr.strip().splitlines() or [silent or f"git ended with {run.returncode}"])[0]
        said, right = said.removeprefix("fatal: ").removeprefix("error: "), "a git repository with commits"
        if any(words in said.lower() for words in INCOMPLETE):
            said = f"lacks objects that its commits name: {said}"
            right = (
                "a complete clone: nothing is fetched for one that is partial, which `git fetch --refetch` makes whole"
            )
        raise FieldError(str(repository), said, right)
    return run.stdout
