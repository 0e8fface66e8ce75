"""FLOPs against verl's own counter, against models that were built, and against the paper's equation by hand."""

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM
from verl.utils.flops_counter import FlopsCounter

from helpers.qwen3_8b import QWEN3_8B
from planner_r1.paper.flops import Shape, known_shape, run_flops, training_flops, update_flops

THIRTY_TWO_B = QWEN3_8B | {
    "hidden_size": 5120,
    "intermediate_size": 25600,
    "num_hidden_layers": 64,
    "num_attention_heads": 64,
}
TINY = QWEN3_8B | {
    "hidden_size": 64,
    "intermediate_size": 192,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 999,
    "tie_word_embeddings": True,
}


@pytest.mark.parametrize("config", [QWEN3_8B, THIRTY_TWO_B, TINY])
@pytest.mark.parametrize("lengths", [[1], [10, 700, 32_768], [13_000] * 128])
def test_agrees_with_verls_counter(config, lengths, monkeypatch):
    monkeypatch.setattr("verl.utils.flops_counter.get_device_flops", lambda: 989.0)  # this machine has no GPU to ask
    tera_per_second, _ = FlopsCounter(Qwen3Config(**config)).estimate_flops(lengths, delta_time=1.0)
    assert training_flops(Shape.from_config(config), lengths) == pytest.approx(tera_per_second * 1e12, rel=1e-12)


@pytest.mark.parametrize(("config", "billions"), [(QWEN3_8B, 8.2), (THIRTY_TWO_B, 32.8), (TINY, 0.0)])
def test_parameters_are_those_of_the_model(config, billions):
    with torch.device("meta"):
        model = Qwen3ForCausalLM(Qwen3Config(**config))
    shape = Shape.from_config(config)
    assert shape.parameters == sum(p.numel() for p in model.parameters())
    assert round(shape.parameters / 1e9, 1) == billions


def test_the_papers_models_are_known():
    assert known_shape("qwen3-8b") == Shape.from_config(QWEN3_8B)
    assert known_shape("qwen3-32b") == Shape.from_config(THIRTY_TWO_B)
    assert known_shape("tiny") is None


def test_the_papers_equation():
    # 40% of 989 TFLOP/s on 16 GPUs for 10 s
    assert update_flops(0.4, 10, 9.89e14, 16) == pytest.approx(6.3296e16)
    assert update_flops(0.4, 10, 9.89e14, 16, epochs=2) == pytest.approx(3.1648e16)
    steps = [{"perf/mfu/actor": 0.4, "timing_s/update_actor": 10}, {"perf/mfu/actor": 0.2, "timing_s/update_actor": 5}]
    assert run_flops(steps, 9.89e14, 16) == pytest.approx(6.3296e16 * 1.25)
    assert run_flops([*steps, {"timing_s/update_actor": 5}], 9.89e14, 16) is None


def test_mfu_gives_back_the_models_flops():
    """verl divides by time, peak and GPUs what the paper multiplies by them."""
    shape, lengths, seconds, gpus, peak = Shape.from_config(QWEN3_8B), [900, 13_000], 7.0, 16, 9.89e14
    flops = training_flops(shape, lengths)
    assert update_flops(flops / seconds / peak / gpus, seconds, peak, gpus) == pytest.approx(flops)
