"""Tables of errors: files `errors.yaml` beside the tests, each case with an input and the whole message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML


def read_table(test: str, name: str = "errors.yaml") -> Any:
    """Return the data of the file with this name that stands beside a test, whose own path is `test`."""
    return YAML(typ="safe").load(Path(test).with_name(name))


def by_message(cases: list[dict[str, Any]]) -> list[Any]:
    """Return the cases of a table as parameters of a test, each known by the beginning of its message."""
    return [pytest.param(case, id=case["message"].partition("\n")[0][:60]) for case in cases]


def without_excerpts(message: str) -> str:
    """Return what is said of a file without the lines of the file that are shown below it."""
    return "\n".join(line for line in message.splitlines() if not line.startswith("    "))


def write_files(case: dict[str, Any]) -> None:
    """Write the files of a case, texts by name, to the working directory."""
    for name, text in case.get("files", {}).items():
        Path(name).write_text(text)


def message_of(read: Callable[..., object], *arguments: Any) -> str:
    """Return what a call says that is refused; fail if it is not."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the whole message is compared
        read(*arguments)
    return str(caught.value).removeprefix(": ")
