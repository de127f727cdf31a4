"""Gathers of runs on ranks: the bytes of one process; ranks that would share a shot are refused by name."""

from launch import MPI, run
from survey_jobs import LINE, MIGRATE, VOLUME

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job

pytestmark = MPI

GATHERS = {
    "line": ("gathers = { max = 80, every = 4 }", LINE, "[61, 41]", 10, 15, ""),
    "volume": (
        'gathers = { max = 30, every = 5, along = "xy" }\ncondition = "inverse-scattering"',
        VOLUME,
        "[31, 13, 25]",
        "[10, 10, 10]",
        18,
        "epsilon = 0.1\ndelta = 0.05",
    ),
}


def test_gathers_have_the_bytes_of_one_process(tmp_path):
    for name, ranks in (("line", 3), ("volume", 2)):
        imaging, model, shape, spacing, f0, more = GATHERS[name]
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.toml").write_text(model)
        model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
        job = folder / "job.toml"
        job.write_text(MIGRATE.format(model=more, spacing=spacing, shape=shape, f0=f0, imaging=imaging))
        migrate_job(Job.from_toml(job), folder / "one")
        done = run(ranks, ["subsalt", "migrate", job, "--run", folder / "run"])
        assert done.rc == 0, done
        made = sorted(p.name for p in (folder / "one").glob("gathers*"))
        assert len(made) == (3 if name == "line" else 6)
        for file in [*made, "image.sgy"]:
            assert (folder / "run" / file).read_bytes() == (folder / "one" / file).read_bytes(), file
        job.write_text(job.read_text() + "[parallel]\nranks_per_shot = 2\n")
        refused = run(2, ["subsalt", "migrate", job, "--run", folder / "two"])
        assert refused.rc != 0
        assert "E757" in str(refused)
