"""Time migrations under mpiexec: the bytes of one process on any ranks, each reading its part, and after kills."""

import json
import time

import numpy as np
import pytest
from launch import MPI, Launched, kill_tree, run
from time_case import hashes, make, positions

from subsalt.methods.rtm.job import Job
from subsalt.run.ledger_file import peek
from subsalt.run.migrate import migrate_job
from thorough import thorough

pytestmark = MPI


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A folder with traces, and runs of one process by kind of gathers."""
    folder = tmp_path_factory.mktemp("survey")
    runs = {}
    for kind in ("full-offset", "image"):
        runs[kind] = folder / f"{kind}.run"
        migrate_job(Job.from_toml(make(folder, kind)), runs[kind])
    return folder, runs


def facts_of(run_dir):
    return json.loads((run_dir / "run.json").read_text())


@pytest.mark.parametrize(("kind", "ranks"), [("full-offset", 2), ("image", 3)])
def test_the_bytes_are_those_of_one_process(survey, tmp_path, kind, ranks):
    job = make(survey[0], kind, "trace_block = 32")
    done = run(ranks, ["subsalt", "migrate", job, "--run", tmp_path / "run"])
    assert done.rc == 0, done
    assert hashes(tmp_path / "run") == hashes(survey[1][kind])
    facts, one = facts_of(tmp_path / "run"), facts_of(survey[1][kind])
    assert facts["parallel"]["ranks"] == ranks
    assert facts["contributions"] == one["contributions"]
    each = facts["this_start"]["by_rank"]
    assert len(each) == ranks
    assert sum(c["contributions"] for c in each) == one["contributions"]
    # what a rank reads is what it sums, with headers, and gaps that are not worth another read
    size = (survey[0] / "traces.sgy").stat().st_size
    assert all(c["traces"] * (240 + 4 * 125) <= c["bytes"] <= size * len(facts["blocks"]) for c in each)
    if kind == "full-offset":
        # blocks are classes: no trace is read by two ranks
        assert facts["traces_summed"] == one["traces_summed"]
    else:
        src, rcv = positions()
        middle = 0.5 * (src + rcv)
        for row in facts["blocks"]:
            i0, i1, j0, j1 = row["box"]
            low, high = np.array([100 + 25 * j0, 100 + 25 * i0]), np.array([75 + 25 * j1, 75 + 25 * i1])
            away = np.maximum(np.maximum(low - middle, middle - high), 0)
            row["near"] = int((np.sqrt((away**2).sum(axis=1)) <= 110).sum())
        assert facts["traces_summed"] == sum(row["near"] for row in facts["blocks"])
        assert facts["traces_summed"] < ranks * one["traces_summed"]
    # one rank alone speaks
    assert not any(done.out[1:])
    assert not any(done.err[1:])


#: a time migration whose blocks of traces take some hundredths of a second more
SLOW = """
    import time
    from pathlib import Path
    from subsalt.kernels import kirchhoff
    from subsalt.methods.rtm.job import Job
    from subsalt.run.migrate import migrate_job
    real = kirchhoff.sum_traces
    def slow(*args, **kwargs):
        time.sleep(0.03)
        return real(*args, **kwargs)
    kirchhoff.sum_traces = slow
    migrate_job(Job.from_toml("{job}"), Path("{run}"))
"""


@pytest.mark.parametrize("kind", [pytest.param("full-offset", marks=thorough), "image"])
def test_killed_and_gone_on_with_other_ranks(survey, tmp_path, kind):
    """Killed with restart points, gone on with another number of ranks, killed again, finished by one process."""
    folder, next_traces = tmp_path / "run", []
    for ranks in (1, 3):
        job = make(survey[0], kind, "trace_block = 8\nsave_every = 0.05")
        started = Launched(ranks, SLOW.format(job=job, run=folder), own_start=False)
        begun = {p.name for p in folder.glob("restart/*.json")}
        while started.process.poll() is None:
            if {p.name for p in folder.glob("restart/*.json")} - begun:
                break
            time.sleep(0.01)
        kill_tree(started.process.pid)
        done = started.wait()
        assert [r for r in peek(folder) if r["state"] != "done"], done
        next_traces.append([json.loads(p.read_text())["next"] for p in folder.glob("restart/*.json")])
        assert next_traces[-1]
    result = migrate_job(Job.from_toml(make(survey[0], kind, "trace_block = 50")), folder)
    assert hashes(folder) == hashes(survey[1][kind])
    assert len(peek(folder)) >= 3
    one, facts = facts_of(survey[1][kind]), facts_of(folder)
    assert facts["contributions"] == one["contributions"] == result.contributions
    # what restart points held was not computed again
    assert facts["this_start"]["contributions"] < one["contributions"]


def test_an_error_on_one_rank_ends_all_with_its_words(survey, tmp_path):
    """A trace that is not finite names its file and number, once."""
    data = bytearray((survey[0] / "traces.sgy").read_bytes())
    at = 3600 + 333 * (240 + 500) + 240 + 4 * 60
    data[at : at + 4] = b"\x7f\xc0\x00\x00"
    (tmp_path / "traces.sgy").write_bytes(data)
    job = make(tmp_path)
    done = run(2, ["subsalt", "migrate", job, "--run", tmp_path / "run"])
    assert done.rc == 65, done
    said = "".join(done.err)
    assert said.count("trace 334") == 1, done
    assert "traces.sgy" in said
    assert "bad_traces" in said
