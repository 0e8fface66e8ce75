"""Which extra of pyproject.toml brings in a module that the light installation lacks."""

from __future__ import annotations

MODULES = {
    "train": "hydra omegaconf psutil ray tensordict tokenizers torch transfer_queue transformers verl",
    "pipeline": ("emoji if_verifiable langdetect nltk openai punkt pycrfsuite pythainlp requests snakemake urllib3"),
    "paper": "PIL jupyter_client matplotlib mistune nbconvert papermill scipy",
}


def how_to_install(module: str) -> str | None:
    """The command that brings in a missing module; None for one that no extra has."""
    top = module.partition(".")[0]
    extra = next((extra for extra, modules in MODULES.items() if top in modules.split()), None)
    return f"pip install 'planner-r1-repro[{extra}]'" if extra else None
