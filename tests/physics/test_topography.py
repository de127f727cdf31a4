"""A free surface inside the grid: against the image source, as a free surface on a grid line, and in the long run."""

from __future__ import annotations

import numpy as np
import pytest
from physics_tools import misfit, source_wavelet

from subsalt import EarthModel, Grid, PropagationOptions, _native, analytic, kernels
from subsalt.earth.topography import Topography
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.propagation.propagator import Propagator
from subsalt.propagation.topography import carriers, weights_bytes

V, H = 2000.0, 10.0
#: shortest wavelength of 10 points, and the Ricker wavelet that ends there
F0 = V / (10 * H) / 2.5


@pytest.fixture(autouse=True)
def _one_thread():
    """Grids are small: threads would wait for each other longer than they compute."""
    with cpu.forced(threads=1):
        yield


def tilted(slope, z0, across=0.0):
    """Return a plane surface."""
    return Topography(lambda at: z0 + slope * at[:, 0] + across * at[:, 1])


def rolling(at):
    """Return hills of 40 m over 300 m, with slopes up to 0.42."""
    return 150.0 + 20.0 * np.sin(at[:, 0] / 47.0)


def model(shape):
    """Return a constant medium."""
    return EarthModel(Grid(shape, (H,) * len(shape)), np.full(shape, V, np.float32))


def record(prop, source, receivers, wavelet, **how):
    """Return the traces of one source."""
    nt = len(wavelet)
    recorder = prop.recorder(receivers, nt)
    sources = [prop.source(source[None], wavelet[None])]
    prop.advance(prop.new_state(), nt - 1, sources=sources, recorders=[recorder], **how)
    return prop.recorded(recorder)[1]


def against_the_image(shape, surface, source, receivers, dt, nt, layer):
    """Return the misfit of every receiver with source and negative image source."""
    options = PropagationOptions(topography=surface, device="cpu", layer=layer)
    prop = Propagator(model(shape), options, dt, points=np.vstack([source[None], receivers]))
    wavelet = source_wavelet(F0, dt, nt)
    got = record(prop, source, receivers, wavelet)
    image = 2 * surface.foot(source[None], 0.5 * H)[0] - source
    axes = [0, 1, 2] if len(shape) == 3 else [0, 2]
    direct, ghost = (
        analytic.isotropic_waveform((receivers - at)[:, axes], V, wavelet, dt, nt) for at in (source, image)
    )
    return [misfit(a, b) for a, b in zip(got, direct - ghost, strict=True)]


def test_a_tilted_surface_is_source_and_negative_image():
    """2 % at 10 points per shortest wavelength: receivers 1.5 to 15 cells below the surface, one source near it."""
    slope = 0.577
    surface = tilted(slope, 203.0)
    source = np.array([300.0, 0.0, 203.0 + slope * 300 + 35.0])
    x = np.array([650.0, 700.0, 600.0])
    receivers = np.column_stack([x, 0 * x, 203.0 + slope * x + [15.0, 60.0, 150.0]])
    misfit = against_the_image((100, 100), surface, source, receivers, 0.0005, 900, 20)
    assert max(misfit) < 0.02


@pytest.mark.slow
def test_a_surface_tilted_in_two_directions():
    surface = tilted(0.3, 203.0, -0.2)
    source = np.array([100.0, 100.0, 203.0 + 30.0 - 20.0 + 45.0])
    receivers = np.array(
        [[200.0, 200.0, 203.0 + 60.0 - 40.0 + 30.0], [250.0, 100.0, 203.0 + 75.0 - 20.0 + 90.0]]
    )
    misfit = against_the_image((36, 30, 48), surface, source, receivers, 0.001, 330, 10)
    assert max(misfit) < 0.02


def test_a_surface_on_a_grid_line_has_the_bytes_of_a_free_surface():
    """Ten cells of air above it, or a model that begins there; supports of source and receivers lie below it.

    Where they come up to it, weights are folded in the one case, and images added in the other: to rounding.
    """
    air, dt, nt = 10, 0.001, 200
    surface = Topography(lambda at: np.full(len(at), air * H))
    source, receivers = np.array([200.0, 0.0, 55.0]), np.array([[300.0, 0.0, 42.0], [350.0, 0.0, 180.0]])
    wavelet, traces = source_wavelet(F0, dt, nt), []
    down = np.array([0.0, 0.0, air * H])
    for nz, above, options in (
        (50, 0 * down, PropagationOptions(free_surface=True, device="cpu")),
        (50 + air, down, PropagationOptions(topography=surface, device="cpu")),
    ):
        prop = Propagator(model((60, nz)), options, dt, points=np.vstack([source, *receivers]) + above)
        traces.append(record(prop, source + above, receivers + above, wavelet))
    assert np.abs(traces[0]).max() > 0
    np.testing.assert_array_equal(traces[0], traces[1])


@pytest.mark.parametrize("slope", [0.577, 1.2])
def test_a_closed_box_keeps_its_energy(slope):
    """Noise of all wavelengths, 6000 steps: the sum of u[n]^2 - u[n+1] u[n-1] is kept if the operator is symmetric.

    A step rounds to 6e-8 of its largest term, which adds like a root; of u^2 the difference leaves the part (w dt)^2,
    0.01 or more for all but the longest waves of the box.
    """
    shape = (50, 70)
    surface = tilted(slope, 103.0)
    options = PropagationOptions(topography=surface, boundary="none", device="cpu")
    medium = model(shape)
    prop = Propagator(medium, options, (1 - options.dt_reserve) * medium.stable_dt(options.weights))
    state = prop.new_state()
    below = carriers(surface, prop.comp_grid)
    noise = np.random.default_rng(0).standard_normal(below.shape).astype(np.float32) * below
    for level in (state.prev, state.curr):
        prop.layout.view(level[0])[...] = noise
        flat, mirror = level[0].reshape(-1), prop.problem.mirror
        flat[mirror.above] = mirror.odd @ flat
    energy = []
    for _ in range(6):
        prop.advance(state, 999)
        before = np.array(prop.layout.view(state.prev[0]), np.float64)
        prop.advance(state, 1)
        now, after = (prop.layout.view(level[0]).astype(np.float64) for level in (state.prev, state.curr))
        energy.append(float((now**2 - after * before)[below].sum()))
    assert energy[0] > 0
    assert np.ptp(energy) < 6e-8 * np.sqrt(6000) / 0.01 * energy[0]


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.1])
def test_the_laplacian_of_the_distance_to_a_plane_is_zero(slope):
    """What makes the operator symmetric leaves fields alone that are linear near the surface; in double precision."""
    surface = tilted(slope, 121.7)
    options = PropagationOptions(topography=surface, boundary="none", device="reference", dtype="float64")
    prop = Propagator(model((24, 60)), options, 0.001)
    grid, mirror = prop.comp_grid, prop.problem.mirror
    x, z = (H * np.arange(n) for n in (24, 60))
    distance = (z[None, :] - 121.7 - slope * x[:, None]) / np.hypot(1, slope) / H
    below = carriers(surface, grid)
    state = prop.new_state()
    prop.layout.view(state.curr[0])[:, 0] = distance * below[:, 0]
    flat = state.curr[0].reshape(-1)
    flat[mirror.above] = mirror.odd @ flat
    assert len(mirror.near)
    prop.advance(state, 1)
    change = prop.layout.view(state.curr[0])[:, 0] - 2 * distance
    # away from the sides of the box, and from where its lower side is mirrored
    inside = below[:, 0] & (distance < 8)
    inside[:8], inside[-8:] = False, False
    assert inside.sum() > 40
    # terms that substitution leaves out are below 1e-7 each
    assert np.abs(change[inside]).max() < 1e-6


def test_nodes_within_a_quarter_of_a_cell_are_ghosts():
    grid = Grid((20, 40), (H, H))
    for above, first in ((0.0, 16), (1e-6, 16), (0.01, 16), (0.24, 16), (0.26, 15), (0.9, 15)):
        count = carriers(tilted(0.0, 150.0 - above * H), grid)
        assert count[:, :, first].all()
        assert not count[:, :, first - 1].any()
    # along the normal of the surface: 0.3 cells along z are 0.21 across a slope of 1
    assert not carriers(tilted(1.0, 97.0), grid)[5, 0, 15]
    assert carriers(tilted(1.0, 96.0), grid)[5, 0, 15]


def test_the_same_bits_by_threads_batches_and_steps_in_python(monkeypatch):
    source, receivers = np.array([200.0, 0.0, 210.0]), np.array([[300.0, 0.0, 190.0], [350.0, 0.0, 250.0]])
    wavelet, options = source_wavelet(F0, 0.001, 100), PropagationOptions(topography=Topography(rolling))
    traces = []
    for threads, seed, how in ((1, "", {}), (2, "7", {}), (1, "", {"loop": "python"})):
        if seed:
            monkeypatch.setenv("SUBSALT_BATCH", seed)
        with cpu.forced(threads=threads):
            prop = Propagator(model((50, 40)), options, 0.001, points=np.vstack([source, *receivers]))
            traces.append(record(prop, source, receivers, wavelet, **how).tobytes())
    assert np.frombuffer(traces[0], np.float32).any()
    assert len(set(traces)) == 1


def test_compiled_and_in_numpy_alike():
    """To rounding: 100 steps of some hundred operations each, in float32, grow it by a factor of tens at most."""
    source, receivers = np.array([200.0, 0.0, 210.0]), np.array([[400.0, 0.0, 190.0], [450.0, 0.0, 300.0]])
    wavelet, traces = source_wavelet(F0, 0.001, 100), []
    for device in ("cpu", "reference"):
        options = PropagationOptions(topography=Topography(rolling), device=device)
        prop = Propagator(model((60, 50)), options, 0.001, points=np.vstack([source, *receivers]))
        traces.append(record(prop, source, receivers, wavelet))
    assert misfit(*traces) < 100 * 100 * np.finfo(np.float32).eps / 10


def test_source_and_receiver_exchanged():
    """The interpolation at mirror points is not symmetric: traces agree to its error, 2 % at 10 points at most."""
    a, b = np.array([150.0, 0.0, 185.0]), np.array([400.0, 0.0, 200.0])
    wavelet = source_wavelet(F0, 0.001, 400)
    options = PropagationOptions(topography=Topography(rolling), device="cpu")
    prop = Propagator(model((60, 50)), options, 0.001, points=np.vstack([a, b]))
    one, other = record(prop, a, b[None], wavelet), record(prop, b, a[None], wavelet)
    assert misfit(one, other) < 0.02


@pytest.mark.parametrize("shape", [(60, 50), (20, 18, 40)])
def test_plans_count_the_weights(shape):
    prop = Propagator(model(shape), PropagationOptions(topography=Topography(rolling), device="cpu"), 0.001)
    made, weights = weights_bytes(Topography(rolling), prop.comp_grid, prop.layout.radius)
    assert prop.problem.mirror.nbytes < 1.1 * weights < 2 * prop.problem.mirror.nbytes
    assert weights < made


def test_what_it_does_not_go_with():
    surface = tilted(0.0, 133.0)
    with pytest.raises(ConfigError, match="below the top of the grid"):
        Propagator(model((40, 40)), PropagationOptions(topography=tilted(0.0, 33.0), device="cpu"), 0.001)
    packed = PropagationOptions(topography=surface, device="cpu", model_storage="u16")
    with pytest.raises(ConfigError, match="model_storage") as caught:
        Propagator(model((40, 40)), packed, 0.001)
    assert caught.value.code == "E754"
    vti = EarthModel(Grid((40, 40), (H, H)), *(np.full((40, 40), v, np.float32) for v in (V, 0.1, 0.05)))
    with pytest.raises(ConfigError, match="vti medium"):
        Propagator(vti, PropagationOptions(topography=surface, device="cpu"), 0.001)
    assert kernels.get("reference").mirror is not None


def test_weights_that_do_not_fit_are_refused():
    """Compiled code reads and writes where they say."""

    def rows(column=(), place=()):
        n = len(column)
        start, value = np.arange(n + 1, dtype=np.int64), np.ones(n, np.float32)
        return start, np.array(column, np.int32), value, np.array(place, np.int32)

    size = 8
    fits = {"odd": rows([5], [2]), "reach": rows([6], [0]), "own": rows([7], [7]), "spread": rows([0], [7])}
    _native.MirrorSet(**fits, size=size)
    wrong = {
        "odd": rows([8], [2]),
        "reach": rows([6], [1]),
        "own": rows([7], [8]),
        "spread": rows([1], [7]),
    }
    for name, bad in wrong.items():
        with pytest.raises(ValueError, match="do not fit"):
            _native.MirrorSet(**(fits | {name: bad}), size=size)
    with pytest.raises(ValueError, match="same nodes"):
        _native.MirrorSet(**(fits | {"spread": rows()}), size=size)
