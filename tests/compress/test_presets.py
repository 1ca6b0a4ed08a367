from __future__ import annotations

import pytest

from betabo.compress.objective import CompressionObjective
from betabo.compress.presets import IMAGENET_EXAMPLES, PRESETS, preset_by_name
from betabo.compress.settings import ACQUISITION
from betabo.compress.tasks import TASKS

PAPER = {  # steps and batch of the supplement, and the number of coordinates of the table of models
    "vit-imagenet": (6406, 200, "layer"),
    "bert-squad": (256, 100, "layer"),
    "gpt2-squad": (512, 25, "layer"),
    "deberta-mnli": (256, 100, "block"),
    "deberta-rte": (256, 100, "block"),
    "deberta-qnli": (256, 100, "block"),
    "deberta-mrpc": (256, 100, "block"),
}
OURS = {
    "vit-cifar10",
    "minilm-mrpc",
    "minilm-rte",
    "minilm-squadshifts",
    "gpt2-shakespeare",
    "gpt2-shakespeare-narrow",
    "deberta-rte-xsmall",
}


def test_all_experiments_are_there() -> None:
    assert {name for name, preset in PRESETS.items() if preset.source == "paper"} == set(PAPER)
    assert {name for name, preset in PRESETS.items() if preset.source == "ours"} == OURS
    assert all(preset.name == name and preset.description for name, preset in PRESETS.items())


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_settings_are_the_papers(name: str) -> None:
    preset = PRESETS[name]
    steps, batch, group = PAPER[name]
    assert (preset.training.steps, preset.training.batch, preset.group) == (steps, batch, group)
    assert (preset.trials, preset.starting_points, preset.weight) == (35, 5, 1.0)
    assert preset.acquisition is None
    assert ACQUISITION == "ucb"  # what None stands for


def test_steps_and_batches_make_the_papers_numbers_of_examples() -> None:
    seen = {name: PRESETS[name].training.steps * PRESETS[name].training.batch for name in PAPER}
    assert seen["gpt2-squad"] == 12_800
    assert {seen[name] for name in seen if name.startswith(("bert", "deberta"))} == {25_600}
    assert IMAGENET_EXAMPLES <= seen["vit-imagenet"] < IMAGENET_EXAMPLES + 200  # one epoch


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_be_run(name: str) -> None:
    preset = PRESETS[name]
    assert preset.task in TASKS
    assert preset.data is not None or TASKS[preset.task].make().dataset is not None
    objective = preset.convert(CompressionObjective)
    assert (objective.model, objective.training, objective.pruning) == (preset.model, preset.training, preset.pruning)


@pytest.mark.parametrize(
    ("architecture", "group", "dims"),
    [("ViT", "layer", 72), ("Bert", "layer", 72), ("GPT2", "layer", 48), ("DebertaV2", "block", 14)],
)
def test_the_models_have_the_papers_number_of_coordinates(architecture: str, group: str, dims: int) -> None:
    import torch
    import transformers

    from betabo.compress.plan import CompressionPlan

    heads = {"ViT": "ForImageClassification", "DebertaV2": "ForSequenceClassification"}
    head = heads.get(architecture, "ForQuestionAnswering")
    config = getattr(transformers, f"{architecture}Config")()
    if architecture == "DebertaV2":
        config.num_hidden_layers = 12  # as deberta-v3-base has
    with torch.device("meta"):
        model = getattr(transformers, f"{architecture}{head}")(config)
    assert CompressionPlan.of(model, group).dims == dims  # type: ignore[arg-type]


def test_a_wrong_name_is_corrected() -> None:
    assert preset_by_name("minilm-rte") is PRESETS["minilm-rte"]
    with pytest.raises(ValueError, match="Did you mean 'bert-squad'"):
        preset_by_name("bert-squat")
