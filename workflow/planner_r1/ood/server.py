"""An OpenAI-compatible server for the weights of one checkpoint, which ends with the call that started it.

On GPUs sglang, in the study's environment; on processors the server that comes with transformers.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner_r1 import environments
from planner_r1.environments import ACTIVE
from planner_r1.errors import InputError
from planner_r1.processes import CPU_VARIABLES, MARK, end_all, signals_as_exceptions, tail

HOST = "127.0.0.1"
# sglang refuses to start where the number 10,000 above its own is not a port, as with a fifth of those that the kernel
# would give.
PORTS = range(20_000, 55_536)
POLL_SECONDS = 0.2
LEAVE_SECONDS = 20  # to leave by itself, before it is killed
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Kind:
    """A kind of server.

    command: with {python}, {model} and {port} to fill in; the model's name there is {model}
    concurrency: requests that it is worth sending at once
    """

    command: tuple[str, ...]
    concurrency: int


ADDRESS = ("--host", HOST, "--port", "{port}")
TRANSFORMERS = ("{python}", "-m", "transformers.cli.transformers", "serve", "{model}", "--device", "cpu", *ADDRESS)
SGLANG = ("{python}", "-m", "sglang.launch_server", "--model-path", "{model}", "--served-model-name", "{model}")
SGLANG += (*ADDRESS, "--tensor-parallel-size", "4", "--tool-call-parser", "qwen25")
KINDS = {
    "cpu": Kind(TRANSFORMERS, concurrency=1),  # it answers one request at a time
    "gpu": Kind(SGLANG, concurrency=64),
}


class ServerError(Exception):
    """The server did not start; the message holds the last lines of its log."""


def sampling_fields(backend: str, sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a request, beyond the standard's, for a server of this kind to sample as asked.

    Args:
        sampling: temperature and top_k; 0 is greedy, and None or a top_k of -1 means no limit.
    """
    top_k = sampling.get("top_k")
    limit = top_k if top_k and top_k > 0 else None
    if backend == "gpu":
        return {"top_k": limit} if limit else {}
    # transformers' server takes no top_k, and samples where the model's own settings or these say so
    own = {"do_sample": bool(sampling.get("temperature")), "top_k": limit or 0}
    return {"generation_config": json.dumps(own)}


@contextlib.contextmanager
def serve(
    model: Path,
    work: Path,
    backend: str,
    *,
    command: Sequence[str] = (),
    start_seconds: float,
    environment: str = ACTIVE,
) -> Iterator[str]:
    """Serve a folder of weights while the body runs; gives the address of the API. Its name there is the folder's path.

    Args:
        work: folder for its log, whose mark it carries: what an earlier call left running there is ended first.
        command: instead of that of the back end; see Kind.
        start_seconds: within which it must answer.
        environment: a study's key of that name: where its Python comes from.

    Raises:
        InputError: the command cannot be started.
        ServerError: it ended, or did not answer in time.
    """
    end_all(work)
    log, port = work / "server.log", free_port()
    place = environments.environment(environment)
    asked = _filled(command or KINDS[backend].command, python=place.python, model=str(model), port=str(port))
    defaults = CPU_VARIABLES if backend == "cpu" else {}
    variables = {
        **defaults,
        **os.environ,
        MARK: str(work.resolve()),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with signals_as_exceptions():
        with open(log, "wb") as output:
            try:
                process = subprocess.Popen(
                    [*place.prefix, *asked],
                    env=variables | place.variables,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    preexec_fn=_die_with_parent,
                )
            except OSError as error:
                if environment == ACTIVE:
                    raise InputError(f"{asked[0]}: the server cannot be started ({error.strerror})") from None
                raise environments.not_started(environment, asked, error) from None
        try:
            _wait_until_up(process, port, start_seconds, log)
            yield f"http://{HOST}:{port}/v1"
        finally:
            _end(process)
            end_all(work)
            process.wait()


def _filled(command: Sequence[str], **values: str) -> list[str]:
    """A command with its places filled in; other braces, as of JSON, stay."""
    parts = list(command)
    for name, value in values.items():
        parts = [part.replace(f"{{{name}}}", value) for part in parts]
    return parts


def free_port() -> int:
    """A port that nobody listens on, drawn from PORTS.

    Raises:
        ServerError: a thousand of them are taken.
    """
    for port in random.sample(PORTS, 1000):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise ServerError(f"no free port among {PORTS.start} to {PORTS.stop - 1}")


def _die_with_parent() -> None:
    """Runs in the new process: it is killed with the one that started it, also where that one is killed itself."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_until_up(process: subprocess.Popen, port: int, seconds: float, log: Path) -> None:
    end = time.monotonic() + seconds
    while not _answers(port):
        ended = process.poll() is not None
        if ended or time.monotonic() > end:
            why = f"ended with status {process.returncode}" if ended else f"did not answer within {seconds:g} s"
            raise ServerError(f"the server {why}; the last lines of {log}:\n{tail(log)}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)


def _answers(port: int) -> bool:
    """Whether it is up: it opens its port only once the model is loaded, and then says that it is well."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://{HOST}:{port}/health", timeout=20) as answer:
            return answer.status == 200
    except OSError:
        return False


def _end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LEAVE_SECONDS)
