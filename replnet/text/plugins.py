"""What other packages add under entry points, told apart from what they fail to add."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from importlib import metadata
from typing import Any

from replnet.text.errors import FieldError


def load_plugins(
    group: str, known: MutableMapping[str, Any], mark: str, examine: Callable[[Any], object] = lambda one: None
) -> dict[str, str]:
    """Load the entry points of a group, whose modules enter what they mark with @`mark` into `known`.

    Returns, by name, why one of them is not known, which hinders none of the others. `examine` raises for what cannot
    be used.
    """
    wrong: dict[str, str] = {}
    before = set(known)
    for point in metadata.entry_points(group=group):
        loaded = False
        try:
            point.load()
            loaded = True
            if point.name not in known:
                wrong[point.name] = f"{point.value} is not marked @{mark}({point.name!r}, ...)"
            else:
                examine(known[point.name])
        except Exception as error:  # whatever a stranger's module raises
            said = str(error) if isinstance(error, FieldError) else f"{type(error).__name__}: {error}"
            wrong[point.name] = f"{point.value} does not load: {said}"
            if loaded or point.name not in before:  # else it is the name of what another has made known
                known.pop(point.name, None)
    return wrong
