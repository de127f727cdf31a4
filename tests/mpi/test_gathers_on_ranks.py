"""Gathers of runs on ranks, with whole shots or shared ones: the bytes of one process."""

from pathlib import Path

import pytest
from launch import MPI, run
from survey_jobs import LINE, MIGRATE, VOLUME

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.reimage import Wish, reimage_run
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
        shared = run(ranks, ["subsalt", "migrate", job, "--run", folder / "two"])
        assert shared.rc == 0, shared
        for file in [*made, "image.sgy"]:
            assert (folder / "two" / file).read_bytes() == (folder / "one" / file).read_bytes(), file
        if name == "line":
            # kept by ranks that share a shot, summed by one
            job.write_text(job.read_text().replace(imaging, "") + '[checkpoint]\nkeep = "both"\n')
            done = run(2, ["subsalt", "migrate", job, "--run", folder / "kept"])
            assert done.rc == 0, done
            again = reimage_run(folder / "kept", folder / "again", Wish(gathers="max=80, every=4"))
            assert "kept wavefields" in again.phases
            for file in ("gathers.sgy", "image.sgy"):
                # other jobs have other textual headers
                there, here = ((folder / place / file).read_bytes()[3600:] for place in ("again", "one"))
                assert there == here, file


#: case and cut of its grid by the ranks that share the shot
SHARED = {
    2: [("gathers, iso 2-D", "slabs")],
    4: [("gathers, tti 3-D", "slabs"), ("gathers, tti 3-D", (2, 2))],
    5: [("gathers, vti 2-D", "slabs")],
}


@pytest.mark.parametrize("ranks", list(SHARED))
def test_ranks_that_share_a_shot_have_the_sums_of_one_process(ranks: int, tmp_path: Path) -> None:
    """Half offsets reach over slabs and blocks; also with states that are computed again, and samples in 16 bits."""
    done = run(
        ranks,
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1] / "methods" / "rtm")!r})
        from dataclasses import replace
        import numpy as np
        import scheme_cases
        from scheme_cases import RECORD, migrated, scheme_of, setup_of, shot_of
        from subsalt.methods.rtm.engine import migrate_shot
        from subsalt.parallel.comm import world

        group, same = world(), []
        for case, decomp in {SHARED[ranks]!r}:
            setup, shot = setup_of(case), shot_of(case)
            parted = replace(setup, propagation=replace(setup.propagation, decomp=decomp))
            boundary = scheme_of(case, "boundary", chunk=3)
            traces = np.random.default_rng(2).uniform(-1, 1, (len(shot.rcv), RECORD.nt)).astype(np.float32)
            whole = setup.lags.inside(setup.window(shot))
            own = whole.share(group.rank, group.size).columns
            first = whole.columns.lo[0]
            for halved in (False, True):
                wanted = migrated(case, halved=halved).lags[own.lo[0] - first : own.hi[0] - first]
                for scheme in (None, scheme_of(case, "revolve", block=3, memory_slots=2)):
                    made = migrate_shot(parted, shot, traces, group=group, scheme=scheme, halved=halved).lags
                    same.append(made.tobytes() == wanted.tobytes() and made.shape == wanted.shape)
                    same.append(group.sum(int(made.any())) > 0)
            # the way back in time has bits of its own, whatever the ranks
            wanted = migrated(case, boundary).lags[own.lo[0] - first : own.hi[0] - first]
            made = migrate_shot(parted, shot, traces, group=group, scheme=boundary).lags
            same.append(made.tobytes() == wanted.tobytes())
        print("all alike" if all(same) else same)
        """,
    )
    assert done.rc == 0, done
    assert str(done).count("all alike") == ranks, done
