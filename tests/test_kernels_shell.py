"""Shells kept and put back by compiled code, against NumPy: the same cells in the same order, for any box."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_problems import make_problem, random_state
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, reference
from subsalt.kernels.shell import Shell

WIDTHS = [(4, 4, 4, 4, 4, 4), (0, 3, 1, 0, 0, 5), (2, 0, 0, 0, 8, 8), (0, 0, 0, 0, 0, 0), (99, 1, 0, 0, 0, 0)]


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize("ndim", [2, 3])
def test_shells_are_those_of_numpy(ndim: int, free_surface: bool, widths: tuple[int, ...]) -> None:
    shape = (23, 19, 41) if ndim == 3 else (23, 1, 41)
    problem = make_problem(shape, "vti", "none", 8, ndim=ndim, free_surface=free_surface)
    rng = np.random.default_rng(4)
    for lo, hi in (
        ((0, 0, 0), shape),
        ((3, 0, 0 if free_surface else 2), (20, shape[1], 38)),
        ((5, 0, 0), (5, 1, 9)),
    ):
        shell = Shell.of(Box(lo, hi), widths)  # type: ignore[arg-type]
        assert shell.cells == int(shell.mask().sum())
        for threads in (1, 3):
            levels = [random_state(problem).curr for _ in range(2)]
            fields = [[cpu.allocate(problem.layout) for _ in range(2)] for _ in range(2)]
            for to, from_ in zip(fields, levels, strict=True):
                for a, b in zip(to, from_, strict=True):
                    a[...] = b
            shells = [np.full((2, shell.cells), np.nan, np.float32) for _ in range(2)]
            new = rng.standard_normal((2, shell.cells)).astype(np.float32)
            with cpu.forced(threads=threads):
                for device, u, out in zip((cpu, reference), fields, shells, strict=True):
                    device.keep_shell(problem, u, shell, out)
                    device.put_back_shell(problem, u, shell, new)
            assert shells[0].tobytes() == shells[1].tobytes()
            for a, b in zip(*fields, strict=True):
                assert problem.layout.view(a).tobytes() == problem.layout.view(b).tobytes()
            if free_surface and shell.cells:
                r = problem.radius
                assert np.array_equal(
                    fields[0][0][5 + r, :, 16 - r : 16], fields[1][0][5 + r, :, 16 - r : 16]
                )
