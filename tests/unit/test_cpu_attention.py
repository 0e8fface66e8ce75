"""Training attention: sequences packed into a row, or padded on the right, give what each gives alone."""

import pytest
import torch
import torch.nn.functional as F

from helpers.tiny_qwen3 import VOCABULARY, make_model
from planner_r1.training.cpu.attention import TRAINING_ATTENTION, causal_attention

LENGTHS = [37, 1, 120, 64, 2, 81]


@pytest.fixture
def sequences():
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(VOCABULARY, (n,), generator=generator) for n in LENGTHS]


def alone(model, sequences):
    return torch.cat([model(input_ids=s[None], use_cache=False).logits[0] for s in sequences])


def packed(model, sequences):
    positions = torch.cat([torch.arange(len(s)) for s in sequences])
    return model(input_ids=torch.cat(sequences)[None], position_ids=positions[None], use_cache=False).logits[0]


def padded(model, sequences):
    width = max(map(len, sequences))
    rows = torch.stack([F.pad(s, (0, width - len(s))) for s in sequences])
    mask = torch.stack([F.pad(torch.ones_like(s), (0, width - len(s))) for s in sequences])
    logits = model(input_ids=rows, attention_mask=mask, use_cache=False).logits
    return torch.cat([row[: len(s)] for row, s in zip(logits, sequences, strict=True)])


def gradients(model, forward, sequences):
    model.zero_grad()
    logits = forward(model, sequences)
    # A weighted sum in which every logit counts differently.
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1))
    (logits.log_softmax(-1) * weights).sum().backward()
    return logits.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("forward", [packed, padded])
def test_equals_single_sequences_of_stock_attention_with_gradients(forward, sequences):
    expected, expected_gradients = gradients(make_model(attention="sdpa"), alone, sequences)
    logits, found = gradients(make_model(attention=TRAINING_ATTENTION), forward, sequences)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-4)
    for name, gradient in expected_gradients.items():
        scale = gradient.abs().max().item()
        torch.testing.assert_close(found[name] / scale, gradient / scale, atol=1e-5, rtol=0, msg=name)


def test_refuses_what_it_would_compute_wrongly():
    query = torch.randn(1, 4, 6, 8)
    with pytest.raises(ValueError, match="dropout"):
        causal_attention(None, query, query, query, None, dropout=0.1)
    with pytest.raises(ValueError, match="whole sequences"):
        causal_attention(None, query, query, query, None, position_ids=torch.arange(3, 9)[None])
