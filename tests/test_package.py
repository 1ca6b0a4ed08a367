"""The package as it is installed."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files

import betabo


def test_the_version_is_that_of_the_installed_package() -> None:
    assert betabo.__version__ == version("betabo")


def test_types_are_shipped() -> None:
    assert (files("betabo") / "py.typed").is_file()
