"""Plain data as the YAML that a user would write: block style, a field per line."""

from __future__ import annotations

import io
from typing import Any


def yaml_text(data: Any) -> str:
    """Return plain data, such as lists and dicts of texts and numbers, as YAML 1.2 in block style.

    It reads back as the same data.
    """
    from ruamel.yaml import YAML

    writer = YAML()
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.width = 1 << 20  # a law stays on its line
    out = io.StringIO()
    writer.dump(data, out)
    return out.getvalue()
