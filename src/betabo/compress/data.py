"""Reading datasets: folders, files and the hub, all as columns.

A folder has one file for each part, named after it: `train.csv`, `mrpc_dev.parquet`, `train-v1.1.json`,
`train-00000-of-00002.parquet`; the name of the task may stand in front. One file alone is all there is, called train. A
folder of folders of images is a dataset whose classes are the folders.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from betabo.extras import needs_extra

_SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl", ".json", ".txt")
_IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
_PARTS = ("train", "validation_matched", "dev_matched", "validation", "valid", "dev", "val", "test")
_PART = rf"(?P<part>{'|'.join(_PARTS)})(?:[-_.]v[\d.]+)?(?:-\d+-of-\d+)?"
_HUB = re.compile(r"(?P<name>[\w-][\w.-]*(?:/[\w-][\w.-]*)?)(?::(?P<config>[\w.-]+))?")


class DataError(ValueError):
    """The data are missing, or not what was expected."""


class Rows:
    """A table: columns of the same length.

    Args:
        table: A `pyarrow.Table`, or columns by name.
    """

    def __init__(self, table: Any) -> None:
        self._table = _pyarrow().table(dict(table)) if isinstance(table, Mapping) else table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._table.column_names)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column, without gaps.

        Raises:
            DataError: There is no such column, or a value is missing.
        """
        if column not in self.columns:
            raise DataError(f"the data have no column {column!r}, only {', '.join(map(repr, self.columns))}.")
        values: list[Any] = self._table.column(column).to_pylist()
        if None in values:
            raise DataError(
                f"the column {column!r} has no value in row {values.index(None)}, expected one in each row."
            )
        return values

    def take(self, indices: Sequence[int]) -> Rows:
        """The rows of the given numbers, in that order."""
        if list(indices) == list(range(len(self))):
            return self
        return Rows(self._table.take(_pyarrow().array(list(indices), type=_pyarrow().int64())))

    def first_of(self, *names: str) -> str | None:
        """The first of some names that is a column."""
        return next((name for name in names if name in self.columns), None)


@dataclass(frozen=True)
class Dataset:
    """A dataset that was found, not read yet.

    Attributes:
        source: What was asked for.
        readers: A function for each part that reads it.
        fingerprint: Changes when local data change.
    """

    source: str
    readers: Mapping[str, Callable[[], Rows]]
    fingerprint: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(self.readers)

    def read(self, names: Sequence[str]) -> Rows | None:
        """The first part of one of these names, or None."""
        name = next((name for name in names if name in self.readers), None)
        return None if name is None else self.readers[name]()


def open_dataset(source: str | Path, name: str | None = None) -> Dataset:
    """Find a dataset.

    Args:
        source: A folder, a file (parquet, csv, tsv, jsonl, json or txt), or a dataset on the hub: `name` or
            `name:config`.
        name: Name of the task: files of a folder that begin with it come first.

    Raises:
        DataError: Nothing is there.
    """
    path = Path(source).expanduser()
    if path.is_file():
        return Dataset(str(source), {"train": lambda: read_file(path)}, _fingerprint([path]))
    if path.is_dir():
        return _folder(path, name)
    return _hub(str(source))


def read_file(path: Path) -> Rows:
    """Read a file by its suffix. A text file is one row with the column `text`.

    Raises:
        DataError: It cannot be read.
    """
    pyarrow = _pyarrow()
    try:
        if path.suffix == ".parquet":
            return Rows(import_module("pyarrow.parquet").read_table(path))
        if path.suffix in (".csv", ".tsv"):
            csv = import_module("pyarrow.csv")
            delimiter = "\t" if path.suffix == ".tsv" else ","
            parsing = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
            return Rows(csv.read_csv(path, parse_options=parsing))
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".txt":
            return Rows({"text": [text]})
        if path.suffix == ".jsonl":
            return Rows(pyarrow.Table.from_pylist([json.loads(line) for line in text.split("\n") if line.strip()]))
        if path.suffix == ".json":
            return _json(json.loads(text))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} cannot be read as {path.suffix[1:]}: {error}.") from error
    raise DataError(f"{path} ends with {path.suffix!r}, expected one of {', '.join(_SUFFIXES)}.")


def hold_out(count: int, share: float, seed: int, groups: Sequence[Any] | None = None) -> tuple[list[int], list[int]]:
    """Divide numbers 0 to `count` - 1 at random.

    Args:
        count: How many there are.
        share: Share to hold out; at least one is, and one stays.
        seed: Of the division.
        groups: A group for each number. Groups are never divided; they are held out until the share is reached.

    Returns:
        The numbers that stay and those held out, each in order.

    Raises:
        DataError: There are fewer than two numbers, or than two groups.
    """
    members: dict[Any, list[int]] = defaultdict(list)
    for number in range(count):
        members[number if groups is None else groups[number]].append(number)
    if len(members) < 2:
        what = "examples" if groups is None else "groups of examples that belong together"
        raise DataError(f"there are {len(members)} {what}, expected at least 2 to hold some out.")
    keys = list(members)
    order = torch.randperm(len(keys), generator=torch.Generator().manual_seed(seed)).tolist()
    held: list[int] = []
    for key in order[:-1]:
        held += members[keys[key]]
        if len(held) >= share * count:
            break
    out = set(held)
    return [number for number in range(count) if number not in out], sorted(held)


def choose(count: int, most: int | None, seed: int) -> list[int]:
    """At most `most` of the numbers 0 to `count` - 1 at random, in order; all if None."""
    if most is None or most >= count:
        return list(range(count))
    return sorted(torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:most].tolist())


def _folder(folder: Path, name: str | None) -> Dataset:
    named = re.escape(name) if name else None
    for place in (folder, *([folder / name] if name else []), folder / "data"):
        if not place.is_dir():
            continue
        files = sorted(path for path in place.iterdir() if path.suffix in _SUFFIXES)
        for pattern in (*([rf"{named}[-_.]{_PART}", rf"(?P<part>{named})"] if named else []), _PART):
            parts = _matching(files, re.compile(pattern))
            if parts:
                readers = {("train" if part == name else part): _reader(paths) for part, paths in parts.items()}
                return Dataset(str(folder), readers, _fingerprint([path for paths in parts.values() for path in paths]))
    images = _image_parts(folder)
    if images:
        paths = [path for found, _ in images.values() for path in found]
        return Dataset(str(folder), {part: _image_reader(*rows) for part, rows in images.items()}, _fingerprint(paths))
    looked_for = f"{name}_train, train, dev, test and the like" if name else "train, dev, test and the like"
    raise DataError(
        f"the folder {str(folder)!r} has no data: looked for {looked_for}, ending with {', '.join(_SUFFIXES)}, "
        f"and for folders of images. It has: {_listing(folder)}."
    )


def _listing(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "") if names else "nothing"


def _matching(files: Sequence[Path], pattern: re.Pattern[str]) -> dict[str, list[Path]]:
    """Files by part; of several kinds of file the first in the order of `_SUFFIXES`."""
    found: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for path in files:
        match = pattern.fullmatch(path.name.removesuffix(path.suffix))
        if match:
            found[match["part"]][path.suffix].append(path)
    return {part: next(kinds[suffix] for suffix in _SUFFIXES if suffix in kinds) for part, kinds in found.items()}


def _reader(paths: Sequence[Path]) -> Callable[[], Rows]:
    def read() -> Rows:
        tables = [read_file(path) for path in paths]
        return tables[0] if len(tables) == 1 else Rows(_pyarrow().concat_tables([rows._table for rows in tables]))

    return read


def _image_parts(folder: Path) -> dict[str, tuple[list[Path], list[str]]]:
    """Paths of images and their classes, by part."""
    parts = {part: _images_in(folder / part) for part in _PARTS if (folder / part).is_dir()}
    found = {part: images for part, images in parts.items() if images[0]}
    if found:
        return found
    images = _images_in(folder)
    return {"train": images} if images[0] else {}


def _images_in(folder: Path) -> tuple[list[Path], list[str]]:
    found = [
        (path, place.name)
        for place in sorted(folder.iterdir())
        if place.is_dir()
        for path in sorted(place.iterdir())
        if path.suffix.lower() in _IMAGES
    ]
    return [path for path, _ in found], [label for _, label in found]


def _image_reader(paths: list[Path], labels: list[str]) -> Callable[[], Rows]:
    return lambda: Rows({"image": [str(path) for path in paths], "label": labels})


def _json(content: Any) -> Rows:
    """A list of records, or question answering data in SQuAD's nesting: articles, paragraphs, questions."""
    if isinstance(content, list):
        return Rows(_pyarrow().Table.from_pylist(content))
    records = [
        {
            "id": str(question["id"]),
            "title": article.get("title", ""),
            "context": paragraph["context"],
            "question": question["question"],
            "answers": [answer["text"] for answer in question["answers"]],
            "answer_starts": [answer["answer_start"] for answer in question["answers"]],
        }
        for article in content["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    return Rows(_pyarrow().Table.from_pylist(records))


def _hub(source: str) -> Dataset:
    missing = f"the data {source!r} are no file or folder here"
    match = _HUB.fullmatch(source)
    if match is None:
        raise DataError(f"{missing}, and no name of a dataset on the hub.")
    advice = "Give a local folder or file instead (--data)."
    try:
        datasets = import_module("datasets")
    except ImportError as error:
        raise DataError(
            f"{missing}, and to read them from the hub takes the package datasets: pip install datasets. {advice}"
        ) from error
    name, config = match["name"], match["config"]
    try:
        parts = datasets.get_dataset_split_names(name, config)
    except Exception as error:  # whatever the network, the hub or the dataset's own rules raise
        raise DataError(f"{missing}, and the hub gave none of that name ({_line(error)}). {advice}") from error

    def reader(part: str) -> Callable[[], Rows]:
        def read() -> Rows:
            try:
                return Rows(datasets.load_dataset(name, config, split=part).with_format("arrow")[:])
            except Exception as error:
                raise DataError(f"the part {part!r} of {source!r} did not come ({_line(error)}). {advice}") from error

        return read

    return Dataset(source, {part: reader(part) for part in parts}, source)


def _line(error: Exception) -> str:
    """An error in one line."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def _fingerprint(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        status = path.stat()
        digest.update(f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _pyarrow() -> Any:
    with needs_extra("compress", "reading data needs pyarrow"):
        import pyarrow
    return pyarrow
