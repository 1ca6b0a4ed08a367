from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
import pytest
import torch

pytest.importorskip("ax", reason="Ax is not installed")

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig, StorageConfig
from ax.generators.torch.botorch_modular.surrogate import SurrogateSpec
from ax.storage.json_store.decoder import object_from_json
from ax.storage.json_store.encoder import object_to_json
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.test_functions import Branin
from gpytorch.kernels import Kernel

from betabo.ax import BetaboKernel, coordinates, generation_strategy
from betabo.kernels import BetaKernel, BetaMaternKernel
from betabo.kernels.catalogue import KERNELS

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ax\\..*"),
    pytest.mark.filterwarnings("ignore::linear_operator.utils.warnings.NumericalWarning"),
    pytest.mark.filterwarnings("ignore:Data \\(outcome observations\\) is not standardized"),
]

BOX = [
    RangeParameterConfig(name="x1", bounds=(-5.0, 10.0), parameter_type="float"),
    RangeParameterConfig(name="x2", bounds=(0.0, 15.0), parameter_type="float"),
]
NAMED = {
    "beta": (BetaKernel, None),
    "beta-paper": (BetaKernel, 1.0),
    "beta-correlation": (BetaKernel, 0.0),
    "beta-matern": (BetaMaternKernel, 0.0),
}


def new_client(kernel: str = "beta", parameters: list[Any] | None = None, **settings: Any) -> Client:
    storage = settings.pop("storage_config", None)
    client = Client(storage_config=storage, random_seed=0)
    client.configure_experiment(name="search", parameters=BOX if parameters is None else parameters)
    client.configure_optimization(objective="-loss")
    client.set_generation_strategy(generation_strategy(kernel, **{"seed": 0, "starting_points": 3, **settings}))
    return client


def advance(client: Client, steps: int, objective: Any = None) -> list[str]:
    """Evaluate so many trials, one at a time; the node that each came from."""
    nodes = []
    for _ in range(steps):
        for index, point in client.get_next_trials(max_trials=1).items():
            client.complete_trial(index, {"loss": (branin if objective is None else objective)(**point)})
            nodes.append(client._experiment.trials[index].generator_runs[0]._generation_node_name)
    return nodes


def branin(x1: float, x2: float) -> float:
    return Branin().evaluate_true(torch.tensor([[x1, x2]], dtype=torch.float64)).item()


def fitted_model(client: Client) -> SingleTaskGP:
    return client._generation_strategy.adapter.generator.surrogate.model


def kernel_of(client: Client) -> Kernel:
    covariance = fitted_model(client).covar_module
    assert isinstance(covariance, BetaboKernel)
    return covariance.base_kernel.base_kernel


@pytest.mark.parametrize("name", NAMED)
def test_the_model_has_the_kernel_of_the_name(name: str) -> None:
    client = new_client(name)
    assert advance(client, 4) == ["Sobol", "Sobol", "Sobol", "betabo"]
    kind, boundary_weight = NAMED[name]
    kernel = kernel_of(client)
    assert type(kernel) is kind
    assert kernel.learns_boundary_weight == (boundary_weight is None)
    if boundary_weight is not None:
        assert kernel.boundary_weight.item() == boundary_weight
    assert kernel.raw_bandwidth.dtype == torch.float64


@pytest.mark.parametrize("name", KERNELS)
def test_covariance_is_that_of_the_catalogue(name: str) -> None:
    points = torch.rand(2, 6, 3, dtype=torch.float64)
    wrapped = BetaboKernel(name, 3, torch.Size([2])).double()
    bare = KERNELS[name].make(3, torch.Size([2])).double()
    torch.testing.assert_close(wrapped(points).to_dense(), bare(points).to_dense())
    torch.testing.assert_close(wrapped(points, diag=True), bare(points, diag=True))
    torch.testing.assert_close(wrapped[1](points[1]).to_dense(), bare[1](points[1]).to_dense())
    expanded = BetaboKernel(name, 3).double().expand_batch(torch.Size([2]))
    torch.testing.assert_close(expanded(points).to_dense(), bare(points).to_dense())
    torch.testing.assert_close(expanded[1](points[1]).to_dense(), bare[1](points[1]).to_dense())
    assert wrapped.is_stationary == bare.is_stationary


def test_the_cube_is_the_search_space() -> None:
    client = new_client()
    advance(client, 4)
    model = fitted_model(client)
    assert model.input_transform.bounds.tolist() == [[-5.0, 0.0], [10.0, 15.0]]
    seen = model.input_transform(model.train_inputs[0]) if model.training else model.train_inputs[0]
    assert seen.min() >= 0
    assert seen.max() <= 1


def test_bounds_that_single_precision_cannot_hold() -> None:
    bounds = (2020.3, 2020.9)  # in single precision off by a ten-thousandth of the range
    parameters = [
        RangeParameterConfig(name="year", bounds=bounds, parameter_type="float"),
        RangeParameterConfig(name="rate", bounds=(1e-5, 0.3), parameter_type="float", scaling="log"),
    ]
    client = new_client("beta-matern", parameters, starting_points=2)
    for year in bounds:
        for rate in (1e-5, 0.3):
            index = client.attach_trial({"year": year, "rate": rate})
            client.complete_trial(index, {"loss": year - 2020 + rate})
    (point,) = client.get_next_trials(max_trials=1).values()
    assert bounds[0] <= point["year"] <= bounds[1]
    inputs = fitted_model(client).train_inputs[0]
    assert sorted(inputs[:, 0].tolist()) == pytest.approx([0, 0, 1, 1], abs=1e-12)


def test_data_outside_the_box_are_left_out() -> None:
    client = new_client()
    with pytest.warns(RuntimeWarning, match="out-of-design"):
        index = client.attach_trial({"x1": 20.0, "x2": 3.0})
    client.complete_trial(index, {"loss": -1e3})
    advance(client, 4)
    model = fitted_model(client)
    assert model.input_transform.bounds.tolist() == [[-5.0, 0.0], [10.0, 15.0]]
    assert len(model.train_inputs[0]) == 3


def test_default_design_has_the_size_of_betabos_own() -> None:
    client = new_client(starting_points=None)
    assert advance(client, 6) == ["Sobol"] * 5 + ["betabo"]


def test_design_goes_on_until_two_trials_have_data() -> None:
    client = new_client(starting_points=1)
    first = client.get_next_trials(max_trials=3)
    client.mark_trial_failed(0)
    client.complete_trial(1, {"loss": branin(**first[1])})
    assert advance(client, 2) == ["Sobol", "betabo"]


def test_coordinates_count_one_hot_choices() -> None:
    parameters = [
        *BOX,
        ChoiceParameterConfig(name="act", values=["a", "b", "c"], parameter_type="str", is_ordered=False),
        ChoiceParameterConfig(name="width", values=[16, 32, 64], parameter_type="int", is_ordered=True),
    ]
    client = Client()
    client.configure_experiment(name="search", parameters=parameters)
    assert coordinates(client._experiment.search_space) == 2 + 3 + 1


def test_seed_fixes_the_starting_points() -> None:
    points = [list(new_client(seed=seed).get_next_trials(max_trials=2).values()) for seed in (1, 1, 2)]
    assert points[0] == points[1]
    assert points[0] != points[2]


def test_acquisition_is_used_and_stored() -> None:
    strategy = generation_strategy("beta", acquisition=qLogExpectedImprovement)
    again = object_from_json(object_to_json(strategy))
    for each in (strategy, again):
        assert each._nodes[1].generator_specs[0].generator_kwargs["botorch_acqf_class"] is qLogExpectedImprovement


@pytest.mark.parametrize("name", NAMED)
def test_json_holds_the_strategy(name: str) -> None:
    strategy = generation_strategy(name, starting_points=7, seed=3)
    again = object_from_json(object_to_json(strategy))
    assert again == strategy
    spec = again._nodes[1].generator_specs[0].generator_kwargs["surrogate_spec"]
    assert isinstance(spec, SurrogateSpec)
    assert spec.model_configs[0].covar_module_class is BetaboKernel
    assert spec.model_configs[0].covar_module_options == {"kernel": name}


@pytest.mark.parametrize("done", [2, 4], ids=["during-the-design", "after-it"])
def test_saved_client_goes_on_with_the_same_kernel(done: int, tmp_path: Path) -> None:
    client = new_client("beta-matern")
    advance(client, done)
    client.save_to_json_file(str(tmp_path / "client.json"))
    again = Client.load_from_json_file(str(tmp_path / "client.json"))
    pandas.testing.assert_frame_equal(again.summarize(), client.summarize())  # Ax rounds the last digit of values
    assert advance(again, 5 - done)[-1] == "betabo"
    assert type(kernel_of(again)) is BetaMaternKernel


@pytest.mark.slow
def test_saved_client_is_loaded_by_another_process(tmp_path: Path) -> None:
    client = new_client("beta")
    advance(client, 4)
    client.save_to_json_file(str(tmp_path / "client.json"))
    program = """
import sys
import betabo.ax
from ax.api.client import Client
client = Client.load_from_json_file(sys.argv[1])
client.get_next_trials(max_trials=1)
print(type(client._generation_strategy.adapter.generator.surrogate.model.covar_module.base_kernel.base_kernel).__name__)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "client.json")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.split()[-1] == "BetaKernel"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:TypeDecorator")
def test_database_goes_on_with_the_same_kernel(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    pytest.importorskip("tabulate", reason="Ax's SQL storage needs tabulate")
    from ax.storage.sqa_store.db import create_all_tables, get_engine, init_engine_and_session_factory

    url = f"sqlite:///{tmp_path / 'ax.db'}"
    init_engine_and_session_factory(url=url, force_init=True)
    create_all_tables(get_engine())
    advance(new_client("beta-correlation", storage_config=StorageConfig(url=url)), 4)
    again = Client.load_from_database("search", storage_config=StorageConfig(url=url))
    assert advance(again, 1) == ["betabo"]
    assert type(kernel_of(again)) is BetaKernel
    assert kernel_of(again).boundary_weight.item() == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["beta", "beta-correlation", "beta-matern"])
def test_ten_steps_on_branin_improve_on_the_design(name: str) -> None:
    client = new_client(name, starting_points=None)
    assert advance(client, 10) == ["Sobol"] * 5 + ["betabo"] * 5
    losses = client.summarize()["loss"]
    assert losses[5:].min() < losses[:5].min()


@pytest.mark.slow
def test_with_boundary_weight_one_the_first_steps_go_to_the_faces() -> None:
    client = new_client("beta-paper", starting_points=None)
    assert advance(client, 10) == ["Sobol"] * 5 + ["betabo"] * 5
    proposed = client.summarize()[5:]
    assert (proposed["x1"].isin([-5.0, 10.0]) | proposed["x2"].isin([0.0, 15.0])).sum() >= 3


@pytest.mark.slow
def test_integers_choices_and_log_scales() -> None:
    parameters = [
        RangeParameterConfig(name="lr", bounds=(1e-5, 1e-1), parameter_type="float", scaling="log"),
        RangeParameterConfig(name="layers", bounds=(1, 8), parameter_type="int"),
        RangeParameterConfig(name="units", bounds=(1, 1024), parameter_type="int", scaling="log"),
        ChoiceParameterConfig(name="act", values=["a", "b", "c"], parameter_type="str", is_ordered=False),
    ]

    def objective(lr: float, layers: int, units: int, act: str) -> float:
        return abs(math.log10(lr) + 3) + abs(layers - 8) + math.log(units) + (act == "a")

    client = new_client("beta", parameters, starting_points=4)
    assert advance(client, 6, objective) == ["Sobol"] * 4 + ["betabo"] * 2
    model = fitted_model(client)
    assert model.train_inputs[0].shape[-1] == 6
    assert type(kernel_of(client)) is BetaKernel


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")  # Ax's own
@pytest.mark.filterwarnings("ignore::ax.exceptions.core.AxOptimizationWarning")
def test_several_objectives_have_a_batch_of_kernels() -> None:
    client = Client(random_seed=0)
    client.configure_experiment(name="search", parameters=BOX)
    client.configure_optimization(objective="-f, -g")
    client.set_generation_strategy(generation_strategy("beta", starting_points=3, seed=0))
    for _ in range(5):
        for index, point in client.get_next_trials(max_trials=1).items():
            client.complete_trial(index, {"f": point["x1"] ** 2, "g": (point["x2"] - 3) ** 2})
    assert kernel_of(client).batch_shape == torch.Size([2])


def test_unknown_kernel_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match=r"kernel is 'beta-mattern'.*Did you mean 'beta-matern'"):
        generation_strategy("beta-mattern")


def test_kernel_object_is_refused() -> None:
    with pytest.raises(TypeError, match="kernel is a BetaKernel, expected a name, which Ax can save"):
        generation_strategy(BetaKernel(ard_num_dims=2))


def test_empty_design_is_refused() -> None:
    with pytest.raises(ValueError, match="starting_points is 0, expected at least 1"):
        generation_strategy(starting_points=0)


def test_missing_ax_is_explained() -> None:
    program = "import sys; sys.modules['ax'] = None\nimport betabo.ax"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ImportError: betabo.ax needs Ax: pip install 'betabo[ax]'" in done.stderr
