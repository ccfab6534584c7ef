"""Names of files in a document, made absolute, so that it means the same wherever it is kept."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from replnet.network.files import Node, mapped

# The file of trace(...), which is its first argument unless it is named.
TRACE = re.compile(
    r"""(\btrace\s*\(\s*(?:file\s*=\s*)?|\bfile\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,()\[\]="']++(?!\s*=))"""
)


def anchored(root: Node, folder: Path, at: tuple[str | int, ...] = ()) -> Node:
    """`root`, which is found at `at` in its document, with names of files that count from `folder`."""

    def absolute(found: re.Match[str]) -> str:
        name = found[2] if found[2][0] not in "\"'" else re.sub(r"\\(.)", r"\1", found[2][1:-1])
        quoted = str((folder / name).resolve()).replace("\\", "\\\\").replace('"', '\\"')
        return f'{found[1]}"{quoted}"'

    def change(node: Node, path: tuple[str | int, ...]) -> Node:
        if not isinstance(node.value, str):
            return node
        if path[-2:] == ("trace", "file") or (*at, *path) == ("network", "file"):
            return replace(node, value=str((folder / node.value).resolve()))
        return replace(node, value=TRACE.sub(absolute, node.value)) if "trace" in node.value else node

    return mapped(root, change)
