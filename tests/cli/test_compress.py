from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from betabo.cli.app import app
from betabo.compress.presets import PRESETS
from betabo.compress.store import load_compressed
from betabo.studies import load_study
from betabo.studies.ledger import Ledger
from cli.command_case import Betabo, one_line
from compress.search_case import make_files

MODEL = ["--model", "./my-bert", "--task", "mrpc", "--data", "glue"]
QUICK = [
    *MODEL,
    "--protocol",
    "paper",
    "--steps",
    "2",
    "--batch",
    "8",
    "--rate",
    "1e-3",
    "--dense-steps",
    "0",
    "--device",
    "cpu",
]


def exported(betabo: Betabo, study: str) -> list[dict[str, object]]:
    assert betabo("export", study, "--out", "trials.json").exit_code == 0
    return json.loads(Path("trials.json").read_text())


def test_a_search_ends_with_a_model_and_goes_on(compress: Betabo, betabo: Betabo) -> None:
    search = [*QUICK, "--starting-points", "1", "--kernel", "beta"]
    first = compress(*search, "--trials", "2")
    assert first.exit_code == 0, first.output
    for line in (
        r"^12 coordinates, one a layer: 12 linear layers with 16,832 of the [\d,]+ parameters$",
        r"^left out: [\d,]+ parameters in 3 modules: an embedding$",
        r"^original: accuracy 0\.\d{4}, f1 \d\.\d{4} on the validation examples$",
        r"^study my-bert-mrpc: ./my-bert on mrpc: ",
        r"^\[2/2\] trial 1  value \S+  best \S+  \S+  .*size=0\.\d+$",
        r"^parameters of the compressed layers +16,832 +[\d,]+ +\d+\.\d%$",
        r"^latency \(cpu\) +\S+ ms +\S+ ms +\S+%$",
        r"^accuracy, test +0\.\d{4} +0\.\d{4}",
        r"^model: compressed$",
    ):
        assert re.search(line, first.stdout, re.MULTILINE), (line, first.stdout)

    summary = json.loads(Path("compressed/summary.json").read_text())
    best = min(exported(betabo, "my-bert-mrpc"), key=lambda row: row["value"])
    assert (summary["trial"], summary["study"]) == (best["number"], "my-bert-mrpc")
    assert summary["compressed"]["objective"] == best["value"]
    assert summary["compressed"]["size"] == best["size"]
    assert summary["ratios"] == {name: best[name] for name in summary["ratios"]}
    assert len(summary["ratios"]) == 12
    model = load_compressed("compressed")
    assert summary["sizes"]["after"]["parameters"] == sum(parameter.numel() for parameter in model.parameters())

    more = compress(*search, "--trials", "3")
    assert more.exit_code == 0, more.output
    assert "it goes on after 2 trials" in more.stdout
    assert re.findall(r"^\[(\d)/3\]", more.stdout, re.MULTILINE) == ["3"]
    assert len(exported(betabo, "my-bert-mrpc")) == 3
    assert "size=" in betabo("show", "my-bert-mrpc").stdout


def test_a_search_may_start_with_the_same_ratio_in_all_layers(compress: Betabo, betabo: Betabo) -> None:
    search = [*QUICK, "--starting-points", "3", "--start", "uniform", "--out", "out"]
    first = compress(*search, "--trials", "2")
    assert first.exit_code == 0
    assert "goes on" not in first.stdout
    assert compress(*search, "--trials", "4").exit_code == 0  # the rest of the start, once
    rows = exported(betabo, "my-bert-mrpc")
    ratios = [{row[name] for name in row if name[0] in "01" and "." in name} for row in rows]
    assert [len(found) for found in ratios[:3]] == [1, 1, 1]
    assert [found.pop() for found in ratios[:3]] == pytest.approx([0.05, 0.5, 0.95])
    assert len(ratios[3]) > 1


def test_a_front_is_shown_and_stored(compress: Betabo, betabo: Betabo) -> None:
    result = compress(*QUICK, "--pareto", "--trials", "4", "--starting-points", "4", "--weight", "0.5", "--out", "out")
    assert result.exit_code == 0, result.output
    rows = exported(betabo, "my-bert-mrpc-pareto")
    values = [(row["values_0"], row["values_1"]) for row in rows]
    assert values == [(row["size"], row["error"]) for row in rows]
    front = [v for v in values if not any(w != v and w[0] <= v[0] and w[1] <= v[1] for w in values)]
    with Path("out/front.csv").open(newline="") as file:
        stored = list(csv.DictReader(file))
    assert sorted((float(row["size"]), float(row["error"])) for row in stored) == sorted(set(front))
    chosen = min(rows, key=lambda row: 0.5 * row["size"] + row["error"])
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["trial"] == chosen["number"]
    assert (summary["compressed"]["size"], summary["compressed"]["error"]) == (chosen["size"], chosen["error"])
    assert f"Pareto front of {len(stored)} trial" in result.stdout


def test_a_preset_gives_what_is_not_said(compress: Betabo, betabo: Betabo) -> None:
    options = ["--model", "./my-bert", "--data", "glue", "--device", "cpu", "--dense-steps", "0", "--steps", "0"]
    result = compress("minilm-mrpc", *options, "--trials", "1", "--group", "block", "--protocol", "paper", "--quiet")
    assert result.exit_code == 0, result.output
    objective = json.loads(Path("compressed/summary.json").read_text())["objective"]
    preset = PRESETS["minilm-mrpc"]
    assert (objective["task"], objective["group"], objective["model"]) == ("mrpc", "block", "./my-bert")
    assert objective["training"]["batch"] == preset.training.batch
    assert objective["training"]["steps"] == 0
    assert objective["pruning"]["keep"] == preset.pruning.keep
    assert "coordinates" not in result.stdout  # quiet


def test_the_protocol_of_the_paper_is_what_a_search_without_a_goal_does(compress: Betabo, betabo: Betabo) -> None:
    search = [*QUICK, "--starting-points", "1", "--trials", "2", "--quiet"]
    found = []
    for name, protocol in (("one", []), ("other", ["--protocol", "paper"])):
        result = compress(*search, *protocol, "--study", name, "--out", name)
        assert result.exit_code == 0, result.output
        rows = exported(betabo, name)
        found.append(
            [{key: row[key] for key in row if not key.startswith(("started", "seconds", "ended"))} for row in rows]
        )
    assert Path("one/model.safetensors").read_bytes() == Path("other/model.safetensors").read_bytes()
    assert [row["value"] for row in found[0]] == [row["value"] for row in found[1]]


def test_presets_are_listed() -> None:
    result = CliRunner().invoke(app, ["compress", "--list"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == len(PRESETS) + 2
    for line, preset in zip(lines[2:], PRESETS.values(), strict=True):
        assert line.startswith(preset.name)
        assert preset.note in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to compress; give --model and --task"),
        (["bert-squat"], "Did you mean 'bert-squad'?"),
        (["bert-squad", "--preset", "gpt2-squad"], "the presets 'bert-squad' and 'gpt2-squad' are given"),
        ([*QUICK, "--bounds", "0.1-0.9"], "--bounds is '0.1-0.9', expected LOW..HIGH"),
        ([*QUICK, "--bounds", "0.9..0.1"], "bounds is (0.9, 0.1)"),
        ([*QUICK, "--keep", "2"], "keep is 2.0"),
        ([*QUICK, "--trials", "0"], "trials is 0, expected at least 1"),
        ([*QUICK, "--steps", "-1"], "steps is -1, expected at least 0"),
        ([*QUICK, "--kernel", "bata"], "kernel is 'bata'"),
        ([*QUICK, "--pareto", "--acquisition", "ucb"], "acquisition is 'ucb' with pareto"),
        ([*QUICK, "--task", "mrcp"], "Did you mean 'mrpc'?"),
        ([*QUICK, "--model", "./nothing"], "there is no folder './nothing'"),
        ([*QUICK, "--data", "./nothing/here"], "./nothing/here"),
        ([*QUICK, "--out", "glue"], "glue has files that are not of a compression"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) and value else None,
)
def test_mistakes_are_one_line(compress: Betabo, arguments: list[str], message: str) -> None:
    assert message in one_line(compress(*arguments))
    assert not Path("betabo.db").exists()


def test_help_teaches_and_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from betabo.cli import main\n"
        "sys.argv = ['betabo', 'compress', '--help']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "heavy = {'torch', 'numpy', 'optuna', 'transformers', 'safetensors', 'pyarrow'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "Example: betabo compress --model ./my-bert --task mrpc" in result.stdout


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs process groups and /proc")
def test_a_killed_search_goes_on_to_the_exact_total(tmp_path: Path) -> None:
    make_files(tmp_path)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    environment.pop("BETABO_STORAGE", None)
    search = [*QUICK, "--steps", "20", "--trials", "6", "--starting-points", "6", "--plain"]
    command = [sys.executable, "-m", "betabo", "compress", *search]
    storage, kills = f"sqlite:///{tmp_path}/betabo.db", 0
    for wanted in (1, 3):
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("[") and int(line[1 : line.index("/")]) >= wanted:
                break
        time.sleep(0.1)  # into the next trial
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        kills += 1
    assert not (tmp_path / "compressed" / "summary.json").exists()
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    books = Ledger(load_study("my-bert-mrpc", storage).trials)
    counted = [trial for trial in books.trials if books.state(trial) == "complete"]
    assert len(counted) == 6
    assert books.finished == 6
    assert len({json.dumps(trial.params, sort_keys=True) for trial in counted}) == 6
    assert len(books.trials) <= 6 + 2 * kills  # interrupted and withdrawn ones are kept
    summary = json.loads((tmp_path / "compressed" / "summary.json").read_text())
    best = min(counted, key=lambda trial: trial.value or 0.0)
    assert (summary["trial"], summary["compressed"]["objective"]) == (best.number, best.value)
    load_compressed(tmp_path / "compressed")
