"""Numba's `njit`, with a cache that no change of replnet can mislead.

Numba keeps what it has compiled by the file of each function. It does not see that
a function of another file, which a kernel calls, has changed, and goes on running the
old one; and where a type that a kernel was called with has another name since, it
cannot read its own notes any more. So the kernels of this package are kept where Numba
would keep them, but in a folder named by the digest of all sources that they depend on.
Every part may import this, and only this imports Numba.
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

_tools: Any = cgutils  # which says nothing of its types

PACKAGE = Path(__file__).parent
PARTS = ("laws", "measure", "engines")  # where kernels are, and the types that they are called with


@cache
def _digest() -> str:
    """Of every source with a kernel or a type of one."""
    found = hashlib.sha256()
    for part in PARTS:
        for path in sorted((PACKAGE / part).rglob("*.py")):
            source = path.read_bytes()
            if b"njit" in source or b"NamedTuple" in source:
                found.update(str(path.relative_to(PACKAGE)).encode() + source)
    return found.hexdigest()[:16]


@final
class _Kept:
    """Says where a kernel is kept; `usual` is Numba's own answer."""

    def __init__(self, usual: Any) -> None:
        self._usual = usual
        self.get_source_stamp, self.get_disambiguator = usual.get_source_stamp, usual.get_disambiguator

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Kept | None:
        """None for functions of others."""
        if not file.startswith(f"{PACKAGE}{os.sep}"):
            return None
        found = (locator.from_function(function, file) for locator in _USUAL)
        return next((cls(usual) for usual in found if usual is not None), None)

    def get_cache_path(self) -> str:
        return os.path.join(self._usual.get_cache_path(), f"replnet-{_digest()}")

    def ensure_cache_path(self) -> None:
        os.makedirs(self.get_cache_path(), exist_ok=True)


def kept_in(module: str) -> str | None:
    """The folder for the kernels of a module of this package; None where there is none that can be written."""
    file = str(PACKAGE / module)
    found = _Kept.from_function(kept_in, file)
    return None if found is None else found.get_cache_path()


# Private to Numba, and of another name in its older versions. Without it, kernels are kept as Numba does it.
_LOCATORS: list[Any] = getattr(
    getattr(caching, "CacheImpl", None) or getattr(caching, "_CacheImpl", None), "_locator_classes", []
)
_USUAL = tuple(_LOCATORS)
_LOCATORS.insert(0, _Kept)


@intrinsic  # type: ignore[misc]
def prefetch(context: Any, array: Any, index: Any) -> Any:
    """Have array[index] of a one-dimensional array brought into the cache, for a loop that comes to it soon.

    It changes nothing, and an index beyond the array does no harm.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        made = context.make_array(kind)(context, builder, arguments[0])
        place = _tools.get_item_pointer(context, builder, kind, made, [arguments[1]], wraparound=False)
        byte, word = _tools.voidptr_t, _tools.int32_t
        function = _tools.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0"
        )
        # To read, and to keep, as data.
        builder.call(function, [builder.bitcast(place, byte), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate
