"""A web server on loopback whose answers a test writes: by path, a function from the request to the answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """A status, headers and a body; `announced` is its length in the header, that of the body if None."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None
    pieces: Iterator[bytes] | None = None  # sent one after another in the place of the body, without a length


@contextmanager
def web_server(answers: dict[str, Callable[[BaseHTTPRequestHandler], Answer]], context=None) -> Iterator[str]:
    """Yield the address of a server while it runs; with `context`, an SSL context, it speaks HTTPS."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers[self.path](self)
            self.send_response_only(answer.status)
            for name, value in {"Date": self.date_time_string(), **answer.headers}.items():
                self.send_header(name, value)
            if answer.pieces is None:
                self.send_header("Content-Length", str(answer.announced or len(answer.body)))
            self.end_headers()
            if self.command == "GET" and answer.status != 304:
                for piece in answer.pieces or [answer.body]:
                    self.wfile.write(piece)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *about: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, address: object) -> None:
            """A client that goes away is no error."""

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
