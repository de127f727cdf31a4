"""Demigration: Born data of an image by a job are those of least squares, in pieces as in one go; wrong images."""

from __future__ import annotations

import math
import re
import tracemalloc

import numpy as np
import pytest
from launch import needs_mpi, run

import subsalt as ss
from subsalt.earth.grid import Grid
from subsalt.earth.regrid import weights_between
from subsalt.errors import ModelError
from subsalt.io.volumes import rsf, volume
from subsalt.kernels import cpu
from subsalt.kernels.sizes import allocated
from subsalt.methods.rtm.born import born_memory, scattered_traces
from subsalt.methods.rtm.born_job import BornImage, in_si, of_migration, on_grid_of_waves
from subsalt.methods.rtm.linear_setup import linear_setup
from subsalt.propagation.options import PropagationOptions

GRID = Grid((41, 31), (10.0, 10.0))
JOB = """\
[model]
vp = {{ z = [0, 100, 300], value = [1800, 1800, 2400] }}
{model}
[grid]
spacing = 10
shape = [41, 31]
[source]
f0 = 14
[acquisition]
shots = {{ first = [100, 20], last = [300, 20], n = 2 }}
receivers = {{ first = [40, 20], last = [360, 20], n = 9 }}
record_length = 0.4
dt = 0.004
[propagation]
layer = 8
grid = {grid}
[parallel]
threads = 1
"""
RNG = np.random.default_rng(43)
#: a tenth of 1 / v^2 at most
DM = (0.1 / 2400.0**2 * RNG.uniform(-1.0, 1.0, GRID.shape)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a job and an image of its grid."""
    made = tmp_path_factory.mktemp("born")
    (made / "line.toml").write_text(JOB.format(grid='"model"', model=""))
    volume.write(made / "dm.rsf", GRID, DM)
    return made


def traces_in(shots) -> np.ndarray:
    """Return all traces of a folder."""
    survey = ss.read_survey(sorted(shots.glob("*.sgy")))
    return np.stack([survey.traces(s) for s in survey.shots])


def bytes_in(shots) -> dict[str, bytes]:
    """Return the shot files by name."""
    return {f.name: f.read_bytes() for f in sorted(shots.glob("*.sgy"))}


@pytest.mark.parametrize("model", ["", "epsilon = 0.15\ndelta = 0.05\n"])
def test_traces_are_those_of_least_squares_bit_for_bit(model, folder, tmp_path, subsalt_command):
    text = JOB.format(grid='"model"', model=model)
    (tmp_path / "line.toml").write_text(text)
    out = tmp_path / "out"
    code, _, err = subsalt_command("model", tmp_path / "line.toml", "--born", folder / "dm.rsf", "-o", out)
    assert code == 0, err
    job = ss.Job.from_toml(tmp_path / "line.toml")
    survey, earth = job.acquisition_survey(), job.load_model()
    dt = earth.choose_dt(job.propagation_options.weights, None, job.propagation_options.dt_reserve)
    operator = ss.born_operator(earth, survey, job.wavelet(dt), **vars(job.propagation_options))
    expected = operator.forward(DM).astype(np.float32)
    assert np.abs(expected).max() > 0
    assert np.array_equal(traces_in(out), expected)
    # and the pair that it belongs to is exact: what demigrates is what least squares migrates back
    assert ss.dot_test(operator, tolerance=1e-5)


def test_a_stopped_run_goes_on_and_a_folder_belongs_to_its_image(folder, tmp_path, subsalt_command):
    job, out = folder / "line.toml", tmp_path / "out"
    words = ("model", job, "--born", folder / "dm.rsf", "-o", out, "-q")
    assert subsalt_command(*words)[0] == 0
    whole = bytes_in(out)
    (out / "shot_000002.sgy").unlink()
    written = (out / "shot_000001.sgy").stat().st_mtime_ns
    assert subsalt_command(*words)[0] == 0
    assert bytes_in(out) == whole
    assert (out / "shot_000001.sgy").stat().st_mtime_ns == written
    # another scale, another image and the shots themselves are other traces
    for other in ((*words, "--born-scale", "2"), ("model", job, "-o", out, "-q")):
        code, _, err = subsalt_command(*other)
        assert (code, "E811" in err) == (78, True), err
    # the name and format of the file don't matter
    volume.write(tmp_path / "same.npz", GRID, DM)
    code, _, err = subsalt_command("model", job, "--born", tmp_path / "same.npz", "-o", out, "-q")
    assert code == 0, err


@needs_mpi
def test_two_ranks_compute_a_shot_each_and_write_the_same_bytes(folder, tmp_path):
    words = ["subsalt", "model", folder / "line.toml", "--born", folder / "dm.rsf", "-q", "-o"]
    for ranks in (1, 2):
        done = run(ranks, [*words, tmp_path / str(ranks)])
        assert done.rc == 0, done
    assert bytes_in(tmp_path / "1") == bytes_in(tmp_path / "2")
    assert len(bytes_in(tmp_path / "1")) == 2


def test_data_are_proportional_to_the_scale(folder, tmp_path, subsalt_command):
    words = ("model", folder / "line.toml", "--born", folder / "dm.rsf", "-q")
    assert subsalt_command(*words)[0] == 0
    assert subsalt_command(*words, "--born-scale", "-2", "-o", tmp_path / "twice")[0] == 0
    once, twice = traces_in(folder / "line.born"), traces_in(tmp_path / "twice")
    # 6e-8 of rounding in each of some 200 steps, added up at worst; the folder is JOB.born without --out
    assert np.abs(twice + 2.0 * once).max() <= 200 * 6e-8 * np.abs(twice).max()


def test_a_perturbation_is_carried_to_the_grid_of_waves_as_its_model_is(tmp_path, subsalt_command):
    coarse = Grid((29, 22), (14.5, 14.5))
    carried = on_grid_of_waves(DM.astype(np.float64), GRID, coarse)
    by_axis = [weights_between(GRID, coarse, axis, cells=True) for axis in (0, 1)]
    expected = by_axis[0].applied(by_axis[1].applied(DM.astype(np.float64), 1), 0)
    assert np.array_equal(carried, expected)
    assert on_grid_of_waves(DM, GRID, GRID) is DM
    # a small perturbation scatters what modelling with and without it differs by: the remainder is of second order
    (tmp_path / "line.toml").write_text(JOB.format(grid="12", model=""))
    job = ss.Job.from_toml(tmp_path / "line.toml")
    model, survey = job.load_model(), job.acquisition_survey()
    z = GRID.axis(1)
    # a smooth body, far from what a clip of overshoots would touch
    body = np.exp(-((z[None] - 200.0) ** 2 + (GRID.axis(0)[:, None] - 200.0) ** 2) / 40.0**2)
    dm = 0.02 / 2400.0**2 * body
    volume.write(tmp_path / "dm.rsf", GRID, dm.astype(np.float32))
    code, _, err = subsalt_command("model", tmp_path / "line.toml", "--born", tmp_path / "dm.rsf", "-q")
    assert code == 0, err
    scattered = traces_in(tmp_path / "line.born").astype(np.float64)
    dt = 0.0008

    def modelled(by: float) -> np.ndarray:
        vp = (1.0 / np.square(model.vp.astype(np.float64)) + by * dm) ** -0.5
        moved = ss.EarthModel(GRID, vp.astype(np.float32))
        made = ss.forward(moved, survey, ss.ricker(14.0, 0.001), grid=12, layer=8, dt=dt)
        return made.data.astype(np.float64)

    difference = 0.5 * (modelled(1.0) - modelled(-1.0))
    # the central difference is right to the square of the perturbation, 2 % at most, along 0.4 s; float32 traces that
    # cancel to 1 % of their size add 1e-7 / 1e-2; both steps of time are of fourth order and dispersed alike
    miss = np.linalg.norm(scattered - difference) / np.linalg.norm(difference)
    assert miss < 0.02, miss


def test_wrong_images_are_refused_with_a_cure(folder, tmp_path, subsalt_command):
    job = folder / "line.toml"

    def refused(name, *more, grid=GRID, values=DM):
        volume.write(tmp_path / name, grid, values)
        out = tmp_path / "never"
        code, _, err = subsalt_command("model", job, "--born", tmp_path / name, "-o", out, *more)
        assert code != 0, err
        assert not out.exists()
        return err

    err = refused("grid.rsf", grid=Grid((41, 31), (10.0, 5.0)))
    assert "E837" in err
    assert "every (10.0, 5.0) m" in err
    assert "on the grid of the model" in err
    err = refused("zero.rsf", values=np.zeros_like(DM))
    assert "E837" in err
    assert "zero throughout" in err
    err = refused("nan.rsf", values=np.where(np.arange(31) == 3, np.nan, DM))
    assert "E837" in err
    assert "41 of 1271 values are not finite" in err
    # small numbers of a migration, in a file that says what it is; other files of such numbers are taken as they are
    path = tmp_path / "migrated.rsf"
    axes = rsf.axes_of(GRID.shape, GRID.spacing, GRID.origin)
    rsf.write_rsf(path, DM, axes, comments=["made_by: subsalt 0.9.0, reverse time migration"])
    code, _, err = subsalt_command("model", job, "--born", path, "-o", tmp_path / "never")
    assert (code != 0, "E837" in err, "the image of a reverse time migration" in err) == (True, True, True)
    scale = re.search(r"--born-scale (\S+) makes", err)[1]
    share = np.abs(DM).max() * 1800.0**2
    assert float(scale) == pytest.approx(0.1 / share, rel=0.1)
    assert BornImage(path, 0.5).read(ss.Job.from_toml(job).load_model()).max() == 0.5 * DM.max()
    assert of_migration(path)
    assert not of_migration(folder / "dm.rsf")
    err = refused("zero_scale.rsf", "--born-scale", "0")
    assert "E837" in err
    # an image of migration: its unit is not that of 1 / v^2, and the cure works
    err = refused("image.rsf", values=1e9 * DM)
    assert "E837" in err
    assert "no perturbation" in err
    scale = re.search(r"--born-scale (\S+) makes", err)[1]
    words = ("model", job, "--born", tmp_path / "image.rsf", "--born-scale", scale, "-q")
    code, _, err = subsalt_command(*words, "-o", tmp_path / "cured")
    assert code == 0, err
    code, _, err = subsalt_command("model", job, "--born-scale", "2")
    assert code == 78
    assert "add --born" in err
    code, _, err = subsalt_command("model", job, "--born", tmp_path / "not_there.rsf")
    assert code == 66, err


def test_another_unit_is_refused_or_converted(tmp_path):
    image = tmp_path / "dm.nc"
    for unit, factor in (("", 1.0), ("s2/m2", 1.0), ("s2/km2", 1e-6)):
        assert np.array_equal(in_si(image, DM, unit), factor * DM.astype(np.float64))
    with pytest.raises(ModelError, match="is in m/s: Born data are those of a perturbation") as refused:
        in_si(image, DM, "m/s")
    assert refused.value.code == "E837"


def test_what_has_no_born_operator_is_refused(folder, tmp_path, subsalt_command):
    more = "[propagation.topography]\nradius = 100\nsurface = 50\n"
    (tmp_path / "line.toml").write_text((folder / "line.toml").read_text() + more)
    code, _, err = subsalt_command("model", tmp_path / "line.toml", "--born", folder / "dm.rsf")
    assert code != 0, err
    assert "topography" in err


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_a_shot_takes_the_memory_that_is_planned(medium, monkeypatch):
    """Arrays of compiled code are counted as NumPy's, which Python traces."""

    def allocate(shape, threads, zeroed=True):
        size = 4 * math.prod(shape)
        room = np.zeros(allocated(size) + 64, np.uint8)
        first = -room.ctypes.data % 64
        return room[first : first + size].view(np.float32).reshape(shape)

    monkeypatch.setattr(cpu._native, "allocate", allocate)
    vti = {} if medium == "isotropic" else {"epsilon": 0.2, "delta": 0.1}
    for shape in ((12, 12, 12), (64, 60, 50)):  # the first one loads what is loaded at first use
        grid = Grid(shape, (10.0, 10.0, 10.0))
        model = ss.EarthModel(grid, 2000.0, **vti)
        survey = ss.Survey.from_arrays([[60.0, 50.0, 20.0]], [[20.0, 50.0, 20.0]], nt=6, dt=0.004)
        options = PropagationOptions(layer=6, threads=1)
        setup, shot = linear_setup(model, ss.ricker(20.0, 0.004), survey.time, options), survey.shots[0]
        dm, reports = np.full(grid.shape, 1e-9), []
        tracemalloc.start()
        try:
            scattered_traces(setup, shot, dm, reports.append)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    planned = sum(born_memory(setup, shot).values())
    # 100 kB: objects of Python, profiles of the layer, the window's planes; an array of the window has 768 kB
    assert planned <= peak <= planned + 100e3
    assert reports == sorted(reports)
    assert 0.9 < reports[-1] <= 1.0
