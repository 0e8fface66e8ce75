"""The arguments of the pinned sglang's server, known without sglang.

    python -m planner_r1.training.sglang_arguments FOLDER_OF_SGLANG

writes `schemas/sglang_arguments.json` anew from the sources of a version, which it reads and does not import. verl
hands what stands below `engine_kwargs.sglang` to the server as it is, which refuses an unknown name minutes later.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Collection
from difflib import get_close_matches
from functools import cache
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "schemas" / "sglang_arguments.json"


@cache
def known() -> frozenset[str]:
    """Names that may stand below `engine_kwargs.sglang`."""
    return frozenset(json.loads(FILE.read_text(encoding="utf-8"))["arguments"])


def nearest(name: str) -> str | None:
    """The known name that was probably meant."""
    return next(iter(get_close_matches(name, known(), n=1, cutoff=0.75)), None)


def read_arguments(folder: Path) -> list[str]:
    """The fields of `ServerArgs` in an unpacked sglang, sorted."""
    tree = ast.parse((folder / "srt" / "server_args.py").read_text(encoding="utf-8"))
    (declared,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ServerArgs")
    fields = (node.target.id for node in declared.body if isinstance(node, ast.AnnAssign))
    return sorted(fields)


def write(arguments: Collection[str], version: str) -> None:
    text = json.dumps({"sglang": version, "arguments": sorted(arguments)}, indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    source = Path(sys.argv[1])
    (about,) = source.parent.glob("sglang-*.dist-info")
    write(read_arguments(source), about.name.removeprefix("sglang-").removesuffix(".dist-info"))
