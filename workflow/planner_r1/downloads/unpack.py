"""One member of an archive, taken out by its name.

Nothing in the archive decides where anything is written: the catalogue names the members and their places. What an
archive could still do is to hold a link, a name twice, or more data than it says; all three are refused.
"""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from pathlib import Path

from planner_r1.errors import InputError

LARGEST = 2 << 30  # bytes of a member whose size is not known before
BLOCK = 1 << 20


def unpack(archive: Path, name: str, path: Path, expected_bytes: int | None = None) -> None:
    """Write the member `name` of a ZIP archive to `path`, whole or not at all.

    Raises:
        InputError: the archive is damaged or locked, has no such member or has it twice, holds a link in its place, or
            the member has another size.
    """
    where = f"{archive}, member {name}"
    limit = LARGEST if expected_bytes is None else expected_bytes
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    try:
        with zipfile.ZipFile(archive) as opened:
            found = [info for info in opened.infolist() if info.filename == name]
            if len(found) != 1:
                raise InputError(f"{where}: found {len(found)} times in the archive, once expected")
            if stat.S_ISLNK(found[0].external_attr >> 16):
                raise InputError(f"{where}: is a link; a file is expected")
            with opened.open(found[0]) as source, open(draft, "wb") as target:
                written = 0
                while block := source.read(BLOCK):
                    written += len(block)
                    if written > limit:
                        raise InputError(f"{where}: is larger than the {limit:,} bytes expected")
                    target.write(block)
                target.flush()
                os.fsync(target.fileno())
        if expected_bytes is not None and written != expected_bytes:
            raise InputError(f"{where}: has {written:,} bytes, {expected_bytes:,} expected")
        os.replace(draft, path)
    except FileNotFoundError:
        raise InputError(f"{archive}: no such archive") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{where}: cannot be unpacked ({error}); remove the archive to download it anew") from None
    finally:
        draft.unlink(missing_ok=True)
