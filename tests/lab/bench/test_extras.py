from __future__ import annotations

import json

import pytest

from betabo.lab.bench.extras import require


def test_a_package_is_imported() -> None:
    assert require("json") is json


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(ImportError, match=r"campaigns need not_there: pip install 'betabo\[peers\]'"):
        require("not_there.inside", "peers")
