"""`subsalt example`: every survey is made, holds what its text says, and its commands run as printed."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from few_shots import LAND_SHOTS, shorten_the_land_line

from subsalt.errors import ConfigError
from subsalt.examples import EXAMPLES, NOTE, example_of, make_example
from subsalt.examples.layer import ERROR, LayerLine
from subsalt.examples.lens import CONTRAST, SPEED, LensLine
from subsalt.examples.marine import GRID, SHOTS, grid_of
from subsalt.io.segy.reading import read_survey
from subsalt.io.volumes import volume


def test_every_example_says_what_it_is():
    for name in EXAMPLES:
        example = example_of(name)
        text = example.readme(name, example.shots)
        assert all(file in text for file in example.files)
        assert all(command in text and command.startswith("subsalt ") for command in example.commands)
        assert example.shots <= example.most


def test_the_marine_line_has_its_shots_and_one_velocity_in_two_formats(tmp_path):
    example = make_example("marine", tmp_path / "line", 2)
    assert {p.name for p in (tmp_path / "line").iterdir()} == {*example.files, NOTE, "vp.rsf", "vp.rsf@"}
    survey = read_survey(tmp_path / "line" / "line.sgy")
    assert [len(shot.rcv) for shot in survey.shots] == [120, 120]
    rsf, segy = (volume.read(tmp_path / "line" / name) for name in ("vp.rsf", "vp.sgy"))
    assert np.array_equal(rsf.values, segy.values)
    # the model ends a kilometre in front of the last source; that of the whole line is whole
    assert rsf.grid.shape == grid_of(2).shape
    assert survey.shots[-1].src[0] + 1000.0 - 12.5 < rsf.grid.axis(0)[-1] <= survey.shots[-1].src[0] + 1000.0
    assert grid_of(SHOTS) == GRID


def test_made_again_it_is_the_same_and_nothing_else_is_overwritten(tmp_path):
    first = make_example("marine", tmp_path / "a", 1)
    before = (tmp_path / "a" / "line.sgy").read_bytes()
    make_example("marine", tmp_path / "a", 1)
    assert (tmp_path / "a" / "line.sgy").read_bytes() == before
    with pytest.raises(ConfigError, match="not empty") as refused:
        make_example("marine", tmp_path / "a", 2)
    assert refused.value.code == "E811"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match="not empty"):
        make_example("land", tmp_path / "b")
    (tmp_path / "c").write_text("a file")
    with pytest.raises(ConfigError, match="is a file"):
        make_example("land", tmp_path / "c")
    assert first.files


@pytest.mark.parametrize(
    ("name", "shots", "cure"),
    [
        ("nothing", None, "marine, vti3d"),
        ("land", 3, "use 14"),
        ("marine", 0, "1 to 1001"),
        ("marine", 1002, "1 to 1001"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_can(tmp_path, name, shots, cure):
    with pytest.raises(ConfigError) as refused:
        make_example(name, tmp_path / "x", shots)
    assert cure in refused.value.fix
    assert not (tmp_path / "x").exists()


def test_the_land_line_is_modelled_and_its_commands_run(tmp_path, monkeypatch, subsalt_command):
    """With two shots in the middle of the line; with all of them in ``make test-all``."""
    shorten_the_land_line(monkeypatch)
    code, out, _ = subsalt_command("example", "land", tmp_path / "land", "--json")
    assert code == 0
    assert json.loads(out.splitlines()[-1])["example"] == "land"
    monkeypatch.chdir(tmp_path / "land")
    assert len(list(Path("shots").glob("*.sgy"))) == LAND_SHOTS
    job = Path("migrate.toml")
    # `view` draws what a migration draws, too
    job.write_text(f"{job.read_text()}\n[output]\npictures = false\n")
    check, migrate, view = (shlex.split(command)[1:] for command in example_of("land").commands)
    code, out, err = subsalt_command(*check)
    # the shots are modelled with the wavelet of the job: their polarity is not doubted
    assert (code, "W351" in out + err) == (0, False)
    assert subsalt_command(*migrate)[0] == 0
    assert subsalt_command(*view)[0] == 0
    # the first reflector, 900 m below the datum, is the strongest of its depths
    image = volume.read(Path("migrate.run") / "image.rsf")
    z = image.grid.axis(1)
    trace = np.abs(image.values[100:201]).mean(axis=0)
    near = (z > 600.0) & (z < 1150.0)
    assert abs(z[near][np.argmax(trace[near])] - 900.0) <= 20.0


def test_the_command_lists_what_there_is(subsalt_command):
    code, out, _ = subsalt_command("example")
    assert code == 0
    assert all(name in out for name in EXAMPLES)


def test_the_wrong_velocity_of_the_layer_is_wrong_in_its_mask_alone():
    line = LayerLine()
    true, given, mask = line.vp(), line.vp(ERROR), line.mask() != 0
    assert np.allclose(given[mask] / true[mask], ERROR)
    assert np.array_equal(given[~mask], true[~mask])
    z = line.grid.axis(1)
    assert (z[mask[0]].min(), z[mask[0]].max()) == (800.0, 1090.0)


def test_reflectors_below_the_lens_have_one_contrast_and_the_jobs_of_the_line_run(tmp_path, subsalt_command):
    line = LensLine(spacing=25.0, f0=6.0, shots=2, receivers=9, record=0.6, tops=(400.0, 500.0, 600.0))
    line.write(tmp_path)
    vp, dm = (volume.read(tmp_path / f"{name}.rsf").values for name in ("vp", "dm"))
    assert np.unique(dm).tolist() == [0.0, np.float32(CONTRAST / SPEED**2)]
    assert np.flatnonzero(dm.any(axis=0)).tolist() == [16, 20, 24]
    # slowest in the middle of the lens, of which exp(-0.5 (200 / 60)^2) = 0.4 % are left at the first reflector
    assert np.unravel_index(vp.argmin(), vp.shape) == (40, 8)
    assert np.ptp(vp[:, 16:]) < 0.004 * SPEED
    # the commands of the line, small: the shots are those of the job in the folder, and migrate
    model, migrate = tmp_path / "model.toml", tmp_path / "migrate.toml"
    for job in (migrate, tmp_path / "lsrtm.toml"):
        job.write_text(f"{job.read_text()}\n[output]\npictures = false\n")
    born = ("--born", tmp_path / "dm.rsf", "-o", tmp_path / "shots", "--json")
    code, out, err = subsalt_command("model", model, *born)
    assert code == 0, err
    assert json.loads(out)["point_steps"] == 0
    code, _, err = subsalt_command("migrate", migrate, "-q")
    assert code == 0, err
    assert np.abs(volume.read(tmp_path / "migrate.run" / "image.sgy").values).max() > 0
    least = (tmp_path / "lsrtm.toml").read_text().replace("iterations = 10", "iterations = 4")
    (tmp_path / "lsrtm.toml").write_text(least)
    code, _, err = subsalt_command("migrate", tmp_path / "lsrtm.toml", "-q")
    assert code == 0, err
    # that image is a perturbation as it is, and predicts most of the traces
    code, _, err = subsalt_command("model", model, "--born", tmp_path / "lsrtm.run" / "image.rsf", "-q")
    assert code == 0, err
    recorded, predicted = (
        read_survey(sorted((tmp_path / of).glob("*.sgy"))) for of in ("shots", "model.born")
    )
    d, p = (np.stack([s.traces(shot) for shot in s.shots]).astype(float) for s in (recorded, predicted))
    assert np.sum((d - p) ** 2) < 0.2 * np.sum(d**2)
