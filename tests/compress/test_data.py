from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from betabo.compress.data import DataError, Rows, choose, hold_out, open_dataset, read_file

RECORDS = [{"sentence": 'one, "two"\nthree', "label": 0}, {"sentence": "NA", "label": 1}]


def write(path: Path, records: list[dict[str, Any]] = RECORDS) -> Path:
    import pandas as pd

    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix in (".csv", ".tsv"):
        pd.DataFrame(records).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, records)) + "\n")
    else:
        path.write_text(json.dumps(records))
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".jsonl", ".json"])
def test_a_file_is_read_by_its_suffix(tmp_path: Path, suffix: str) -> None:
    rows = read_file(write(tmp_path / f"x{suffix}"))
    assert rows["sentence"] == ['one, "two"\nthree', "NA"]
    assert rows["label"] == [0, 1]


def test_text_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a\n\nb\u2028c\n", encoding="utf-8")
    assert read_file(tmp_path / "x.txt")["text"] == ["a\n\nb\u2028c\n"]


def test_lines_of_jsonl_end_with_line_feeds_only(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps({"text": "b\u2028c"}, ensure_ascii=False) + "\n", encoding="utf-8")
    assert read_file(tmp_path / "x.jsonl")["text"] == ["b\u2028c"]


def read_part(source: str | Path, part: str, name: str | None = None) -> Rows:
    rows = open_dataset(source, name).read([part])
    assert rows is not None
    return rows


def test_squad_json_becomes_rows(tmp_path: Path) -> None:
    question = {
        "id": "q1",
        "question": "Who?",
        "answers": [{"text": "Bo", "answer_start": 3}, {"text": "B", "answer_start": 3}],
    }
    content = {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": "It Bo.", "qas": [question]}]}]}
    (tmp_path / "dev-v1.1.json").write_text(json.dumps(content))
    rows = read_part(tmp_path, "dev", "squad")
    assert rows["context"] == ["It Bo."]
    assert rows["answers"] == [["Bo", "B"]]
    assert rows["answer_starts"] == [[3, 3]]
    assert rows["id"] == ["q1"]


@pytest.mark.parametrize(
    ("name", "content"), [("x.json", "{"), ("x.json", '{"a": 1}'), ("x.parquet", "no"), ("x.csv", ""), ("x.doc", "x")]
)
def test_a_file_that_is_no_data_is_named(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=name):
        read_file(tmp_path / name)


def test_files_with_the_name_of_the_task_come_first(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", [{"sentence": "other", "label": 0}])
    write(tmp_path / "mrpc_train.parquet")
    write(tmp_path / "mrpc_dev.parquet", RECORDS[:1])
    write(tmp_path / "rte_test.parquet")
    dataset = open_dataset(tmp_path, "mrpc")
    assert set(dataset.parts) == {"train", "dev"}
    assert len(read_part(tmp_path, "train", "mrpc")) == 2
    assert open_dataset(tmp_path, "sst2").parts == ("train",)
    assert read_part(tmp_path, "train", "sst2")["sentence"] == ["other"]


@pytest.mark.parametrize(
    "names",
    [
        ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"],
        ["mrpc/train-00000-of-00002.parquet", "mrpc/train-00001-of-00002.parquet"],
        ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
    ],
)
def test_shards_and_subfolders(tmp_path: Path, names: list[str]) -> None:
    for name, record in zip(names, RECORDS, strict=True):
        write(tmp_path / name, [record])
    assert read_part(tmp_path, "train", "mrpc")["label"] == [0, 1]


def test_a_file_named_like_the_task_is_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "plays.txt").write_text("To be")
    (tmp_path / "other.txt").write_text("no")
    assert open_dataset(tmp_path, "plays").parts == ("train",)
    assert read_part(tmp_path, "train", "plays")["text"] == ["To be"]
    assert read_part(tmp_path / "other.txt", "train")["text"] == ["no"]


@pytest.mark.parametrize("split", [True, False])
def test_folders_of_images_are_classes(tmp_path: Path, split: bool) -> None:
    for part in ("train", "test") if split else (".",):
        for label in ("cat", "dog"):
            folder = tmp_path / part / label
            folder.mkdir(parents=True)
            for number in range(2):
                (folder / f"{number}.PNG").write_bytes(b"")
    dataset = open_dataset(tmp_path, "mine")
    assert dataset.parts == (("train", "test") if split else ("train",))
    rows = read_part(tmp_path, "train")
    assert rows["label"] == ["cat", "cat", "dog", "dog"]
    assert all(Path(path).is_file() for path in rows["image"])


def test_missing_data_are_named(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("")
    with pytest.raises(DataError, match=r"mrpc_train, .*It has: notes.md"):
        open_dataset(tmp_path, "mrpc")
    write(tmp_path / "dev.csv")
    assert open_dataset(tmp_path).read(["train"]) is None
    with pytest.raises(DataError, match="no file or folder here"):
        open_dataset("./nowhere/at/all")


def test_columns_and_gaps_are_checked() -> None:
    rows = Rows({"a": [1, None]})
    with pytest.raises(DataError, match="no column 'b', only 'a'"):
        rows["b"]
    with pytest.raises(DataError, match="row 1"):
        rows["a"]


def test_rows_are_taken_in_order() -> None:
    rows = Rows({"a": list("xyz")})
    assert rows.take([2, 0])["a"] == ["z", "x"]
    assert len(rows.take([])) == 0
    assert rows.first_of("b", "a") == "a"
    assert rows.first_of("b") is None


def test_fingerprint_changes_with_a_file(tmp_path: Path) -> None:
    write(tmp_path / "train.csv")
    before = open_dataset(tmp_path).fingerprint
    assert open_dataset(tmp_path).fingerprint == before
    write(tmp_path / "train.csv", RECORDS[:1])
    assert open_dataset(tmp_path).fingerprint != before


def test_hub_without_the_package_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"pip install datasets.*--data"):
        open_dataset("nyu-mll/glue:mrpc")


def test_hub_gives_parts_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Remote:
        def with_format(self, kind: str) -> Remote:
            assert kind == "arrow"
            return self

        def __getitem__(self, key: slice) -> Any:
            assert key == slice(None)
            return pa.table({"label": [1]})

    def load(name: str, config: str | None, split: str) -> Remote:
        asked.append((name, config, split))
        if split == "test":
            raise ConnectionError("gone\nfar away")
        return Remote()

    fake = SimpleNamespace(get_dataset_split_names=lambda name, config: ["train", "test"], load_dataset=load)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    assert open_dataset("nyu-mll/glue:mrpc").parts == ("train", "test")
    assert asked == []
    assert read_part("nyu-mll/glue:mrpc", "train")["label"] == [1]
    assert asked == [("nyu-mll/glue", "mrpc", "train")]
    with pytest.raises(DataError, match=r"'test' of 'nyu-mll/glue:mrpc' did not come \(ConnectionError: gone\)"):
        read_part("nyu-mll/glue:mrpc", "test")


def test_hub_out_of_reach_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def names(name: str, config: str | None) -> list[str]:
        raise ConnectionError("no network\nmore")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(get_dataset_split_names=names))
    with pytest.raises(DataError, match=r"no network\). Give a local folder") as caught:
        open_dataset("someone/something")
    assert "\n" not in str(caught.value)


def test_held_out_numbers_are_a_partition_by_seed() -> None:
    kept, held = hold_out(100, 0.1, 0)
    assert len(held) == 10
    assert sorted(kept + held) == list(range(100))
    assert kept == sorted(kept)
    assert hold_out(100, 0.1, 0) == (kept, held)
    assert hold_out(100, 0.1, 1)[1] != held


def test_groups_are_never_divided() -> None:
    groups = [number // 7 for number in range(100)]
    kept, held = hold_out(100, 0.2, 3, groups)
    assert not {groups[number] for number in kept} & {groups[number] for number in held}
    assert 20 <= len(held) < 27


def test_something_stays_and_something_is_held_out() -> None:
    assert [len(part) for part in hold_out(2, 0.001, 0)] == [1, 1]
    assert [len(part) for part in hold_out(3, 0.999, 0)] == [1, 2]
    with pytest.raises(DataError, match="at least 2"):
        hold_out(5, 0.1, 0, groups=["same"] * 5)


def test_choice_is_a_seeded_subset() -> None:
    assert choose(5, None, 0) == choose(5, 9, 0) == list(range(5))
    chosen = choose(1000, 10, 4)
    assert chosen == sorted(set(chosen)) == choose(1000, 10, 4)
    assert len(chosen) == 10
    assert chosen != choose(1000, 10, 5)
