"""Sobol indices, of functions whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from optuna.distributions import FloatDistribution

from betabo.report.importance import importances, ranking
from known_model import CUBE, MIXED, KnownModel, ishigami


class TestImportance:
    def test_of_the_ishigami_function(self) -> None:
        (found,) = importances(KnownModel(CUBE, [ishigami]))  # type: ignore[arg-type]
        first = dict(zip(found.parameters, found.first, strict=True))
        total = dict(zip(found.parameters, found.total, strict=True))
        assert first == pytest.approx({"a": 0.3139, "b": 0.4424, "c": 0.0}, abs=0.015)
        assert total == pytest.approx({"a": 0.5576, "b": 0.4424, "c": 0.2437}, abs=0.015)
        assert found.parameters == ["a", "b", "c"]

    def test_of_several_objectives(self) -> None:
        model = KnownModel(CUBE, [lambda u: u[:, 2], lambda u: u[:, 0] + 0.5 * u[:, 1]])
        one, two = importances(model)  # type: ignore[arg-type]
        assert (one.objective, one.parameters[0], one.first[0]) == (0, "c", pytest.approx(1, abs=0.01))
        assert two.parameters == ["a", "b", "c"]
        assert two.total == pytest.approx([0.8, 0.2, 0.0], abs=0.02)
        assert ranking([one, two]) == ["c", "a", "b"]

    def test_of_choices_gives_each_the_same_weight(self) -> None:
        # Variances: 2/9 for one of three choices, 2/3 for 0, 1, 2.
        model = KnownModel(MIXED, [lambda u: u[:, 1] + 2 * u[:, 3]])
        (found,) = importances(model)  # type: ignore[arg-type]
        assert found.parameters[:2] == ["n", "act"]
        assert found.first[:2] == pytest.approx([0.75, 0.25], abs=0.02)

    def test_of_a_flat_prediction_is_zero(self) -> None:
        (found,) = importances(KnownModel(CUBE, [lambda u: np.ones(len(u))]))  # type: ignore[arg-type]
        assert found.first == found.total == [0, 0, 0]

    def test_of_a_single_parameter_is_all_or_nothing(self) -> None:
        model = KnownModel({"a": CUBE["a"]}, [lambda u: u[:, 0] ** 2, lambda u: np.ones(len(u))])
        assert [(found.first, found.total) for found in importances(model)] == [([1], [1]), ([0], [0])]  # type: ignore[arg-type]

    def test_does_not_depend_on_the_unit_of_the_values(self) -> None:
        one, huge = (importances(KnownModel(CUBE, [f]))[0] for f in (ishigami, lambda u: 1e300 * ishigami(u)))  # type: ignore[arg-type]
        assert huge.total == pytest.approx(one.total)

    def test_of_many_parameters_stays_affordable(self) -> None:
        counts: list[int] = []

        def mean(u: Any) -> Any:
            counts.append(len(u))
            return u[:, 7]

        ranges = {f"x{i}": FloatDistribution(0, 1) for i in range(100)}
        (found,) = importances(KnownModel(ranges, [mean]))  # type: ignore[arg-type]
        assert found.parameters[0] == "x7"
        assert sum(counts) <= 25_000
