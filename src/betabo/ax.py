"""Ax with the kernels of the box: a generation strategy that Ax runs, saves and reloads as one of its own.

Importing this module teaches Ax's storage the classes below, so import it before a saved experiment is loaded.
"""

from __future__ import annotations

from typing import Any

from betabo.extras import needs_extra

with needs_extra("ax", "betabo.ax needs Ax"):
    from ax.adapter.registry import Generators

import torch
from ax.core.experiment import Experiment
from ax.core.experiment_status import ExperimentStatus
from ax.core.parameter import ChoiceParameter
from ax.core.search_space import SearchSpace, SearchSpaceDigest
from ax.core.trial_status import TrialStatus
from ax.generation_strategy.generation_node import GenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.generation_strategy.generator_spec import GeneratorSpec
from ax.generation_strategy.transition_criterion import TransitionCriterion, count_trials_toward_threshold
from ax.generators.torch.botorch_modular.input_constructors.covar_modules import covar_module_argparse
from ax.generators.torch.botorch_modular.input_constructors.input_transforms import input_transform_argparse
from ax.generators.torch.botorch_modular.surrogate import SurrogateSpec
from ax.generators.torch.botorch_modular.utils import ModelConfig
from ax.storage.botorch_modular_registry import CLASS_TO_REGISTRY, CLASS_TO_REVERSE_REGISTRY, register_kernel
from ax.storage.json_store.encoders import transition_criterion_to_dict
from ax.storage.json_store.registry import CORE_DECODER_REGISTRY, CORE_ENCODER_REGISTRY
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputTransform, Normalize
from botorch.utils.datasets import SupervisedDataset
from torch import Size, Tensor

from betabo.kernels.catalogue import KERNELS
from betabo.kernels.cube import CubeKernel
from betabo.optimizer.config import Config

_DESIGN, _MODEL = "Sobol", "betabo"  # names of the two nodes


def generation_strategy(
    kernel: str = "beta-additive",
    starting_points: int | None = None,
    seed: int | None = None,
    acquisition: type[AcquisitionFunction] | None = None,
) -> GenerationStrategy:
    """Sobol points first, then Ax's modular BoTorch generator with a kernel of the catalogue.

    The box of the kernel is the search space. Data outside it are left out of the model, whereas Ax by default widens
    the model's bounds to hold them.

    Args:
        kernel: A name from `betabo.kernels.catalogue.KERNELS`.
        starting_points: Trials before the model is asked; None is twice the number of coordinates, between 5 and 60.
        seed: Seed of the starting points. That of the model's steps is `Client(random_seed=...)`.
        acquisition: BoTorch acquisition function; None leaves the choice to Ax.

    Returns:
        A strategy for `Client.set_generation_strategy`.

    Example:
        >>> client.set_generation_strategy(generation_strategy("beta", seed=0))
    """
    if not isinstance(kernel, str):
        raise TypeError(
            f"kernel is a {type(kernel).__name__}, expected a name, which Ax can save: {', '.join(KERNELS)}."
        )
    Config(kernel=kernel, starting_points=starting_points)  # refuses unknown names and empty designs
    design = GenerationNode(
        name=_DESIGN,
        generator_specs=[GeneratorSpec(generator_enum=Generators.SOBOL, generator_kwargs={"seed": seed})],
        transition_criteria=[StartingDesign(transition_to=_MODEL, starting_points=starting_points)],
        should_deduplicate=True,
        suggested_experiment_status=ExperimentStatus.INITIALIZATION,
    )
    config = ModelConfig(
        botorch_model_class=SingleTaskGP,
        covar_module_class=BetaboKernel,
        covar_module_options={"kernel": kernel},
        input_transform_classes=[UnitCube],
        name=kernel,
    )
    settings: dict[str, Any] = {
        "surrogate_spec": SurrogateSpec(model_configs=[config]),
        "expand_model_space": False,
    }
    if acquisition is not None:
        settings["botorch_acqf_class"] = acquisition
    model = GenerationNode(
        name=_MODEL,
        generator_specs=[GeneratorSpec(generator_enum=Generators.BOTORCH_MODULAR, generator_kwargs=settings)],
        should_deduplicate=True,
        suggested_experiment_status=ExperimentStatus.OPTIMIZATION,
    )
    return GenerationStrategy(nodes=[design, model], name=f"{_DESIGN}+{_MODEL}:{kernel}")


class BetaboKernel(CubeKernel):
    """A kernel of the catalogue as Ax stores it: a class and the name of the kernel.

    Args:
        kernel: A name from `betabo.kernels.catalogue.KERNELS`.
        ard_num_dims: Number of coordinates.
        batch_shape: Batch shape of all parameters.

    Attributes:
        base_kernel: The kernel of the catalogue.
    """

    def __init__(self, kernel: str, ard_num_dims: int, batch_shape: Size | None = None) -> None:
        super().__init__(ard_num_dims=ard_num_dims)
        self.base_kernel = KERNELS[kernel].make(ard_num_dims, batch_shape)

    @property
    def batch_shape(self) -> Size:
        """That of the kernel of the catalogue, which has all the parameters."""
        shape: Size = self.base_kernel.batch_shape
        return shape

    @property
    def is_stationary(self) -> bool:
        """Whether the kernel of the catalogue is."""
        return bool(self.base_kernel.is_stationary)

    def forward(self, x1: Tensor, x2: Tensor, **kwargs: Any) -> Any:
        """Covariance of the points `x1`, `... x n x d`, and `x2`, `... x m x d`, of the unit cube."""
        return self.base_kernel.forward(x1, x2, **kwargs)


class UnitCube(Normalize):
    """Scales the search space to the unit cube with bounds in double precision.

    Ax rounds the bounds of its own `Normalize` to single precision, which moves points out of the cube.
    """


class StartingDesign(TransitionCriterion):  # type: ignore[misc, unused-ignore]
    """Met when the starting design is complete and two trials have data, as in betabo's own searches.

    Args:
        transition_to: Name of the next node.
        starting_points: Size of the design; None takes `Config.design_size` of the experiment's search space.
        continue_trial_generation: As in Ax's own criteria.
    """

    def __init__(
        self, transition_to: str, starting_points: int | None = None, continue_trial_generation: bool | None = False
    ) -> None:
        super().__init__(transition_to=transition_to, continue_trial_generation=continue_trial_generation)
        self.starting_points = starting_points

    def is_met(self, experiment: Experiment, curr_node: GenerationNode) -> bool:
        """Whether the model can be asked."""
        size = Config(starting_points=self.starting_points).design_size(coordinates(experiment.search_space))
        observed = count_trials_toward_threshold(
            experiment,
            curr_node.trials_from_node,
            only_in_statuses=[TrialStatus.COMPLETED],
            use_all_trials_in_exp=True,
            count_only_trials_with_data=True,
        )
        return len(experiment.trials) >= size and observed >= 2


def coordinates(space: SearchSpace) -> int:
    """Number of coordinates of a search space: one a parameter, one a value for choices without an order."""
    return sum(
        len(parameter.values) if isinstance(parameter, ChoiceParameter) and not parameter.is_ordered else 1
        for parameter in space.tunable_parameters.values()
    )


def _kernel_arguments(
    covar_module_class: type[BetaboKernel],
    botorch_model_class: type[SingleTaskGP],
    dataset: SupervisedDataset,
    kernel: str,
    **_: Any,
) -> dict[str, Any]:
    """What the data say about the kernel: its coordinates, and a batch of kernels for several outcomes."""
    del covar_module_class, botorch_model_class
    outcomes = dataset.Y.shape[-1]
    batch_shape = Size() if outcomes == 1 else Size([outcomes])
    return {"kernel": kernel, "ard_num_dims": dataset.X.shape[-1], "batch_shape": batch_shape}


def _cube_arguments(
    input_transform_class: type[UnitCube],
    dataset: SupervisedDataset,
    search_space_digest: SearchSpaceDigest,
    input_transform_options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The bounds of the search space, `2 x d`."""
    del input_transform_class, dataset, input_transform_options
    bounds = torch.tensor(search_space_digest.bounds, dtype=torch.float64)
    return {"d": len(bounds), "bounds": bounds.T}


input_transform_argparse.register(UnitCube)(_cube_arguments)
CLASS_TO_REGISTRY[InputTransform][UnitCube] = UnitCube.__name__
CLASS_TO_REVERSE_REGISTRY[InputTransform][UnitCube.__name__] = UnitCube
covar_module_argparse.register(BetaboKernel)(_kernel_arguments)
register_kernel(BetaboKernel)
CORE_ENCODER_REGISTRY[StartingDesign] = transition_criterion_to_dict
CORE_DECODER_REGISTRY[StartingDesign.__name__] = StartingDesign
