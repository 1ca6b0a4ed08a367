"""The sampler in studies as people write them: values, seeds, resuming, workers, constraints, several objectives."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import PartialFixedSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState, create_trial

from betabo import Categorical, Config, Float, Int, Problem, Space
from betabo.kernels import BetaMaternKernel
from betabo.kernels.catalogue import KERNELS
from betabo.optuna import BetaSampler
from betabo.optuna import sampler as optuna_sampler
from betabo.optuna.attributes import PROPOSAL, STEP
from betabo.optuna.space import from_distributions
from betabo.optuna.study_data import StudyData

BOX: dict[str, BaseDistribution] = {"x": FloatDistribution(-5, 5), "y": FloatDistribution(0, 3)}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)


BOX_SPACE = {"x": Float(-5, 5), "y": Float(0, 3)}


def bowl(trial: Trial) -> float:
    return (trial.suggest_float("x", -5, 5) - 1) ** 2 + trial.suggest_float("y", 0, 3)


def sampler(**settings: Any) -> BetaSampler:
    return BetaSampler(**{"kernel": "rbf", "seed": 0, "starting_points": 5, **settings})


def points(study: Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


class TestSearch:
    def test_finds_an_optimum_on_a_face(self) -> None:
        study = optuna.create_study(sampler=sampler())
        study.optimize(bowl, n_trials=20)
        assert study.best_value < 0.01
        assert study.best_params["y"] == 0.0

    def test_maximizes_as_well(self) -> None:
        down, up = optuna.create_study(sampler=sampler()), optuna.create_study(direction="maximize", sampler=sampler())
        down.optimize(bowl, n_trials=9)
        up.optimize(lambda trial: -bowl(trial), n_trials=9)
        assert points(down) == points(up)

    def test_every_kind_of_parameter(self) -> None:
        def objective(trial: Trial) -> float:
            lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
            share = trial.suggest_float("share", 0, 1, step=0.1)
            layers = trial.suggest_int("layers", 1, 8)
            units = trial.suggest_int("units", 32, 256, step=32)
            act = trial.suggest_categorical("act", ["relu", None, True])
            fixed = trial.suggest_int("fixed", 3, 3)
            assert fixed == 3
            assert units % 32 == 0
            assert isinstance(layers, int)
            assert round(share * 10) == pytest.approx(share * 10)
            return abs(np.log10(lr) + 3) + (share - 0.3) ** 2 + abs(layers - 2) + units / 256 + (act is not None)

        study = optuna.create_study(sampler=sampler(kernel="beta-matern", starting_points=10))
        study.optimize(objective, n_trials=25)
        assert study.best_params["act"] is None
        assert study.best_value < 1.5
        json.dumps([trial.system_attrs for trial in study.trials])

    def test_conditional_parameters_go_to_the_independent_sampler(self) -> None:
        asked = []

        class Independent(optuna.samplers.RandomSampler):
            def sample_independent(self, study: Study, trial: Any, param_name: str, param_distribution: Any) -> Any:
                asked.append((trial.number, param_name))
                return super().sample_independent(study, trial, param_name, param_distribution)

        def objective(trial: Trial) -> float:
            x = trial.suggest_float("x", 0, 1)
            return x + (trial.suggest_float("deep", 0, 1) if trial.number % 2 else 0)

        study = optuna.create_study(sampler=sampler(independent_sampler=Independent(seed=0)))
        study.optimize(objective, n_trials=9)
        assert asked == [(0, "x"), (1, "deep"), (3, "deep"), (5, "deep"), (7, "deep")]
        assert STEP in study.trials[8].system_attrs

    def test_ranges_that_change_are_followed(self) -> None:
        study = optuna.create_study(sampler=sampler(starting_points=3))
        study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=6)
        study.optimize(lambda t: t.suggest_float("x", 0, 9) + t.suggest_float("y", 0, 1), n_trials=4)
        assert len(study.trials) == 10
        assert study.trials[-1].system_attrs[PROPOSAL].keys() == {"x", "y"}
        assert study.trials[-1].distributions["x"] == optuna.distributions.FloatDistribution(0, 9)

    @pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
    def test_some_parameters_may_be_fixed(self) -> None:
        study = optuna.create_study(sampler=PartialFixedSampler({"y": 2.0}, sampler()))
        study.optimize(bowl, n_trials=8)
        assert {trial.params["y"] for trial in study.trials} == {2.0}

    def test_infinite_values_are_survived(self) -> None:
        study = optuna.create_study(sampler=sampler())
        study.optimize(lambda t: {2: np.inf, 4: -np.inf}.get(t.number, 0.0) + bowl(t), n_trials=9)
        assert study.trials[-1].system_attrs[STEP]["origin"] == "model"

    @pytest.mark.parametrize("kernel", list(KERNELS))
    def test_kernels_by_name(self, kernel: str) -> None:
        study = optuna.create_study(sampler=sampler(kernel=kernel))
        study.optimize(bowl, n_trials=6)
        assert study.trials[-1].system_attrs[STEP]["diagnostics"]["fit"] == "fitted"

    def test_a_factory_of_a_kernel(self) -> None:
        study = optuna.create_study(sampler=sampler(kernel=lambda dims: BetaMaternKernel(ard_num_dims=dims)))
        study.optimize(bowl, n_trials=7)
        assert len(study.trials[-1].system_attrs[STEP]["diagnostics"]["lengthscale"]) == 2

    def test_bad_names_are_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="Did you mean 'beta-matern'"):
            BetaSampler(kernel="beta-mattern")
        with pytest.raises(ValueError, match="expected one of ucb"):
            BetaSampler(acquisition="best")


class TestSpaceKnownBeforehand:
    def test_starting_points_fill_it_from_the_first_trial(self) -> None:
        space = Space({"x": Float(-5, 5), "y": Float(0, 3)})
        study = optuna.create_study(sampler=sampler(search_space=space, starting_points=8))
        study.optimize(bowl, n_trials=8)
        assert all(trial.system_attrs[STEP]["origin"] == "start" for trial in study.trials)
        eighths = sorted(int((trial.params["x"] + 5) / 10 * 8) for trial in study.trials)
        assert eighths == list(range(8))

    def test_distributions_will_do(self) -> None:
        study = optuna.create_study(sampler=sampler(search_space=BOX))
        study.optimize(bowl, n_trials=3)
        assert all(trial.system_attrs[PROPOSAL] == trial.params for trial in study.trials)


class TestSeeds:
    def test_same_seed_same_trials(self) -> None:
        def run(seed: int) -> list[dict[str, Any]]:
            study = optuna.create_study(sampler=sampler(seed=seed))
            study.optimize(bowl, n_trials=8)
            return points(study)

        assert run(1) == run(1)
        assert run(1) != run(2)

    def test_reseeding_changes_them(self) -> None:
        one, other = sampler(search_space=BOX), sampler(search_space=BOX)
        other.reseed_rng()
        studies = [optuna.create_study(sampler=s) for s in (one, other)]
        for study in studies:
            study.optimize(bowl, n_trials=1)
        assert points(studies[0]) != points(studies[1])

    def test_a_resumed_study_goes_on_exactly(self, tmp_path: Path) -> None:
        whole = optuna.create_study(sampler=sampler(search_space=BOX))
        whole.optimize(bowl, n_trials=10)
        url = f"sqlite:///{tmp_path}/study.db"
        for _ in range(5):
            part = optuna.create_study(
                study_name="s", storage=url, load_if_exists=True, sampler=sampler(search_space=BOX)
            )
            part.optimize(bowl, n_trials=2)
        assert points(part) == points(whole)

    def test_survives_pickling(self) -> None:
        one = sampler(search_space=BOX)
        study = optuna.create_study(sampler=one)
        study.optimize(bowl, n_trials=6)
        assert one.last_model is not None
        copy = pickle.loads(pickle.dumps(one))
        assert copy.last_model is None
        expected = study.sampler.sample_relative(study, study.ask()._cached_frozen_trial, BOX)
        study.tell(6, state=TrialState.FAIL)
        assert copy.config == one.config
        assert expected.keys() == BOX.keys()


class TestWorkers:
    def test_running_trials_are_pending_before_they_are_asked_for_parameters(self) -> None:
        study = optuna.create_study(sampler=sampler(search_space=BOX, acquisition="ucb"))
        study.optimize(bowl, n_trials=6)
        first = study.ask(BOX)
        second = study.ask()
        proposal = second.relative_params
        shown = study.get_trials(states=(TrialState.RUNNING,))[1]
        assert shown.params == {}
        assert shown.system_attrs[PROPOSAL] == proposal
        record = StudyData.of(study.get_trials(), BOX, study.directions)
        assert len(record.data.pending) == 2
        assert first.params != proposal

    def test_enqueued_trials_are_pending(self) -> None:
        study = optuna.create_study(sampler=sampler(search_space=BOX))
        study.enqueue_trial({"x": 1.0, "y": 0.5})
        study.enqueue_trial({"x": "anything", "y": 0.5})
        record = StudyData.of(study.get_trials(), BOX, study.directions)
        assert record.data.pending.tolist() == [[0.6, 0.5 / 3]]

    def test_workers_that_ask_at_the_same_time_get_different_points(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/study.db"
        space: dict[str, BaseDistribution] = {"n": IntDistribution(0, 30)}  # few values: equal proposals are likely
        study = optuna.create_study(study_name="s", storage=url)
        for n in (3, 9, 20, 28):
            study.add_trial(create_trial(params={"n": n}, distributions=space, value=float((n - 14) ** 2)))
        barrier = Barrier(4)

        def work(_: int) -> int:
            mine = optuna.load_study(
                study_name="s", storage=url, sampler=sampler(search_space=space, starting_points=2, noise="none")
            )
            barrier.wait()
            return int(mine.ask(space).params["n"])

        with ThreadPoolExecutor(4) as pool:
            chosen = list(pool.map(work, range(4)))
        assert len(set(chosen)) == 4

    def test_nor_much_the_same_point(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/study.db"
        study = optuna.create_study(study_name="s", storage=url, sampler=sampler(search_space=BOX))
        study.optimize(bowl, n_trials=8)
        barrier = Barrier(3)

        def work(_: int) -> list[float]:
            mine = optuna.load_study(study_name="s", storage=url, sampler=sampler(search_space=BOX, noise="none"))
            barrier.wait()
            params = mine.ask(BOX).params
            return [params["x"] / 10, params["y"] / 3]

        with ThreadPoolExecutor(3) as pool:
            chosen = np.array(list(pool.map(work, range(3))))
        distances = np.abs(chosen[:, None] - chosen[None]).max(axis=-1)[np.triu_indices(3, 1)]
        assert distances.min() > 5e-4

    @pytest.mark.parametrize("state", [TrialState.COMPLETE, TrialState.FAIL])
    def test_nor_one_that_another_worker_finished_in_the_meantime(
        self, state: TrialState, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        study = optuna.create_study(sampler=sampler(search_space=BOX, noise="none"))
        for x, y in ((-4, 1), (-1, 2), (2, 0.5), (4, 2.5), (0, 1.5)):
            study.add_trial(create_trial(params={"x": x, "y": y}, distributions=BOX, value=x + y))
        first: list[dict[str, Any]] = []
        propose = optuna_sampler.propose

        def while_another_one_is_quicker(*args: Any, **kwargs: Any) -> Any:
            proposal = propose(*args, **kwargs)
            if not first:
                unit = from_distributions(BOX).from_unit(proposal.points[0])
                assert isinstance(unit, dict)
                first.append(unit)
                value = 0.0 if state == TrialState.COMPLETE else None
                study.add_trial(create_trial(state=state, params=unit, distributions=BOX, value=value))
            return proposal

        monkeypatch.setattr(optuna_sampler, "propose", while_another_one_is_quicker)
        chosen = study.ask(BOX).params
        assert first
        assert chosen != first[0]
        assert study.trials[-2].system_attrs[PROPOSAL] == chosen

    def test_jobs_in_threads(self) -> None:
        study = optuna.create_study(sampler=sampler(search_space=BOX))
        study.optimize(bowl, n_trials=12, n_jobs=3)
        assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
        assert len({tuple(p.values()) for p in points(study)}) == 12


class TestConstraints:
    @staticmethod
    def constrained(trial: Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("sum", 0.8 - x - y)
        return x + 2 * y

    def test_a_problem_of_another_direction_is_refused(self) -> None:
        study = optuna.create_study(sampler=sampler(search_space=Problem(BOX_SPACE, objectives="maximize")))
        with pytest.raises(ValueError, match="objectives are to maximize, those of the study to minimize"):
            study.optimize(bowl, n_trials=1)

    def test_a_measurement_that_is_missing_is_said(self) -> None:
        study = optuna.create_study(sampler=sampler(search_space=Problem(BOX_SPACE, constraints={"heat": ">= 1"})))

        def misspelled(trial: Trial) -> float:
            trial.set_user_attr("haet", 2.0)
            return bowl(trial)

        with pytest.raises(ValueError, match=r"trial 0 has no user attribute 'heat'.* Did you mean 'haet'"):
            study.optimize(misspelled, n_trials=1)

    # The probability of an improvement is largest where the improvement is tiny: it creeps.
    @pytest.mark.parametrize(
        ("acquisition", "reached"), [("log_ei", 0.9), ("ei", 0.9), ("pi", 1.3), ("ucb", 0.9), ("corrected_ei", 0.9)]
    )
    def test_the_optimum_on_a_constraint_is_found(self, acquisition: str, reached: float) -> None:
        study = optuna.create_study(sampler=sampler(acquisition=acquisition))
        study.optimize(self.constrained, n_trials=18)
        assert 0.8 <= study.best_value < reached  # the optimum is at x = 0.8, y = 0
        assert study.best_trial.constraints["sum"] <= 0

    def test_without_a_feasible_point_it_looks_for_one(self) -> None:
        def narrow(trial: Trial) -> float:
            x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
            trial.set_constraint("disc", (x - 0.9) ** 2 + (y - 0.1) ** 2 - 0.005)
            return x

        study = optuna.create_study(sampler=sampler(starting_points=4))
        study.optimize(narrow, n_trials=15)
        assert not any(trial.constraints["disc"] <= 0 for trial in study.trials[:4])
        assert study.best_trial.constraints["disc"] <= 0


class TestSeveralObjectives:
    @staticmethod
    def two(trial: Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return x**2 + y, -((x - 1) ** 2 + y)  # the front is y = 0

    def test_the_front_is_found(self) -> None:
        study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler(kernel="beta-matern"))
        study.optimize(self.two, n_trials=16)
        front = [trial.params for trial in study.best_trials]
        assert len(front) >= 6
        assert max(p["y"] for p in front[-5:]) < 0.1
        assert min(p["x"] for p in front) < 0.25
        assert max(p["x"] for p in front) > 0.75
        models = study.trials[-1].system_attrs[STEP]["diagnostics"]["models"]
        assert len(models) == 2

    def test_under_constraints(self) -> None:
        def objective(trial: Trial) -> tuple[float, float]:
            values = self.two(trial)
            trial.set_constraint("left", trial.params["x"] - 0.5)
            return values

        study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler())
        study.optimize(objective, n_trials=14)
        assert study.best_trials
        assert all(trial.params["x"] <= 0.5 for trial in study.best_trials)
        late = [trial.params["x"] for trial in study.trials[8:]]
        assert sum(x < 0.6 for x in late) >= 4

    def test_five_objectives(self) -> None:
        study = optuna.create_study(directions=["minimize"] * 5, sampler=sampler())
        study.optimize(lambda t: [abs(t.suggest_float("x", 0, 1) - k / 4) for k in range(5)], n_trials=7)
        assert study.trials[-1].system_attrs[STEP]["origin"] == "model"

    def test_an_acquisition_for_one_objective_is_refused(self) -> None:
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler(acquisition="ucb"))
        study.add_trial(create_trial(params={"x": 0.0, "y": 0.0}, distributions=BOX, values=[0, 0]))
        with pytest.raises(ValueError, match="'ucb' in a study with 2 objectives, expected None"):
            study.ask(BOX)


class TestSettings:
    def test_are_given_one_by_one_or_as_a_configuration(self) -> None:
        config = Config(kernel="rbf", acquisition="ucb", starting_points=3)
        one = BetaSampler(config=config)
        assert one.config == config
        assert BetaSampler(kernel="rbf", acquisition="ucb", starting_points=3).config == config
        assert BetaSampler(acquisition=None).config == BetaSampler().config == Config()

    def test_are_refused_beside_a_configuration(self) -> None:
        with pytest.raises(ValueError, match="config is given together with kernel; put everything into one"):
            BetaSampler(config=Config(), kernel="rbf")

    def test_that_do_not_exist_are_named(self) -> None:
        with pytest.raises(TypeError, match="unknown setting kernal, expected some of kernel, acquisition"):
            BetaSampler(kernal="rbf")

    def test_of_a_configuration_go_the_same_way(self) -> None:
        found = []
        for one in (sampler(search_space=BOX), BetaSampler(config=sampler().config, search_space=BOX, seed=0)):
            study = optuna.create_study(sampler=one)
            study.optimize(bowl, n_trials=7)
            found.append(points(study))
        assert found[0] == found[1]

    def test_of_a_configuration_with_an_acquisition_are_refused_for_several_objectives(self) -> None:
        for config, message in ((Config(acquisition="ucb"), "'ucb' in a study with 2 objectives"), (Config(), None)):
            one = BetaSampler(config=config, search_space=BOX, seed=0)
            study = optuna.create_study(directions=["minimize"] * 2, sampler=one)
            if message is None:
                assert study.ask(BOX).params.keys() == BOX.keys()
            else:
                with pytest.raises(ValueError, match=message):
                    study.ask(BOX)


def test_a_point_that_others_keep_taking_is_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times another worker writes the same point at the same moment: the eleventh proposal is nobody else's."""
    monkeypatch.setattr("betabo.optuna.sampler.time.sleep", lambda _: None)
    box = {"x": IntDistribution(0, 7), "y": IntDistribution(0, 7)}
    study = optuna.create_study(sampler=sampler(search_space=box, starting_points=2))
    study.optimize(lambda trial: trial.suggest_int("x", 0, 7) + trial.suggest_int("y", 0, 7), n_trials=4)
    taken: list[dict[str, Any]] = []
    propose = BetaSampler._propose

    def in_a_race(self: BetaSampler, *arguments: Any) -> Any:
        proposed = propose(self, *arguments)
        if len(taken) < 10:
            taken.append(proposed.parameters)
            study.add_trial(create_trial(state=TrialState.RUNNING, system_attrs={PROPOSAL: proposed.parameters}))
        return proposed

    monkeypatch.setattr(BetaSampler, "_propose", in_a_race)
    found = study.ask(box).params
    assert len(taken) == 10
    assert found not in taken


class TestSpace:
    @pytest.mark.filterwarnings("ignore:The distribution is specified by")
    @pytest.mark.parametrize(
        "suggest",
        [
            lambda trial: trial.suggest_int("seed", 0, 2**53),
            lambda trial: trial.suggest_int("seed", -(2**60), 2**60, step=2),
            lambda trial: trial.suggest_float("seed", 0, 1, step=2**-54),
        ],
        ids=["integers", "steps of integers", "steps of floats"],
    )
    def test_a_grid_too_fine_for_the_model_is_drawn_at_random(self, suggest: Any) -> None:
        study = optuna.create_study(sampler=sampler())
        study.optimize(lambda trial: bowl(trial) + 0 * suggest(trial), n_trials=7)
        assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
        assert len({trial.params["seed"] for trial in study.trials}) == 7
        assert study.trials[-1].system_attrs[STEP]["origin"] == "model"

    def test_a_space_too_fine_is_refused_before_the_first_trial(self) -> None:
        with pytest.raises(ValueError, match="2\\*\\*52"):
            sampler(search_space={"seed": IntDistribution(0, 2**53)})

    def test_may_be_the_dictionary_of_one(self) -> None:
        study = optuna.create_study(sampler=sampler(search_space=BOX_SPACE))
        study.optimize(bowl, n_trials=2)
        assert [set(point) for point in points(study)] == [{"x", "y"}] * 2

    def test_is_translated_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[Any] = []

        def counted(distributions: Any, *conditions: Any) -> Space:
            made.append(distributions)
            return from_distributions(distributions, *conditions)

        monkeypatch.setattr("betabo.optuna.sampler.from_distributions", counted)
        monkeypatch.setattr("betabo.optuna.study_data.from_distributions", counted)
        space = Space({"x": Float(-5, 5), "y": Float(0, 3)})
        study = optuna.create_study(sampler=sampler(search_space=space))
        study.optimize(bowl, n_trials=7)
        assert len(made) == 1

    def test_follows_the_study_where_it_is_not_known(self) -> None:
        one = sampler()
        study = optuna.create_study(sampler=one)
        study.optimize(bowl, n_trials=7)
        assert one.last_model is not None
        assert one.last_model.space == Space({"x": Float(-5, 5), "y": Float(0, 3)})
        study.optimize(lambda trial: trial.suggest_float("y", 0, 3), n_trials=2)
        assert one.last_model.space == Space({"y": Float(0, 3)})


def test_space_of_integers_and_choices_is_used_up_without_an_error() -> None:
    space = Space({"n": Int(0, 2), "c": Categorical(["a", "b"])})
    study = optuna.create_study(sampler=sampler(search_space=space, starting_points=3, noise="none"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(lambda t: t.suggest_int("n", 0, 2) + (t.suggest_categorical("c", ["a", "b"]) == "a"), n_trials=9)
    assert len({tuple(p.values()) for p in points(study)[:6]}) == 6
    assert CategoricalDistribution(("a", "b")) == study.trials[0].distributions["c"]
