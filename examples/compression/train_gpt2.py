"""Train a small GPT-2 on the bytes of Tiny Shakespeare from scratch, as a model to compress.

12 blocks of width 256 with 4 heads, and 128 bytes of context: 48 layers and 9.6 million parameters. DATA is
tinyshakespeare.txt or its folder. The last tenth of the text is held out: half of it for validation and half for the
test, the same that `betabo compress --task tinyshakespeare` takes. OUT is a folder that transformers loads, tokenizer
included, with training.json beside the weights: the settings, the bits for each byte of text, the share of bytes
predicted right, the time.

    python examples/compression/train_gpt2.py --data data/text --out models/gpt2-shakespeare

The text is short for a model of this size, so dropout is strong, and blocks to train on may begin anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from from_scratch import options, train
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from betabo.compress.settings import Training
from betabo.compress.tasks import Split, TaskData, task_by_name

TRAINING = Training(steps=2000, batch=128, rate=1e-3, warmup=0.05, schedule="cosine", weight_decay=0.1)
STRIDE = 8  # bytes between the beginnings of two blocks to train on


def byte_tokenizer(longest: int) -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are the 256 bytes of UTF-8, numbered by their values.

    Args:
        longest: Most tokens of an input.
    """
    # The byte-level alphabet writes printable bytes as themselves and the others, in order, as characters from 256 on.
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    printable = [ord(character) for character in alphabet if ord(character) < 256]
    values = printable + [byte for byte in range(256) if byte not in printable]
    vocabulary = dict(zip(alphabet, values, strict=True))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest)


def overlapping(split: Split, stride: int = STRIDE) -> Split:
    """Blocks of the same text and length that begin every `stride` tokens."""
    blocks = split.tensors["input_ids"]
    tokens = torch.cat([blocks[0, :1], blocks[:, 1:].flatten()])  # a block begins with the last token of the one before
    return Split({"input_ids": tokens.unfold(0, blocks.shape[1], stride).contiguous()})


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and write the folder."""
    parser = options(__doc__, TRAINING)
    parser.add_argument("--blocks", type=int, default=12, help="blocks (default 12)")
    parser.add_argument("--width", type=int, default=256, help="width of a block (default 256)")
    parser.add_argument("--heads", type=int, default=4, help="attention heads (default 4)")
    parser.add_argument("--context", type=int, default=128, help="bytes of an input (default 128)")
    parser.add_argument("--dropout", type=float, default=0.2, help="dropout everywhere (default 0.2)")
    chosen = parser.parse_args(arguments)
    tokenizer = byte_tokenizer(chosen.context)
    task = task_by_name("tinyshakespeare", block_size=chosen.context, tokenizer=tokenizer)

    def model(_: TaskData) -> GPT2LMHeadModel:
        return GPT2LMHeadModel(
            GPT2Config(
                vocab_size=256,
                n_positions=chosen.context,
                n_embd=chosen.width,
                n_layer=chosen.blocks,
                n_head=chosen.heads,
                resid_pdrop=chosen.dropout,
                embd_pdrop=chosen.dropout,
                attn_pdrop=chosen.dropout,
                bos_token_id=None,
                eos_token_id=None,
            )
        )

    train(model, task, TRAINING, chosen, prepare=overlapping, finish=tokenizer.save_pretrained)


if __name__ == "__main__":
    main()
