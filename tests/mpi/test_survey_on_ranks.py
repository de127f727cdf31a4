"""Whole runs under mpiexec: the bytes of one process for any ranks and groups, after kills, and with holes."""

import json
import shutil
import time

import pytest
from launch import MPI, Launched, kill_tree, run
from survey_jobs import IMAGING, job_file, results, with_ranks, write_jobs

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.ledger_file import peek
from subsalt.run.migrate import migrate_job
from thorough import ALL, thorough

pytestmark = MPI


@pytest.fixture(scope="module")
def surveys(tmp_path_factory):
    """Return a folder with modelled shots, jobs, and their images made by one process in ``NAME.one``."""
    folder = tmp_path_factory.mktemp("surveys")
    write_jobs(folder)
    for name in ("line", "volume"):
        model_job(Job.from_toml(folder / name / "model.toml"), folder / name / "shots")
    for name in IMAGING if ALL else ("line", "line by shot", "volume"):
        migrate_job(Job.from_toml(job_file(folder, name)), folder / f"{name}.one")
    return folder


@pytest.mark.parametrize(
    ("name", "ranks", "group"),
    [
        ("line", 2, "auto"),
        # two groups, and a group of all of four: between those beside them
        pytest.param("line", 4, 2, marks=thorough),
        ("line by shot", 3, 2),  # one group of three
        pytest.param("volume", 2, 2, marks=thorough),
        pytest.param("volume", 4, 4, marks=thorough),
        ("volume", 5, 2),  # groups of three and two
        # by inverse scattering on shared shots: `test_gathers_on_ranks`, and on blocks `test_jobs_on_blocks`
        pytest.param("volume by angle", 5, 2, marks=thorough),
    ],
)
def test_the_image_is_that_of_one_process(surveys, tmp_path, name, ranks, group):
    job = with_ranks(job_file(surveys, name), group)
    done = run(ranks, ["subsalt", "migrate", job, "--run", tmp_path / "run"])
    assert done.rc == 0, done
    assert results(tmp_path / "run") == results(surveys / f"{name}.one")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    one = json.loads((surveys / f"{name}.one" / "run.json").read_text())
    assert facts["parallel"]["ranks"] == ranks
    assert sum(facts["parallel"]["groups"]) == ranks
    # slabs compute what the waves have not reached, too
    assert facts["grid_point_steps"] == one["grid_point_steps"]
    assert facts["image"] == one["image"]
    # the phases of every rank sum to its wall time
    for how in ("mean", "max"):
        seconds = {k: v[how] for k, v in facts["over_ranks"]["phases"].items()}
        assert how == "max" or sum(seconds.values()) == pytest.approx(2 * seconds["wall"])
    # one rank alone speaks, and not of every shot
    assert not any(done.out[1:])
    assert not any(done.err[1:])
    assert len(done.err[0].splitlines()) < 5, done
    assert not done.mpiexec, done
    _assert_ranks_read_the_traces_of_their_slab(name, max(facts["parallel"]["groups"]), facts)
    assert not [p for p in (tmp_path / "run").rglob("*") if p.suffix in (".tmp", ".old")]


def _assert_ranks_read_the_traces_of_their_slab(name, group, facts):
    if name not in ("line", "volume"):
        return
    stored = facts["over_ranks"]["input"]["traces"]
    nt = {"line": 201, "volume": 81}[name]
    assert stored["read"] == stored["wanted"] / (4 * nt) * (240 + 4 * nt)
    traces = stored["wanted"] // (4 * nt)
    if name == "line":
        # receivers on nodes act on one plane, which one rank owns
        assert traces == 5 * 61
    else:
        # between nodes those within 6 planes (60 m) of a cut act on both sides of it: 19.5 m apart, at most 7 per row
        assert 3 * 42 < traces <= 3 * 3 * (14 + 7 * (group - 1))


@thorough  # struck and gone on with other ranks is what `test_struck_run` does, once
def test_killed_and_gone_on_with_other_ranks(surveys, tmp_path):
    """Killed twice, each time with a shot done; the rest with another number of ranks. Nothing done is done again."""
    name, folder = "line", tmp_path / "run"
    finished = set()
    # at most two shots at a time, then one: of five some are left, whatever is done while the run is struck
    for ranks, group in ((2, 1), (4, 4)):
        job = with_ranks(job_file(surveys, name), group)
        # a slow file system: the run must not be over before it is struck
        started = Launched(ranks, SLOW.format(job=str(job), run=str(folder)), own_start=False)
        while not _done(folder) - finished and started.process.poll() is None:
            time.sleep(0.01)
        kill_tree(started.process.pid)
        started.wait()
        assert finished < _done(folder), started
        finished = _done(folder)
    assert len(finished) < 5
    stamps = {p: p.stat().st_mtime_ns for p in (folder / "images").glob("shot_*.planes")}
    done = run(2, ["subsalt", "migrate", with_ranks(job_file(surveys, name), 2), "--run", folder])
    assert done.rc == 0, done
    assert results(folder) == results(surveys / f"{name}.one")
    for shot in finished:
        path = folder / "images" / f"shot_{shot:06d}.planes"
        assert path.stat().st_mtime_ns == stamps[path]
    # and by one process: nothing is left to do
    again = migrate_job(Job.from_toml(job_file(surveys, name)), folder)
    assert again.point_steps == 0
    assert results(folder) == results(surveys / f"{name}.one")


#: a migration whose shots take a quarter of a second more
SLOW = """
    import time
    from pathlib import Path
    import subsalt.methods.rtm.migrate as shots
    from subsalt.methods.rtm.job import Job
    from subsalt.run.migrate import migrate_job
    real = shots.migrate_shot
    def slow(*args, **kwargs):
        time.sleep(1.0)
        return real(*args, **kwargs)
    shots.migrate_shot = slow
    migrate_job(Job.from_toml("{job}"), Path("{run}"))
"""


def _done(folder):
    return {r["id"] for r in peek(folder) if r["state"] == "done"}


HOLE = """
    import sys
    from dataclasses import replace
    from pathlib import Path
    import numpy as np
    import sqlite3
    import subsalt.methods.rtm.job_setup as runner
    from subsalt.run.migrate import migrate_job
    from subsalt.parallel.comm import world
    from subsalt.methods.rtm.job import Job
    original = runner.survey_of
    opened, connect = [], sqlite3.connect
    sqlite3.connect = lambda *a, **k: (opened.append(a), connect(*a, **k))[1]

    def with_nan(job, model):
        whole = original(job, model)

        def read(shot, rows=None):
            data = whole.reader(shot, rows).copy()
            # the last receiver of shot 3: only the rank at the right end of the line reads it
            if shot.id == 3 and (rows is None or rows[-1] == 60):
                data[-1, 7] = np.nan
            return data

        return replace(whole, reader=read)

    runner.survey_of = with_nan
    THREADS
    result = migrate_job(Job.from_toml("JOB"), Path("RUN"))
    # the ledger has one writer: the other ranks could be on other nodes
    print(result.shots_done, result.shots_failed, bool(opened) == world().is_root)
"""


@pytest.mark.parametrize(
    ("ranks", "group", "threads"),
    [(2, 2, True), pytest.param(4, 2, False, marks=thorough), (3, 1, False)],
)
def test_a_shot_that_fails_on_one_rank_is_set_aside(surveys, tmp_path, ranks, group, threads):
    """The survey goes on, and the image is that of the others; also where MPI serves one thread only."""
    job = with_ranks(job_file(surveys, "line"), group)
    code = HOLE.replace("JOB", str(job)).replace("RUN", str(tmp_path / "run"))
    alone = "import subsalt.run.scheduler\n    subsalt.run.scheduler.thread_multiple = lambda: False"
    done = run(ranks, code.replace("THREADS", "" if threads else alone))
    assert done.rc == 0, done
    assert done.out == ["[1, 2, 4, 5] [3] True\n"] * ranks, done
    rows = {r["id"]: r for r in peek(tmp_path / "run")}
    assert {rows[shot]["attempt"] for shot in (1, 2, 4, 5)} == {1}
    assert rows[3]["state"] == "quarantined"
    assert "1 of" in rows[3]["reason"]
    one = results(surveys / "line.one")
    many = results(tmp_path / "run")
    assert "shot_000003.planes" not in many
    for shot in (1, 2, 4, 5):
        assert many[f"shot_{shot:06d}.planes"] == one[f"shot_{shot:06d}.planes"]
    assert many["image.sgy"] != one["image.sgy"]


def test_wrong_input_is_said_once(surveys, tmp_path):
    """One message on rank 0, the exit code of its class, and nothing written."""
    job = job_file(surveys, "line")
    # a halo of up to 16 planes leaves no room for slabs of six ranks in 61 planes and two layers of 6
    wide = job.with_name("wide.toml")
    wide.write_text(job.read_text().replace("layer = 6", "layer = 6\norder = 16"))
    thin = with_ranks(wide, 6)
    # as many ranks as that take long: the plan says it in `test_jobs_on_blocks`, the group in `test_shots_on_slabs`
    cases = [(6, ["subsalt", "migrate", thin, "--run", tmp_path / "thin"], "E720", 78)] if ALL else []
    run_dir = tmp_path / "other"
    shutil.copytree(surveys / "line by shot.one", run_dir)
    cases.append((2, ["subsalt", "migrate", job, "--run", run_dir], "E810", 78))
    command = ["subsalt", "model", surveys / "volume" / "model.toml", "--out", surveys / "line" / "shots"]
    cases.append((2, command, "E811", 78))
    before = results(run_dir)
    for ranks, command, code, exit_code in cases:
        done = run(ranks, command)
        assert done.rc == exit_code, done
        said = "".join([*done.out, *done.err, done.mpiexec])
        assert said.count(code) == 1, done
        assert code in done.err[0], done
        assert "Traceback" not in said, done
    assert not (tmp_path / "thin").exists()
    assert results(run_dir) == before


def test_a_damaged_partial_image_is_noticed_by_the_rank_that_reads_it(surveys, tmp_path):
    """Between the check at the start and the sum: exit code 74, said once, and the next start makes it again."""
    job, folder = with_ranks(job_file(surveys, "line"), 1), tmp_path / "run"
    shutil.copytree(surveys / "line.one", folder)
    done = run(
        3,
        f"""
        from pathlib import Path
        import subsalt.methods.rtm.migrate as runner
        from subsalt.run.migrate import migrate_job
        from subsalt.parallel.comm import world
        from subsalt.errors import CorruptionError
        from subsalt.methods.rtm.job import Job
        real, bad = runner.sum_image, Path("{folder}/images/shot_000002.planes")

        def damage(*args):
            if world().is_root:
                data = bytearray(bad.read_bytes())
                data[-1] ^= 1  # the last plane, which the last rank sums
                bad.write_bytes(data)
            world().allgather(0)
            return real(*args)

        runner.sum_image = damage
        try:
            migrate_job(Job.from_toml("{job}"), Path("{folder}"))
        except CorruptionError as error:
            print(error.code, error.exit_code, "plane 60" in error.message)
        """,
    )
    assert done.out == ["E641 74 True\n"] * 3, done
    assert [r["id"] for r in peek(folder) if r["state"] == "planned"] == [2]
    migrate_job(Job.from_toml(job), folder)
    assert results(folder) == results(surveys / "line.one")


@pytest.mark.parametrize(
    ("name", "ranks", "group"),
    [
        pytest.param("line", 3, 1, marks=thorough),
        pytest.param("line", 4, 4, marks=thorough),
        ("volume", 4, 2),
    ],
)
def test_modelled_shots_are_those_of_one_process(surveys, tmp_path, name, ranks, group):
    job = with_ranks(surveys / name / "model.toml", group)
    shots = {p.name: p.read_bytes() for p in (surveys / name / "shots").glob("*.sgy")}
    out = tmp_path / "shots"
    done = run(ranks, ["subsalt", "model", job, "--out", out])
    assert done.rc == 0, done
    assert {p.name: p.read_bytes() for p in out.glob("*.sgy")} == shots
    # what is missing is made again, nothing else
    (out / "shot_000002.sgy").unlink()
    written_at = (out / "shot_000001.sgy").stat().st_mtime_ns
    again = model_job(Job.from_toml(surveys / name / "model.toml"), out)
    assert {p.name: p.read_bytes() for p in out.glob("*.sgy")} == shots
    assert (out / "shot_000001.sgy").stat().st_mtime_ns == written_at
    assert again.point_steps > 0
