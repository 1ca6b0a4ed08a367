"""What `betabo.studies` offers, and that looking at a study does not import the model."""

from __future__ import annotations

import subprocess
import sys

import pytest

import betabo.studies


def test_every_name_can_be_had() -> None:
    assert sorted(betabo.studies.__all__) == sorted(dir(betabo.studies))
    for name in betabo.studies.__all__:
        found = getattr(betabo.studies, name)
        assert name == "DEFAULT_STORAGE" or found.__name__ == name


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'run_studies'"):
        betabo.studies.run_studies  # noqa: B018


def test_looking_at_a_study_does_not_import_torch() -> None:
    code = "import sys; from betabo.studies import export, list_studies, load_study; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
