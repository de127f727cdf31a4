"""Offset gathers and separated images of shots that ranks share: the bytes of one process."""

from launch import MPI, run
from survey_jobs import LINE, MIGRATE

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job

pytestmark = MPI

JOBS = {
    "offset": 'gathers = { kind = "offset", max = 400, step = 100, every = 4 }',
    "up-down": 'condition = "up-down"',
}


def test_ranks_share_shots_with_a_second_wavefield_of_the_receivers(tmp_path):
    (tmp_path / "model.toml").write_text(LINE.replace("n = 5", "n = 2"))
    model_job(Job.from_toml(tmp_path / "model.toml"), tmp_path / "shots")
    for name, imaging in JOBS.items():
        job = tmp_path / f"{name}.toml"
        text = MIGRATE.format(model="", spacing=10, shape="[61, 41]", f0=15, imaging=imaging)
        job.write_text(text + "[parallel]\nranks_per_shot = 2\n")
        one, two = tmp_path / f"{name} one", tmp_path / f"{name} two"
        migrate_job(Job.from_toml(job), one)
        done = run(2, ["subsalt", "migrate", job, "--run", two])
        assert done.rc == 0, done
        for file in [*(p.name for p in one.glob("gathers*")), "image.sgy"]:
            assert (two / file).read_bytes() == (one / file).read_bytes(), (name, file)
