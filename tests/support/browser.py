"""A real browser, moved by Chromium's own protocol: keys, screens, and all that it asks of any machine."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import programs

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = programs.HANGS
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--disable-quic",
    "--disable-sync",
)  # fmt: skip
KEYS = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, " ": 32}


class Browser:
    """One page. `asked` are the addresses of all requests, `errors` what scripts and the console complained of."""

    def __init__(self, folder: Path) -> None:
        from websockets.sync.client import connect

        assert CHROMIUM
        self._held, quiet = ExitStack(), {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [CHROMIUM, *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
        self._held.enter_context(programs.running(command, **quiet))
        port = folder / "DevToolsActivePort"
        self._until(lambda: port.exists() and len(port.read_text().split("\n")) > 1, "the browser")
        with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json/list") as found:
            pages = [one for one in json.load(found) if one["type"] == "page"]
        there = connect(pages[0]["webSocketDebuggerUrl"], max_size=None, open_timeout=PATIENCE)
        self._socket = self._held.enter_context(there)
        self._ids, self.asked, self.errors = itertools.count(1), list[str](), list[str]()
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": given}))
        while True:
            said = json.loads(self._socket.recv(PATIENCE))
            if said.get("id") == number:
                assert "error" not in said, said
                return said["result"]
            self._note(said)

    def _note(self, said: dict[str, Any]) -> None:
        about = said.get("params", {})
        if said["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            self.asked.append(about.get("url") or about["request"]["url"])
        elif said["method"] == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(about["exceptionDetails"])[:500])
        elif said["method"] == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(about["entry"]["text"] + " " + about["entry"].get("url", ""))

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def begin(self, address: str) -> None:
        """Open the page of another server; what the one before was asked, and complained of, is forgotten."""
        self.open("about:blank")
        self.wait("location.href === 'about:blank'")
        self.asked.clear()
        self.errors.clear()
        self.open(address)

    def size(self, width: int, height: int = 900, dark: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        value = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def run(self, script: str) -> Any:
        """The value of an expression."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script: str) -> None:
        """Until an expression is true."""
        self._until(lambda: self.run(f"Boolean({script})"), script)

    def wait_text(self, text: str) -> None:
        self.wait(f"document.body && document.body.innerText.includes({json.dumps(text)})")

    def press(self, key: str, times: int = 1) -> None:
        about: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": "\r"} if key == "Enter" else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text: str) -> None:
        """Keys one by one, into what has the focus."""
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def point(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window."""
        for step in (1, 0):  # a mouse that has not moved points at nothing new
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x - step, y=y)

    def picture(self, file: Path) -> None:
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))

    def close(self) -> None:
        self._held.close()

    @staticmethod
    def _until(done: Any, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, f"waited in vain for {what}"
            time.sleep(0.05)
