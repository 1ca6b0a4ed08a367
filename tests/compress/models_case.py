"""Tiny models of today, with random weights."""

from __future__ import annotations

from typing import Any

import torch


def make_t5(kind: str = "ForConditionalGeneration") -> Any:
    """An encoder-decoder whose feed-forward part reads `wo.weight`."""
    import transformers

    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    return getattr(transformers, f"T5{kind}")(config).eval()


def make_llama(family: str = "Llama", *, tied: bool = False, vocabulary: int = 64, **options: Any) -> Any:
    """A decoder with grouped attention and a gated feed-forward part: Llama, Qwen3, Gemma2, Mixtral, ..."""
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=vocabulary,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        tie_word_embeddings=tied,
        bos_token_id=vocabulary - 1,
        eos_token_id=vocabulary - 1,
        pad_token_id=None,
        **options,
    )
    return getattr(transformers, f"{family}ForCausalLM")(config).eval()
