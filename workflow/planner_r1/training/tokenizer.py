"""A tokenizer learnt from a world's own text, in Qwen3's chat format.

Byte-pair encoding over pieces that match what an episode is made of. A JSON key with the punctuation around it, a
two-word name, a date or a flight number are one piece each, so that a frequent one becomes a single token: episodes
of a small world become about half as long as under the pre-tokenizer of the large models.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

# Hidden from decoded text. Everything else must survive decoding: the reward reads tags in the decoded episode.
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TAGS = (
    *("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
    *("<think>", "</think>", "<answer>", "</answer>"),
)

PIECES = "|".join(
    (
        r'(?:[^\s\p{L}\p{N}]*"[A-Za-z][A-Za-z_ ]*":)+[^\s\p{L}\p{N}]*',  # JSON keys: `","Price":`, `[{"from":"`
        r'[^\s\p{L}\p{N}]*"[^\s\p{L}\p{N}]*',  # other runs of punctuation that hold a quote
        r"\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}+",  # a two-word name
        r"\d{4}-\d\d-\d\d",  # a date
        r"\d+ hours \d+ min\w+",  # a duration
        r"\d+(?:(?:,\d{3})+|:\d\d|\.\d+)?",  # a number or a time
        r"\p{Lu}\d+",  # a flight number
        r" ?[\p{L}_]+",  # a word
        r" ?[^\s\p{L}\p{N}]+",
        r"\n",  # alone: the trainer inserts it before a tool's message
        r"\s+",
    )
)


def learn_tokenizer(texts: Iterable[str], vocabulary: int, context: int) -> PreTrainedTokenizerFast:
    """Learn byte-pair merges from `texts` up to `vocabulary` tokens; any text can be encoded, by its bytes if need be.

    `context` is the longest sequence, in tokens, that the model takes.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[*SPECIAL, *TAGS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    bpe.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIAL])
    bpe.add_tokens([AddedToken(t, special=False, normalized=False) for t in TAGS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = files("planner_r1.agent").joinpath("chat_template.jinja").read_text(encoding="utf-8")
    return tokenizer
