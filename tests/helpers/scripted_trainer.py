"""Episodes of verl's own agent loop, in which only the model is a script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from helpers.tiny_model import TinyStudy
from planner_r1.sandbox.store import Store
from planner_r1.training.verl_files import write_agent_loop_config, write_tool_config


class Script:
    """Stands for the model: says one text after the other, and keeps the prompts that it was given."""

    def __init__(self, tokenizer, texts):
        self.tokenizer, self.texts, self.prompts = tokenizer, list(texts), []

    async def generate(self, request_id, prompt_ids, sampling_params, **_):
        from verl.workers.rollout.replica import TokenOutput

        self.prompts.append(list(prompt_ids))
        ids = self.tokenizer.encode(self.texts.pop(0) + "<|im_end|>", add_special_tokens=False)
        extra = {"min_global_steps": 1, "max_global_steps": 1}
        return TokenOutput(token_ids=ids, log_probs=[-1.0] * len(ids), extra_fields=extra)


def open_store(study: TinyStudy, monkeypatch) -> Store:
    """The study's store, and the same one for verl's tools in this process."""
    from planner_r1.training import tools

    monkeypatch.setenv(tools.STORE_VARIABLE, str(study.store))
    tools.store.cache_clear()
    return Store.open(study.store)


def make_player(study: TinyStudy, tokenizer, folder: Path, noise: dict | None = None, seed: int = 0) -> Callable:
    """A function that plays an episode of the given turns (`turns`, `tokens`, `overrides`: its limits; `row`: the
    query's place in the train rows; `session`, `step`: its place in the group, and the step of training; `split`: what
    the row says of it) and returns verl's output and the script. `noise`: what goes wrong in a run of that seed."""
    import hydra
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap
    from verl.tools.tool_registry import load_all_tools
    from verl.utils.dataset.rl_dataset import RLHFDataset

    from planner_r1.training.config import compose_config

    write_tool_config(folder / "tools.yaml")
    write_agent_loop_config(folder / "loops.yaml", noise, seed)
    tools = load_all_tools(str(folder / "tools.yaml"), None)
    (loop_config,) = OmegaConf.load(folder / "loops.yaml")
    rows = pq.read_table(study.train).to_pylist()

    def run(*texts, turns=6, tokens=4000, row=0, overrides=None, session=0, step=1, split="train"):
        limits = {
            "data.max_prompt_length": 2000,
            "data.max_response_length": tokens,
            "actor_rollout_ref.rollout.multi_turn.max_assistant_turns": turns,
        }
        config = compose_config("cpu", limits | (overrides or {}), {})
        script = Script(tokenizer, texts)

        async def episode():
            loop = hydra.utils.instantiate(
                loop_config,
                trainer_config=DictConfigWrap(config),
                server_manager=script,
                tokenizer=tokenizer,
                processor=None,
                hf_model_type="qwen3",
                dataset_cls=RLHFDataset,
                data_config=DictConfigWrap(config.data),
                tools=ToolListWrap(tools),
            )
            asked = {"raw_prompt": rows[row]["prompt"], "extra_info": rows[row]["extra_info"] | {"split": split}}
            return await loop.run({}, tools_kwargs={}, session_id=session, global_steps=step, **asked)

        return asyncio.run(episode()), script

    return run
