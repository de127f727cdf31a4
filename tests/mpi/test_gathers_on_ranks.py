"""Gathers of runs on ranks, with whole shots or shared ones: the bytes of one process."""

from pathlib import Path

import numpy as np
import pytest
from launch import MPI, run
from scheme_cases import migrated, scheme_of
from survey_jobs import LINE, MIGRATE, VOLUME

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.run.migrate import migrate_job
from thorough import ALL, thorough

pytestmark = MPI

#: of few shots
FEW = {"line": LINE.replace("n = 5", "n = 2"), "volume": VOLUME.replace("n = 3 }", "n = 2 }")}
GATHERS = {
    "line": ("gathers = { max = 80, every = 4 }", "[61, 41]", 10, 15, ""),
    "volume": (
        'gathers = { max = 30, every = 5, along = "xy" }\ncondition = "inverse-scattering"',
        "[31, 13, 25]",
        "[10, 10, 10]",
        18,
        "epsilon = 0.1\ndelta = 0.05",
    ),
}


def survey(folder: Path, name: str) -> tuple[Path, list[str]]:
    """Model shots and migrate them by one process into ``one``; return the job, and the files that are compared."""
    imaging, shape, spacing, f0, more = GATHERS[name]
    (folder / "model.toml").write_text(FEW[name])
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    job = folder / "job.toml"
    job.write_text(MIGRATE.format(model=more, spacing=spacing, shape=shape, f0=f0, imaging=imaging))
    migrate_job(Job.from_toml(job), folder / "one")
    return job, ["image.sgy", *sorted(p.name for p in (folder / "one").glob("gathers*"))]


def assert_same_on_ranks(ranks: int, job: Path, files: list[str], name: str) -> None:
    """Migrate on ranks into a folder of this name, and compare files with those of one process."""
    done = run(ranks, ["subsalt", "migrate", job, "--run", job.parent / name])
    assert done.rc == 0, done
    for file in files:
        there, here = ((job.parent / folder / file).read_bytes() for folder in (name, "one"))
        assert there == here, file


def test_gathers_of_a_line_have_the_bytes_of_one_process(tmp_path: Path) -> None:
    job, files = survey(tmp_path, "line")
    assert len(files) == 4
    assert_same_on_ranks(2, job, files, "whole")
    # shared, and kept by the ranks that share a shot: one process sums what they kept
    job.write_text(job.read_text() + '[parallel]\nranks_per_shot = 2\n[checkpoint]\nkeep = "both"\n')
    assert_same_on_ranks(3, job, files, "kept")
    again = reimage_run(tmp_path / "kept", tmp_path / "again", Wish(gathers="max=100, every=4"))
    assert "kept wavefields" in again.phases
    other = job.with_name("other.toml")
    other.write_text(job.read_text().replace("max = 80", "max = 100"))
    migrate_job(Job.from_toml(other), tmp_path / "fresh")
    for file in ("gathers.sgy", "image.sgy"):
        # other jobs have other textual headers
        there, here = ((tmp_path / place / file).read_bytes()[3600:] for place in ("again", "fresh"))
        assert there == here, file


@pytest.mark.parametrize("ranks_per_shot", [pytest.param(1, marks=thorough), 2])
def test_gathers_of_a_volume_have_the_bytes_of_one_process(tmp_path: Path, ranks_per_shot: int) -> None:
    # whole shots on ranks: the line above
    job, files = survey(tmp_path, "volume")
    assert len(files) == 7
    job.write_text(job.read_text() + f"[parallel]\nranks_per_shot = {ranks_per_shot}\n")
    assert_same_on_ranks(2, job, files, "shared")


#: case and cut of its grid by the ranks that share the shot: two slabs, blocks, and slabs between two others
SHARED = {
    2: [("gathers, iso 2-D", "slabs"), ("gathers, tti 3-D", "slabs")],
    4: [("gathers, tti 3-D", (2, 2)), *([("gathers, tti 3-D", "slabs")] if ALL else [])],
    5: [("gathers, vti 2-D", "slabs")],
}
#: whether samples are halved, and states computed again; both of each on every cut
WAYS = [(False, False), (True, True), *([(False, True), (True, False)] if ALL else [])]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the sums of one process: with whole and halved samples, and by the way back in time."""
    sums = {}
    for case in sorted({case for shared in SHARED.values() for case, _ in shared}):
        sums |= {f"{case} {halved}": migrated(case, halved=halved).lags for halved in (False, True)}
        # the way back in time has bits of its own, whatever the ranks
        sums[f"{case} back"] = migrated(case, scheme_of(case, "boundary", chunk=3)).lags
    assert all(a.any() for a in sums.values())
    path = tmp_path_factory.mktemp("sums") / "answers.npz"
    np.savez(path, **sums)
    return path


@pytest.mark.parametrize("ranks", list(SHARED))
def test_ranks_that_share_a_shot_have_the_sums_of_one_process(ranks: int, answers: Path) -> None:
    """Half offsets reach over slabs and blocks; also with states that are computed again, and samples in 16 bits."""
    done = run(
        ranks,
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1] / "methods" / "rtm")!r})
        from dataclasses import replace
        import numpy as np
        from scheme_cases import RECORD, scheme_of, setup_of, shot_of
        from subsalt.methods.rtm.engine import migrate_shot
        from subsalt.parallel.comm import world

        group, same, answers = world(), [], np.load({str(answers)!r})
        for case, decomp in {SHARED[ranks]!r}:
            setup, shot = setup_of(case), shot_of(case)
            parted = replace(setup, propagation=replace(setup.propagation, decomp=decomp))
            boundary = scheme_of(case, "boundary", chunk=3)
            traces = np.random.default_rng(2).uniform(-1, 1, (len(shot.rcv), RECORD.nt)).astype(np.float32)
            whole = setup.lags.inside(setup.window(shot))
            own = whole.share(group.rank, group.size).columns
            first = whole.columns.lo[0]
            again = scheme_of(case, "revolve", block=3, memory_slots=2)
            ways = [(str(halved), again if states else None, halved) for halved, states in {WAYS!r}]
            for name, scheme, halved in [*ways, ("back", boundary, False)]:
                wanted = answers[f"{{case}} {{name}}"][own.lo[0] - first : own.hi[0] - first]
                made = migrate_shot(parted, shot, traces, group=group, scheme=scheme, halved=halved).lags
                same.append(made.tobytes() == wanted.tobytes() and made.shape == wanted.shape)
                same.append(group.sum(int(made.any())) > 0)
        print("all alike" if all(same) else same)
        """,
    )
    assert done.rc == 0, done
    assert str(done).count("all alike") == ranks, done
