"""A dense source fed from a file, slice by slice, against the same samples in memory."""

import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.errors import DataError, GeometryError
from subsalt.io.prestack.time_slices import TimeSlices, write_slices
from subsalt.propagation.dense import dense_source, touching
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator
from thorough import pairs

NT = 14


def propagator(shape, medium="vti", **options):
    vp = np.linspace(1500, 2500, np.prod(shape), dtype=np.float32).reshape(shape)
    thomsen = (
        {} if medium == "isotropic" else {"epsilon": np.full_like(vp, 0.1), "delta": np.full_like(vp, 0.05)}
    )
    model = EarthModel(Grid(shape, (10.0,) * len(shape)), vp, **thomsen)
    options = PropagationOptions(source_taper=None, layer=5, **options)
    return Propagator(model, options, 0.0008)


def written(folder, shape, spacing, origin):
    values = np.random.default_rng(1).standard_normal((NT, *shape)).astype(np.float32)
    write_slices(folder / "s.rsf", values, TimeAxis(NT, 0.0008), shape, spacing, origin)
    return values, TimeSlices(folder / "s.rsf")


CASES = {
    "on every node": ((20, 12, 16), (20, 12), (10.0, 10.0), (0.0, 0.0), "vti"),
    "between nodes": ((20, 12, 16), (9, 4), (15.0, 20.0), (13.0, 22.5), "isotropic"),
    "a line": ((26, 18), (26,), (10.0,), (0.0,), "vti"),
}


@pytest.mark.parametrize(
    ("case", "device", "backwards"), pairs(CASES, ["cpu", "reference", "cuda"], [False, True])
)
def test_the_field_has_the_bits_of_the_source_in_memory(tmp_path, case, device, backwards, request):
    if device == "cuda":
        request.getfixturevalue("emulated")
    shape, across, spacing, origin, medium = CASES[case]
    prop = propagator(shape, medium, device=device)
    values, slices = written(tmp_path, across, spacing, origin)
    order = range(NT - 1, -1, -1) if backwards else range(NT)
    with slices:
        held, fed = prop.new_state(), prop.new_state()
        samples = values.reshape(NT, -1)[list(order)].T
        prop.advance(held, NT + 3, sources=[prop.source(slices.positions(30.0), samples)])
        with dense_source(prop, slices, 30.0, order=order) as source:
            # in pieces, as imaging does
            prop.advance(fed, 5, sources=[source])
            prop.advance(fed, NT - 2, sources=[source])
    assert fed.it == held.it
    assert all(map(np.array_equal, fed.curr, held.curr))
    assert any(np.abs(prop.layout.view(prop.kernels.to_host(f))).max() > 0 for f in fed.curr)


def test_steps_cannot_go_back(tmp_path):
    prop = propagator((26, 18))
    with written(tmp_path, (26,), (10.0,), (0.0,))[1] as slices, dense_source(prop, slices, 20.0) as source:
        state = prop.new_state()
        prop.advance(state, 3, sources=[source])
        state.it = 0
        with pytest.raises(IndexError, match="order of the steps"):
            prop.advance(state, 1, sources=[source])


def test_what_reading_meets_ends_the_steps(tmp_path):
    values, slices = written(tmp_path, (26,), (10.0,), (0.0,))
    values[6, 3] = np.nan
    (tmp_path / "s.rsf@").write_bytes(values.tobytes())
    prop = propagator((26, 18))
    state = prop.new_state()
    with slices, dense_source(prop, slices, 20.0) as source, pytest.raises(DataError, match="slice 6"):
        prop.advance(state, NT, sources=[source])
    assert state.it == 6  # a step without its sample is none


def test_planes_and_lines_do_not_mix(tmp_path):
    prop = propagator((26, 18))
    slices = written(tmp_path, (9, 4), (10.0, 10.0), (0.0, 0.0))[1]
    with (
        slices,
        pytest.raises(GeometryError, match="2 axes, the grid has 2") as e,
        dense_source(prop, slices, 20.0),
    ):
        pass
    assert e.value.code == "E772"


def test_what_touches_the_whole_grid_is_all(tmp_path):
    prop = propagator((26, 18))
    with written(tmp_path, (26,), (10.0,), (0.0,))[1] as slices:
        assert touching(slices, prop) == (0, 26)
