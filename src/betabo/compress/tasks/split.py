"""Encoded data: splits of fixed-length tensors, kept on disk without pickle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from betabo.compress.data import DataError
from betabo.files import whole_folder

_DESCRIPTION = "data.json"
_FORMAT = 1


@dataclass(frozen=True)
class Split:
    """Examples as tensors.

    All tensors have one row for each example and fixed lengths, so that batches of one size have one shape.

    Attributes:
        tensors: By name; the first dimension is the example.
        details: What metrics need besides, of plain JSON types. A subset keeps it whole.
    """

    tensors: dict[str, Tensor]
    details: Any = None

    def __post_init__(self) -> None:
        lengths = {name: tensor.shape[0] if tensor.ndim else None for name, tensor in self.tensors.items()}
        if not lengths or len(set(lengths.values())) != 1 or None in lengths.values():
            raise ValueError(f"the tensors' first dimensions are {lengths}, expected one number of examples for all.")

    def __len__(self) -> int:
        return next(iter(self.tensors.values())).shape[0]

    def subset(self, indices: Sequence[int] | Tensor) -> Split:
        """The examples of the given numbers, in that order."""
        device = next(iter(self.tensors.values())).device
        index = torch.as_tensor(indices, dtype=torch.int64, device=device)
        return Split({name: tensor.index_select(0, index) for name, tensor in self.tensors.items()}, self.details)

    def to(self, device: torch.device | str) -> Split:
        """The same examples on a device."""
        return Split({name: tensor.to(device) for name, tensor in self.tensors.items()}, self.details)


@dataclass(frozen=True)
class TaskData:
    """The encoded data of a task.

    Attributes:
        train: To train on.
        validation: To choose models by.
        test: For the final number only, or None.
        labels: Names of the classes in the order of their numbers, or None without classes.
    """

    train: Split
    validation: Split
    test: Split | None = None
    labels: tuple[str, ...] | None = None

    @property
    def splits(self) -> dict[str, Split]:
        """Those that there are, by name."""
        found = {"train": self.train, "validation": self.validation}
        return found if self.test is None else {**found, "test": self.test}

    def to(self, device: torch.device | str) -> TaskData:
        """The same data on a device."""
        test = None if self.test is None else self.test.to(device)
        return TaskData(self.train.to(device), self.validation.to(device), test, self.labels)

    def to_disk(self, folder: str | Path) -> None:
        """Write the data to a new folder: tensors as safetensors, the rest as JSON.

        The folder appears whole or not at all. If it is there already, it is left as it is.
        """
        from safetensors.torch import save_file

        folder = Path(folder)
        try:
            with whole_folder(folder, parents=True) as temporary:
                for name, split in self.splits.items():
                    tensors = {key: tensor.cpu().contiguous() for key, tensor in split.tensors.items()}
                    save_file(tensors, temporary / f"{name}.safetensors")
                description = {
                    "format": _FORMAT,
                    "labels": self.labels,
                    "details": {name: split.details for name, split in self.splits.items()},
                }
                (temporary / _DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
        except OSError:
            if not (folder / _DESCRIPTION).is_file():  # otherwise another process wrote the same data first
                raise

    @classmethod
    def from_disk(cls, folder: str | Path) -> TaskData:
        """Read what `to_disk` wrote.

        Raises:
            DataError: It is not there, or not whole.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        folder = Path(folder)
        try:
            description = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
            if description.get("format") != _FORMAT:
                raise DataError(
                    f"{folder} has the format {description.get('format')!r}, expected {_FORMAT}: delete it."
                )
            splits = {
                name: Split(load_file(folder / f"{name}.safetensors"), details)
                for name, details in description["details"].items()
            }
            labels = description["labels"]
            return cls(
                splits["train"], splits["validation"], splits.get("test"), None if labels is None else tuple(labels)
            )
        except (OSError, KeyError, json.JSONDecodeError, SafetensorError) as error:
            raise DataError(f"{folder} holds no whole encoded data ({error}): delete it.") from error
