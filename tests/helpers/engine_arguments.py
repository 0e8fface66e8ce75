"""What the pinned sglang makes of its arguments on an H200, asked on a processor: run by the Python of `make engine`.

    python engine_arguments.py ARGUMENTS

ARGUMENTS are lists of a command line's, as JSON; prints, as JSON, the settings that matter of each. Only what sglang
asks of the device is answered here; all decisions are its own.
"""

import argparse
import json
import os
import sys

os.environ["SGLANG_USE_CPU_ENGINE"] = "0"

import sglang.srt.configs.model_config as model_config
from sglang.srt import server_args

H200 = {
    "get_device": lambda *_: "cuda",
    "get_device_memory_capacity": lambda *_, **__: 143771.0,  # MiB
    "get_device_sm": lambda: 90,
    "is_hopper_with_cuda_12_3": lambda: True,
    "is_sm90_supported": lambda *_: True,
    "is_sm100_supported": lambda *_: False,
    "is_blackwell_supported": lambda *_: False,
    "is_flashinfer_available": lambda: True,
    "get_nvidia_driver_version": lambda: (580, 0),
}
SETTINGS = (
    "attention_backend chunked_prefill_size context_length disable_cuda_graph enable_memory_saver load_format "
    "max_running_requests mem_fraction_static sampling_defaults tp_size watchdog_timeout"
).split()


def pretend_h200() -> None:
    for name, answer in H200.items():
        assert hasattr(server_args, name), name
        setattr(server_args, name, answer)


def settings_of(made: server_args.ServerArgs) -> dict:
    """The settings that matter; `context` and `dtype` are what the model gets."""
    model, graphs = model_config.ModelConfig.from_server_args(made), made.cuda_graph_config
    return {name: getattr(made, name) for name in SETTINGS} | {
        "dtype": str(model.dtype).removeprefix("torch."),
        "context": model.context_len,
        "graphs": {part: str(getattr(graphs, part).backend) for part in ("decode", "prefill")},
    }


def from_command(arguments: list[str]) -> server_args.ServerArgs:
    parser = argparse.ArgumentParser()
    server_args.ServerArgs.add_cli_args(parser)
    return server_args.ServerArgs.from_cli_args(parser.parse_args(arguments))


if __name__ == "__main__":
    pretend_h200()
    print("\n" + json.dumps([settings_of(from_command(asked)) for asked in json.loads(sys.argv[1])], default=str))
