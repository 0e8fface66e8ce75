"""A random Qwen3 of the size the quick study trains, for the tests of the CPU back end."""

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

VOCABULARY = 1000


def make_config() -> Qwen3Config:
    return Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        intermediate_size=384,
        tie_word_embeddings=True,
        eos_token_id=1,
        pad_token_id=0,
        # Wide enough that attention and predictions depend on the tokens: the default gives near-uniform ones.
        initializer_range=0.15,
    )


def make_model(seed: int = 0, attention: str = "sdpa") -> Qwen3ForCausalLM:
    """The same weights for the same seed, whatever the attention."""
    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(make_config())
    model.set_attn_implementation(attention)
    return model.eval()
