from __future__ import annotations

import pytest

from betabo.lab.bench.optimizers import OPTIMIZERS, OptimizerEntry, make_adapter, register_optimizer
from betabo.lab.bench.optimizers.random_search import RandomSearch


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("randon", {}, "the optimizer is 'randon', expected one of 'betabo', 'random'.*Did you mean 'random'"),
        ("betabo", {"kernal": "beta"}, "unknown setting 'kernal'.*Did you mean 'kernel'"),
        ("betabo", {"kernel": "bta"}, "kernel is 'bta'.*Did you mean 'beta'"),
        ("betabo", {"kernel": 3}, "kernel is a int, expected a name"),
        ("betabo", {"starting_points": 3}, "unknown setting 'starting_points'"),
        ("random", {"kernel": "beta"}, "unknown setting 'kernel' of the optimizer 'random', which takes none"),
    ],
)
def test_bad_settings_are_explained(name, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        make_adapter(name, settings)


def test_optimizers_can_be_registered(monkeypatch) -> None:
    monkeypatch.setattr("betabo.lab.bench.optimizers.catalogue.OPTIMIZERS", known := dict(OPTIMIZERS))
    register_optimizer(OptimizerEntry("again", "Random once more.", RandomSearch))
    assert isinstance(make_adapter("again", {}), RandomSearch)
    with pytest.raises(ValueError, match="taken by: Random once more"):
        register_optimizer(known["again"])
