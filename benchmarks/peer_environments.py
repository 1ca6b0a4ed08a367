"""Make environments for optimizers that cannot share one with betabo, and say which could not be made.

    python benchmarks/peer_environments.py out/peer-environments              # hebo, vizier and bayes-opt
    BETABO_PEERS=out/peer-environments betabo bench peers --optimizers hebo ...

HEBO asks for an old NumPy, Vizier for old versions of JAX, and nevergrad for an old version of bayesian-optimization.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"

INSTALLS = {
    "hebo": [
        ["-c", str(CONSTRAINTS), "torch", "gpytorch", "GPy", "catboost", "disjoint-set", "pymoo", "scikit-learn"],
        ["--no-deps", "HEBO==0.3.6", "pymoo==0.6.0"],
    ],
    "vizier": [
        [
            "google-vizier[jax]==0.1.24",
            "jax==0.4.34",
            "jaxlib==0.4.34",
            "flax==0.10.0",
            "optax==0.2.3",
            "chex==0.1.87",
        ]
    ],
    "bayes-opt": [["bayesian-optimization==3.4.0"]],
}
"""What pip is called with, one call after another."""


def make(folder: Path, name: str) -> str:
    """Make an environment. What went wrong, empty if nothing did."""
    venv.create(folder / name, with_pip=True)
    for arguments in INSTALLS[name]:
        command = [folder / name / "bin" / "python", "-m", "pip", "install", "--quiet", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["pip failed"])[-1]
    return ""


def main() -> int:
    """Make those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(INSTALLS)}; all if none is named")
    arguments = parser.parse_args()
    failed = False
    for name in arguments.names or INSTALLS:
        if name not in INSTALLS:
            parser.error(f"the environment is {name!r}, expected one of {', '.join(INSTALLS)}.")
        problem = make(arguments.folder, name)
        print(f"{name}: {problem or 'made'}")
        failed |= bool(problem)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
