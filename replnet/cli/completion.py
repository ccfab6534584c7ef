"""Names that a shell completes: networks, experiments, formulas, metrics, and files beside them.

The shell asks the command itself, after it was told so once: in bash by

    eval "$(_REPLNET_COMPLETE=bash_source replnet)"

and in zsh and fish with `zsh_source` and `fish_source`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click


def completing(*kinds: str, files: bool = False) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Names of these kinds that begin with what is there already, and files of the shell's own finding."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name) for kind in kinds for name in _names(kind) if name.startswith(begun)]
        return [*found, CompletionItem(begun, type="file")] if files else found

    return complete


def _names(kind: str) -> Iterable[str]:
    from replnet.text.documents import shipped_names

    if kind == "metrics":
        from replnet.measure.row import on_request

        return list(on_request())
    if kind == "formulas":
        from replnet.papers.formula import formulas

        return list(formulas())
    return shipped_names("topologies" if kind == "networks" else kind)
