"""Records of cells, and what they look like when a byte of them is another."""

from __future__ import annotations

import random


def record(i: int) -> dict:
    return {"key": f"cell-{i}", "values": {"k": i}, "rows": [{"measured": i / 7, "note": "ein Maß", "z": None}]}


def flips(raw: bytes, n: int, seed: int):
    rng = random.Random(seed)
    for _ in range(n):
        at = rng.randrange(len(raw))
        yield at, raw[:at] + bytes([raw[at] ^ rng.randrange(1, 256)]) + raw[at + 1 :]
