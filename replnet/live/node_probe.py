"""What a node of a cluster has to run replnet with.

It is sent there by value, since replnet may be missing there: it needs nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple


class Probed(NamedTuple):
    """Of one node."""

    python: str
    replnet: str  # the digest of its sources; empty where there is none
    missing: list[str]  # libraries


def digest(package: Path) -> str:
    """Of the sources of a package: two of them may call themselves the same version."""
    found = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        found.update(f"{path.relative_to(package)} ".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def probe(libraries: list[str]) -> Probed:
    spec = util.find_spec("replnet")
    found = digest(Path(spec.origin).parent) if spec and spec.origin else ""
    return Probed(platform.python_version(), found, [name for name in libraries if not _installed(name)])


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
