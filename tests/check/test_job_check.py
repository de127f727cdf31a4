"""Checks of whole jobs with their files: the wrong inputs a user brings, each refused before anything is
computed.
"""

import dataclasses
import os
import sys

import numpy as np
import pytest
from rules_alone import rules_on

from job_files import GRID, MIGRATE, example_job, survey, velocity, write_files, write_job
from subsalt.cli.check_command import place_beside
from subsalt.earth.grid import Grid
from subsalt.errors import FindingsError, SubsaltError
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.job.checking import check_job
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.view import draw_gate, draw_survey
from thorough import some

PNG = b"\x89PNG"


def check_of(folder, text=MIGRATE):
    """Return the result of checking a job in `folder`."""
    return rules_on(Job.from_toml(write_job(folder, text)))


def codes(result, level="error"):
    """Return the codes of the findings of one level."""
    return [f.code for f in result.findings if f.level == level]


def rewrite(folder, name, values, grid=GRID):
    """Replace a model file."""
    volume.write(folder / f"{name}.rsf", grid, np.asarray(values, np.float32))


def far_receiver(folder):
    line = survey()
    line.shots[1].rcv[4, 0] += 10_000
    write_survey(folder / "shots.sgy", line)


def truncated(folder):
    path = folder / "shots.sgy"
    path.write_bytes(path.read_bytes()[:-1000])


def directory(folder):
    (folder / "shots.sgy").unlink()
    (folder / "shots.sgy").mkdir()


def nan_trace(folder):
    raw = bytearray((folder / "shots.sgy").read_bytes())
    # sample 10 of trace 3: 3600 bytes of file headers, then 240 bytes and the samples of each trace
    at = 3600 + 3 * (240 + 4 * survey().time.nt) + 240 + 4 * 10
    raw[at : at + 4] = np.array([np.nan], ">f4").tobytes()
    (folder / "shots.sgy").write_bytes(bytes(raw))


def unknown_format(folder):
    raw = bytearray((folder / "shots.sgy").read_bytes())
    raw[3224:3226] = (255).to_bytes(2, "big")
    (folder / "shots.sgy").write_bytes(bytes(raw))


def above_surface(folder):
    line = survey()
    line.shots = [dataclasses.replace(s, rcv=s.rcv - [0, 0, 60.0]) for s in line.shots]
    write_survey(folder / "shots.sgy", line)


MISTAKES = {
    "truncated SEG-Y": ("E213", 65, truncated),
    "a directory": ("E110", 66, directory),
    "an empty file": ("E210", 65, lambda f: (f / "shots.sgy").write_bytes(b"")),
    "a 2-byte file": ("E212", 65, lambda f: (f / "shots.sgy").write_bytes(b"ab")),
    "missing shots": ("E110", 66, lambda f: (f / "shots.sgy").unlink()),
    "missing model": ("E110", 66, lambda f: (f / "vp.rsf").unlink()),
    "model of the wrong shape": (
        "E401",
        65,
        lambda f: rewrite(f, "epsilon", np.zeros((81, 40)), Grid((81, 40), (10.0, 10.0))),
    ),
    "km/s": ("E412", 65, lambda f: rewrite(f, "vp", velocity() / 1000)),
    "NaN in epsilon": ("E410", 65, lambda f: rewrite(f, "epsilon", np.where(velocity() > 1900, np.nan, 0.1))),
    "per cent": ("E418", 65, lambda f: rewrite(f, "epsilon", np.full(GRID.shape, 10.0))),
    "a receiver 10 km away": ("E332", 65, far_receiver),
    "receivers in the air": ("E334", 65, above_surface),
    "NaN in a trace": ("E250", 65, nan_trace),
    "unknown sample format": ("E211", 65, unknown_format),
    "text instead of SEG-Y": (None, 65, lambda f: (f / "shots.sgy").write_text("hello " * 2000)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_files_are_refused(tmp_path, name):
    code, exit_code, plant = MISTAKES[name]
    write_files(tmp_path)
    plant(tmp_path)
    result = check_of(tmp_path)
    assert codes(result)
    assert code is None or code in codes(result), codes(result)
    assert result.exit_code() == exit_code
    assert all(f.fix for f in result.findings if f.level == "error")
    assert len(codes(result)) == len(set(codes(result)))


TEXTS = {
    "dt too large": ("E501", MIGRATE + "\n[propagation]\ndt = '20 ms'\n"),
    "coarse grid": ("E531", MIGRATE.replace("10 Hz", "90 Hz")),
    "pattern without match": ("E112", MIGRATE.replace("shots.sgy", "*.segy")),
    "shots that are not there": ("E304", MIGRATE.replace('line = "2d"', 'line = "2d"\nshots = [77]')),
    "2-D data as 3-D": ("E329", MIGRATE.replace('"2d"', '"3d"')),
    "shifted frame": ("E330", MIGRATE.replace('line = "2d"', 'line = "2d"\nframe = {x0 = "-90 km"}')),
    "neither data nor acquisition": ("E102", MIGRATE[MIGRATE.index("[model]") :]),
    "rejected anisotropy": (
        "E520",
        MIGRATE.replace('"epsilon.rsf"', "0.01") + '\n[propagation]\nanisotropy = "reject"\n',
    ),
    "a time step in the wrong unit": ("E280", MIGRATE.replace('line = "2d"', 'line = "2d"\nfix = {dt = 4}')),
}


@pytest.mark.parametrize("name", TEXTS)
def test_wrong_settings_are_refused(tmp_path, name):
    code, text = TEXTS[name]
    write_files(tmp_path)
    result = check_of(tmp_path, text)
    assert code in codes(result), result.findings


def test_nothing_is_found_in_a_clean_job(tmp_path):
    write_files(tmp_path)
    result = check_of(tmp_path)
    assert codes(result) == []
    assert codes(result, "warning") == []
    assert result.exit_code() == 0
    # what could not be looked at on so small a survey counts with --strict, and only that
    assert {f.level for f in result.findings} <= {"ok", "unchecked"}
    assert result.exit_code(strict=True) == (65 if "unchecked" in {f.level for f in result.findings} else 0)
    assert result.facts["dt"] < result.facts["stable_dt"]
    assert result.facts["memory_bytes"] > 0
    assert not any(name.startswith("_") for name in result.facts)


def test_several_mistakes_are_found_at_once(tmp_path):
    write_files(tmp_path)
    far_receiver(tmp_path)
    rewrite(tmp_path, "delta", np.full(GRID.shape, 7.0))
    result = check_of(tmp_path, MIGRATE + "\n[propagation]\ndt = 0.02\n")
    assert {"E332", "E418", "E501"} <= set(codes(result))


def test_a_job_that_cannot_fit_is_refused_with_numbers(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.setattr("subsalt.plan.world.available_memory", lambda: 100_000)
    result = check_of(tmp_path)
    assert codes(result) == ["E610"]
    assert result.exit_code() == 69


def test_warnings_count_only_when_strict(tmp_path):
    write_files(tmp_path)
    result = check_of(tmp_path, MIGRATE + '\n[propagation]\nboundary = "none"\n')
    assert codes(result, "warning") == ["W503"]
    assert (result.exit_code(), result.exit_code(strict=True)) == (0, 65)


def test_the_map_is_drawn_also_with_mistakes(tmp_path):
    write_files(tmp_path)
    far_receiver(tmp_path)
    job = Job.from_toml(write_job(tmp_path))
    picture = draw_survey(job, check_job(job), place_beside(job, None))
    assert picture == tmp_path / "line.check" / "map.png"
    assert picture.read_bytes().startswith(PNG)


def test_no_map_without_a_survey(tmp_path):
    job = Job.from_toml(write_job(tmp_path))
    assert draw_survey(job, check_job(job), place_beside(job, None)) is None
    assert not (tmp_path / "line.check").exists()


def test_checking_again_sees_a_repaired_file(tmp_path):
    write_files(tmp_path)
    rewrite(tmp_path, "vp", velocity() / 1000)
    job = Job.from_toml(write_job(tmp_path))
    assert "E412" in [f.code for f in check_job(job).findings]
    rewrite(tmp_path, "vp", velocity())
    job.forget()
    assert "E412" not in [f.code for f in check_job(job).findings]


@pytest.mark.shared_data
@pytest.mark.parametrize("example", ["viking", "marmousi_model"])
def test_the_examples_are_in_order(tmp_path, example):
    assert codes(rules_on(Job.from_toml(example_job(tmp_path, example)))) == []


def test_bad_traces_set_to_zero_are_no_error(tmp_path):
    write_files(tmp_path)
    nan_trace(tmp_path)
    result = check_of(tmp_path, MIGRATE.replace('line = "2d"', 'line = "2d"\nbad_traces = "zero"'))
    assert codes(result) == []
    assert "W250" in codes(result, "warning")


def test_a_format_that_cannot_be_written_is_refused_before_the_first_shot(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    write_files(tmp_path)
    result = check_of(tmp_path, MIGRATE[: MIGRATE.index("[output]")] + '[output]\nformats = ["zarr"]\n')
    assert "E113" in codes(result)
    assert result.exit_code() == 78


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    write_files(tmp_path)
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, *a, **k: "vp.rsf" not in str(path) and allowed(path, *a, **k)
    )
    result = check_of(tmp_path)
    assert codes(result) == ["E111"]
    assert result.exit_code() == 66


def test_a_folder_that_may_not_be_listed(tmp_path, monkeypatch):
    write_files(tmp_path)
    (tmp_path / "closed").mkdir()
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, *a, **k: "closed" not in str(path) and allowed(path, *a, **k)
    )
    result = check_of(tmp_path, MIGRATE.replace("shots.sgy", "closed/*.sgy"))
    assert codes(result) == ["E111"]


def test_a_missing_table_is_named_without_a_stray_colon(tmp_path):
    text = MIGRATE.replace('vp = "vp.rsf"', "vp = 2000")
    with pytest.raises(FindingsError) as caught:
        Job.from_toml(write_job(tmp_path, text))
    assert caught.value.findings[0].message.startswith("[grid] is missing")


def gate_of(monkeypatch, tmp_path, extra, write=None):
    """Return the labels and the line of facts that the anisotropy map of a job would have; None without a map."""
    from subsalt import view

    seen = []
    monkeypatch.setattr(
        view, "gate_map", lambda model, path, flags, about, title: seen.append((flags, about)) or path
    )
    write_files(tmp_path)
    if write is not None:
        write()
    job = Job.from_toml(write_job(tmp_path, extra))
    made = draw_gate(job, check_job(job), place_beside(job, tmp_path))
    assert (made is None) == (not seen)
    return seen[0] if seen else None


TILTED = MIGRATE.replace("[source]", 'theta = "theta.rsf"\n\n[source]')


@pytest.mark.parametrize(
    ("rule", "repair"),
    [("lower-delta", "delta is lowered"), ("raise-epsilon", "epsilon is raised"), ("reject", "refused")],
)
def test_the_gate_map_says_the_repair_that_was_chosen(monkeypatch, tmp_path, rule, repair):
    delta = np.full(GRID.shape, 0.05)
    delta[30:33, 20] = 0.3
    text = MIGRATE + f'\n[propagation]\nanisotropy = "{rule}"\n'
    flags, about = gate_of(monkeypatch, tmp_path, text, lambda: rewrite(tmp_path, "delta", delta))
    (flag,) = flags
    assert flag.label == f"delta > epsilon at 3 nodes: {repair}"
    assert np.argwhere(flag.nodes).tolist() == [[30, 20], [31, 20], [32, 20]]
    assert about == ""


def test_the_gate_map_shows_where_the_axis_turns_too_fast(monkeypatch, tmp_path):
    theta = np.full(GRID.shape, 10.0)
    theta[40:, :] = 70.0
    flags, about = gate_of(monkeypatch, tmp_path, TILTED, lambda: rewrite(tmp_path, "theta", theta))
    (flag,) = flags
    assert "more than 45 degrees per cell at 102 nodes: kept" in flag.label
    # both sides of the jump
    assert sorted(set(np.argwhere(flag.nodes)[:, 0].tolist())) == [39, 40]
    assert about == "tilt up to 70 degrees, at most 60 per cell"


def test_the_gate_map_is_drawn_for_a_tilt_without_fault_and_not_for_a_sound_vti(monkeypatch, tmp_path):
    assert gate_of(monkeypatch, tmp_path, MIGRATE) is None
    flags, about = gate_of(
        monkeypatch, tmp_path, TILTED, lambda: rewrite(tmp_path, "theta", np.full(GRID.shape, 30.0))
    )
    assert flags == []
    assert about == "nothing to repair · tilt up to 30 degrees, at most 0 per cell"
    assert gate_of(monkeypatch, tmp_path, TILTED + '\n[propagation]\nmedium = "vti"\n') is None


def test_a_half_turn_in_single_precision_is_no_null_value(tmp_path):
    write_files(tmp_path)
    for name, turn in (("theta", np.pi), ("phi", 2 * np.pi)):
        # both round upwards: pi to 3.14159274, 2 pi to 6.2831855
        rewrite(tmp_path, name, np.full(GRID.shape, turn))
    angles = "".join(f'{n} = {{file = "{n}.rsf", unit = "rad"}}\n' for n in ("theta", "phi"))
    result = check_of(tmp_path, MIGRATE.replace("[source]", f"{angles}\n[source]"))
    assert codes(result) == []
    # a half turn is the upright axis: nothing to tilt
    assert np.abs(result.context.model.theta).max() < 1e-6


# ---- traces that are left out, and cures that are tried


def spiked(folder):
    line = survey()
    line.shots[1].data[4, 60] = 1e4
    write_survey(folder / "shots.sgy", line)


def test_a_spike_is_refused_and_left_out_by_the_key_that_is_offered(tmp_path):
    write_files(tmp_path)
    before = Job.from_toml(write_job(tmp_path, MIGRATE))
    spiked(tmp_path)
    result = check_of(tmp_path)
    (finding,) = (f for f in result.findings if f.level == "error")
    assert finding.code == "E246"
    assert finding.evidence["traces"] == [{"file": str(tmp_path / "shots.sgy"), "shot": 2, "trace": 20}]
    key = finding.fix.split(";")[0].removeprefix("[data] ")
    assert key == 'exclude = [{file = "shots.sgy", traces = 20}]'
    text = MIGRATE.replace('line = "2d"', f'line = "2d"\n{key}')
    mended = check_of(tmp_path, text)
    assert codes(mended) == codes(mended, "warning") == []
    assert any("1 of 45 traces are left out" in f.message for f in mended.findings)
    # the run is another one, and that of a job without the key is what it was
    after = Job.from_toml(write_job(tmp_path, text))
    assert after.of_the_image()["data"]["exclude"] == [{"file": "shots.sgy", "traces": 20}]
    assert not {"exclude", "noisy_traces", "duplicates"} & set(before.of_the_image()["data"])
    (tmp_path / "again.toml").write_text(after.resolved_toml())
    assert Job.from_toml(tmp_path / "again.toml").of_the_image() == after.of_the_image()
    shots = after.load_survey().shots
    assert [len(s.rcv) for s in shots] == [15, 14, 15]
    by_number = MIGRATE.replace('line = "2d"', 'line = "2d"\nexclude = [{shot = 2, channels = [5]}]')
    assert codes(check_of(tmp_path, by_number)) == []
    job_kept = check_of(tmp_path, MIGRATE.replace('line = "2d"', 'line = "2d"\nnoisy_traces = "keep"'))
    assert (codes(job_kept), codes(job_kept, "warning")) == ([], ["W246"])


def test_noise_that_a_step_zeroes_is_no_error(tmp_path):
    write_files(tmp_path)
    spiked(tmp_path)
    step = '\n[[signal]]\nstep = "edit"\nwhere = "{}"\n'
    for where in ("peak > 100*median", "ffid = 2 and channel = 5"):
        result = check_of(tmp_path, MIGRATE + step.format(where))
        (noise,) = (f for f in result.findings if f.code in ("E246", "W246"))
        assert noise.code == "W246"
        assert noise.message.endswith("[[signal]] 1 (edit) zeroes the 1 in these shots")
        assert codes(result) == []
    result = check_of(tmp_path, MIGRATE + step.format("ffid = 2 and channel = 4"))
    (noise,) = (f for f in result.findings if f.level == "error")
    assert noise.code == "E246"
    assert noise.message.endswith("[[signal]] 1 (edit) leaves 1 of the 1 in these shots")


@pytest.mark.parametrize("steps", ["", '\n[[signal]]\nstep = "edit"\nwhere = "peak > 100*median"\n'])
def test_noise_in_shots_that_are_not_used_is_no_error(tmp_path, steps):
    write_files(tmp_path)
    spiked(tmp_path)
    for shots, code in (("1, 3", "I000"), ("2-3", "W246" if steps else "E246")):
        text = MIGRATE.replace('line = "2d"', f'line = "2d"\nshots = "{shots}"')
        (noise,) = (f for f in check_of(tmp_path, text + steps).findings if "far stronger" in f.message)
        assert noise.code == code


def test_a_file_named_twice_is_refused(tmp_path):
    write_files(tmp_path)
    (tmp_path / "again.sgy").write_bytes((tmp_path / "shots.sgy").read_bytes())
    text = MIGRATE.replace('["shots.sgy"]', '["shots.sgy", "again.sgy"]')
    assert "E728" in codes(check_of(tmp_path, text))
    first = check_of(tmp_path, text.replace('line = "2d"', 'line = "2d"\nduplicates = "first"'))
    assert codes(first) == codes(first, "warning") == []


@pytest.mark.parametrize("entry", ["{traces = [3]}", "{}", '{shot = "x"}'])
def test_entries_that_say_nothing_are_refused(tmp_path, entry):
    write_files(tmp_path)
    text = MIGRATE.replace('line = "2d"', f'line = "2d"\nexclude = [{entry}]')
    with pytest.raises(SubsaltError) as caught:
        check_of(tmp_path, text)
    assert caught.value.exit_code == 78


def test_an_entry_for_another_file_is_refused(tmp_path):
    write_files(tmp_path)
    text = MIGRATE.replace('line = "2d"', 'line = "2d"\nexclude = [{file = "other.sgy"}]')
    assert codes(check_of(tmp_path, text)) == ["E244"]


def test_a_far_receiver_is_named_with_its_trace(tmp_path):
    write_files(tmp_path)
    far_receiver(tmp_path)
    (finding,) = (f for f in check_of(tmp_path).findings if f.code == "E332")
    key = finding.fix[finding.fix.index("exclude") :]
    assert key == 'exclude = [{file = "shots.sgy", traces = 20}]'
    mended = check_of(tmp_path, MIGRATE.replace('line = "2d"', f'line = "2d"\n{key}'))
    assert codes(mended) == []


@pytest.mark.parametrize("scalar", some([1, 100, -1, -10, 0], 3))
def test_a_scalar_is_offered_that_was_tried(tmp_path, scalar):
    write_files(tmp_path)
    raw = bytearray((tmp_path / "shots.sgy").read_bytes())
    size, n = 240 + 4 * survey().time.nt, 45
    for i in range(n):
        at = 3600 + i * size
        raw[at + 70 : at + 72] = int(scalar).to_bytes(2, "big", signed=True)
        raw[at + 36 : at + 40] = bytes(4)
    (tmp_path / "shots.sgy").write_bytes(bytes(raw))
    result = check_of(tmp_path)
    offered = [f.fix for f in result.findings if f.level == "error" and "[data.fix] scalar = -100" in f.fix]
    assert offered, result.findings
    mended = check_of(tmp_path, MIGRATE + "\n[data.fix]\nscalar = -100\n")
    assert codes(mended) == []
