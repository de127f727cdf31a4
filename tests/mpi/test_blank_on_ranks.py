"""What leaves nothing of an image is one error on several ranks too, with the exit code of its class."""

from launch import MPI, run

from kirchhoff_jobs import areal, write_job
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job

pytestmark = MPI

LINE = """
[grid]
spacing = 10
shape = [41, 31]
[source]
f0 = 15
[model]
vp = 2000
"""
MODEL = """
[acquisition]
shots = { first = [100, 0], last = [300, 0], n = 3 }
receivers = { first = [0, 0], last = [400, 0], n = 21 }
record_length = 0.25
dt = 0.002
files = "per-shot"
"""


def test_reimage_and_time_migration(tmp_path):
    (tmp_path / "model.toml").write_text(LINE + MODEL)
    model_job(Job.from_toml(tmp_path / "model.toml"), tmp_path / "shots")
    (tmp_path / "job.toml").write_text('[data]\nfiles = ["shots/*.sgy"]\n[output]\npictures = false\n' + LINE)
    migrate_job(Job.from_toml(tmp_path / "job.toml"), tmp_path / "run")
    areal(tmp_path / "traces.sgy")
    write_job(tmp_path, "time.toml", kirchhoff={"stretch_mute": 1e-6})
    # a mute that check can judge never gets as far as an image
    for command, exit_code, code, step in (
        (["reimage", "run", "--top-mute", "1 km", "--run", "new"], 78, "E844", "the step top_mute"),
        (["migrate", "time.toml", "--run", "time.run"], 65, "E314", "stretch_mute = 0.0001 %"),
    ):
        done = run(2, ["subsalt", *command], cwd=tmp_path)
        assert done.rc == exit_code, done
        said = done.err[0] + done.out[0]
        assert step in said, done
        assert said.count(f"{code} ") == 1, done
        assert "Traceback" not in said, done
        assert not done.err[1], done
    assert not (tmp_path / "new" / "image.sgy").exists()
    assert not (tmp_path / "time.run" / "image.sgy").exists()
