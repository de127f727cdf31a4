"""The real command, struck: the run ends, says why, and the next start, on other ranks, goes on to the same bytes."""

import hashlib
import json
import os
import signal
import time
from pathlib import Path

import pytest
from launch import MPI, Launched, alive, run

from job_files import RUN, survey, write_files
from patience import wait_for
from subsalt.methods.rtm.job import Job
from subsalt.run.ledger_file import peek
from subsalt.run.migrate import migrate_job
from subsalt.run.progress import view_of
from subsalt.run.stop_request import request_stop
from thorough import some, thorough

pytestmark = MPI

#: seconds of silence that the job allows
T = 2.0
#: so many that a strike after the first one comes in time, also where all is fast
SHOTS = 12
#: the command whose shots sleep before they are migrated: a strike comes in time, and the others go on for longer than
#: the silence that is allowed, while next to nothing is computed
SLOW = """
    import time
    import subsalt.methods.rtm.migrate as shots
    from subsalt.cli import main

    migrate_shot = shots.migrate_shot

    def slow(*arguments, **named):
        time.sleep(0.5)
        return migrate_shot(*arguments, **named)

    shots.migrate_shot = slow
    main(["migrate", "JOB", "--run", "RUN"])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder with the jobs, and the image from one process."""
    path = tmp_path_factory.mktemp("struck")
    write_files(path, survey(SHOTS, nt=76))
    (path / "job.toml").write_text(RUN + f"\n[parallel]\nwatchdog = {T}\nranks_per_shot = 1\n")
    (path / "slabs.toml").write_text(RUN + f"\n[parallel]\nwatchdog = {T}\nranks_per_shot = 2\n")
    migrate_job(Job.from_toml(path / "job.toml"), path / "whole")
    return path


def digest(run_dir):
    return hashlib.sha256((run_dir / "image.sgy").read_bytes()).hexdigest()


def done_shots(run_dir):
    """Return the shots that the log of events calls done, in order."""
    log = run_dir / "events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [e["shot"] for e in events if e["event"] == "done"]


def started(folder, job, name, n):
    """Return a migration that has finished a shot, its ranks, and all processes below mpiexec."""
    launched = Launched(n, SLOW.replace("JOB", job).replace("RUN", name), cwd=folder, own_start=False)
    wait_for(lambda: done_shots(folder / name) or launched.process.poll() is not None, "a shot")
    assert launched.process.poll() is None, launched.wait(1)
    return launched, launched.ranks(), launched.processes()


#: the job, the signal, who gets it, the exit code, what is said
STRIKES = [
    ("slabs.toml", signal.SIGSTOP, 1, 69, "no sign of life from rank 1 "),
    ("job.toml", signal.SIGSTOP, 0, 69, "no sign of life from rank 0 "),
    ("job.toml", signal.SIGKILL, 0, None, None),
    ("job.toml", signal.SIGKILL, 2, None, None),
    ("slabs.toml", signal.SIGTERM, "mpiexec", 75, "error E801  stopped"),
    ("job.toml", signal.SIGUSR1, 2, 75, "error E801  stopped"),
    ("job.toml", signal.SIGINT, "mpiexec", 130, "error E801  interrupted"),
]


@pytest.mark.parametrize(("job", "number", "struck", "code", "said"), some(STRIKES, 3))
def test_what_is_finished_is_kept(folder, job, number, struck, code, said):
    name = f"{job}-{number}-{struck}"
    n = 2 if job == "slabs.toml" else 3
    launched, ranks, below = started(folder, job, name, n)
    os.kill(launched.process.pid if struck == "mpiexec" else ranks[struck], number)
    done = launched.wait()
    assert done.rc is not None, f"no end\n{done}"
    assert done.rc == code or (code is None and done.rc != 0), done
    if said is not None:
        everything = "".join(done.err)
        assert everything.count("error E") == 1, done
        assert said in everything, done
        assert "Traceback" not in everything, done
    wait_for(lambda: not any(map(alive, below)), "the end of all processes")
    assert not (folder / name / "image.sgy").exists()
    before = done_shots(folder / name)
    assert 0 < len(before) < SHOTS, "the strike came too late"
    note = folder / name / "shared-memory.json"
    left = [n for host in json.loads(note.read_text()) for n in host["names"]] if note.exists() else []
    assert left or number != signal.SIGKILL, "the ranks noted nothing of their shared memory"

    again = run(n - 1, ["subsalt", "migrate", job, "--run", name], cwd=folder)
    assert again.rc == 0, again
    assert digest(folder / name) == digest(folder / "whole")
    assert not [n for n in left if Path("/dev/shm", n).exists()], "what killed ranks left is still there"
    assert not note.exists()
    # nothing finished was computed again, nothing was left out
    after = done_shots(folder / name)
    assert len(set(after)) == len(after), (before, after)
    # the strike may fall between the ledger, which counts, and the log
    assert len(after) >= SHOTS - 1, (before, after)
    rows = peek(folder / name)
    assert [r["state"] for r in rows] == ["done"] * SHOTS


# shots given back: `test_shots_at_once`, `test_stopping`, and here by a signal
@pytest.mark.parametrize("finish", [pytest.param(False, marks=thorough), True])
def test_a_run_of_ranks_is_watched_and_stopped(folder, finish):
    name = f"watched-{finish}"
    launched, _, below = started(folder, "job.toml", name, 3)
    seen = set()
    while len(seen) < 2 and launched.process.poll() is None:
        seen |= {r.rank for r in view_of(folder / name).running}
        time.sleep(0.02)
    answer = request_stop(folder / name, finish)
    done = launched.wait()
    assert (done.rc, answer.stopped) == (75, True), done
    everything = "".join(done.err)
    assert everything.count("error E801") == 1, done
    assert ("finished first" if finish else "given back") in everything, done
    wait_for(lambda: not any(map(alive, below)), "the end of all processes")
    assert len(seen) > 1, seen
    assert view_of(folder / name).state == "stopped"
    again = run(2, ["subsalt", "resume", name], cwd=folder)
    assert again.rc == 0, again
    assert digest(folder / name) == digest(folder / "whole")
    if finish:
        assert {r["attempt"] for r in peek(folder / name)} == {1}
