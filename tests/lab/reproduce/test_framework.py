from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from betabo.lab.plots.style import new_figure
from betabo.lab.reproduce import REPRODUCTIONS, SCALES, Context, Reproduction, Summary, reproduce, reproduction_by_name
from betabo.lab.reproduce.entry import Claim
from betabo.lab.reproduce.files import markdown_table


def test_catalogue_is_complete() -> None:
    assert set(REPRODUCTIONS) >= {"covariance", "eigendecay", "eigendecay-table", "diagonal-bound"}
    for name, entry in REPRODUCTIONS.items():
        assert entry.name == name
        assert entry.description
        estimates = [entry.estimate(scale) for scale in SCALES]
        assert 0 < estimates[0] <= 60
        assert estimates[1] <= 20 * 60
        assert estimates == sorted(estimates)


def test_unknown_name_is_refused_with_the_closest() -> None:
    with pytest.raises(
        ValueError, match=r"reproduction is 'eigendekay', expected one of .*Did you mean 'eigendecay'\?"
    ):
        reproduction_by_name("eigendekay")


def test_bad_scale_and_workers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="scale is 'large', expected one of 'smoke'"):
        reproduce("covariance", scale="large", out=tmp_path)
    with pytest.raises(ValueError, match="workers is 0"):
        reproduce("covariance", workers=0, out=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [((True, True), "holds"), ((True, False), "holds in part"), ((False,), "does not hold")],
    ids=["all", "some", "none"],
)
def test_verdict_follows_from_the_checks(checks: tuple[bool, ...], verdict: str) -> None:
    claim = Claim("water is wet", checks, "measured")
    assert claim.verdict == verdict
    assert Summary((claim, claim)).comparison.count(f"water is wet: {verdict} (measured)") == 2


def test_context_writes_each_kind_of_file_and_keeps_count(tmp_path: Path) -> None:
    context = Context(tmp_path / "new", scale="smoke")
    context.save_table("data", pd.DataFrame({"x": [0.1, 1 / 3]}))
    context.save_text("table.md", markdown_table(["a", "b"], [["1", "2"]]))
    figure = new_figure(2, 2)
    figure.subplots().plot([0, 1])
    context.save_figure("plot", figure)
    assert context.files == ["data.csv", "table.md", "plot.png", "plot.pdf"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(context.files)
    assert (tmp_path / "new/data.csv").read_text().split() == ["x", "0.1", "0.3333333333"]
    assert (tmp_path / "new/table.md").read_text() == "| a | b |\n| --- | ---: |\n| 1 | 2 |\n"
    assert (tmp_path / "new/plot.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "new/plot.pdf").read_bytes().startswith(b"%PDF")


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


def test_scale_chooses() -> None:
    assert [Context(Path(), scale).choose(smoke=1, standard=2, paper=3) for scale in SCALES] == [1, 2, 3]


def test_progress_goes_through_all_items(capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (False, True):
        assert list(Context(Path(), progress=progress).track(range(5), "counting")) == [0, 1, 2, 3, 4]
    assert "Traceback" not in capsys.readouterr().err


def test_new_entry_is_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("made_up")
    module.estimate = lambda scale: 1.0
    module.run = lambda context: Summary((Claim("a", (True,), "b"),), {"workers": context.workers})
    monkeypatch.setitem(sys.modules, "made_up", module)
    monkeypatch.setitem(REPRODUCTIONS, "made-up", Reproduction("made-up", "An example", "made_up"))
    assert reproduce("made-up", scale="paper", out=tmp_path, workers=3).figures == {"workers": 3}
    record = json.loads((tmp_path / "made-up/reproduction.json").read_text())
    assert record["command"] == "betabo reproduce made-up --scale paper"
    assert record["scale"] == "paper"
    assert record["claims"] == [{"claim": "a", "verdict": "holds", "evidence": "b"}]
    assert record["seconds"] >= 0
    assert set(record["versions"]) >= {"betabo", "torch", "python"}


@pytest.mark.parametrize("missing", ["matplotlib", "pandas"])
def test_missing_package_names_the_extra(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"covariance needs {missing}: pip install 'betabo\[plot,tables\]'"):
        reproduce("covariance", scale="smoke", out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_listing_loads_nothing_heavy() -> None:
    program = "import betabo.cli.reproduce, sys; print({'torch', 'pandas', 'matplotlib'} & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "set()"
