"""Models that are given as they are not: each mistake is found in files, and the offered cure works when pasted.

Structured models tell most: a thrust belt made here, and the models of ../shared/data where they are there.
"""

import re

import numpy as np
import pytest
from rules_alone import rules_on

from job_files import shared_data, survey, write_job
from subsalt.acquisition.survey import Survey
from subsalt.check.context import Context
from subsalt.check.orientation import Along, flipped_tables, thinned
from subsalt.check.tilt_structure import FITS, misfits
from subsalt.earth.grid import Grid
from subsalt.earth.planes import Parameter
from subsalt.errors import SubsaltError
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job
from thorough import some, thorough

GRID = Grid((161, 161), (10.0, 10.0))
JOB = """\
[data]
files = ["shots.sgy"]
line = "2d"
[source]
f0 = "10 Hz"
[output]
pictures = false
[model]
"""
#: the same where anisotropy or axes are looked at, not waves
WITHOUT_WAVES = JOB.replace('line = "2d"', 'line = "2d"\nfirst_breaks = "ignore"')


def thrusts():
    """Return vp and theta (degrees) of a belt of folds under 100 m of water: as wide as deep, dips up to 35 degrees."""
    x, z = GRID.axis(0)[:, None], GRID.axis(1)[None, :]
    high = 90.0 * np.sin(2 * np.pi * x / 800.0) + 0.1 * x
    slope = 90.0 * 2 * np.pi / 800.0 * np.cos(2 * np.pi * x / 800.0) + 0.1
    level = z + high
    vp = 1900.0 + 1.3 * level + 160.0 * np.sign(np.sin(2 * np.pi * level / 240.0))
    theta = np.degrees(np.arctan(slope)) * np.ones_like(z)
    return np.where(z < 100.0, 1500.0, vp), np.where(z < 100.0, 0.0, theta)


def files(folder, **volumes):
    """Write shots and model files, vp as it should be unless it is given; return the lines of [model]."""
    line = survey(nt=301)
    if not (folder / "shots.sgy").exists():
        write_survey(folder / "shots.sgy", line)
    given = {"vp": VP} | volumes
    for name, values in given.items():
        grid = GRID if values.shape == GRID.shape else Grid(values.shape, (10.0,) * values.ndim)
        volume.write(folder / f"{name}.rsf", grid, np.ascontiguousarray(values, np.float32))
    return {name: f'"{name}.rsf"' for name in given}


def found(folder, model, job=JOB):
    """Return the findings of a job by code."""
    text = job + "".join(f"{k} = {v}\n" for k, v in model.items())
    said = {f.code: f for f in rules_on(Job.from_toml(write_job(folder, text))).findings if f.is_fault}
    # the traces are those of another model than the belt, and W372 rightly says so
    said.pop("W372", None)
    return said


def pasted(model, fix):
    """Return the lines of [model] with the tables that a cure gives, of several the first."""
    tables = re.findall(r"(\w+) = (\{[^}]*\})", fix)
    assert tables, fix
    return model | dict(reversed(tables))


def tti(**theta):
    """Return epsilon, delta and a theta in degrees."""
    e = np.full(GRID.shape, 0.15)
    return {"epsilon": e, "delta": 0.5 * e} | theta


def one_odd(values, odd):
    """Return values of which one is another."""
    out = values.copy()
    out[80, 120] = odd
    return out


VP, THETA = thrusts()
#: code, volumes as they are stored, and whether the pasted cure leaves nothing to find
STORED = {
    "transposed": ("W426", {"vp": VP.T}),
    "flipped in depth": ("W443", {"vp": VP[:, ::-1]}),
    "km/s": ("E412", {"vp": VP / 1e3}),
    "ft/s": ("E416", {"vp": np.where(VP > 3000, 1.2, 1.0) * VP / 0.3048}),
    "s/m": ("E413", {"vp": 1 / VP}),
    "s/km": ("E413", {"vp": 1e3 / VP}),
    "us/m": ("E413", {"vp": 1e6 / VP}),
    "us/ft": ("E413", {"vp": 0.3048e6 / VP}),
    "s2/m2": ("E414", {"vp": 1 / VP**2}),
    "s2/km2": ("E413", {"vp": 1e6 / VP**2}),
    "per cent": ("E418", tti(epsilon=np.full(GRID.shape, 15.0))),
    "exchanged": ("W429", {"epsilon": np.full(GRID.shape, 0.05), "delta": np.full(GRID.shape, 0.15)}),
    "radians": ("E421", tti(theta=np.radians(THETA))),
    "radians, one beyond a quarter turn": ("E421", tti(theta=one_odd(np.radians(THETA), 1.7))),
    "radians, one odd value": ("E421", tti(theta=one_odd(np.radians(THETA), 9.0))),
    "other sign": ("W432", tti(theta=-THETA)),
    "from the horizontal": ("W432", tti(theta=90 - THETA)),
}  # fmt: skip


#: told in `test_rules`: in `make test` cures of other units of slowness are pasted
TOLD = ("s/m", "s/km", "s2/m2")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[thorough] * (n in TOLD)) for n in STORED])
def test_the_pasted_cure_leaves_nothing_to_find(tmp_path, name):
    code, volumes = STORED[name]
    model = files(tmp_path, **volumes)
    first = found(tmp_path, model)
    assert code in first, first
    # one cause is told once: beside it stands what is true of the positions or of the repair
    assert set(first) <= {code, "W422", "W521", "W425", "E349"}, first
    # where first breaks stop the job as well, they name the same cause
    assert "E349" not in first or code in first["E349"].fix
    again = found(tmp_path, pasted(model, first[code].fix))
    # the odd value stays one: outside of the usual range, or impossible
    odd = {"W425", "W539", "E424"} if "one" in name else set()
    assert set(again) <= odd, again


def test_the_model_as_it_is_has_nothing_to_find(tmp_path):
    assert found(tmp_path, files(tmp_path, **tti(theta=THETA))) == {}


#: code, volumes, words of the message
KINDS = {
    "written with x fastest": ("W426", {"vp": VP[:, :121].T.reshape(161, 121)}, "x is taken as the fastest"),
    "shear, water kept": ("W427", {"vp": np.where(VP <= 1500, VP, VP / 1.9)}, "below the sea bottom"),
    "shear, no sea": ("W427", {"vp": VP[:, 10:] / 2.1}, "deeper than 500 m"),
    "shear, zero in water": ("E427", {"vp": np.where(VP <= 1500, 0, VP / 1.9)}, "of which water has none"),
    "null value": ("E428", {"vp": np.where(VP > 4000, -9999.25, VP)}, "-9999.25 at"),
    "huge null value": ("E428", {"vp": np.where(VP > 4000, 1e30, VP)}, "a null value"),
    "a known null value": ("E428", {"vp": np.where(VP > 4000, 9999.0, VP)}, "is 9999 at"),
    "null value in epsilon": ("E428", tti(epsilon=np.where(VP > 4000, -999.25, 0.15)), "epsilon is -999.25"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_what_a_volume_holds_instead(tmp_path, name):
    code, volumes, words = KINDS[name]
    first = found(tmp_path, files(tmp_path, **volumes))
    assert code in first, first
    assert words in first[code].message
    errors = [c for c in first if c.startswith("E")]
    assert errors in ([], [code], ["E349"]), first


@pytest.mark.parametrize(("spacing", "code"), [((0.01, 0.01), "E440"), ((10.0, 0.004), "E430")])
def test_a_grid_in_other_units_is_told_once(tmp_path, spacing, code):
    """Neither positions nor frequencies are held against a grid that is wrong."""
    model = files(tmp_path)
    volume.write(tmp_path / "vp.rsf", Grid(GRID.shape, spacing), VP.astype(np.float32))
    first = found(tmp_path, model)
    assert list(first) == [code]
    if code == "E440":
        assert found(tmp_path, pasted(model, first[code].fix)) == {}
    else:
        assert "seconds or kilometres" in first[code].message


def test_samples_of_the_records_on_the_depth_axis(tmp_path):
    write_survey(tmp_path / "shots.sgy", survey(nt=161, dt=0.010))
    assert "W431" in found(tmp_path, files(tmp_path))


def towed(folder):
    """Write shots of a streamer, 10 m deep."""
    src = [[x, 8.0] for x in np.linspace(300.0, 900.0, 4)]
    shots = [
        Survey.from_arrays([s], [[s[0] + 50 + 25 * i, 10.0] for i in range(12)], nt=301, dt=0.004)
        for s in src
    ]
    line = shots[0]
    line.shots = [one.shots[0] for one in shots]
    for i, shot in enumerate(line.shots):
        shot.id = i + 1
        shot.data = survey(1, nt=301).shots[0].data[:12]
    write_survey(folder / "shots.sgy", line)


def test_a_cable_in_rock(tmp_path):
    towed(tmp_path)
    assert "W433" not in found(tmp_path, files(tmp_path))
    first = found(tmp_path, files(tmp_path, vp=np.pad(VP[:, 12:], ((0, 0), (0, 12)), mode="edge")))
    assert "no water where the cable was towed" in first["W433"].message


def test_a_cable_in_water_whose_velocity_is_in_feet(tmp_path):
    towed(tmp_path)
    model = files(tmp_path, vp=np.minimum(VP, 2800.0) / 0.3048)
    first = found(tmp_path, model)
    assert "that of water in ft/s" in first["W433"].message
    assert "W433" not in found(tmp_path, pasted(model, first["W433"].fix.partition(": ")[2]))


def test_wrong_names_of_axes_are_refused(tmp_path):
    model = files(tmp_path)
    for keys in ('axes = "zz"', 'flip = "t"', 'axes = "xyz"'):
        path = write_job(tmp_path, JOB + f'vp = {{file = "vp.rsf", {keys}}}\n')
        with pytest.raises(SubsaltError, match="axes") as error:
            Job.from_toml(path).open_model()
        assert error.value.code == "E104"
    assert model


NAMES = ("marmousi_vti_12p5m", "marmousi_tti_12p5m", "marmousi2_5m", "overthrust2d_water_25m", "overthrust_xz_25m",
         "seg_eage_salt_x338_20m", "volve_migvel3d")  # fmt: skip


@pytest.mark.shared_data
@pytest.mark.parametrize("name", NAMES)
def test_known_models_stand_upright(name):
    """What the thresholds of the rules were taken from."""
    with np.load(shared_data() / "models" / f"{name}.npz") as file:
        vp, steps = file["vp"], file["spacing_m"]
    values, strides = thinned(vp)
    along = [Along.of(values, i, float(h) * s) for i, (h, s) in enumerate(zip(steps, strides, strict=True))]
    depth, beside = along[-1], along[:-1]
    assert all(depth.is_depth(other) for other in beside)
    assert not any(other.is_depth(depth) or other.is_depth(depth, -1) for other in beside)


@pytest.mark.shared_data
def test_the_tilt_of_marmousi_fits_its_layers():
    from subsalt.earth.planes import Parameter

    with np.load(shared_data() / "models" / "marmousi_tti_12p5m.npz") as file:
        vp, theta, h = file["vp"], file["theta_deg"], tuple(float(v) for v in file["spacing_m"])
    grid = Grid(vp.shape, h)
    angles = misfits(Parameter("theta", theta, grid), Parameter("vp", vp, grid), None)
    assert angles["given"] < FITS
    assert min(angles[name] for name in ("radians", "sign", "horizontal")) > 2 * angles["given"] + 5


@pytest.mark.parametrize("unset", [(0,), (0, 1)])
def test_a_spacing_of_one_that_a_converter_left(tmp_path, unset):
    model = files(tmp_path)
    spacing = [1.0 if axis in unset else 10.0 for axis in range(2)]
    volume.write(tmp_path / "vp.rsf", Grid(GRID.shape, tuple(spacing)), np.ascontiguousarray(VP, np.float32))
    said = found(tmp_path, model)
    if unset == (0,):
        assert set(said) == {"E406"}
        assert not {c for c in found(tmp_path, pasted(model, said["E406"].fix)) if c.startswith("E")}
    else:
        # a model of 1 m cells along all axes is what it says: small
        assert "E406" not in said


def with_anisotropy(folder, epsilon, delta, named=()):
    """Return the findings on constant parameters in the rock, in files of other names."""
    rock = VP > 1500
    model = files(folder, epsilon=np.where(rock, epsilon, 0.0), delta=np.where(rock, delta, 0.0))
    for name, file in dict(named).items():
        (folder / f"{file}.rsf").write_text((folder / f"{name}.rsf").read_text())
        model[name] = f'"{file}.rsf"'
    return found(folder, model, WITHOUT_WAVES)


@pytest.mark.parametrize(("epsilon", "delta"), some([(0.12, 0.06), (0.16, 0.08), (0.2, 0.1)], 2))
def test_eta_given_for_epsilon_is_not_exchanged(tmp_path, epsilon, delta):
    """As eta = (epsilon - delta) / (1 + 2 delta) is nearly delta; the exchange would make a wrong image."""
    said = with_anisotropy(tmp_path, (epsilon - delta) / (1 + 2 * delta), delta)["W429"]
    assert "eta given for epsilon" in said.message
    assert "epsilon = (1 + 2 delta) eta + delta" in said.fix
    assert "[model]" not in said.fix


def test_a_file_that_is_named_eta_is_asked_about(tmp_path):
    said = with_anisotropy(tmp_path, 0.09, 0.05, {"epsilon": "eta_final"})["W429"]
    assert "eta_final.rsf" in said.message
    assert "[model]" not in said.fix
    assert "W429" not in with_anisotropy(tmp_path, 0.15, 0.05, {"epsilon": "beta2"})


def test_files_whose_names_say_so_are_exchanged(tmp_path):
    said = with_anisotropy(tmp_path, 0.07, 0.08, {"epsilon": "delta_v2", "delta": "eps_v2"})["W429"]
    assert 'epsilon = {file = "eps_v2.rsf"}; delta = {file = "delta_v2.rsf"}' in said.fix


def hills(values, nodes=12):
    """Return values below a ground that rises to the top of the model, zeros above it, and its depths, m."""
    ground = (nodes * (1 + np.sin(GRID.axis(0) / 200.0)) / 2).round().astype(int)
    return np.where(np.arange(values.shape[1])[None, :] >= ground[:, None], values, 0.0), 10.0 * ground


def test_zeros_over_rock_below_stations_are_air(tmp_path):
    line = survey(nt=301)
    volumes, ground = hills(np.maximum(VP, 1900.0))
    for shot in line.shots:
        for at in (shot.src[None], shot.rcv):
            at[:, 2] = np.interp(at[:, 0], GRID.axis(0), ground) + 5.0
    write_survey(tmp_path / "shots.sgy", line)
    said = found(tmp_path, files(tmp_path, vp=volumes))
    assert "E427" not in said
    assert "of the sources stand where the zeros end" in said["E428"].message
    assert "[propagation.topography]" in said["E428"].fix


def test_zeros_over_velocities_of_p_waves_are_no_shear_velocities(tmp_path):
    said = found(tmp_path, files(tmp_path, vp=np.where(VP <= 1500, 0.0, VP)))
    assert "E427" not in said
    assert "over water, fill them with 1500 m/s" in said["E428"].fix


def test_axes_that_the_job_exchanges_wrongly_are_put_back(tmp_path):
    """The cure goes with the order that the job gives: here it is to leave the key away."""
    model = files(tmp_path, vp=VP)
    text = JOB + 'vp = {file = "vp.rsf", axes = "zx"}\n'
    said = {f.code: f for f in rules_on(Job.from_toml(write_job(tmp_path, text))).findings if f.is_fault}
    assert '[model] vp = {file = "vp.rsf"}' in said["W426"].fix
    assert found(tmp_path, pasted(model, said["W426"].fix)) == {}


def test_a_survey_that_lies_on_the_other_extent_makes_an_error_of_it(tmp_path):
    """Then nothing else is said of the places of stations: it would only repeat that."""
    # the traces are those of another model, with which a cure must not be judged
    model = files(tmp_path, vp=VP[:, :60].T)
    first = found(tmp_path, model, WITHOUT_WAVES)
    assert list(first) == ["E426"], first
    assert "none when these two are exchanged" in first["E426"].message
    assert not [
        c for c in found(tmp_path, pasted(model, first["E426"].fix), WITHOUT_WAVES) if c.startswith("E")
    ]


@pytest.mark.parametrize("header", ["as it was", "exchanged"])
def test_as_many_columns_as_rows_with_other_spacings(tmp_path, header):
    """Spacings that the header gives for x and z go with the values, or they do not: both are said."""
    model = files(tmp_path, vp=VP)
    spacing = (10.0, 9.5) if header == "as it was" else (9.5, 10.0)
    volume.write(tmp_path / "vp.rsf", Grid(VP.shape, spacing), np.ascontiguousarray(VP.T, np.float32))
    fix = found(tmp_path, model)["W426"].fix
    assert f'axes = "zx", spacing = [{spacing[0]}, {spacing[1]}], origin = [0.0, 0.0]' in fix
    assert 'or, if those are exchanged, too: [model] vp = {file = "vp.rsf", axes = "zx"}' in fix


@pytest.mark.parametrize("alone", [True, False])
def test_a_model_whose_velocity_alone_runs_backward(alone):
    """Epsilon and delta change where the layers of vp do: so they say whether they run as vp does."""
    rock = np.where(VP > 1500.0, 0.1 + 0.05 * (VP > 2600.0), 0.0)
    volumes = {"vp": VP[::-1], "epsilon": rock if alone else rock[::-1], "theta": THETA}
    parameters = {n: Parameter(n, v, GRID, source=f"{n}.rsf") for n, v in volumes.items()}
    text = flipped_tables(Context(parameters=parameters), parameters["vp"], "x")
    assert text.startswith('vp = {file = "vp.rsf", flip = "x"}')
    assert [f"{n} = " in text for n in ("epsilon", "theta")] == [not alone, not alone]


def test_lengths_of_axes_exchanged_in_the_header(tmp_path):
    model = files(tmp_path, vp=VP[:, :60].reshape(60, 161))
    said = found(tmp_path, model)
    assert list(said) == ["E426"], said
    assert "exchange n1 and n2 in the header vp.rsf" in said["E426"].fix


ODD = {
    "constant": VP * 0 + 2000.0,
    "one node wide": np.full((1, 161), 2000.0),
    "one node deep": np.full((161, 1), 2000.0),
    "zeros": VP * 0,
    "negative": -VP,
    "all NaN": VP * np.nan,
    "one NaN": one_odd(VP, np.nan),
    "one infinity": one_odd(VP, np.inf),
    "one zero": one_odd(VP, 0.0),
    "one negative": one_odd(VP, -1500.0),
    "huge": VP * 1e30,
    "tiny": VP * 1e-30,
    "zeros above and NaN below": np.where(VP <= 1500, 0.0, np.where(VP > 4000, np.nan, VP)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ODD)
def test_odd_models_end_in_findings_without_a_word_of_numpy(tmp_path, name):
    said = found(tmp_path, files(tmp_path, vp=ODD[name]))
    words = " ".join(f"{f.message} {f.fix}" for f in said.values())
    assert not any(odd in words for odd in ("nan m", "nan s", "inf s", "inf m", "None")), words
    assert name == "constant" or said
