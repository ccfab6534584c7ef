"""The job that finds out which software a node of a cluster has.

It is sent there by value, since replnet may be missing there: it needs nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple


class NodeSoftware(NamedTuple):
    """The software of a node that replnet needs: the version of Python, a digest of its replnet, and missing libraries.

    The digest is empty if replnet is not installed there.
    """

    python: str
    replnet: str  # the digest of its sources; empty if it is not installed
    missing: list[str]  # libraries that are not installed


def digest(package: Path) -> str:
    """Return a digest of the sources in a package's folder, as 12 hexadecimal digits; any change of them changes it."""
    hashed = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        hashed.update(f"{path.relative_to(package)} ".encode() + path.read_bytes())
    return hashed.hexdigest()[:12]


def probe(libraries: list[str]) -> NodeSoftware:
    """Return the software of the node on which this runs, with those of `libraries`, by name, that it does not have."""
    spec = util.find_spec("replnet")
    replnet_digest = digest(Path(spec.origin).parent) if spec and spec.origin else ""
    return NodeSoftware(
        platform.python_version(), replnet_digest, [name for name in libraries if not _is_installed(name)]
    )


def _is_installed(name: str) -> bool:
    """Whether a library is installed here."""
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
