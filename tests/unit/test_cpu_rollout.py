"""The rollout server as verl calls it: tokens, weights in buckets, aborts, failures."""

import asyncio

import numpy as np
import pytest
import torch
from verl.workers.config import HFModelConfig, RolloutConfig
from verl.workers.config.rollout import CheckpointEngineConfig

from helpers.tiny_qwen3 import VOCABULARY, make_model
from planner_r1.training.cpu.rollout import EngineFailed, RolloutServer, ServerAdapter

PARAMETERS = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}
GREEDY = PARAMETERS | {"temperature": 0}


@pytest.fixture(scope="module")
def model_config(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    make_model().save_pretrained(path)
    return HFModelConfig(path=str(path), load_tokenizer=False, override_config={"attn_implementation": "sdpa"})


def rollout_config(**changes):
    settings = dict(name="hf_cpu", prompt_length=40, response_length=60, dtype="float32", max_num_seqs=8)
    return RolloutConfig(**settings | changes)


def serve(model_config, talk, **changes):
    """Run `talk(server)` in an event loop; a hang is a failure."""

    async def run():
        server = RolloutServer(rollout_config(**changes), model_config, replica_rank=0)
        assert (await server.ready()).startswith("hf_cpu")
        return await talk(server)

    return asyncio.run(asyncio.wait_for(run(), 120))


def prompt(seed=0, length=20):
    return np.random.default_rng(seed).integers(2, VOCABULARY, length).tolist()


@torch.no_grad()
def full_log_probs(model, prompt_ids, output_ids):
    tokens = torch.tensor([prompt_ids + output_ids])
    predicted = model(input_ids=tokens).logits[0, len(prompt_ids) - 1 : -1].log_softmax(-1)
    return predicted.gather(1, tokens[0, len(prompt_ids) :, None])[:, 0]


def assert_generated_by(model, prompt_ids, output):
    difference = torch.tensor(output.log_probs) - full_log_probs(model, prompt_ids, output.token_ids)
    assert float(difference.abs().max()) < 1e-5


def test_answers_many_requests_of_several_turns_at_once(model_config):
    async def episode(server, seed):
        tokens, outputs = prompt(seed, 5 + seed), []
        for turn in range(3):
            output = await server.generate(tokens, PARAMETERS | {"max_tokens": 6}, request_id=f"{seed}-{turn}")
            outputs.append((tokens, output))
            tokens = tokens + output.token_ids + prompt(1000 + seed, 4)
        return outputs

    async def talk(server):
        return await asyncio.gather(*(episode(server, seed) for seed in range(12)))

    model = make_model()
    for outputs in serve(model_config, talk, max_num_seqs=16):
        for turn, (tokens, output) in enumerate(outputs):
            assert_generated_by(model, tokens, output)
            assert output.stop_reason == "completed"
            assert turn == 0 or output.extra_fields["num_cached_tokens"] > 0


def test_ends_at_the_models_end_token_or_where_the_length_ends(model_config):
    async def talk(server):
        limited = await server.generate(prompt(1), GREEDY | {"max_tokens": 3}, "a")
        free = await server.generate(prompt(1), GREEDY | {"ignore_eos": True}, "b")
        late = await server.generate(prompt(1, 98), GREEDY | {"ignore_eos": True}, "c")
        silent = await server.generate(prompt(1), {"temperature": 0, "max_tokens": 3}, "d")
        return limited, free, late, silent

    limited, free, late, silent = serve(model_config, talk)
    assert len(limited.token_ids) == 3
    assert free.token_ids[:3] == limited.token_ids == silent.token_ids
    assert len(free.token_ids) == 60  # response_length
    assert len(late.token_ids) == 2  # prompt_length + response_length = 100
    assert silent.log_probs is None


def test_the_end_token_of_the_models_configuration_ends_the_output(model_config):
    async def talk(server):
        return await asyncio.gather(
            *(server.generate(prompt(seed), PARAMETERS | {"temperature": 3.0}, str(seed)) for seed in range(40))
        )

    outputs = serve(model_config, talk)
    ended = [o for o in outputs if len(o.token_ids) < 60]
    assert ended and all(o.token_ids[-1] == 1 and 1 not in o.token_ids[:-1] for o in ended)


def buckets(model, count):
    """The weights as the trainer sends them: every name of the state, also the tied output layer's."""
    names = list(model.state_dict())
    assert "lm_head.weight" in names
    for part in np.array_split(np.array(names), count):
        yield {name: model.state_dict()[name].clone() for name in part.tolist()}


def test_new_weights_are_generated_with_and_the_old_cache_is_forgotten(model_config):
    new = make_model(seed=1)

    async def talk(server):
        before = await server.generate(prompt(2), PARAMETERS, "a")
        sent = list(buckets(new, 3))
        for number, bucket in enumerate(sent):
            await server.load_weights(bucket, 7, last=number == len(sent) - 1)
        return before, await server.generate(prompt(2), PARAMETERS, "b")

    before, after = serve(model_config, talk)
    assert_generated_by(make_model(), prompt(2), before)
    assert_generated_by(new, prompt(2), after)
    assert after.extra_fields == {"global_steps": 7, "num_cached_tokens": 0}


def test_a_request_between_two_buckets_waits_for_the_last_one(model_config):
    new = make_model(seed=1)

    async def talk(server):
        first, second = buckets(new, 2)
        await server.load_weights(first, None, last=False)
        task = asyncio.create_task(server.generate(prompt(3), PARAMETERS, "a"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not task.done()
        await server.load_weights(second, 1, last=True)
        return await task

    assert_generated_by(new, prompt(3), serve(model_config, talk))


def test_requests_in_progress_are_finished_with_the_old_weights(model_config):
    new = make_model(seed=1)

    async def talk(server):
        task = asyncio.create_task(server.generate(prompt(4), PARAMETERS | {"ignore_eos": True}, "a"))
        await asyncio.sleep(0)
        (everything,) = buckets(new, 1)
        await server.load_weights(everything, 1, last=True)
        return await task

    assert_generated_by(make_model(), prompt(4), serve(model_config, talk))


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda w: w.pop("model.norm.weight"), ValueError, "model.norm.weight"),
        (lambda w: w.update(other=torch.zeros(1)), KeyError, "other"),
        (lambda w: w.update({"model.norm.weight": torch.zeros(3)}), ValueError, r"\(3,\)"),
    ],
)
def test_weights_that_do_not_fit_are_refused(model_config, spoil, error, message):
    async def talk(server):
        (weights,) = buckets(make_model(seed=1), 1)
        spoil(weights)
        await server.load_weights(weights, 1, last=True)

    with pytest.raises(error, match=message):
        serve(model_config, talk)


def test_aborted_requests_return_what_they_have_and_new_ones_wait(model_config):
    async def talk(server):
        tasks = [
            asyncio.create_task(server.generate(prompt(s), PARAMETERS | {"ignore_eos": True}, str(s)))
            for s in range(12)  # more than there are slots
        ]
        while (await server.statistics())["passes"] < 2:
            await asyncio.sleep(0.001)
        aborted = await server.abort_all_requests()
        assert aborted["aborted_count"] == 12
        outputs = await asyncio.gather(*tasks)
        late = asyncio.create_task(server.generate(prompt(50), PARAMETERS | {"max_tokens": 2}, "late"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not late.done()
        await server.resume_generation()
        assert (await late).stop_reason == "completed"
        await server.abort_all_requests(reject_request=True)
        rejected = await server.generate(prompt(51), PARAMETERS, "rejected")
        assert (rejected.stop_reason, rejected.token_ids) == ("aborted", [])
        return outputs

    outputs = serve(model_config, talk, response_length=2000)
    assert {o.stop_reason for o in outputs} == {"aborted"}
    assert all(len(o.token_ids) < 2000 for o in outputs)
    assert any(not o.token_ids for o in outputs)


def test_a_failure_of_the_engine_reaches_everybody_with_its_traceback(model_config, capfd):
    async def talk(server):
        def broken(*_):
            raise ZeroDivisionError("the engine is broken")

        server._engine._forward = broken
        outcomes = await asyncio.gather(
            *(server.generate(prompt(s), PARAMETERS, str(s)) for s in range(3)), return_exceptions=True
        )
        later = []
        for call in (
            server.generate(prompt(9), PARAMETERS, "late"),
            server.load_weights({}, 1, last=True),
            server.sleep(),
            server.wake_up(),
        ):
            later += await asyncio.gather(call, return_exceptions=True)
        return outcomes + later

    outcomes = serve(model_config, talk)
    assert len(outcomes) == 7
    for outcome in outcomes:
        assert isinstance(outcome, EngineFailed)
        assert "ZeroDivisionError: the engine is broken" in str(outcome)
        assert "in _generate_forever" in str(outcome)
    assert "ZeroDivisionError" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("prompt_ids", "parameters", "extra", "message"),
    [
        ([], {}, {}, "prompt of 0 tokens"),
        (list(range(100)), {}, {}, "100 tokens"),
        ([5], {"min_p": 0.5}, {}, "min_p"),
        ([5], {}, {"image_data": ["picture"]}, "image_data"),
    ],
)
def test_requests_that_cannot_be_honoured_are_refused(model_config, prompt_ids, parameters, extra, message):
    async def talk(server):
        await server.generate(prompt_ids, PARAMETERS | parameters, "a", **extra)

    with pytest.raises(ValueError, match=message):
        serve(model_config, talk)


class RecordingServer:
    """Stands in for the server's actor handle."""

    def __init__(self):
        self.buckets = []
        self.load_weights = self

    async def remote(self, weights, global_steps, last):
        self.buckets.append((list(weights), sum(w.nbytes for w in weights.values()), global_steps, last))


def make_adapter(monkeypatch, model_config, rank, megabytes):
    monkeypatch.setenv("RANK", str(rank))
    config = rollout_config(
        tensor_model_parallel_size=2,
        checkpoint_engine=CheckpointEngineConfig(update_weights_bucket_megabytes=megabytes),
    )
    adapter = ServerAdapter(config, model_config, device_mesh=None)
    adapter._handle = RecordingServer()
    return adapter


def test_weights_are_sent_in_buckets_by_the_leading_worker_only(monkeypatch, model_config):
    weights = [(f"w{i}", torch.zeros(n, dtype=torch.float32)) for i, n in enumerate([200_000, 100_000, 10, 300_000, 5])]
    adapter = make_adapter(monkeypatch, model_config, rank=2, megabytes=1)
    asyncio.run(adapter.update_weights(iter(weights), global_steps=5))
    sent = adapter._handle.buckets
    assert [name for names, *_ in sent for name in names] == [name for name, _ in weights]
    assert [(steps, last) for *_, steps, last in sent] == [(None, False)] * (len(sent) - 1) + [(5, True)]
    assert all(size <= 1 << 20 or len(names) == 1 for names, size, *_ in sent)
    assert [len(names) for names, *_ in sent] == [1, 2, 1, 1]

    follower = make_adapter(monkeypatch, model_config, rank=3, megabytes=1)
    drained = iter(weights)
    asyncio.run(follower.update_weights(drained, global_steps=5))
    assert follower._handle.buckets == []
    assert next(drained, None) is None  # gathering the shards needs every worker


def test_another_wire_format_is_refused(monkeypatch, model_config):
    adapter = make_adapter(monkeypatch, model_config, rank=0, megabytes=1)
    with pytest.raises(ValueError, match="delta_flush"):
        asyncio.run(adapter.update_weights(iter([]), wire_format="delta_flush"))
