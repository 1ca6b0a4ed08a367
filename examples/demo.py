"""Minimize a function whose optimum lies near a vertex of its box, with a GP that knows the box.

The function is Levy's in two dimensions, on a box cut so that the minimum sits at 5% of each side. The loop is a plain
one: fit a Gaussian process with the Beta kernel, maximize log expected improvement, evaluate, repeat. At the end it
draws where the evaluations went.

    python examples/demo.py --steps 24 --out out/demo.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.test_functions import Levy
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from betabo import beta_covariance

UPPER = 10.0
LOWER = (1.0 - 0.05 * UPPER) / 0.95  # puts the minimum, at 1, at 5% of the side
UNIT_SQUARE = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
STARTING_POINTS = 6


def objective(x: Tensor) -> Tensor:
    """Levy's function at points of the unit square, `n x 2`; its minimum is 0 at (0.05, 0.05)."""
    value: Tensor = Levy(dim=2)(LOWER + (UPPER - LOWER) * x)
    return value.unsqueeze(-1)


def fit(x: Tensor, y: Tensor) -> SingleTaskGP:
    """A Gaussian process with the Beta kernel and dimension-scaled priors, on standardized values."""
    model = SingleTaskGP(x, y, covar_module=beta_covariance(x.shape[-1]))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def minimize(steps: int, seed: int, progress: Progress) -> tuple[Tensor, Tensor, SingleTaskGP]:
    """A few Sobol points, then `steps` evaluations where log expected improvement is largest."""
    torch.manual_seed(seed)
    x = draw_sobol_samples(bounds=UNIT_SQUARE, n=STARTING_POINTS, q=1, seed=seed).squeeze(-2)
    y = objective(x)
    task = progress.add_task("minimizing", total=steps, best=y.min().item())
    for _ in range(steps):
        acquisition = LogExpectedImprovement(fit(x, y), best_f=y.min(), maximize=False)
        candidate, _ = optimize_acqf(acquisition, bounds=UNIT_SQUARE, q=1, num_restarts=4, raw_samples=128)
        x = torch.cat([x, candidate])
        y = torch.cat([y, objective(candidate)])
        progress.update(task, advance=1, best=y.min().item())
    return x, y, fit(x, y)


def draw(x: Tensor, y: Tensor, model: SingleTaskGP, path: Path) -> None:
    """The function with the evaluations, the model's uncertainty, and the best value by evaluation."""
    side = torch.linspace(0, 1, 121, dtype=torch.float64)
    grid = torch.cartesian_prod(side, side)
    with torch.no_grad():
        surface = objective(grid).reshape(121, 121).T
        spread = model.posterior(grid).variance.sqrt().reshape(121, 121).T
    order = range(1, len(x) + 1)

    figure = Figure(figsize=(13, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.contourf(side, side, (surface + 0.1).log10(), levels=16, cmap="Greys")
    dots = left.scatter(
        x[:, 0], x[:, 1], c=list(order), cmap="plasma", s=34, edgecolor="white", linewidth=0.6, zorder=3
    )
    dots.set_clip_on(False)
    figure.colorbar(dots, ax=left, label="evaluation")
    mesh = middle.pcolormesh(side, side, spread, cmap="Blues", shading="gouraud")
    figure.colorbar(mesh, ax=middle, label="posterior standard deviation")
    left.set(title="Levy's function and the evaluations", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    middle.set(title="What the model does not know", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    left.plot(0.05, 0.05, marker="*", color="lime", markeredgecolor="black", markersize=14, linestyle="none")
    middle.scatter(x[:, 0], x[:, 1], s=8, color="black", clip_on=False)
    right.semilogy(order, y.cummin(dim=0).values.squeeze(-1), drawstyle="steps-post", color="tab:blue")
    right.axvspan(1, STARTING_POINTS, color="0.92", label="Sobol points")
    right.set(title="Best value so far", xlabel="evaluation", ylabel="value (the minimum is 0)")
    right.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=24, help="evaluations after the starting points (default 24)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the run (default 0)")
    parser.add_argument("--out", type=Path, default=Path("out/demo.png"), help="where the picture goes")
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error(f"--steps is {arguments.steps}, expected at least 1")

    console = Console()
    console.print("Levy's function on a box with its minimum at 5% of each side, next to a vertex.")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("best value {task.fields[best]:.4f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        x, y, model = minimize(arguments.steps, arguments.seed, progress)

    best = y.argmin().item()
    kernel = model.covar_module.base_kernel
    console.print(f"best value {y.min().item():.5f} at ({x[best, 0]:.3f}, {x[best, 1]:.3f}), evaluation {best + 1}")
    console.print(
        f"the GP learned bandwidths {', '.join(f'{h:.3g}' for h in kernel.bandwidth[0].tolist())} "
        f"and boundary weight {kernel.boundary_weight.item():.3g}"
    )
    draw(x, y, model, arguments.out)
    console.print(f"picture: {arguments.out}")


if __name__ == "__main__":
    main()
