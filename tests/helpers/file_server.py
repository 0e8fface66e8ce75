"""An HTTP server of one's own, with the faults that downloads meet."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Asked:
    """One request: its path and the headers that matter here."""

    path: str
    range: str | None
    authorization: str | None


@dataclass
class FileServer:
    """Serves `files` by path. Each entry of `faults` handles one request in place of the usual answer, in order."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    faults: deque[Callable] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    sent: int = 0  # bytes of bodies
    ranges: bool = True  # whether parts are served
    tags: bool = True  # whether answers carry an ETag


class _Handler(BaseHTTPRequestHandler):
    server: ThreadingHTTPServer

    def do_GET(self):
        state: FileServer = self.server.state
        path = self.path.split("?")[0]
        state.asked.append(Asked(path, self.headers.get("Range"), self.headers.get("Authorization")))
        if state.faults:
            return state.faults.popleft()(self, state)
        if path not in state.files:
            return self.answer(404)
        self.serve(state.files[path])

    def serve(self, body: bytes, upto: int | None = None):
        """Answer with a body, or with the part that was asked for; break the connection off after `upto` bytes."""
        state: FileServer = self.server.state
        tag = f'"{hashlib.md5(body).hexdigest()}"' if state.tags else None
        start = 0
        asked = self.headers.get("Range")
        if asked and state.ranges and self.headers.get("If-Range") in (None, tag):
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        if tag:
            self.send_header("ETag", tag)
        self.end_headers()
        part = body[start:upto]
        self.wfile.write(part)
        self.wfile.flush()
        state.sent += len(part)
        self.close_connection = True

    def answer(self, code: int, **headers: str):
        """An answer without a body."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def file_server() -> Iterator[FileServer]:
    """Run a server on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.state = FileServer(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cut_off(after: int) -> Callable:
    """Break the connection off after so many bytes of the file."""
    return lambda handler, state: handler.serve(state.files[handler.path], upto=after)


def held(after: int, sent: threading.Event, free: threading.Event) -> Callable:
    """Send so many bytes, then nothing until `free` is set."""

    def fault(handler, state):
        handler.serve(state.files[handler.path], upto=after)
        sent.set()
        free.wait()

    return fault


def without_length(after: int) -> Callable:
    """Say no length, as a server of old may, and close the connection after so many bytes."""

    def fault(handler, state):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(state.files[handler.path][:after])
        handler.close_connection = True

    return fault


def status(code: int, **headers: str) -> Callable:
    """Answer with a status and no body."""
    return lambda handler, state: handler.answer(code, **headers)
