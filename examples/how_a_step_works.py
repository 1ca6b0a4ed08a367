"""Draw how a step chooses the next point: the model of the values, the promise of each place, and its highest one.

python examples/how_a_step_works.py docs/images
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import torch
from botorch.acquisition.analytic import LogExpectedImprovement
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from betabo import Config
from betabo.optimizer.data import Data
from betabo.optimizer.model import Surrogate

KNOWN = (0.06, 0.22, 0.48, 0.68, 0.8)
LINE, BAND, NEXT = "#1f6feb", "#1f6feb", "#e11d48"


def height(x: float) -> float:
    """What is searched: a valley inside the box, and a lower one that ends at the right face."""
    return math.cos(9 * x) * (0.6 + 0.7 * x)


def fitted(points: list[float]) -> Surrogate:
    """The model of the default search."""
    x = np.array(points)[:, None]
    none = np.empty((0, 1))
    return Surrogate.fit(Data(x, np.array([height(p) for p in points]), none, none), Config(noise="none"), seed=0)


def show_model(axes: Axes, points: list[float], model: Surrogate) -> None:
    """Values, median and bands over the box."""
    x = np.linspace(0, 1, 301)
    low, lower, median, upper, high = model.objectives[0].quantiles(x[:, None], (0.05, 0.25, 0.5, 0.75, 0.95))
    axes.fill_between(x, low, high, color=BAND, alpha=0.13, linewidth=0)
    axes.fill_between(x, lower, upper, color=BAND, alpha=0.25, linewidth=0)
    axes.plot(x, median, color=LINE, linewidth=2, label="what the model expects")
    axes.plot(
        x,
        [height(p) for p in x],
        color="black",
        linestyle=":",
        linewidth=1.3,
        label="the truth, which it does not know",
    )
    axes.scatter(points, [height(p) for p in points], color="black", zorder=4, clip_on=False, label="evaluated")
    axes.set(xlim=(0, 1), ylim=(-2, 2), yticks=[])


def promise(model: Surrogate) -> tuple[np.ndarray, np.ndarray]:
    """Where, and how much: log expected improvement over the box."""
    process = model.objectives[0].process
    x = torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None]
    with torch.no_grad():
        found = LogExpectedImprovement(process, best_f=process.y.min(), maximize=False)(x.unsqueeze(-2))
    return x.squeeze(-1).numpy(), found.numpy()


def one_step() -> Figure:
    """The model above, the promise below."""
    points = list(KNOWN)
    model = fitted(points)
    x, gain = promise(model)
    best = float(x[gain.argmax()])
    figure = Figure(figsize=(9, 5), layout="constrained", facecolor="white")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
    show_model(above, points, model)
    above.set_ylabel("value")
    above.legend(frameon=False, fontsize=9, loc="lower left", ncols=3)
    below.fill_between(x, gain, max(gain.min(), gain.max() - 12), color="#16a34a", alpha=0.3, linewidth=0)
    below.plot(x, gain, color="#16a34a", linewidth=1.6)
    below.set(ylim=(gain.max() - 12, gain.max() + 1.5), yticks=[], xlabel="the box", ylabel="log of the promise")
    for axes in (above, below):
        axes.axvline(best, color=NEXT, linewidth=1.6, linestyle="--", clip_on=False)
    above.annotate("next", (best, 1.6), xytext=(best + 0.015, 1.6), color=NEXT, fontsize=11)
    return figure


def several_steps(count: int = 4) -> Figure:
    """The model before each of some steps, with the point that it chose."""
    points = list(KNOWN)
    figure = Figure(figsize=(9, 7.5), layout="constrained", facecolor="white")
    for number, axes in enumerate(figure.subplots(count, 1, sharex=True)):
        model = fitted(points)
        x, gain = promise(model)
        best = float(x[gain.argmax()])
        show_model(axes, points, model)
        axes.axvline(best, color=NEXT, linewidth=1.6, linestyle="--", clip_on=False)
        axes.set_title(
            f"with {len(points)} evaluations; lowest {min(map(height, points)):.3f}", fontsize=10, loc="left"
        )
        points.append(best)
        if number == count - 1:
            axes.set_xlabel("the box")
    return figure


def main() -> None:
    """Draw both pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", default=Path("out"), help="folder of the pictures")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    one_step().savefig(folder / "step.png", dpi=110)
    several_steps().savefig(folder / "steps.png", dpi=100)


if __name__ == "__main__":
    main()
