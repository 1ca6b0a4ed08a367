"""SMAC3's facade for black-box functions."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch, package

_ENDLESS = 1_000_000  # trials; the campaign counts them


class SmacSearch(PeerSearch):
    """`smac.BlackBoxFacade` with its own settings.

    Starting points that are given are told in place of its initial design.

    The same seed gives the same search in one process, and in others with the same `PYTHONHASHSEED`, on which SMAC
    depends too.

    Args:
        budget: Trials to plan for without starting points, of which SMAC gives its initial design at most a quarter.
    """

    def __init__(self, budget: int = 100) -> None:
        if budget < 1:
            raise ValueError(f"budget is {budget}, expected the trials to plan for, at least 1.")
        self._smac = package("smac")
        self._budget = budget
        self._history = package("smac.runhistory")
        self._spaces = package("ConfigSpace")

    def begin(self) -> None:
        """Make the facade."""
        bounds = zip(self.low.tolist(), self.high.tolist(), strict=True)
        self._space = self._spaces.ConfigurationSpace({f"x{i}": pair for i, pair in enumerate(bounds)}, seed=self.seed)
        facade = self._smac.BlackBoxFacade
        with TemporaryDirectory(prefix="betabo-smac-") as folder:  # SMAC describes the scenario there, and we nothing
            scenario = self._smac.Scenario(
                self._space,
                deterministic=True,
                n_trials=_ENDLESS if self.starts else self._budget,
                seed=self.seed,
                output_directory=folder,
            )
            design = facade.get_initial_design(scenario, **({"n_configs": 0} if self.starts else {}))
            self._facade = facade(scenario, _told_from_outside, initial_design=design, logging_level=False)
        self._names = list(self.named(self.low))
        self._trial: Any = None
        self._worst = -np.inf
        self._failed: list[Any] = []

    def propose(self) -> Point:
        """The next configuration."""
        self._trial = self._facade.ask()
        return np.array([self._trial.config[name] for name in self._names])

    def observe(self, point: Point, value: float) -> None:
        """Tell the cost."""
        self._worst = max(self._worst, value)
        self._facade.tell(self._told(point), self._history.TrialValue(cost=value), save=False)
        self._tell_failures()

    def fail(self, point: Point) -> None:
        """The trial has crashed, at the highest cost so far; it waits until there is one."""
        self._failed.append(self._told(point))
        self._tell_failures()

    def _tell_failures(self) -> None:
        if np.isfinite(self._worst):
            crash = self._history.TrialValue(cost=self._worst, status=self._history.StatusType.CRASHED)
            for trial in self._failed:
                self._facade.tell(trial, crash, save=False)
            self._failed = []

    def _told(self, point: Point) -> Any:
        """The last trial, or that of a starting point."""
        return self._trial or self._history.TrialInfo(self._configuration(point), seed=0)

    def _configuration(self, point: Point) -> Any:
        return self._spaces.Configuration(self._space, self.named(point))


def _told_from_outside(config: Any, seed: int = 0) -> float:
    """The facade wants a function with this signature; by ask and tell it is not called."""
    raise NotImplementedError
