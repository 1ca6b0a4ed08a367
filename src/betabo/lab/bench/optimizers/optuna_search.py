"""Samplers of Optuna."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch, package


class OptunaSearch(PeerSearch):
    """A study of Optuna in memory.

    Starting points that are given are its first trials, and the sampler's startup trials.
    """

    def __init__(self) -> None:
        self.optuna = package("optuna")

    @abstractmethod
    def make_sampler(self, settings: dict[str, Any], best: dict[str, float] | None) -> Any:
        """The sampler.

        Args:
            settings: Its `seed`, and after given starting points `n_startup_trials`, the number that have a value.
            best: Parameters of the best of them; None if there is none.
        """

    def begin(self) -> None:
        """Create the study."""
        self._study = self.optuna.create_study(sampler=self.optuna.samplers.RandomSampler(seed=self.seed))
        self._space = {
            name: self.optuna.distributions.FloatDistribution(low, high)
            for (name, low), high in zip(self.named(self.low).items(), self.high.tolist(), strict=True)
        }
        self._trial: Any = None
        self._sampling = False

    def propose(self) -> Point:
        """Parameters of a new trial."""
        if not self._sampling:
            values = [trial.value for trial in self._study.trials if trial.value is not None]
            best = self._study.best_params if values else None
            startup = {"n_startup_trials": max(1, len(values))} if self.starts else {}
            self._study.sampler = self.make_sampler({"seed": self.seed, **startup}, best)
            self._sampling = True
        self._trial = self._study.ask(self._space)
        return np.array([self._trial.params[name] for name in self._space])

    def observe(self, point: Point, value: float) -> None:
        """Tell the trial's value, or add the trial of a starting point."""
        if self._trial is not None:
            self._study.tell(self._trial, value)
        else:
            self._add(point, value=value)

    def fail(self, point: Point) -> None:
        """The trial has failed."""
        state = self.optuna.trial.TrialState.FAIL
        if self._trial is not None:
            self._study.tell(self._trial, state=state)
        else:
            self._add(point, state=state)

    def _add(self, point: Point, **outcome: Any) -> None:
        trial = self.optuna.create_trial(params=self.named(point), distributions=self._space, **outcome)
        self._study.add_trial(trial)


class OptunaGP(OptunaSearch):
    """Optuna's `GPSampler`: Gaussian process with a Matérn-5/2 kernel, log expected improvement.

    Args:
        deterministic: Whether values have no noise, the sampler's `deterministic_objective`.
    """

    def __init__(self, deterministic: bool = False) -> None:
        super().__init__()
        self._deterministic = deterministic

    def make_sampler(self, settings: dict[str, Any], best: dict[str, float] | None) -> Any:
        """See `OptunaSearch.make_sampler`."""
        del best
        return self.optuna.samplers.GPSampler(deterministic_objective=self._deterministic, **settings)


class OptunaTPE(OptunaSearch):
    """Optuna's default, `TPESampler`: ratios of Parzen densities."""

    def make_sampler(self, settings: dict[str, Any], best: dict[str, float] | None) -> Any:
        """See `OptunaSearch.make_sampler`."""
        del best
        return self.optuna.samplers.TPESampler(**settings)


class OptunaCmaEs(OptunaSearch):
    """Optuna's `CmaEsSampler`, started at the best starting point if there are any."""

    def __init__(self) -> None:
        super().__init__()
        package("cmaes")

    def make_sampler(self, settings: dict[str, Any], best: dict[str, float] | None) -> Any:
        """See `OptunaSearch.make_sampler`."""
        return self.optuna.samplers.CmaEsSampler(x0=best, **settings)
