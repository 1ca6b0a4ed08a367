from __future__ import annotations

from typing import Any

import torch

from betabo.compress.batches import short_batches, shortened, whole_batches
from betabo.compress.tasks import Split


def texts() -> Split:
    lengths = torch.tensor([3, 7, 1, 5, 2])
    mask = (torch.arange(8) < lengths[:, None]).long()
    tokens = torch.arange(40).view(5, 8) * mask
    return Split({"input_ids": tokens, "attention_mask": mask, "label": torch.arange(5)})


def test_texts_of_similar_length_are_cut_to_the_longest_of_them() -> None:
    split = texts()
    order, batches = short_batches(split, 2)
    found = list(batches)
    assert order.tolist() == [2, 4, 0, 3, 1]
    assert [tuple(batch["input_ids"].shape) for batch in found] == [(2, 2), (2, 5), (1, 7)]
    assert torch.cat([batch["label"] for batch in found]).tolist() == order.tolist()
    kept = sum(int(batch["input_ids"].sum()) for batch in found)
    assert kept == int(split.tensors["input_ids"].sum())  # nothing but padding is gone


def test_what_has_no_padding_stays_as_it_is() -> None:
    split = Split({"image": torch.randn(5, 3, 4, 4)})
    for cut in (short_batches, whole_batches):
        order, batches = cut(split, 2)
        assert order.tolist() == [0, 1, 2, 3, 4]
        assert torch.equal(torch.cat([batch["image"] for batch in batches]), split.tensors["image"])


def test_a_model_sees_the_same(tiny_bert: Any) -> None:
    split = texts()
    order, batches = short_batches(split, 2)
    with torch.no_grad():
        whole = tiny_bert(split.tensors["input_ids"], split.tensors["attention_mask"]).logits
        short = torch.cat([tiny_bert(batch["input_ids"], batch["attention_mask"]).logits for batch in batches])
    torch.testing.assert_close(short[order.argsort()], whole)


def test_a_batch_without_texts_or_without_padding_stays_as_it_is() -> None:
    images = {"image": torch.randn(2, 3, 4, 4)}
    assert shortened(images) is images
    full = {"input_ids": torch.ones(2, 3), "attention_mask": torch.ones(2, 3, dtype=torch.int64)}
    assert all(torch.equal(tensor, full[name]) for name, tensor in shortened(full).items())
    empty = {"input_ids": torch.ones(2, 3), "attention_mask": torch.zeros(2, 3, dtype=torch.int64)}
    assert shortened(empty)["input_ids"].shape == (2, 1)
