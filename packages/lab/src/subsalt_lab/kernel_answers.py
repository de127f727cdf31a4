"""All ways of doing a time step compared, before any of them is timed."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from subsalt.kernels import cpu
from subsalt.machine.records import wrong_answer
from subsalt_lab.kernel_bench import Bench
from subsalt_lab.kernel_models import LAYERS
from subsalt_lab.rounds import Work


def verify(bench: Bench, isa: str) -> None:
    """Compare all ways of doing a step bit for bit, and the roof with NumPy.

    Raises
    ------
    SubsaltError
        When two differ; nothing may be reported then.
    """
    with cpu.forced(isa, threads=bench.threads):
        for boundary in LAYERS:
            want = _after(bench, partial(bench.step_by_boxes, boundary), bench.steps_per_call)
            ways: dict[str, tuple[Work, int]] = {
                "one call per step": (partial(bench.step, boundary), bench.steps_per_call),
                "segment": (partial(bench.segment, boundary), 1),
            }
            if boundary == "none" and bench.has_plain_loop:
                ways["plain loop"] = bench.plain, bench.steps_per_call
            for way, (run, calls) in ways.items():
                if not all(map(np.array_equal, _after(bench, run, calls), want)):
                    raise wrong_answer(f"{bench.name}, {boundary}, {isa}: {way}")
        _verify_roof(bench, isa)


def _after(bench: Bench, run: Work, calls: int) -> list[NDArray[np.uint32]]:
    """Return the bits of the field after some calls from the same start."""
    bench.load()
    for _ in range(calls):
        run()
    return [bench.layout.view(a).view(np.uint32).copy() for a in bench.state.curr]


def roof_laplacians(bench: Bench, u: NDArray[np.float64], some: slice) -> list[NDArray[np.float64]]:
    """Return what stands for the right hand sides over m in the roof, for fields that all hold `u`."""
    problem = bench.problems["none"]
    cx, cy, cz = (float(problem.second(axis)[0]) for axis in range(3))
    if bench.medium == "isotropic":
        return [(cx + cy + cz) * u]
    a, b = (cx + cy) * u, cz * u
    if bench.medium == "tti":
        square = sum(
            bench.layout.view(problem.param(k))[some].astype(np.float64) ** 2 for k in ("nx", "ny", "nz")
        )
        b = b * square
    e, s = (bench.layout.view(problem.param(k))[some].astype(np.float64) for k in ("e", "s"))
    return [e * a + s * b, s * a + b]


def _verify_roof(bench: Bench, isa: str) -> None:
    """Compare the roof with its formula in double precision on every 16th plane."""
    bench.load()
    bench.roof()
    some, lay = slice(None, None, 16), bench.layout
    u = bench.start[some].astype(np.float64)
    m = lay.view(bench.problems["none"].param("m"))[some].astype(np.float64)
    for field, laplacian in zip(bench.state.curr, roof_laplacians(bench, u, some), strict=True):
        # both levels hold u: 2 u - u + m L. Sixteen roundings or fewer, each of a number below the sum of magnitudes
        bound = 16 * np.finfo(np.float32).eps * (3 * np.abs(u) + m * np.abs(laplacian))
        if not bool((np.abs(lay.view(field)[some] - (m * laplacian + u)) <= bound).all()):
            raise wrong_answer(f"{bench.name}, {isa}: the step without its stencil")
