"""A process on the second GPU of a node: every function of the plug-in chooses it, in whatever thread it is called."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_cuda_library
import test_imaging_kernels
import test_kirchhoff_device
import test_points
import test_steps
from device_states import assert_same, fused, to_device
from second_gpu import NO_DEVICE, InNewThreads, use_second_gpu

from kernel_problems import make_problem, random_state, to_cpu
from kirchhoff_blocks import make_block
from segment_work import by_segment, everything, work_for
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, cuda, cuda_library
from subsalt.kernels.cuda.arrays import CudaGhostPlanes
from subsalt.kernels.cuda.kirchhoff import BlockSum
from subsalt.kernels.cuda.segment import tunings
from subsalt.kernels.kirchhoff import Where
from subsalt.kernels.kirchhoff_arguments import Medium

SHAPE = (12, 17, 35)


@pytest.fixture
def second(emulated, monkeypatch, tmp_path) -> InNewThreads:
    """Return the plug-in on the second of two GPUs."""
    return use_second_gpu(emulated, monkeypatch, tmp_path)


def compare_segments() -> None:
    """Compare steps with sources, recorders, snapshots of the host and partners, whole and in parts."""
    problem = make_problem(SHAPE, "vti", "pml", 4)
    start = random_state(problem)
    host, device = to_cpu(problem, start), to_device(problem, to_cpu(problem, start))
    want, got = work_for(problem), work_for(problem)
    with cpu.forced(fused()):
        assert by_segment(cpu, problem, host, 20, want)
    assert by_segment(cuda, problem, device, 20, got)
    assert_same(everything(host, want), everything(device, got))
    whole = Box((0, 0, 0), SHAPE)
    with cpu.forced(fused()):
        cpu.time_step(problem, host)
    cuda.Segment(problem).part(device, device.it, whole, [whole], last=True, until=device.it + 1)
    device.rotate()
    host.rotate()
    assert_same(host.arrays(), device.arrays())


def compare_sums() -> None:
    """Sum traces of a time migration, through the memory of the plug-in."""
    block = make_block(1)
    p, out = block.ready(), block.empty()
    medium = Medium(block.v, block.eta)
    where = Where(
        *out, block.points, test_kirchhoff_device.AXES, medium, block.time, block.options, block.spacing
    )
    with BlockSum(where, p.dt) as adder:
        samples = adder.room(p.samples.shape)
        samples[...] = p.samples
        adder.add(test_kirchhoff_device.replace(p, samples=samples), block.geometry)
        done = adder.fetch()
    test_kirchhoff_device.assert_same((*out, done), block.sum())


def exchange_planes() -> None:
    """Bring planes to the host and back."""
    rng = np.random.default_rng(3)
    sent, received = cuda.DeviceArray((2, 5, 8)), cuda.DeviceArray((2, 5, 8))
    sent[...] = rng.random(sent.shape, dtype=np.float32)
    planes = CudaGhostPlanes([sent], [received], by_mpi=False)
    planes.leave()
    while not planes.left():
        pass
    planes.received[0][...] = planes.sent[0]
    planes.arrive()
    cuda_library.call("subsalt_cuda_synchronize")
    assert np.array_equal(np.asarray(received), np.asarray(sent))
    planes.free()


def ask_and_measure() -> None:
    """Call what reports, measures, and locks memory."""
    free, total = cuda_library.free_memory()
    assert 0 < free < total
    assert cuda_library.allocated()["device"] > 0
    assert cuda.counters()["launches"] > 0
    assert (
        min(cuda_library.copies(4096, 1, way)[0] for way in ("kernel copy", "runtime copy", "up", "down"))
        >= 0
    )
    assert cuda_library.launches(3, 1)[0] >= 0
    assert cuda.lock(np.zeros(1000, np.float32)) is not None
    a, b, out = (cuda.DeviceArray((4,)) for _ in range(3))
    a[...], b[...] = np.float32([1, 4, 9, 16]), np.ones(4, np.float32)
    cuda_library.call("subsalt_cuda_arithmetic", 3, a.pointer, b.pointer, None, out.pointer, 4)
    assert np.asarray(out).tolist() == [1, 2, 3, 4]


def test_every_function_uses_the_gpu_of_the_process(second: InNewThreads, emulated: Any) -> None:
    test_cuda_library.test_arrays_go_to_the_device_and_back(emulated)
    compare_segments()
    compare_sums()
    exchange_planes()
    ask_and_measure()
    problem = make_problem(SHAPE, "isotropic", "pml", 4)
    test_steps.agree(problem)
    assert tunings(problem)
    test_steps.test_the_operators_alone_have_the_bytes_of_the_cpu(emulated, "vti", 2)
    test_points.test_recording_has_the_bytes_of_the_cpu(emulated, "vti", 3)
    test_points.test_shares_of_planes_add_up_to_the_sample(emulated)
    test_imaging_kernels.test_imaging_has_the_bytes_of_the_cpu(emulated, "vti", test_imaging_kernels.BOXES[0])
    test_imaging_kernels.test_not_a_number_and_infinity_are_found(emulated, "vti")
    test_imaging_kernels.test_shells_have_the_bytes_of_the_cpu(
        emulated, 3, False, test_imaging_kernels.WIDTHS[0]
    )
    del problem
    gc.collect()
    assert set(cuda_library.SIGNATURES) - NO_DEVICE - second.called == set()
    # and no memory of the first GPU was taken for anything, not even for a context
    assert second.contexts() == [1]


def test_a_device_that_another_library_has_chosen_does_not_count(second: InNewThreads) -> None:
    plugin = second.plugin
    cuda_library._Settings.in_use = plugin  # called in this thread from here on
    problem = make_problem(SHAPE, "isotropic", "pml", 4)
    for _ in range(2):
        assert plugin.subsalt_emulated_choose(0) == 0
        test_steps.agree(problem, 1)
    room = cuda.reserve_host(10)
    assert plugin.subsalt_emulated_choose(0) == 0
    del room  # a finalizer has nobody to tell: the next call would say what went wrong
    cuda_library.call("subsalt_cuda_synchronize")


def test_a_plugin_without_gpu_in_use_says_so(second: InNewThreads, emulated: Any, tmp_path: Path) -> None:
    unused = emulated._load(Path(shutil.copy(emulated.availability().plugin, tmp_path / "unused.so")))
    out = cuda_library.pointers([None])
    assert unused.subsalt_cuda_allocate(out, 8, 0) != 0
    assert unused.subsalt_cuda_message() == b"allocating memory on the GPU: initialization error"
    assert out[0] is None
    assert unused.subsalt_emulated_contexts() == 0
