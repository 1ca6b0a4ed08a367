"""Results of an earlier task that may be another one: how far they help is seen in how well they predict this one.

Several accounts of them compete: they are of the same task; of one whose values lie higher or lower throughout; of one
whose values are besides stretched, as in another unit; of one that differs in more than that, so that each result
counts as a noisy value; or of no use, and are then left out. Each account predicts each result of the search from all
others, and the one that does so best is taken. Shift and stretch are those of the line from what a model of the earlier
results alone expects to what the search found, and the noise is the mean square by which that line misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from scipy.special import ndtr

from betabo.optimizer.config import Config
from betabo.optimizer.data import Data, Points
from betabo.optimizer.many import choose
from betabo.optimizer.model import Output, Surrogate
from betabo.surrogate import OutputTransform

_ENOUGH = 3  # results of the search from which on there is evidence
_LEVELS = ndtr(np.linspace(-2, 2, 9))  # of the quantiles by which a prediction is judged
_LEAST = 1e-6  # of the variance of the values: that of the noise of earlier ones at least


def weighed(data: Data, config: Config, seed: int) -> Data:
    """What a search is to know of an earlier task: its results as they are, moved, stretched, noisy, or none of them.

    Before the search has enough results of its own they count as they are.

    Args:
        data: What is known, earlier results included.
        config: How it is modelled.
        seed: Seed of the fits.
    """
    if not data.earlier.any() or len(data.own.points) < _ENOUGH:
        return data
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        accounts = [data, *_moved(data, config, seed), data.own]
        losses = [_loss(account, config, seed) for account in accounts]
    return accounts[int(np.argmin(losses))]


def best_earlier(data: Data) -> Points:
    """The earlier point, `d`, that violates constraints least and has the lowest value, or the best mean rank."""
    chosen = np.flatnonzero(data.earlier)
    violation = np.maximum(data.constraints[chosen], 0).sum(axis=1)
    ranks = data.objectives[chosen].argsort(axis=0, kind="stable").argsort(axis=0, kind="stable").mean(axis=1)
    return np.asarray(data.points[chosen[np.lexsort((ranks, violation))[0]]])


def _moved(data: Data, config: Config, seed: int) -> Sequence[Data]:
    """The accounts of earlier values that are moved, stretched and noisy; none of several objectives."""
    theirs = data.part(data.earlier)
    if data.values.ndim > 1 or len(theirs.points) < 2:
        return ()
    known = choose(replace(theirs, failed=theirs.failed[:0], earlier=np.zeros(0, dtype=bool))).data
    model = Output.fit(known, known.values, config, seed, None, known.variances)
    expected, found = model.quantiles(data.own.points, [0.5])[0], data.own.values
    moved = _with_values(data, data.values + np.median(found - expected))
    apart = expected - expected.mean()
    stretch = float(apart @ found / max(float(apart @ apart), 1e-300))
    if stretch <= 0:
        return (moved,)
    line = found.mean() + stretch * (data.values - expected.mean())
    noise = float(np.mean(np.square(found - found.mean() - stretch * apart)))
    stretched = _with_values(data, line)
    given = np.where(np.isnan(data.variances), 0.0, data.variances) * stretch**2
    noisy = np.where(data.earlier, given + max(noise, _LEAST * float(found.var()), 1e-300), data.variances)
    return moved, stretched, replace(stretched, variances=noisy)


def _with_values(data: Data, values: Points) -> Data:
    """The data with other values of the earlier task."""
    return replace(data, values=np.where(data.earlier, values, data.values))


def _loss(data: Data, config: Config, seed: int) -> float:
    """How badly an account predicts the results of the search, each from all others: the mean loss of its quantiles.

    Values are compared as the search's own are transformed, so that a few large ones do not decide.
    """
    known = choose(data).data
    own = ~known.earlier
    surrogate = Surrogate.fit(known, config, seed)
    losses = []
    for output, column in zip(surrogate.objectives, known.objectives.T, strict=True):
        scale = OutputTransform.learn(column[own], config.power_transform)
        predicted = output.leave_one_out(_LEVELS.tolist())[:, : len(own)][:, own]
        apart = scale(column[own]) - np.array([scale(row) for row in predicted])
        losses.append(np.maximum(_LEVELS[:, None] * apart, (_LEVELS[:, None] - 1) * apart).mean())
    return float(np.mean(losses))
