"""The built-in profile counts what the interposer counts, in the same run; and nothing where nobody asks for it."""

import json
import sys
from pathlib import Path

import pytest
from launch import MPI, mpiexec, run

from job_files import RUN, survey, write_files
from patience import PATIENCE
from subsalt.errors import SubsaltError
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job
from subsalt_lab.cli.profile import profile_built_in
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.pmpi.records import MpiProfile
from subsalt_lab.pmpi.run import interposer, profile
from thorough import thorough

pytestmark = MPI

#: uses all that is counted; ranks wait for one that sleeps in calls that do not return before it comes
PROGRAM = """
import time
import numpy as np
from subsalt.parallel import comm, mpi_library
from subsalt.timing import Phases
from subsalt.parallel.waiting import wait

world = comm.world()
mpi, r, n = world.mpi, world.rank, world.size
clock = Phases()
a, b = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
with clock("setup"):
    half = world.split(r % 2)
    again = half.duplicate()
    other = world.on_host()
    again.allgather({"rank": r})
    again.free()
    world.agree()
    world.bcast({"told": "x" * 1000}, root=n - 1)
    world.gather_array(np.arange(r, dtype=np.float64))
    world.bcast_array(b)
with clock("source"):
    up, down = (r + 1) % n, (r - 1) % n
    requests = [mpi.Send_init(a, up, 1), mpi.Recv_init(b, down, 1)]
    start_all, test_all = mpi_library.start_all(), mpi_library.test_all()
    for _ in range(5):
        start_all(requests)
        wait(lambda: test_all(requests))
    assert (b == a).all()
    for request in requests:
        request.Free()
    sent, got = mpi.Isend(a[:50], up, 2), mpi.Irecv(b[:50], down, 2)
    sent.Wait(), got.Wait()
    mpi.Send(a[:1], mpi_library.module().PROC_NULL)
with clock("receivers"):
    for late in range(n):
        if r == late:
            time.sleep(SLEEP)
        mpi.Barrier()
        total = np.ones(3)
        mpi.Allreduce(mpi_library.module().IN_PLACE, total)
        assert (total == n).all()
half.free()
"""
SUBSALT = [sys.executable, "-m", "subsalt"]
#: s that each of the ranks lets the others wait
SLEEP = 0.25
#: what mpi4py calls for itself
LOCAL = {
    "MPI_Type_get_extent",
    "MPI_Comm_test_inter",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Comm_set_errhandler",
    "MPI_Get_library_version",
    "MPI_Get_version",
    "MPI_Finalized",
    "MPI_Initialized",
    "MPI_Query_thread",
    "MPI_Comm_group",
    "MPI_Group_free",
    "MPI_Group_translate_ranks",
    "MPI_Group_size",
}


def both(folder, words, **variables):
    """Return the profiles of one run by the interposer and by its own communicators."""
    try:
        interposer(MpiInUse.find(python=Path(sys.executable)))
    except SubsaltError as error:
        pytest.skip(f"no interposer here: {error}")
    out = folder / "own.json"
    extra = {"SUBSALT_MPI_PROFILE": str(out), "OMP_NUM_THREADS": "1", **variables}
    by_interposer = profile(words, extra=extra, timeout=PATIENCE).profile
    return by_interposer, MpiProfile.from_dict(json.loads(out.read_text()))


def counts_of(profiled):
    """Return calls, bytes and sizes by function, communicator and phase, without what is the interposer's alone."""
    return {
        (row.call, row.comm, row.comm_size, row.phase): (
            row.calls,
            row.bytes,
            [(b.bytes_from, b.calls, b.bytes) for b in row.sizes],
        )
        for row in profiled.calls
        if row.call not in LOCAL and row.phase != "profile"
    }


@pytest.mark.parametrize("n", [pytest.param(2, marks=thorough), 3])
def test_both_profiles_of_one_run_agree(tmp_path, n):
    program = tmp_path / "program.py"
    # counts agree in every run; a rank that loses its core between the two clocks makes the seconds differ, another
    # program's doing: by as much whatever the ranks wait, while what is measured otherwise differs by a share of it
    for sleep in (SLEEP, 4 * SLEEP, 16 * SLEEP):
        program.write_text(PROGRAM.replace("SLEEP", str(sleep)))
        outer, own = both(tmp_path, [mpiexec(), "-n", str(n), sys.executable, str(program)])
        assert (outer.source, own.source) == ("interposer", "wrapper")
        assert counts_of(own) == counts_of(outer)
        # (n - 1) ranks wait for each that sleeps: planned, far above what a call costs in Python
        assert min(outer.mpi_time, own.mpi_time) >= 0.9 * (n - 1) * sleep
        if own.mpi_time == pytest.approx(outer.mpi_time, rel=0.05):
            break
    else:
        pytest.fail(f"interposer {outer.mpi_time} s, wrapper {own.mpi_time} s")
    named = {(r.call, r.comm, r.phase): r for r in own.calls}
    assert named["MPI_Barrier", "world", "receivers"].calls == n * n
    assert named["MPI_Startall", "", "source"].calls == 5 * n
    assert named["MPI_Send_init", "world", "source"].bytes == 400 * n
    assert named["MPI_Send", "world", "source"].bytes == 0
    # the phases of each sum to its wall
    for counts in (outer, own):
        assert sum(s for p in counts.phases for s in p.per_rank) == pytest.approx(sum(counts.wall), rel=1e-6)
    spent = {p.phase: sum(p.per_rank) for p in own.phases}
    assert spent["receivers"] >= n * n * sleep * 0.9


def test_a_migration_profiles_itself_and_is_what_it_is_without(tmp_path):
    write_files(tmp_path, survey(n_shots=1))
    (tmp_path / "job.toml").write_text(RUN + "\n[parallel]\nranks_per_shot = 2\n")
    words = [*SUBSALT, "migrate", str(tmp_path / "job.toml"), "--run", str(tmp_path / "a")]
    outer, own = both(tmp_path, [mpiexec(), "-n", "2", *words])
    assert counts_of(own) == counts_of(outer)
    steps = {p.phase for p in own.phases}
    assert {"start", "setup", "source", "receivers", "image sum", "end"} <= steps
    assert any(r.call == "MPI_Startall" and r.phase == "source" for r in own.calls)
    # no barrier, and no message but those of the halo, in the time steps
    inside = {r.call for r in own.calls if r.phase.split(",")[0] in ("source", "receivers")}
    assert "MPI_Barrier" not in inside
    assert {"MPI_Startall", "MPI_Testall"} <= inside
    migrate_job(Job.from_toml(tmp_path / "job.toml"), tmp_path / "b")
    assert (tmp_path / "a/image.sgy").read_bytes() == (tmp_path / "b/image.sgy").read_bytes()


def test_nothing_is_counted_that_nobody_asked_for():
    done = run(
        2,
        """
        from subsalt.parallel import comm, mpi_library
        world = comm.world()
        from mpi4py import MPI
        assert type(world.mpi) is MPI.Intracomm and type(world.split(0).mpi) is MPI.Intracomm
        assert mpi_library.start_all() == MPI.Prequest.Startall
        assert mpi_library._pcontrol is None
        """,
    )
    assert done.rc == 0, done


@pytest.mark.parametrize("n", [1, 2])
def test_a_file_that_cannot_be_made_is_refused_before_anything_starts(tmp_path, n):
    write_files(tmp_path)
    (tmp_path / "job.toml").write_text(RUN)
    done = run(
        n,
        ["subsalt", "migrate", tmp_path / "job.toml", "--run", tmp_path / "run"],
        env={"SUBSALT_MPI_PROFILE": str(tmp_path / "missing" / "profile.json")},
    )
    assert done.rc not in (0, None), done
    said = "".join(done.err)
    assert said.count("E910") == 1, done
    assert "is not written" not in said, done
    assert not (tmp_path / "run").exists()


def test_one_process_tells_its_phases(tmp_path):
    write_files(tmp_path, survey(n_shots=1))
    (tmp_path / "job.toml").write_text(RUN)
    words = [*SUBSALT, "migrate", str(tmp_path / "job.toml"), "--run", str(tmp_path / "run")]
    profiled = profile_built_in(words, timeout=PATIENCE).profile
    assert (profiled.ranks, profiled.source, profiled.calls) == (1, "wrapper", ())
    spent = {p.phase: p.per_rank[0] for p in profiled.phases}
    assert {"source", "receivers", "report"} <= set(spent)
    assert sum(spent.values()) == pytest.approx(profiled.wall[0], rel=1e-9)


def test_a_program_without_a_profile_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SubsaltError, match="does not make its own") as caught:
        profile_built_in([sys.executable, "-c", "pass"])
    assert caught.value.code == "E911"
    with pytest.raises(SubsaltError, match="exit code 3") as caught:
        profile_built_in([sys.executable, "-c", "raise SystemExit(3)"])
    assert caught.value.code == "E907"
    assert caught.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []
