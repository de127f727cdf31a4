"""Our own migration under the audit: no barrier in the time steps, and one that is planted there is found."""

import json
import sys

import pytest
from launch import MPI, mpiexec

from job_files import RUN, survey, write_files
from thorough import thorough

pytestmark = MPI

#: on planes that need no file; both ranks share each shot
JOB = (
    RUN.replace('"vp.rsf"', "1500").replace('"epsilon.rsf"', "0.1").replace('"delta.rsf"', "0.05")
    + "\n[grid]\nspacing = 10\nshape = [81, 51]\n[parallel]\nranks_per_shot = 2\n"
)
#: what a careless change would do, in every exchange
CARELESS = """\
import sys
from subsalt.parallel import comm
from subsalt.cli import main
from subsalt.propagation.halo import Halo

careful = Halo.start

def careless(self, level):
    comm.world().mpi.Barrier()
    careful(self, level)

Halo.start = careless
main(sys.argv[1:])
"""


@pytest.fixture
def audit(subsalt_command, tmp_path, monkeypatch):
    """Return a function that audits a migration on two ranks, started by some words: the result, and the text."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, survey(n_shots=1))
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "careless.py").write_text(CARELESS)

    def call(*program):
        words = [
            mpiexec(),
            "-n",
            "2",
            sys.executable,
            *program,
            "migrate",
            "job.toml",
            "--run",
            "{folder}/run",
        ]
        code, out, err = subsalt_command("lab", "barriers", "--out", "audit.json", "--", *words)
        assert code == 0, err
        return json.loads((tmp_path / "audit.json").read_text()), out

    return call


@thorough  # no barrier: `test_time_loop_calls`, and by a profile of the run's own `test_built_in_profile`
def test_a_migration_has_no_barrier_in_its_time_steps(audit):
    result, out = audit("-m", "subsalt")
    phases = {p["phase"]: p for p in result["phases"]}
    # the time steps were seen: their time, and messages in them
    assert phases["source"]["seconds"] > 0
    assert phases["source"]["mpi_seconds"] > 0
    assert phases["source"]["barrier_calls"] == phases["receivers"]["barrier_calls"] == 0
    assert "time steps (source, receivers): 0 barriers" in out
    # nor is there a blocking one anywhere
    assert not [r["site"] for r in result["rows"] if r["call"] == "MPI_Barrier"]


def test_a_barrier_planted_into_the_time_steps_is_found(audit):
    result, out = audit("careless.py")
    (row,) = [r for r in result["rows"] if r["call"] == "MPI_Barrier"]
    assert row["place"] == "careless.py:9"
    assert row["count"] > 100
    phases = {p["phase"]: p for p in result["phases"]}
    assert phases["source"]["barrier_calls"] > 100
    # persistent requests of the halo start right after, and no message is taken from any source
    assert (row["class"], row["next"]) == ("candidate", "MPI_Startall")
    assert f"{phases['source']['barrier_calls'] + phases['receivers']['barrier_calls']} barriers" in out
