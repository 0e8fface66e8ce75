"""verl's checkpoint folders: which are whole, where a rerun starts, which are kept, and their weights for others.

verl writes `<root>/global_step_<N>/` and then the number into `<root>/latest_checkpointed_iteration.txt`, from which
it resumes. A process killed in between leaves a folder that is not whole; a marker written last tells the two apart.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path

LATEST = "latest_checkpointed_iteration.txt"
MARKER = "complete.json"
PARTS = ("model", "optim", "extra_state")  # that every rank writes in a file of its own
KEEP = 2  # the newest, and one to fall back on


def folder(root: Path, step: int) -> Path:
    return root / f"global_step_{step}"


def mark_complete(checkpoint: Path) -> None:
    """Note every file of a checkpoint with its size; to be called when all of them are written."""
    files = {str(p.relative_to(checkpoint)): p.stat().st_size for p in checkpoint.rglob("*") if p.is_file()}
    files.pop(MARKER, None)
    write_atomically(checkpoint / MARKER, json.dumps(files, indent=1))


def is_complete(checkpoint: Path) -> bool:
    """Whether a checkpoint was marked and still has all its files at their sizes."""
    try:
        files = json.loads((checkpoint / MARKER).read_text(encoding="utf-8"))
        return all((checkpoint / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError):
        return False


def complete_steps(root: Path) -> list[int]:
    """The steps of the whole checkpoints, ascending."""
    return [step for step in _steps(root) if is_complete(folder(root, step))]


def resume_from(root: Path, step: int) -> None:
    """Have verl resume from `step` (0: start afresh), and delete checkpoints of later steps: they are about to be
    written anew, and must not be written into files that exports share."""
    for later in _steps(root):
        if later > step:
            shutil.rmtree(folder(root, later))
    if step:
        write_atomically(root / LATEST, str(step))
    else:
        (root / LATEST).unlink(missing_ok=True)


def prune(root: Path, keep: int = KEEP) -> None:
    """Delete all checkpoints up to the newest whole ones, of which `keep` (at least 1) stay."""
    kept = complete_steps(root)[-keep:]
    for step in _steps(root):
        if kept and step < kept[-1] and step not in kept:
            shutil.rmtree(folder(root, step))


def export(checkpoint: Path, out: Path, model: str = "actor/huggingface") -> None:
    """Copy the weights, tokenizer and chat template that verl saved for Hugging Face, in the folder `model` of a
    checkpoint, to `out`, whole or not at all.

    The weights take no further room (see `copy_model`). verl writes them in the trainer's precision, but "bfloat16"
    into the configuration, and the name of the trainer's own attention, which no other program knows: corrected here.
    """
    unfinished = out.with_name(out.name + ".unfinished")
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(unfinished, ignore_errors=True)
    copy_model(checkpoint / model, unfinished)
    config_path = unfinished / "config.json"
    config = json.loads(config_path.read_text(encoding="utf-8"))
    for key in ("torch_dtype", "attn_implementation", "_attn_implementation"):
        config.pop(key, None)
    config["dtype"] = weights_dtype(unfinished)
    config_path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    unfinished.rename(out)


def has_weights(checkpoint: Path, model: str = "actor/huggingface") -> bool:
    """Whether a checkpoint was saved with weights for others."""
    return any((checkpoint / model).glob("*.safetensors"))


def missing_shards(checkpoint: Path, ranks: int) -> list[str]:
    """The files that each rank writes into a checkpoint and that a listing of its folder does not show on this machine:
    what is marked as whole is what is listed."""
    listed = set(os.listdir(checkpoint / "actor"))
    names = (f"{part}_world_size_{ranks}_rank_{rank}.pt" for rank in range(ranks) for part in PARTS)
    return [name for name in names if name not in listed]


def copy_model(source: Path, out: Path) -> None:
    """Copy a model's folder. Its weights become a second name of the same file where the file system has that: they
    are never changed, only replaced. Everything else is small, and copied."""
    shutil.copytree(source, out, copy_function=_link_weights)


def _link_weights(source: str, out: str) -> None:
    if source.endswith(".safetensors"):
        try:
            return os.link(source, out)
        except OSError:  # another file system, or one without links
            pass
    shutil.copy2(source, out)


def weights_dtype(model: Path) -> str:
    """The precision of the weights in a model's folder (`float32`, `bfloat16`), from the header of its first file."""
    names = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
    path = sorted(model.glob("*.safetensors"))[0]
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    kinds = {entry["dtype"] for name, entry in header.items() if name != "__metadata__"}
    if len(kinds) != 1 or not kinds <= set(names):
        raise ValueError(f"{path}: expected weights of one precision, found {sorted(kinds)}")
    return names[kinds.pop()]


def write_atomically(path: Path, text: str) -> None:
    """Replace a file so that a reader or a kill never sees half of it."""
    unfinished = path.with_name(path.name + ".unfinished")
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


def _steps(root: Path) -> list[int]:
    numbers = (p.name.removeprefix("global_step_") for p in root.glob("global_step_*"))
    return sorted(int(n) for n in numbers if n.isdigit())
