"""Examples do what they show: those of docstrings, and what the README has in its blocks.

Its commands are run from outside, by tests/acceptance/test_documents.py.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from command_line import replnet

import replnet as rn

README = (Path(__file__).parents[1] / "README.md").read_text()
WITHOUT = {"InputError", "Law", "Network"}  # which are made by others
NAMES = [name for name in rn.__all__ if callable(getattr(rn, name)) and name not in WITHOUT]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where examples may leave files, and find some: a source that changes every 28 hours or so, and its downloads."""
    monkeypatch.chdir(tmp_path)
    for name, period in (("updates.csv", 100_000), ("downloads.csv", 60_000)):
        Path(name).write_text("time\n" + "".join(f"{period * i + 2000 * (i % 7)}\n" for i in range(300)))
    visits = (f"{t},source,{t // 10}\n{t},mirror,{(t - t % 4) // 10}\n" for t in range(600))
    Path("visits.csv").write_text("time,node,version\n" + "".join(visits))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_public_has_an_example_that_is_right(name):
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(rn, name), name, globs={"rn": rn})
    assert example.examples
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append)
    assert not said, "".join(said)


def blocks(fence: str = "") -> list[str]:
    """Indented ones, or those in a language."""
    if fence:
        return re.findall(rf"^```{fence}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return [
        re.sub(r"^    ", "", one, flags=re.MULTILINE) for one in re.findall(r"(?:^    .*\n)+", README, re.MULTILINE)
    ]


def test_the_first_table_is_what_the_first_command_prints():
    (shown,) = (one for one in blocks() if one.startswith("group    metric     measured") and "level 4" in one)
    printed = replnet("run", "cascade").stdout
    assert printed.splitlines()[:-1] == [line.rstrip() for line in shown.splitlines()[:-1]]
    assert printed.partition("replications")[0].split() == shown.partition("replications")[0].split()


@pytest.mark.parametrize("block", blocks("python"))
def test_programs_run(block):
    exec(compile(block, "README.md", "exec"), {"rn": rn})


def test_files_are_right():
    files = [block for block in blocks() if re.match(r"kind:|title:", block)]
    assert len(files) == 2
    for at, block in enumerate(files):
        Path(f"{at}.yaml").write_text(re.split(r"\n\n(?=group)", block)[0])
        done = replnet("check", f"{at}.yaml")
        assert done.returncode == 0, done.stderr
