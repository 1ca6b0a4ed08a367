"""The page as a whole: its structure, what it says of unusual studies, and that nothing of the user's gets loose."""

from __future__ import annotations

import importlib
import json
import os
import re
import stat
import sys
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from betabo.report import build_report, write_report

VOID = {"meta", "link", "br", "img", "input", "hr"}
Add = Callable[..., None]


class Page(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def json(self, key: str) -> Any:
        (content,) = [content for attrs, content in self.scripts if attrs.get("id") == key]
        return json.loads(content)

    def attributes(self, name: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(name)) is not None]


@pytest.fixture(scope="module")
def page(study: optuna.Study) -> Page:
    return Page(build_report(study))


class TestStructure:
    def test_every_element_is_closed_and_every_id_is_unique(self, page: Page) -> None:
        assert page.open == []
        ids = page.attributes("id")
        assert len(ids) == len(set(ids))

    def test_navigation_leads_to_sections(self, page: Page) -> None:
        targets = {href[1:] for href in page.attributes("href")}
        sections = {attrs["id"] for tag, attrs in page.tags if tag == "section"}
        assert sections == {
            "best",
            "convergence",
            "boundary",
            "importance",
            "slices",
            "fit",
            "parallel",
            "model",
            "trials",
        }
        assert sections | {"top"} == targets

    def test_every_plot_has_a_figure_and_every_figure_a_plot(self, page: Page) -> None:
        keys = page.attributes("data-figure")
        assert len(keys) == len(set(keys))
        assert set(keys) == page.json("figures").keys()
        assert {"convergence", "boundary", "importance-0", "parallel", "slice-0-3", "trace-lengthscale"} <= set(keys)

    def test_nothing_is_loaded(self, page: Page) -> None:
        assert page.attributes("src") == []
        assert not [tag for tag, _ in page.tags if tag in ("link", "img", "iframe", "object", "base")]
        assert all(href.startswith("#") for href in page.attributes("href"))

    def test_the_policy_admits_exactly_the_scripts_of_the_page(self, page: Page) -> None:
        (policy,) = [attrs["content"] for _, attrs in page.tags if "http-equiv" in attrs]
        assert policy is not None
        scripts = [content for attrs, content in page.scripts if "type" not in attrs]
        hashes = [f"'sha256-{b64encode(sha256(s.encode()).digest()).decode()}'" for s in scripts]
        assert re.findall(r"'sha256-[^']*'", policy) == hashes
        assert policy.startswith("default-src 'none';")
        assert "http" not in policy

    def test_plotly_is_there_once(self, page: Page) -> None:
        assert [
            ("plotly.js (basic - minified) v" in content) for attrs, content in page.scripts if "type" not in attrs
        ] == [
            True,
            False,
            False,
        ]

    def test_the_library_is_the_one_that_its_authors_published(self, page: Page) -> None:
        library = next(content for attrs, content in page.scripts if "type" not in attrs)
        assert sha256(library.encode()).hexdigest() == (
            "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
        )

    def test_is_small_enough_for_an_email(self, study: optuna.Study) -> None:
        assert len(build_report(study).encode()) < 2_000_000

    def test_text_and_tables_agree(self, study: optuna.Study) -> None:
        html = build_report(study)
        page = Page(html)
        best, rows = study.best_trial, page.json("rows")
        labels = [column["label"] for column in rows["columns"]]
        (row,) = [row["cells"] for row in rows["rows"] if row["best"]]
        assert row[labels.index("trial")] == best.number
        assert f"{row[labels.index('value')]:.6g}" in re.search(r'class="lead">([^<]*)', html)[1]  # type: ignore[index]
        count = re.search(r"(\d+) of its (\d+) numeric parameters are on a bound", html)
        assert count is not None
        table = re.search(r'<table class="parameters">.*?</table>', html, re.DOTALL)
        assert table is not None
        assert int(count[1]) == table[0].count('class="badge"')
        assert int(count[2]) == table[0].count('class="badge"') + table[0].count('class="quiet">no<')

    def test_nothing_can_be_sent_to_a_server(self, page: Page) -> None:
        assert "showSendToCloud: false" in page.scripts[-2][1]

    def test_is_the_same_for_the_same_study(self, study: optuna.Study) -> None:
        pages = [Page(build_report(study)) for _ in range(2)]
        assert pages[0].json("figures") == pages[1].json("figures")
        assert pages[0].json("rows") == pages[1].json("rows")


class TestContent:
    def test_says_what_was_found(self, page: Page, study: optuna.Study) -> None:
        assert (
            "The study minimizes value; 25 of its 30 trials finished. The best value is 0, found in trial 24"
            in page.text
        )
        assert "2 of its 3 numeric parameters are on a bound." in page.text
        assert "25 complete" in page.text
        assert "1 interrupted" in page.text

    def test_warns_of_a_box_that_is_too_small(self, page: Page) -> None:
        assert "The box may be too small" in page.text
        assert "Widen the range, for example to [0, 0.62]" in page.text

    def test_table_has_all_trials_and_parameters(self, page: Page, study: optuna.Study) -> None:
        table = page.json("rows")
        labels = [column["label"] for column in table["columns"]]
        assert labels == [
            "trial",
            "state",
            "origin",
            "value",
            "seconds",
            "boundary",
            "rate",
            "drop",
            "layers",
            "act",
            "note",
        ]
        assert len(table["rows"]) == 30
        for row in table["rows"][:25]:
            trial = study.trials[row["cells"][0]]
            assert row["cells"][3] == trial.value
            assert row["cells"][6:9] == [trial.params[name] for name in ("rate", "drop", "layers")]
            assert row["best"] == (trial.number == 24)
        (interrupted,) = [row for row in table["rows"] if row["cells"][1] == "interrupted"]
        assert interrupted["cells"][-1] == "its worker died"

    def test_convergence_shows_the_running_minimum(self, page: Page, study: optuna.Study) -> None:
        (line,) = [t for t in page.json("figures")["convergence"]["data"] if t["name"] == "best so far"]
        values = [t.value for t in study.trials[:25]]
        assert line["x"] == list(range(25))
        assert line["y"] == [min(values[: i + 1]) for i in range(25)]

    def test_names_the_kinds_of_trials(self, page: Page) -> None:
        names = {trace["name"] for trace in page.json("figures")["convergence"]["data"]}
        expected = {"starting design", "proposed by the model", "enqueued", "best so far", "pruned", "failed"}
        assert names == expected | {"interrupted", "running"}

    def test_a_constant_hyperparameter_is_said_rather_than_drawn(self, page: Page) -> None:
        assert "trace-boundary_weight" not in page.json("figures")
        assert "the same in every step: boundary weight 0." in page.text


class TestUnusualStudies:
    def build(self, study: optuna.Study) -> Page:
        page = Page(build_report(study))
        assert set(page.attributes("data-figure")) == page.json("figures").keys()
        return page

    def test_without_trials(self) -> None:
        page = self.build(optuna.create_study(study_name="fresh"))
        assert "The study has no trials yet." in page.text
        assert "A model needs at least two finished trials; none has finished." in page.text
        assert page.json("figures") == {}

    def test_with_one_trial(self, add_trial: Add) -> None:
        study = optuna.create_study(direction="maximize")
        add_trial(study, {"drop": 0.2}, [1.5])
        page = self.build(study)
        assert "The study maximizes value; 1 of its 1 trial finished. The best value is 1.5" in page.text
        assert "one has finished" in page.text
        assert {"convergence", "boundary", "parallel"} == page.json("figures").keys()

    @pytest.mark.parametrize("state", [TrialState.RUNNING, TrialState.FAIL, TrialState.PRUNED, TrialState.WAITING])
    def test_where_nothing_finished(self, state: TrialState, add_trial: Add) -> None:
        study = optuna.create_study()
        for _ in range(3):
            add_trial(study, {"drop": 0.2, "act": "relu"}, None, state=state)
        page = self.build(study)
        assert "No trial has finished with a value yet." in page.text
        assert len(page.json("rows")["rows"]) == 3

    def test_where_no_trial_is_feasible(self, add_trial: Add) -> None:
        study = optuna.create_study()
        for i in range(4):
            add_trial(study, {"drop": 0.1 * i}, [float(i)], system_attrs={"constraints": [0.5 + i, -1.0]})
        page = self.build(study)
        assert "No finished trial satisfies all constraints" in page.text
        assert "Trial 0 comes closest: it violates them by 0.5 in sum." in page.text
        assert "importance-0" in page.json("figures")

    @pytest.mark.parametrize("count", [2, 3, 5])
    def test_with_several_objectives(self, count: int, make_random: Callable[..., optuna.Study]) -> None:
        study = make_random((["minimize", "maximize"] * 3)[:count], constrained=count == 2, count=8)
        page = self.build(study)
        figures = page.json("figures")
        assert f"{len(study.best_trials)} trial" in page.text
        assert {"front", "parallel", f"importance-{count - 1}"} <= figures.keys()
        assert ("hypervolume" in figures) == (count < 5)
        best = sorted(row["cells"][0] for row in page.json("rows")["rows"] if row["best"])
        assert best == [t.number for t in study.best_trials]

    def test_with_categorical_parameters_only(self, add_trial: Add, ranges: dict[str, BaseDistribution]) -> None:
        study = optuna.create_study()
        for i, act in enumerate(["relu", "tanh", None, "relu"]):
            add_trial(study, {"act": act}, [float(i)])
        page = self.build(study)
        assert "There are no finished trials with numeric parameters" in page.text
        assert "slice-0-0" in page.json("figures")

    def test_without_parameters(self, add_trial: Add) -> None:
        study = optuna.create_study()
        for i in range(3):
            add_trial(study, {}, [float(i)])
        page = self.build(study)
        assert "The trials have no parameters." in page.text
        assert "There is no model: " in page.text

    def test_with_conditional_parameters_and_changing_ranges(self, add_trial: Add) -> None:
        study = optuna.create_study()
        for i in range(8):
            params: dict[str, Any] = {"x": 0.1 * i, "y": 0.5} if i % 2 else {"x": 0.1 * i}
            wide = FloatDistribution(0, 1 if i < 4 else 2)
            add_trial(study, params, [float(i)], {"x": wide, "y": FloatDistribution(1e-3, 1, log=True)})
        page = self.build(study)
        assert "There is no model: " not in page.text  # of x, which all trials share
        assert "parallel" in page.json("figures")

    def test_where_a_linear_range_became_logarithmic(self, add_trial: Add) -> None:
        study = optuna.create_study()
        add_trial(study, {"x": 0.0}, [1.0], {"x": FloatDistribution(0, 1)})
        add_trial(study, {"x": 0.5}, [2.0], {"x": FloatDistribution(1e-3, 1, log=True)})
        assert "parallel" in self.build(study).json("figures")

    def test_with_infinite_and_huge_values(self, add_trial: Add) -> None:
        study = optuna.create_study()
        for i, value in enumerate([float("inf"), 1e300, -1e300, 0.0, float("-inf"), 5.0]):
            add_trial(study, {"drop": 0.08 * i}, [value])
        page = self.build(study)
        assert "The best value is -inf, found in trial 4" in page.text
        assert page.json("rows")["rows"][0]["cells"][3] == "inf"

    def test_where_one_trial_is_far_worse_than_the_others(self, add_trial: Add) -> None:
        study = optuna.create_study()
        for i in range(8):
            add_trial(study, {"drop": 0.06 * i}, [1e6 if i == 3 else float(i - 4)])
        page = self.build(study)
        low, high = page.json("figures")["convergence"]["layout"]["yaxis"]["range"]
        assert low < -4 < 3 < high < 100
        assert "a double click shows all" in page.text

    def test_with_equal_values(self, add_trial: Add) -> None:
        study = optuna.create_study()
        for i in range(5):
            add_trial(study, {"drop": 0.1 * i, "layers": 1 + i}, [3.0])
        assert "The model predicts the same everywhere for value: no parameter matters." in self.build(study).text

    def test_with_many_parameters(self, add_trial: Add) -> None:
        study = optuna.create_study()
        ranges = {f"x{i:02}": FloatDistribution(0, 1) for i in range(30)}
        for i in range(4):
            add_trial(study, {name: (i * 0.3 + k * 0.17) % 1 for k, name in enumerate(ranges)}, [float(i % 3)], ranges)
        page = self.build(study)
        assert "The 12 most important of 30 parameters are shown." in page.text
        assert "slice-0-12" not in page.json("figures")

    def test_with_integers_that_javascript_cannot_hold(self, add_trial: Add) -> None:
        study = optuna.create_study()
        add_trial(study, {"n": 2**60 + 1}, [1.0], {"n": IntDistribution(0, 2**61)})
        assert page_cell(self.build(study), "n") == str(2**60 + 1)

    def test_of_too_many_trials_for_a_model(self, study: optuna.Study, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("betabo.report.page._MOST_MODELLED", 20)
        page = self.build(study)
        assert "A model of 25 trials would take too long; 20 is the most." in page.text


def page_cell(page: Page, label: str) -> Any:
    table = page.json("rows")
    index = [column["label"] for column in table["columns"]].index(label)
    return table["rows"][0]["cells"][index]


class TestSecurity:
    @pytest.fixture
    def nasty(self, hostile: str, add_trial: Add) -> optuna.Study:
        study = optuna.create_study(study_name=hostile)
        study._storage.set_study_system_attr(study._study_id, "study:metric_names", [hostile])
        ranges: dict[str, BaseDistribution] = {
            hostile: FloatDistribution(0, 1),
            "c": CategoricalDistribution([hostile, "b"]),
        }
        for i in range(4):
            attrs = {"betabo:reason": hostile, "betabo:step": {"origin": hostile, "diagnostics": {"noise": 1.0 + i}}}
            add_trial(study, {hostile: 0.25 * i, "c": hostile}, [float(i)], ranges, system_attrs=attrs)
        add_trial(study, {hostile: 0.5, "c": "b"}, None, ranges, state=TrialState.FAIL, system_attrs=attrs)
        return study

    def test_text_of_the_user_stays_text(self, nasty: optuna.Study, hostile: str) -> None:
        html = build_report(nasty)
        page = Page(html)
        assert hostile not in html
        assert page.open == []
        assert not [tag for tag, _ in page.tags if tag == "img"]
        assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
        assert page.text.count(hostile) >= 3
        assert "49" not in page.text.split("{{7*")[1][:5]

    def test_text_in_figures_is_neither_markup_nor_template(self, nasty: optuna.Study) -> None:
        figures = json.dumps(Page(build_report(nasty)).json("figures"))
        assert "<img" not in figures
        assert "</script" not in figures
        assert "&lt;/script&gt;" in figures
        assert "%{x}{{" not in figures

    def test_text_in_the_table_is_unchanged(self, nasty: optuna.Study, hostile: str) -> None:
        page = Page(build_report(nasty))
        assert page_cell(page, "c") == hostile


class TestWriting:
    def test_writes_what_is_built(self, study: optuna.Study, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        write_report(study, path)
        assert Page(path.read_text(encoding="utf-8")).json("rows") == Page(build_report(study)).json("rows")
        assert os.listdir(tmp_path) == ["report.html"]
        (tmp_path / "other").write_text("")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)

    def test_accepts_a_string_and_replaces(self, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        path.write_text("old")
        write_report(optuna.create_study(), str(path))
        assert path.read_text(encoding="utf-8").startswith("<!doctype html>")

    def test_leaves_the_old_page_when_something_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "report.html"
        path.write_text("old")

        def refuse(*_: Any) -> None:
            raise OSError("disk full")

        monkeypatch.setattr("betabo.files.os.replace", refuse)
        with pytest.raises(OSError, match="disk full"):
            write_report(optuna.create_study(), path)
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == ["report.html"]

    def test_names_a_folder_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="missing"):
            write_report(optuna.create_study(), tmp_path / "missing" / "report.html")

    def test_refuses_what_is_not_a_study(self) -> None:
        with pytest.raises(TypeError, match=r"study is 'plain', expected an optuna\.Study"):
            build_report("plain")  # type: ignore[arg-type]


def test_without_plotly_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    monkeypatch.delitem(sys.modules, "betabo.report.figures")
    with pytest.raises(ImportError, match=r"A report needs plotly: pip install 'betabo\[report\]'"):
        importlib.import_module("betabo.report.figures")


def test_control_characters_are_seen_on_the_page() -> None:
    study = optuna.create_study(study_name="a\x1b]52;c;aGk=\x07b")
    page = build_report(study)
    assert "a␛]52;c;aGk=␇b" in page
    assert "\x1b" not in page


def test_a_study_with_parameters_under_a_choice() -> None:
    def branch(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("model", ["svm", "tree"]) == "svm":
            return (trial.suggest_float("C", 0, 1) - 0.3) ** 2
        return 1 + trial.suggest_int("depth", 1, 9) / 9

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(branch, n_trials=14)
    page = build_report(study)
    assert "Parameters that do not exist there have no panel." in page
    assert "There is no model" not in page
