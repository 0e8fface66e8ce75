"""A model's folder: whole weights, the expected architecture, a tokenizer that can hand over the tools."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

from planner_r1.downloads.record import recorded
from planner_r1.downloads.sources import load_catalogue
from planner_r1.paper.flops import Shape, known_shape
from planner_r1.preflight.result import Result, Subject, fail, ok, warn
from planner_r1.sandbox.tools import TOOL_SCHEMAS

INDEX = "model.safetensors.index.json"
TAGS = ("<tool_call>", "<tool_response>")


def check_models(subject: Subject) -> Iterator[Result]:
    """The folders of the models that are trained or evaluated here."""
    for model in subject.models:
        folder = subject.model_folder(model)
        if subject.study.endpoint(model):
            continue
        if folder is None:
            yield ok(f"model {model}", "made by the study itself")
        elif not folder.is_dir():
            if load_catalogue().wanted_below(folder):
                said = f"no folder {folder}; the study downloads it, or `planner-r1 download` does now"
                yield warn(f"model {model}", said)
            else:
                yield fail(f"model {model}", f"no folder {folder}; put the model there, or change models.{model}.path")
        else:
            yield from check_weights(model, folder)
            yield check_hashes(model, folder, subject.study.model_path(model))
            yield check_architecture(model, folder)
            yield check_tokenizer(model, folder)


def check_weights(model: str, folder: Path) -> Iterator[Result]:
    """Every file of the index is there, has the size that its own header says, and holds the tensors of the index."""
    check = f"weights of {model}"
    try:
        files = _tensors_by_file(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        yield fail(check, f"{folder}/{INDEX} cannot be read ({error}); download it again")
        return
    if not files:
        yield fail(check, f"{folder} holds no *.safetensors file; download the weights")
        return
    faults = [f"{name} {why}" for name, tensors in sorted(files.items()) if (why := _broken(folder / name, tensors))]
    for fault in faults:
        yield fail(check, f"{folder}/{fault}; remove that file and download it again")
    if not faults:
        size = sum((folder / name).stat().st_size for name in files)
        yield ok(check, f"{len(files)} files, {size / 1e9:,.1f} GB, each whole")


def check_hashes(model: str, folder: Path, given: str | None) -> Result:
    """The files are those that are pinned; hashes that the study took when it linked the model are not taken again."""
    check, catalogue = f"files of {model}", load_catalogue()
    manifest = folder / "MANIFEST.json"
    if given is None or not manifest.is_file():
        return ok(check, "hashes are compared once the study has linked the model")
    found = json.loads(manifest.read_text(encoding="utf-8"))["files"]
    wrong, known = [], 0
    for path, file in catalogue.files.items():
        pinned = file.sha256 or recorded(file.place)
        if pinned is None or Path(path).parent != Path(given):
            continue
        known += 1
        if (hashed := found.get(file.path.name, {}).get("sha256")) != pinned:
            wrong.append(f"{file.path.name} ({hashed or 'missing'})")
    if wrong:
        return fail(check, f"{given}: not as config/sources.yaml pins them: {', '.join(wrong)}; download them again")
    return ok(check, f"{known} as pinned" if known else "no hashes are pinned")


def check_architecture(model: str, folder: Path) -> Result:
    """A dense Qwen3, with the sizes of the paper's model where it bears that name."""
    check = f"architecture of {model}"
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        shape, kind = Shape.from_config(config), config["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return fail(check, f"{folder}/config.json cannot be read ({error!r}); download it again")
    if kind != "qwen3" or "Qwen3ForCausalLM" not in (config.get("architectures") or []):
        return fail(check, f"{folder}/config.json: expected a dense Qwen3, found {kind} {config.get('architectures')}")
    expected = known_shape(model)
    if expected and shape != expected:
        return fail(check, f"{folder}/config.json: these are not the sizes of {model}: {shape}, expected {expected}")
    return ok(check, f"Qwen3, {shape.layers} layers, {shape.parameters / 1e9:.3g} billion parameters")


def check_tokenizer(model: str, folder: Path) -> Result:
    """The chat template shows every tool and its reply, and the tags around them survive decoding."""
    from transformers import AutoTokenizer

    check = f"tokenizer of {model}"
    messages = [
        {"role": "system", "content": "Plan."},
        {"role": "user", "content": "A trip."},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "a_tool", "arguments": {"a": 1}}}]},
        {"role": "tool", "content": "a reply"},
    ]
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        options = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
        text = tokenizer.apply_chat_template(messages, tools=TOOL_SCHEMAS, **options)
    except Exception as error:  # whatever a broken tokenizer or template raises is the finding
        return fail(check, f"{folder}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    names = [schema["function"]["name"] for schema in TOOL_SCHEMAS]
    if missing := [name for name in (*names, "a_tool", "a reply", *TAGS) if name not in text]:
        return fail(check, f"{folder}: its chat template does not show {', '.join(missing)}; take the model's own")
    if special := [tag for tag in TAGS if tag in tokenizer.all_special_tokens]:
        return fail(check, f"{folder}: {', '.join(special)} would be lost in decoding; they must not be special tokens")
    return ok(check, f"{len(tokenizer):,} tokens, the chat template shows the {len(names)} tools")


def _tensors_by_file(folder: Path) -> dict[str, set[str] | None]:
    """The tensors that the index expects in each file of weights; None where there is no index."""
    if not (folder / INDEX).is_file():
        return {path.name: None for path in folder.glob("*.safetensors")}
    files: dict[str, set[str] | None] = {}
    for tensor, name in json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].items():
        files.setdefault(name, set()).add(tensor)
    return files


def _broken(path: Path, tensors: set[str] | None) -> str | None:
    """What is wrong with a file of weights, or None: its header says where each tensor ends, and so its size."""
    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            length = struct.unpack("<Q", file.read(8))[0]
            header = json.loads(file.read(min(length, size)))
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        expected = 8 + length + max((entry["data_offsets"][1] for entry in entries.values()), default=0)
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error):
        return "is cut off or no safetensors file"
    if size != expected:
        return f"has {size:,} bytes, expected {expected:,}"
    if missing := (tensors or set()) - set(entries):
        return f"lacks {len(missing)} tensors of the index, such as {min(missing)}"
    return None
