"""Hyperparameters of scikit-learn's models on data that come with it: cross-validated loss, the same folds every time.

The losses are smooth where the model is, so that an optimizer can be told apart from a slightly better one. Best
values are of scikit-learn 1.9; another version, or other linear algebra, may move their last digits.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from betabo.lab.problems.pointwise import Coordinate, Pointwise, require


class Tuning(Pointwise):
    """Mean loss of a model over folds.

    Args:
        dim: Number of coordinates, see `Pointwise`.
    """

    name: ClassVar[str]
    """The name in the catalogue."""

    folds: ClassVar[int] = 3
    samples: ClassVar[int | None] = None
    """How many samples are used, the first ones; None for all."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        inputs, targets = self.load(require("sklearn.datasets", self.name))
        inputs, targets = inputs[: self.samples], targets[: self.samples]
        selection = require("sklearn.model_selection", self.name)
        kind = selection.StratifiedKFold if targets.dtype.kind == "i" else selection.KFold
        self._parts = [
            (inputs[train], targets[train], inputs[test], targets[test])
            for train, test in kind(self.folds, shuffle=True, random_state=0).split(inputs, targets)
        ]

    @abstractmethod
    def load(self, datasets: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
        """Inputs `n x p` and targets `n`, out of `sklearn.datasets`."""

    @abstractmethod
    def model(self, x: npt.NDArray[np.float64]) -> Any:
        """The model with the hyperparameters of a point, not fitted."""

    @abstractmethod
    def loss(self, model: Any, inputs: npt.NDArray[np.float64], targets: npt.NDArray[Any]) -> float:
        """Mean loss of a fitted model on a part that it has not seen."""

    def value(self, x: npt.NDArray[np.float64]) -> float:
        """Mean loss over the folds."""
        losses = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about fits that stop early, which is part of the task
            for inputs, targets, unseen, truth in self._parts:
                losses.append(self.loss(self.model(x).fit(inputs, targets), unseen, truth))
        return float(np.mean(losses))


class SvmCancer(Tuning):
    """A support vector machine that tells malign from benign tumours: 569 samples of 30 standardized figures.

    The loss is the logistic loss of the decision function.

    The best value known, at the upper bound of C, is the lower of two long searches of 2000 evaluations, seeds 0 and 1.
    """

    name = "svm_cancer"
    coordinates = (
        Coordinate("log10 of C", -3.0, 3.0, 2.999999836621619),
        Coordinate("log10 of gamma", -6.0, 1.0, -3.0275383085188),
    )
    best_value = 0.09842196

    def load(self, datasets: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
        """See `Tuning.load`."""
        inputs, targets = datasets.load_breast_cancer(return_X_y=True)
        return inputs, targets

    def model(self, x: npt.NDArray[np.float64]) -> Any:
        """See `Tuning.model`."""
        pipeline = require("sklearn.pipeline", self.name)
        scale = require("sklearn.preprocessing", self.name).StandardScaler()
        machine = require("sklearn.svm", self.name).SVC(C=10.0 ** x[0], gamma=10.0 ** x[1], tol=1e-6)
        return pipeline.make_pipeline(scale, machine)

    def loss(self, model: Any, inputs: npt.NDArray[np.float64], targets: npt.NDArray[Any]) -> float:
        """Mean logistic loss, in nats."""
        margins = (2 * targets - 1) * model.decision_function(inputs)
        return float(np.logaddexp(0, -margins).mean())


class BoostingDiabetes(Tuning):
    """Gradient boosting that predicts the progress of diabetes after a year: 442 patients, 10 figures each.

    The loss is the root of the mean squared error. Trees, depth and leaves are rounded to whole numbers.

    The best value known is that of a long search of 2000 evaluations, seed 0.
    """

    name = "boosting_diabetes"
    coordinates = (
        Coordinate("log10 of the learning rate", -3.0, 0.0, -1.5502338512977065),
        Coordinate("log2 of the number of trees", 3.0, 8.0, 7.9435227640935615),
        Coordinate("depth of a tree", 1.0, 6.0, 3.4860715703874097),
        Coordinate("log2 of the samples of a leaf", 0.0, 6.0, 1.9506763196783559),
        Coordinate("share of the samples of a tree", 0.2, 1.0, 0.3371899085047516),
        Coordinate("share of the figures of a split", 0.1, 1.0, 0.13752782037233352),
    )
    best_value = 54.70185

    def load(self, datasets: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
        """See `Tuning.load`."""
        inputs, targets = datasets.load_diabetes(return_X_y=True)
        return inputs, targets

    def model(self, x: npt.NDArray[np.float64]) -> Any:
        """See `Tuning.model`."""
        return require("sklearn.ensemble", self.name).GradientBoostingRegressor(
            learning_rate=10.0 ** x[0],
            n_estimators=round(2.0 ** x[1]),
            max_depth=round(x[2]),
            min_samples_leaf=round(2.0 ** x[3]),
            subsample=x[4],
            max_features=x[5],
            random_state=0,
        )

    def loss(self, model: Any, inputs: npt.NDArray[np.float64], targets: npt.NDArray[Any]) -> float:
        """Root of the mean squared error, in the units of the data."""
        return float(np.sqrt(np.square(model.predict(inputs) - targets).mean()))


class MlpDigits(Tuning):
    """A small neural network that reads handwritten digits: 600 images of 8 x 8 pixels, 12 epochs.

    The loss is the cross-entropy. Hidden units and images of a batch are rounded to whole numbers. So few epochs want
    large learning rates and small batches.

    The best value known is that of a long search of 4000 evaluations, seed 0.
    """

    name = "mlp_digits"
    samples = 600
    coordinates = (
        Coordinate("log10 of the learning rate", -4.0, 0.0, -0.5011939396540848),
        Coordinate("momentum", 0.0, 0.99, 0.7447437413710809),
        Coordinate("log10 of the L2 penalty", -6.0, 1.0, -5.310670411646566),
        Coordinate("log2 of the hidden units", 3.0, 6.0, 5.968284268163515),
        Coordinate("log2 of the images of a batch", 4.0, 8.0, 4.098609530572747),
    )
    best_value = 0.0668836

    def load(self, datasets: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
        """See `Tuning.load`."""
        images, digits = datasets.load_digits(return_X_y=True)
        return images / 16.0, digits

    def model(self, x: npt.NDArray[np.float64]) -> Any:
        """See `Tuning.model`."""
        return require("sklearn.neural_network", self.name).MLPClassifier(
            (round(2.0 ** x[3]),),
            solver="sgd",
            learning_rate_init=10.0 ** x[0],
            momentum=x[1],
            alpha=10.0 ** x[2],
            batch_size=round(2.0 ** x[4]),
            max_iter=12,
            random_state=0,
        )

    def loss(self, model: Any, inputs: npt.NDArray[np.float64], targets: npt.NDArray[Any]) -> float:
        """Cross-entropy, in nats."""
        probabilities = model.predict_proba(inputs)
        chosen = probabilities[np.arange(len(targets)), np.searchsorted(model.classes_, targets)]
        return float(-np.log(np.clip(chosen, 1e-15, 1.0)).mean())
