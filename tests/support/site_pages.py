"""Pages of the site whose blocks are run: Python, YAML files and commands, one after another in a folder of the page.

A block of `python` is executed, in one namespace per page. A block of `yaml` passes `replnet check`; if its first line
is a comment with the name of a file, it is written there, as is a block of `csv`. In a block of `console` a line that
begins with `$ ` is a command, and what follows is what it prints: a line `...` stands for any lines, and a number
behind ~ for any number.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from command_line import replnet

SITE = Path(__file__).parents[2] / ".docs"
PAGES = SITE / "pages"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?"
SECONDS = re.compile(rf"(?<![\w~.]){NUMBER}(?= (?:s|ms|MB|GB)\b)")
GAP = "..."


@dataclass(frozen=True)
class Call:
    """A command as it stands on a page, and what the page says that it prints."""

    command: str
    shown: str


def names() -> list[str]:
    """Return the names of all pages, such as `how-to/mirrors.md`."""
    return sorted(str(path.relative_to(PAGES)) for path in PAGES.rglob("*.md"))


def calls(block: str) -> list[Call]:
    """Return the commands of a block of `console`, with what is shown below each."""
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", block, flags=re.MULTILINE)
    assert not parts[0], f"a console block begins with a command: {parts[0]!r}"
    return [Call(command, shown) for command, shown in zip(parts[1::2], parts[2::2], strict=True)]


def output(command: str) -> str:
    """Run a command of replnet in this process and return what it prints; on stderr, if nothing comes on stdout."""
    program, *words = shlex.split(command.replace("\\\n", ""))
    assert program == "replnet", command
    done = replnet(*words)
    return "".join(f"{line.rstrip()}\n" for line in (done.stdout or done.stderr).splitlines())


def matches(shown: str, printed: str) -> bool:
    """Whether a command printed what the page shows."""
    lines = (
        r"(?:.*\n)*?" if line == GAP else NUMBER.join(map(re.escape, re.split(f"~{NUMBER}", line))) + r"\n"
        for line in shown.splitlines()
    )
    return re.fullmatch("".join(lines), printed) is not None


def abridged(shown: str, printed: str) -> str:
    """Return what a command printed, with as many lines left out as the page leaves out, and its times marked."""
    lines = SECONDS.sub(lambda number: "~" + number.group(), printed).splitlines()
    if GAP in (old := shown.splitlines()):
        head, tail = old.index(GAP), len(old) - old.index(GAP) - 1
        lines = [*lines[:head], GAP, *lines[len(lines) - tail :]]
    return "".join(f"{line}\n" for line in lines)


def write_file(block: str) -> Path:
    """Write a block of YAML or CSV to the file that its first line names, or to one that no other block has."""
    named = re.match(r"# (\S+\.(?:yaml|csv))\n", block)
    path = Path(named.group(1) if named else "page.yaml")
    path.write_text(block)
    return path
