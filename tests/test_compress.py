from __future__ import annotations

import subprocess
import sys

import pytest

import betabo.compress
from betabo.compress.session import CompressionSession


def test_names_are_loaded_when_they_are_used() -> None:
    assert betabo.compress.CompressionSession is CompressionSession
    assert {name: getattr(betabo.compress, name).__name__ for name in betabo.compress.__all__} == {
        name: name for name in dir(betabo.compress)
    }
    with pytest.raises(AttributeError, match="has no attribute 'compress_modle'"):
        _ = betabo.compress.compress_modle  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, betabo.compress; assert not {'torch', 'optuna'} & sys.modules.keys()"
    assert subprocess.run([sys.executable, "-c", program], check=True).returncode == 0
