"""Numba's `njit`, with a cache that no change of replnet can mislead.

Numba stores compiled functions by the file of each function. It does not notice that a function in
another file, which a kernel calls, has changed, and goes on running the old one; and if a type that a
kernel was called with has been renamed, it cannot read its own index any more. So the kernels of this
package are stored where Numba would store them, but in a folder named by the digest of all sources that
they depend on. Every part may import this module, and only this module imports Numba.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any, final

from llvmlite import ir
from numba import njit, types
from numba.core import caching, cgutils
from numba.extending import intrinsic

__all__ = ["njit", "prefetch"]

_tools: Any = cgutils  # which has no type annotations

PACKAGE = Path(__file__).parent
KERNEL_FOLDERS = ("laws", "processes", "measure", "engines")  # with kernels, and the types of their arguments


@cache
def _digest() -> str:
    """Return one digest, as 16 hexadecimal digits, of all sources with a kernel or the type of a kernel's argument."""
    digest = hashlib.sha256()
    for folder in KERNEL_FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            source = path.read_bytes()
            if b"njit" in source or b"NamedTuple" in source:
                digest.update(str(path.relative_to(PACKAGE)).encode() + source)
    return digest.hexdigest()[:16]


@final
class _CacheLocator:
    """An object that tells Numba the folder for a kernel's compiled code, named by the digest of the sources.

    `usual` is Numba's own locator, from which all else is taken.
    """

    def __init__(self, usual: Any) -> None:
        self._usual = usual
        self.get_source_stamp, self.get_disambiguator = usual.get_source_stamp, usual.get_disambiguator

    @classmethod
    def from_function(cls, function: Any, file: str) -> _CacheLocator | None:
        """Return the locator of `function`, which the source file at path `file` defines.

        Returns None for functions outside this package, and if none of Numba's locators finds a folder where it may
        write.
        """
        if not file.startswith(f"{PACKAGE}{os.sep}"):
            return None
        locators = (locator.from_function(function, file) for locator in _USUAL)
        return next((cls(usual) for usual in locators if usual is not None), None)

    def get_cache_path(self) -> str:
        """Return the path of the folder for compiled kernels, which may not exist yet."""
        return os.path.join(self._usual.get_cache_path(), f"replnet-{_digest()}")

    def ensure_cache_path(self) -> None:
        """Create the folder for compiled kernels, with the folders above it, unless it exists."""
        os.makedirs(self.get_cache_path(), exist_ok=True)


def cache_folder(module: str) -> str | None:
    """Return the path of the folder in which the compiled kernels of `module` are kept; None if none is writable.

    `module` is a path within this package, such as engines/array/passes.py. The folder may not exist yet.
    """
    file = str(PACKAGE / module)
    locator = _CacheLocator.from_function(cache_folder, file)
    return None if locator is None else locator.get_cache_path()


# Private to Numba, and differently named in its older versions. Without it, kernels are stored as Numba does it.
_LOCATORS: list[Any] = getattr(
    getattr(caching, "CacheImpl", None) or getattr(caching, "_CacheImpl", None), "_locator_classes", []
)
_USUAL = tuple(_LOCATORS)
_LOCATORS.insert(0, _CacheLocator)


@intrinsic  # type: ignore[misc]
def prefetch(context: Any, array: Any, index: Any) -> Any:
    """Load array[index] of a one-dimensional array into the CPU's cache, in compiled code that is to read it soon.

    Compiled code calls it as prefetch(array, index). It changes nothing and returns nothing, and an index beyond the
    array does no harm. Numba calls it with its typing `context` and the types of both, for the signature and the code
    generator.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        array_view = context.make_array(kind)(context, builder, arguments[0])
        place = _tools.get_item_pointer(context, builder, kind, array_view, [arguments[1]], wraparound=False)
        byte, word = _tools.voidptr_t, _tools.int32_t
        function = _tools.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0"
        )
        # To read, and to keep, as data.
        builder.call(function, [builder.bitcast(place, byte), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate
