"""No barrier, no pickled message and no other collective call is in a time loop: every MPI call of it is counted."""

import pytest
from interposer import build, counts, table, variables
from launch import MPI, run

from job_files import RUN, survey, write_files

pytestmark = MPI

#: the phase of the time steps, and that of the rest of a shot
LOOP, SHOT = 1, 2

#: persistent requests, built before: begin, look, wait. The last ones ask nothing of another rank.
ALLOWED = {"MPI_Start", "MPI_Startall", "MPI_Test", "MPI_Testall", "MPI_Wait", "MPI_Waitall"}
LOCAL = {
    "MPI_Status_get_error",
    "MPI_Error_class",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Initialized",
    "MPI_Finalized",
}

#: marks the phases of the main thread; the real command runs in them
MARKED = """
    import sys
    from subsalt.parallel import comm, mpi_library
    from subsalt.cli import main
    from subsalt.propagation import propagator
    from subsalt.propagation.halo import Halo
    import subsalt.methods.rtm.migrate as shots

    def forbidden(*arguments):
        raise AssertionError("a message was pickled")

    def inside(phase, call):
        from mpi4py import MPI
        def marked(*arguments, **named):
            before, now[0] = now[0], phase
            MPI.Pcontrol(phase)
            try:
                return call(*arguments, **named)
            finally:
                now[0] = before
                MPI.Pcontrol(before)
        return marked

    now = [0]
    # the phases of the run itself would come between
    mpi_library._listeners = lambda: None
    comm.world()
    from mpi4py import MPI
    MPI.pickle.__init__(forbidden, forbidden)
    propagator.march = inside(1, propagator.march)
    shots.migrate_shot = inside(2, shots.migrate_shot)
    PLANTED
    main(["migrate", "job.toml", "--run", sys.argv[1]])
"""

#: what a careless change would do, in every exchange
CARELESS = """
    careful = Halo.start
    def careless(self, level):
        CALLS
        careful(self, level)
    Halo.start = careless
"""
#: on planes that need no file
VTI = (
    RUN.replace('"vp.rsf"', "1500").replace('"epsilon.rsf"', "0.1").replace('"delta.rsf"', "0.05")
    + "\n[grid]\nspacing = 10\nshape = [81, 51]\n[parallel]\nranks_per_shot = 2\n"
)
TTI = VTI.replace("delta = 0.05", "delta = 0.05\ntheta = 20")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("calls")
    write_files(path, survey(n_shots=1))
    (path / "vti.toml").write_text(VTI)
    (path / "tti.toml").write_text(TTI)
    return path


@pytest.fixture(scope="module")
def preload():
    return build()


def marked(name, planted="pass", job="vti.toml"):
    """Return a program that migrates into a folder of this name, with its phases marked."""
    return MARKED.replace("PLANTED", planted).replace("sys.argv[1]", repr(name)).replace("job.toml", job)


def careless(*calls):
    """Return what plants calls of the world into every exchange."""
    return CARELESS.replace("CALLS", "; ".join(f"comm.world().mpi.{call}" for call in calls))


def counted(folder, preload, name, *more):
    """Return the outcome of a migration on two ranks, and the file of its MPI calls."""
    into = folder / f"{name}.calls.json"
    done = run(2, marked(name, *more), cwd=folder, per_rank_env=variables(preload, into))
    return done, into


def others(counts, phase):
    """Return the calls of a phase that have no place in a time loop."""
    return {name for rank in counts for name in rank[phase]} - ALLOWED - LOCAL


# several steps in one compiled pass, and the loop over single steps in Python
@pytest.mark.parametrize("medium", ["vti", "tti"])
def test_a_time_loop_starts_and_tests_persistent_requests_only(folder, preload, medium):
    done, into = counted(folder, preload, medium, "pass", f"{medium}.toml")
    assert done.rc == 0, done
    calls = counts(into)
    assert not others(calls, LOOP), table(calls, LOOP)
    for rank in calls:
        # it is the halo that was counted: exchanges all along the loops
        assert rank[LOOP]["MPI_Startall"] > 100, table(calls, LOOP)
        assert rank[LOOP]["MPI_Testall"] >= rank[LOOP]["MPI_Startall"]
        # requests are built once per wavefield, not in the loop
        assert 0 < rank[SHOT]["MPI_Send_init"] < 50, table(calls, SHOT)
        # nor is there a barrier between the loops of a shot, or anywhere
        assert not any(rank[phase]["MPI_Barrier"] for phase in list(rank)), table(calls, SHOT)


def test_what_is_planted_into_the_loop_is_found(folder, preload):
    planted = careless("Barrier()", "Allreduce(MPI.IN_PLACE, bytearray(8))")
    done, into = counted(folder, preload, "planted", planted)
    assert done.rc == 0, done
    assert others(counts(into), LOOP) >= {"MPI_Barrier", "MPI_Allreduce"}


def test_a_planted_pickled_message_is_found(folder):
    done = run(2, marked("pickled", careless("allreduce(1)")), cwd=folder)
    assert done.rc == 70, done
    assert "a message was pickled" in "".join(done.err), done
