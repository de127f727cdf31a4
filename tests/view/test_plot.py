"""`subsalt.plot`: what it draws of every kind of result, where, and what it cannot draw."""

import builtins

import matplotlib
import numpy as np
import pytest

import subsalt
from subsalt.errors import ConfigError, MissingInputError

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

GRID = subsalt.Grid((61, 41), (10.0, 10.0))
SHOTS, RECEIVERS = [(200.0, 10.0), (400.0, 10.0)], [(float(x), 10.0) for x in range(100, 501, 20)]
WAVELET = subsalt.ricker(f0=15, dt=0.001)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def made():
    """Return a model, the modelled survey and its image."""
    vp = np.full(GRID.shape, 2000.0, np.float32)
    vp[:, 20:] = 2600
    model = subsalt.EarthModel(GRID, vp, epsilon=0.1, delta=0.05, theta=np.deg2rad(10.0))
    survey = subsalt.Survey.from_arrays(SHOTS, RECEIVERS, nt=151, dt=0.004)
    modelled = subsalt.forward(subsalt.EarthModel(GRID, vp), survey, WAVELET)
    return model, modelled, subsalt.migrate(subsalt.EarthModel(GRID, 2000.0), modelled.survey, WAVELET)


def drawn(ax):
    """Return the values of the picture on axes, its rows downwards."""
    (picture,) = ax.images
    return np.asarray(picture.get_array()), picture


def test_an_image_lies_at_its_places_in_grey_with_its_survey(made):
    _, modelled, result = made
    ax = subsalt.plot(result, survey=modelled.survey, clip=98.0)
    values, picture = drawn(ax)
    np.testing.assert_array_equal(values, result.image.T)
    assert picture.get_extent() == [-5.0, 605.0, -5.0, 405.0]
    assert ax.get_ylim() == (405.0, -5.0)  # depth grows downwards
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("x (m)", "depth (m)", "image")
    assert ax.get_aspect() == 1.0
    assert {line.get_label() for line in ax.lines} == {"sources", "receivers"}
    deep = np.abs(result.image[:, 10:])
    assert picture.get_clim()[1] == pytest.approx(np.percentile(deep[deep > 0], 98.0), rel=1e-6)


def test_it_draws_on_given_axes_and_takes_a_title(made):
    _, ax = plt.subplots()
    assert subsalt.plot(made[2], ax=ax, title="mine") is ax
    assert ax.get_title() == "mine"
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize(
    ("name", "label"), [("vp", "vp (m/s)"), ("epsilon", "epsilon"), ("theta", "theta (degrees)")]
)
def test_a_model_in_colour_with_its_unit(made, name, label):
    ax = subsalt.plot(made[0], name=name)
    values, _ = drawn(ax)
    factor = 180 / np.pi if name == "theta" else 1.0
    np.testing.assert_allclose(values, factor * getattr(made[0], name).T, rtol=1e-6)
    (bar,) = ax.child_axes
    assert bar.get_ylabel() == label


@pytest.mark.parametrize("draw", ["grey", "wiggle"])
def test_a_shot_of_a_survey_by_its_id(made, draw):
    survey = made[1].survey
    ax = subsalt.plot(survey, shot=2, draw=draw)
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == ("shot 2", "offset (m)", "time (s)")
    assert ax.get_ylim() == (0.6, 0.0)
    if draw == "grey":
        np.testing.assert_array_equal(drawn(ax)[0], survey.shots[1].data.T)
    else:
        assert len(ax.lines) == len(RECEIVERS)
    assert subsalt.plot(made[1]).get_title() == "shot 1"  # what forward returns
    assert subsalt.plot(survey.shots[0], time=survey.time).get_title() == "shot 1"


def test_arrays_are_images_with_a_grid_and_traces_with_a_time_axis(made):
    survey, image = made[1].survey, made[2].image
    np.testing.assert_array_equal(drawn(subsalt.plot(image, grid=GRID))[0], image.T)
    np.testing.assert_array_equal(
        drawn(subsalt.plot(survey.shots[0].data, time=survey.time, draw="grey"))[0], survey.shots[0].data.T
    )
    two = subsalt.plot(made[1].data, time=survey.time, shot=2, draw="grey")
    np.testing.assert_array_equal(drawn(two)[0], survey.shots[1].data.T)
    with pytest.raises(ConfigError, match="neither grid nor time; plot"):
        subsalt.plot(image)
    with pytest.raises(ConfigError, match=r"a grid of \(61, 41\)"):
        subsalt.plot(image[1:], grid=GRID)


def test_born_data_and_images_and_wavelets(made):
    survey = made[1].survey
    model = subsalt.EarthModel(GRID, 2000.0)
    dm = np.zeros(GRID.shape)
    dm[:, 20] = 1e-8
    data = subsalt.born(model, dm, survey, WAVELET)
    assert subsalt.plot(data, shot=2).get_xlabel() == "trace"
    image = subsalt.born_adjoint(model, data.values, survey, WAVELET)
    np.testing.assert_array_equal(drawn(subsalt.plot(image))[0], image.values.T)
    ax = subsalt.plot(WAVELET)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), WAVELET.samples)
    assert ax.get_xlabel() == "time (s)"


def test_planes_of_a_volume():
    grid = subsalt.Grid((20, 16, 12), (10.0, 10.0, 10.0))
    image = np.random.default_rng(1).standard_normal(grid.shape).astype(np.float32)
    for plane, at, want, title in (
        ("inline", (0.0, 30.0, 0.0), image[:, 3].T, "inline section at y = 30 m"),
        ("crossline", (50.0, 0.0, 0.0), image[5].T, "crossline section at x = 50 m"),
        ("depth", (0.0, 0.0, 70.0), image[:, :, 7].T, "depth slice at z = 70 m"),
    ):
        ax = subsalt.plot(image, grid=grid, plane=plane, at=at)
        np.testing.assert_array_equal(drawn(ax)[0], want)
        assert ax.get_title() == title
    with pytest.raises(ConfigError, match="plane = 'slice'; use one of inline, crossline, depth"):
        subsalt.plot(image, grid=grid, plane="slice")


def test_an_image_is_cropped_to_what_its_survey_lights(made):
    result = made[2]
    light, image = np.zeros_like(result.image), np.zeros_like(result.image)
    light[5:20], image[5:20] = 1.0, 1.0
    dark = type(result)(
        image,
        light,
        GRID,
        *(getattr(result, n) for n in ("dt", "image_step", "repaired", "phases", "point_steps")),
    )
    assert drawn(subsalt.plot(dark))[0].shape == (41, 17)
    assert drawn(subsalt.plot(dark, whole=True))[0].shape == (41, 61)


def test_time_images_and_their_gathers():
    rng = np.random.default_rng(2)
    traces = rng.standard_normal((40, 101)).astype(np.float32)
    src = np.stack([np.arange(40) * 12.5, np.zeros(40)], axis=1)
    rcv = src + [[100.0 if i % 2 else 200.0, 0.0] for i in range(40)]
    grid = subsalt.ImageGrid(
        (1, 1, 1), (1, 30, 1), (0.0, 0.0), (0.0, 25.0), (12.5, 0.0), subsalt.TimeAxis(101, 0.004)
    )
    made = subsalt.migrate_time(traces, src, rcv, dt=0.004, vrms=2000.0, grid=grid, gathers="full-offset")
    ax = subsalt.plot(made)
    np.testing.assert_array_equal(drawn(ax)[0], made.image[0].T)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("CDP", "two-way time (s)")
    gather = subsalt.plot(made, plane="gather", at=(12,), draw="grey")
    np.testing.assert_array_equal(drawn(gather)[0], made.gathers[0, 11].T)
    assert gather.get_title() == "gather at CDP 12"
    stack = subsalt.migrate_time(traces, src, rcv, dt=0.004, vrms=2000.0, grid=grid)
    with pytest.raises(ConfigError, match="holds no gathers; migrate_time"):
        subsalt.plot(stack, plane="gather")


def test_files(made, tmp_path):
    from subsalt.io.volumes import volume

    model, modelled, result = made
    volume.write(tmp_path / "vp.rsf", GRID, model.vp)
    np.testing.assert_array_equal(drawn(subsalt.plot(tmp_path / "vp.rsf"))[0], model.vp.T)
    volume.write(tmp_path / "image.npy", GRID, result.image)
    volume.write(tmp_path / "image.rsf", GRID, result.image)
    np.testing.assert_array_equal(drawn(subsalt.plot(str(tmp_path / "image.rsf")))[0], result.image.T)
    subsalt.write_survey(tmp_path / "shots.sgy", modelled.survey)
    ax = subsalt.plot(tmp_path / "shots.sgy", shot=2, draw="grey")
    np.testing.assert_allclose(drawn(ax)[0], modelled.survey.shots[1].data.T, rtol=1e-6)
    with pytest.raises(MissingInputError, match="does not exist"):
        subsalt.plot(tmp_path / "nothing.sgy")


def test_what_cannot_be_drawn(made):
    survey = made[1].survey
    with pytest.raises(ConfigError, match=r"plot\(\) cannot draw a dict; give an image"):
        subsalt.plot({})
    with pytest.raises(ConfigError, match=r"the model has no 'rho'; it has vp, epsilon, delta, theta"):
        subsalt.plot(made[0], name="rho")
    with pytest.raises(ConfigError, match=r"plot\(shot, time=survey.time\)"):
        subsalt.plot(survey.shots[0])
    bare = subsalt.Shot(1, survey.shots[0].src, survey.shots[0].rcv)
    with pytest.raises(ConfigError, match="shot 1 holds no traces"):
        subsalt.plot(bare, time=survey.time)


def test_without_matplotlib_it_says_what_to_install(made, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingInputError, match="Matplotlib, which is not installed; pip install matplotlib"):
        subsalt.plot(made[2])
