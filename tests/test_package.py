from __future__ import annotations

import subprocess
import sys
from importlib.resources import files

import pytest

import betabo


def test_import_alone_loads_nothing_heavy() -> None:
    program = "import betabo, sys; print(betabo.__version__, 'torch' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.split() == [betabo.__version__, "False"]


@pytest.mark.parametrize("name", betabo.__all__)
def test_public_names_exist(name: str) -> None:
    assert getattr(betabo, name) is not None
    assert name in dir(betabo)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'GammaKernel'"):
        _ = betabo.GammaKernel


def test_types_are_shipped() -> None:
    assert (files("betabo") / "py.typed").is_file()
