"""Where the time of one evaluation of the Beta kernel goes, forward and backward, by operation.

python benchmarks/profile_kernel.py --size 1000 --dims 20 --bandwidth 0.5
"""

from __future__ import annotations

import argparse

import torch
from torch.profiler import ProfilerActivity, profile

from betabo.kernels import BetaKernel


def main() -> None:
    """Profile and print shares of the operations' own time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, help="number of points (default: 1000)")
    parser.add_argument("--dims", type=int, default=20, help="number of coordinates (default: 20)")
    parser.add_argument("--bandwidth", type=float, default=0.5, help="about what bandwidth (default: 0.5)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to run (default: cpu)")
    parser.add_argument("--calls", type=int, default=10, help="evaluations profiled (default: 10)")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    x = torch.rand(arguments.size, arguments.dims, dtype=torch.float64, device=arguments.device)
    kernel = BetaKernel(ard_num_dims=arguments.dims).to(x)

    def call(number: int) -> None:
        kernel.bandwidth = arguments.bandwidth * (1 + 1e-4 * number)
        kernel(x).to_dense().sum().backward()

    for warm_up in range(3):
        call(warm_up)
    cuda = arguments.device == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    with profile(activities=activities) as record:
        for number in range(arguments.calls):
            call(number + 3)
        if cuda:
            torch.cuda.synchronize()
    attribute = "self_device_time_total" if cuda else "self_cpu_time_total"
    times = {event.key: getattr(event, attribute) for event in record.key_averages()}
    total = sum(times.values())
    print(f"{total / 1e3 / arguments.calls:.2f} ms of {arguments.device} time a call, forward and backward")
    for name, microseconds in sorted(times.items(), key=lambda item: -item[1])[:14]:
        print(f"{microseconds / total:6.1%}  {name[:80]}")


if __name__ == "__main__":
    main()
