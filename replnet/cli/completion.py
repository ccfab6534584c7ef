"""Names that a shell completes: networks, experiments, formulas, metrics, and files beside them.

The shell asks the command itself, after it was told so once: in bash by

    eval "$(_REPLNET_COMPLETE=bash_source replnet)"

and in zsh and fish with `zsh_source` and `fish_source`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click


def name_completer(*kinds: str, files: bool = False) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Return a function for click that completes a name: it lists the names that begin with the letters typed so far.

    They are of these kinds: metrics, formulas, networks or experiments. With `files`, the shell offers its files as
    well.
    """

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[Any]:
        """Return the completions of `typed`, the letters typed so far; only click needs `context` and `parameter`."""
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name) for kind in kinds for name in _names(kind) if name.startswith(typed)]
        return [*items, CompletionItem(typed, type="file")] if files else items

    return complete


def _names(kind: str) -> Iterable[str]:
    """Return all names of a kind: metrics, formulas, networks or experiments."""
    from replnet.text import shipped_names

    if kind == "metrics":
        from replnet.measure import metrics_on_request

        return list(metrics_on_request())
    if kind == "formulas":
        from replnet.lab import formulas

        return list(formulas())
    return shipped_names("topologies" if kind == "networks" else kind)
