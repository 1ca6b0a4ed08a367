from __future__ import annotations

import json
import re
from typing import Any

import pytest

from betabo import Config
from betabo.acquisition.catalogue import ACQUISITIONS
from betabo.kernels.catalogue import KERNELS
from cli.command_case import Betabo


@pytest.mark.parametrize(
    ("command", "catalogue", "default"),
    [("kernels", KERNELS, Config.kernel), ("acquisitions", ACQUISITIONS, Config.acquisition)],
)
def test_catalogues_describe_every_entry(betabo: Betabo, command: str, catalogue: dict[str, Any], default: str) -> None:
    output = betabo(command).stdout
    for entry in catalogue.values():
        assert re.search(rf"^{entry.name} +{re.escape(entry.description)}", output, re.MULTILINE)
    assert re.findall(r"^(\S+) .*\(default\)", output, re.MULTILINE) == [default]


@pytest.mark.parametrize("command", ["kernels", "acquisitions"])
def test_catalogues_are_there_as_json(betabo: Betabo, command: str) -> None:
    entries = json.loads(betabo(command, "--json").stdout)
    assert sum(entry["default"] for entry in entries) == 1
    assert all(entry["name"] and entry["description"] for entry in entries)
