"""The script that stores MiniLM's weights in half precision."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from example_case import load_example


@pytest.fixture(scope="module")
def minilm() -> ModuleType:
    return load_example("compression/minilm")


def test_half_precision_folder_gives_the_same_embeddings(minilm: ModuleType, bert_folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    change = minilm.write_half(bert_folder, tmp_path / "half")
    assert 0 < change < 1e-3
    assert {tensor.dtype for tensor in load_file(tmp_path / "half" / "model.safetensors").values()} == {torch.float16}
    assert (tmp_path / "half" / "tokenizer.json").exists()
    with pytest.raises(FileExistsError, match="name another folder"):
        minilm.write_half(bert_folder, tmp_path / "half")


def test_model_that_half_precision_spoils_is_refused(
    minilm: ModuleType, tiny_bert: Any, word_tokenizer: Any, tmp_path: Path
) -> None:
    with torch.no_grad():
        tiny_bert.bert.encoder.layer[0].output.dense.weight.mul_(1e8)
    tiny_bert.save_pretrained(tmp_path / "bert")
    word_tokenizer.save_pretrained(tmp_path / "bert")
    with pytest.raises(ValueError, match="keep float32"):
        minilm.write_half(tmp_path / "bert", tmp_path / "half")
    assert not (tmp_path / "half").exists()
