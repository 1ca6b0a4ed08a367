from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from betabo.compress import store
from betabo.compress.plan import CompressionPlan
from betabo.compress.store import CompressedModel, as_compressed, compressed_class, load_compressed
from betabo.compress.structure import Structure
from betabo.compress.without_training import compress_model

ARCHITECTURES = ["tiny_vit", "tiny_bert", "tiny_gpt2", "tiny_deberta"]


class Plain(nn.Module):
    """A model of PyTorch alone, with a shared weight and buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 12)
        self.up, self.down, self.head = nn.Linear(12, 20), nn.Linear(20, 12, bias=False), nn.Linear(12, 9, bias=False)
        self.head.weight = self.words.weight
        self.norm = nn.BatchNorm1d(12)

    def forward(self, ids: Tensor) -> Tensor:
        output: Tensor = self.head(self.norm(self.down(self.up(self.words(ids)).relu())))
        return output


@pytest.fixture
def plain_folder(tmp_path: Path) -> Path:
    compress_model(Plain(), 0.2).save_pretrained(tmp_path / "small")
    return tmp_path / "small"


def outputs_of(model: Any) -> Tensor:
    with torch.no_grad():
        if isinstance(model, Plain):
            return model(torch.arange(9))
        config = model.config
        if hasattr(config, "image_size"):
            shape = (2, config.num_channels, config.image_size, config.image_size)
            return model(pixel_values=torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)).logits
        return model(input_ids=torch.arange(1, 13).reshape(2, 6)).logits


def _edit(folder: Path, **changes: Any) -> None:
    path = folder / "compression.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _edit_weights(folder: Path, change: Any) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_model_comes_back_as_it_was(architecture: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(architecture)
    small = compress_model(model, 0.3, keep=0.1)
    small.save_pretrained(tmp_path / "small")
    loaded: Any = load_compressed(tmp_path / "small")

    torch.testing.assert_close(outputs_of(loaded), outputs_of(small), rtol=0, atol=1e-5)
    assert type(loaded) is type(small)
    assert isinstance(loaded, type(model))
    assert loaded.compression == small.compression
    assert loaded.config.num_labels == model.config.num_labels
    assert not loaded.training
    assert list(loaded.state_dict()) == list(small.state_dict())
    assert all(tensor.device.type == "cpu" for tensor in [*loaded.parameters(), *loaded.buffers()])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nothing_of_the_original_layers_is_stored(
    architecture: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from safetensors.torch import load_file

    model = request.getfixturevalue(architecture)
    small = compress_model(model, 0.3, keep=0.1)
    small.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    for name, layer in small.compression.layers.items():
        own = {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}
        assert layer.form == "compact"
        assert set(own) == {"left", "right", "block", "index"} | ({"bias"} if layer.bias else set())
        assert sum(tensor.numel() for key, tensor in own.items() if key != "index") == layer.parameters
    stored = sum(tensor.numel() for key, tensor in weights.items() if not key.endswith(".index"))
    buffers = sum(b.numel() for key, b in small.named_buffers() if key in weights and not key.endswith(".index"))
    assert stored - buffers == sum(p.numel() for p in small.parameters())
    assert sorted(item.name for item in tmp_path.iterdir() if item.suffix in (".bin", ".pt", ".pkl")) == []


def test_mixed_forms_come_back(tiny_gpt2: Any, tmp_path: Path) -> None:
    small = compress_model(tiny_gpt2, {"0.attn.c_attn": 0.2, "1.mlp.c_fc": 0.2}, keep=0.0)
    small.transformer.h[0].mlp.c_fc = nn.Linear(32, small.compression.layers["transformer.h.0.mlp.c_fc"].outputs)
    ratios = {name: layer.ratio for name, layer in small.compression.layers.items()}
    small = as_compressed(small, Structure.of(small, CompressionPlan.of(tiny_gpt2), ratios, 0.0, {"accuracy": 0.5}))
    small.save_pretrained(tmp_path)
    loaded: Any = load_compressed(tmp_path)
    forms = {layer.form for layer in loaded.compression.layers.values()}
    assert forms == {"compact", "dense", "original"}
    assert loaded.compression.metrics == {"accuracy": 0.5}
    torch.testing.assert_close(outputs_of(loaded), outputs_of(small), rtol=0, atol=1e-6)


def test_gpt2_keeps_its_tie_and_generates(tiny_gpt2: Any, tmp_path: Path) -> None:
    tiny_gpt2.generation_config.max_new_tokens = 3
    small = compress_model(tiny_gpt2, 0.3)
    small.save_pretrained(tmp_path)
    loaded: Any = load_compressed(tmp_path)
    assert json.loads((tmp_path / "compression.json").read_text())["tied"] == {
        "lm_head.weight": "transformer.wte.weight"
    }
    assert loaded.lm_head.weight is loaded.transformer.wte.weight
    assert loaded.generation_config.max_new_tokens == 3
    prompt = torch.tensor([[1, 2, 3]])
    mask = torch.ones_like(prompt)
    assert torch.equal(loaded.generate(prompt, attention_mask=mask), small.generate(prompt, attention_mask=mask))


def test_precision_is_kept(tiny_bert: Any, tmp_path: Path) -> None:
    compress_model(tiny_bert.to(torch.bfloat16), 0.3).save_pretrained(tmp_path)
    loaded = load_compressed(tmp_path)
    assert {p.dtype for p in loaded.parameters()} == {torch.bfloat16}


def test_loaded_model_can_be_trained_and_stored_again(tiny_bert: Any, tmp_path: Path) -> None:
    compress_model(tiny_bert, 0.3).save_pretrained(tmp_path / "one")
    loaded: Any = load_compressed(tmp_path / "one")
    loaded(input_ids=torch.arange(1, 7).reshape(1, 6)).logits.sum().backward()
    assert all(p.grad is not None for p in loaded.parameters())
    loaded.save_pretrained(tmp_path / "two")
    torch.testing.assert_close(outputs_of(load_compressed(tmp_path / "two")), outputs_of(loaded), rtol=0, atol=1e-6)


def test_model_of_pytorch_alone_comes_back_into_a_skeleton(plain_folder: Path) -> None:
    skeleton = Plain()
    loaded: Any = load_compressed(plain_folder, model=skeleton)
    assert type(loaded) is compressed_class(Plain)
    assert type(skeleton) is Plain
    assert loaded.head.weight is loaded.words.weight
    assert not torch.equal(loaded.words.weight, skeleton.words.weight)
    again: Any = load_compressed(plain_folder, model=Plain())
    assert torch.equal(outputs_of(again), outputs_of(loaded))
    assert not (plain_folder / "config.json").exists()


def test_model_of_pytorch_alone_needs_a_skeleton(plain_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"has a Plain that is not of Transformers; .* model=\.\.\."):
        load_compressed(plain_folder)


def test_saving_again_replaces_what_was_there(plain_folder: Path) -> None:
    small = compress_model(Plain(), 0.5)
    small.save_pretrained(plain_folder)
    loaded: Any = load_compressed(plain_folder, model=Plain())
    assert loaded.compression == small.compression
    assert [item.name for item in plain_folder.parent.iterdir()] == ["small"]


def test_all_files_can_be_read_by_whom_the_user_lets(plain_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ordinary").write_text("")
    modes = {item.name: item.stat().st_mode for item in plain_folder.iterdir()}
    assert modes == dict.fromkeys(("compression.json", "model.safetensors"), (tmp_path / "ordinary").stat().st_mode)


def test_other_files_are_never_overwritten(plain_folder: Path, tmp_path: Path) -> None:
    small = compress_model(Plain(), 0.5)
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("words")
    with pytest.raises(ValueError, match=r"thesis is not empty and has no compression.json"):
        small.save_pretrained(thesis)
    (plain_folder / "notes.txt").write_text("words")
    with pytest.raises(ValueError, match=r"files that are not of a compressed model: notes.txt"):
        small.save_pretrained(plain_folder)
    with pytest.raises(ValueError, match=r"chapter.tex is a file"):
        small.save_pretrained(thesis / "chapter.tex")
    assert [item.name for item in thesis.iterdir()] == ["chapter.tex"]
    assert (plain_folder / "notes.txt").read_text() == "words"


def test_failed_save_leaves_what_was_there(plain_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {item.name: item.read_bytes() for item in plain_folder.iterdir()}

    def fail(*_: Any, **__: Any) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(store.json, "dumps", fail)
    for folder in (plain_folder, plain_folder.parent / "new"):
        with pytest.raises(OSError, match="no space left"):
            compress_model(Plain(), 0.5).save_pretrained(folder)
    assert {item.name: item.read_bytes() for item in plain_folder.iterdir()} == before
    assert [item.name for item in plain_folder.parent.iterdir()] == ["small"]


def test_files_of_the_tokenizer_come_along(tiny_bert: Any, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "vocab.txt").write_text("[PAD]\nword\n")
    (source / "training_args.bin").write_bytes(b"not this")
    tiny_bert.config.name_or_path = str(source)
    compress_model(tiny_bert, 0.3).save_pretrained(tmp_path / "one")
    assert (tmp_path / "one" / "vocab.txt").read_text() == "[PAD]\nword\n"
    assert not (tmp_path / "one" / "training_args.bin").exists()
    load_compressed(tmp_path / "one").save_pretrained(tmp_path / "two")
    assert (tmp_path / "two" / "vocab.txt").exists()


def test_given_tokenizer_is_stored(tmp_path: Path) -> None:
    class Tokenizer:
        def save_pretrained(self, folder: Path) -> None:
            (folder / "tokenizer.json").write_text("{}")

    small = compress_model(Plain(), 0.5)
    small.save_pretrained(tmp_path / "small", tokenizer=Tokenizer())
    small.save_pretrained(tmp_path / "small")  # the folder is still one of a compressed model
    assert not (tmp_path / "small" / "tokenizer.json").exists()
    with pytest.raises(TypeError, match="tokenizer is 'bert-base-uncased', expected a tokenizer"):
        small.save_pretrained(tmp_path / "small", tokenizer="bert-base-uncased")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_model_on_a_gpu_is_stored_and_comes_back_on_the_cpu(tiny_gpt2: Any, tmp_path: Path) -> None:
    small = compress_model(tiny_gpt2.cuda(), 0.3)
    small.save_pretrained(tmp_path)
    loaded = load_compressed(tmp_path)
    torch.testing.assert_close(outputs_of(loaded), outputs_of(small.cpu()), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["compression.json", "model.safetensors", "config.json"])
def test_missing_file_is_named(name: str, tiny_bert: Any, tmp_path: Path) -> None:
    compress_model(tiny_bert, 0.3).save_pretrained(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ValueError, match=f"{name} is missing"):
        load_compressed(tmp_path)


@pytest.mark.parametrize("name", ["compression.json", "model.safetensors", "config.json"])
def test_damaged_file_is_named(name: str, tiny_bert: Any, tmp_path: Path) -> None:
    compress_model(tiny_bert, 0.3).save_pretrained(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        load_compressed(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, "compression.json has format 99, expected 1"),
        ({"files": None}, "files is None"),
        ({"layers": []}, r"compression.json: layers is \[\]"),
        ({"tied": {"up.bias": "nowhere"}}, "up.bias is said to be the same as nowhere"),
    ],
    ids=["format", "files", "layers", "tied"],
)
def test_wrong_description_is_named(changes: dict[str, Any], message: str, plain_folder: Path) -> None:
    _edit(plain_folder, **changes)
    with pytest.raises(ValueError, match=message):
        load_compressed(plain_folder, model=Plain())


@pytest.mark.parametrize("name", ["AutoTokenizer", "torch", "os.system", "NoSuchModel"])
def test_only_model_classes_of_transformers_are_made(name: str, tiny_bert: Any, tmp_path: Path) -> None:
    compress_model(tiny_bert, 0.3).save_pretrained(tmp_path)
    _edit(tmp_path, **{"class": name})
    with pytest.raises(ValueError, match=f"Transformers has no model '{name}'"):
        load_compressed(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("norm.bias"), "norm.bias has shape nothing, expected"),
        (lambda w: w.update(extra=torch.ones(2)), "extra has shape .*, expected no such weight"),
        (lambda w: w.update({"up.left": torch.ones(3, 3)}), r"up.left has shape \(3, 3\), expected \(20, 2\)"),
        (lambda w: w.update({"up.index": w["up.index"] + 20}), "up.index is no list of different rows of 20"),
        (lambda w: w.update({"up.index": w["up.index"] * 0}), "up.index is no list of different rows of 20"),
        (lambda w: w.update({"up.index": w["up.index"].float()}), "up.index is no list of different rows of 20"),
    ],
    ids=["missing", "extra", "shape", "index-range", "index-twice", "index-type"],
)
def test_weights_that_do_not_fit_are_named(change: Any, message: str, plain_folder: Path) -> None:
    _edit_weights(plain_folder, change)
    with pytest.raises(ValueError, match=f"model.safetensors does not fit: {message}"):
        load_compressed(plain_folder, model=Plain())


def test_another_skeleton_is_refused(plain_folder: Path) -> None:
    with pytest.raises(ValueError, match="Linear has no layer up"):
        load_compressed(plain_folder, model=nn.Linear(3, 3))


def test_the_model_that_is_given_keeps_its_class_and_shares_its_weights() -> None:
    model = Plain()
    made = as_compressed(model, compress_model(model, 0.2).compression)
    assert type(model) is Plain
    assert not hasattr(model, "compression")
    assert isinstance(made, CompressedModel)
    assert made.up.weight is model.up.weight
