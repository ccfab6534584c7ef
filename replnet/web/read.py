from __future__ import annotations

from typing import Any

from nicegui import ui

from replnet.web.frame import Opened, framed


def page(opened: Opened) -> Any:
    def show() -> None:
        with framed("/x", "x"):
            ui.label("x")

    return show


cell_page = page
