"""The benchmark against peers, without peers: its cases, its worker, its verification, its page."""

import importlib
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from subsalt.earth import tilt
from subsalt.propagation import tapers
from subsalt.propagation.options import PropagationOptions

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def peers():
    """Import the modules of benchmarks/peers, which are no package, and forget them afterwards."""
    folders = [str(ROOT / "benchmarks" / "peers"), str(ROOT / "benchmarks")]
    names = [
        "cases",
        "environments",
        "image_tolerance",
        "sides",
        "verify",
        "earth",
        "kirchhoff_case",
        "lsrtm_case",
        "born_reference",
        "facts",
        "run",
    ]
    names += ["protocol", "subsalt_rtm", "subsalt_lsrtm"]
    sys.path[:0] = folders
    try:
        yield {n: importlib.import_module(n) for n in names}
    finally:
        for folder in folders:
            sys.path.remove(folder)
        for n in names:
            sys.modules.pop(n, None)


def test_every_case_of_the_makefile_has_sides(peers):
    names = "iso-256 iso-400 vti-256 vti-400 vti-founding tti-256 iso2d-2000 rtm2d rtm3d kirchhoff lsrtm"
    for name in [*names.split(), "solution-iso", "solution-vti", "solution-tti"]:
        case = peers["cases"].parse(name)
        sides = peers["sides"].sides_of(case)
        makers = [side.peer for side in sides.values()]
        assert makers[0] == ""  # ours is first
        assert any(makers)
        assert all((ROOT / "benchmarks" / "peers" / side.script).exists() for side in sides.values())


def test_shapes_are_those_that_the_question_asks(peers):
    parse = peers["cases"].parse
    assert parse("vti-founding").shape == (125, 1151, 1231)
    assert parse("iso-256").shape == (256, 256, 256)
    assert parse("solution-iso").interior == (256, 256, 256)
    assert parse("solution-iso").shape == (336, 336, 336)
    assert parse("iso-256:4").shape == (64, 64, 64)


def test_a_tilted_interior_has_its_whole_tilt_and_no_cell_more(peers):
    pml, apart = peers["cases"].PML_CELLS, peers["cases"].TILT_TAPER
    quiet = tapers.upright_cells(PropagationOptions(layer=pml), (pml,) * 6)
    first, n = pml + apart, 32
    for factor in tilt.taper((n + 2 * first,) * 3, quiet):
        values = factor.ravel()
        assert (values[first : first + n] == 1).all()
        assert max(values[first - 1], values[first + n]) < 1
    theta, _ = peers["earth"].tilt(peers["cases"].parse("solution-tti:8"), 0)
    assert theta.min() > math.radians(19)  # 35 degrees less 15, to the faces


@pytest.mark.parametrize("name", ["iso", "iso-16", "abc-256", "rtm4d", "iso-256:x", "iso-256:16", "vti-"])
def test_a_wrong_case_is_refused(peers, name):
    with pytest.raises(SystemExit, match=r"iso-256|32"):
        peers["cases"].parse(name)


def worker(peers, name, variant, script="subsalt_worker.py"):
    return peers["sides"].Worker(peers["sides"].Side(script, variant), peers["cases"].parse(name), threads=1)


@pytest.mark.parametrize("name", ["iso-256:8", "vti-256:8", "tti-256:4"])
def test_our_sides_agree_with_the_reference_kernels(peers, name, tmp_path):
    # the reference stands where a peer would: the layer is compared too; 4 steps, so 4/60 of the benchmark's limit
    case = peers["cases"].parse(name)
    side = peers["sides"].Side
    sides = {"damping": side("subsalt_worker.py", "damping")}
    sides["peer"] = side("subsalt_worker.py", "damping@reference", tolerance=2e-6, same_layer=True)
    workers = {n: peers["sides"].Worker(s, case, 1) for n, s in sides.items()}
    try:
        differences = peers["verify"].wavefields(case, sides, workers, 4, 4)
        assert workers["damping"].ask("round", steps=2) > 0
        assert workers["damping"].ask("memory")["peak"] > 0
    finally:
        for w in workers.values():
            w.close()
    assert set(differences) == {"peer, source", "peer, field"}


def test_our_kirchhoff_side_sums_what_the_case_asks(peers, tmp_path):
    case, made = peers["cases"].parse("kirchhoff:8"), peers["kirchhoff_case"]
    side = peers["sides"].Worker(peers["sides"].Side("subsalt_kirchhoff.py", "linear"), case, 1)
    try:
        assert side.ask("round") > 0
        side.ask("save", out=str(tmp_path / "image.npy"))
    finally:
        side.close()
    src, rcv = made.shots(case)
    data, (nx, ny, nz) = made.traces(case).reshape(len(src), len(rcv), -1), case.interior
    exact = np.zeros(case.interior)
    half = made.V * made.DT0 / 2 * np.arange(1, nz + 1)
    for ix, iy, s, r in np.ndindex(nx, ny, len(src), len(rcv)):
        x = np.array([ix, iy]) * made.SPACING
        path = sum(np.sqrt(half**2 + ((x - p) ** 2).sum()) for p in (src[s], rcv[r]))
        exact[ix, iy] += np.interp(path / made.V / made.DT, np.arange(data.shape[2]), data[s, r])
    np.save(tmp_path / "exact.npy", exact[None])
    assert (
        peers["verify"].relative_l2(tmp_path / "image.npy", tmp_path / "exact.npy", 3)
        < peers["sides"].SAME_SUM
    )


def test_our_inversion_explains_data_that_no_grid_made(peers, tmp_path):
    side = peers["subsalt_lsrtm"].SubsaltInversion("lsrtm:2", "own")
    data, made = tmp_path / "data.npy", tmp_path / "made.npy"
    assert side.traces(str(data)) > 0
    assert side.check(str(made)) > 0
    assert peers["verify"].relative_l2(made, data, 3) < peers["sides"].OTHER_OPERATOR
    side.data(str(data))
    assert side.round() > 0
    ends = side.misfit()
    # the first migration and one iteration less than there are gradients; the misfit is that of another modelling
    assert (ends["gradients"], ends["modelled"]) == (side.case.steps, side.case.steps - 1)
    assert 0 < ends["misfit"] < 0.1
    assert ends["misfit"] == pytest.approx(side.result.misfit[-1], rel=1e-2)


def test_a_peer_that_ends_below_us_is_told(peers):
    ends = {"CGLS": {"misfit": 0.02}, "Adam": {"misfit": 0.3}, "L-BFGS": {"misfit": 0.02}}
    no_higher = peers["run"].no_higher
    assert no_higher(ends, ["Adam", "L-BFGS"])
    assert not no_higher(ends | {"L-BFGS": {"misfit": 0.019}}, ["Adam", "L-BFGS"])


def test_a_wrong_field_ends_the_run(peers, tmp_path):
    verify, case = peers["verify"], peers["cases"].parse("iso-256:8")
    right = np.random.default_rng(0).standard_normal((1, 32, 32, 32)).astype(np.float32)
    wrong = right.copy()
    wrong[0, 3, 4, 5] += 0.01 * np.linalg.norm(right)
    np.save(tmp_path / "right.npy", right)
    np.save(tmp_path / "wrong.npy", wrong)
    value = verify.relative_l2(tmp_path / "wrong.npy", tmp_path / "right.npy", 3)
    assert value == pytest.approx(0.01, rel=1e-3)
    with pytest.raises(SystemExit, match="peer, field differs"):
        verify.accept(case, {"peer, field": value}, {"peer, field": 2e-5})
    with pytest.raises(SystemExit, match="nan"):
        verify.accept(case, {"peer, field": float("nan")}, {"peer, field": 2e-5})


def test_grids_with_other_layers_are_compared_on_what_both_have(peers, tmp_path):
    small = np.arange(4.0**3).reshape(1, 4, 4, 4)
    large = np.pad(small, ((0, 0), (2, 2), (2, 2), (2, 2)), constant_values=7)
    np.save(tmp_path / "a.npy", small)
    np.save(tmp_path / "b.npy", large)
    assert peers["verify"].relative_l2(tmp_path / "a.npy", tmp_path / "b.npy", 3) == 0


def test_the_model_in_the_layer_is_that_of_its_edge(peers):
    case, earth = peers["cases"].parse("vti-256:8"), peers["earth"]
    v, inner = earth.velocity(case, 5), earth.velocity(case, 0)
    assert np.array_equal(v[5:-5, 5:-5, 5:-5], inner)
    assert np.array_equal(v[0], v[5])
    assert np.array_equal(v[..., -1], v[..., -6])


def test_a_shot_is_migrated_and_saved(peers, tmp_path):
    w = worker(peers, "rtm2d:8", "every", "subsalt_rtm.py")
    try:
        assert w.ask("traces", out=str(tmp_path / "t.npy")) > 0
        w.ask("data", path=str(tmp_path / "t.npy"))
        assert w.ask("round") > 0
        assert w.ask("save", out=str(tmp_path / "image.npy")) > 0
    finally:
        w.close()
    traces, image = np.load(tmp_path / "t.npy"), np.load(tmp_path / "image.npy")
    assert image.shape == (100, 50)
    assert not traces[:, -20:].any()  # faded, so that no taper at the end changes what is injected
    assert np.isfinite(image).all()


def test_every_step_that_is_off_by_r_turns_a_wave_by_what_the_tolerance_says(peers):
    """One frequency, 2000 steps in double precision: u[n+1] = (1 + r)(2 cos a u[n] - u[n-1])."""
    tolerance, case = peers["image_tolerance"], peers["cases"].parse("rtm2d")
    r, n = 2.0**-22, case.steps
    turn = tolerance.turned(case, r) / tolerance.LOW / n  # of the peak frequency, of one step
    a = r / (2 * turn)
    before, now = 1.0, np.exp(1j * a)
    for _ in range(n):
        before, now = now, (1 + r) * (2 * np.cos(a) * now - before)
    off = np.angle(now / np.exp(1j * a * (n + 1)))
    # 1 / a stands for 1 / tan a, and two waves of either direction are excited, in parts of the error of one step
    assert abs(off) == pytest.approx(turn * n, rel=a**2 / 3 + 4 / n)


def migrated(peers, plant=lambda side: None, **options):
    """Return the image of the trial case after `plant` has changed something."""
    side = peers["subsalt_rtm"].SubsaltMigration("rtm2d:8", "damping")
    side.data(migrated.traces)
    side.options |= options
    plant(side)
    side.round()
    return side.image.astype(np.float64)


@pytest.fixture(scope="module")
def right(peers, tmp_path_factory):
    """Return the image of the trial case, and keep its traces for others."""
    migrated.traces = str(tmp_path_factory.mktemp("traces") / "traces.npy")
    peers["subsalt_rtm"].SubsaltMigration("rtm2d:8", "every").traces(migrated.traces)
    return migrated(peers)


def apart(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_our_image_is_within_the_tolerance_of_double_precision(peers, right):
    case, tolerance = peers["cases"].parse("rtm2d:8"), peers["image_tolerance"]
    exact = migrated(peers, device="reference", dtype="float64")
    assert 0 < apart(right, exact) < tolerance.of_double(case) < tolerance.of_float32(case)


def late(side):
    """Shift the source by one sample."""
    samples = side.wavelet.samples
    side.wavelet = replace(side.wavelet, samples=np.concatenate([samples[:1] * 0, samples[:-1]]))


def fast(side):
    """Make the velocity 0.1 % too large."""
    import subsalt

    side.model = subsalt.EarthModel(side.grid, side.model.vp * np.float32(1.001))


@pytest.mark.parametrize("plant", [late, fast])
def test_planted_faults_are_beyond_the_tolerance(peers, right, plant):
    # an eighth of the path; whole cases are below
    limit = peers["image_tolerance"].of_float32(peers["cases"].parse("rtm2d:8"))
    assert apart(migrated(peers, plant), right) > 5 * limit


def test_the_tolerance_of_whole_cases_leaves_planted_faults_out(peers):
    tolerance, earth = peers["image_tolerance"], peers["earth"]
    for name in ("rtm2d", "rtm3d"):
        case = peers["cases"].parse(name)
        step = 2 * np.pi * earth.peak_frequency(case) * earth.time_step(case)
        assert min(step, 1e-3 * case.steps * step) > 10 * tolerance.of_float32(case)
        # what was seen on processors with AVX2 and with AVX-512
        assert tolerance.of_float32(case) > {"rtm2d": 1.06e-3, "rtm3d": 8.2e-6}[name]


def test_double_precision_answers_without_taking_part(peers):
    sides = peers["sides"].sides_of(peers["cases"].parse("rtm2d"))
    (name,) = [name for name, side in sides.items() if not side.timed]
    assert sides[name].variant.endswith("-double")
    assert sides[name].same_layer
    assert all(side.timed for side in peers["sides"].sides_of(peers["cases"].parse("rtm3d")).values())


def test_the_summary_takes_ratios_round_by_round(peers):
    seconds = {"damping": [1.0, 2.0, 4.0], "slow": [9.0, 9.0, 9.0], "fast": [2.0, 6.0, 8.0]}
    case = peers["cases"].parse("iso-256:8")
    row = peers["run"].summary(case, seconds, ["slow", "fast"], steps=10)
    assert (row["ours"], row["peer"]) == ("damping", "fast")
    assert row["ratios"]["damping"]["ratio"] == 2.0
    assert (row["ratios"]["damping"]["min"], row["ratios"]["damping"]["max"]) == (2.0, 3.0)
    assert row["against"]["slow"]["ratio"] == 4.5
    assert row["interior_gpts"]["damping"] == pytest.approx(16**3 * 10 / 2.0 / 1e9, abs=1e-4)


def test_the_founding_case_reports_its_memory(tmp_path):
    import subprocess

    command = [sys.executable, str(ROOT / "benchmarks" / "founding.py"), "--shape", "64", "96", "128"]
    command += ["--steps", "5", "--order", "4", "--boundary", "pml", "--storage", "f32", "--threads", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    (row,) = json.loads(run.stdout.splitlines()[-1])["rows"]
    assert row["points"] == 64 * 96 * 128
    assert row["finite"]
    assert row["kernel_seconds"] == pytest.approx(1600 * row["step_seconds"], rel=0.1)
    # beyond the plan: code and tables of the first steps, some MB
    assert row["memory"]["measured"] < 1.05 * row["memory"]["planned"] + 30e6
