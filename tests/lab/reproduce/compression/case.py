from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from betabo.lab.reproduce import Context


class Tables(Context):
    """Writes no figures, which take the time."""

    def save_figure(self, name: str, figure: Figure) -> None:
        assert figure.axes


def objectives(stored: Path, experiment: str, method: str, acquisition: str = "ucb") -> list[float]:
    """Lowest objective of each seed, by pandas alone."""
    table = pd.read_parquet(stored / "searches.parquet")
    chosen = (table["experiment"] == experiment) & (table["method"] == method) & (table["acquisition"] == acquisition)
    return table[chosen].groupby("seed")["objective"].min().to_list()
