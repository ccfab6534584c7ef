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


@final
class Coming:
    """Instants to come, in order; the last one lies beyond what has been asked for."""

    def __init__(self, last: float) -> None:
        self._room, self._size = np.full(64, last), 1

    @property
    def instants(self) -> Floats:
        return self._room[: self._size]

    def prepend(self, past: Floats) -> None:
        self._room = np.concatenate([past, self.instants])
        self._size = self._room.size

    def drop(self, n: int) -> None:
        """The first n are past."""
        self._room[: self._size - n] = self._room[n : self._size]
        self._size -= n

    def extend(self, more: Floats, last: float) -> None:
        """`more`, in the place of the last one, and the one after."""
        size = self._size + more.size
        if size > self._room.size:
            self._room = np.concatenate([self._room, np.empty(size)])
        self._room[self._size - 1 : size - 1] = more
        self._room[size - 1] = last
        self._size = size
