"""Tune a neural network of scikit-learn's from the command line, look at the best point, and write the report.

    python examples/demo.py --trials 40

It only types the commands for you. Stop it at any time, even with kill -9: started again, it goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

OUT = Path("out")
STORAGE = f"sqlite:///{OUT}/demo.db"
PARAMETERS = (
    "lr=1e-4..1e-1:log",
    "momentum=0..0.99",
    "alpha=1e-6..1:log",
    "width=8..128:int:log",
    "batch=16..256:int:log",
    "act=relu|tanh",
)


def betabo(*arguments: str) -> None:
    """Show a command and run it; leave with its exit code if it fails."""
    print(f"\n$ betabo {shlex.join(arguments)}\n", flush=True)
    code = subprocess.run([sys.executable, "-m", "betabo", *arguments], check=False).returncode
    if code:
        sys.exit(code)


def main() -> None:
    """Run the demo from the root of the repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40, help="trials in all (default 40)")
    parser.add_argument("--workers", type=int, default=2, help="trials at the same time (default 2)")
    arguments = parser.parse_args()

    # Ctrl-C is for the command that runs. A handler, unlike SIG_IGN, is not passed on to it.
    signal.signal(signal.SIGINT, lambda *_: None)
    OUT.mkdir(exist_ok=True)
    objective = os.path.relpath(Path(__file__).with_name("tune_sklearn.py"))
    betabo(
        *("minimize", f"{objective}:objective"),
        *(word for parameter in PARAMETERS for word in ("--param", parameter)),
        *("--trials", str(arguments.trials), "--workers", str(arguments.workers), "--seed", "0"),
        *("--study", "demo", "--storage", STORAGE, "--logs", str(OUT / "logs")),
    )
    betabo("best", "demo", "--storage", STORAGE)
    betabo("report", "demo", "--storage", STORAGE, "--out", str(OUT / "demo.html"))


if __name__ == "__main__":
    main()
