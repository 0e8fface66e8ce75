"""The server of a checkpoint: up before it is asked, gone with whoever started it."""

import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path

import pytest

from helpers.messages import refused
from planner_r1.ood.server import HOST, KINDS, ServerError, free_port, sampling_fields, serve
from planner_r1.processes import marked

DEADLINE = 60
# A server that says it is well, and has a child in a session of its own.
WELL = """
import http.server, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
        self.wfile.write(sys.argv[2].encode())
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
COMMAND = ("{python}", "-c", WELL, "{port}", "{model}")
SILENT = ("{python}", "-c", "import time; print('loading', flush=True); time.sleep(600)")


def test_its_port_is_one_that_nobody_has(monkeypatch):
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        ports = [taken.getsockname()[1], free_port()]
        monkeypatch.setattr("random.sample", lambda *_: ports)
        assert free_port() == ports[1]
        ports.pop()
        with pytest.raises(ServerError, match="port"):
            free_port()


def test_it_is_up_in_the_body_and_gone_after(tmp_path):
    with serve(Path("some/model"), tmp_path, "cpu", command=COMMAND, start_seconds=DEADLINE) as url:
        assert url.startswith("http://127.0.0.1:") and url.endswith("/v1")
        with urllib.request.urlopen(url.removesuffix("/v1") + "/health") as answer:
            assert answer.read() == b"some/model"
        assert len(marked(tmp_path)) == 2
    assert marked(tmp_path) == []


def test_it_is_gone_after_a_failure(tmp_path):
    with pytest.raises(ZeroDivisionError), serve(Path("m"), tmp_path, "cpu", command=COMMAND, start_seconds=DEADLINE):
        1 / 0  # noqa: B018
    assert marked(tmp_path) == []


def test_one_that_never_answers_is_ended_with_its_last_lines(tmp_path):
    late = pytest.raises(ServerError, match=r"0\.5 s.*server\.log.*\nloading")
    with late, serve(Path("m"), tmp_path, "cpu", command=SILENT, start_seconds=0.5):
        pass
    assert marked(tmp_path) == []


def test_one_that_ends_is_not_waited_for(tmp_path):
    command = ("{python}", "-c", "import sys; sys.exit('no such model {model}')")
    ended = pytest.raises(ServerError, match=r"(?s)status 1\b.*server\.log.*\nno such model some/model")
    with ended, serve(Path("some/model"), tmp_path, "cpu", command=command, start_seconds=DEADLINE):
        pass


def test_a_command_that_is_not_there_is_named(tmp_path):
    with (
        refused("no-such-program", "started"),
        serve(Path("m"), tmp_path, "cpu", command=("no-such-program",), start_seconds=1),
    ):
        pass


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_ends_with_its_parent_however_that_ends(tmp_path, end):
    program = f"""
        import signal
        from pathlib import Path
        from planner_r1.ood.server import serve
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job of a shell lacks
        with serve(Path("m"), Path({str(tmp_path)!r}), "cpu", command={COMMAND!r}, start_seconds={DEADLINE}):
            print("up", flush=True)
            signal.pause()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert parent.stdout.readline() == "up\n"
    (server,) = [pid for pid in marked(tmp_path) if b"http.server" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    watched = os.pidfd_open(server)
    parent.send_signal(end)
    parent.wait(DEADLINE)
    assert select.select([watched], [], [], DEADLINE)[0]  # readable once the process has ended
    os.close(watched)
    if end == signal.SIGKILL:  # what the server itself had started is ended by the next call
        with serve(Path("m"), tmp_path, "cpu", command=COMMAND, start_seconds=DEADLINE):
            assert len(marked(tmp_path)) == 2
    assert marked(tmp_path) == []


def test_sampling_as_each_kind_takes_it():
    assert sampling_fields("gpu", {"temperature": 0.7, "top_k": 20}) == {"top_k": 20}
    assert sampling_fields("gpu", {"temperature": 1.0, "top_k": -1}) == {}
    cold = sampling_fields("cpu", {"temperature": 0, "top_k": 20})["generation_config"]
    assert cold == '{"do_sample": false, "top_k": 20}'
    warm = sampling_fields("cpu", {"temperature": 1.0, "top_k": None})["generation_config"]
    assert warm == '{"do_sample": true, "top_k": 0}'


def test_both_kinds_stay_on_this_machine():
    for kind in KINDS.values():
        place = kind.command.index("--host")
        assert kind.command[place + 1] == "127.0.0.1"
