"""Libraries that `pip install replnet` leaves out, as not everyone needs them, and the extras that bring them."""

from __future__ import annotations

from importlib.util import find_spec

from replnet.text.errors import FieldError

EXTRAS = {"ray": ("Ray", "ray"), "matplotlib": ("matplotlib", "report"), "nicegui": ("NiceGUI", "ui")}
"""By module: its name, and the extra that brings it."""


def installed(module: str) -> bool:
    return find_spec(module) is not None


def require_extra(module: str, wanted: str) -> None:
    """Says how to get a library that what is `wanted` needs, where it is not installed."""
    if not installed(module):
        name, extra = EXTRAS[module]
        raise FieldError(wanted, f"{name} is not installed", f"pip install 'replnet[{extra}]'")
