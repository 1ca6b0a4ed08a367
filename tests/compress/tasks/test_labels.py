from __future__ import annotations

import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

from betabo.compress.data import DataError
from betabo.compress.tasks.labels import class_names, class_numbers, classification_metrics


def test_names_come_from_the_labels() -> None:
    assert class_names(["dog", "cat", "dog"]) == ("cat", "dog")
    assert class_names([2, 0, 0]) == ("0", "1", "2")
    assert class_names([1, 0], ("no", "yes")) == ("no", "yes")


@pytest.mark.parametrize(("values", "message"), [([0.5, 1], "0.5"), (["a", "a"], "at least two"), ([0, "a"], "'a'")])
def test_odd_labels_are_refused(values: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        class_names(values)


def test_numbers_follow_names() -> None:
    assert class_numbers(["yes", "no"], ("no", "yes")).tolist() == [1, 0]
    assert class_numbers([1, 0, 1], ("no", "yes")).tolist() == [1, 0, 1]


@pytest.mark.parametrize("value", [2, -1, "maybe"])
def test_unknown_class_is_refused(value: object) -> None:
    with pytest.raises(DataError, match=f"a label is {value!r}"):
        class_numbers([0, value], ("no", "yes"))


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_equal_those_of_scikit_learn(classes: int) -> None:
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        labels, predicted = torch.randint(classes, (2, 17), generator=generator)
        metrics = classification_metrics(labels, predicted.float(), classes)
        assert metrics["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
        assert ("f1" in metrics) == (classes == 2)
        if classes == 2:
            assert metrics["f1"] == pytest.approx(f1_score(labels, predicted))


@pytest.mark.parametrize(("label", "guess"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_f1_of_one_sided_answers(label: int, guess: int) -> None:
    labels, predicted = torch.full((3,), label), torch.full((3,), guess)
    expected = f1_score(labels, predicted, zero_division=0)
    assert classification_metrics(labels, predicted, 2)["f1"] == pytest.approx(expected)
