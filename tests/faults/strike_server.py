"""Runs commands of subsalt in forks of itself, struck as a line of JSON on its input asks; see `strikes.Striker`."""

from __future__ import annotations

import ctypes
import fcntl
import gc
import json
import os
import signal
import struct
import sys
import time
from pathlib import Path

import subsalt.cli.app as cli
from subsalt.cli import guard
from subsalt.job import checking
from subsalt.job.base import BaseJob
from subsalt.methods.kirchhoff import migrate as time_migration
from subsalt.methods.rtm import migrate as depth_migration
from subsalt.run import live
from subsalt.run.ledger_file import peek

shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
#: what `check` found in a job, by all that stands in it
CHECKED: dict[str, checking.CheckResult] = {}


def check_once(job: BaseJob, strict: bool = False) -> checking.CheckResult:
    """Check a job, whose files stay as they are, in the first command alone: half of what so small a run costs."""
    said = job.resolved_toml()
    if said not in CHECKED:
        CHECKED[said] = check_before_run(job, strict)
    return CHECKED[said]


check_before_run, checking.check_before_run = checking.check_before_run, check_once
# how long a run will take is told to nobody here: a sixth of what so small a run costs, and no operation on a file
for migration in (depth_migration, time_migration):
    migration.predicted_for_run = lambda predict: {"phases": {}, "notes": []}


def command(request: dict) -> int:
    """Do a command in this process and return its exit code."""
    for fd, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), fd)
    os.chdir(request["cwd"])
    # what a run tells of itself every second would be further operations of one that takes long
    live.WRITE = request["tells_every"]
    live.LOOK = min(live.LOOK, live.WRITE)
    shim.fault_arm(
        ctypes.c_long(request["at"]),
        request["mode"],
        request["arg"],
        request["under"].encode(),
        request["log"].encode(),
        request["named"].encode(),
    )
    try:
        return guard.run(cli.app, request["argv"])
    except SystemExit as leave:
        return leave.code
    finally:
        sys.stderr.flush()


def shots_of(run: str) -> list[int]:
    """Return the shots that the ledger of a run calls done."""
    return [r["id"] for r in peek(Path(run)) if r["state"] == "done"] if run else []


def end_later(child: int, seconds: float, run: str, disk: str, shots: int) -> list[int]:
    """Kill the child so long after so many shots, its disk first; return the shots that were called done before."""
    until = time.monotonic() + 60
    while len(shots_of(run)) < shots and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(seconds)
    done = shots_of(run)
    if disk:
        fd = os.open(disk, os.O_RDONLY)
        fcntl.ioctl(fd, 0x8004587D, struct.pack("I", 2))  # EXT4_IOC_SHUTDOWN, without flushing the log
        os.close(fd)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    return done


answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    request = json.loads(line)
    if request["here"]:
        # once, so that all is imported; a fork of a process with threads could hang
        answer = {"code": command(request), "done": []}
        tasks = os.listdir("/proc/self/task")
        assert len(tasks) == 1, tasks
        gc.freeze()
    else:
        child = os.fork()
        if child == 0:
            os._exit(command(request))
        strike = request["after"], request["run"], request["disk"], request["shots"]
        done = end_later(child, *strike) if request["after"] >= 0 else []
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        answer = {"code": code, "done": done}
    print(json.dumps(answer), file=answers, flush=True)
