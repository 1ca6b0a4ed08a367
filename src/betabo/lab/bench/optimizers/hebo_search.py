"""HEBO of Huawei's Noah's Ark Lab."""

from __future__ import annotations

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch, package


class HeboSearch(PeerSearch):
    """`hebo.optimizers.hebo.HEBO` with its own settings; starting points that are given are its random phase.

    Raises:
        ImportError: HEBO is not there. It asks for NumPy older than betabo's and is therefore in no extra.
    """

    def __init__(self) -> None:
        try:
            self._hebo = package("hebo.optimizers.hebo")
            self._spaces = package("hebo.design_space.design_space")
            self._pandas = package("pandas")
        except ImportError as error:
            raise ImportError(
                "the optimizer 'hebo' needs HEBO, which asks for NumPy < 1.25 but runs on later ones. "
                "In an environment of its own: pip install 'betabo[peers]' GPy catboost disjoint-set pymoo && "
                "pip install --no-deps HEBO==0.3.6 pymoo==0.6.0"
            ) from error

    def begin(self) -> None:
        """Describe the space."""
        names = list(self.named(self.low))
        space = self._spaces.DesignSpace().parse(
            [
                {"name": name, "type": "num", "lb": low, "ub": high}
                for name, low, high in zip(names, self.low.tolist(), self.high.tolist(), strict=True)
            ]
        )
        self._optimizer = self._hebo.HEBO(space, rand_sample=self.starts or None, scramble_seed=self.seed)

    def propose(self) -> Point:
        """The suggestion."""
        return np.asarray(self._optimizer.suggest(1).to_numpy(dtype=np.float64)[0])

    def observe(self, point: Point, value: float) -> None:
        """Tell the value."""
        self._optimizer.observe(self._pandas.DataFrame([self.named(point)]), np.array([[value]]))

    def fail(self, point: Point) -> None:
        """NaN, which HEBO leaves out of its model."""
        self.observe(point, np.nan)
