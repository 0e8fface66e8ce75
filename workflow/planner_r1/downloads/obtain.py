"""One file of the catalogue: from the mirror or its origin, checked, or one message that says what to do."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from planner_r1.downloads.fetch import TIMEOUT, Failed, Place, fetch
from planner_r1.downloads.progress import Progress, amount
from planner_r1.downloads.record import LOCK_FILE, record, recorded
from planner_r1.downloads.sources import CATALOGUE, Catalogue, File, Source
from planner_r1.downloads.unpack import unpack
from planner_r1.errors import InputError

MIRROR = "PLANNER_R1_MIRROR"  # a folder or URL that holds what `data` does, by the same names
HUB = "https://huggingface.co"


def obtain(
    catalogue: Catalogue,
    path: Path,
    timeout: tuple[float, float] = TIMEOUT,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Download a file of the catalogue, if it is not there.

    The places that are tried in turn: the mirror of PLANNER_R1_MIRROR, then the source's own URL; HF_ENDPOINT stands in
    for the hub's host, and HF_TOKEN is sent to it and to no other.

    Raises:
        InputError: there is no room, no place gives the file, or what came is not the file that is pinned.
    """
    if path.exists():
        return
    file = catalogue.files[str(path)]
    _check_room(catalogue.source_of(path))
    known = file.sha256 or recorded(file.place)
    progress = Progress(file.place)
    reasons = []
    for place in places(file):
        progress.say(f"from {place.shown}" + (f", {amount(file.bytes)}" if file.bytes else ""))
        try:
            sha256 = fetch(
                place,
                path,
                expected_bytes=file.bytes,
                check=lambda found, place=place: _check_hash(file, place, known, found),
                progress=progress,
                timeout=timeout,
                wait=wait,
            )
        except Failed as failed:
            reasons.append(f"{place.shown}: {failed}")
            continue
        progress.say(f"{amount(path.stat().st_size)}, sha256 {sha256}")
        if known is None:
            record(file.place, place.shown, sha256, path.stat().st_size)
        return
    raise InputError(_by_hand(file, reasons, known))


def obtain_source(catalogue: Catalogue, source: Source) -> None:
    """Download what is not there of a source, and unpack its archives.

    Raises:
        InputError: as `obtain` and `unpack` do.
    """
    members = [member for member in source.members if not member.path.exists()]
    archives = {member.archive.path for member in source.members}
    for file in source.files:
        if file.path not in archives or any(member.archive == file for member in members):
            obtain(catalogue, file.path)
    for member in members:
        unpack(member.archive.path, member.name, member.path, member.bytes)


def places(file: File) -> list[Place]:
    """Where a file is looked for, in order."""
    found = []
    if mirror := os.environ.get(MIRROR):
        found.append(Place(f"{mirror.rstrip('/')}/{file.place}"))
    if not file.url.startswith(f"{HUB}/"):
        return [*found, Place(file.url)]
    endpoint, token = os.environ.get("HF_ENDPOINT", HUB).rstrip("/"), os.environ.get("HF_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return [*found, Place(endpoint + file.url.removeprefix(HUB), headers)]


def _check_room(source: Source) -> None:
    """Refuse to begin a source that the disk has no room for.

    Raises:
        InputError: saying what is needed and what is free.
    """
    needed = 0
    for file in source.files:
        part = file.path.with_name(file.path.name + ".part")
        if not file.path.exists():
            needed += (file.bytes or 0) - (part.stat().st_size if part.exists() else 0)
    needed += sum(member.bytes or 0 for member in source.members if not member.path.exists())
    folder = next(parent for parent in source.files[0].path.absolute().parents if parent.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"{source.name}: {amount(needed)} are still to come, {amount(free)} are free in {folder}; make room, or "
            "let data be a link to a larger disk"
        )


def _check_hash(file: File, place: Place, expected: str | None, found: str) -> None:
    if expected is None or found == expected:
        return
    pinned = CATALOGUE if file.sha256 else LOCK_FILE
    raise InputError(
        f"{file.path}: {place.shown} gave a file with sha256 {found}, but {pinned} says {expected}; it was removed. "
        "Try again in case it was damaged on the way; if its publisher changed it, results would not be comparable: "
        f"use a mirror ({MIRROR}) that has the file as it was, or, knowing that, put the new hash into {pinned}"
    )


def _by_hand(file: File, reasons: list[str], known: str | None) -> str:
    return (
        f"{file.path}: could not be downloaded ({'; '.join(reasons)}). Without access to the internet: fetch "
        f"{file.url} elsewhere and put it to {file.path}"
        + (f" (sha256 {known})" if known else "")
        + f", or set {MIRROR} to a folder or URL that holds it as {file.place}"
    )
