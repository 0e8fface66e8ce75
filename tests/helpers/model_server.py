"""transformers' own OpenAI-compatible server on the CPU, for a model in a folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY = "Uvicorn running on"
DEADLINE = 60  # seconds to leave, before it is killed


@contextmanager
def served(model: Path) -> Iterator[str]:
    """Serve a model while the body runs; gives the address of its API. The model's name there is its folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).with_name("transformers")
    command = [program, "serve", model, "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)]
    offline = os.environ | {"HF_HUB_OFFLINE": "1"}
    server = subprocess.Popen(command, env=offline, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = []
        for line in server.stdout:  # ends where the server does
            said.append(line)
            if READY in line:
                break
        else:
            raise RuntimeError(f"the server ended before it was ready:\n{''.join(said)}")
        # It goes on writing a line a request, which must not fill the pipe.
        threading.Thread(target=deque, args=(server.stdout, 0), daemon=True).start()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
