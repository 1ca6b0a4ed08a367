"""A job to tune: a small neural network of scikit-learn's that reads handwritten digits.

    betabo minimize examples/tune_sklearn.py:objective --param lr=1e-4..1e-1:log --param momentum=0..0.99 \
        --param alpha=1e-6..1:log --param width=8..128:int:log --param batch=16..256:int:log

The data come with scikit-learn: 1797 images of 8 x 8 pixels. Few epochs want a large learning rate and small batches,
so the best point tends to touch the bounds of `lr` and `batch`.
"""

from __future__ import annotations

import warnings

from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

EPOCHS = 12


def objective(lr: float, momentum: float, alpha: float, width: int, batch: int, act: str = "relu") -> float:
    """Cross-validated log loss of the network after a few epochs.

    Args:
        lr: Learning rate of stochastic gradient descent.
        momentum: Its momentum.
        alpha: Weight of the L2 penalty.
        width: Number of hidden units.
        batch: Images in a batch.
        act: Activation function, `"relu"` or `"tanh"`.
    """
    images, digits = load_digits(return_X_y=True)
    network = MLPClassifier(
        (width,),
        activation=act,
        solver="sgd",
        learning_rate_init=lr,
        momentum=momentum,
        alpha=alpha,
        batch_size=batch,
        max_iter=EPOCHS,
        random_state=0,
    )
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is part of the job
        losses = cross_val_score(
            make_pipeline(StandardScaler(), network), images, digits, cv=folds, scoring="neg_log_loss"
        )
    return float(-losses.mean())
