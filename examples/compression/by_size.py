"""Compressions to a size without a search, compared with simpler ones, on a model that is trained for the task first.

    python examples/compression/by_size.py --model models/minilm --data data/glue --dense models/sst2 --out sst2.json

For each size and way of compressing, the metric on the validation and on the test examples, before any training and,
with --steps, after it. Everything is in one JSON file, and the model that was trained for the task in --dense.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path


def main() -> None:
    """Read the command line, train the model if it is not there, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of an encoder with a tokenizer")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument("--task", default="sst2", help="name of the task")
    parser.add_argument("--dense", type=Path, required=True, help="folder for the model trained for the task")
    parser.add_argument("--out", type=Path, required=True, help="file of the results")
    parser.add_argument("--max-length", type=int, default=40, help="tokens of a text")
    parser.add_argument("--max-train", type=int, default=4000)
    parser.add_argument("--max-validation", type=int, default=800)
    parser.add_argument("--dense-steps", type=int, default=130)
    parser.add_argument("--steps", type=int, nargs="+", default=[0], help="steps of training after compression")
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.5, 0.3, 0.15])
    parser.add_argument("--seed", type=int, default=0)
    compare(parser.parse_args())


def compare(arguments: argparse.Namespace) -> None:
    """Compress in several ways to several sizes, and write down how good each is."""
    import torch

    from betabo.compress.by_size import CompressionBySize
    from betabo.compress.figures import figures_of, int8_model
    from betabo.compress.pretrained import load_model
    from betabo.compress.problem import CompressionProblem
    from betabo.compress.settings import CompressionMethod, Training
    from betabo.compress.tasks import task_by_name
    from betabo.compress.training import finetune
    from betabo.compress.whitening import factors_of

    start = time.time()
    torch.set_num_threads(1)
    task = task_by_name(arguments.task, arguments.model, max_length=arguments.max_length)
    limits = {"max_train": arguments.max_train, "max_validation": arguments.max_validation}
    data = task.load(arguments.data, seed=arguments.seed, **limits)
    training = Training(steps=arguments.dense_steps, batch=32, rate=1e-4)
    if not arguments.dense.is_dir():
        model = load_model(arguments.model, task, data, seed=arguments.seed).model
        finetune(model, task, data.train, training, seed=arguments.seed, progress=_say)
        model.save_pretrained(arguments.dense)
        task.tokenizer.save_pretrained(arguments.dense)
    model = load_model(arguments.dense, task, data).model
    method = CompressionMethod(training=training, device="cpu", seed=arguments.seed)
    problem = CompressionProblem(model, task, data, method)
    seconds = {"dense": time.time() - start}

    def scores(model: torch.nn.Module) -> dict[str, float]:
        judged = {"validation": data.validation, "test": data.test}
        return {name: problem.judge(model, split, short=True)[task.metric] for name, split in judged.items()}

    results = [{"size": 1.0, "way": "original", "steps": 0, **scores(problem.model)}]
    results.append({"size": 1.0, "way": "int8", "steps": 0, **scores(int8_model(problem.model))})
    ours = {steps: CompressionBySize(problem, steps=steps) for steps in arguments.steps}
    sized = ours[arguments.steps[0]]
    start = time.time()
    _ = sized.factors
    seconds["factors"] = time.time() - start
    _ = sized.sensitivities
    seconds["sensitivities"] = time.time() - start - seconds["factors"]
    for other in ours.values():
        other.__dict__.update(factors=sized.factors, sensitivities=sized.sensitivities)
    plain = {steps: CompressionBySize(problem, steps=steps) for steps in arguments.steps}
    for other in plain.values():
        other.__dict__.update(factors=factors_of(problem.model, problem.plan), sensitivities=sized.sensitivities)
    for size in arguments.sizes:
        for steps in arguments.steps:
            ways = {
                "by sensitivity, whitened": ours[steps].at(size),
                "one ratio, whitened": ours[steps].uniform(size),
                "one ratio, plain": plain[steps].uniform(size),
            }
            for way, made in ways.items():
                row = {"size": made.result.size, "way": way, "steps": steps, **scores(made.model)}
                results.append({"target": size, **row, "ratios": made.ratios if way.startswith("by") else None})
                print({key: value for key, value in results[-1].items() if key != "ratios"}, flush=True)
    table = {
        "original": figures_of(problem, problem.model).to_json(),
        "int8": figures_of(problem, int8_model(problem.model), like=problem.model).to_json(),
        **{f"size {size:g}": figures_of(problem, sized.at(size).model).to_json() for size in arguments.sizes},
    }
    seconds["all"] = time.time() - start
    settings = {name: str(value) if isinstance(value, Path) else value for name, value in vars(arguments).items()}
    settings = {name: value for name, value in settings.items() if name not in ("model", "data", "dense", "out")}
    about = {"settings": settings, "seconds": seconds, "machine": "one thread of a shared CPU", "metric": task.metric}
    about["sensitivities"] = sized.sensitivities.to_json()
    arguments.out.write_text(json.dumps({**about, "results": results, "figures": table}, indent=1) + "\n")


def _say(step: int, loss: float) -> None:
    print(f"step {step}: loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
