"""The server of the pages, asked as any program may ask it: what its answers allow, and what it does not read."""

from __future__ import annotations

import html
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import pytest
from pages import Pages

pytest.importorskip("nicegui", reason="the pages need NiceGUI (pip install 'replnet[ui]')")

from replnet.show.web.server import free_port

SECRET = "not-for-browsers"
UPGRADE = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(ValueError, match=r"--port: \d+: .*in use"):
        free_port(other.getsockname()[1])
    assert free_port(0) > 0


class Answer(NamedTuple):
    status: int
    headers: Message
    text: str


class Visitor:
    """Somebody who has the token."""

    def __init__(self, pages: Pages, folder: Path) -> None:
        self.folder, self.host, self.cookie = folder, urlsplit(pages.base).netloc, ""
        self.cookie = self.get(pages.start.removeprefix(pages.base)).headers["set-cookie"].partition(";")[0]

    def get(self, path: str, **heads: str) -> Answer:
        with closing(HTTPConnection(self.host, timeout=60)) as connection:
            connection.request("GET", path, headers={"Cookie": self.cookie, **heads})
            answer = connection.getresponse()
            text = "" if answer.status == 101 else answer.read().decode(errors="replace")
            return Answer(answer.status, answer.headers, html.unescape(text))


@pytest.fixture(scope="module")
def visitor(tmp_path_factory) -> Iterator[Visitor]:
    folder = tmp_path_factory.mktemp("served")
    record = folder / "record.csv"
    record.write_text("time\n1\n2\n4\n8\n")
    (folder / "other.csv").write_text(f"time\n{SECRET}\n")
    (folder / "other.yaml").write_text(SECRET)
    network = folder / "opened.yaml"
    network.write_text(f"kind: single\nupdates: trace(file={record})\ndownloads: exponential(rate=1)\n")
    pages = Pages(network)
    try:
        yield Visitor(pages, folder)
    finally:
        pages.end()


@pytest.mark.parametrize("path", ["/", "/watch", "/read", "/cell?key=x", "/nowhere", "/?network=nowhere"])
def test_every_tag_of_a_page_is_allowed_by_its_policy(visitor, path):
    answer = visitor.get(path)
    nonce = re.search(r"'nonce-([\w-]+)'", answer.headers["content-security-policy"])[1]
    tags = re.findall(r"<(?:script|style)\b[^>]*>", answer.text)
    assert len(tags) > 5
    # The last two are those of the package: a file, and what NiceGUI leaves empty.
    others = {tag for tag in tags if f'nonce="{nonce}"' not in tag}
    assert others == {'<script defer src="/static/page.js">', "<style>"}
    assert "<style></style>" in answer.text


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/static/page.js", "/favicon.ico", "/nowhere"])
def test_all_routes_are_guarded_and_their_answers_stay_here(visitor, path):
    answer = visitor.get(path)
    assert answer.status == (404 if path == "/nowhere" else 200)
    for heads in (answer.headers, visitor.get(path, Cookie="").headers):
        assert "frame-ancestors 'none'" in heads["content-security-policy"]
        assert heads["cross-origin-resource-policy"] == "same-origin"
        assert heads["x-content-type-options"] == "nosniff"
    for heads in ({"Cookie": ""}, {"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        assert visitor.get(path, **heads).status == 403


def test_a_web_socket_of_another_page_is_refused(visitor):
    path, own = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket", f"http://{visitor.host}"
    assert visitor.get(path, **UPGRADE, Origin=own).status == 101
    for heads in ({}, {"Origin": "http://127.0.0.1:3000"}, {"Origin": own, "Cookie": ""}):
        assert visitor.get(path, **UPGRADE, **heads).status == 403


def test_a_page_reads_what_the_command_has_named_and_nothing_else(visitor):
    folder = visitor.folder
    assert "is not open here" not in visitor.get("/").text
    assert "is not open here" not in visitor.get("/?network=single&s=updates%3Dexponential(rate%3D2)").text
    assert "is not open here" not in visitor.get(f"/?network=single&s=updates%3Dtrace({folder / 'record.csv'})").text
    for query in (
        f"network={folder / 'other.yaml'}",
        f"network={folder / 'other.csv'}",
        f"network=single&s=updates%3Dtrace(file%3D{folder / 'other.csv'})",
        f"network=single&s={quote(f'updates={{trace: [{folder}/other.csv]}}')}",
        f"network=graph&s=file%3D{folder / 'other.csv'}",
    ):
        page = visitor.get(f"/?{query}").text
        assert "is not open here" in page
        assert SECRET not in page


def test_a_target_that_is_no_number_is_said(visitor):
    for target in ("nan", "x", ""):
        assert "is no number (a freshness such as 0.9)" in visitor.get(f"/?network=single&target={target}").text
    assert visitor.get("/?network=single&target=inf").status == 200


@pytest.mark.parametrize(
    "query", ["run=../x", "run=x&replication=inf&at=nan", "replication=1e400", "network=/etc/passwd"]
)
def test_an_address_of_the_page_watch_may_say_anything(visitor, query):
    answer = visitor.get(f"/watch?{query}")
    assert answer.status == 200
    assert ("is not kept any more" in answer.text) == query.startswith("run=")


def test_a_server_that_is_killed_leaves_no_file(tmp_path):
    pages = Pages("single", temporary=tmp_path)
    try:
        assert Visitor(pages, tmp_path).get("/watch").status == 200
    finally:
        pages.end()
    assert list(tmp_path.iterdir()) == []
