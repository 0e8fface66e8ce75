"""One file from one place: resumed where an earlier attempt broke off, retried, whole or not there at all.

What has come lies in `<file>.part`, and `<file>.part.json` says of which URL and of which version of it. A part is
continued only where the server confirms that its file is still that version (RFC 9110: If-Range with a strong ETag or
a date); otherwise the download starts anew, so that two versions are never spliced.
"""

from __future__ import annotations

import email.utils
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests
import urllib3
from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema, SSLError, TooManyRedirects

from planner_r1.downloads.progress import Progress, amount
from planner_r1.errors import InputError

BLOCK = 1 << 18
TIMEOUT = (20.0, 60.0)  # seconds to connect, and without a byte
TRIES = 6  # attempts in a row that bring nothing
LONGEST_WAIT = 3600  # seconds; a server that asks for more is not waited for
BUSY = (408, 425, 429, 500, 502, 503, 504)


class Failed(Exception):
    """This place does not give the file; the message says why. Another place may."""


class _Interrupted(Exception):
    """The transfer broke off and may be continued, after `wait` seconds where the server asked for a time."""

    def __init__(self, why: str, wait: float | None = None):
        super().__init__(why)
        self.wait = wait


@dataclass(frozen=True)
class Place:
    """Where a file is to be had: an http(s) or `file:` URL, or a path of this machine; headers go to its host only."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        """The URL for people and files, without a user's name and password."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def local(self) -> Path | None:
        """The path, where the place is on this machine."""
        parts = urlsplit(self.url)
        if parts.scheme == "file":
            return Path(unquote(parts.path))
        return None if "://" in self.url else Path(self.url).expanduser()


def fetch(
    place: Place,
    path: Path,
    *,
    expected_bytes: int | None = None,
    check: Callable[[str], None] = lambda sha256: None,
    progress: Progress | None = None,
    timeout: tuple[float, float] = TIMEOUT,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Bring a file from `place` to `path` and return its SHA-256.

    Args:
        expected_bytes: its size, where it is known; another one is refused before it is transferred.
        check: called with the SHA-256 of what came before it is moved to `path`; where it raises, what came is removed.
        timeout: seconds to connect, and seconds without a byte, after which the transfer counts as broken off.
        wait: how to pass the time before another attempt.

    Raises:
        Failed: the place does not give the file.
        InputError: another process is downloading it.
    """
    progress = progress or Progress(path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _Part(path) as part:
        if place.local:
            _copy(place.local, part, expected_bytes)
        else:
            _download(place, part, expected_bytes, progress, timeout, wait)
        sha256 = part.sha256()
        try:
            check(sha256)
        except InputError:
            part.remove()
            raise
        part.move()
    return sha256


class _Part:
    """What has come of a file, and of which version of it."""

    def __init__(self, path: Path):
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._note = path.with_name(path.name + ".part.json")

    def __enter__(self) -> _Part:
        self.file = open(self._part, "ab")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise InputError(f"{self._path}: another process is downloading it; wait for it to end") from None
        try:
            self._version = json.loads(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._version = {}
        return self

    def __exit__(self, *_) -> None:
        self.file.close()
        if self._part.exists() and not self._part.stat().st_size:
            self.remove()

    @property
    def bytes(self) -> int:
        return self.file.tell()

    @property
    def total(self) -> int | None:
        """The size that the server gave for the version that the part is of."""
        return self._version.get("total")

    def whole(self, url: str) -> bool:
        return self._version.get("url") == url and self.total is not None and self.bytes == self.total

    def range(self, url: str) -> dict[str, str]:
        """Headers that ask for the rest, if it is still of the same version; the part is dropped where that cannot be
        asked."""
        if not self.bytes:
            return {}
        if self._version.get("url") != url or not self._version.get("validator"):
            self.clear()
            return {}
        return {"Range": f"bytes={self.bytes}-", "If-Range": self._version["validator"]}

    def begin(self, url: str, validator: str | None, total: int | None) -> None:
        """Start anew with a version of the file."""
        self.clear()
        self._version = {"url": url, "validator": validator, "total": total}
        self._note.write_text(json.dumps(self._version) + "\n", encoding="utf-8")

    def add(self, block: bytes) -> None:
        self.file.write(block)
        self.file.flush()

    def same_version(self, validator: str | None) -> bool:
        return validator in (None, self._version["validator"])

    def clear(self) -> None:
        self.file.truncate(0)
        self.file.seek(0)

    def sha256(self) -> str:
        self.file.flush()
        os.fsync(self.file.fileno())
        with open(self._part, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def move(self) -> None:
        """Put the whole file into its place, in one step and seen on the disk."""
        os.replace(self._part, self._path)
        self._note.unlink(missing_ok=True)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def remove(self) -> None:
        self._part.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)


def _copy(source: Path, part: _Part, expected_bytes: int | None) -> None:
    part.clear()
    try:
        with open(source, "rb") as file:
            _check_size(os.fstat(file.fileno()).st_size, expected_bytes)
            shutil.copyfileobj(file, part.file, BLOCK)
    except FileNotFoundError:
        raise Failed("no such file") from None
    except IsADirectoryError:
        raise Failed("is a folder") from None
    except PermissionError:
        raise Failed("may not be read") from None


def _download(place: Place, part: _Part, expected_bytes, progress: Progress, timeout, wait) -> None:
    idle = 0
    with requests.Session() as session:
        while not part.whole(place.url):
            before = part.bytes
            try:
                _transfer(session, place, part, expected_bytes, progress, timeout)
                return
            except _Interrupted as broken:
                idle = 0 if part.bytes > before else idle + 1
                if idle == TRIES:
                    raise Failed(f"{broken} ({TRIES} attempts)") from None
                seconds = min(2**idle, 60) if broken.wait is None else broken.wait
                if seconds > LONGEST_WAIT:
                    raise Failed(f"{broken}; the server asks to wait for {seconds:.0f} seconds") from None
                progress.say(f"{broken}; going on in {seconds:.0f} s ({amount(part.bytes)} are here)")
                wait(seconds)


def _transfer(session: requests.Session, place: Place, part: _Part, expected_bytes, progress, timeout) -> None:
    """One request: take the whole file, or what is missing of it."""
    headers = {"Accept-Encoding": "identity", **place.headers, **part.range(place.url)}
    try:
        with session.get(place.url, headers=headers, stream=True, timeout=timeout) as answer:
            _check_answer(answer)
            _begin(answer, place, part, expected_bytes)
            # what has come so far, not a full block: nothing is lost where the connection breaks off
            while block := answer.raw.read1(BLOCK, decode_content=False):
                part.add(block)
                if part.total is None and part.bytes > (expected_bytes or part.bytes):
                    _check_size(part.bytes, expected_bytes)
                progress.add(len(block), part.bytes, part.total)
    except (InvalidSchema, InvalidURL, MissingSchema, SSLError, TooManyRedirects) as error:
        raise Failed(_reason(error)) from None
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _Interrupted(_reason(error)) from None
    if (total := part.total or expected_bytes) and part.bytes != total:
        raise _Interrupted(f"the connection ended after {amount(part.bytes)} of {amount(total)}")


def _check_answer(answer: requests.Response) -> None:
    """Refuse an answer that does not bring the file."""
    code = answer.status_code
    if any(urlsplit(step.url).scheme == "https" for step in answer.history) and answer.url.startswith("http:"):
        raise Failed("is redirected from https to http, which anybody on the way could change")
    if code in BUSY:
        raise _Interrupted(f"the server is busy (status {code})", _retry_after(answer.headers.get("Retry-After")))
    if code in (401, 403):
        raise Failed(f"access is denied (status {code}); where the hub asks for a login, set HF_TOKEN")
    if code in (404, 410):
        raise Failed(f"there is no such file (status {code})")
    if code not in (200, 206, 416):
        raise Failed(f"the server answers with status {code}")
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise Failed("the server sends it compressed although it was asked not to")
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        raise Failed("a web page comes in place of the file (a login, a warning, or the network's own page)")


def _begin(answer: requests.Response, place: Place, part: _Part, expected_bytes: int | None) -> None:
    """Continue the part, or start it anew."""
    validator = _validator(answer.headers)
    if answer.status_code == 200:
        total = answer.headers.get("Content-Length")
        total = int(total) if total and total.isdigit() else None
        if total is not None:
            _check_size(total, expected_bytes)
        part.begin(place.url, validator, total)
        return
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
    if answer.status_code == 416 or not found or int(found[1]) != part.bytes or not part.same_version(validator):
        part.clear()
        raise _Interrupted("the file has changed since the download began; starting anew", wait=0)


def _check_size(found: int, expected: int | None) -> None:
    if expected is not None and found != expected:
        raise Failed(f"has {found:,} bytes, {expected:,} expected: it is another file")


def _validator(headers: Mapping[str, str]) -> str | None:
    """What names this version of the file, strongly enough to continue by it."""
    tag = headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


def _retry_after(text: str | None) -> float | None:
    """Seconds from a Retry-After header, which holds seconds or a date."""
    if not text:
        return None
    if text.strip().isdigit():
        return float(text)
    with suppress(ValueError):
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    return None


def _reason(error: Exception) -> str:
    """A network error in a few words: the innermost one says what happened."""
    inner: BaseException | None = error
    while inner is not None:
        error = inner
        reason = getattr(error, "reason", None)
        inner = reason if isinstance(reason, Exception) else error.__cause__ or error.__context__
    return " ".join(str(error).split()) or type(error).__name__
