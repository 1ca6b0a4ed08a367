"""The published comparison on SBOX-COST."""

from __future__ import annotations

from types import ModuleType

import pytest

from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def sbox() -> ModuleType:
    pytest.importorskip("pyarrow")
    return load_example("experiments/sbox")


def test_published_tables_are_those_of_the_kept_runs(sbox: ModuleType) -> None:
    document, readme = (
        (EXAMPLES.parent / name).read_text(encoding="utf-8").replace("\n", " ")
        for name in ("docs/peers.md", "README.md")
    )
    found = {name: " ".join(lines) for name, lines in sbox.tables().items()}
    assert set(found) == {"lost", "ranked", "brief", "against", "short"}
    brief = found.pop("brief")
    for name, text in found.items():
        assert text in document, name
    assert brief in readme
    assert found["short"] in readme


def test_kept_runs_are_of_instances_for_tables_and_start_with_own_designs(sbox: ModuleType) -> None:
    runs = sbox.read_packed(sbox.RUNS)
    instances = runs["problem"].str.extract(r"-i(\d+)$")[0].astype(int)
    assert instances.between(6, 10).all()
    assert runs["own_start"].all()
    assert not runs.duplicated(["problem", "seed", "optimizer"]).any()
