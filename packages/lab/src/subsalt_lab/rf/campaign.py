"""Make the runs of a campaign through ReFrame, one after the other, in the order in which they are wanted.

ReFrame's own policy starts tests at the same time, which measures how they disturb each other: the serial policy is
always asked for, with one job at a time, and the report is refused when runs overlapped all the same.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import DeviceError, SubsaltError, install
from subsalt.io.publish import publish_text
from subsalt.machine import launcher
from subsalt_lab.rf import report

#: the first version whose report is known
OLDEST = (4, 7)
CURE = f"{install('lab')}; or use --engine own"
#: seconds that ReFrame may take for a run beside the run, and for itself
BESIDE, START = 60.0, 600.0
#: seconds in which it says its version
ANSWERS = 120.0
SCHEDULERS = ("local", "slurm", "squeue")


@dataclass(frozen=True)
class ReFrame:
    """A ReFrame that can be used.

    Parameters
    ----------
    path : Path
        The program.
    version : str
        Such as ``"4.10.4"``.
    scheduler : str
        One of `SCHEDULERS`.
    access : sequence of str
        Options for every job of the scheduler, such as a partition and an account.
    """

    path: Path
    version: str
    scheduler: str = "local"
    access: Sequence[str] = ()

    @classmethod
    def find(cls, scheduler: str = "local", access: Sequence[str] = ()) -> ReFrame:
        """Return the ReFrame of this environment, or the one on PATH.

        Raises
        ------
        DeviceError
            When there is none, or an older one than `OLDEST` (E963).
        """
        beside = Path(sys.executable).with_name("reframe")
        found = str(beside) if os.access(beside, os.X_OK) else shutil.which("reframe")
        if found is None:
            raise DeviceError("ReFrame is not installed", CURE, code="E963")
        said = launcher.answer([found, "--version"], ANSWERS).partition("\n")[0].strip()
        version = re.match(r"(\d+)\.(\d+)", said)
        if version is None or (int(version[1]), int(version[2])) < OLDEST:
            raise DeviceError(
                f"{found} is version {said[:40]!r}, {OLDEST[0]}.{OLDEST[1]} or later is needed",
                CURE,
                code="E963",
            )
        return cls(Path(found), said, scheduler, tuple(access))

    def settings(self, folder: Path) -> dict[str, Any]:
        """Return the configuration: this system, one job at a time, nothing written outside `folder`."""
        partition: dict[str, Any] = {
            "name": "default",
            "scheduler": self.scheduler,
            # the command starts its own ranks
            "launcher": "local",
            "environs": ["builtin"],
            "max_jobs": 1,
            "access": list(self.access),
            # given, so that it is not detected by a job of its own
            "processor": {"num_cpus": os.cpu_count() or 1},
        }
        screen = {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}
        return {
            "systems": [{"name": "here", "hostnames": [".*"], "partitions": [partition]}],
            "logging": [{"handlers": [screen], "handlers_perflog": []}],
            "general": [{"topology_prefix": str(folder / "topology"), "check_search_recursive": False}],
            "storage": [{"enable": False}],
        }

    def run(self, runs: Sequence[Mapping[str, Any]], timeout: float) -> list[report.Run]:
        """Make runs one after the other and return them in their order.

        Parameters
        ----------
        runs : sequence of mapping
            ``words``, ``what``, ``time_from``, ``ranks`` and ``threads`` of each.
        timeout : float
            Seconds that one may take.

        Raises
        ------
        SubsaltError
            What a run itself raised (E781, E784); E964 when ReFrame calls a run failed, E965 when its report cannot
            be used.
        """
        # nodes of a cluster see the current folder, not the temporary files of this one
        place = None if self.scheduler == "local" else os.getcwd()
        with tempfile.TemporaryDirectory(prefix="subsalt-campaign-", dir=place) as name:
            folder = Path(name)
            return self._run_in(folder, runs, timeout)

    def _run_in(self, folder: Path, runs: Sequence[Mapping[str, Any]], timeout: float) -> list[report.Run]:
        plan, settings, answer = folder / "campaign.json", folder / "settings.json", folder / "report.json"
        told = [_record_of(run, folder / f"error-{i}.json", timeout) for i, run in enumerate(runs)]
        publish_text(plan, json.dumps({"runs": told}))
        publish_text(settings, json.dumps(self.settings(folder)))
        # ReFrame names a test's module by its path from the current folder: a copy, run beside it, has a plain one
        publish_text(folder / "checks.py", Path(__file__).with_name("checks.py").read_text(encoding="utf-8"))
        words = [
            str(self.path),
            *("--config-file", str(settings), "--checkpath", "checks.py"),
            *("--prefix", str(folder), "--report-file", str(answer), "--nocolor"),
            *("--exec-policy", "serial", "--run"),
        ]
        complaint = ""
        try:
            launcher.run(
                words,
                what="the campaign in ReFrame",
                extra={"SUBSALT_CAMPAIGN": str(plan), "TMPDIR": str(folder)},
                folder=folder,
                timeout=len(runs) * (timeout + BESIDE) + START,
            )
        except SubsaltError as error:
            complaint = error.message
        for i in range(len(runs)):
            _raise_again(folder / f"error-{i}.json")
        try:
            text = answer.read_text(encoding="utf-8")
        except OSError:
            raise report.unreadable(f"it wrote none; {complaint}" if complaint else "it wrote none") from None
        try:
            return report.parse(text, len(runs))
        except SubsaltError as error:
            if error.code == "E964" and self.scheduler == "slurm":
                error.fix = (
                    "where Slurm keeps no accounting (sacct fails), use --scheduler squeue; " + error.fix
                )
            raise


def _record_of(run: Mapping[str, Any], error: Path, timeout: float) -> dict[str, Any]:
    """Return a run as the ReFrame test takes it."""
    work = {k: run[k] for k in ("words", "what", "time_from")} | {
        "timeout": timeout,
        "error": str(error),
        # ReFrame runs it elsewhere, with other temporary files
        "folder": os.getcwd(),
        "temporary": os.environ.get("TMPDIR"),
    }
    words = [sys.executable, "-m", "subsalt_lab.rf.timed", json.dumps(work)]
    return {"words": words, "ranks": run["ranks"], "threads": run["threads"]}


def _raise_again(file: Path) -> None:
    """Raise the error that a run left."""
    if file.exists():
        told = json.loads(file.read_text(encoding="utf-8"))
        error = SubsaltError(told["message"], told["fix"], code=told["code"])
        error.exit_code = told["exit_code"]
        raise error


def access_of(text: str | None) -> list[str]:
    """Return the options of ``--access``, split as a shell would."""
    return shlex.split(text) if text else []
