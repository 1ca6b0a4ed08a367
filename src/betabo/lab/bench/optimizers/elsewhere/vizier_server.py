"""The Gaussian process bandit of Google's Vizier."""

from __future__ import annotations

from collections.abc import Sequence

from vizier import algorithms
from vizier import pyvizier as vz
from vizier._src.algorithms.designers.gp_ucb_pe import VizierGPUCBPEBandit


class Search:
    """`VizierGPUCBPEBandit`, Vizier's default, which begins with the centre."""

    def __init__(self, bounds: Sequence[Sequence[float]], seed: int, starting_points: int) -> None:
        del starting_points  # told like any others
        problem = vz.ProblemStatement()
        for i, (low, high) in enumerate(bounds):
            problem.search_space.root.add_float_param(f"x{i}", low, high)
        problem.metric_information.append(vz.MetricInformation("value", goal=vz.ObjectiveMetricGoal.MINIMIZE))
        self._names = [f"x{i}" for i in range(len(bounds))]
        self._designer = VizierGPUCBPEBandit(problem, rng=__import__("jax").random.PRNGKey(seed))
        self._told = 0

    def ask(self) -> Sequence[float]:
        """The suggestion."""
        (suggestion,) = self._designer.suggest(1)
        return [float(suggestion.parameters.get_value(name)) for name in self._names]

    def tell(self, point: Sequence[float], value: float | None) -> None:
        """Complete a trial."""
        self._told += 1
        trial = vz.Trial(id=self._told, parameters=dict(zip(self._names, point, strict=True)))
        if value is None:
            trial.complete(vz.Measurement(), infeasibility_reason="failed")
        else:
            trial.complete(vz.Measurement({"value": value}))
        self._designer.update(algorithms.CompletedTrials([trial]), algorithms.ActiveTrials([]))
