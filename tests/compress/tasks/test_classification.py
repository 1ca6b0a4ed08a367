from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

from betabo.compress.data import DataError, Rows
from betabo.compress.tasks import DEVELOPMENT_IS_TEST, SplitRule, TaskData, TextClassification, task_by_name

NAMES = ("no", "yes")


def make_pairs(count: int = 20) -> dict[str, list[Any]]:
    subjects, verbs = ("the cat", "a dog", "she"), ("sat on the mat", "ran", "was not very good")
    first = [f"{subjects[n % 3]} {verbs[n // 3 % 3]}" for n in range(count)]
    second = [f"the {chr(ord('a') + n // 26)} {chr(ord('a') + n % 26)}" for n in range(count)]
    return {"sentence1": first, "sentence2": second, "label": [n % 2 for n in range(count)]}


def write(folder: Path, **parts: dict[str, list[Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, columns in parts.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


def test_tokens_are_those_of_the_tokenizer(word_tokenizer: Any) -> None:
    columns = make_pairs()
    split = TextClassification(max_length=16, tokenizer=word_tokenizer).encode(Rows(columns), NAMES, training=True)
    assert {name: tuple(tensor.shape) for name, tensor in split.tensors.items()} == {
        "input_ids": (20, 16),
        "attention_mask": (20, 16),
        "token_type_ids": (20, 16),
        "label": (20,),
    }
    one = word_tokenizer(columns["sentence1"][3], columns["sentence2"][3])
    length = len(one["input_ids"])
    assert split.tensors["input_ids"][3, :length].tolist() == one["input_ids"]
    assert split.tensors["token_type_ids"][3, :length].tolist() == one["token_type_ids"]
    assert (split.tensors["input_ids"][3, length:] == word_tokenizer.pad_token_id).all()
    assert split.tensors["attention_mask"].sum(1)[3] == length


def test_long_texts_are_cut(word_tokenizer: Any) -> None:
    rows = Rows({"sentence": ["cat " * 100, "dog"], "label": [0, 1]})
    split = TextClassification(max_length=8, tokenizer=word_tokenizer).encode(rows, NAMES, training=True)
    assert split.tensors["attention_mask"].sum(1).tolist() == [8, 3]


@pytest.mark.parametrize(
    "columns",
    [("sentence1", "sentence2"), ("question", "sentence"), ("premise", "hypothesis"), ("sentence",), ("text",)],
)
def test_columns_are_guessed(word_tokenizer: Any, columns: tuple[str, ...]) -> None:
    rows = Rows({**{name: [f"cat {name}"] for name in columns}, "label": [0], "idx": [5]})
    task = TextClassification(max_length=32, tokenizer=word_tokenizer)
    split = task.encode(rows, NAMES, training=True)
    expected = word_tokenizer(*(f"cat {name}" for name in columns))["input_ids"]
    assert split.tensors["input_ids"][0, : len(expected)].tolist() == expected


def test_columns_can_be_said(word_tokenizer: Any) -> None:
    rows = Rows({"body": ["cat"], "head": ["dog"], "class": [1]})
    with pytest.raises(DataError, match="option columns"):
        TextClassification(tokenizer=word_tokenizer, label_column="class").encode(rows, NAMES, training=True)
    task = TextClassification(max_length=8, tokenizer=word_tokenizer, label_column="class", columns=("head",))
    expected = word_tokenizer("dog")["input_ids"]
    assert task.encode(rows, NAMES, training=True).tensors["input_ids"][0, : len(expected)].tolist() == expected


def test_a_line_break_stands_between_texts_where_there_is_no_mark(byte_tokenizer: Any) -> None:
    byte_tokenizer.pad_token = byte_tokenizer.eos_token
    rows = Rows({"sentence1": ["ab"], "sentence2": ["cd"], "label": [0]})
    split = TextClassification(max_length=8, tokenizer=byte_tokenizer).encode(rows, NAMES, training=True)
    kept = split.tensors["input_ids"][0][split.tensors["attention_mask"][0].bool()]
    assert byte_tokenizer.decode(kept) == "ab\ncd"


def test_tokenizers_are_asked_for(byte_tokenizer: Any) -> None:
    rows = Rows(make_pairs())
    with pytest.raises(ValueError, match="suited_to"):
        TextClassification().encode(rows, NAMES, training=True)
    with pytest.raises(ValueError, match="pad_token"):
        TextClassification(tokenizer=byte_tokenizer).encode(rows, NAMES, training=True)


@pytest.mark.parametrize("architecture", ["bert", "deberta"])
def test_loss_and_metrics_are_those_of_others(
    request: pytest.FixtureRequest, word_tokenizer: Any, architecture: str
) -> None:
    model = request.getfixturevalue(f"tiny_{architecture}")
    task = TextClassification(max_length=16, tokenizer=word_tokenizer)
    split = task.encode(Rows(make_pairs()), NAMES, training=True)
    with torch.no_grad():
        output = model(**task.inputs(split.tensors), labels=split.tensors["label"])
        torch.testing.assert_close(task.loss(model, split.tensors), output.loss)
        predictions = task.predictions(model, split.tensors)
    labels, predicted = split.tensors["label"].numpy(), output.logits.numpy().argmax(-1)
    assert task.metrics(split, predictions) == {
        "accuracy": pytest.approx(accuracy_score(labels, predicted)),
        "f1": pytest.approx(f1_score(labels, predicted, zero_division=0)),
    }


def test_three_classes_have_no_f1(word_tokenizer: Any) -> None:
    rows = Rows({"text": ["cat", "dog", "mat"], "label": ["x", "y", "z"]})
    task = TextClassification(max_length=8, tokenizer=word_tokenizer)
    names = task.class_names(rows)
    split = task.encode(rows, names, training=True)
    assert task.metrics(split, {"label": torch.tensor([0, 1, 1])}) == {"accuracy": pytest.approx(2 / 3)}


def test_validation_is_held_out_of_train_whatever_the_limit(tmp_path: Path, bert_folder: Path) -> None:
    folder = write(tmp_path / "data", mrpc_train=make_pairs(50), mrpc_test=make_pairs(6))
    task = task_by_name("mrpc", bert_folder, rule=SplitRule())
    whole, few = task.load(folder, seed=3), task.load(folder, seed=3, max_train=7, max_validation=4)
    assert {name: len(split) for name, split in whole.splits.items()} == {"train": 45, "validation": 5, "test": 6}
    assert {name: len(split) for name, split in few.splits.items()} == {"train": 7, "validation": 4, "test": 6}

    def texts(data: TaskData, part: str) -> set[tuple[int, ...]]:
        return {tuple(row) for row in data.splits[part].tensors["input_ids"].tolist()}

    assert texts(few, "validation") < texts(whole, "validation")
    assert texts(few, "train") < texts(whole, "train")
    assert not texts(whole, "train") & texts(whole, "validation")
    assert texts(task.load(folder, seed=4), "validation") != texts(whole, "validation")


def test_development_data_are_the_test_where_test_labels_are_secret(tmp_path: Path, bert_folder: Path) -> None:
    folder = write(tmp_path / "data", qnli_train=make_pairs(30), qnli_dev=make_pairs(8))
    data = task_by_name("qnli", bert_folder).load(folder)
    assert data.test is not None
    assert len(data.test) == 8
    assert len(data.train) + len(data.validation) == 30
    assert data.labels == ("entailment", "not_entailment")


def test_matched_development_data_are_the_test_of_mnli(tmp_path: Path, bert_folder: Path) -> None:
    matched = {name: values[:4] for name, values in make_pairs().items()}
    folder = write(
        tmp_path / "data", train=make_pairs(30), validation_matched=matched, validation_mismatched=make_pairs(9)
    )
    data = task_by_name("mnli", bert_folder).load(folder)
    assert data.test is not None
    assert len(data.test) == 4


def test_own_development_data_are_for_validation(tmp_path: Path, bert_folder: Path) -> None:
    folder = write(tmp_path / "data", train=make_pairs(30), dev=make_pairs(8))
    data = task_by_name("text-classification", bert_folder).load(folder)
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 30, "validation": 8}


def test_a_test_without_labels_is_none(tmp_path: Path, bert_folder: Path) -> None:
    secret = {**make_pairs(5), "label": [-1] * 5}
    folder = write(tmp_path / "data", train=make_pairs(30), test=secret)
    assert task_by_name("text-classification", bert_folder).load(folder).test is None


def test_pairs_with_the_same_first_text_stay_together(word_tokenizer: Any) -> None:
    task = TextClassification(tokenizer=word_tokenizer, together=True)
    kept, held = task.held_out(Rows(make_pairs(60)), 0.3, 0)
    assert not set(kept["sentence1"]) & set(held["sentence1"])
    assert len(kept) + len(held) == 60


def test_one_file_gives_all_three_parts(tmp_path: Path, bert_folder: Path) -> None:
    folder = write(tmp_path, x=make_pairs(40))
    rule = SplitRule(validation_share=0.25, test_share=0.25)
    data = task_by_name("text-classification", bert_folder, rule=rule).load(folder / "x.parquet")
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 20, "validation": 10, "test": 10}
    rows = [tuple(row) for split in data.splits.values() for row in split.tensors["input_ids"].tolist()]
    assert len(set(rows)) == 40


def test_only_development_data_are_not_enough(tmp_path: Path, bert_folder: Path) -> None:
    folder = write(tmp_path / "data", qnli_dev={"question": ["a"], "sentence": ["b"], "label": [0]})
    with pytest.raises(DataError, match=r"no part 'train'.* only 'dev'.*give the file itself"):
        task_by_name("qnli", bert_folder).load(folder)


def test_cached_data_are_the_same_and_are_not_encoded_again(
    tmp_path: Path, bert_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "data", train=make_pairs(30))
    task = task_by_name("mrpc", bert_folder)
    first = task.load(folder, cache=tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr(TextClassification, "encode", lambda *_, **__: pytest.fail("encoded again"))
        again = task_by_name("mrpc", bert_folder).load(folder, cache=tmp_path / "cache")
    for name, split in first.splits.items():
        assert split.details == again.splits[name].details
        assert all(torch.equal(tensor, again.splits[name].tensors[key]) for key, tensor in split.tensors.items())
    for other in (task_by_name("mrpc", bert_folder, max_length=20), task.with_options(together=True)):
        other.load(folder, cache=tmp_path / "cache")
    task.load(folder, cache=tmp_path / "cache", seed=1)
    write(folder, train=make_pairs(31))
    task.load(folder, cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 5


@pytest.mark.parametrize("name", ["max_train", "max_validation"])
def test_limits_are_checked(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0"):
        TextClassification().load(tmp_path, **{name: 0})


@pytest.mark.parametrize("shares", [(1.0, 0.0), (-0.1, 0.0), (0.5, 0.5)])
def test_shares_are_checked(shares: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="share"):
        SplitRule(validation_share=shares[0], test_share=shares[1])


def test_no_validation_at_all_is_refused(tmp_path: Path, bert_folder: Path) -> None:
    folder = write(tmp_path / "data", train=make_pairs(30))
    rule = SplitRule(validation_share=0.0)
    with pytest.raises(DataError, match="no validation data"):
        task_by_name("mrpc", bert_folder, rule=rule).load(folder)
    assert DEVELOPMENT_IS_TEST.validation == ()
