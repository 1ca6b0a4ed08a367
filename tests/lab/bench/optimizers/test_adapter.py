from __future__ import annotations

from betabo.lab.bench.optimizers.random_search import RandomSearch


def test_an_adapter_without_figures_or_resources_needs_to_say_nothing() -> None:
    adapter = RandomSearch()
    assert adapter.diagnostics() == {}
    assert adapter.end() is None
