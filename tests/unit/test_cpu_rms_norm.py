"""The norm against the definition, in double precision, gradients included."""

import torch

from helpers.tiny_qwen3 import make_model
from planner_r1.training.cpu.rms_norm import _RMSNorm, replace_rms_norms


def test_values_and_gradients_are_those_of_the_definition():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 5, 8, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(8, generator=generator, dtype=torch.float64, requires_grad=True)
    expected = x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight
    torch.testing.assert_close(_RMSNorm.apply(x, weight, 1e-6), expected)
    assert torch.autograd.gradcheck(lambda a, b: _RMSNorm.apply(a, b, 1e-6), (x, weight))


def test_every_norm_of_a_float32_model_is_replaced_and_none_of_a_bfloat16_one():
    model = make_model()
    tokens = torch.arange(20)[None]
    with torch.no_grad():
        before = model(input_ids=tokens).logits
        assert replace_rms_norms(model) == 2 * 4 + 1
        torch.testing.assert_close(model(input_ids=tokens).logits, before, atol=1e-5, rtol=1e-5)
    assert replace_rms_norms(make_model().to(torch.bfloat16)) == 0
