"""Stopping a run from outside: `subsalt stop RUN` leaves a request in the run directory, which rank 0 reads.

A request names the start of the run that it is for (the token of its lease), so that a request that came too late
stops no later start.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from subsalt.errors import ConfigError, MissingInputError, ParallelError, SubsaltError
from subsalt.io.publish import publish_text
from subsalt.io.regular_files import read_json
from subsalt.io.run_folder import own_run
from subsalt.run.lock import is_alive, read_lease
from subsalt.run.settings import NAME as LEDGER

STOP_FILE = "stop.json"
#: seconds between two looks at the lease while `request_stop` waits
POLL_SECONDS = 0.1


class RunStopped(SubsaltError):
    """A run was stopped on request; the same command resumes it."""

    exit_code = 75
    default_code = "E801"


@dataclass(frozen=True)
class StopRequest:
    """A request that a run stops.

    Parameters
    ----------
    finish : bool
        Whether shots that have started are finished first.
    why : str
        Who requested it, in words.
    """

    finish: bool
    why: str


def read_request(folder: Path, lease: dict[str, object]) -> StopRequest | None:
    """Return the request for the start of the run with this lease, None when there is none."""
    try:
        values = read_json(folder / STOP_FILE)
    except (OSError, ValueError):
        return None
    if not isinstance(values, dict) or not lease or values.get("token") != lease.get("token"):
        return None
    return StopRequest(values.get("finish") is True, str(values.get("why", "subsalt stop"))[:200])


def forget_request(folder: Path) -> None:
    """Remove the request of an earlier start, which would stop nothing."""
    (folder / STOP_FILE).unlink(missing_ok=True)


@dataclass(frozen=True)
class StopOutcome:
    """The outcome of a request to stop.

    Parameters
    ----------
    running : bool
        Whether a process was running in the directory.
    stopped : bool
        Whether no process runs there now.
    owner : str
        Process that runs or ran there, and its host.
    seconds : float
        Time until it stopped, s.
    """

    running: bool
    stopped: bool
    owner: str
    seconds: float


def request_stop(
    folder: Path,
    finish: bool = False,
    patience: float = 60.0,
    report: Callable[[str], None] = lambda text: None,
) -> StopOutcome:
    """Ask the run in a directory to stop, and wait until it has.

    Parameters
    ----------
    folder : Path
        The run directory.
    finish : bool
        Whether shots that have started are finished first.
    patience : float
        Seconds to wait; 0 returns as soon as the request is written.
    report : callable, optional
        Callback for progress text, called when the request has been written.

    Raises
    ------
    MissingInputError
        When it is no run directory.
    ParallelError
        When the run has not stopped in time.
    """
    require_run(folder)
    own_run(folder)
    lease = read_lease(folder)
    owner = f"process {lease.get('pid')} on {lease.get('host', '?')}" if lease else ""
    if not lease or is_alive(lease) is False:
        return StopOutcome(False, True, owner, 0.0)
    why = f"subsalt stop, by process {os.getpid()} on {platform.node()}"
    content = {"token": lease.get("token"), "finish": finish, "why": why}
    publish_text(folder / STOP_FILE, json.dumps(content) + "\n")
    report(f"asked {owner} to stop")
    begin = time.monotonic()
    while True:
        now = read_lease(folder)
        seconds = time.monotonic() - begin
        # a start that followed has another token
        if now.get("token") != lease.get("token") or is_alive(now) is False:
            return StopOutcome(True, True, owner, seconds)
        if seconds >= patience:
            break
        time.sleep(POLL_SECONDS)
    if patience <= 0:
        return StopOutcome(True, False, owner, 0.0)
    raise ParallelError(
        f"{owner} was asked to stop, and still works in {folder} after {patience:g} s",
        "look with subsalt watch; it may be finishing a shot, a block or a file, or end it with kill",
        code="E840",
    )


def require_run(folder: Path) -> None:
    """Refuse a folder that is not a run directory.

    Raises
    ------
    MissingInputError
        When it does not exist, or no run ever began in it.
    ConfigError
        When it is a file.
    """
    if not folder.exists():
        raise MissingInputError(
            f"{folder} does not exist", "give the directory that subsalt migrate made", code="E110"
        )
    if not folder.is_dir():
        raise ConfigError(
            f"{folder} is a file, not a run directory",
            "give the directory that subsalt migrate made",
            code="E842",
        )
    if not any((folder / name).exists() for name in (LEDGER, "run.lock", "job.resolved.toml")):
        raise MissingInputError(
            f"{folder} holds no run: neither {LEDGER} nor job.resolved.toml is in it",
            "give the directory that subsalt migrate made",
            code="E841",
        )
