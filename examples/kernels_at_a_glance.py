"""Draw what the Beta kernels know about the box, next to Matern: covariances with three points, and prior samples.

python examples/kernels_at_a_glance.py docs/images/kernels.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from gpytorch.kernels import Kernel, MaternKernel
from matplotlib.figure import Figure

from betabo import BetaKernel, BetaMaternKernel


def kernels() -> dict[str, Kernel]:
    """The kernels side by side, with the same length scale at the centre."""
    matern, bent = MaternKernel(nu=2.5), BetaMaternKernel(nu=2.5)
    correlation, paper = BetaKernel(boundary_weight=0.0), BetaKernel(boundary_weight=1.0)
    matern.lengthscale = bent.lengthscale = 0.2
    bent.bandwidth = 0.05
    for kernel in (correlation, paper):
        kernel.central_lengthscale = 0.2
    return {
        "Matérn-5/2:\nthe same everywhere": matern,
        "Beta-Matérn-5/2:\nshorter towards the faces": bent,
        "Beta, boundary weight 0:\nsmooth, unit variance": correlation,
        "Beta, boundary weight 1 (the paper's):\nvariance at the faces": paper,
    }


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", default=Path("out/kernels.png"), help="where the picture goes")
    path: Path = parser.parse_args().out

    torch.manual_seed(1)
    x = torch.linspace(0, 1, 301, dtype=torch.float64).unsqueeze(-1)
    centres = torch.tensor([[0.02], [0.2], [0.5]], dtype=torch.float64)
    normals = torch.randn(len(x), 4, dtype=torch.float64)
    figure = Figure(figsize=(13, 5.4), layout="constrained")
    axes = figure.subplots(2, 4, sharex=True, sharey="row")
    for column, (title, kernel) in enumerate(kernels().items()):
        kernel = kernel.double()
        with torch.no_grad():
            covariance = kernel(x, centres).to_dense()
            eigenvalues, eigenvectors = torch.linalg.eigh(kernel(x).to_dense())
            samples = eigenvectors * eigenvalues.clamp_min(0).sqrt() @ (eigenvectors.mT @ normals)
        top, bottom = axes[:, column]
        for i, centre in enumerate(centres.squeeze(-1).tolist()):
            top.plot(x, covariance[:, i], color=f"C{i}", label=f"$x' = {centre}$")
            top.axvline(centre, color=f"C{i}", linewidth=0.6, linestyle=":")
        bottom.plot(x, samples, linewidth=1.2)
        top.set_title(title, fontsize=11)
        bottom.set_xlabel("$x$")
    axes[0, 0].set_ylabel("$k(x, x')$")
    axes[1, 0].set_ylabel("samples from the prior")
    axes[0, 0].legend(frameon=False, loc="upper right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
