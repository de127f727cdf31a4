"""The sum of Kirchhoff migration on a GPU has the bytes of the CPU's, whatever is asked for and however it is cut."""

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kirchhoff_blocks import AXES, make_block
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.kernels.cuda_library import OutOfDeviceMemory
from subsalt.kernels.kirchhoff import Where
from subsalt.kernels.kirchhoff_arguments import Medium, TraceGeometry

pytestmark = pytest.mark.skipif(
    cpu.available()[-1] == "v2", reason="the CPU has no multiply-add: its bytes are its own"
)

KINDS = {
    "default": {},
    "nearest band": {"band_choice": "nearest"},
    "triangle": {"antialias": "triangle"},
    "no antialias": {"antialias": "none"},
    "linear, line": {"interpolation": "linear", "amplitude": "2.5d"},
    "linear, triangle": {"interpolation": "linear", "antialias": "triangle", "amplitude": "none"},
    "bare": {"interpolation": "linear", "amplitude": "none", "stretch_mute": None, "antialias": "none"},
    "all limits": {"aperture": 700.0, "dip": 30.0, "stretch_mute": 0.2, "bands": 7},
}


@pytest.fixture
def on_gpu(gpu_device):
    """Return the sum of a block on the GPU: image, hits, fold, contributions."""
    from subsalt.kernels.cuda import kirchhoff as device

    def summed(block, out=None, locations=slice(None), traces=slice(None)):
        return block._call(device.sum_traces, out, locations, traces)

    return summed


def assert_same(got, want):
    """Image bit for bit, hits, fold and contributions alike."""
    assert want[3] > 0
    assert got[3] == want[3]
    for mine, other in zip(got[:3], want[:3], strict=True):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize("eta", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_those_of_the_cpu(on_gpu, kind, eta):
    block = make_block(1, eta=eta, **KINDS[kind])
    assert_same(on_gpu(block), block.sum())


@pytest.mark.parametrize("nt", [1, 16, 17, 127, 129])
def test_sizes_that_fit_no_block(on_gpu, nt):
    block = make_block(5, nt=nt, locations=3, amplitude="none", stretch_mute=None)
    assert_same(on_gpu(block), block.sum())


@pytest.mark.parametrize("eta", [False, True])
def test_velocities_that_fall_and_jump(on_gpu, eta):
    """The samples that a trace reaches are not an interval then."""
    block = make_block(7, eta=eta, dip=40.0)
    jumps = np.where(np.arange(block.v.shape[1]) // 23 % 2, 0.45, 1.0).astype(np.float32)
    block = replace(block, v=block.v * jumps)
    assert_same(on_gpu(block), block.sum())


@pytest.mark.parametrize("change", [{"ns": 120}, {"first": 0.4}])
def test_short_and_delayed_records(on_gpu, change):
    block = make_block(8, stretch_mute=None, **change)
    assert_same(on_gpu(block), block.sum())


def test_a_coarse_image(on_gpu):
    block = make_block(6, amplitude="none")
    block = replace(block, time=TimeAxis(40, 0.04), v=np.ascontiguousarray(block.v[:, ::5][:, :40]))
    assert_same(on_gpu(block), block.sum())


@pytest.mark.parametrize("antialias", ["bands", "triangle", "none"])
def test_velocities_beyond_all_bounds(on_gpu, antialias):
    """Source and receiver at the location, t0 = 0, velocities from 1 nm/s to beyond light, legs of 10 000 km."""
    block = make_block(11, antialias=antialias, stretch_mute=0.3, dip=30.0, locations=6)
    for trace, at in enumerate((0, 1)):
        block.geometry.src[trace] = block.geometry.rcv[trace] = block.points[at]
    block.geometry.src[2] = 1e7
    scale = np.array([1e-12, 1e-6, 1.0, 1e3, 1e9, 1e30], np.float32)[:, None]
    with np.errstate(over="ignore"):
        block = replace(block, v=block.v * scale)
    assert_same(on_gpu(block), block.sum())


def test_cuts_into_calls_change_no_byte(on_gpu):
    block = make_block(3, locations=9, traces=11, aperture=900.0)
    out, done = block.empty(), 0
    for traces in (slice(0, 1), slice(1, 8), slice(8, 8), slice(8, None)):
        for locations in (slice(0, 3), slice(3, 8), slice(8, None)):
            done += on_gpu(block, out, locations, traces)[3]
    assert_same((*out, done), block.sum())


def test_more_pairs_than_are_made_at_a_time(on_gpu):
    """4096 traces make 196 608 bytes of pairs a location: 680 locations at a time of the 700 that there are."""
    block = make_block(
        9, locations=700, traces=4096, nt=17, ns=24, antialias="none", stretch_mute=None, aperture=60.0
    )
    assert_same(on_gpu(block), block.sum())


def test_blocks_of_traces_follow_each_other(gpu_device):
    """Larger and smaller ones, prepared in its memory or elsewhere, with sums fetched between them."""
    from subsalt.kernels.cuda.kirchhoff import BlockSum

    block = make_block(4, locations=6, traces=40, antialias="triangle", aperture=900.0)
    p, g = block.ready(), block.geometry
    image, hits, fold = out = block.empty()
    where = Where(
        image, hits, fold, block.points, AXES, Medium(block.v), block.time, block.options, block.spacing
    )
    with BlockSum(where, p.dt, 1) as adder:
        for i, some in enumerate((slice(0, 5), slice(5, 22), slice(22, 24), slice(24, 24), slice(24, 40))):
            samples = p.samples[some]
            if i % 2:
                samples = adder.room(samples.shape)
                samples[...] = p.samples[some]
            part = TraceGeometry(g.src[some], g.rcv[some], g.weight[some], g.slot[some], g.group[some])
            known = adder.add(replace(p, samples=samples, integrals=p.integrals[some]), part)
            if i == 1:
                done = adder.fetch()
                assert known <= done == -(hits * np.arange(hits.shape[1])).sum()
        done = adder.fetch()
    assert_same((*out, done), block.sum())


def test_a_block_without_locations(on_gpu):
    block = make_block(13)
    assert on_gpu(block, None, slice(0, 0))[3] == 0


def test_too_little_memory_is_said(emulated, on_gpu, monkeypatch):
    block = make_block(14, locations=50)
    monkeypatch.setenv("SUBSALT_EMULATED_MEMORY", "100000")
    with pytest.raises(OutOfDeviceMemory, match="50 locations with 3 image traces of 203 samples") as said:
        on_gpu(block)
    assert said.value.code == "E994"
    assert "[kirchhoff] memory" in said.value.fix
    monkeypatch.delenv("SUBSALT_EMULATED_MEMORY")
    assert_same(on_gpu(block), block.sum())


def test_orders_that_are_not_compiled_are_refused(on_gpu):
    block = make_block(15)
    block.prepared = replace(block.ready(), samples=np.ascontiguousarray(block.ready().samples[:, :, :4]))
    with pytest.raises(ConfigError, match="order 3") as said:
        on_gpu(block)
    assert said.value.code == "E705"


#: sums in whatever order streams, blocks and threads may take turns; the order is that of the process
ANY_ORDER = """
    from dataclasses import replace
    from kirchhoff_blocks import AXES, make_block
    from subsalt.kernels.cuda.kirchhoff import BlockSum
    from subsalt.kernels.kirchhoff_arguments import Medium, TraceGeometry
    from subsalt.kernels.kirchhoff import Where
    for options in {}, {"antialias": "triangle", "interpolation": "linear"}:
        block = make_block(21, locations=6, traces=40, nt=140, eta=True, aperture=900.0, **options)
        p, g, out = block.ready(), block.geometry, block.empty()
        medium = Medium(block.v, block.eta)
        where = Where(*out, block.points, AXES, medium, block.time, block.options, block.spacing)
        with BlockSum(where, p.dt) as adder:
            for some in (slice(i, i + 8) for i in range(0, 40, 8)):
                integrals = None if p.integrals is None else p.integrals[some]
                samples = adder.room(p.samples[some].shape)
                samples[...] = p.samples[some]
                part = TraceGeometry(g.src[some], g.rcv[some], g.weight[some], g.slot[some], g.group[some])
                adder.add(replace(p, samples=samples, integrals=integrals), part)
            done = adder.fetch()
        want = block.sum()
        assert done == want[3] > 0
        assert all(a.tobytes() == b.tobytes() for a, b in zip(out, want[:3], strict=True))
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_bytes_in_any_order_of_streams_and_threads(emulated, seed):
    environment = os.environ | {"SUBSALT_EMULATED_ORDER": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ANY_ORDER)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
