"""Dense sources and models on a group of ranks: same bits, and exactly the bytes of the formula."""

import sys
import textwrap

import numpy as np
import pytest
from launch import MPI, run

from subsalt.acquisition.survey import TimeAxis
from subsalt.io.prestack.time_slices import write_slices

pytestmark = MPI

PROGRAM = """
    import sys
    import numpy as np
    from subsalt.parallel.comm import world
    from subsalt.propagation.dense import dense_source, touching
    from subsalt.earth.grid import Box, Grid
    from subsalt.io import broadcast
    from subsalt.io.prestack.time_slices import TimeSlices
    from subsalt.io.input_traffic import COUNTED
    from subsalt.earth.model import EarthModel
    from subsalt.propagation.options import PropagationOptions
    from subsalt.propagation.propagator import Propagator
    from subsalt.io.broadcast import SharedModel

    nt, shape, w = 12, (30, 9, 13), world()
    nx, ny, nz = shape
    rng = np.random.default_rng(5)
    vp = (2000 + 500 * rng.random(shape)).astype(np.float32)
    model = EarthModel(Grid(shape, (10.0,) * 3), vp, epsilon=0 * vp + 0.1, delta=0 * vp + 0.05)
    options = PropagationOptions(source_taper=None, boundary="none")
    slices = TimeSlices(sys.argv[1])

    def field(model, group, reading):
        with Propagator(model, options, 0.0008, group=group) as prop:
            state = prop.new_state()
            with dense_source(prop, slices, 30.0, reading=reading) as source:
                prop.advance(state, nt + 4, sources=[source])
            own = [prop.layout.view(f)[prop.owned.slices].copy() for f in state.curr]
            return own, prop.domain.slab.lo, prop.domain.slab.hi, touching(slices, prop)

    whole, _, _, everything = field(model, None, None)
    assert everything == (0, nx)
    for name in broadcast.NAMES:
        before = COUNTED.now()
        reading = broadcast.of(name, w)
        own, lo, hi, (first, last) = field(model, w, reading)
        assert all(np.array_equal(o, f[lo:hi]) for o, f in zip(own, whole)), name
        # 4 planes beyond every cut
        assert (first, last) == (max(0, lo - 4), min(nx, hi + 4))
        moved = COUNTED.now() - before
        assert moved.wanted == nt * (last - first) * ny * 4
        if name == "per-rank":
            assert (moved.read, moved.received) == (moved.wanted, 0)
            assert w.sum(moved.moved) == nt * 4 * ny * (nx + 8 * (w.size - 1))
        else:
            assert w.sum(moved.read) == nt * 4 * ny * nx and (moved.read == 0 or w.is_root)
            assert w.sum(moved.moved) == w.size * nt * 4 * ny * nx

        # a model that the first rank reads and sends: windows as of the model itself, also beyond its edges
        shared = SharedModel(model, broadcast.Broadcast(w, piece_bytes=5 * 3 * ny * nz * 4))
        assert shared.fastest == model.fastest and shared.medium == "vti"
        for box in (Box((lo - 3, -2, 0), (hi + 3, ny + 1, nz)), Box((nx + 2, 0, 0), (nx + 4, ny, nz))):
            got, want = shared.window(box), model.window(box)
            assert got.grid == want.grid
            assert all(np.array_equal(getattr(got, n), getattr(want, n)) for n in model.volumes)

    # what the reading rank meets is raised on all of them, not waited for
    def gone(rows, out):
        raise OSError("gone")

    try:
        broadcast.Broadcast(w).rows(gone, 3, np.arange(1), np.zeros((1, 2), np.float32))
        raise SystemExit("nobody noticed")
    except OSError as e:
        assert "gone" in str(e)
    slices.close()
    print("fine")
"""


@pytest.mark.parametrize("n", [2, 3])
def test_slices_and_models_on_ranks(tmp_path, n):
    values = np.random.default_rng(2).standard_normal((12, 30, 9)).astype(np.float32)
    write_slices(tmp_path / "s.rsf", values, TimeAxis(12, 0.0008), (30, 9), (10.0, 10.0))
    done = run(n, [sys.executable, "-c", textwrap.dedent(PROGRAM), tmp_path / "s.rsf"])
    assert done.rc == 0, done
    assert done.out == ["fine\n"] * n, done
