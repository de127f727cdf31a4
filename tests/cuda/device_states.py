"""What the tests of device kernels compare: a state on the CPU and the same one on the device.

Also a device of one's own, with its own settings.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_problems import make_problem, random_state, to_cpu
from subsalt.kernels import cpu, cuda
from subsalt.kernels.problem import Problem, State, pack

#: longer than a tile of injection along y and z, and no multiple of one
SHAPES = {3: (12, 37, 83), 2: (23, 1, 71)}


@dataclass(frozen=True)
class Points:
    """Points as kernels take them: base (n, 3), weights (n, 3, width)."""

    base: np.ndarray
    weights: np.ndarray


def problem_of(medium: str, *, ndim: int = 3, storage: str = "f32", order: int = 8, **more: Any) -> Problem:
    """Return a random problem on a small odd grid, without a layer, its model packed where asked for."""
    problem = make_problem(SHAPES[ndim], medium, "none", order, ndim=ndim, **more)
    if storage == "u16":
        pack(problem)
    return problem


def both(problem: Problem, seed: int = 1) -> tuple[State, State]:
    """Return the same random state on the CPU and on the device."""
    host = to_cpu(problem, random_state(problem, seed))
    return host, to_device(problem, host)


def to_device(problem: Problem, host: State) -> State:
    """Return a copy of a state of the CPU on the device."""
    out = cuda.new_state(problem)
    for to, from_ in zip(out.arrays(), host.arrays(), strict=True):
        cuda.copy(to, from_)
    out.it = host.it
    return out


def assert_same(host: list[np.ndarray], device: list[Any]) -> None:
    """Check that arrays have the same bytes."""
    for a, b in zip(host, device, strict=True):
        got = np.asarray(b)
        if a.tobytes() != got.tobytes():
            wrong = np.argwhere(a.view(np.uint32) != got.view(np.uint32))
            raise AssertionError(f"{len(wrong)} of {a.size} numbers differ, the first at {wrong[0]}")


def random_points(shape3: tuple[int, int, int], ndim: int, n: int, width: int = 8, seed: int = 5) -> Points:
    """Return points with random weights: some reach over the far sides, lie on nodes, share nodes, or have none."""
    rng = np.random.default_rng(seed)
    base = np.stack([rng.integers(0, max(1, s - width // 2), n) for s in shape3], axis=1).astype(np.int32)
    base[:3, 2] = 0
    base[n // 2 :: 3] = base[n // 3]
    weights = rng.uniform(-1, 1, (n, 3, width)).astype(np.float32)
    spikes = np.eye(width, dtype=np.float32)[rng.integers(0, width, (n, 3))]
    on_node = rng.random((n, 3)) < 0.3
    weights[on_node] = spikes[on_node]
    weights[n // 5] = 0
    if ndim == 2:
        weights[:, 1] = [1.0] + [0.0] * (width - 1)
    return Points(base, weights)


def fused() -> str:
    """Return an instruction set of the CPU that the device equals, or skip the test."""
    for isa in ("v4", "v3"):
        if isa in cpu.available():
            return isa
    pytest.skip("this processor has no fused multiply-add")


def other_device(emulated: Any, monkeypatch: pytest.MonkeyPatch, plugin: Path, **settings: object) -> None:
    """Let this process compute on an emulated device of its own from now on.

    Parameters
    ----------
    plugin : Path
        Where the plug-in is copied to: one of another name is another device, which reads its settings when it starts.
    settings : object
        Values of SUBSALT_EMULATED_ORDER, SUBSALT_EMULATED_BLOCKS, ... by what is behind SUBSALT_EMULATED_.
    """
    shutil.copy(emulated.availability().plugin, plugin)
    monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", str(plugin))
    for name, value in settings.items():
        monkeypatch.setenv(f"SUBSALT_EMULATED_{name}", str(value))
    emulated.forget()
