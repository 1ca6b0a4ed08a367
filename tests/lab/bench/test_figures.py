from __future__ import annotations

from betabo.lab.bench.figures import write_figures


def test_figures_become_files(tiny_folder, tmp_path) -> None:
    paths = write_figures(tiny_folder, tmp_path / "figures", at=7, blocks="run")
    assert [path.name for path in paths] == [
        f"{name}.{ending}" for name in ("convergence", "ranks", "critical-difference") for ending in ("png", "pdf")
    ]
    for path in paths:
        assert path.read_bytes()[:4] == (b"\x89PNG" if path.suffix == ".png" else b"%PDF")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(path.name for path in paths)
