"""The catalogue of what is downloaded: `config/sources.yaml`, checked and typed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import yaml
from jsonschema import Draft202012Validator

from planner_r1.errors import InputError

CATALOGUE = Path("config/sources.yaml")
SCHEMA_FILE = Path(__file__).resolve().parents[1] / "schemas" / "sources.schema.json"
DATA = Path("data")  # where everything goes; a link to a larger disk will do


@dataclass(frozen=True)
class File:
    """A file of a source: where it goes, the URL of the pinned revision, its size in bytes and its SHA-256 (None where
    it is not known before the first download)."""

    path: Path
    url: str
    bytes: int | None
    sha256: str | None

    @property
    def place(self) -> str:
        """Where it lies below `data`, which is also where a mirror holds it."""
        return self.path.relative_to(DATA).as_posix()


@dataclass(frozen=True)
class Member:
    """A file that comes out of a source's archive: where it goes, its name in the archive, its size in bytes."""

    path: Path
    archive: File
    name: str
    bytes: int | None


@dataclass(frozen=True)
class Source:
    """One thing that is downloaded: a benchmark's files, a model's weights."""

    name: str
    description: str
    licence: str
    revision: str | None
    files: tuple[File, ...]
    members: tuple[Member, ...]

    @property
    def wanted(self) -> tuple[Path, ...]:
        """The files that readers want: those of the source, the members in place of their archive."""
        archives = {member.archive.path for member in self.members}
        plain = (file.path for file in self.files if file.path not in archives)
        return (*plain, *(member.path for member in self.members))

    @property
    def bytes(self) -> int:
        """Its size where it is known."""
        return sum(file.bytes or 0 for file in self.files)


class Catalogue:
    """Every source by name."""

    def __init__(self, sources: dict[str, Source]):
        self.sources = sources

    @cached_property
    def files(self) -> dict[str, File]:
        """What is downloaded, by path."""
        return {str(file.path): file for source in self.sources.values() for file in source.files}

    @cached_property
    def members(self) -> dict[str, Member]:
        """What comes out of archives, by path."""
        return {str(member.path): member for source in self.sources.values() for member in source.members}

    def holds(self, path: str | Path) -> bool:
        """Whether a file can be had by a download."""
        return str(Path(path)) in self.files or str(Path(path)) in self.members

    def source(self, name: str) -> Source:
        """A source by name.

        Raises:
            InputError: there is none of this name.
        """
        if name not in self.sources:
            raise InputError(f"no source '{name}'; {CATALOGUE} knows {', '.join(self.sources)}")
        return self.sources[name]

    def source_of(self, path: Path) -> Source:
        """The source that a file belongs to."""
        return next(source for source in self.sources.values() if path in {file.path for file in source.files})

    def wanted_below(self, folder: str | Path) -> list[str]:
        """The files that readers want in a folder, such as a model's."""
        wanted = (path for source in self.sources.values() for path in source.wanted)
        return [str(path) for path in wanted if path.is_relative_to(folder)]


def load_catalogue(path: Path = CATALOGUE) -> Catalogue:
    """Read and check the catalogue.

    Raises:
        InputError: the file is missing or does not fit `schemas/sources.schema.json`, or two files of it would lie at
            one place.
    """
    try:
        sources = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run this from the root of the repository") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a YAML file ({' '.join(str(error).split())})") from None
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    errors = sorted(Draft202012Validator(schema).iter_errors(sources), key=lambda error: list(map(str, error.path)))
    if errors:
        where = ".".join(map(str, errors[0].absolute_path)) or "the file"
        raise InputError(f"{path}: {where}: {errors[0].message}")
    catalogue = Catalogue({name: _source(path, name, entry) for name, entry in sources.items()})
    taken: dict[Path, str] = {}
    for source in catalogue.sources.values():
        for file in (*source.files, *source.members):
            if file.path in taken:
                raise InputError(f"{path}: {source.name}: {file.path} is {taken[file.path]}'s already")
            taken[file.path] = source.name
    return catalogue


def _source(path: Path, name: str, entry: dict) -> Source:
    files, members = [], []
    for record in entry["files"]:
        place = record.get("to", record["name"])
        url = entry["url"].replace("{revision}", entry["revision"] or "").replace("{name}", record["name"])
        file = File(_below(path, name, entry["folder"], place), url, record["bytes"], record["sha256"])
        files.append(file)
        for member in record.get("members", []):
            target = _below(path, name, entry["folder"], member["name"])
            members.append(Member(target, file, member["name"], member["bytes"]))
    if "{revision}" in entry["url"] and not entry["revision"]:
        raise InputError(f"{path}: {name}.revision: missing; the URL names it")
    return Source(name, entry["description"], entry["licence"], entry["revision"], tuple(files), tuple(members))


def _below(path: Path, source: str, folder: str, name: str) -> Path:
    place = PurePosixPath(folder, name)
    if place.is_absolute() or ".." in place.parts:
        raise InputError(
            f"{path}: {source}: {place} does not lie below {DATA}/; give names without '..' or a first '/'"
        )
    return DATA / place
