from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from betabo.compress.data import Rows
from betabo.compress.plan import CompressionPlan
from betabo.compress.pretrained import (
    ModelError,
    load_image_format,
    load_model,
    load_tokenizer,
    longest_input,
    model_outline,
)
from betabo.compress.tasks import (
    ImageClassification,
    QuestionAnswering,
    Split,
    TaskData,
    TextClassification,
    task_by_name,
)
from tiny_models import make_bert, make_gpt2, make_vit, save_folder


def labelled(*labels: str) -> TaskData:
    split = Split({"label": torch.tensor([0])})
    return TaskData(split, split, None, labels)


def test_a_trained_model_comes_as_it_was_saved(bert_folder: Path, tiny_bert: Any) -> None:
    loaded = load_model(bert_folder, TextClassification(), labelled("no", "yes"))
    assert not loaded.head_is_new
    assert not loaded.model.training
    for name, parameter in loaded.model.state_dict().items():
        assert torch.equal(parameter, tiny_bert.state_dict()[name])
    assert loaded.model.config.id2label == {0: "no", 1: "yes"}


def test_a_head_for_other_classes_is_new_and_seeded(bert_folder: Path) -> None:
    first, same, other = (
        load_model(bert_folder, TextClassification(), labelled("x", "y", "z"), seed=seed) for seed in (1, 1, 2)
    )
    assert first.new == ("classifier.bias", "classifier.weight")
    assert first.head_is_new
    weights = [loaded.model.classifier.weight for loaded in (first, same, other)]
    assert weights[0].shape == (3, 32)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_loading_leaves_the_generator_alone(bert_folder: Path) -> None:
    before = torch.random.get_rng_state()
    load_model(bert_folder, TextClassification(), labelled("x", "y", "z"))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_half_precision_files_become_float32(tmp_path: Path, tiny_bert: Any) -> None:
    folder = save_folder(tmp_path / "half", tiny_bert.half())
    loaded = load_model(folder, TextClassification(), labelled("no", "yes"))
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}
    assert not loaded.head_is_new


@pytest.mark.parametrize("kind", ["text-classification", "question-answering"])
def test_a_language_model_can_do_other_tasks(gpt2_folder: Path, kind: str) -> None:
    task = task_by_name(kind, gpt2_folder, **({"overlap": 4} if kind == "question-answering" else {}))
    loaded = load_model(gpt2_folder, task, labelled("no", "yes") if kind == "text-classification" else None)
    assert loaded.head_is_new
    assert loaded.model.config.pad_token_id == task.tokenizer.pad_token_id == 256  # type: ignore[attr-defined]
    batch = torch.randint(0, 250, (3, 10))
    assert loaded.model(input_ids=batch, attention_mask=torch.ones_like(batch)) is not None


def test_a_language_model_has_no_new_head(gpt2_folder: Path, tiny_gpt2: Any) -> None:
    loaded = load_model(gpt2_folder, task_by_name("language-modelling", gpt2_folder))
    assert not loaded.head_is_new
    batch = torch.randint(0, 250, (2, 8))
    with torch.no_grad():
        torch.testing.assert_close(loaded.model(batch).logits, tiny_gpt2(batch).logits)


def test_more_telling_names_of_the_model_stay(tmp_path: Path) -> None:
    model = make_vit(labels=3)
    model.config.id2label = {0: "cat", 1: "dog", 2: "owl"}
    folder = save_folder(tmp_path / "vit", model)
    loaded = load_model(folder, ImageClassification(), labelled("0", "1", "2"))
    assert loaded.model.config.id2label == {0: "cat", 1: "dog", 2: "owl"}
    assert not load_model(folder, ImageClassification(), labelled("Cat", "Dog", "Owl")).head_is_new


def test_classes_in_another_order_are_refused(tmp_path: Path) -> None:
    model = make_vit(labels=2)
    model.config.id2label = {0: "cat", 1: "dog"}
    folder = save_folder(tmp_path / "vit", model)
    with pytest.raises(ModelError, match="in this order"):
        load_model(folder, ImageClassification(), labelled("dog", "cat"))


def test_a_folder_without_config_is_named(tmp_path: Path) -> None:
    for call in (lambda: load_model(tmp_path, TextClassification()), lambda: load_tokenizer(str(tmp_path))):
        with pytest.raises(ModelError, match=r"no config\.json"):
            call()


@pytest.mark.parametrize("source", ["./nowhere", "/no/such/model", "~/no-such-model", "a/b/c"])
def test_a_missing_folder_is_named(source: str) -> None:
    with pytest.raises(ModelError, match=f"there is no folder '{source}'"):
        load_model(source, TextClassification())
    with pytest.raises(ModelError, match="there is no folder"):
        load_model(Path("nowhere"), TextClassification())


def test_pickled_weights_are_refused(bert_folder: Path) -> None:
    (bert_folder / "model.safetensors").rename(bert_folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="to safetensors"):
        load_model(bert_folder, TextClassification())
    (bert_folder / "pytorch_model.bin").unlink()
    with pytest.raises(ModelError, match=r"expected model\.safetensors"):
        load_model(bert_folder, TextClassification())


def test_the_hub_out_of_reach_is_one_line() -> None:
    with pytest.raises(ModelError, match=r"did not come from the hub.*Give the folder") as caught:
        load_model("someone/no-such-model", TextClassification())
    assert "\n" not in str(caught.value)


def test_an_unknown_architecture_is_named(bert_folder: Path) -> None:
    config = json.loads((bert_folder / "config.json").read_text())
    (bert_folder / "config.json").write_text(json.dumps({**config, "model_type": "perceptron9"}))
    with pytest.raises(ModelError, match="no known architecture"):
        load_model(bert_folder, TextClassification())


def test_a_model_for_something_else_is_named(vit_folder: Path) -> None:
    with pytest.raises(ModelError, match=r"\(vit\) cannot do question-answering"):
        load_model(vit_folder, QuestionAnswering())


def test_weights_of_another_size_are_refused(bert_folder: Path) -> None:
    config = json.loads((bert_folder / "config.json").read_text())
    (bert_folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(ModelError, match=r"beside its head, such as 'bert\.encoder\.layer\.2"):
        load_model(bert_folder, TextClassification(), labelled("no", "yes"))


def test_damaged_weights_are_named(bert_folder: Path) -> None:
    (bert_folder / "model.safetensors").write_bytes(b"\x00" * 40)
    with pytest.raises(ModelError, match="cannot be read"):
        load_model(bert_folder, TextClassification())


def test_tokenizers_pad_on_the_right(gpt2_folder: Path, bert_folder: Path) -> None:
    tokenizer = load_tokenizer(gpt2_folder)
    assert tokenizer.pad_token == tokenizer.eos_token
    assert tokenizer.padding_side == "right"
    assert load_tokenizer(bert_folder).pad_token == "[PAD]"
    assert longest_input(gpt2_folder) == longest_input(bert_folder) == 64


def test_a_folder_without_tokenizer_is_named(vit_folder: Path) -> None:
    with pytest.raises(ModelError, match="no tokenizer that can be loaded"):
        load_tokenizer(vit_folder)


def test_texts_are_no_longer_than_the_model_takes(bert_folder: Path) -> None:
    task = TextClassification(max_length=500).suited_to(bert_folder)
    assert task.max_length == 64
    assert TextClassification(max_length=20).suited_to(bert_folder).max_length == 20


def test_image_format_is_the_models(vit_folder: Path) -> None:
    assert load_image_format(vit_folder).size == 16
    assert load_image_format(vit_folder).mean == (0.5, 0.5, 0.5)
    content = {"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6], "image_processor_type": "ViTImageProcessor"}
    (vit_folder / "preprocessor_config.json").write_text(json.dumps(content))
    task = ImageClassification().suited_to(vit_folder)
    assert (task.size, task.mean, task.std) == (16, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def test_a_model_without_images_is_named(bert_folder: Path) -> None:
    with pytest.raises(ModelError, match="expected square colour images"):
        load_image_format(bert_folder)


def test_messages_of_transformers_are_as_before(bert_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    capfd.readouterr()
    load_model(bert_folder, TextClassification(), labelled("x", "y", "z"))
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def test_without_transformers_the_extra_is_named(bert_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"betabo\[compress\]"):
        load_model(bert_folder, TextClassification())


def test_the_end_token_pads_batches_of_unequal_texts(gpt2_folder: Path) -> None:
    task = TextClassification(max_length=16).suited_to(gpt2_folder)
    model = load_model(gpt2_folder, task, labelled("no", "yes")).model
    split = task.encode(Rows({"text": ["ab", "a longer one"], "label": [0, 1]}), ("no", "yes"), training=False)
    alone = {name: tensor[:1, :2] for name, tensor in task.inputs(split.tensors).items()}
    with torch.no_grad():
        torch.testing.assert_close(model(**task.inputs(split.tensors)).logits[:1], model(**alone).logits)
    assert make_gpt2().config.pad_token_id is None


def test_deberta_gives_what_transformers_does(tmp_path: Path, tiny_deberta: Any) -> None:
    model = load_model(save_folder(tmp_path, tiny_deberta), TextClassification(), labelled("no", "yes")).model
    duplicate = copy.deepcopy(model)
    for length in (7, 40, 7):
        batch = torch.randint(0, 90, (3, length))
        with torch.no_grad():
            expected = tiny_deberta(batch).logits
            torch.testing.assert_close(model(batch).logits, expected)
            torch.testing.assert_close(duplicate(batch).logits, expected)
    batch = torch.randint(0, 90, (3, 12))
    with torch.inference_mode():
        model(batch)
    model.train()
    model(batch).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.fixture
def foreign(tmp_path: Path, bert_folder: Path) -> tuple[Path, Path]:
    """A model whose files ask for code beside them to be run, and the file that would appear if it were."""
    trace = tmp_path / "was-run"
    program = f"open({str(trace)!r}, 'w').close()\n"
    for name in ("configuration_evil", "modeling_evil", "tokenization_evil"):
        (bert_folder / f"{name}.py").write_text(program)
    return bert_folder, trace


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def no_questions(*_: Any) -> str:
    raise AssertionError("a question was asked on stdin")


def test_code_of_a_model_of_an_unknown_type_is_never_run(
    foreign: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, trace = foreign
    monkeypatch.setattr("builtins.input", no_questions)
    auto = {"AutoConfig": "configuration_evil.Config", "AutoModelForSequenceClassification": "modeling_evil.Model"}
    edit_json(folder / "config.json", model_type="evil", auto_map=auto)
    for load in (lambda: load_model(folder, TextClassification()), lambda: longest_input(folder)):
        with pytest.raises(ModelError, match=r"wants to run code of its own, which betabo never does") as caught:
            load()
        assert "\n" not in str(caught.value)
    assert not trace.exists()


def test_code_beside_a_model_of_a_known_type_is_not_run(
    foreign: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, trace = foreign
    monkeypatch.setattr("builtins.input", no_questions)
    edit_json(folder / "config.json", auto_map={"AutoModelForSequenceClassification": "modeling_evil.Model"})
    assert not load_model(folder, TextClassification(), labelled("no", "yes")).head_is_new
    assert not trace.exists()


def test_a_tokenizer_that_is_code_is_refused(foreign: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, trace = foreign
    monkeypatch.setattr("builtins.input", no_questions)
    settings = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["tokenization_evil.Evil", None]}}
    edit_json(folder / "config.json", model_type="evil", auto_map={"AutoConfig": "configuration_evil.Config"})
    edit_json(folder / "tokenizer_config.json", **settings)
    with pytest.raises(ModelError, match="betabo never does") as caught:
        load_tokenizer(folder)
    assert "\n" not in str(caught.value)
    assert not trace.exists()


def test_an_outline_has_the_layers_of_the_model_and_no_weights(bert_folder: Path, tiny_bert: Any) -> None:
    outline = model_outline(bert_folder, "text-classification")
    assert CompressionPlan.of(outline) == CompressionPlan.of(tiny_bert)
    assert all(parameter.is_meta for parameter in outline.parameters())


def test_an_outline_reads_the_configuration_alone(bert_folder: Path) -> None:
    (bert_folder / "model.safetensors").unlink()
    model_outline(bert_folder, "text-classification")


@pytest.mark.parametrize("kind", ["image-classification", "language-modelling"])
def test_a_task_that_does_not_fit_the_model_is_named(bert_folder: Path, vit_folder: Path, kind: Any) -> None:
    folder = vit_folder if kind == "language-modelling" else bert_folder
    with pytest.raises(ModelError, match=rf"cannot do {kind}: Transformers has no such model of this"):
        model_outline(folder, kind)


def test_an_encoder_is_refused_for_language_modelling(tmp_path: Path) -> None:
    folder = save_folder(tmp_path / "encoder", make_bert("MaskedLM"))
    with pytest.raises(
        ModelError, match=r"\(bert\) is an encoder, which sees the tokens that it would have to predict"
    ):
        model_outline(folder, "language-modelling")
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**about, "is_decoder": True}))
    model_outline(folder, "language-modelling")


@pytest.mark.parametrize(
    ("method", "what"), [("betabo", "compressed already;"), ("gptq", r"quantized already \(by gptq\)")]
)
def test_what_is_compressed_or_quantized_is_refused(bert_folder: Path, method: str, what: str) -> None:
    path = bert_folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "quantization_config": {"quant_method": method, "bits": 4}}))
    with pytest.raises(ModelError, match=what):
        model_outline(bert_folder, "text-classification")
