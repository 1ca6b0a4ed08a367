"""The example of a kernel of one's own, which the contributor's guide shows."""

from __future__ import annotations

import pytest
import torch
from gpytorch.kernels import Kernel

from betabo.kernels.closed_form import by_points
from betabo.surrogate.likelihood import Likelihood
from betabo.testing import KernelTests
from example_case import EXAMPLES, load_example

example = load_example("new_kernel")


class TestWithForm(KernelTests):
    def make_kernel(self, dims: int) -> Kernel:
        return example.with_priors(example.DeclaredCauchyKernel, dims)


class TestWithoutForm(KernelTests):
    has_form_by_points = has_form_by_parameters = False

    def make_kernel(self, dims: int) -> Kernel:
        return example.with_priors(example.CauchyKernel, dims)


@pytest.mark.parametrize("name", ["CauchyKernel", "DeclaredCauchyKernel"])
def test_a_search_uses_the_form_where_one_is_declared(name: str) -> None:
    kernel, x = example.with_priors(getattr(example, name), 2).double(), torch.rand(8, 2, dtype=torch.float64)
    declared = name == "DeclaredCauchyKernel"
    assert Likelihood(x, x.sum(dim=-1), kernel, "unknown").is_lean is declared
    assert (by_points(kernel, x) is not None) is declared


def test_it_runs_and_both_kernels_find_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    example.main(budget=12)
    plain, declared = (line.partition(": ")[2].rpartition(",")[0] for line in capsys.readouterr().out.splitlines())
    assert plain == declared


def test_the_guide_shows_what_the_example_holds() -> None:
    guide = (EXAMPLES.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, after = guide.partition("## Add a kernel")
    blocks = after.partition("\n## ")[0].split("```python\n")[1:]
    assert blocks
    for block in blocks:
        assert block.partition("```")[0].strip() in (EXAMPLES / "new_kernel.py").read_text(encoding="utf-8")
