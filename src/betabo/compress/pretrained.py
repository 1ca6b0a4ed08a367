"""Loading pretrained models: a folder or a name on the hub, weights as safetensors only, no code of a model's own."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from betabo.compress.from_pretrained import METHOD
from betabo.extras import needs_extra

if TYPE_CHECKING:
    from betabo.compress.tasks import Kind, Task, TaskData

_CLASSES = {
    "image-classification": "AutoModelForImageClassification",
    "text-classification": "AutoModelForSequenceClassification",
    "question-answering": "AutoModelForQuestionAnswering",
    "language-modelling": "AutoModelForCausalLM",
}


class ModelError(ValueError):
    """A model is missing, or not one that can be loaded."""


@dataclass(frozen=True)
class LoadedModel:
    """A model as it was loaded.

    Attributes:
        model: On the CPU, float32, in evaluation mode.
        new: Names of its parameters that were not among the weights and are random: the head for a task it was not
            trained on.
        precision: What its weights were stored in, in which they should be stored again.
    """

    model: nn.Module
    new: tuple[str, ...]
    precision: torch.dtype = torch.float32

    @property
    def head_is_new(self) -> bool:
        """Whether it must be trained on the task before it is worth anything."""
        return bool(self.new)


@dataclass(frozen=True)
class ImageFormat:
    """The images that a model expects.

    Attributes:
        size: Height and width in pixels.
        mean: Subtracted from each channel, in [0, 1].
        std: Each channel is divided by it.
    """

    size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


def load_model(source: str | Path, task: Task, data: TaskData | None = None, *, seed: int = 0) -> LoadedModel:
    """Load a model for a task.

    Args:
        source: Its folder, or its name on the hub.
        task: What it is for. Its tokenizer's padding token becomes the model's, if the model has none.
        data: The task's data, for the number and names of the classes; None leaves the model's own.
        seed: Of a new head.

    Raises:
        ModelError: There is no such model, or it has no safetensors weights, or it cannot do the task.
    """
    model_outline(source, task.kind)
    transformers = _transformers()
    from safetensors import SafetensorError

    place = _place(source)
    _check_weights(place)
    config = _config(source)
    precision = config.dtype if isinstance(config.dtype, torch.dtype) else torch.float32
    if data is not None and data.labels is not None:
        _name_classes(source, config, data.labels)
    tokenizer = getattr(task, "tokenizer", None)
    if getattr(config, "pad_token_id", None) is None and tokenizer is not None:
        config.pad_token_id = tokenizer.pad_token_id
    factory = getattr(transformers, _CLASSES[task.kind])
    with _quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            model, report = factory.from_pretrained(
                place,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
        except ValueError as error:
            _refuse_code(source, error)
            raise ModelError(
                f"the model {str(source)!r} ({config.model_type}) cannot do {task.kind}: {error}"
            ) from error
        except (OSError, SafetensorError) as error:
            raise _unreachable(source, error) from error
    mismatched = [entry if isinstance(entry, str) else entry[0] for entry in report["mismatched_keys"]]
    new = tuple(sorted({*report["missing_keys"], *mismatched}))
    _check_body(source, model, new)
    if task.kind != "language-modelling" and hasattr(model.config, "use_cache"):
        model.config.use_cache = False  # nothing is generated token by token
    _remember_positions(model)
    return LoadedModel(model.eval(), new, precision)


def model_outline(source: str | Path, kind: Kind) -> nn.Module:
    """The model that would be loaded, from its configuration alone: shapes without weights, on the meta device.

    Args:
        source: Its folder, or its name on the hub.
        kind: What it is for.

    Raises:
        ModelError: There is no such model, its architecture cannot do this, or it is compressed or quantized already.
    """
    config, factory = _config(source), getattr(_transformers(), _CLASSES[kind])
    if type(config) not in factory._model_mapping:
        raise ModelError(
            f"the model {str(source)!r} ({config.model_type}) cannot do {kind}: Transformers has no such model of this "
            "architecture."
        )
    how = getattr(config, "quantization_config", None)
    if how is not None:
        method = how.get("quant_method") if isinstance(how, dict) else getattr(how, "quant_method", None)
        what = "compressed already" if method == METHOD else f"quantized already (by {method})"
        raise ModelError(f"the model {str(source)!r} is {what}; expected the original.")
    if kind == "language-modelling" and _sees_the_future(config):
        raise ModelError(
            f"the model {str(source)!r} ({config.model_type}) is an encoder, which sees the tokens that it would "
            "have to predict; expected a decoder such as GPT-2, Llama or Qwen."
        )
    with _quiet(), torch.random.fork_rng(devices=[]), torch.device("meta"):
        made: nn.Module = factory.from_config(config, trust_remote_code=False)
    return made


def _sees_the_future(config: Any) -> bool:
    """Whether an architecture that can fill gaps in a text has not been told to read from left to right."""
    known = import_module("transformers.models.auto.modeling_auto").MODEL_FOR_MASKED_LM_MAPPING_NAMES
    flags = ("is_decoder", "is_encoder_decoder", "causal")
    return config.model_type in known and not any(getattr(config, flag, False) for flag in flags)


def load_tokenizer(source: str | Path) -> Any:
    """The tokenizer of a model, padding on the right; without a padding token it pads with the end token.

    Raises:
        ModelError: There is none.
    """
    transformers = _transformers()
    place = _place(source)
    with _quiet():
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
        except (OSError, ValueError, KeyError, ImportError, RecursionError) as error:
            if isinstance(error, OSError) and not Path(place).is_dir():
                raise _unreachable(source, error) from error
            _refuse_code(source, error)
            raise ModelError(
                f"the model {str(source)!r} has no tokenizer that can be loaded: {_line(error)}"
            ) from error
    tokenizer.padding_side = tokenizer.truncation_side = "right"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_image_format(source: str | Path) -> ImageFormat:
    """The size and normalisation of a model's images; mean and deviation are 0.5 where the model does not say.

    Raises:
        ModelError: There is no such model, or it takes no square colour images.
    """
    config = _config(source)
    size = getattr(config, "image_size", None)
    size = size[0] if isinstance(size, list | tuple) and len(set(size)) == 1 else size
    if not isinstance(size, int) or getattr(config, "num_channels", 3) != 3:
        raise ModelError(
            f"the model {str(source)!r} ({config.model_type}) has image_size {size}, expected square colour images."
        )
    mean = std = (0.5, 0.5, 0.5)
    place = _place(source)
    if not Path(place).is_dir() or (Path(place) / "preprocessor_config.json").is_file():
        with _quiet(), contextlib.suppress(OSError):
            found, _ = _transformers().ImageProcessingMixin.get_image_processor_dict(place)
            mean, std = tuple(found.get("image_mean") or mean), tuple(found.get("image_std") or std)
    return ImageFormat(size, mean, std)


def longest_input(source: str | Path) -> int:
    """The most tokens that a model takes; a very large number if it does not say.

    Raises:
        ModelError: There is no such model.
    """
    return int(getattr(_config(source), "max_position_embeddings", None) or 10**9)


def _config(source: str | Path) -> Any:
    transformers = _transformers()
    place = _place(source)
    with _quiet():
        try:
            return transformers.AutoConfig.from_pretrained(place, trust_remote_code=False)
        except OSError as error:
            raise _unreachable(source, error) from error
        except (ValueError, KeyError, RecursionError) as error:
            _refuse_code(source, error)
            raise ModelError(f"the model {str(source)!r} has no known architecture: {_line(error)}") from error


def _place(source: str | Path) -> str:
    """A folder that can hold a model, or a name on the hub."""
    path, text = Path(source).expanduser(), str(source)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"the folder {text!r} has no config.json: expected a model saved with save_pretrained.")
        return str(path)
    if path.exists() or isinstance(source, Path) or text.startswith((".", "/", "~")) or text.count("/") > 1:
        raise ModelError(
            f"there is no folder {text!r}: expected a model saved with save_pretrained, or a name on the hub."
        )
    return text


def _name_classes(source: str | Path, config: Any, labels: tuple[str, ...]) -> None:
    """Give the model the classes of the data; names of its own that say more than numbers stay."""
    own = tuple(str(config.id2label[number]) for number in sorted(config.id2label))
    if sorted(map(str.lower, own)) == sorted(map(str.lower, labels)):
        if tuple(map(str.lower, own)) != tuple(map(str.lower, labels)):
            raise ModelError(
                f"the model {str(source)!r} has the classes {own} in this order, the data {labels}: "
                "number the labels of the data as the model does."
            )
    elif len(own) != len(labels) or labels != tuple(map(str, range(len(labels)))):
        config.num_labels = len(labels)
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: number for number, label in enumerate(labels)}


def _check_weights(place: str) -> None:
    path = Path(place)
    if not path.is_dir() or any(path.glob("*.safetensors")):
        return
    if any(path.glob("*.bin")):
        raise ModelError(
            f"the folder {place!r} has weights as .bin files only, which may run code when read: convert them to "
            "safetensors, in a place you trust, with model.save_pretrained(folder)."
        )
    raise ModelError(f"the folder {place!r} has no weights: expected model.safetensors.")


def _remember_positions(model: nn.Module) -> None:
    """Let DeBERTa compute its relative positions once for each length.

    It makes them anew in every pass, with constants that go from the host to the device, so that no step of it could be
    recorded as a CUDA graph.
    """
    for module in model.modules():
        if type(module).__name__ == "DebertaV2Encoder":
            module.get_rel_pos = partial(_relative_positions, module, {})  # type: ignore[assignment]


def _relative_positions(
    encoder: Any, known: dict[Any, Any], hidden_states: Any, query_states: Any = None, relative_pos: Any = None
) -> Any:
    if query_states is not None or relative_pos is not None:
        return type(encoder).get_rel_pos(encoder, hidden_states, query_states, relative_pos)
    key = (hidden_states.shape[-2], hidden_states.device)
    if key not in known:
        with torch.inference_mode(False), torch.no_grad():
            known[key] = type(encoder).get_rel_pos(encoder, hidden_states)
    return known[key]


def _check_body(source: str | Path, model: Any, new: tuple[str, ...]) -> None:
    """A new head is to be trained; a new body means that the weights are of something else."""
    prefix = f"{model.base_model_prefix}."
    body = [name for name in new if name.startswith(prefix) and ".pooler." not in name]
    if body:
        raise ModelError(
            f"the weights of {str(source)!r} lack {len(body)} parameters of {type(model).__name__} beside its head, "
            f"such as {body[0]!r}: they are of another architecture or size than config.json says."
        )


def _unreachable(source: str | Path, error: Exception) -> ModelError:
    if Path(source).expanduser().is_dir():
        return ModelError(f"the model in {str(source)!r} cannot be read: {_line(error)}")
    return ModelError(
        f"the model {str(source)!r} is no folder here and did not come from the hub: no network, no such name, "
        f"or no safetensors ({_line(error)}). Give the folder of a model instead."
    )


def _refuse_code(source: str | Path, error: Exception) -> None:
    """Say so where Transformers would have to run a model's own code, which it is never allowed to."""
    if "trust_remote_code" in str(error):
        raise ModelError(
            f"the model {str(source)!r} wants to run code of its own, which betabo never does: "
            "expected an architecture that Transformers has itself."
        ) from error


def _line(error: Exception) -> str:
    """An error in one line."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars and messages of transformers and the hub: a new head is reported by `LoadedModel`."""
    shown = _transformers().utils.logging
    verbosity, bars = shown.get_verbosity(), shown.is_progress_bar_enabled()
    hub = logging.getLogger("huggingface_hub")
    level = hub.level
    shown.set_verbosity_error()
    shown.disable_progress_bar()
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        shown.set_verbosity(verbosity)
        hub.setLevel(level)
        if bars:
            shown.enable_progress_bar()


def _transformers() -> Any:
    with needs_extra("compress", "models need transformers"):
        import transformers
    return transformers
