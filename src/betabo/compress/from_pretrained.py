"""Compressed models for the `from_pretrained` of Transformers, which knows the original layers alone.

To Transformers a compression is a way of quantizing: `config.json` of a compressed model has the form of its layers as
`quantization_config`, and the layers are given this form before their weights are read. `import betabo` is all that it
takes, before or after Transformers is imported. Without it `config.json` names a file of weights that is not there, so
that loading ends with an error and never with random layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from torch import nn

from betabo.compress.structure import Structure

METHOD = "betabo"
NO_SUCH_FILE = "first-import-betabo.safetensors"
"""What Transformers says it has not found where betabo is not imported."""


def as_quantization(structure: Structure) -> dict[str, Any]:
    """What `config.json` says for Transformers of the form of a model's layers."""
    return {"quant_method": METHOD, "structure": structure.to_json()}


def register() -> None:
    """Make Transformers read compressed models. It is called when Transformers is imported beside betabo."""
    from transformers.quantizers.auto import (
        AUTO_QUANTIZATION_CONFIG_MAPPING,
        register_quantization_config,
        register_quantizer,
    )
    from transformers.quantizers.base import HfQuantizer
    from transformers.utils.quantization_config import QuantizationConfigMixin

    if METHOD in AUTO_QUANTIZATION_CONFIG_MAPPING:
        return

    class CompressionConfig(QuantizationConfigMixin):
        """The form of the layers, as Transformers keeps it with a model."""

        def __init__(self, structure: Mapping[str, Any], **_: Any) -> None:
            self.quant_method: Any = METHOD
            Structure.from_json(structure)  # what is damaged is refused here
            self.structure = dict(structure)

    class CompressedLayers(HfQuantizer):
        """Gives a model its layers before their weights are read."""

        def update_attn_implementation(self, config: Any) -> Any:
            """The weights are where they always are."""
            if getattr(config, "transformers_weights", None) == NO_SUCH_FILE:
                del config.transformers_weights
            return config

        def _process_model_before_weight_loading(self, model: Any, **_: Any) -> Any:
            structure = Structure.from_json(cast(CompressionConfig, self.quantization_config).structure)
            _named_as_in(structure, model).shape(model)
            return model

        def is_serializable(self, *_: Any, **__: Any) -> bool:
            return False  # `save_pretrained` of what `load_compressed` gives is what stores

        @property
        def is_trainable(self) -> bool:
            return bool(cast(CompressionConfig, self.quantization_config).structure.get("bits", 32) == 32)

    register_quantization_config(METHOD)(CompressionConfig)
    register_quantizer(METHOD)(CompressedLayers)


def _named_as_in(structure: Structure, model: nn.Module) -> Structure:
    """The structure with the paths of a model that has, or lacks, the prefix of the body: `bert.encoder...`."""
    prefix = f"{getattr(model, 'base_model_prefix', '')}."
    known = {name for name, _ in model.named_modules()}

    def path(name: str) -> str:
        return next((path for path in (name, name.removeprefix(prefix), prefix + name) if path in known), name)

    return replace(structure, layers={path(name): layer for name, layer in structure.layers.items()})
