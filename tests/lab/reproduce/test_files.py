from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from betabo.lab.plots.style import new_figure
from betabo.lab.reproduce import Context


def test_same_figure_gives_the_same_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        figure = new_figure(2, 2)
        figure.subplots().plot([0, 1])
        Context(tmp_path / folder).save_figure("plot", figure)
    for name in ("plot.png", "plot.pdf"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    class Broken(pd.DataFrame):
        def to_csv(self, path: Path, **_: object) -> None:
            Path(path).write_text("half")
            raise OSError("disk full")

    context = Context(tmp_path)
    context.save_table("data", pd.DataFrame({"x": [1]}))
    with pytest.raises(OSError, match="disk full"):
        context.save_table("data", Broken({"x": [2]}))
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
    assert (tmp_path / "data.csv").read_text() == "x\n1\n"
