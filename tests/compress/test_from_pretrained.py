from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from betabo.compress.from_pretrained import METHOD, NO_SUCH_FILE, register
from betabo.compress.layers import CompactLinear
from betabo.compress.store import load_compressed
from betabo.compress.without_training import compress_model, eight_bits
from compress.models_case import make_llama, make_t5
from tiny_models import make_bert, make_deberta, make_gpt2, make_vit

TOKENS = {"input_ids": torch.arange(4, 22).view(2, 9)}
MODELS = {
    "bert": (make_bert, TOKENS),
    "gpt2": (make_gpt2, TOKENS),  # whose layers are Conv1D
    "t5": (make_t5, {**TOKENS, "decoder_input_ids": TOKENS["input_ids"]}),
    "deberta": (make_deberta, TOKENS),
    "vit": (make_vit, {"pixel_values": torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))}),
    "llama": (lambda: make_llama(tied=True), TOKENS),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("int8", [False, True])
def test_transformers_loads_what_betabo_stored(tmp_path: Path, name: str, int8: bool) -> None:
    make, inputs = MODELS[name]
    small: Any = compress_model(make(), 0.3)
    small = eight_bits(small) if int8 else small
    small.save_pretrained(tmp_path / "m")
    kind = getattr(transformers, type(small).__name__)
    found, ours = kind.from_pretrained(tmp_path / "m"), load_compressed(tmp_path / "m")
    assert not found.training
    with torch.no_grad():
        assert torch.equal(found(**inputs).logits, ours(**inputs).logits)


def test_the_body_alone_is_loaded_and_precision_is_kept(tmp_path: Path) -> None:
    small = compress_model(make_bert().to(torch.bfloat16), 0.3)
    small.save_pretrained(tmp_path / "m")
    body = transformers.AutoModel.from_pretrained(tmp_path / "m")
    assert type(body).__name__ == "BertModel"
    assert body.dtype == torch.bfloat16
    assert isinstance(body.encoder.layer[0].attention.self.query, CompactLinear)
    assert torch.equal(
        body.encoder.layer[0].attention.self.query.left, small.bert.encoder.layer[0].attention.self.query.left
    )


@pytest.mark.parametrize("order", ["import betabo, transformers", "import transformers, betabo", "import transformers"])
def test_without_betabo_it_refuses_and_never_gives_random_layers(tmp_path: Path, order: str) -> None:
    compress_model(make_bert(), 0.3).save_pretrained(tmp_path / "m")
    program = f"{order}; transformers.AutoModelForSequenceClassification.from_pretrained({str(tmp_path / 'm')!r})"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env={**os.environ}
    )
    if "betabo" in order:
        assert result.returncode == 0, result.stderr
    else:
        assert result.returncode != 0
        assert NO_SUCH_FILE in result.stderr.splitlines()[-1]


def test_a_damaged_form_is_refused(tmp_path: Path) -> None:
    compress_model(make_bert(), 0.3).save_pretrained(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    config = json.loads(path.read_text())
    assert config["quantization_config"]["quant_method"] == METHOD
    config["quantization_config"]["structure"]["layers"]["bert.encoder.layer.0.attention.self.query"]["rank"] = -1
    path.write_text(json.dumps(config))
    with pytest.raises(ValueError, match="impossible sizes"):
        transformers.AutoModel.from_pretrained(tmp_path / "m")


def test_registering_twice_changes_nothing() -> None:
    register()
    register()
