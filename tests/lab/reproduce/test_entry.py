from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from betabo.lab.plots.style import new_figure
from betabo.lab.reproduce import SCALES, Context, Summary, reproduce
from betabo.lab.reproduce.entry import Claim
from betabo.lab.reproduce.files import markdown_table


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [((True, True), "holds"), ((True, False), "holds in part"), ((False,), "does not hold")],
    ids=["all", "some", "none"],
)
def test_verdict_follows_from_the_checks(checks: tuple[bool, ...], verdict: str) -> None:
    claim = Claim("water is wet", checks, "measured")
    assert claim.verdict == verdict
    assert Summary((claim, claim)).comparison.count(f"water is wet: {verdict} (measured)") == 2


def test_claims_about_searches_may_hold_under_other_settings() -> None:
    assert Claim("water is wet", (False,), "measured", under_settings=True).verdict == "not under these settings"
    assert Claim("water is wet", (True, False), "measured", under_settings=True).verdict == "holds in part"


def test_comparison_says_under_which_settings() -> None:
    summary = Summary((Claim("a", (True,), "b"),), settings="weight 4")
    assert summary.comparison == "Under weight 4: a: holds (b)."
    assert Summary(()).comparison == "nothing to compare."


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


def test_scale_chooses() -> None:
    assert [Context(Path(), scale).choose(smoke=1, standard=2, paper=3) for scale in SCALES] == [1, 2, 3]


def test_progress_goes_through_all_items(capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (False, True):
        assert list(Context(Path(), progress=progress).track(range(5), "counting")) == [0, 1, 2, 3, 4]
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["matplotlib", "pandas"])
def test_missing_package_names_the_extra(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"covariance needs {missing}: pip install 'betabo\[plot,tables\]'"):
        reproduce("covariance", scale="smoke", out=tmp_path)
    assert not list(tmp_path.iterdir())
