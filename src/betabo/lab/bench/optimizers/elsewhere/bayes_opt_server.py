"""The package bayesian-optimization with its default acquisition function."""

from __future__ import annotations

from collections.abc import Sequence

from bayes_opt import BayesianOptimization


class Search:
    """`bayes_opt.BayesianOptimization` by suggest and register: random at first, as `maximize` is with `init_points`.

    A failure is left out. Starting points that are not given are five random ones, the default of `maximize`.
    """

    def __init__(self, bounds: Sequence[Sequence[float]], seed: int, starting_points: int) -> None:
        self._names = [f"x{i:03}" for i in range(len(bounds))]
        box = {name: tuple(pair) for name, pair in zip(self._names, bounds, strict=True)}
        self._search = BayesianOptimization(
            f=None, pbounds=box, random_state=seed, verbose=0, allow_duplicate_points=True
        )
        self._random = 0 if starting_points else 5

    def ask(self) -> Sequence[float]:
        """The suggestion."""
        if self._random:
            self._random -= 1
            point = self._search.space.array_to_params(self._search.space.random_sample(1)[0])
        else:
            point = self._search.suggest()
        return [float(point[name]) for name in self._names]

    def tell(self, point: Sequence[float], value: float | None) -> None:
        """Register the negative value, since the package maximizes."""
        if value is not None:
            self._search.register(params=dict(zip(self._names, point, strict=True)), target=-value)
