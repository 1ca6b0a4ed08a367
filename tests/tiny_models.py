"""Tiny models and data: everything is made here, nothing comes from the network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

os.environ["HF_HUB_OFFLINE"] = "1"

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "under",
    "mat",
    "tree",
    "is",
    "was",
    "not",
    "and",
    "big",
    "small",
    "red",
    "blue",
    "who",
    "what",
    "where",
    "did",
    "it",
    "he",
    "she",
    "in",
    "of",
    "to",
    "good",
    "bad",
    "film",
    "play",
    "very",
    "one",
    "two",
    "three",
    "?",
    ".",
    ",",
    "!",
]


def make_vit(labels: int = 4, image: int = 16) -> Any:
    from transformers import ViTConfig, ViTForImageClassification

    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=image,
        patch_size=4,
        num_labels=labels,
    )
    return ViTForImageClassification(config).eval()


def make_bert(kind: str = "SequenceClassification", vocabulary: int = 96, labels: int = 2) -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        num_labels=labels,
    )
    return getattr(transformers, f"BertFor{kind}")(config).eval()


def make_gpt2(kind: str = "LMHeadModel", vocabulary: int = 257) -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=2,
        bos_token_id=vocabulary - 1,
        eos_token_id=vocabulary - 1,
    )
    return getattr(transformers, f"GPT2{kind}")(config).eval()


def make_deberta(kind: str = "SequenceClassification", vocabulary: int = 96, labels: int = 2) -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.DebertaV2Config(
        vocab_size=vocabulary,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        relative_attention=True,
        position_buckets=16,
        pos_att_type=["p2c", "c2p"],
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        type_vocab_size=0,
        num_labels=labels,
    )
    return getattr(transformers, f"DebertaV2For{kind}")(config).eval()


def make_word_tokenizer() -> Any:
    """Words and, for what is no known word, single letters; [CLS] and [SEP] like BERT's."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *(c for c in letters if c not in WORDS)]
    tokens += [f"##{letter}" for letter in letters]
    tokenizer = Tokenizer(models.WordPiece({token: number for number, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def make_byte_tokenizer() -> Any:
    """Each byte is a token, and no mark between texts, like GPT-2's without merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*alphabet, "<|end|>"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", bos_token="<|end|>")


def save_folder(folder: Path, model: Any, tokenizer: Any = None) -> Path:
    """A model's folder, as save_pretrained leaves it."""
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def tiny_vit() -> Any:
    """2 blocks of 32, images of 16 x 16, 4 classes."""
    return make_vit()


@pytest.fixture
def tiny_bert() -> Any:
    """2 blocks of 32, 2 classes of texts."""
    return make_bert()


@pytest.fixture
def tiny_gpt2() -> Any:
    """2 blocks of 32, next byte."""
    return make_gpt2()


@pytest.fixture
def tiny_deberta() -> Any:
    """2 blocks of 32, 2 classes of texts."""
    return make_deberta()


@pytest.fixture
def word_tokenizer() -> Any:
    return make_word_tokenizer()


@pytest.fixture
def byte_tokenizer() -> Any:
    return make_byte_tokenizer()


@pytest.fixture
def bert_folder(tmp_path: Path, tiny_bert: Any, word_tokenizer: Any) -> Path:
    """`tiny_bert` on disk with a tokenizer."""
    return save_folder(tmp_path / "bert", tiny_bert, word_tokenizer)


@pytest.fixture
def vit_folder(tmp_path: Path, tiny_vit: Any) -> Path:
    """`tiny_vit` on disk."""
    return save_folder(tmp_path / "vit", tiny_vit)


@pytest.fixture
def gpt2_folder(tmp_path: Path, tiny_gpt2: Any, byte_tokenizer: Any) -> Path:
    """`tiny_gpt2` on disk with a tokenizer."""
    return save_folder(tmp_path / "gpt2", tiny_gpt2, byte_tokenizer)
