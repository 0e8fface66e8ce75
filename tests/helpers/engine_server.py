"""verl's sglang server and its client against sglang's own web application, on a pretended H200: run by the Python of
`make engine`.

    python engine_server.py MODEL OVERRIDES

Only the processes behind the application are made up: a stand-in notes what reaches it. Prints, as JSON, the settings
that verl starts sglang with under the project's configuration for GPUs and these overrides, and what arrived.
"""

import asyncio
import json
import sys
from types import SimpleNamespace
from unittest.mock import patch

import torch
import transformers
import verl.workers.rollout.sglang_rollout.async_sglang_server as verl_server
from engine_arguments import pretend_h200, settings_of
from sglang.srt.configs.model_config import ModelConfig
from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat
from sglang.srt.managers.io_struct import UpdateWeightsFromTensorReqInput
from sglang.srt.managers.template_manager import TemplateManager
from sglang.srt.model_executor.model_runner import LocalSerializedTensor
from sglang.srt.sampling.sampling_params import SamplingParams
from sglang.srt.utils import MultiprocessingSerializer
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.rollout.sglang_rollout.http_server_engine import AsyncHttpServerAdapter

from planner_r1.training.config import compose_config

STOP, WORDS = 151645, 151936
SAMPLING = {"temperature": 1.0, "top_p": 1, "top_k": -1, "repetition_penalty": 1.0, "logprobs": False}


class Manager:
    """Stands where sglang's tokenizer manager does, and notes every call."""

    def __init__(self, server_args):
        self.server_args, self.calls, self.server_status = server_args, [], None
        self.tokenizer = self.processor = None
        self.model_config = ModelConfig.from_server_args(server_args)
        self.serving_chat_class = OpenAIServingChat

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        async def note(*arguments, **_):
            self.calls.append((name, arguments))
            return {
                "update_weights_from_tensor": (True, "Success"),
                "flush_cache": SimpleNamespace(success=True, message=""),
            }.get(name)

        return note

    async def generate_request(self, request, _):
        request.normalize_batch_and_arguments()
        sampling = SamplingParams(**request.sampling_params)
        sampling.normalize(None)
        sampling.verify(WORDS)
        self.calls.append(("generate_request", (request,)))
        finish = {"finish_reason": {"type": "stop"}, "output_token_logprobs": []}
        yield {"output_ids": [1, 2, STOP], "meta_info": finish}


def start(server_args, **_):
    """In the place of what starts sglang's processes."""
    server_args.check_server_args()
    manager, templates = Manager(server_args), TemplateManager()
    templates.initialize_templates(
        tokenizer_manager=manager, model_path=server_args.model_path, chat_template=None, completion_template=None
    )
    return manager, templates, None, SimpleNamespace(scheduler_infos=[{}]), None


def new_server(model: str, overrides: dict):
    """verl's server as its Ray actor makes it, less Ray."""
    config = compose_config("gpu", overrides, {"actor_rollout_ref.model.path": model}).actor_rollout_ref
    hf = transformers.AutoConfig.from_pretrained(model)
    settings = omega_conf_to_dataclass(config.rollout)
    settings.max_model_len = verl_server.get_max_position_embeddings(hf)
    server = object.__new__(verl_server.SGLangHttpServer)
    lora = {"lora_rank": 0, "lora": {}, "target_modules": "all-linear"}
    server.__dict__ |= {
        "config": settings,
        "model_config": SimpleNamespace(local_path=model, hf_config=hf, trust_remote_code=False, **lora),
        "rollout_mode": verl_server.RolloutMode.HYBRID,
        **{"replica_rank": 0, "node_rank": 0, "nnodes": 1, "base_gpu_id": 0, "global_steps": None},
        **{"_disaggregation_role": "null", "_disaggregation_bootstrap_port": None, "_pd_decode_peers": []},
        **{"_server_address": "127.0.0.1", "_server_port": None, "_master_address": None, "_master_port": None},
    }
    return server


async def main(model: str, overrides: dict) -> dict:
    server = new_server(model, overrides)
    with patch.object(verl_server.sglang.srt.entrypoints.engine.Engine, "_launch_subprocesses", staticmethod(start)):
        await server.launch_server()
    manager, found = server.tokenizer_manager, {}
    found["settings"] = settings_of(manager.server_args)
    for name, length in (("short", 2000), ("longest", 32768)):
        made = await server.generate(list(range(length)), dict(SAMPLING), name)
        (request,) = manager.calls[-1][1]
        found[name] = {"sampling": request.sampling_params, "tokens": list(made.token_ids), "reason": made.stop_reason}
    await server.sleep()
    found["asleep"] = [manager.calls[-1][0], manager.calls[-1][1][0].tags]

    options = {"host": "127.0.0.1", "port": server._server_port, "launch_server": False, "trust_remote_code": False}
    client = AsyncHttpServerAdapter(model_path=model, **options)
    await client.resume_memory_occupation(tags=["weights"])
    found["awake"] = [manager.calls[-1][0], manager.calls[-1][1][0].tags]
    await client.release_memory_occupation(tags=["kv_cache", "weights"])
    found["released"] = [manager.calls[-1][0], manager.calls[-1][1][0].tags]
    parts = [MultiprocessingSerializer.serialize(torch.arange(4.0))] * 4
    weights = MultiprocessingSerializer.serialize([("model.norm.weight", LocalSerializedTensor(values=parts))])
    await client.update_weights_from_tensor(UpdateWeightsFromTensorReqInput(serialized_named_tensors=[weights] * 4))
    name, (request, *_) = manager.calls[-1]
    ((key, tensor),) = MultiprocessingSerializer.deserialize(request.serialized_named_tensors[0])
    found["weights"] = [name, key, MultiprocessingSerializer.deserialize(tensor.values[0]).tolist()]
    return found


if __name__ == "__main__":
    pretend_h200()
    print("\n" + json.dumps(asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]))), default=str), flush=True)
