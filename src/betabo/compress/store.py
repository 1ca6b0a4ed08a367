"""Compressed models on disk: a folder of JSON and safetensors, from which nothing is unpickled and no code is run.

A folder has `compression.json` (the structure and where the model comes from), `model.safetensors` (the weights) and,
for a Hugging Face model, `config.json` and the files of its tokenizer or image processor. `load_compressed` reads it,
and so does the `from_pretrained` of Transformers where betabo is imported, see `betabo.compress.from_pretrained`.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import torch
from torch import Tensor, nn

import betabo
from betabo.compress.from_pretrained import NO_SUCH_FILE, as_quantization
from betabo.compress.int8 import Int8CompactLinear, Int8Linear
from betabo.compress.layers import CompactLinear
from betabo.compress.structure import Structure
from betabo.extras import needs_extra
from betabo.files import whole_folder

FORMAT = 1
STRUCTURE_FILE = "compression.json"
WEIGHTS_FILE = "model.safetensors"
CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
PROCESSOR_FILES = (
    "added_tokens.json",
    "chat_template.jinja",
    "merges.txt",
    "preprocessor_config.json",
    "processor_config.json",
    "sentencepiece.bpe.model",
    "special_tokens_map.json",
    "spiece.model",
    "spm.model",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
"""Files beside a Hugging Face model that belong to its tokenizer or image processor."""

Model = TypeVar("Model", bound=nn.Module)


@runtime_checkable
class Processor(Protocol):
    """A tokenizer or image processor of Transformers."""

    def save_pretrained(self, save_directory: Any) -> Any:
        """Write its files into a folder."""


class CompressedModel(nn.Module):
    """What a compressed model has beside what its own class has.

    Attributes:
        compression: The form of its layers.
    """

    compression: Structure

    def save_pretrained(self, folder: str | os.PathLike[str], *, tokenizer: Processor | None = None) -> None:
        """Write the model into a folder that `load_compressed` reads.

        The folder appears complete or not at all. One that this method wrote before is replaced.

        Args:
            folder: A new or empty folder, or one with a compressed model and nothing else.
            tokenizer: The tokenizer or image processor to store with it; by default its files are copied from the
                local folder that the model was loaded from, where there is one.

        Raises:
            ValueError: The folder has other files.
            TypeError: The tokenizer is something else, such as its name.
        """
        save_compressed(self, folder, tokenizer=tokenizer)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:  # the class itself cannot be found by its name
        return _empty, (_original(type(self)),), self.__dict__


def compressed_class(original: type[nn.Module]) -> type[nn.Module]:
    """The class of compressed models of a class: a subclass of the same name, always the same one."""
    return original if issubclass(original, CompressedModel) else _subclass(cast(Hashable, original))


@cache
def _subclass(original: Any) -> type[nn.Module]:
    names = {"__module__": original.__module__, "__qualname__": original.__qualname__, "__doc__": original.__doc__}
    return type(original.__name__, (CompressedModel, original), names)


def as_compressed(model: Model, structure: Structure) -> Model:
    """The `CompressedModel` of a model whose layers are in their final form.

    Args:
        model: The model. It stays as it is, but shares its layers and weights with what is returned.
        structure: The form of its layers, see `Structure.of`.

    Returns:
        An instance of the model's class that is a `CompressedModel` too.
    """
    made = _empty(_original(type(model)))
    made.__dict__.update(model.__dict__)
    made.compression = structure  # type: ignore[assignment]
    return cast(Model, made)


def save_compressed(
    model: CompressedModel, folder: str | os.PathLike[str], *, tokenizer: Processor | None = None
) -> None:
    """Write a compressed model, see `CompressedModel.save_pretrained`."""
    if tokenizer is not None and not isinstance(tokenizer, Processor):
        raise TypeError(f"tokenizer is {tokenizer!r}, expected a tokenizer or image processor of Transformers.")
    save_file = _safetensors().save_file
    original = _original(type(model))
    state: dict[str, Tensor] = model.state_dict(keep_vars=True)
    first: dict[int, str] = {}
    tied = {name: kept for name, tensor in state.items() if (kept := first.setdefault(id(tensor), name)) != name}
    # safetensors refuses tensors that share memory
    weights = {
        name: tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        for name, tensor in state.items()
        if name not in tied
    }
    _check_target(Path(folder))
    with whole_folder(folder, parents=True, replace=True) as path:
        save_file(weights, path / WEIGHTS_FILE, metadata={"format": "pt"})
        if _is_hugging_face(model):
            _save_configuration(model, original, path)
        _save_processor(model, tokenizer, path)
        about = {
            "format": FORMAT,
            "betabo": betabo.__version__,
            "library": "transformers" if _is_hugging_face(model) else "torch",
            "class": original.__name__,
            "tied": tied,
            "files": sorted([STRUCTURE_FILE, *(item.relative_to(path).as_posix() for item in _files(path))]),
            **model.compression.to_json(),
        }
        (path / STRUCTURE_FILE).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        _check_target(Path(folder))  # again, as it is about to be replaced


def load_compressed(folder: str | os.PathLike[str], model: nn.Module | None = None) -> nn.Module:
    """Read a compressed model.

    Args:
        folder: What `save_pretrained` of a compressed model wrote.
        model: An uncompressed model of the same class and sizes, whose weights do not matter and which is not changed.
            It is needed for models that are not of Transformers.

    Returns:
        The model on the CPU in evaluation mode, with the precision it was saved in.

    Raises:
        ValueError: A file is missing or damaged, is of another format, or does not fit the model.
    """
    path = Path(folder)
    about = _read_about(path)
    try:
        structure = Structure.from_json(about)
    except ValueError as error:
        raise ValueError(f"{path / STRUCTURE_FILE}: {error}") from None
    weights = _read_weights(path / WEIGHTS_FILE)
    made = _skeleton(path, about) if model is None else copy.deepcopy(model).cpu()
    try:
        structure.shape(made)
        _assign(made, weights, about["tied"])
    except ValueError as error:
        raise ValueError(f"{path / WEIGHTS_FILE} does not fit: {error}") from None
    return as_compressed(made, structure).eval()


def _original(kind: type[nn.Module]) -> type[nn.Module]:
    """The class that a compressed one was made from."""
    return next(base for base in kind.__mro__ if issubclass(base, nn.Module) and not issubclass(base, CompressedModel))


def _empty(original: type[nn.Module]) -> nn.Module:
    """An instance without state, for copies and pickles."""
    kind = compressed_class(original)
    return kind.__new__(kind)


def _is_hugging_face(model: nn.Module) -> bool:
    return any(base.__module__.startswith("transformers.") for base in type(model).__mro__)


def _transformers() -> Any:
    with needs_extra("compress", "Hugging Face models need Transformers"):
        return import_module("transformers")


def _safetensors() -> Any:
    with needs_extra("compress", "storing a model needs safetensors"):
        return import_module("safetensors.torch")


def _check_target(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise ValueError(f"{target} is a file; give the name of a folder.")
    found = {item.relative_to(target).as_posix() for item in _files(target)}
    if not found:
        return
    if STRUCTURE_FILE not in found:
        raise ValueError(f"{target} is not empty and has no {STRUCTURE_FILE}; choose another folder.")
    others = sorted(found - set(_read_about(target)["files"]))
    if others:
        raise ValueError(
            f"{target} has files that are not of a compressed model: {', '.join(others[:5])}; move them first."
        )


def _files(folder: Path) -> Iterator[Path]:
    return (item for item in folder.rglob("*") if not item.is_dir())


def _save_configuration(model: CompressedModel, original: type[nn.Module], folder: Path) -> None:
    config: Any = copy.deepcopy(model.config)
    config.architectures = [original.__name__]
    config.dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()), None)
    config.quantization_config = as_quantization(model.compression)
    config.save_pretrained(folder)
    path = folder / CONFIG_FILE
    stored = json.loads(path.read_text(encoding="utf-8")) | {"transformers_weights": NO_SUCH_FILE}
    path.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    generation: Any = getattr(model, "generation_config", None)
    if generation is not None:
        generation.save_pretrained(folder)


def _save_processor(model: nn.Module, tokenizer: Processor | None, folder: Path) -> None:
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
        return
    source = getattr(getattr(model, "config", None), "name_or_path", None)
    if source and Path(source).is_dir():
        for name in PROCESSOR_FILES:
            if (Path(source) / name).is_file():
                shutil.copyfile(Path(source) / name, folder / name)


def _read_about(folder: Path) -> dict[str, Any]:
    """`compression.json`, its version and the parts that are not of the structure checked."""
    path = folder / STRUCTURE_FILE
    if not path.is_file():
        raise ValueError(f"{path} is missing; expected a folder that save_pretrained of a compressed model wrote.")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else None
        raise ValueError(f"{path} has format {found!r}, expected {FORMAT}; it may be of another version of betabo.")
    expected: dict[str, type] = {"class": str, "library": str, "tied": dict, "files": list}
    for key, kind in expected.items():
        if not isinstance(about.get(key), kind):
            raise ValueError(f"{path}: {key} is {about.get(key)!r}, which is missing or of the wrong type.")
    return about


def _read_weights(path: Path) -> dict[str, Tensor]:
    load_file = _safetensors().load_file
    if not path.is_file():
        raise ValueError(f"{path} is missing; the folder is incomplete.")
    error_kind: type[Exception] = import_module("safetensors").SafetensorError
    try:
        weights: dict[str, Tensor] = load_file(path)
    except error_kind as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return weights


def _skeleton(folder: Path, about: Mapping[str, Any]) -> nn.Module:
    """The uncompressed model of the stored class and configuration, with random weights."""
    if about["library"] != "transformers":
        raise ValueError(
            f"{folder} has a {about['class']} that is not of Transformers; give an uncompressed one: "
            "load_compressed(folder, model=...)."
        )
    if not (folder / CONFIG_FILE).is_file():
        raise ValueError(f"{folder / CONFIG_FILE} is missing; the folder is incomplete.")
    transformers = _transformers()
    kind: Any = getattr(transformers, about["class"], None)
    if not isinstance(kind, type) or not issubclass(kind, transformers.PreTrainedModel):
        raise ValueError(
            f"{folder / STRUCTURE_FILE}: Transformers has no model {about['class']!r}; give an uncompressed one: "
            "load_compressed(folder, model=...)."
        )
    try:
        config: Any = cast(Any, kind).config_class.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{folder / CONFIG_FILE} is damaged: {error}") from None
    config.name_or_path = str(folder)
    for name in ("quantization_config", "transformers_weights"):  # the structure is in a file of its own
        vars(config).pop(name, None)
    made: nn.Module = kind(config)
    if (folder / GENERATION_FILE).is_file():
        generation = transformers.GenerationConfig.from_pretrained(folder, local_files_only=True)
        made.generation_config = generation
    return made


def _assign(model: nn.Module, weights: dict[str, Tensor], tied: Mapping[str, str]) -> None:
    """Give a model its weights; every name and every shape must agree."""
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for name, kept in tied.items():
        if kept not in weights or name not in expected or name in weights:
            raise ValueError(f"{name} is said to be the same as {kept}, which it cannot be.")
    found = {name: tuple(weights[tied.get(name, name)].shape) for name in {*weights, *tied}}
    for name in sorted({*expected, *found}):
        if expected.get(name) != found.get(name):
            raise ValueError(
                f"{name} has shape {found.get(name, 'nothing')}, expected {expected.get(name, 'no such weight')}."
            )
    model.load_state_dict({name: weights[tied.get(name, name)] for name in expected}, assign=True)
    for name, kept in tied.items():
        owner, _, leaf = name.rpartition(".")
        kept_owner, _, kept_leaf = kept.rpartition(".")
        setattr(model.get_submodule(owner), leaf, getattr(model.get_submodule(kept_owner), kept_leaf))
    for name, module in model.named_modules():
        if isinstance(module, CompactLinear | Int8CompactLinear) and not _is_index(
            module.index, module.weight.shape[0]
        ):
            raise ValueError(f"{name}.index is no list of different rows of {module.weight.shape[0]}.")
        if isinstance(module, Int8Linear) and module.whole.dtype != torch.int8:
            raise ValueError(f"{name}.whole has {module.whole.dtype}, expected int8.")


def _is_index(index: Tensor, outputs: int) -> bool:
    whole = index.dtype == torch.int64 and bool(((index >= 0) & (index < outputs)).all())
    return whole and len(index.unique()) == len(index)
