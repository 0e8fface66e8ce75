"""Sampling against distributions worked out apart from it, by hand and by chi-square."""

import math

import numpy as np
import pytest
import torch

from planner_r1.training.cpu.sampling import SamplingParameters, sample

DRAWS = 40_000


def draw(logits, seed=0, draws=DRAWS, **settings):
    """Draw many times from one distribution; returns tokens and log-probabilities."""
    uniforms = torch.from_numpy(np.random.default_rng(seed).random(draws))
    rows = torch.tensor(logits, dtype=torch.float32).repeat(draws, 1)
    return sample(rows, [SamplingParameters(**settings)] * draws, uniforms)


def expected_distribution(logits, temperature=1.0, top_k=0, top_p=1.0):
    """Plain Python, token by token."""
    weights = [math.exp(x / temperature) for x in logits]
    order = sorted(range(len(logits)), key=lambda i: -logits[i])
    kept = order[: top_k or len(order)]
    total = sum(weights[i] for i in kept)
    nucleus, mass = [], 0.0
    for i in kept:
        nucleus.append(i)
        mass += weights[i] / total
        if mass >= top_p:
            break
    total = sum(weights[i] for i in nucleus)
    return [weights[i] / total if i in nucleus else 0.0 for i in range(len(logits))]


def assert_drawn_from(tokens, probabilities):
    """Chi-square of the counts against the expected ones; nothing of probability 0 was drawn."""
    counts = np.bincount(tokens.numpy(), minlength=len(probabilities))
    expected = np.array(probabilities) * len(tokens)
    possible = expected > 0
    assert counts[~possible].sum() == 0
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    degrees = possible.sum() - 1
    # Five standard deviations of the chi-square distribution above its mean.
    assert statistic < degrees + 5 * math.sqrt(2 * max(degrees, 1)), (counts, expected)


LOGITS = [2.0, 0.5, -1.0, 1.5, 0.0, -3.0, 1.0, 0.25]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 2.0},
        {"top_k": 1},
        {"top_k": 3},
        {"top_k": 8},
        {"top_k": 100},
        {"top_p": 0.3},
        {"top_p": 0.8},
        {"top_p": 0.999},
        {"temperature": 0.7, "top_k": 4},
        {"temperature": 1.3, "top_k": 5, "top_p": 0.6},
    ],
    ids=str,
)
def test_draws_follow_the_requested_distribution(settings):
    tokens, log_probs = draw(LOGITS, **settings)
    expected = expected_distribution(LOGITS, **settings)
    assert_drawn_from(tokens, expected)
    wanted = torch.tensor(expected).log()[tokens]
    torch.testing.assert_close(log_probs, wanted, atol=1e-6, rtol=0)


def test_top_p_keeps_the_token_that_reaches_the_mass():
    # Probabilities .5, .25, .125, .125: half the mass is one token, a hair more is two.
    logits = [math.log(p) for p in (0.5, 0.25, 0.125, 0.125)]
    assert set(draw(logits, top_p=0.5)[0].tolist()) == {0}
    assert set(draw(logits, top_p=0.51)[0].tolist()) == {0, 1}
    assert set(draw(logits, top_p=0.76)[0].tolist()) == {0, 1, 2}


def test_greedy_takes_the_likeliest_and_reports_the_models_log_probability():
    tokens, log_probs = draw(LOGITS, draws=50, temperature=0, top_k=2, top_p=0.1)
    assert set(tokens.tolist()) == {0}
    assert log_probs[0].item() == pytest.approx(math.log(expected_distribution(LOGITS)[0]), abs=1e-6)


def test_rows_with_different_settings_do_not_disturb_each_other():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(6, 50, generator=generator) * 2
    uniforms = torch.rand(6, generator=generator, dtype=torch.float64)
    settings = [
        SamplingParameters(),
        SamplingParameters(temperature=0),
        SamplingParameters(top_k=5),
        SamplingParameters(temperature=0.3, top_p=0.7),
        SamplingParameters(temperature=1.7),
        SamplingParameters(top_k=7, top_p=0.2),
    ]
    together = sample(logits.clone(), settings, uniforms)
    for row, parameters in enumerate(settings):
        alone = sample(logits[row : row + 1].clone(), [parameters], uniforms[row : row + 1])
        assert together[0][row] == alone[0][0]
        assert together[1][row].item() == pytest.approx(alone[1][0].item(), abs=1e-6)


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2**-53])
def test_the_ends_of_the_unit_interval_give_possible_tokens(uniform):
    logits = torch.full((1, 1000), float("-inf"))
    logits[0, 200:300] = torch.linspace(0, 3, 100)
    tokens, log_probs = sample(logits, [SamplingParameters()], torch.tensor([uniform], dtype=torch.float64))
    assert 200 <= tokens.item() < 300
    assert math.isfinite(log_probs.item())


def test_what_verl_sends_is_understood():
    sent = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}
    assert SamplingParameters.from_dict(sent) == SamplingParameters(logprobs=True)
    limited = SamplingParameters.from_dict({"max_new_tokens": 5, "stop_token_ids": [7], "top_k": None})
    assert limited == SamplingParameters(max_tokens=5, stop_token_ids=frozenset({7}))


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"repetition_penalty": 1.1}, "repetition_penalty"),
        ({"min_p": 0.1}, "min_p"),
        ({"stop": ["</answer>"]}, "stop"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.5}, "top_p"),
        ({"top_k": -1, "max_tokens": 0}, "max_tokens"),
    ],
)
def test_what_cannot_be_honoured_is_refused(sent, message):
    with pytest.raises(ValueError, match=message):
        SamplingParameters.from_dict(sent)
