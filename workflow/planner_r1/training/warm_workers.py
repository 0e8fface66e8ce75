"""Ray workers that are forked from a process which has already imported everything.

verl needs half a dozen processes, one started after the other, and each spends most of its start-up importing the
same libraries. On a small machine that takes longer than many a step of training, and the libraries fill the memory
once a process. So the driver, when it has imported what all of them need and nothing of Ray yet, forks a server; Ray is
told (`runtime_env.py_executable`) to start workers by `warm_worker_client.py`, which hands its
arguments, environment and standard streams to the server, which forks a worker that goes on from there.

For machines without an accelerator only: a device's runtime does not survive a fork.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import ctypes
import gc
import json
import os
import runpy
import signal
import socket
import sys
import traceback
from pathlib import Path

CLIENT = Path(__file__).with_name("warm_worker_client.py")
PR_SET_PDEATHSIG = 1


def start_server(path: str) -> str:
    """Fork the server, listening on the Unix socket `path`; it ends with this process.

    Returns the command that stands in for Python in `runtime_env.py_executable`.
    """
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    gc.freeze()  # keep the collector from touching, and so copying, the pages shared with the workers
    if os.fork() == 0:
        _serve(listener)
    listener.close()
    return f"{sys.executable} -I -S {CLIENT} {path}"


def _serve(listener: socket.socket) -> None:
    """Fork a worker for each request; never returns."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the workers: the kernel is to drop them
    while True:
        connection, _ = listener.accept()
        request, streams = _receive(connection)
        if os.fork() == 0:
            listener.close()
            connection.close()
            _become_worker(request, streams)
        for stream in streams:
            os.close(stream)
        connection.close()


def _receive(connection: socket.socket) -> tuple[dict, list[int]]:
    """The client's request (JSON up to the end of the stream) and its three standard streams."""
    descriptors = array.array("i")
    text, ancillary, _, _ = connection.recvmsg(1 << 16, socket.CMSG_SPACE(3 * descriptors.itemsize))
    for _, _, data in ancillary:
        descriptors.frombytes(data)
    while more := connection.recv(1 << 16):
        text += more
    return json.loads(text), list(descriptors)


def _become_worker(request: dict, streams: list[int]) -> None:
    """Go on as if Python had just been started with the client's command line; never returns."""
    status = 0
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.argv = request["arguments"]
        _draw_new_random_state()
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _draw_new_random_state() -> None:
    """Workers must not all draw the same numbers; `random` takes care of itself after a fork."""
    import numpy

    numpy.random.seed()
