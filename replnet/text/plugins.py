"""Additions of other packages under entry points, and why some of them could not be loaded."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from importlib import metadata
from typing import Any

from replnet.text.errors import FieldError


def load_plugins(
    group: str, registry: MutableMapping[str, Any], mark: str, examine: Callable[[Any], object] = lambda one: None
) -> dict[str, str]:
    """Load the entry points of a group, each of which is to enter one addition into `registry` under its own name.

    Its module does so with the decorator @`mark`. Returns, by the name of each entry point that is then not in
    `registry`, the reason; one that fails keeps no other from being loaded. `examine` is called with each addition, and
    raises if it cannot be used, which removes it.
    """
    failures: dict[str, str] = {}
    before = set(registry)
    for point in metadata.entry_points(group=group):
        loaded = False
        try:
            point.load()
            loaded = True
            if point.name not in registry:
                failures[point.name] = f"{point.value} is not marked @{mark}({point.name!r}, ...)"
            else:
                examine(registry[point.name])
        except Exception as error:  # whatever a stranger's module raises
            fault = str(error) if isinstance(error, FieldError) else f"{type(error).__name__}: {error}"
            failures[point.name] = f"{point.value} does not load: {fault}"
            if loaded or point.name not in before:  # else it is the name of what another has made known
                registry.pop(point.name, None)
    return failures
