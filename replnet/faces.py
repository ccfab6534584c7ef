"""Faces: the names that a folder offers to other folders, loaded when they are first asked for.

A face is written as imports that only type checkers and readers follow:

    if TYPE_CHECKING:
        from replnet.laws.families import Constant, Exponential
    else:
        __all__, __dir__, __getattr__ = open_face(__name__)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, final

_IMPORTS = re.compile(r"^    from (replnet[\w.]*) import (?:\(([^)]*)\)|(.+))", re.MULTILINE)


@final
class _Face(ModuleType):
    """A folder of which a name means what its face says, also if one of its modules has the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in self.__all__):
            super().__setattr__(name, value)


def open_face(folder: str) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return the names of a folder's face, and the functions that list and load them (PEP 562).

    A name that is imported from the folder itself is one of its modules.
    """
    module = sys.modules[folder]
    assert module.__spec__ is not None
    source = module.__spec__.loader.get_source(folder)  # type: ignore[union-attr]
    homes = {
        name: home
        for home, in_lines, in_line in _IMPORTS.findall(source)
        for name in re.findall(r"\w+", in_lines or in_line)
    }

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in homes:
            raise AttributeError(f"module {folder!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == folder else getattr(import_module(home), name)
        module.__dict__[name] = value
        return value

    module.__class__ = _Face
    return sorted(homes), lambda: sorted(homes), __getattr__
