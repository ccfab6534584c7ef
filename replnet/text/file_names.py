"""Names of files in a document, made absolute, so that it means the same wherever it is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from replnet.text.checks import FieldError
from replnet.text.documents import Node, mapped
from replnet.text.grammar import LAW, parse


def anchored(root: Node, folder: Path, at: tuple[str | int, ...] = ()) -> Node:
    """`root`, which is found at `at` in its document, with names of files that count from `folder`."""

    def change(node: Node, path: tuple[str | int, ...]) -> Node:
        if not isinstance(node.value, str):
            return node
        if path[-2:] == ("trace", "file") or (*at, *path) == ("network", "file"):
            return replace(node, value=str((folder / node.value).resolve()))
        return replace(node, value=_absolute(node.value, folder)) if "trace" in node.value.lower() else node

    return mapped(root, change)


def _absolute(text: str, folder: Path) -> str:
    """The text of a law with the files of its traces made absolute."""
    try:
        tree = parse(text, LAW)
    except FieldError:  # said where the law is read
        return text
    for call in reversed(list(tree.walk())):  # from the end, so that places before stay as they are
        if call.kind == "call" and call.value.lower() == "trace" and call.parts:
            # It is named, or the first argument.
            file = next(
                (part.parts[0] for part in call.parts if (part.kind, part.value) == ("named", "file")), call.parts[0]
            )
            if file.kind in ("name", "text"):
                quoted = str((folder / file.value).resolve()).replace("\\", "\\\\").replace('"', '\\"')
                text = f'{text[: file.begin]}"{quoted}"{text[file.end :]}'
    return text
