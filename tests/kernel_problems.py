"""Random problems and states for the kernel tests, and the map between the memory formats of the devices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from subsalt.earth.grid import Box
from subsalt.kernels import cpu, reference
from subsalt.kernels.problem import Layout, Problem, State
from subsalt.kernels.reference_operators import at
from subsalt.numerics.stencil import radius_of

SPACING = (1.0, 1.1, 0.9)
DT = 0.2

_axis = {"stretched": False}


@pytest.fixture(autouse=True, params=["uniform", "stretched"])
def depth_axis(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do every test of the file that imports this once on a uniform depth axis, and once on a stretched one."""
    monkeypatch.setitem(_axis, "stretched", request.param == "stretched")


def make_problem(
    shape3: tuple[int, int, int],
    medium: str,
    boundary: str,
    order: int,
    *,
    ndim: int = 3,
    free_surface: bool = False,
    widths: tuple[int, int, int, int, int, int] = (5, 4, 3, 5, 4, 6),
    dtype: type = np.float32,
    seed: int = 0,
    stretched: bool | None = None,
) -> Problem:
    """Return a problem with random parameters; the same numbers, rounded to float32, in every dtype.

    Its depth axis is stretched or not, as `depth_axis` of the test says where `stretched` does not.
    """
    rng = np.random.default_rng(seed)
    layout = Layout(shape3, radius_of(order), ndim)
    w = list(widths) if boundary != "none" else [0] * 6
    if ndim == 2:
        w[2] = w[3] = 0
    if free_surface:
        w[4] = 0
    values = {"m": rng.uniform(0.02, 0.1, shape3)}
    if medium != "isotropic":
        values["e"] = 1 + 2 * rng.uniform(0, 0.3, shape3)
        values["s"] = np.sqrt(1 + 2 * rng.uniform(-0.1, 0.0, shape3))
    if medium == "tti":
        values |= random_axis(shape3, ndim, layout.radius, tuple(w) if boundary == "pml" else (0,) * 6, rng)
    if free_surface:
        values["m"][..., 0] = 0
    params = {k: layout.pad(v.astype(np.float32), dtype) for k, v in values.items()}
    sigma = []
    for axis in range(3):
        s, n = np.zeros(shape3[axis]), shape3[axis]
        lo, hi = w[2 * axis], w[2 * axis + 1]
        s[:lo] = 3.0 * ((lo - np.arange(lo)) / max(lo, 1)) ** 2
        s[n - hi :] = 3.0 * ((1 + np.arange(hi)) / max(hi, 1)) ** 2
        sigma.append(s)
    # rounded to float32, so that both precisions solve one problem
    decay = tuple(np.exp(-s * DT).astype(np.float32).astype(np.float64) for s in sigma)
    sigma = [(s * DT).astype(np.float32).astype(np.float64) / DT for s in sigma]
    return Problem(
        layout,
        medium,
        order,
        DT,
        SPACING,
        params,
        boundary,
        tuple(w),
        tuple(sigma) if boundary != "none" else None,
        decay if boundary != "none" else None,
        free_surface,
        dtype,
        depth_scale=random_depth_scale(shape3[2], layout.radius, w, free_surface, seed)
        if (_axis["stretched"] if stretched is None else stretched)
        else None,
    )


def random_depth_scale(nz: int, radius: int, widths: Sequence[int], surface: bool, seed: int) -> np.ndarray:
    """Return a = dzeta/dz, random per node, and constant where it has to be (`subsalt.kernels.depth_rows`)."""
    scale = np.random.default_rng(seed + 100).uniform(0.5, 1.1, nz)
    top = max(widths[4] + 2 * radius if widths[4] else 1, radius + 1 if surface else 1)
    bottom = widths[5] + 2 * radius if widths[5] else 1
    scale[:top] = scale[0]
    scale[max(0, nz - bottom) :] = scale[-1]
    return scale if top + bottom <= nz else np.full(nz, scale[0])


def random_axis(
    shape3: tuple[int, int, int], ndim: int, radius: int, layer: tuple[int, ...], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return a symmetry axis random per node, vertical in the PML and the `radius` cells inside its edge."""
    theta, phi = rng.uniform(-np.pi / 2, np.pi / 2, shape3), rng.uniform(-np.pi, np.pi, shape3)
    for axis, n in enumerate(shape3):
        along = np.moveaxis(theta, axis, 0)
        lo, hi = layer[2 * axis], layer[2 * axis + 1]
        along[: lo + radius if lo else 0] = 0
        along[n - (min(n, hi + radius) if hi else 0) :] = 0
    if ndim == 2:
        return {"nx": np.sin(theta), "nz": np.cos(theta)}
    return {"nx": np.sin(theta) * np.cos(phi), "ny": np.sin(theta) * np.sin(phi), "nz": np.cos(theta)}


def random_state(problem: Problem, seed: int = 1) -> State:
    """Return a reference state full of random numbers (rounded to float32); halo and padding are zero."""
    rng = np.random.default_rng(seed)
    state = reference.new_state(problem)
    lay = problem.layout

    def fill(a: np.ndarray, box: Box, scale: float) -> None:
        part = at(problem, a, box)
        part[...] = (scale * rng.uniform(-1, 1, part.shape)).astype(np.float32)

    whole = Box((0, 0, 0), lay.shape3)
    for a in [*state.prev, *state.curr]:
        fill(a, whole, 1.0)
        if problem.free_surface:
            reference._reflect(problem, a, whole)
    if problem.boundary == "pml":
        for axis in problem.axes:
            for layer in reference.layer_boxes(problem, axis):
                for kind in problem.memory_kinds:
                    fill(state.memory[f"{kind}_{axis}"], layer, 0.5)
    return state


def windows_z(problem: Problem) -> tuple[int, int]:
    """Return the lengths of the two windows of the compiled memory along z."""
    lo, hi, m = problem.widths[4], problem.widths[5], problem.radius
    return (-(-(lo + m) // 16) * 16 if lo else 0), (-(-(hi + m) // 16) * 16 if hi else 0)


def compact(problem: Problem, name: str, full: np.ndarray, out: np.ndarray) -> None:
    """Copy a padded memory field of the reference into the compiled format."""
    view, axis = problem.layout.view(full), int(name[-1])
    lo, hi = problem.widths[2 * axis], problem.widths[2 * axis + 1]
    n = problem.layout.shape3[axis]
    if axis == 2:
        front, back = windows_z(problem)
        out[..., :lo] = view[..., :lo]
        if hi:
            out[..., front + back - hi :] = view[..., n - hi :]
        return
    nz = problem.layout.shape3[2]
    cells = [*range(lo), *range(n - hi, n)]
    target = out[..., :nz]
    target[...] = np.take(view, cells, axis=axis)


def to_cpu(problem: Problem, state: State) -> State:
    """Return the state as the compiled kernels hold it."""
    out = cpu.new_state(problem)
    for a, b in zip([*out.prev, *out.curr], [*state.prev, *state.curr], strict=True):
        a[...] = b
    for name, full in state.memory.items():
        compact(problem, name, full, out.memory[name])
    out.it = state.it
    return out


_drawn: list[tuple[Problem, State, State]] = []


def drawn_state(problem: Problem) -> State:
    """Return `random_state`, which stays as it is: drawn once where one problem is asked for again and again."""
    if not _drawn or _drawn[0][0] is not problem:
        state = random_state(problem)
        _drawn[:] = [(problem, state, to_cpu(problem, state))]
    return _drawn[0][1]


def random_start(problem: Problem) -> State:
    """Return a copy of `drawn_state` as the compiled kernels hold it."""
    drawn_state(problem)
    _, _, held = _drawn[0]
    out = cpu.new_state(problem)
    for a, b in zip(out.arrays(), held.arrays(), strict=True):
        a[...] = b
    return out


def step(kernels: object, problem: Problem, state: State, boxes: list[Box] | None = None) -> None:
    """Advance by one step, box after box."""
    boxes = boxes or [Box((0, 0, 0), problem.layout.shape3)]
    for box in boxes:
        kernels.memory_step(problem, state, box)
    for box in boxes:
        kernels.field_step(problem, state, box)
    state.rotate()
