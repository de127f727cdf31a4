"""A model that stays in its files gives the bits of the model in memory: every format, option, window and node."""

import numpy as np
import pytest

from subsalt.earth import planes
from subsalt.earth.grid import Box, Grid
from subsalt.earth.streamed import StreamedModel
from subsalt.errors import FindingsError, ModelError, SubsaltError
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.setup import gate
from subsalt.physics import storage
from subsalt.propagation.options import PropagationOptions
from thorough import each

RNG = np.random.default_rng(4)
GRIDS = {
    2: Grid((41, 19), (20.0, 10.0), (500.0, 0.0)),
    3: Grid((23, 9, 12), (20.0, 25.0, 10.0), (500.0, -40.0, 0.0)),
}


@pytest.fixture(autouse=True)
def small_slabs(monkeypatch):
    """Cut volumes into slabs of a few planes."""
    monkeypatch.setattr(planes, "SLAB_VALUES", 400)


def fields(grid: Grid) -> dict[str, np.ndarray]:
    """Return rough volumes with delta above epsilon at some nodes; angles in degrees."""
    vp = 1500 + 2500 * RNG.random(grid.shape)
    epsilon = 0.3 * RNG.random(grid.shape) - 0.02
    theta = 160 * RNG.random(grid.shape) - 80
    phi = 700 * RNG.random(grid.shape) - 350 if grid.ndim == 3 else 180.0 * RNG.integers(-1, 2, grid.shape)
    delta = epsilon + 0.2 * RNG.random(grid.shape) - 0.15
    named = {"vp": vp, "epsilon": epsilon, "delta": delta, "theta": theta, "phi": phi}
    return {name: a.astype(np.float32) for name, a in named.items()}


def job_of(folder, ndim, suffix=".rsf", names=("vp", "epsilon", "delta"), **tables) -> Job:
    """Write volumes and return a job on them; `tables` are further tables or keys of `[model]`."""
    grid = GRIDS[ndim]
    model = tables.pop("model", {})
    for name, a in fields(grid).items():
        if name in names:
            volume.write(folder / f"{name}{suffix}", grid, a, name=name)
            model.setdefault(name, {"file": f"{name}{suffix}", **spacing_of(suffix, grid)})
    raw = {"model": model, "source": {"f0": 15}, **tables}
    return Job.from_dict(raw, base=folder)


def spacing_of(suffix, grid):
    return {"spacing": list(grid.spacing), "origin": list(grid.origin)} if suffix == ".npy" else {}


def both(job: Job):
    """Return the model in memory and the streamed one."""
    job.stream(False)
    whole = job.open_model()
    job.stream(True)
    streamed = job.open_model()
    assert isinstance(streamed, StreamedModel)
    job.stream(False)
    return whole, streamed


def boxes(grid: Grid) -> list[Box]:
    nx, ny, nz = grid.shape3
    y = (1, 5) if grid.ndim == 3 else (0, 1)
    return [
        grid.box,
        Box((-4, 0 if grid.ndim == 2 else -3, -2), (nx + 3, 1 if grid.ndim == 2 else ny + 2, nz + 5)),
        Box((3, y[0], 0), (9, y[1], nz)),
        Box((nx - 2, y[0], 2), (nx + 6, y[1], 7)),
        Box((-9, 0, 0), (-3, ny, nz)),  # nothing of it inside
        Box((nx - 1, 0, 0), (nx, ny, nz)),
    ]


def assert_same(whole, streamed, order=8):
    """Compare everything that `ModelLike` has."""
    grid = whole.grid
    assert streamed.grid == grid
    assert streamed.frame == whole.frame
    assert streamed.medium == whole.medium
    assert streamed.tilt_is_idle == whole.tilt_is_idle
    assert streamed.volumes == whole.volumes
    for name in whole.volumes:
        assert streamed.limits(name) == whole.limits(name)
    for what in ("vp_min", "slowest", "fastest"):
        assert getattr(streamed, what) == getattr(whole, what), what
    for n in (order, 4):
        assert streamed.stable_dt(n) == whole.stable_dt(n)
        assert streamed.choose_dt(n) == whole.choose_dt(n)
    points = (
        np.array(grid.origin3) + (RNG.random((50, 3)) * 1.4 - 0.2) * np.array(grid.shape3) * grid.spacing3
    )
    for name in whole.volumes:
        assert bits(streamed.at(points, name)) == bits(whole.at(points, name))
    for box in boxes(grid):
        a, b = whole.window(box), streamed.window(box)
        assert a.grid == b.grid
        assert a.volumes == b.volumes
        for name in a.volumes:
            assert bits(getattr(a, name)) == bits(getattr(b, name)), (name, box)
        inside = box.intersect(grid.box)
        if inside.size:
            for name in whole.volumes:
                assert bits(streamed.values(name, inside)) == bits(whole.values(name, inside))


def bits(a: np.ndarray) -> tuple:
    return a.shape, a.dtype.str, a.tobytes()


def assert_same_past_the_gate(job):
    """Compare the models as files give them and as they are propagated."""
    whole, streamed = both(job)
    assert_same(whole, streamed)
    options = job.propagation_options
    (a, n), (b, m) = gate(whole, options), gate(streamed, options)
    assert m == n
    assert_same(a, b)
    return a, b, n


@pytest.mark.parametrize("suffix", [".rsf", ".npy", ".npz", ".sgy", ".vti", ".nc"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_every_format(tmp_path, suffix, ndim):
    _, _, repaired = assert_same_past_the_gate(job_of(tmp_path, ndim, suffix))
    assert repaired > 0


ALL = ("vp", "epsilon", "delta", "theta", "phi")
SMALL = {2: {"shape": [33, 31], "spacing": [27.0, 7.0], "origin": [480.0, -10.0]}}
SMALL[3] = {"shape": [17, 13, 15], "spacing": [31.0, 19.0, 9.0], "origin": [480.0, -50.0, -9.0]}
FINE = {2: {"shape": [90, 20], "spacing": [9.0, 10.0], "origin": [505.0, 0.0]}}
FINE[3] = {"shape": [50, 9, 12], "spacing": [9.0, 25.0, 10.0], "origin": [505.0, -40.0, 0.0]}
CASES = {
    "isotropic": {"names": ("vp",)},
    "asked isotropic": {"propagation": {"medium": "isotropic"}},
    "asked vti": {"names": ALL, "propagation": {"medium": "vti"}},
    "raise epsilon": {"propagation": {"anisotropy": "raise-epsilon", "order": 4}},
    "tti": {"names": ALL},
    "tti without azimuth": {"names": ALL[:4]},
    "tti without epsilon": {"names": ("vp", "delta", "theta")},
    "only delta": {"names": ("vp", "delta")},
    "azimuth without tilt": {"names": ("vp", "epsilon", "phi")},
    "smoothed": {"model": {"smoothing": 33.0}},
    "smoothed below": {"names": ALL, "model": {"smoothing": 25.0, "smoothing_top": 42.0}},
    "smoothed far beyond the model": {"names": ALL, "model": {"smoothing": 900.0}},
    "smoothed axis": {"names": ALL, "model": {"tilt_smoothing": 30.0}},
    "smoothed, but for the axis": {"names": ALL, "model": {"smoothing": 30.0, "tilt_smoothing": 0.0}},
    "smoothed axis without azimuth": {"names": ALL[:4], "model": {"tilt_smoothing": 30.0}},
    "resampled": {"grid": SMALL},
    "resampled to finer": {"names": ALL, "grid": FINE},
    "resampled axis": {"names": ALL, "grid": SMALL},
    "resampled axis without azimuth": {"names": ALL[:4], "grid": SMALL},
    "resampled and smoothed": {"names": ALL, "grid": SMALL, "model": {"smoothing": 40.0}},
    "constants": {"names": (), "grid": SMALL, "model": {"vp": 2000, "epsilon": 0.2, "theta": 30}},
    "depth functions": {
        "names": ("delta",),
        "grid": SMALL,
        "model": {"vp": {"z": [0, 80], "value": [1500, 2800]}, "epsilon": 0.1},
    },
    "tilt of one value": {"names": ALL[:3], "model": {"theta": -30}},
    "no tilt at all": {"names": ALL[:3], "model": {"theta": 0}},
    "tilt alone": {"names": ("vp", "theta")},
}


@pytest.mark.parametrize(("name", "ndim"), each(list(CASES), [3, 2]))
def test_every_option(tmp_path, name, ndim):
    case = {k: dict(v) if isinstance(v, dict) else v for k, v in CASES[name].items()}
    if "grid" in case:
        case["grid"] = dict(case["grid"][ndim])
    assert_same_past_the_gate(job_of(tmp_path, ndim, **case))


def test_azimuths_on_a_grid_of_their_own(tmp_path):
    """theta and phi of two grids, on a third one, in degrees beyond the usual range."""
    job = job_of(tmp_path, 3, names=ALL, grid=SMALL[3])
    own = Grid((12, 8, 6), (50.0, 30.0, 25.0), (470.0, -60.0, -5.0))
    volume.write(tmp_path / "phi.rsf", own, (300 * RNG.random(own.shape)).astype(np.float32))
    assert_same_past_the_gate(job)


def test_units_of_files(tmp_path):
    job = job_of(tmp_path, 2, names=("delta",), model={"vp": {"file": "v.rsf", "unit": "us/m"}})
    a = fields(GRIDS[2])["vp"]
    volume.write(tmp_path / "v.rsf", GRIDS[2], 1e6 / a)
    assert_same_past_the_gate(job)


def test_a_tilted_scheme_for_an_upright_model(tmp_path):
    whole, streamed = both(job_of(tmp_path, 2))
    assert_same(whole.as_medium("tti"), streamed.as_medium("tti"))
    assert_same(whole.as_medium("isotropic"), streamed.as_medium("isotropic"))


def test_16_bit_scales_and_their_error(tmp_path):
    a, b, _ = assert_same_past_the_gate(job_of(tmp_path, 2, propagation={"model_storage": "u16"}))
    assert storage.scales_of(a, "vti", 1e-3) == storage.scales_of(b, "vti", 1e-3)
    assert storage.storage_error(a, "vti") == storage.storage_error(b, "vti")


def test_refusals_are_those_of_the_model_in_memory(tmp_path):
    job = job_of(tmp_path, 2)
    whole, streamed = both(job)
    refusals = []
    for model in (whole, streamed):
        with pytest.raises(ModelError, match=r"delta: .* values above epsilon, the first at index") as caught:
            model.anisotropy_gate("reject")
        refusals.append((caught.value.code, caught.value.message.split(" = ")[0]))
    assert refusals[0] == refusals[1]
    volume.write(tmp_path / "delta.rsf", Grid((41, 18), (20.0, 10.0)), np.zeros((41, 18), np.float32))
    codes = []
    for streaming in (False, True):
        job.stream(streaming)
        with pytest.raises(ModelError, match="delta has shape") as caught:
            job.open_model()
        codes.append(caught.value.code)
    assert codes == ["E401", "E401"]


@pytest.mark.parametrize("smoothing", [0.0, 25.0])
@pytest.mark.parametrize(
    ("name", "value", "code"), [("vp", 0.0, "E411"), ("delta", np.nan, "E410"), ("theta", 400, "E525")]
)
def test_values_that_no_medium_has(tmp_path, name, value, code, smoothing):
    """They are found where they stand, also where an average would hide them."""
    job = job_of(tmp_path, 2, names=ALL[:4], model={"smoothing": smoothing})
    a = fields(GRIDS[2])[name]
    a[30, 4] = value
    volume.write(tmp_path / f"{name}.rsf", GRIDS[2], a)
    job.stream()
    with pytest.raises(ModelError, match=rf"planes .*{name}: 1 of") as caught:
        job.open_model()
    assert caught.value.code == code


def test_what_a_window_reads(tmp_path):
    """A window costs the bytes of its planes, of what its medium needs; with averages those that they reach."""
    job = job_of(tmp_path, 3, names=ALL, propagation={"medium": "vti"})
    job.stream()
    model, _ = gate(job.open_model(), job.propagation_options)
    plane = 4 * 9 * 12
    before = model.traffic
    model.window(Box((6, 0, 0), (11, 9, 12)))
    assert model.traffic.moved - before.moved == 3 * 5 * plane
    assert model.traffic.wanted - before.wanted == 3 * 5 * plane
    before = model.traffic
    model.window(Box((-20, 0, 0), (2, 9, 12)))  # what lies outside is continued, not read
    assert model.traffic.moved - before.moved == 3 * 2 * plane
    before = model.traffic
    model.at(np.array([[520.0, 0.0, 30.0], [900.0, 10.0, 0.0]]))
    assert model.traffic.moved - before.moved == 2 * 4
    job = job_of(tmp_path, 3, names=("vp",), model={"smoothing": 20.0})  # 4 sigma: 4 planes on either side
    job.stream()
    model = job.open_model()
    before = model.traffic
    model.window(Box((8, 0, 0), (10, 9, 12)))
    assert model.traffic.moved - before.moved == (2 + 2 * 4) * plane


def test_one_pass_finds_what_a_run_asks_for(tmp_path):
    job = job_of(tmp_path, 2)
    job.stream()
    model = job.open_model()
    read = model.traffic.moved
    assert read == 3 * 4 * 41 * 19
    gated, _ = gate(model, job.propagation_options)
    gated.choose_dt(8)
    assert gated.fastest > gated.slowest
    assert gated.medium == "vti"
    assert model.traffic.moved == read


@pytest.mark.parametrize("theta", [None, 0.0, 20.0])
@pytest.mark.parametrize("anisotropy", ["lower-delta", "raise-epsilon", "reject"])
@pytest.mark.parametrize("medium", ["auto", "isotropic", "vti", "tti"])
def test_checks_and_runs_ask_nothing_that_was_not_found(tmp_path, monkeypatch, medium, anisotropy, theta):
    """Or one rank would go through a model alone, while the others wait."""
    from subsalt.check import Context
    from subsalt.check.stability import gated

    model = {} if theta is None else {"theta": theta}
    job = job_of(tmp_path, 2, model=model, propagation={"medium": medium, "anisotropy": anisotropy})
    job.stream()
    opened = job.open_model()
    read = opened.traffic.moved
    context = Context(model=opened, propagation=job.propagation_options)
    try:
        runs = gate(opened, job.propagation_options)[0]
    except ModelError:
        assert anisotropy == "reject"
        runs = opened
    for used in (gated(context), runs, opened):
        assert used.stable_dt(8) > 0
        assert used.fastest > 0
        assert used.medium
        assert used.limits("vp")
    assert opened.traffic.moved == read


def test_a_missing_file_is_one_error(tmp_path):
    job = job_of(tmp_path, 2)
    (tmp_path / "delta.rsf").unlink()
    job.stream()
    with pytest.raises((SubsaltError, FindingsError), match=r"delta\.rsf does not exist"):
        job.open_model()


def test_options_of_python_need_no_job(tmp_path):
    whole, streamed = both(job_of(tmp_path, 2))
    options = PropagationOptions(anisotropy="raise-epsilon", order=6)
    assert_same(gate(whole, options)[0], gate(streamed, options)[0], order=6)


@pytest.mark.parametrize("ndim", [2, 3])
def test_pictures_read_the_planes_they_show(tmp_path, ndim, monkeypatch):
    """The same pixels from the files as from memory, and of a volume no more than two sections and the slabs of one."""
    from subsalt import view
    from subsalt.acquisition.survey import Survey
    from subsalt.view import style

    drawn = []

    def pixels_of(fig, facts):
        fig.canvas.draw()
        drawn.append(np.array(fig.canvas.buffer_rgba()))
        return b""

    # nothing is packed, and unpacked again: at a quarter of the dots what differs is seen as well
    monkeypatch.setattr(style, "png_bytes", pixels_of)
    monkeypatch.setattr(style, "DPI", 40)

    job = job_of(tmp_path, ndim, names=("vp",))
    whole, streamed = both(job)
    grid = whole.grid
    image = RNG.standard_normal(grid.shape).astype(np.float32)
    where = [[540.0, 0.0, 10.0], [700.0, 20.0, 10.0]] if ndim == 3 else [[540.0, 10.0], [700.0, 10.0]]
    survey = Survey.from_arrays(where[:1], np.array(where), nt=11, dt=0.004)
    pixels = []
    for name, model in (("a", whole), ("b", streamed)):
        files = view.sections(image, grid, tmp_path / f"{name}.png", model=model, survey=survey)
        files["map"] = view.survey_map(survey, model, tmp_path / f"{name}_map.png")
        pixels.append(dict(zip(files, drawn, strict=True)))
        drawn.clear()
    assert pixels[0].keys() == pixels[1].keys()
    for name, picture in pixels[0].items():
        assert np.ptp(picture) > 100
        assert np.array_equal(picture, pixels[1][name]), name
    part = streamed.volume("vp")
    assert part.limits() == (float(whole.vp.min()), float(whole.vp.max()))
    before = streamed.traffic.moved
    assert np.array_equal(part.section(0, 3), whole.vp[3])
    assert streamed.traffic.moved - before == whole.vp[3].nbytes
    for axis in range(1, ndim):
        assert np.array_equal(part.section(axis, 5), np.take(whole.vp, 5, axis))
