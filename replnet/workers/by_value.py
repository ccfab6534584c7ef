"""Pickles that any process can read: they hold objects as they are in memory here, not names for another to import.

A class of replnet, of Python or of an installed library is the same in every process, so its name will do. One of a
program, a notebook or a module that was loaded again is not: a process that imports it by name gets what is in the file
now, or nothing. So the code of these goes along.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
import sysconfig
import threading
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, final

from cloudpickle import Pickler, list_registry_pickle_by_value, register_pickle_by_value, unregister_pickle_by_value

LIBRARIES = ("site-packages", "dist-packages")  # folders in which installers put what all processes share
_registering = threading.Lock()  # what is registered counts for all threads


@final
class CannotTravelError(Exception):
    """An error for an object that no other process could read."""


def dumps(thing: Any) -> bytes:
    """Return `thing` as the bytes of a pickle that any process with replnet and the installed libraries can read.

    It has the code of the program's own modules. Raises CannotTravelError if `thing` cannot be pickled.
    """
    buffer = io.BytesIO()
    try:
        _ByValuePickler(buffer, pickle.HIGHEST_PROTOCOL).dump(thing)
    except Exception as error:  # whatever a class of others does when it is pickled
        raise CannotTravelError(f"{type(error).__name__}: {error}") from error
    return buffer.getvalue()


@final
class _ByValuePickler(Pickler):  # type: ignore[misc]
    """A pickler that takes along the code of the user's program, which workers cannot import.

    That is all of its modules, but not replnet, Python's own modules and installed libraries.
    """

    def reducer_override(self, thing: Any) -> Any:
        """Return how to pickle an object: with its code if it is a class or a function of the program's own modules.

        The answer is as pickle wants it: the function that rebuilds the object and its arguments, or NotImplemented for
        the usual way.
        """
        if not isinstance(thing, type | FunctionType | functools._lru_cache_wrapper):
            return super().reducer_override(thing)
        module = sys.modules.get(thing.__module__)
        if module is None or not _is_own(module) or module.__name__ in list_registry_pickle_by_value():
            return super().reducer_override(thing)
        if isinstance(thing, functools._lru_cache_wrapper):
            return _with_cache, (thing.__wrapped__, thing.cache_parameters())
        with _registering:
            register_pickle_by_value(module)
            try:
                return super().reducer_override(thing)
            finally:
                unregister_pickle_by_value(module)


def _with_cache(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    """Return `function` with a cache of its results, for which functools.lru_cache takes these parameters."""
    return functools.lru_cache(**parameters)(function)


def _is_own(module: Any) -> bool:
    """Whether a module is of the program itself: neither replnet's nor Python's nor an installed library's."""
    if type(module) is not ModuleType or sys.modules.get(module.__name__) is not module:
        return False
    if module.__name__.partition(".")[0] in ("replnet", *sys.stdlib_module_names):
        return False
    file = getattr(module, "__file__", None) or ""
    return not any(part in file for part in LIBRARIES) and not file.startswith(_standard_library())


@functools.cache
def _standard_library() -> tuple[str, ...]:
    """Return the paths of the folders that Python's own modules are in."""
    paths = sysconfig.get_paths()
    return tuple(paths[name] for name in ("stdlib", "platstdlib"))
