"""When the commits of a git repository changed a path, and to what, without running anything that the repository names.

The configuration of a repository, which nobody vouches for, can name programs that git starts: a transport that
fetches what a partial clone lacks, a monitor of its files, a checker of signatures, a filter of differences. So git
reads the commits from an empty repository of our own, which borrows nothing but the other's objects. There it knows
of no remote that could be asked for a missing object either, in versions that do not know GIT_NO_LAZY_FETCH yet.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, NamedTuple, final

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
STAMP_BYTES = 1 << 20  # of a file in which a stamp is looked for
INCOMPLETE_MESSAGES = ("bad object", "bad tree object", "unable to read", "could not read", "failed to traverse")


@final
class PathChange(NamedTuple):
    """A commit that changed a path: when (seconds since 1970), to which object, and the text that was looked for in it.

    The object, by its id, is empty where the path was removed. The text is None if nothing was looked for, or found.
    """

    time: int
    content: str
    stamp: str | None


def commit_times(repository: Path, path: str) -> list[int]:
    """Return the committer dates of the commits that changed `path`, in seconds since 1970, latest first.

    They are those on the branch that is checked out; a side branch counts once, when it was merged. Raises a FieldError
    if git fails, or if the repository has no commits or lacks objects.
    """
    with _borrowed_objects(repository) as (head, environment):
        return [int(line.split()[0]) for line in _log(repository, environment, head, path)]


def path_changes(repository: Path, path: str, stamp: re.Pattern[str] | None = None) -> list[PathChange]:
    """Return the commits that changed `path`, as `commit_times` does, from the first to the last, with its contents.

    `stamp` has one group, which is looked for in the first megabyte of a file. Raises a FieldError as `commit_times`
    does, and if the path has a line break.
    """
    if "\n" in path:
        raise FieldError(str(repository), f"{path!r} has a line break", "a path without one")
    with _borrowed_objects(repository) as (head, environment), TemporaryFile() as wanted:
        commits = [line.split() for line in reversed(_log(repository, environment, head, path))]
        wanted.writelines(f"{commit}:./{path}\n".encode() for _, commit in commits)
        wanted.seek(0)
        contents = list(_contents(repository, environment, wanted, stamp))
    return [PathChange(int(time), *content) for (time, _), content in zip(commits, contents, strict=True)]


def _log(repository: Path, environment: dict[str, str], head: str, path: str) -> list[str]:
    """Return a line "TIME ID" for each commit up to `head` that changed `path`, latest first, in seconds since 1970.

    `environment` has the variables with which git reads no more than objects. Raise a FieldError if git fails.
    """
    log = _git(
        repository, environment, "--literal-pathspecs", "log", "--first-parent", "--format=%ct %H",
        "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap", head, "--", path,
    )  # fmt: skip
    return log.splitlines()


def _contents(
    repository: Path, environment: dict[str, str], wanted: IO[bytes], stamp: re.Pattern[str] | None
) -> Iterator[tuple[str, str | None]]:
    """Yield the id of each object that `wanted` names on a line, "" if there is none, and what `stamp` finds in it.

    The latter is None if there is no stamp, or it finds nothing. One object is in memory at a time. `environment` is
    that of git. Raise a FieldError if git cannot read its objects.
    """
    how = "--batch" if stamp is not None else "--batch-check"
    with subprocess.Popen(
        _command(repository, "cat-file", how), stdin=wanted, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=_environment(environment),
    ) as program:  # fmt: skip
        assert program.stdout is not None
        for line in program.stdout:
            words = line.decode("utf-8", "replace").rstrip("\n").rsplit(" ", 2)
            if len(words) < 3 or not words[2].isdigit():  # "NAME missing"
                yield "", None
                continue
            text = None
            if stamp is not None:
                left = int(words[2]) + 1  # with the line break that follows
                body = program.stdout.read(min(left, STAMP_BYTES))
                while (left := left - STAMP_BYTES) > 0:
                    program.stdout.read(min(left, STAMP_BYTES))
                match = stamp.search(body.decode("utf-8", "replace"))
                text = match.group(1) if match else None
            yield words[0], text
    if program.returncode:
        wrong = f"git cannot read its objects (it ended with {program.returncode})"
        raise FieldError(str(repository), wrong, "a complete clone")


@contextmanager
def _borrowed_objects(repository: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the commit that a repository has checked out, and the environment in which git reads no more than objects.

    In it, git works on an empty repository that borrows the objects. Raise a FieldError if git fails, or if the
    repository has no commits.
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
        yield head.strip(), NO_CONFIGURATION | ours


def _environment(variables: dict[str, str]) -> dict[str, str]:
    """Return the environment in which git is started: the caller's without what steers git, and these `variables`."""
    callers = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in VARIABLES_KEPT}
    return {**callers, **SAFE_ENVIRONMENT, **variables}


def _command(repository: Path, *arguments: str) -> list[str]:
    """Return the command that runs git in a repository with these arguments, and without monitors and protocols."""
    return ["git", "-C", str(repository), "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", *arguments]


def _git(repository: Path, variables: dict[str, str], *arguments: str, silent: str = "") -> str:
    """Run git in a repository with these arguments, and return what it prints.

    `variables` are added to its environment. Raise a FieldError if git fails or is not installed, with `silent` as the
    reason if git gives none.
    """
    try:
        run = subprocess.run(
            _command(repository, *arguments), capture_output=True, text=True, errors="replace", check=False,
            stdin=subprocess.DEVNULL, env=_environment(variables),
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
