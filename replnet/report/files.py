"""The report as files: the page, every figure as SVG, every table as CSV."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replnet.report.arrange import arrange
from replnet.report.figure import drawn
from replnet.report.page import file_names, page
from replnet.report.section import Section
from replnet.report.svg import standalone, svg
from replnet.text.csv_table import csv_text


def write(folder: str | Path, sections: Sequence[Section], title: str, provenance: Mapping[str, Any]) -> Path:
    """Write report.html, figures/NAME.svg and data/NAME.csv; the path of the page.

    Every file is whole or not there; the page comes last.
    """
    folder = Path(folder)
    for section, name in zip(sections, file_names([section.name for section in sections]), strict=True):
        _put(folder / "data" / f"{name}.csv", csv_text(section.table))
        if (plan := arrange(section)) is not None:
            _put(folder / "figures" / f"{name}.svg", standalone(svg(drawn(plan), f"{name}-", section.title)))
    target = folder / "report.html"
    _put(target, page(sections, title, provenance))
    return target


def _put(path: Path, content: str) -> None:
    """Replace the file in one step, so that a reader or an interruption finds the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
