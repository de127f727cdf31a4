"""Injection and recording at points on the device: the bytes of the CPU."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest
from device_states import Points, assert_same, both, fused, problem_of, random_points

from subsalt.kernels import cpu, cuda, cuda_library
from subsalt.kernels.cuda import plan as device_points

MEDIA = [("isotropic", "f32"), ("isotropic", "u16"), ("vti", "f32"), ("vti", "u16"), ("tti", "f32")]


def on_gpu():
    """Return the bytes that this process has on the device."""
    now = [ctypes.c_int64() for _ in range(4)]
    cuda_library.call("subsalt_cuda_allocated", *(ctypes.byref(n) for n in now))
    return now[0].value


def inject_on_both(problem, points, values):
    host, device = both(problem)
    with cpu.forced(fused()):
        cpu.inject(problem, host.curr, points, values)
    cuda.inject(problem, device.curr, points, values)
    assert_same(host.curr, device.curr)


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize(("medium", "storage"), MEDIA)
def test_injection_has_the_bytes_of_the_cpu(gpu_device, medium, storage, ndim, surface):
    problem = problem_of(medium, ndim=ndim, storage=storage, free_surface=surface)
    points = random_points(problem.layout.shape3, ndim, 90)
    values = np.random.default_rng(2).uniform(-1, 1, 90).astype(np.float32)
    values[::7] = 0
    inject_on_both(problem, points, values)


@pytest.mark.parametrize("width", [1, 3, 5, 10, 16, 21])
@pytest.mark.parametrize("order", [2, 16])
def test_supports_of_any_width(gpu_device, width, order):
    problem = problem_of("vti", free_surface=True, order=order)
    points = random_points(problem.layout.shape3, 3, 50, width)
    values = np.random.default_rng(3).uniform(-1, 1, 50).astype(np.float32)
    inject_on_both(problem, points, values)
    host, device = both(problem)
    with cpu.forced(fused()):
        want = cpu.record(problem, host.curr, points)
    assert_same([want], [cuda.record(problem, device.curr, points)])


def test_points_that_share_nodes_are_added_in_survey_order(gpu_device):
    # more than a block takes at a time, all over the same nodes; sums of very unequal numbers depend on the order
    problem = problem_of("isotropic")
    points = random_points(problem.layout.shape3, 3, 200)
    points.base[:] = [2, 11, 60]
    points.base[::2, 2] = 57
    points.weights[:] = np.random.default_rng(7).uniform(0.1, 1, points.weights.shape)
    values = (10.0 ** np.random.default_rng(8).uniform(-4, 4, 200)).astype(np.float32)
    inject_on_both(problem, points, values)
    host, other = both(problem)
    with cpu.forced(fused()):
        cpu.inject(problem, host.curr, points, values)
    backwards = Points(points.base[::-1].copy(), points.weights[::-1].copy())
    cuda.inject(problem, other.curr, backwards, values[::-1].copy())
    assert host.curr[0].tobytes() != np.asarray(other.curr[0]).tobytes()


def test_one_source_and_none(gpu_device):
    problem = problem_of("isotropic")
    host, device = both(problem)
    for rows in (slice(0, 1), slice(0, 0)):
        some = random_points(problem.layout.shape3, 3, 9)
        points = Points(some.base[rows], some.weights[rows])
        values = np.ones(len(points.base), dtype=np.float32)
        with cpu.forced(fused()):
            cpu.inject(problem, host.curr, points, values)
            want = cpu.record(problem, host.curr, points)
        cuda.inject(problem, device.curr, points, values)
        assert_same([*host.curr, want], [*device.curr, cuda.record(problem, device.curr, points)])


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_recording_has_the_bytes_of_the_cpu(gpu_device, medium, ndim):
    problem = problem_of(medium, ndim=ndim)
    host, device = both(problem)
    points = random_points(problem.layout.shape3, ndim, 91)
    with cpu.forced(fused()):
        want = cpu.record(problem, host.curr, points)
    assert_same([want], [cuda.record(problem, device.curr, points)])


def test_shares_of_planes_add_up_to_the_sample(gpu_device):
    problem = problem_of("vti")
    _, device = both(problem)
    points = random_points(problem.layout.shape3, 3, 91, width=10)
    shares = cuda.record_shares(problem, device.curr, points)
    assert shares.shape == (91, 10)
    total = np.zeros(91, dtype=np.float32)
    inside = points.base[:, :1] + np.arange(10) < problem.layout.shape3[0]
    used = (points.weights[:, 0] != 0) & inside
    for jx in range(10):
        total = np.where(used[:, jx], total + shares[:, jx], total)
    assert_same([cuda.record(problem, device.curr, points)], [total])
    assert (shares[~used] == 0).all()


def test_an_image_of_a_field_that_is_not_finite_stays_where_it_is(gpu_device):
    # rows without weight are not looked at, on neither device
    problem = problem_of("isotropic")
    host, device = both(problem)
    points = random_points(problem.layout.shape3, 3, 60)
    view = problem.layout.view(host.curr[0])
    view[4, 20] = np.nan
    cuda.copy(device.curr[0], host.curr[0])
    with cpu.forced(fused()):
        want = cpu.record(problem, host.curr, points)
    got = cuda.record(problem, device.curr, points)
    assert 0 < np.isnan(want).sum() < 60
    assert np.array_equal(np.isnan(want), np.isnan(got))
    assert_same([want[~np.isnan(want)]], [got[~np.isnan(got)]])


def test_points_on_the_device_go_with_their_points(gpu_device):
    problem = problem_of("isotropic")
    _, device = both(problem)
    points = random_points(problem.layout.shape3, 3, 40)
    gc.collect()
    known, before = len(device_points._known), on_gpu()
    first = cuda.record(problem, device.curr, points)
    assert len(device_points._known) == known + 1
    held = on_gpu() - before
    # 12 + 12 W bytes per point, 4 per tile it touches, 16 per tile
    assert 40 * (12 + 96) < held < 40 * (12 + 96 + 20 * 20)
    assert cuda.record(problem, device.curr, points).tobytes() == first.tobytes()
    assert on_gpu() == before + held
    del points
    gc.collect()
    assert len(device_points._known) == known
    assert on_gpu() == before


def test_values_and_points_must_fit(gpu_device):
    problem = problem_of("isotropic")
    _, device = both(problem)
    points = random_points(problem.layout.shape3, 3, 12)
    with pytest.raises(ValueError, match="11 values for 12 points"):
        cuda.inject(problem, device.curr, points, np.ones(11, np.float32))
    points.base[4, 0] = problem.layout.shape3[0]
    with pytest.raises(ValueError, match="starts outside the grid"):
        cuda.record(problem, device.curr, points)
