"""The tilt of a job: units, files, tables; the axis between grids and smoothed; what identifies a run."""

import numpy as np
import pytest

import subsalt
from job_files import GRID, MIGRATE, write_files, write_job
from subsalt.earth import building, tilt
from subsalt.earth.grid import Grid
from subsalt.errors import FindingsError
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job
from thorough import thorough

#: float32 angles up to pi: half a unit in the last place, and the same again for a rounding on the way
ROUNDING = 2.5e-7


def job(folder, model, **tables):
    """Return a job on a 3-D grid without files."""
    raw = {
        "model": {"vp": 2000, "epsilon": 0.2, "delta": 0.1} | model,
        "grid": {"spacing": 10, "shape": [8, 7, 6]},
        "source": {"f0": 15},
    } | tables
    return Job.from_dict(raw, folder)


@pytest.mark.parametrize(
    ("given", "degrees"),
    [
        (30, 30.0),
        ("30 deg", 30.0),
        ("0.5 radians", np.degrees(0.5)),
        ({"value": 0.5, "unit": "rad"}, np.degrees(0.5)),
        ({"z": [0, 50], "value": [0, 40]}, 8.0 * np.arange(6)),
        ({"z": [0, 50], "value": [0, 0.4], "unit": "radians"}, np.degrees(0.08 * np.arange(6))),
    ],
)
def test_numbers_and_tables(tmp_path, given, degrees):
    model = job(tmp_path, {"theta": given}).load_model()
    assert model.medium == "tti"
    want = np.broadcast_to(np.deg2rad(degrees), model.grid.shape)
    np.testing.assert_allclose(model.theta, want, atol=ROUNDING)


@pytest.mark.parametrize(
    ("key", "in_file", "in_job", "value"),
    [
        ("theta", "", None, 30.0),
        ("theta", "degrees", None, 30.0),
        ("theta", "", "degrees", 30.0),
        ("theta", "", "radians", 0.5),
        ("theta", "rad", None, 0.5),
        ("phi", "", "rad", -2.0),
    ],
)
def test_files_with_units(tmp_path, key, in_file, in_job, value):
    write_files(tmp_path)
    grid = Grid((8, 7, 6), (10.0,) * 3)
    volume.write(tmp_path / "angle.rsf", grid, np.full(grid.shape, value, np.float32))
    if in_file:
        with (tmp_path / "angle.rsf").open("a") as header:
            header.write(f'\nunit="{in_file}"\n')
    section = {"file": "angle.rsf"} | ({"unit": in_job} if in_job else {})
    model = job(tmp_path, {"theta": 20} | {key: section}).load_model()
    radians = value if "rad" in (in_file + (in_job or "")) else np.deg2rad(value)
    np.testing.assert_allclose(getattr(model, key), radians, atol=ROUNDING)


def test_npz_by_name_and_by_key(tmp_path):
    theta = np.linspace(-40, 40, GRID.size).reshape(GRID.shape).astype(np.float32)
    np.savez(
        tmp_path / "m.npz",
        vp=np.full(GRID.shape, 2000, np.float32),
        theta=theta,
        tilt_deg=-theta,
        spacing_m=GRID.spacing,
        origin_m=GRID.origin,
    )
    for section, sign in (("m.npz", 1), ({"file": "m.npz", "key": "tilt_deg"}, -1)):
        raw = {
            "model": {"vp": "m.npz", "epsilon": 0.2, "delta": 0.1, "theta": section},
            "source": {"f0": 15},
        }
        model = Job.from_dict(raw, tmp_path).load_model()
        np.testing.assert_allclose(model.theta, sign * np.deg2rad(theta), atol=ROUNDING)


@pytest.mark.parametrize("unit", ["m", "grad", 5])
def test_wrong_units_are_refused_with_those_that_exist(tmp_path, unit):
    with pytest.raises(FindingsError) as error:
        job(tmp_path, {"theta": {"file": "x.rsf", "unit": unit}})
    assert "deg" in str(error.value.findings[0].fix)


def test_the_job_written_out_is_the_same_job(tmp_path):
    write_files(tmp_path)
    text = MIGRATE.replace("[source]", 'theta = "0.5 rad"\ntilt_smoothing = "30 m"\n\n[source]')
    first = Job.from_toml(write_job(tmp_path, text))
    again = Job.from_toml(write_job(tmp_path, first.resolved_toml(), "again.toml"))
    assert again.resolved() == first.resolved()
    assert again.run_id() == first.run_id()
    assert again.model.theta.value == pytest.approx(np.degrees(0.5), rel=1e-14)


def test_a_run_is_known_by_the_content_of_its_tilt(tmp_path):
    write_files(tmp_path)
    made = Job.from_toml(write_job(tmp_path, MIGRATE.replace("[source]", 'theta = "theta.rsf"\n\n[source]')))
    ids = []
    for angle in (20.0, 21.0, 20.0):
        volume.write(tmp_path / "theta.rsf", GRID, np.full(GRID.shape, angle, np.float32))
        ids.append(made.run_id())
    assert ids[0] == ids[2] != ids[1]
    listed = [i for i in made.inputs() if i["key"] == "model.theta.file"]
    # the header and the values
    assert len(listed) == 2
    assert all(len(str(i["sha256"])) == 64 for i in listed)


def some_axes(seed=4, n=400):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, np.pi / 2, n).astype(np.float32), rng.uniform(-np.pi, np.pi, n).astype(np.float32)


def test_director_and_back():
    theta, phi = some_axes()
    got = building.to_angles(building.of_angles(theta, phi))
    want, axes = np.stack(tilt.axis(theta, phi, 3)), np.stack(tilt.axis(got["theta"], got["phi"], 3))
    # the sign of an axis is free; float32 angles
    assert np.abs(np.abs((want * axes).sum(axis=0)) - 1).max() < ROUNDING**2 + 1e-12
    flat = building.to_angles(building.of_angles(2 * theta - np.pi / 2, None))["theta"]
    np.testing.assert_allclose(flat, 2 * theta - np.pi / 2, atol=2 * ROUNDING)


def test_axes_are_averaged_across_the_horizontal():
    # 80 and -80 degrees lie 20 degrees apart: between them is the horizontal, not the vertical
    both = [
        0.5 * sum(parts)
        for parts in zip(*(building.of_angles(np.deg2rad([a]), None) for a in (80.0, -80.0)), strict=True)
    ]
    assert abs(building.to_angles(both)["theta"][0]) == pytest.approx(np.pi / 2, abs=ROUNDING)


def test_axes_are_averaged_across_the_vertical():
    # tilts of 10 degrees towards +x and -x: the azimuth of their mean is not that of their angles, it is upright
    both = [
        0.5 * (a + b)
        for a, b in zip(
            building.of_angles(np.deg2rad([10.0]), np.deg2rad([0.0])),
            building.of_angles(np.deg2rad([10.0]), np.deg2rad([180.0])),
            strict=True,
        )
    ]
    # the arc of a length of order 1e-16 squared away from one: its root
    assert building.to_angles(both)["theta"][0] == pytest.approx(0.0, abs=1e-7)


def principal_angles(m):
    """Return theta and phi of matrices xx, xy, xz, yy, yz, zz as the compiled code computes them."""
    for _ in range(building.SQUARINGS):
        a, b, c, d, e, f = (part / (m[0] + m[3] + m[5]) for part in m)
        m = [a * a + b * b + c * c, a * b + b * d + c * e, a * c + b * e + c * f]
        m += [b * b + d * d + e * e, b * c + d * e + e * f, c * c + e * e + f * f]
    xx, xy, xz, yy, yz, zz = m
    by_x, by_y = (xx >= yy) & (xx >= zz), yy >= zz
    v = [np.where(by_x, x, np.where(by_y, y, z)) for x, y, z in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
    length = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    x, y, z = (part / length for part in v)
    up = np.where(z < 0, -1.0, 1.0)
    x, y, z = up * x, up * y, up * z
    return [building._angle(b, a).astype(np.float32) for b, a in ((np.sqrt(x * x + y * y), z), (y, x))]


@pytest.mark.parametrize("n", [1, 7, 8, 301])
def test_the_principal_direction_has_the_bits_of_numpy(n):
    parts = [some_axes(seed, n) for seed in (1, 2, 3)]
    mean = [sum(a) / 3 for a in zip(*(building.of_angles(*part) for part in parts), strict=True)]
    # the axes of the grid, and two of them in equal parts
    special = [[1, 0, 0, 0.5], [0] * 4, [0] * 4, [0, 1, 0, 0.5], [0] * 4, [0, 0, 1, 0]]
    mean = [np.concatenate([a, b]) for a, b in zip(mean, special, strict=True)]
    got = building.to_angles(mean)
    for name, want in zip(("theta", "phi"), principal_angles(mean), strict=True):
        assert got[name].tobytes() == want.tobytes()


def test_the_principal_direction_is_that_of_an_eigenvalue_solver():
    rng = np.random.default_rng(2)
    theta, phi = some_axes(5, 300)
    near = [np.stack(a).reshape(3, 100) for a in (theta, phi + rng.normal(0, 0.2, 300).astype(np.float32))]
    parts = [p.mean(axis=0) for p in building.of_angles(*near)]
    xx, xy, xz, yy, yz, zz = parts
    m = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(-1, 3, 3)
    values, vectors = np.linalg.eigh(m)
    got = building.to_angles(parts)
    n = np.stack(tilt.axis(got["theta"], got["phi"], 3), axis=-1)
    # two eigenvalues of ratio r leave r^256 of the second direction
    clear = (values[:, 1] / values[:, 2]) ** (2.0**building.SQUARINGS) < 1e-12
    assert clear.sum() > 80
    along = np.abs((n * vectors[:, :, 2]).sum(axis=1))[clear]
    assert np.abs(along - 1).max() < 1e-12


def test_between_grids_the_axis_is_interpolated(tmp_path):
    coarse = Grid((3, 2, 2), (40.0, 60.0, 50.0))
    phi = np.array([170.0, -170.0, -170.0])[:, None, None] * np.ones(coarse.shape)
    volume.write(tmp_path / "phi.rsf", coarse, phi.astype(np.float32))
    volume.write(tmp_path / "theta.rsf", coarse, np.full(coarse.shape, 30.0, np.float32))
    for given in ({"theta": "theta.rsf", "phi": "phi.rsf"}, {"theta": 30.0, "phi": "phi.rsf"}):
        model = job(tmp_path, given).load_model()
        # half way between 170 and -170 lies 180, where the angles would give 0
        assert abs(model.phi[2, 3, 3]) == pytest.approx(np.pi, abs=4 * ROUNDING)
        # the chord between the two axes is shorter than they are: cos of 10 degrees on sin 30, not on cos 30
        flat = np.arctan(np.tan(np.deg2rad(30)) * np.cos(np.deg2rad(10)))
        assert model.theta[2, 3, 3] == pytest.approx(flat, abs=5e-3)


def test_smoothing_the_axis_alone(tmp_path):
    rng = np.random.default_rng(0)
    noise = (20 + 30 * rng.standard_normal(GRID.shape)).astype(np.float32)
    write_files(tmp_path)
    volume.write(tmp_path / "theta.rsf", GRID, np.clip(noise, -80, 80))

    def loaded(extra):
        text = MIGRATE.replace("[source]", f'theta = "theta.rsf"\n{extra}\n[source]')
        return Job.from_toml(write_job(tmp_path, text)).load_model()

    plain, alone, all_, not_it = (
        loaded(t) for t in ("", "tilt_smoothing = 50", "smoothing = 50", "smoothing = 50\ntilt_smoothing = 0")
    )
    np.testing.assert_array_equal(alone.vp, plain.vp)
    np.testing.assert_array_equal(alone.theta, all_.theta)
    np.testing.assert_array_equal(not_it.theta, plain.theta)
    np.testing.assert_array_equal(not_it.vp, all_.vp)
    # a Gaussian of 5 cells averages 4 pi 25 nodes: a tenth of the noise is more than it leaves
    assert alone.theta[20:-20, 20:-20].std() < 0.1 * plain.theta.std()
    assert alone.theta.mean() == pytest.approx(np.deg2rad(20), abs=np.deg2rad(3))


def arrival(tmp_path, shape, theta, phi, rcv):
    """Return when the wave from the middle of a uniform medium peaks at a receiver, s, with the job's conventions."""
    middle = [5.0 * (n - 1) for n in shape]
    raw = {
        "model": {"vp": 2000, "epsilon": 0.3, "delta": 0.1, "theta": theta}
        | ({} if phi is None else {"phi": phi}),
        "grid": {"spacing": 10, "shape": list(shape)},
        "source": {"f0": 20},
        "acquisition": {
            "shots": {"first": middle, "last": middle, "n": 1},
            "receivers": {"first": rcv, "last": rcv, "n": 1},
            # the pulse is behind 75 ms after 100 ms on the way
            "record_length": 0.25,
            "dt": 0.001,
        },
    }
    made = Job.from_dict(raw, tmp_path)
    # steps of a fiftieth of a period: the second difference in time is off by (2 pi / 50)^2 / 24 = 0.07 %, 0.1 ms here
    wavelet = made.wavelet(0.001)
    data = subsalt.forward(made.load_model(), made.acquisition_survey(), wavelet).survey.shots[0].data[0]
    return 0.001 * float(np.argmax(np.abs(data)))


@pytest.mark.parametrize("phi", [None, pytest.param(90.0, marks=thorough), -90.0])
def test_the_axis_leans_where_the_job_says(tmp_path, phi):
    # an azimuth whose sign were lost would lean towards +y where the job says -y: that row is tried by `make test`
    # 200 m from the source, 45 degrees down: towards +x in 2-D, towards +y or -y in 3-D
    step = 200.0 / np.sqrt(2.0)
    if phi is None:
        shape, rcv = (61, 61), [300 + step, 300 + step]
    else:
        shape, rcv = (25, 51, 51), [120.0, 250 + np.sign(phi) * step, 250 + step]
    along = arrival(tmp_path, shape, 45.0, phi, rcv)
    across = arrival(tmp_path, shape, -45.0, phi, rcv)
    # vp along the axis, vp sqrt(1 + 2 epsilon) across: 100 and 79 ms. Peaks are read to a sample of 1 ms each, and two
    # wavelengths from the source they have not quite the phase of the far field: one more
    assert along - across == pytest.approx(0.1 * (1 - 1 / np.sqrt(1.6)), abs=0.003)
