"""Optional libraries, which `pip install replnet` leaves out, and the extras that bring them."""

from __future__ import annotations

from importlib.util import find_spec

from replnet.text.errors import FieldError

EXTRAS = {
    "ray": ("Ray", "ray"),
    "matplotlib": ("matplotlib", "report"),
    "nicegui": ("NiceGUI", "ui"),
    "httpx": ("HTTPX", "watch"),
    "xarray": ("xarray", "xarray"),
}
"""Optional libraries by module: the library's name, and the extra that brings it."""


def is_installed(module: str) -> bool:
    """Whether a module, by its name, could be imported; it is not."""
    return find_spec(module) is not None


def require_extra(module: str, wanted: str) -> None:
    """Raise FieldError if the optional library `module`, one of EXTRAS, is not installed.

    The error says that `wanted` needs it, and how to install it.
    """
    if not is_installed(module):
        name, extra = EXTRAS[module]
        raise FieldError(wanted, f"{name} is not installed", f"pip install 'replnet[{extra}]'")
