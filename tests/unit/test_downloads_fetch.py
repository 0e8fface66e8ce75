"""One file from one place: what comes, what is asked for again, what is refused, and what is left behind."""

import email.utils
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
import requests

from helpers.file_server import cut_off, file_server, held, status, without_length
from helpers.messages import refused
from planner_r1.downloads import fetch as fetch_module
from planner_r1.downloads.fetch import BLOCK, TRIES, Failed, Place, fetch
from planner_r1.errors import InputError

BODY = random.Random(0).randbytes(5 * BLOCK)
HALF = 2 * BLOCK


@pytest.fixture
def server():
    with file_server() as server:
        server.files["/weights.bin"] = BODY
        yield server


class Waits(list):
    """Stands in for time.sleep and keeps what it was asked for."""

    def __call__(self, seconds):
        self.append(seconds)


def bring(server, path, **options):
    waits = Waits()
    sha256 = fetch(Place(f"{server.url}/weights.bin"), path, wait=waits, **options)
    assert path.read_bytes() == server.files["/weights.bin"]
    assert sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert os.listdir(path.parent) == [path.name]  # nothing is left beside it
    return waits


def test_a_file_comes_whole(server, tmp_path):
    path = tmp_path / "models" / "weights.bin"
    assert bring(server, path, expected_bytes=len(BODY)) == []
    assert [asked.range for asked in server.asked] == [None]


def test_a_broken_connection_goes_on_where_it_broke_and_nothing_comes_twice(server, tmp_path):
    server.faults.extend([cut_off(HALF), cut_off(HALF + BLOCK)])
    assert bring(server, tmp_path / "weights.bin") == [1, 1]
    assert [asked.range for asked in server.asked] == [None, f"bytes={HALF}-", f"bytes={HALF + BLOCK}-"]
    assert server.sent == len(BODY)


def test_a_stalled_connection_is_given_up_and_goes_on(server, tmp_path):
    free = threading.Event()
    server.faults.append(held(HALF, threading.Event(), free))
    # the server keeps the connection open without a byte more, until the file is here
    bring(server, tmp_path / "weights.bin", timeout=(5, 0.05))
    free.set()
    assert server.asked[1].range == f"bytes={HALF}-"


def test_a_server_that_serves_no_parts_sends_it_anew(server, tmp_path):
    server.ranges = False
    server.faults.append(cut_off(HALF))
    bring(server, tmp_path / "weights.bin")
    assert server.sent == HALF + len(BODY)


def test_without_a_mark_of_the_version_a_part_is_not_continued(server, tmp_path):
    server.tags = False
    server.faults.append(cut_off(HALF))
    bring(server, tmp_path / "weights.bin")
    assert [asked.range for asked in server.asked] == [None, None]


def test_a_file_that_changes_meanwhile_is_not_spliced(server, tmp_path):
    def cut_and_change(handler, state):
        cut_off(HALF)(handler, state)
        state.files["/weights.bin"] = BODY[::-1]

    server.faults.append(cut_and_change)
    bring(server, tmp_path / "weights.bin")
    assert server.asked[1].range == f"bytes={HALF}-"


def test_a_server_that_ignores_the_condition_is_found_out(server, tmp_path):
    def part_of_another_version(handler, state):
        state.files["/weights.bin"] = BODY[::-1]
        handler.headers.replace_header("If-Range", f'"{hashlib.md5(BODY[::-1]).hexdigest()}"')
        handler.serve(BODY[::-1])

    server.faults.extend([cut_off(HALF), part_of_another_version])
    assert bring(server, tmp_path / "weights.bin") == [1, 0]
    assert [asked.range for asked in server.asked] == [None, f"bytes={HALF}-", None]


def test_a_part_beyond_the_end_is_dropped(server, tmp_path):
    server.faults.extend([cut_off(HALF), status(416)])
    bring(server, tmp_path / "weights.bin")


def test_a_redirect_is_followed_and_the_token_stays_with_its_host(server, tmp_path):
    with file_server() as storage:
        storage.files["/weights.bin"] = BODY
        elsewhere = storage.url.replace("127.0.0.1", "localhost") + "/weights.bin"
        server.faults.append(status(302, Location=elsewhere))
        fetch(Place(f"{server.url}/weights.bin", {"Authorization": "Bearer secret"}), tmp_path / "weights.bin")
        assert (tmp_path / "weights.bin").read_bytes() == BODY
        assert [asked.authorization for asked in server.asked + storage.asked] == ["Bearer secret", None]


def test_a_missing_file_is_named_at_once(server, tmp_path):
    with refused("404", error=Failed):
        fetch(Place(f"{server.url}/other.bin"), tmp_path / "other.bin", wait=Waits())
    assert len(server.asked) == 1 and os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (status(403), [403, "HF_TOKEN"]),
        (status(418), [418]),
        (status(200, Content_Type="text/html; charset=utf-8"), ["web page"]),
        (status(200, Content_Encoding="gzip"), ["compressed"]),
        (status(302, Location="ftp://example.org/weights.bin"), ["ftp"]),
    ],
)
def test_an_answer_that_is_not_the_file_is_refused(server, tmp_path, fault, named):
    server.faults.append(fault)
    with refused(*named, error=Failed):
        bring(server, tmp_path / "weights.bin")
    assert os.listdir(tmp_path) == []


def test_a_busy_server_is_given_the_time_it_asks_for(server, tmp_path):
    date = email.utils.formatdate(time.time() + 1000, usegmt=True)
    server.faults.extend([status(429, Retry_After="7"), status(503), status(503, Retry_After=date)])
    waits = bring(server, tmp_path / "weights.bin")
    assert waits[:2] == [7, 4] and 900 < waits[2] <= 1000


def test_a_server_that_asks_for_too_much_time_is_not_waited_for(server, tmp_path):
    server.faults.append(status(429, Retry_After="86400"))
    with refused("86400 seconds", error=Failed):
        bring(server, tmp_path / "weights.bin")


def test_no_connection_is_said_after_a_few_attempts(tmp_path):
    with file_server() as server:
        url = server.url
    waits = Waits()
    with pytest.raises(Failed, match=rf"refused \({TRIES} attempts\)"):
        fetch(Place(f"{url}/weights.bin"), tmp_path / "weights.bin", wait=waits)
    assert waits == [2, 4, 8, 16, 32]


def test_attempts_that_bring_something_do_not_count(server, tmp_path):
    steps = range(BLOCK // 4, len(BODY), BLOCK // 4)
    assert len(steps) > 2 * TRIES
    server.faults.extend(cut_off(step) for step in steps)
    assert set(bring(server, tmp_path / "weights.bin")) == {1}
    assert server.sent == len(BODY)


def test_another_size_is_refused_before_anything_comes(server, tmp_path):
    with refused("1,310,720", 77, error=Failed):
        bring(server, tmp_path / "weights.bin", expected_bytes=77)
    assert os.listdir(tmp_path) == []


def test_a_file_that_ends_early_without_a_word_is_known_by_its_size(server, tmp_path):
    server.faults.append(without_length(HALF))
    bring(server, tmp_path / "weights.bin", expected_bytes=len(BODY))
    server.faults.append(without_length(len(BODY)))
    with pytest.raises(Failed, match=f"{HALF:,} expected"):
        bring(server, tmp_path / "weights.bin", expected_bytes=HALF)


def test_a_redirect_that_gives_up_encryption_is_refused():
    step, answer = requests.Response(), requests.Response()
    step.url, answer.url = "https://hub.example/weights.bin", "http://storage.example/weights.bin"
    answer.status_code, answer.history = 200, [step]
    with refused("https to http", error=Failed):
        fetch_module._check_answer(answer)


def test_what_fails_the_check_does_not_stay(server, tmp_path):
    def refuse(sha256):
        assert not (tmp_path / "weights.bin").exists()
        raise InputError(f"found {sha256}")

    with pytest.raises(InputError, match=f"found {hashlib.sha256(BODY).hexdigest()}"):
        bring(server, tmp_path / "weights.bin", check=refuse)
    assert os.listdir(tmp_path) == []


DOWNLOAD = """
import sys
from pathlib import Path
from planner_r1.downloads.fetch import Place, fetch
from planner_r1.downloads.progress import Progress

class Loud(Progress):
    def add(self, came, have, total):
        print(have, flush=True)

fetch(Place(sys.argv[1]), Path(sys.argv[2]), progress=Loud("weights.bin"))
"""


def test_a_killed_download_goes_on_where_it_was(server, tmp_path):
    path = tmp_path / "weights.bin"
    free = threading.Event()
    server.faults.append(held(HALF, threading.Event(), free))
    command = [sys.executable, "-c", DOWNLOAD, f"{server.url}/weights.bin", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        for line in process.stdout:
            if int(line) == HALF:
                break
        with refused(path, "process"):
            fetch(Place(f"{server.url}/weights.bin"), path)
        process.send_signal(signal.SIGKILL)
    free.set()
    assert sorted(os.listdir(tmp_path)) == ["weights.bin.part", "weights.bin.part.json"]
    bring(server, path)
    assert server.asked[-1].range == f"bytes={HALF}-"
    assert server.sent == len(BODY)


def test_a_download_killed_before_its_last_step_asks_for_nothing_more(server, tmp_path):
    class Killed(BaseException):
        pass

    def die(sha256):
        raise Killed

    with pytest.raises(Killed):
        bring(server, tmp_path / "weights.bin", check=die)
    bring(server, tmp_path / "weights.bin")
    assert len(server.asked) == 1


@pytest.mark.parametrize("form", ["file://{}", "file:{}", "{}"])
def test_a_file_of_this_machine_is_copied(tmp_path, form):
    source = tmp_path / "mirror" / "weights.bin"
    source.parent.mkdir()
    source.write_bytes(BODY)
    path = tmp_path / "data" / "weights.bin"
    fetch(Place(form.format(source)), path, expected_bytes=len(BODY))
    assert path.read_bytes() == BODY and os.listdir(path.parent) == [path.name]
    with pytest.raises(Failed, match="no such file"):
        fetch(Place(form.format(source) + "x"), tmp_path / "data" / "other")


def test_the_home_folder_may_be_written_short(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "weights.bin").write_bytes(BODY)
    fetch(Place("~/weights.bin"), tmp_path / "data" / "weights.bin")
    assert (tmp_path / "data" / "weights.bin").read_bytes() == BODY


def test_a_password_in_a_url_is_not_shown():
    place = Place("https://me:secret@mirror.example/data/weights.bin", {"Authorization": "Bearer secret"})
    assert place.shown == "https://mirror.example/data/weights.bin"
    assert "Bearer" not in repr(place)
