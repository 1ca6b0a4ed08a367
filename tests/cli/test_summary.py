from __future__ import annotations

import io
import shlex

from rich.console import Console

from betabo.cli.summary import print_best, print_bound_hint, print_next, print_point
from betabo.optimizer import Estimate
from betabo.optimizer.beyond import GainBeyond
from betabo.optuna import Recommended
from betabo.optuna.trials import TrialRecord


def screen() -> Console:
    return Console(file=io.StringIO(), width=80, highlight=False, markup=False)


def text(console: Console) -> str:
    return str(console.file.getvalue())


def trial(number: int, *values: float) -> TrialRecord:
    return TrialRecord(number, "complete", values, {"lr": 0.5, "act": "[red]"}, positions={"lr": float(number == 1)})


def test_the_best_is_printed_with_its_point() -> None:
    console = screen()
    print_best(console, [trial(0, 3.0), trial(1, 2.0)], ["minimize"])
    assert text(console) == "best value 2  trial 1\n  lr   0.5  on its upper bound\n  act  [red]\n"


def test_the_point_may_be_left_out() -> None:
    console = screen()
    print_best(console, [trial(0, 3.0), trial(1, 2.0)], ["maximize"], points=False)
    assert text(console) == "best value 3  trial 0\n"


def test_a_front_is_printed_as_a_table_and_cut_where_it_is_long() -> None:
    console = screen()
    print_best(
        console, [trial(n, float(n), -float(n)) for n in range(12)], ["minimize", "minimize"], names=["loss", "speed"]
    )
    lines = text(console).splitlines()
    assert lines[0] == "Pareto front of 12 trials:"
    assert lines[1].split() == ["trial", "loss,", "speed", "parameters"]
    assert lines[3].split()[:3] == ["0", "0,", "-0"]
    assert lines[-1] == "and 2 more"


def test_what_is_missing_is_said() -> None:
    for trials, said in (
        ([TrialRecord(0, "failed")], "no trial has a value yet"),
        ([TrialRecord(0, "complete", (1.0,), violation=2.0)], "no trial satisfies all constraints"),
    ):
        console = screen()
        print_best(console, trials, ["minimize"])
        assert text(console) == f"{said}\n"


def test_the_hint_names_the_bounds() -> None:
    console = screen()
    print_bound_hint(console, {}, "s")
    assert text(console) == ""
    gains = [GainBeyond("lr", "upper", 0.1, 0.3, 0.5, -0.1, 1.0), GainBeyond("n", "lower", 4, 2, -2.0, -3.0, -1.0)]
    print_bound_hint(console, {"lr": "upper", "n": "lower"}, "my study", gains, " --storage s.db")
    assert text(console).splitlines() == [
        "lr (upper), n (lower) sit on bounds: the box may be too small there",
        "  beyond lr = 0.1, up to 0.3, the best value would improve by about 0.5 (80 % interval -0.1 to 1)",
        "  beyond n = 4, up to 2, values would be worse by about 2 (gain: 80 % interval -3 to -1)",
        "if values beyond make sense: betabo widen 'my study' lr=LOW..HIGH n=LOW..HIGH --storage s.db",
    ]


def test_a_hint_can_be_pasted_whatever_parameters_are_called() -> None:
    console = screen()
    name = "x; touch harm #"
    print_bound_hint(console, {name: "upper"}, "s")
    command = text(console).splitlines()[-1].partition(": ")[2]
    assert shlex.split(command) == ["betabo", "widen", "s", f"{name}=LOW..HIGH"]


def test_a_point_is_aligned() -> None:
    console = screen()
    print_point(console, {"a": 1, "long": 0.123456789}, {})
    assert text(console) == "  a     1\n  long  0.123457\n"


def test_the_next_commands_can_be_pasted() -> None:
    console = screen()
    print_next(console, "my study", " --storage sqlite:///a.db")
    assert "  betabo report 'my study' --storage sqlite:///a.db  # an HTML page with plots\n" in text(console)
    assert text(console).count("'my study'") == 3


def test_a_front_of_one_trial_is_singular() -> None:
    console = screen()
    print_best(console, [trial(0, 1.0, 2.0)], ["minimize", "minimize"])
    assert text(console).splitlines()[0] == "Pareto front of 1 trial:"


def test_with_noise_the_estimate_comes_first() -> None:
    console = screen()
    found = Recommended({}, 0, 3.0, Estimate(2.2, 0.25), sees_noise=True, observed=1)
    print_best(console, [trial(0, 3.0), trial(1, 2.0)], ["minimize"], recommended=found)
    lines = " ".join(text(console).split())
    assert lines.startswith(
        "best estimate 2.2 ± 0.25 trial 0 lr 0.5 on its lower bound act [red] best value 2 trial 1: with"
    )
