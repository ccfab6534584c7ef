"""Where a number comes from: version, commit, specification, seed, machine."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from replnet.version import __version__

LIBRARIES = ("numpy", "numba", "scipy", "networkx")


def provenance(network: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    text = json.dumps(network, sort_keys=True, default=str)
    return {
        "replnet": __version__,
        "commit": commit(),
        "specification": hashlib.sha256(text.encode()).hexdigest()[:16],
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}",
        "instructions": instructions(),
        "libraries": dict(_libraries()),
        **more,
    }


@cache
def instructions() -> str:
    """The sets of instructions of this CPU that NumPy computes with.

    With others the logarithms and powers in a sampled interval may round otherwise, and so the last digits of
    all that follows from it; with the same ones, and the same libraries, every bit is the same.
    """
    import numpy as np

    config: Any = np.show_config(mode="dicts")  # type: ignore[call-overload, unused-ignore]
    sets = config.get("SIMD Extensions", {})
    return " ".join(name for kind in ("baseline", "found") for name in sets.get(kind, ()))


@cache
def _libraries() -> tuple[tuple[str, str], ...]:
    """Looked up once: that takes longer than a small cell."""
    return tuple((name, metadata.version(name)) for name in LIBRARIES)


def commit() -> str | None:
    """The commit of the checkout that this runs from; None where it is installed or there is no git."""
    git = Path(__file__).parents[2] / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        loose = git / head[5:]
        if loose.exists():
            return loose.read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
        return next((line.split()[0] for line in packed if line.endswith(" " + head[5:])), None)
    except OSError:
        return None
