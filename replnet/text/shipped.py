"""Networks that come with replnet, found by name."""

from __future__ import annotations

from pathlib import Path


def folders(kind: str) -> list[Path]:
    """Where files of a kind (topologies, experiments) lie: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    return [package / "data" / kind, package.parent / kind]


def shipped(name: str, kind: str = "topologies") -> Path | None:
    """The file called `name`: cascade, cascade.yaml and topologies/cascade.yaml are the same."""
    wanted = name.removeprefix(f"{kind}/")
    if not wanted or Path(wanted).is_absolute() or ".." in Path(wanted).parts:
        return None
    for folder in folders(kind):
        for file in (folder / wanted, folder / f"{wanted}.yaml"):
            if file.is_file():
                return file
    return None


def shipped_names(kind: str = "topologies") -> list[str]:
    """The names that `shipped` knows."""
    found = ((folder, file) for folder in folders(kind) for file in folder.rglob("*.yaml"))
    return sorted({str(file.relative_to(folder).with_suffix("")) for folder, file in found})
