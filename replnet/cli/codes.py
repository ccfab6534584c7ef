"""Exit codes that scripts rely on."""

from __future__ import annotations

FINE, DIFFERS, BAD_INPUT, INCOMPLETE, RAY_LOST = 0, 1, 2, 3, 4
