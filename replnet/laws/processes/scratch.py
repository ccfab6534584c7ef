"""Memory that windows use again and again.

A fresh array of more than some 100 KiB comes from the system page by page, at
several times the cost of the work done in it.
"""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@final
class Scratch:
    """Arrays by name, as long as was ever asked for; what they hold is left over from before."""

    def __init__(self) -> None:
        self._floats: dict[str, Floats] = {}
        self._ints: dict[str, Ints] = {}

    def floats(self, name: str, size: int) -> Floats:
        if name not in self._floats or self._floats[name].size < size:
            self._floats[name] = np.empty(size + size // 4)
        return self._floats[name][:size]

    def ints(self, name: str, size: int) -> Ints:
        if name not in self._ints or self._ints[name].size < size:
            self._ints[name] = np.empty(size + size // 4, np.int64)
        return self._ints[name][:size]
