"""When the commits of a git repository changed a path, without running anything that the repository names.

The configuration of a repository, which nobody vouches for, can name programs that git starts: a transport that
fetches what a partial clone lacks, a monitor of its files, a checker of signatures, a filter of differences. So git
reads the commits from an empty repository of our own, which borrows nothing but the other's objects. There it knows
of no remote that could be asked for a missing object either, in versions that do not know GIT_NO_LAZY_FETCH yet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from replnet.text import FieldError

VARIABLES_KEPT = ("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")  # from the caller's environment
SAFE_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",  # none
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}
NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
INCOMPLETE_MESSAGES = ("bad object", "bad tree object", "unable to read", "could not read", "failed to traverse")


def commit_times(repository: Path, path: str) -> list[int]:
    """Return the committer dates of the commits that changed `path`, in seconds since 1970, latest first.

    They are those on the branch that is checked out; a side branch counts once, when it was merged. Raises a FieldError
    if git fails, or if the repository has no commits or lacks objects.
    """
    # Git starts no program for these two questions, and reads no object.
    answer = _git(
        repository, {}, "rev-parse", "--path-format=absolute", "--show-object-format",
        "--git-path", "objects", "--git-path", "shallow", "--show-cdup",
    )  # fmt: skip
    form, objects, shallow, *up = answer.removesuffix("\n").split("\n")
    if len(up) > 1:
        raise FieldError(str(repository), "lies in a folder whose name has a line break", "a folder with a plain name")
    head = _git(repository, {}, "rev-parse", "--quiet", "--verify", "HEAD", silent="does not have any commits")
    with TemporaryDirectory(prefix="replnet-git-") as scratch:
        empty = Path(scratch) / "empty.git"
        _git(repository, NO_CONFIGURATION, "init", "-q", "--bare", "--template=", f"--object-format={form}", str(empty))
        if Path(shallow).is_file():
            # Where a shallow clone ends, its first commit is one that has no parents.
            shutil.copyfile(shallow, empty / "shallow")
        top = repository.joinpath(*up).resolve()  # of the work tree, or the folder itself where there is none
        ours = {"GIT_DIR": str(empty), "GIT_WORK_TREE": str(top), "GIT_OBJECT_DIRECTORY": objects}
        log = _git(
            repository, NO_CONFIGURATION | ours, "--literal-pathspecs", "log", "--first-parent", "--format=%ct",
            "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap", head.strip(), "--", path,
        )  # fmt: skip
    return [int(stamp) for stamp in log.split()]


def _git(repository: Path, variables: dict[str, str], *arguments: str, silent: str = "") -> str:
    """Run git in a repository with these arguments, and return what it prints.

    `variables` are added to its environment. Raise a FieldError if git fails or is not installed, with `silent` as the
    reason if git gives none.
    """
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in VARIABLES_KEPT
    }
    command = ["git", "-C", str(repository), "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", *arguments]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
            env={**environment, **SAFE_ENVIRONMENT, **variables},
        )  # fmt: skip
    except FileNotFoundError:
        raise FieldError(str(repository), "git is not installed", "git on the PATH") from None
    if run.returncode:
        wrong = (run.stderr.strip().splitlines() or [silent or f"git ended with {run.returncode}"])[0]
        wrong, right = wrong.removeprefix("fatal: ").removeprefix("error: "), "a git repository with commits"
        if any(words in wrong.lower() for words in INCOMPLETE_MESSAGES):
            wrong = f"lacks objects that its commits name: {wrong}"
            right = (
                "a complete clone: nothing is fetched for one that is partial, which `git fetch --refetch` makes whole"
            )
        raise FieldError(str(repository), wrong, right)
    return run.stdout
