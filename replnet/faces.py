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
    """A package whose names mean what its face says, even if one of its modules has the same name.

    Python sets a module that is imported as an attribute of its package; that is ignored if the face has the name.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in self.__all__):
            super().__setattr__(name, value)


def open_face(folder: str) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return a package's `__all__` (its names, sorted), `__dir__`, and `__getattr__`, which loads a name (PEP 562).

    `folder` is the package's name, such as replnet.laws. Its names are read from the indented lines `from replnet...
    import ...` of its source. A name that is imported from the package itself is one of its modules.
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
