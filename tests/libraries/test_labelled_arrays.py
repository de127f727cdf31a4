"""Models, surveys and results as datasets of xarray come back with the same bits; what is missing is named."""

from __future__ import annotations

import dataclasses
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import subsalt as ss
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.api import ForwardResult, MigrationResult
from subsalt.errors import DataError, ModelError
from subsalt.least_squares import LeastSquaresResult
from subsalt.methods.kirchhoff.migrate_arrays import TimeImage

xr = pytest.importorskip("xarray", reason="xarray is not installed (make test-libraries)")
pytestmark = pytest.mark.library

RNG = np.random.default_rng(3)
GRID = ss.Grid((7, 5), (12.5, 0.1), (3.7, -2.3))
GRID3 = ss.Grid((4, 3, 5), (12.5, 25.0, 7.3), (1e5, 5e6, 10.0))
FRAME = ss.Frame(4.5e5, 6.7e6, 0.3, flip=True)


def model_of(grid):
    """Return a tilted model with every parameter."""
    draw = lambda low, high: RNG.uniform(low, high, grid.shape).astype(np.float32)  # noqa: E731
    phi = draw(-1, 1) if grid.ndim == 3 else None
    return ss.EarthModel(grid, draw(1500, 4500), draw(0.1, 0.2), draw(0, 0.1), draw(-1, 1), phi, FRAME)


def survey_of(ndim, *, data=True):
    """Return a survey whose shots have 3, 1 and 2 receivers."""
    shots = []
    for i, n in enumerate((3, 1, 2)):
        rcv = RNG.uniform(0, 50, (n, 3))
        src = RNG.uniform(0, 50, 3)
        if ndim == 2:
            rcv[:, 1] = src[1] = 0.0
        traces = RNG.standard_normal((n, 11)).astype(np.float32) if data else None
        shots.append(Shot(10 * i + 3, src, rcv, traces, np.arange(n) + 5 * i))
    return ss.Survey(shots, TimeAxis(11, 0.003, -0.0123), ndim, FRAME, source_files=["a.sgy", "b.sgy"])


def through_a_file(dataset, path):
    """Write a dataset as netCDF and read it."""
    dataset.to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as again:
        return again.load()


def equal(a, b):
    """Whether two results, or lists or arrays of them, hold the same bits."""
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            equal(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a) if f.compare
        )
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.tobytes() == b.tobytes()
        )
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


@pytest.mark.parametrize("grid", [GRID, GRID3], ids=["2-D", "3-D"])
def test_a_model_comes_back_with_the_same_bits(grid, tmp_path):
    model = model_of(grid)
    dataset = model.to_xarray()
    assert dataset.vp.dims == (("x", "z") if grid.ndim == 2 else ("x", "y", "z"))
    assert (dataset.vp.units, dataset.theta.units, dataset.x.units) == ("m s-1", "radian", "m")
    assert (dataset.z.positive, dataset.z.axis, dataset.z.standard_name) == ("down", "Z", "depth")
    np.testing.assert_array_equal(dataset.z, grid.axis(-1))
    for again in (dataset, dataset.transpose(...), through_a_file(dataset, tmp_path / "model.nc")):
        assert equal(ss.EarthModel.from_xarray(again), model)


def test_a_model_of_other_units_and_order_of_axes_is_converted():
    vp = np.array([[1.5, 2.0, 2.5], [1.5, 2.25, 3.0]])
    array = xr.DataArray(
        vp.T,
        {
            "z": ("z", [0.0, 0.01, 0.02], {"units": "km"}),
            "x": ("x", np.float32([100.1, 120.1]), {"units": "m"}),
        },
        ("z", "x"),
        attrs={"units": "km/s"},
    )
    model = ss.EarthModel.from_xarray(array)
    assert model.grid.shape == (2, 3)
    assert model.grid.spacing == pytest.approx((20.0, 10.0), rel=1e-6)
    np.testing.assert_array_equal(model.vp, 1000.0 * vp)
    angles = array.to_dataset(name="vp").assign(
        epsilon=(("z", "x"), 0 * vp.T + 0.1), theta=(("z", "x"), 0 * vp.T + 30.0, {"units": "degree"})
    )
    assert np.allclose(ss.EarthModel.from_xarray(angles).theta, np.pi / 6)


def test_velocities_that_look_like_another_unit_than_their_label_are_warned_of():
    dataset = model_of(GRID).to_xarray()
    dataset["vp"] = (dataset.vp / 1000).assign_attrs(dataset.vp.attrs)
    with pytest.warns(
        UserWarning, match=r'E412 vp median .*: looks like km/s; its units are "m s-1"'
    ) as said:
        ss.EarthModel.from_xarray(dataset)
    assert said[0].filename == __file__
    # by the cure of the warning, in silence
    ds = dataset
    exec(str(said[0].message).rpartition("; ")[2], {"ds": ds})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ss.EarthModel.from_xarray(ds).vp.min() >= 1500


def test_a_part_of_a_model_lies_where_it_lay():
    model = model_of(GRID3)
    part = ss.EarthModel.from_xarray(model.to_xarray().isel(x=slice(1, 4), z=slice(2, None, 2)))
    assert part.grid.spacing == (12.5, 25.0, 14.6)
    np.testing.assert_array_equal(part.grid.axis(2), GRID3.axis(2)[2::2])
    np.testing.assert_array_equal(part.vp, model.vp[1:4, :, 2::2])
    line = ss.EarthModel.from_xarray(model.to_xarray().drop_vars(["theta", "phi"]).isel(y=0))
    assert line.grid.ndim == 2


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("data", [True, False])
def test_a_survey_comes_back_with_the_same_bits(ndim, data, tmp_path):
    survey = survey_of(ndim, data=data)
    dataset = survey.to_xarray()
    assert ("source_coord_y" in dataset) == (ndim == 3)
    assert dataset.time.units == "s"
    assert list(dataset.shot_point) == [3, 13, 23]
    for again in (dataset, through_a_file(dataset, tmp_path / "survey.nc")):
        assert equal(ss.Survey.from_xarray(again), survey)


def test_traces_in_files_are_read(tmp_path):
    survey = survey_of(3)
    survey.frame = ss.Frame()
    ss.write_survey(tmp_path / "line.sgy", survey)
    lazy = ss.read_survey(tmp_path / "line.sgy")
    again = ss.Survey.from_xarray(lazy.to_xarray())
    for there, here in zip(lazy, again, strict=True):
        np.testing.assert_array_equal(lazy.traces(there), here.data)


def test_a_gather_is_selected_by_the_number_of_its_shot():
    survey = survey_of(3)
    dataset = survey.to_xarray()
    one = ss.Survey.from_xarray(dataset.sel(shot_point=23))
    assert equal(one.shots, survey.shots[2:])
    assert one.time == survey.time
    channel = ss.Survey.from_xarray(dataset.sel(shot_point=23, channel=2))
    assert equal(channel.shots[0].rcv, survey.shots[2].rcv[1:])
    assert equal(channel.shots[0].data, survey.shots[2].data[1:])
    # times from 0.0057 s on: the later samples of the same traces
    late = ss.Survey.from_xarray(dataset.sel(shot_point=[3]).isel(time=slice(6, None)))
    np.testing.assert_allclose(late.time.values(), survey.time.values()[6:], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(late.shots[0].data, survey.shots[0].data[:, 6:])


def test_receivers_that_all_shots_share_are_repeated():
    dataset = xr.Dataset(
        coords={
            "time": ("time", np.arange(4) * 2.0, {"units": "ms"}),
            "source_coord_x": ("shot_point", [0.0, 10.0], {"units": "m"}),
            "source_coord_z": ("shot_point", [0.0, 0.0], {"units": "m"}),
            "group_coord_x": ("channel", [0.0, 100.0], {"units": "ft"}),
            "group_coord_z": ("channel", [5.0, 5.0], {"units": "m"}),
        }
    )
    survey = ss.Survey.from_xarray(dataset)
    assert survey.time == TimeAxis(4, 0.002, 0.0)
    assert [s.id for s in survey] == [1, 2]
    np.testing.assert_allclose(survey.shots[1].rcv, [[0, 0, 5], [30.48, 0, 5]])


def test_positions_for_every_trace_and_elevations_are_taken():
    """As readers of headers give them: a source for each trace, in centimetres; elevations upwards."""
    survey = ss.Survey.from_arrays([[5.0, 1.0], [7.0, 1.0]], [[0.0, 2.0], [10.0, 3.0]], nt=4, dt=0.002)
    dataset = survey.to_xarray()
    depth = dataset.group_coord_z
    dataset["group_coord_z"] = (depth.dims, -100 * depth.values, {"units": "cm", "positive": "up"})
    across = np.repeat(100 * dataset.source_coord_x.values[:, None], 2, axis=1)
    dataset["source_coord_x"] = (("shot_point", "channel"), across, {"units": "cm"})
    assert equal(ss.Survey.from_xarray(dataset), survey)
    dataset["source_coord_x"][0, 1] += 1
    with pytest.raises(DataError, match="source_coord_x differs between the traces"):
        ss.Survey.from_xarray(dataset)


def test_modelled_traces_and_an_image_come_back(tmp_path):
    grid = ss.Grid((40, 30), (10.0, 10.0))
    survey = ss.Survey.from_arrays([[200.0, 20.0]], [[100.0, 20.0], [300.0, 20.0]], nt=60, dt=0.004)
    wavelet = ss.ricker(15.0, 0.001)
    modelled = ss.forward(ss.EarthModel(grid, 2000.0), survey, wavelet)
    image = ss.migrate(ss.EarthModel(grid, 2000.0), modelled.survey, wavelet)
    assert image.illumination is not None
    for result, kind in ((modelled, ForwardResult), (image, MigrationResult)):
        dataset = through_a_file(result.to_xarray(), tmp_path / f"{kind.__name__}.nc")
        assert equal(kind.from_xarray(dataset), result)


def test_a_time_image_comes_back(tmp_path):
    grid = ss.ImageGrid((1, 1, 1), (101, 121, 2), (0.0, 0.0), (0.0, 10.0), (10.0, 0.0), TimeAxis(40, 0.004))
    traces = RNG.standard_normal((6, 40)).astype(np.float32)
    src = np.stack([np.linspace(0, 100, 6), np.zeros(6)], axis=1)
    image = ss.migrate_time(
        traces, src, src + np.array([200.0, 0.0]), dt=0.004, vrms=2000.0, grid=grid, gathers="full-offset"
    )
    dataset = through_a_file(image.to_xarray(), tmp_path / "time.nc")
    assert list(dataset.crossline) == list(range(101, 122, 2))
    np.testing.assert_array_equal(dataset.cdp_x[0], 20.0 * np.arange(11))
    assert equal(TimeImage.from_xarray(dataset), image)
    with pytest.raises(DataError, match="10 locations"):
        TimeImage.from_xarray(dataset.isel(crossline=slice(0, 10)))


def without_units(dataset, name):
    """Return a copy in which one variable states no units."""
    copy = dataset.copy(deep=True)
    del copy[name].attrs["units"]
    return copy


def with_units(dataset, name, unit):
    """Return a copy in which one variable states other units."""
    copy = dataset.copy(deep=True)
    copy[name].attrs["units"] = unit
    return copy


#: what is wrong with a model, what the message says, and the cure that it prints
BAD_MODELS = {
    "vp without units": (lambda d: without_units(d, "vp"), "vp states no units", 'attrs["units"] = "m s-1"'),
    "vp in metres": (lambda d: with_units(d, "vp", "m"), "is in 'm', which is no unit of velocity", '"km'),
    "x without units": (lambda d: without_units(d, "x"), "x states no units", '"ft"'),
    "x in seconds": (lambda d: with_units(d, "x", "s"), "no unit of length", '"km"'),
    "no coordinates": (lambda d: d.drop_vars("z"), "z has no coordinates", "ds.assign_coords"),
    "no vp": (lambda d: d.drop_vars("vp"), "no variable vp; it holds", "ds.rename"),
    "another name": (lambda d: d.rename(z="depth"), "no dimension z", 'ds.rename({"depth": "z"})'),
    "uneven": (lambda d: d.isel(x=[0, 1, 3]), "12.5 to 25 m apart", "ds.interp(x=numpy.linspace("),
    "empty": (lambda d: d.isel(x=slice(0)), "the dimension x has no points", "select some"),
    "upside down": (lambda d: d.isel(z=slice(None, None, -1)), "z fall from", 'ds.sortby("z")'),
    "one more dimension": (lambda d: d.expand_dims(lot=[1]), "(lot, x, z)", "ds.isel(lot=0)"),
    "one column": (
        lambda d: d.isel(x=[0]).assign_coords(x=("x", [1.0], {"units": "m"})),
        "x has one point",
        'attrs["spacing"]',
    ),
}


@pytest.mark.parametrize("name", BAD_MODELS)
def test_a_model_that_lacks_something_is_refused_with_the_cure(name):
    spoil, says, cure = BAD_MODELS[name]
    with pytest.raises(DataError) as refused:
        ss.EarthModel.from_xarray(spoil(model_of(GRID).to_xarray()))
    assert says in refused.value.message
    assert cure in refused.value.fix
    assert refused.value.code == "E119"
    assert "\n" not in str(refused.value)


def test_the_cures_work():
    """Each is pasted where it is printed: an assignment changes the dataset `ds`, an expression is the new one."""
    import numpy

    model = model_of(GRID)
    for name, (spoil, _, cure) in BAD_MODELS.items():
        if cure == "select some":
            continue
        ds = spoil(model.to_xarray())
        with pytest.raises(DataError) as refused:
            ss.EarthModel.from_xarray(ds)
        fix = (
            refused.value.fix.split(", or ")[0].replace("SPACING", "12.5").replace("METRES", "numpy.zeros(3)")
        )
        if name == "no vp":
            ds["epsilon"].attrs["units"] = "m s-1"
            ds["epsilon"] = ds.epsilon + 1000
        scope = {"ds": ds, "numpy": numpy}
        if "] = " in fix:
            exec(fix, scope)
        else:
            scope["ds"] = eval(fix, scope)
        again = ss.EarthModel.from_xarray(scope["ds"])
        assert again.grid.shape[1] == 5, name


BAD_SURVEYS = {
    "time without units": (lambda d: without_units(d, "time"), "time states no units", '"s", or "ms"'),
    "positions without units": (
        lambda d: without_units(d, "group_coord_x"),
        "group_coord_x states no units",
        '"m"',
    ),
    "no receivers": (
        lambda d: d.drop_vars("group_coord_x"),
        "no coordinate group_coord_x",
        "ds.assign_coords(",
    ),
    "samples": (lambda d: d.rename(time="samples"), "no dimension time", 'ds.rename({"samples": "time"})'),
    "a lost y": (lambda d: d.drop_vars("source_coord_y"), "3D and has no source_coord_y", '= "2D"'),
    "another dimension": (
        lambda d: d.rename(channel="trace"),
        "dimensions (shot_point, trace)",
        '"trace": "channel"',
    ),
}


@pytest.mark.parametrize("name", BAD_SURVEYS)
def test_a_survey_that_lacks_something_is_refused_with_the_cure(name):
    spoil, says, cure = BAD_SURVEYS[name]
    with pytest.raises(DataError) as refused:
        ss.Survey.from_xarray(spoil(survey_of(3).to_xarray()))
    assert says in refused.value.message
    assert cure in refused.value.fix
    assert refused.value.code == "E119"


def test_other_things_are_refused():
    with pytest.raises(DataError, match=r"from numpy\.ndarray: not a Dataset"):
        ss.EarthModel.from_xarray(np.zeros((3, 4)))
    spoiled = model_of(GRID).to_xarray()
    spoiled["vp"] = spoiled.vp * np.nan
    spoiled.vp.attrs["units"] = "m/s"
    with pytest.raises(ModelError, match="not finite"):
        ss.EarthModel.from_xarray(spoiled)
    with pytest.raises(DataError, match="surface inside the model"):
        dataclasses.replace(survey_of(2), surface=ss.Topography(lambda p: p[:, 0])).to_xarray()


@pytest.fixture(scope="module")
def inverted():
    """Return model, survey, wavelet and the result of two iterations."""
    model = ss.EarthModel(ss.Grid((30, 24), (10.0, 10.0)), 2000.0, frame=FRAME)
    wavelet = ss.ricker(15.0, 0.001)
    survey = ss.Survey.from_arrays([[150.0, 20.0]], [[x, 20.0] for x in (90.0, 210.0)], nt=60, dt=0.004)
    dm = np.zeros(model.grid.shape)
    dm[:, 12] = 3e-9
    data = ss.born_operator(model, survey, wavelet).forward(dm).astype(np.float32)
    survey = dataclasses.replace(survey, shots=[dataclasses.replace(survey.shots[0], data=data[0])])
    return model, survey, wavelet, ss.lsrtm(model, survey, wavelet, iterations=2)


def test_an_image_of_least_squares_comes_back_and_goes_on(inverted, tmp_path):
    """With its operator, which a dataset cannot hold."""
    model, survey, wavelet, result = inverted
    dataset = result.to_xarray()
    assert (dataset.image.dims, dataset.dm.dims, dataset.misfit.dims) == (
        ("x", "z"),
        ("x", "z"),
        ("iteration",),
    )
    assert (dataset.image.units, dataset.image.dtype, dataset.dm.dtype) == ("s2 m-2", "float32", "float64")
    assert dataset.iteration.values.tolist() == [0, 1, 2]
    operator = ss.born_operator(model, survey, wavelet)
    again = LeastSquaresResult.from_xarray(through_a_file(dataset, tmp_path / "image.nc"), operator)
    for name in ("image", "grid", "history", "reason", "dm"):
        assert equal(getattr(again, name), getattr(result, name)), name
    more = ss.lsrtm(model, survey, wavelet, iterations=1, start=again.dm)
    assert more.history[0].misfit == pytest.approx(result.history[-1].misfit, rel=1e-3)


def test_dm_on_a_grid_of_its_own_has_its_own_dimensions(inverted):
    model, _, _, result = inverted
    waves = dataclasses.replace(model, grid=ss.Grid((15, 12), (20.0, 20.0)), vp=2000.0, frame=ss.Frame())
    operator = SimpleNamespace(setup=SimpleNamespace(model=waves), domain_shape=(15, 12))
    coarse = dataclasses.replace(result, dm=np.ones((15, 12)), operator=operator)
    dataset = coarse.to_xarray()
    assert dataset.dm.dims == ("wave_x", "wave_z")
    assert equal(LeastSquaresResult.from_xarray(dataset, operator).dm, coarse.dm)


BAD_INVERSIONS = {
    "no dm": (lambda d: d.drop_vars("dm"), "no variable dm; it holds", "ds.rename"),
    "no misfit": (lambda d: d.drop_vars("misfit"), "no variable misfit; it holds", "ds.rename"),
    "x without units": (lambda d: without_units(d, "x"), "x states no units", '"ft"'),
    "a part": (
        lambda d: d.isel(x=slice(3, None)),
        "dm has shape (27, 24), the operator takes (30, 24)",
        "born_",
    ),
}


@pytest.mark.parametrize("name", BAD_INVERSIONS)
def test_an_image_of_least_squares_that_lacks_something_is_refused(name, inverted):
    spoil, says, cure = BAD_INVERSIONS[name]
    with pytest.raises(DataError) as refused:
        LeastSquaresResult.from_xarray(spoil(inverted[-1].to_xarray()), inverted[-1].operator)
    assert says in refused.value.message
    assert cure in refused.value.fix
    assert (refused.value.code, "\n" in str(refused.value)) == ("E119", False)


@pytest.mark.parametrize(("grid", "angles"), [(GRID, (-0.1, 0.0, 0.1)), (GRID, ()), (GRID3, ())])
def test_gathers_of_an_image_have_coordinates_and_come_back(grid, angles, tmp_path):
    """Their places are some columns of the image; angles in degrees, half offsets in m."""
    from subsalt.methods.rtm.conditions import LagAxis
    from subsalt.methods.rtm.image_sum import GatherPlanes

    columns = ((0, 2), (0,) if grid.ndim == 2 else (0, 2))
    shape = (2, len(columns[1]), 3, grid.shape[-1])
    axes = [LagAxis(a, (-1, 0, 1), (-12.5, 0.0, 12.5)) for a in range(grid.ndim - 1)]
    planes = tuple(
        GatherPlanes(a, angles, columns, RNG.standard_normal(shape).astype(np.float32)) for a in axes
    )
    image = RNG.standard_normal(grid.shape).astype(np.float32)
    result = MigrationResult(image, None, grid, 0.001, 2, 0, {"wall": 1.0}, 10, planes)
    dataset = result.to_xarray()
    name = "gathers" if grid.ndim == 2 else "gathers_y"
    middle = "angle" if angles else f"half_offset_{'xy'[grid.ndim - 2]}"
    array = dataset[name]
    assert array.dims == (*(f"gather_{k}" for k in "xy"[: grid.ndim - 1]), middle, "z")
    assert array[middle].attrs["units"] == ("degree" if angles else "m")
    assert array["gather_x"].values.tolist() == [grid.origin[0], grid.origin[0] + 2 * grid.spacing[0]]
    assert np.array_equal(array["z"].values, grid.axis(-1))
    again = MigrationResult.from_xarray(through_a_file(dataset, tmp_path / "image.nc"))
    assert equal(again, result)
    with pytest.raises(DataError, match="places were selected"):
        MigrationResult.from_xarray(dataset.isel(gather_x=[0]))


@pytest.mark.parametrize("grid", [GRID, GRID3])
def test_offset_gathers_have_their_offsets_and_come_back(grid, tmp_path):
    """Of an image, and of a run."""
    from subsalt.methods.rtm.image_sum import GatherPlanes
    from subsalt.methods.rtm.offset_classes import OffsetAxis
    from subsalt.methods.rtm.stored_gathers import StoredGathers

    columns = ((0, 2), (0,) if grid.ndim == 2 else (0, 2))
    axis = OffsetAxis(0, (0, 0, 0), (50.0, 150.0, 250.0))
    values = RNG.standard_normal((2, len(columns[1]), 3, grid.shape[-1])).astype(np.float32)
    image = RNG.standard_normal(grid.shape).astype(np.float32)
    planes = (GatherPlanes(axis, (), columns, values),)
    result = MigrationResult(image, None, grid, 0.001, 2, 0, {"wall": 1.0}, 10, planes)
    dataset = result.to_xarray()
    array, places = dataset["gathers"], "xy"[: grid.ndim - 1]
    assert array.dims == (*(f"gather_{k}" for k in places), "offset", "z")
    assert array["offset"].values.tolist() == [50.0, 150.0, 250.0]
    assert array["offset"].attrs["units"] == "m"
    assert array["offset"].attrs["long_name"] == "offset of source and receiver"
    assert equal(MigrationResult.from_xarray(through_a_file(dataset, tmp_path / "image.nc")), result)
    run = StoredGathers(grid, columns, axis.lags, "offset", values).to_xarray()["gathers"]
    assert run.dims == (*places, "offset", "z")
    assert np.array_equal(run.values.reshape(values.shape), values)
