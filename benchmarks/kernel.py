"""Speed and memory of the Beta kernels, as ratios to their peers in one run.

Every contender computes an n x n covariance matrix, forward alone and forward plus backward to the kernel's parameters.
The contenders' calls are mixed evenly, so that whatever else the machine does hits all of them alike. Parameters move a
little before every call, as in a fit, and the points stay: the Beta kernels may reuse what depends on the points alone,
but nothing that depends on the bandwidths.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from itertools import cycle, product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from gpytorch.kernels import Kernel, MaternKernel
from torch import Tensor

import betabo
from betabo.files import write_text
from betabo.kernels import BetaKernel, BetaMaternKernel

CONTENDERS = ("naive", "matern", "beta", "beta-correlation", "beta-matern")
MODES = ("forward", "forward+backward")
RATIOS = (("beta", "matern"), ("naive", "beta"), ("beta-correlation", "matern"), ("beta-matern", "matern"))
PEAK_BANDWIDTH = 0.5
NAIVE_TENSORS = 6  # n x m x d tensors that the naive form holds at a time, about
SLOW_ROUND = 20.0  # seconds for all contenders once; a slower round is not repeated


class Setting(NamedTuple):
    """Number of points, number of coordinates, and about what bandwidth."""

    n: int
    d: int
    h: float

    def __str__(self) -> str:
        return f"n={self.n} d={self.d} h={self.h:g}"


class Goal(NamedTuple):
    """A figure the project aims at: a ratio of two contenders' times or, with mode "peak", of their peak memories."""

    device: str
    setting: Setting
    mode: str
    ratio: tuple[str, str]
    at_least: bool
    limit: float


GOALS = (
    Goal("cpu", Setting(1000, 20, 0.5), MODES[1], ("naive", "beta"), True, 20.0),
    Goal("cpu", Setting(1000, 20, 0.5), MODES[1], ("beta", "matern"), False, 2.5),
    Goal("cpu", Setting(4000, 72, PEAK_BANDWIDTH), "peak", ("beta", "matern"), False, 1.5),
    *(Goal("cuda", Setting(8000, 20, 0.5), mode, ("naive", "beta"), True, 30.0) for mode in MODES),
    *(Goal("cuda", Setting(8000, 20, 0.5), mode, ("beta", "matern"), False, 1.0) for mode in MODES),
)


class NaiveBetaKernel(Kernel):  # type: ignore[misc]
    """The paper's Beta kernel as its definition reads, for autograd to differentiate; the length scale is h."""

    has_lengthscale = True

    def forward(self, x1: Tensor, x2: Tensor, **_: Any) -> Tensor:
        """Covariance of the points `x1`, `n x d`, and `x2`, `m x d`."""
        h = self.lengthscale
        u = x1.unsqueeze(-2) + x2.unsqueeze(-3)  # n x m x d
        c = 2 * torch.lgamma(1 / h + 2) - torch.lgamma(2 / h + 2)
        f1, f2 = (-torch.lgamma(1 + x / h) - torch.lgamma(1 + (1 - x) / h) for x in (x1, x2))
        g = torch.lgamma(1 + u / h) + torch.lgamma(1 + (2 - u) / h)
        return (c.sum() + f1.sum(-1).unsqueeze(-1) + f2.sum(-1).unsqueeze(-2) + g.sum(-1)).exp()


def make_points(setting: Setting, device: str, dtype: torch.dtype) -> Tensor:
    """Uniform points of the unit cube, the same for every run."""
    generator = torch.Generator().manual_seed(setting.n + setting.d)
    return torch.rand(setting.n, setting.d, generator=generator, dtype=torch.float64).to(device, dtype)


def make_kernel(name: str, setting: Setting, device: str, dtype: torch.dtype) -> Kernel:
    """A contender with bandwidths within 10% of `h`, or the length scales they mean at the centre of the cube."""
    d = setting.d
    jitter = torch.rand(1, d, generator=torch.Generator().manual_seed(d), dtype=torch.float64)
    reference = BetaKernel(ard_num_dims=d).double()
    reference.bandwidth = setting.h * (0.9 + 0.2 * jitter)
    makers: dict[str, Callable[..., Kernel]] = {
        "naive": NaiveBetaKernel,
        "matern": partial(MaternKernel, nu=2.5),
        "beta": BetaKernel,
        "beta-correlation": partial(BetaKernel, boundary_weight=0.0),
        "beta-matern": partial(BetaMaternKernel, nu=2.5),
    }
    kernel = makers[name](ard_num_dims=d).double()
    if kernel.has_lengthscale:
        kernel.lengthscale = (reference.bandwidth if name == "naive" else reference.central_lengthscale).detach()
    if hasattr(kernel, "bandwidth"):
        kernel.bandwidth = setting.h if name == "beta-matern" else reference.bandwidth.detach()
    return kernel.to(device, dtype)


def evaluate(kernel: Kernel, x: Tensor, mode: str) -> None:
    """One evaluation, as it is timed."""
    if mode == "forward":
        with torch.no_grad():
            kernel(x).to_dense()
    else:
        kernel(x).to_dense().sum().backward()


def largest_difference(setting: Setting, device: str) -> float:
    """Largest difference between the naive and the fast correlation, in float64, at up to 200 points."""
    x = make_points(setting, device, torch.float64)[:200]
    kernels = [make_kernel(name, setting, device, torch.float64) for name in ("naive", "beta-correlation")]
    with torch.no_grad():
        naive, fast = (kernel(x).to_dense() for kernel in kernels)
    scale = naive.diagonal().rsqrt()
    return float((naive * scale * scale.unsqueeze(-1) - fast).abs().max())


def keep_freed_memory() -> None:
    """Stop glibc from handing freed memory back to the system, where there is glibc.

    Whether it does depends on what ran before, and fetching the memory again can triple the time of a short call.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    mallopt(-3, 2**25)  # M_MMAP_THRESHOLD, at its largest: bigger tensors come fresh from the system for everybody


def timed(kernel: Kernel, start: list[Tensor], x: Tensor, mode: str) -> float:
    """Seconds of one evaluation, with parameters a little away from `start`."""
    kernel.zero_grad(set_to_none=True)
    with torch.no_grad():
        for parameter, value in zip(kernel.parameters(), start, strict=True):
            parameter.copy_(value + 1e-3 * torch.randn_like(value))
    wait = torch.cuda.synchronize if x.is_cuda else lambda: None
    wait()
    began = time.perf_counter()
    evaluate(kernel, x, mode)
    wait()
    return time.perf_counter() - began


def free_memory(device: str) -> int:
    """Bytes of memory that a contender could use."""
    if device == "cuda":
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info()[0]
    try:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def reasons_to_skip(setting: Setting, device: str, dtype: torch.dtype, limit: float | None) -> dict[str, str]:
    """Contenders that would need more than `limit` gigabytes (or half of the free memory), with the reason in words."""
    needed = NAIVE_TENSORS * setting.n**2 * setting.d * dtype.itemsize / 1e9
    allowed = free_memory(device) / 2e9 if limit is None else limit
    return {} if needed <= allowed else {"naive": f"needs about {needed:.0f} GB, {allowed:.0f} GB are allowed"}


def time_mode(kernels: dict[str, Kernel], x: Tensor, mode: str, args: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds of every call of each contender, the calls of all contenders evenly mixed."""
    calls = {
        k: partial(timed, kernel, [p.detach().clone() for p in kernel.parameters()]) for k, kernel in kernels.items()
    }
    for call in calls.values():
        call(x[:50], mode)  # what only a first call costs
    warm = {name: call(x, mode) for name, call in calls.items()}
    least = 3 if sum(warm.values()) < SLOW_ROUND else 1
    counts = {k: max(least, min(args.repeats, int(args.budget / len(warm) / t))) for k, t in warm.items()}
    schedule = sorted(((i + random.random()) / count, k) for k, count in counts.items() for i in range(count))
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for _, name in schedule:
        times[name].append(calls[name](x, mode))
    return times


def time_cell(setting: Setting, args: argparse.Namespace, dtype: torch.dtype) -> dict[str, Any]:
    """All contenders at one setting."""
    x = make_points(setting, args.device, dtype)
    skipped = reasons_to_skip(setting, args.device, dtype, args.naive_gb)
    kernels = {k: make_kernel(k, setting, args.device, dtype) for k in CONTENDERS if k not in skipped}
    seconds = {mode: time_mode(kernels, x, mode, args) for mode in MODES}
    medians = {mode: {name: median(t) for name, t in times.items()} for mode, times in seconds.items()}
    difference = largest_difference(setting, args.device)
    figures = {"medians": medians, "seconds": seconds, "skipped": skipped, "largest_difference": difference}
    return {**setting._asdict(), **figures, "load": os.getloadavg()[0]}


def resident(field: str) -> int:
    """Resident bytes of this process, "VmRSS" now or "VmHWM" at most, or `ru_maxrss` where Linux does not tell.

    On Linux `ru_maxrss` survives `exec`: a child starts with its parent's peak. `VmHWM` starts afresh.
    """
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(fields[field].split()[0]) * 1024
    except (OSError, KeyError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def measure_peak(name: str, setting: Setting, device: str, dtype: torch.dtype) -> int:
    """Bytes by which memory grows at most in the first forward+backward of a contender."""
    x, kernel = make_points(setting, device, dtype), make_kernel(name, setting, device, dtype)
    evaluate(kernel, x[:50], MODES[1])
    if device == "cpu":
        before = resident("VmRSS")
        evaluate(kernel, x, MODES[1])
        return max(0, resident("VmHWM") - before)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    evaluate(kernel, x, MODES[1])
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def measure_peaks(setting: Setting, args: argparse.Namespace, dtype: torch.dtype) -> dict[str, Any]:
    """Peak memory of every contender; on the CPU each runs in a process of its own."""
    skipped = reasons_to_skip(setting, args.device, dtype, args.naive_gb)
    peaks: dict[str, int] = {}
    for name in (name for name in CONTENDERS if name not in skipped):
        if args.device == "cuda":
            peaks[name] = measure_peak(name, setting, args.device, dtype)
        else:
            command = [sys.executable, __file__, "--measure-peak", name, "--dtype", args.dtype]
            command += ["--sizes", str(setting.n), "--dims", str(setting.d)]
            peaks[name] = int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        log(f"  {name}: {peaks[name] / 2**20:.0f} MiB")
    return {**setting._asdict(), "bytes": peaks, "skipped": skipped}


def number(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def quotient(values: dict[str, float], ratio: tuple[str, str]) -> float | None:
    """Ratio of two contenders' figures, None where one was skipped."""
    return values[ratio[0]] / values[ratio[1]] if set(ratio) <= set(values) else None


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table in GitHub Markdown, aligned for the eye too."""
    widths = [max(2, *map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * (width - 1) + ":" for width in widths], *rows]
    return "\n".join("| " + " | ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines)


def time_table(cells: list[dict[str, Any]], mode: str) -> str:
    """Medians and ratios of one mode, a row a setting."""
    header = ["n", "d", "h", "naive ms", "matern ms", "beta ms", *("/".join(ratio) for ratio in RATIOS)]
    rows = []
    for cell in cells:
        medians = cell["medians"][mode]
        times = [number(1e3 * medians[name]) if name in medians else "skipped" for name in CONTENDERS[:3]]
        ratios = [quotient(medians, ratio) for ratio in RATIOS]
        setting = [str(cell["n"]), str(cell["d"]), f"{cell['h']:g}"]
        rows.append([*setting, *times, *("-" if value is None else number(value) for value in ratios)])
    return markdown(header, rows)


def peak_table(peak: dict[str, Any]) -> str:
    """Peak memory, a row a contender."""
    values = peak["bytes"]
    rows = [[name, number(v / 2**20), number(v / values["matern"])] for name, v in values.items()]
    rows += [[name, "skipped", "-"] for name in peak["skipped"]]
    return markdown(["contender", "peak MiB", "ratio to matern"], rows)


def check_goals(results: dict[str, Any]) -> list[str]:
    """A line for each goal of this device: reached or not, and the figure."""
    lines = []
    for goal in (goal for goal in GOALS if goal.device == results["device"]):
        entries = [results["peak"]] if goal.mode == "peak" else results["cells"]
        entries = [e for e in entries if e and Setting(e["n"], e["d"], e["h"]) == goal.setting]
        value = None
        if entries and results["dtype"] == "float64":
            figures = entries[0]["bytes"] if goal.mode == "peak" else entries[0]["medians"][goal.mode]
            value = quotient(figures, goal.ratio)
        what = "peak memory" if goal.mode == "peak" else goal.mode
        aim = f"{goal.setting} float64, {what}: {'/'.join(goal.ratio)} {'>=' if goal.at_least else '<='} {goal.limit:g}"
        if value is None:
            lines.append(f"- [ ] {aim}: not measured")
        else:
            reached = value >= goal.limit if goal.at_least else value <= goal.limit
            lines.append(f"- [{'x' if reached else ' '}] {aim}: {'' if reached else 'not '}reached, {value:.3g}")
    return lines


def caveats(cells: list[dict[str, Any]]) -> list[str]:
    """What a reader of the figures should know."""
    lines = []
    if any(cell["skipped"] for cell in cells):
        lines.append("\nSkipped: it would have needed more memory than allowed.")
    load, cores = max(cell["load"] for cell in cells), os.cpu_count() or 1
    if load > cores + 0.5:
        lines.append(
            f"\nOther programs kept the machine busy (load {load:.1f}, {cores} cores): short times say little."
        )
    difference = max(cell["largest_difference"] for cell in cells)
    lines.append(f"\nThe naive form and the Beta kernel differ by at most {difference:.0e} (correlations, float64).")
    return lines


def plot(results: dict[str, Any], path: Path) -> None:
    """Time relative to Matern's by n: a column of panels a dimension, a row a mode."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    cells = results["cells"]
    sizes, dims, bandwidths = (sorted({cell[key] for cell in cells}) for key in ("n", "d", "h"))
    colors = dict(zip(CONTENDERS, ("#7f7f7f", "black", "#d62728", "#ff9d3b", "#1f77b4"), strict=True))
    patterns = zip(bandwidths, cycle(("-", "--", ":")), cycle("osD^v"), strict=False)
    looks: dict[float, dict[str, Any]] = {
        h: {"linestyle": linestyle, "marker": marker} for h, linestyle, marker in patterns
    }
    shape = (max(3.6 * len(dims), 6.8) + 0.6, 7.4)
    figure, axes = plt.subplots(2, len(dims), figsize=shape, squeeze=False, sharey="row", layout="constrained")
    for axis, (mode, d) in zip(axes.flat, product(MODES, dims), strict=True):
        axis.axhline(1, color=colors["matern"], linewidth=1.2)
        axis.axhspan(0.5, 2, alpha=0)  # unseen: the least range of the axis
        for name, h in product((name for name in CONTENDERS if name != "matern"), bandwidths):
            medians = {c["n"]: c["medians"][mode] for c in cells if (c["d"], c["h"]) == (d, h)}
            line = {n: m[name] / m["matern"] for n, m in sorted(medians.items()) if name in m}
            axis.plot(list(line), list(line.values()), color=colors[name], markersize=5, alpha=0.9, **looks[h])
        axis.set(xscale="log", yscale="log", title=f"{mode}, d = {d}", xlim=(sizes[0] / 1.3, sizes[-1] * 1.3))
        axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("number of points n")
    for axis in axes[:, 0]:
        axis.set_ylabel("time relative to Matérn-5/2")
    contenders = [Line2D([], [], color=color, linewidth=2.5, label=name) for name, color in colors.items()]
    figure.legend(handles=contenders, loc="outside upper center", ncols=len(contenders), frameon=False)
    lines = [Line2D([], [], color="0.3", label=f"h ≈ {h:g}", **look) for h, look in looks.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=len(lines), frameon=False, handlelength=3)
    figure.savefig(path, dpi=150)


def describe_machine() -> dict[str, Any]:
    """Versions and hardware."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor() or platform.machine()
    versions = {"python": platform.python_version(), "betabo": betabo.__version__, "torch": torch.__version__}
    return {
        "versions": {**versions, **{name: version(name) for name in ("gpytorch", "botorch")}},
        "cpu": cpu,
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def save(results: dict[str, Any], path: Path) -> None:
    """Write the results so far, all or nothing."""
    write_text(path, json.dumps(results, indent=1) + "\n")


def log(message: str, end: str = "\n") -> None:
    """Progress, on stderr."""
    print(message, end=end, file=sys.stderr, flush=True)


def parse_arguments() -> argparse.Namespace:
    """The command line, with the defaults of the device filled in."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example:\n  python benchmarks/kernel.py --sizes 200 1000 --dims 2 20 --bandwidths 0.5",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default: cpu)")
    parser.add_argument("--sizes", type=int, nargs="+", help="n (default: 200 1000 4000; on cuda 1000 4000 8000)")
    parser.add_argument("--dims", type=int, nargs="+", help="numbers of coordinates (default: 2 20 72; on cuda 20)")
    parser.add_argument("--bandwidths", type=float, nargs="+", default=[0.2, 0.5, 2.0], help="(default: 0.2 0.5 2.0)")
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="(default: float64)")
    parser.add_argument("--repeats", type=int, default=30, help="most calls of a contender (default: 30)")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds a setting and mode, about (default: 10)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: PyTorch's choice)")
    parser.add_argument("--naive-gb", type=float, help="most memory of the naive form (default: half of what is free)")
    parser.add_argument("--default-malloc", action="store_true", help="let the C library give freed memory back")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of results (default: out/bench)")
    parser.add_argument("--quick", action="store_true", help="only n = 200 and 1000, d = 20, h = 0.5")
    parser.add_argument("--measure-peak", choices=CONTENDERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no GPU here")
    cuda = args.device == "cuda"
    args.sizes = args.sizes or ([1000, 4000, 8000] if cuda else [200, 1000, 4000])
    args.dims = args.dims or ([20] if cuda else [2, 20, 72])
    if min(*args.sizes, *args.dims, *args.bandwidths, args.repeats) <= 0:
        parser.error("sizes, dims, bandwidths and repeats must be positive")
    if args.quick:
        args.sizes, args.dims, args.bandwidths = [200, 1000], [20], [0.5]
    return args


def main() -> None:
    """Run the benchmark, write the results and print them."""
    args = parse_arguments()
    dtype = getattr(torch, args.dtype)
    largest = Setting(max(args.sizes), max(args.dims), PEAK_BANDWIDTH)
    if args.measure_peak:
        print(measure_peak(args.measure_peak, largest, args.device, dtype))
        return
    if args.threads:
        torch.set_num_threads(args.threads)
    if not args.default_malloc:
        keep_freed_memory()
    random.seed(0)
    torch.manual_seed(0)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"kernel-{args.device}.json"
    settings = {
        key: getattr(args, key) for key in ("sizes", "dims", "bandwidths", "repeats", "budget", "default_malloc")
    }
    results: dict[str, Any] = {"device": args.device, "dtype": args.dtype, "settings": settings, **describe_machine()}
    results |= {"cells": [], "peak": None, "goals": []}

    grid = [Setting(n, d, h) for d in args.dims for n in args.sizes for h in args.bandwidths]
    for index, setting in enumerate(grid, 1):
        log(f"[{index}/{len(grid)}] {setting}: ", end="")
        began = time.perf_counter()
        cell = time_cell(setting, args, dtype)
        results["cells"].append(cell)
        save(results, path)
        calls = ", ".join(f"{name} {len(times)}" for name, times in cell["seconds"][MODES[1]].items())
        skipped = "".join(f"; {name} skipped: {reason}" for name, reason in cell["skipped"].items())
        log(f"{time.perf_counter() - began:.1f} s, load {cell['load']:.1f}, calls: {calls}{skipped}")
    for mode in MODES:
        print(f"### {mode.capitalize()}, {args.device}, {args.dtype}\n\n{time_table(results['cells'], mode)}\n")

    log(f"peak memory at {largest}")
    results["peak"] = measure_peaks(largest, args, dtype)
    results["goals"] = check_goals(results)
    save(results, path)
    print(f"### Peak memory of forward+backward, {largest}\n\n{peak_table(results['peak'])}\n")
    print("### Goals\n\n" + "\n".join([*results["goals"], *caveats(results["cells"])]))
    try:
        plot(results, path.with_suffix(".png"))
    except ImportError:
        log("no figure: matplotlib is not installed")
    log(f"wrote {path.with_suffix('')}.*")


if __name__ == "__main__":
    main()
