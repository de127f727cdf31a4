"""Snapshots, correlation, energy, shells and the look for numbers that are not finite: the bytes of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from device_states import SHAPES, assert_same, both, fused, problem_of

from subsalt.earth.grid import Box
from subsalt.kernels import cpu, cuda
from subsalt.kernels.shell import Shell

#: vectors of four fit; the box begins off 16 bytes; its rows are no whole vectors; one point; nothing
BOXES = [
    ((0, 0, 0), (12, 37, 80)),
    ((1, 3, 4), (11, 36, 72)),
    ((0, 0, 0), SHAPES[3]),
    ((2, 1, 5), (9, 30, 65)),
    ((3, 4, 7), (4, 5, 8)),
    ((3, 4, 7), (3, 9, 20)),
]


def on_device(a):
    out = cuda.DeviceArray(a.shape, zeroed=False)
    out[...] = a
    return out


@pytest.mark.parametrize("corners", BOXES)
@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_imaging_has_the_bytes_of_the_cpu(gpu_device, medium, corners):
    problem = problem_of(medium)
    host, device = both(problem)
    box = Box(*corners)
    rng = np.random.default_rng(9)
    u, start = (rng.uniform(-1, 1, box.shape).astype(np.float32) for _ in range(2))
    image, snap = on_device(start), cuda.DeviceArray(box.shape, zeroed=False)
    want, want_snap = start.copy(), np.zeros(box.shape, np.float32)
    with cpu.forced(fused()):
        cpu.snapshot(problem, host.curr, want_snap, box)
        cpu.correlate(problem, want, u, host.curr, box, 0.7)
    cuda.snapshot(problem, device.curr, snap, box)
    cuda.correlate(problem, image, on_device(u), device.curr, box, 0.7)
    assert_same([want_snap, want], [snap, image])
    cuda.correlate(problem, image, u, device.curr, box, -1.3)  # a partner that is on the host
    with cpu.forced(fused()):
        cpu.correlate(problem, want, u, host.curr, box, -1.3)
        cpu.square(problem, want, u, 0.3)
        cpu.product(want, u, want_snap, 0.9)
    cuda.square(problem, image, on_device(u), 0.3)
    cuda.product(image, on_device(u), snap, 0.9)
    assert_same([want], [image])
    onto_host = np.empty(box.shape, np.float32)
    cuda.snapshot(problem, device.curr, onto_host, box)
    assert_same([want_snap, want_snap], [onto_host, cuda.imaged(problem, device.curr, box)])
    assert_same(host.curr, device.curr)


@pytest.mark.parametrize("n", [1, 3, 4, 7, 4096, 5003])
@pytest.mark.parametrize("offset", [0, 1])
def test_flat_sums_of_any_length_and_alignment(gpu_device, n, offset):
    rng = np.random.default_rng(n)
    image, u, w = (rng.uniform(-1, 1, n + offset).astype(np.float32) for _ in range(3))
    there = [on_device(a)[offset:] for a in (image, u, w)]
    with cpu.forced(fused()):
        cpu.square(None, image[offset:], u[offset:], 0.3)
        cpu.product(image[offset:], u[offset:], w[offset:], 0.7)
    cuda.square(None, there[0], there[1], 0.3)
    cuda.product(*there, 0.7)
    assert_same([image[offset:]], [there[0]])


def test_snapshots_in_a_row_of_arrays_lie_on_any_four_bytes(gpu_device):
    problem = problem_of("vti")
    host, device = both(problem)
    box = Box((0, 0, 0), (5, 7, 12))
    room = cuda.DeviceArray((5 * 7 * 12 + 1,), zeroed=False)
    want = np.empty(box.shape, np.float32)
    with cpu.forced(fused()):
        cpu.snapshot(problem, host.curr, want, box)
    for first in (0, 1):
        view = room[first : first + want.size].reshape(box.shape)
        cuda.snapshot(problem, device.curr, view, box)
        assert_same([want], [view])


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_not_a_number_and_infinity_are_found(gpu_device, medium):
    problem = problem_of(medium)
    host, device = both(problem)
    assert cuda.is_finite(problem, device.curr)
    view = problem.layout.view(host.curr[-1])
    for bad in (np.nan, np.inf, -np.inf):
        for place in ((0, 0, 0), (11, 36, 82), (7, 8, 9)):
            keep = view[place].copy()
            view[place] = bad
            cuda.copy(device.curr[-1], host.curr[-1])
            assert not cuda.is_finite(problem, device.curr)
            view[place] = keep
    cuda.copy(device.curr[-1], host.curr[-1])
    assert cuda.is_finite(problem, device.curr)
    # what lies behind the last point of a row is no point of the grid
    host.curr[-1][5, 6, 16 + 83] = np.nan
    cuda.copy(device.curr[-1], host.curr[-1])
    assert cuda.is_finite(problem, device.curr)


WIDTHS = [
    (4, 4, 4, 4, 4, 4),
    (0, 3, 1, 0, 0, 5),
    (2, 0, 0, 0, 8, 8),
    (0, 0, 0, 0, 0, 3),
    (0, 0, 2, 3, 0, 0),
    (0, 0, 0, 0, 0, 0),
    (99, 1, 0, 0, 0, 0),
]


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("ndim", [2, 3])
def test_shells_have_the_bytes_of_the_cpu(gpu_device, ndim, surface, widths):
    problem = problem_of("vti", ndim=ndim, free_surface=surface)
    nx, ny, nz = problem.layout.shape3
    rng = np.random.default_rng(4)
    for lo, hi in (
        ((0, 0, 0), (nx, ny, nz)),
        ((1, 0, 0 if surface else 2), (nx - 1, ny, nz - 3)),
        ((5, 0, 0), (5, 1, 9)),
    ):
        shell = Shell.of(Box(lo, hi), widths)
        host, device = both(problem)
        new = rng.standard_normal((2, shell.cells)).astype(np.float32)
        shells, there = np.full((2, shell.cells), np.nan, np.float32), cuda.DeviceArray((2, shell.cells))
        onto_host = shells.copy()
        with cpu.forced(fused()):
            cpu.keep_shell(problem, host.curr, shell, shells)
            cpu.put_back_shell(problem, host.curr, shell, new)
        cuda.keep_shell(problem, device.curr, shell, there)
        cuda.keep_shell(problem, device.curr, shell, onto_host)
        cuda.put_back_shell(problem, device.curr, shell, on_device(new))
        assert_same([shells, shells, *host.curr], [there, onto_host, *device.curr])


def test_shapes_must_fit(gpu_device):
    problem = problem_of("isotropic")
    _, device = both(problem)
    box = Box((0, 0, 0), (5, 7, 12))
    small, right = cuda.DeviceArray((5, 7, 11)), cuda.DeviceArray(box.shape)
    with pytest.raises(ValueError, match=r"out has shape \(5, 7, 11\), the box \(5, 7, 12\)"):
        cuda.snapshot(problem, device.curr, small, box)
    with pytest.raises(ValueError, match="image has shape"):
        cuda.correlate(problem, small, right, device.curr, box, 1.0)
    with pytest.raises(ValueError, match="u has shape"):
        cuda.correlate(problem, right, small, device.curr, box, 1.0)
    with pytest.raises(ValueError, match="u has 385 numbers, the illumination 420"):
        cuda.square(problem, right, small, 1.0)
    with pytest.raises(ValueError, match="w has 385 numbers"):
        cuda.product(right, right, small, 1.0)
    with pytest.raises(ValueError, match=r"the box .* leaves the grid"):
        cuda.snapshot(problem, device.curr, right, Box((0, 0, 0), (5, 7, 99)))
    shell = Shell.of(box, (1, 1, 1, 1, 1, 1))
    with pytest.raises(ValueError, match="record has shape"):
        cuda.keep_shell(problem, device.curr, shell, cuda.DeviceArray((1, 3)))
