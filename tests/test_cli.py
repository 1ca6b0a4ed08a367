"""The command line without its packages."""

from __future__ import annotations

import subprocess
import sys


def test_missing_typer_names_the_extra() -> None:
    program = "import sys; sys.modules['typer'] = None; from betabo.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: the command line needs typer: pip install 'betabo[cli]'\n"
