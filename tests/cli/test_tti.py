"""A tilted medium from the job file to the image, as a user meets it."""

import json

import numpy as np
import pytest
from launch import forked

from job_files import write_job
from patience import PATIENCE
from subsalt.earth.grid import Grid
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job

GRID = Grid((61, 41), (10.0, 10.0))

#: placeholders are filled by `texts`
MODEL = """
[model]
vp = "vp.rsf"
epsilon = 0.2
delta = 0.05
theta = {theta}

[source]
f0 = 12

[acquisition]
shots = {{ first = [150, 20], last = [450, 20], n = 2 }}
receivers = {{ first = [50, 20], last = [550, 20], n = 26 }}
record_length = 0.6
dt = "2 ms"
"""

MIGRATE = """
[data]
files = "{shots}/*.sgy"
line = "2d"

[model]
vp = "smooth.rsf"
epsilon = 0.2
delta = 0.05
theta = {theta}

[source]
f0 = 12

[output]
pictures = false
formats = ["npy"]
"""


def subsalt(*args, **env):
    """Run the command in a process of its own: exit code, stdout and stderr."""
    process = forked(args, {"NO_COLOR": "1"} | env)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def files(folder):
    """Write vp with a step below 250 m, and its smooth background."""
    vp = np.full(GRID.shape, 2000, np.float32)
    volume.write(folder / "smooth.rsf", GRID, vp)
    vp[:, 25:] = 2600
    volume.write(folder / "vp.rsf", GRID, vp)


def image(run, folder, name, theta, shots="tilted.shots", extra=""):
    """Migrate with a constant tilt and return the image."""
    job = write_job(folder, MIGRATE.format(shots=shots, theta=theta) + extra, f"{name}.toml")
    code, _, err = run("migrate", job)
    assert code == 0, err
    return np.load(folder / f"{name}.run" / "image.npy")


def test_a_tilted_line_from_job_to_image(tmp_path, subsalt_command):
    files(tmp_path)
    job = write_job(tmp_path, MODEL.format(theta=30), "tilted.toml")
    code, out, err = subsalt_command("check", job, "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert facts["errors"] == facts["warnings"] == 0
    assert facts["anisotropy_map"].endswith("anisotropy.png")
    assert (tmp_path / "tilted.check" / "anisotropy.png").read_bytes()[:4] == b"\x89PNG"
    code, _, err = subsalt_command("model", job)
    assert code == 0, err

    tilted = image(subsalt_command, tmp_path, "right", 30)
    upright = image(subsalt_command, tmp_path, "wrong", 30, extra='\n[propagation]\nmedium = "vti"\n')
    run = json.loads((tmp_path / "right.run" / "run.json").read_text())
    assert run["job"]["model"]["theta"] == {"value": 30.0}
    # the step at 245 m is a peak in the middle of the line; a quarter of a wavelength tells it from others
    depth = 10.0 * (10 + np.argmax(tilted[26:35, 10:].mean(axis=0)))
    assert depth == pytest.approx(245, abs=2000 / 12 / 4)
    assert not np.array_equal(tilted, upright)
    # an upright axis and a tilt of zero are one medium, hence one image
    np.testing.assert_array_equal(image(subsalt_command, tmp_path, "zero", 0), upright)


def test_a_tilted_axis_is_the_same_axis_turned_round(tmp_path, subsalt_command):
    files(tmp_path)
    model = Job.from_toml(write_job(tmp_path, MODEL.format(theta=150), "a.toml")).load_model()
    other = Job.from_toml(write_job(tmp_path, MODEL.format(theta=-30), "b.toml")).load_model()
    # 150 degrees is turned by pi in single precision
    np.testing.assert_allclose(model.theta, other.theta, atol=3e-7)
    _, out, _ = subsalt_command("check", tmp_path / "a.toml", "--no-map")
    assert "W425" in out
    assert "theta is outside -90 to 90 degrees: 150" in out


WRONG = {
    "radians in a file": ("E421", 65, lambda f: 0.9 * f, "theta.rsf", {}),
    "null values": ("E424", 65, lambda f: np.where(f > 0, -999.25, 0), "theta.rsf", {}),
    "a unit that is none": ("E103", 78, lambda f: f, {"file": "theta.rsf", "unit": "gon"}, {}),
    "an instruction set of the future": ("E702", 69, lambda f: 40 * f, "theta.rsf", {"SUBSALT_ISA": "v9"}),
    "tiles of no rows": ("E704", 78, lambda f: 40 * f, "theta.rsf", {"SUBSALT_TILE_ROWS": "abc"}),
    "a thousand threads": ("E703", 69, lambda f: 40 * f, "theta.rsf", {"OMP_NUM_THREADS": "1000"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_one_line_what_and_one_line_how(tmp_path, name, subsalt_command):
    code, status, values, section, env = WRONG[name]
    files(tmp_path)
    fold = np.sin(np.arange(61) / 8.0)[:, None] * np.ones(GRID.shape)
    volume.write(tmp_path / "theta.rsf", GRID, values(fold).astype(np.float32))
    text = section if isinstance(section, dict) else {"file": section}
    inline = "{" + ", ".join(f'{k} = "{v}"' for k, v in text.items()) + "}"
    job = write_job(tmp_path, MODEL.format(theta=inline), "tilted.toml")
    # the kernels read variables once in a process: with others a command has a start of its own. Modelling begins with
    # the check
    for command in ("model",) if env else ("check", "model"):
        if env:
            ended, out, err = subsalt(command, job, **env)
        else:
            ended, out, err = subsalt_command(command, job)
        assert ended == status, (command, out, err)
        lines = (out + err).splitlines()
        (at,) = [i for i, line in enumerate(lines) if f"{code} " in line]
        assert lines[at + 1].split()[0] == "fix:"
        assert not (tmp_path / "tilted.shots").exists()
    assert subsalt_command("explain", code)[0] == 0


def test_init_writes_the_tilt(tmp_path, subsalt_command):
    from job_files import write_files

    write_files(tmp_path)
    theta = (0.6 * np.sin(np.arange(81) / 9.0)[:, None] * np.ones((81, 51))).astype(np.float32)
    volume.write(tmp_path / "theta.rsf", Grid((81, 51), (10.0, 10.0)), theta)
    given = ["--from", tmp_path / "shots.sgy", "--vp", tmp_path / "vp.rsf"]
    given += [a for n in ("epsilon", "delta", "theta") for a in (f"--{n}", tmp_path / f"{n}.rsf")]
    code, _, err = subsalt_command("init", tmp_path / "new.toml", *given)
    assert code == 0, err
    job = Job.from_toml(tmp_path / "new.toml")
    # values below pi/2 in a file that declares nothing
    assert job.model.theta.unit == "radians"
    np.testing.assert_allclose(job.load_model().theta, theta, atol=3e-7)
