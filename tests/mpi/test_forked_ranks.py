"""Ranks that `rank_server` forks behave as ranks with an interpreter of their own, and none outlives its launch."""

from __future__ import annotations

import json

import pytest
from launch import MPI, Launched, alive, run

from patience import wait_for

pytestmark = MPI


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import sys; sys.exit(3)", 3),
        ("raise OSError('planted')", 1),
        ("import os; os.kill(os.getpid(), 9)", 9),
        ("import os; os._exit(5)", 5),
        ("import atexit; atexit.register(print, 'at the end'); print('before')", 0),
    ],
)
def test_they_end_alike(program, code):
    forked, own = (run(1, program, own_start=own) for own in (False, True))
    assert forked.rc == own.rc == code, (forked, own)
    assert forked.out == own.out
    last = [done.err[0].splitlines()[-1:] for done in (forked, own)]
    assert last[0] == last[1]


def test_they_are_given_the_same(tmp_path):
    program = """
        import json, os, sys
        names = ("PMI_RANK", "PMI_SIZE", "OMP_NUM_THREADS", "GIVEN", "PYTHONPATH")
        import told_here
        print(json.dumps([__name__, sys.argv, sys.path[:2], os.getcwd(), [os.environ.get(n) for n in names]]))
    """
    (tmp_path / "told_here.py").write_text("")
    env = {"GIVEN": "x", "PYTHONPATH": str(tmp_path)}
    forked, own = (run(2, program, cwd="/", env=env, own_start=own) for own in (False, True))
    assert forked.rc == own.rc == 0, (forked, own)
    for rank in range(2):
        assert json.loads(forked.out[rank]) == json.loads(own.out[rank])


def test_none_outlives_its_launch():
    job = Launched(2, "import os, time; print(os.getpid(), flush=True); time.sleep(3600)", own_start=False)
    wait_for(lambda: all(job.said(f"out.{rank}").endswith("\n") for rank in range(2)))
    done = job.wait(0.01)
    assert done.rc is None, done
    ranks = [int(text) for text in done.out]
    wait_for(lambda: not any(map(alive, ranks)), "their end")
