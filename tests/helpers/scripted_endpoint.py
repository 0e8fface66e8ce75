"""An OpenAI-compatible server on this machine that answers by script, faults included."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """What goes back over the wire. `declared` is the length that the headers claim."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    declared: int | None = None


NOTHING = object()  # the connection is closed without a word
HANG = object()  # nothing happens until the server is stopped


def says(text: str | None = None, calls: Iterable[dict] = (), prompt: int = 10, completion: int = 5, **more) -> dict:
    """The body of a good answer; `calls` as `native()` makes them, `more` for finish_reason, refusal and usage."""
    message = {"role": "assistant", "content": text, "refusal": more.get("refusal")}
    calls = list(calls)
    if calls:
        message["tool_calls"] = calls
    finish = more.get("finish_reason", "tool_calls" if calls else "stop")
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {
        "id": "1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": more.get("usage", usage),
    }


def native(name: str, arguments: dict | str, id_: str | None = "c1") -> dict:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": text}}


def error(status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message, "code": code, "type": "error"}}).encode()
    return Answer(status, body, {k.replace("_", "-"): v for k, v in headers.items()})


class ScriptedEndpoint:
    """Use as `with ScriptedEndpoint(script) as server`; `server.url` is its address.

    Args:
        script: a list of answers given one after the other, the last one again and again; or a function of the
            request's body. An answer is a body (`says`), an `Answer`, NOTHING or HANG.
        models: names that GET /models lists; an `Answer` instead of a list is sent as it is.
    """

    def __init__(self, script: list | Callable[[dict], object], models: list[str] | Answer = ("m",)):
        self._script, self._models = script, models
        self.requests: list[dict] = []  # bodies
        self.headers: list[dict] = []  # names in Title-Case
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> ScriptedEndpoint:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def _next(self, body: dict):
        with self._lock:
            self.requests.append(body)
            if not callable(self._script):
                return self._script.pop(0) if len(self._script) > 1 else self._script[0]
        return self._script(body)

    def _handler(endpoint):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                models = endpoint._models
                listed = (
                    {"object": "list", "data": [{"id": m, "object": "model"} for m in models]}
                    if (not isinstance(models, Answer))
                    else models
                )
                self._send(listed)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.headers.append({name.title(): value for name, value in self.headers.items()})
                self._send(endpoint._next(body))

            def _send(self, answer):
                self.close_connection = True
                if answer is HANG:
                    endpoint._stopped.wait()
                if answer is HANG or answer is NOTHING:
                    return
                if isinstance(answer, dict):
                    answer = Answer(body=json.dumps(answer).encode())
                self.send_response(answer.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Connection", "close")
                length = len(answer.body) if answer.declared is None else answer.declared
                self.send_header("Content-Length", str(length))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_):
                pass

        return Handler
