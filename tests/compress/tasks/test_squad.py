from __future__ import annotations

import pytest

from betabo.compress.tasks.squad import exact_match, f1, normalise


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Cat", "cat"),
        ("a cat, an owl and the dog.", "cat owl and dog"),
        ("theatre another", "theatre another"),
        ("  many\t spaces\n here ", "many spaces here"),
        ("U.S.A.", "usa"),
        ("well-known", "wellknown"),
        ("$1,000", "1000"),
        ("A", ""),
        ("the-end", "theend"),
        ("“quoted”", "“quoted”"),
        ("Éclair", "éclair"),
        ("", ""),
    ],
)
def test_normalised_text(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("answer", "references", "exact", "score"),
    [
        ("the red cat", ["Red cat!"], 1, 1.0),
        ("red cat", ["big red cat"], 0, 0.8),
        ("cat", ["dog", "the cat sat", "cat dog"], 0, 2 / 3),
        ("cat", ["dog", "a cat"], 1, 1.0),
        ("x y", ["z"], 0, 0.0),
        ("cat cat", ["cat"], 0, 2 / 3),
        ("cat dog dog", ["dog dog bird"], 0, 2 / 3),
        ("", ["cat"], 0, 0.0),
        ("cat", ["the"], 0, 0.0),
        ("the", ["a"], 1, 0.0),
        ("Zürich", ["zürich"], 1, 1.0),
        ("São Paulo", ["Sao Paulo"], 0, 0.5),
        ("東京", ["東京。"], 0, 0.0),
        ("10 km", ["10km"], 0, 0.0),
    ],
)
def test_scores_of_answers(answer: str, references: list[str], exact: int, score: float) -> None:
    assert exact_match(answer, references) == exact
    assert f1(answer, references) == pytest.approx(score)


def test_no_reference_is_refused() -> None:
    with pytest.raises(ValueError, match="reference"):
        f1("cat", [])
