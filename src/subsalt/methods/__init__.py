"""The methods of imaging: the table of them, and the contract that each fulfils.

A method is a folder. Commands, the job schema, `run`, `plan` and `report` reach it through `METHODS` alone: nothing
else imports a method or compares its name. A new method is a new folder and a line of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

#: where each method is, by the word of the key `method` of a job file
METHODS = {
    "rtm": "subsalt.methods.rtm.method",
    "kirchhoff": "subsalt.methods.kirchhoff.method",
    "lsrtm": "subsalt.methods.lsrtm.method",
}
#: the method of a job file without the key `method`
DEFAULT = "rtm"


@dataclass(frozen=True)
class StartOption:
    """An option of `subsalt init` that a method declares: ``--name TEXT``, None where it is left out."""

    name: str
    help: str


class Method(Protocol):
    """The contract of a method of imaging.

    It is lower than the job, `plan`, `run`, `report` and `view` that it speaks of, hence `Any` where a class of
    theirs is meant: `BaseJob`, `job.checking.CheckResult`, `plan.planning.PlanRequest`, `plan.plan.Plan`,
    `plan.nodes.NodesPlan`, `run.method_run.RunState` and `ImagingRun`, `report.facts.RunFacts` and `MethodRows`,
    `view.reading.RunStyle`.
    """

    #: the value of the key `method`
    name: str
    #: its name in prose, in lower case
    title: str
    #: the unit of work that a run distributes among its ranks, in the singular, as in the ledger and in run.json
    unit: str
    #: the vertical axis of its image
    axis: Literal["depth", "time"]
    #: options of `subsalt init` beside those of all methods, which `start` takes by name
    start_options: Sequence[StartOption]
    #: columns that tell its rows of machine.json from each other, in the section of its name; empty without such rates
    rate_keys: tuple[str, ...]

    def job_class(self) -> Any:
        """Return the class of its jobs, derived from `BaseJob`."""

    def start(self, job: Path, files: Sequence[str], **options: Any) -> Any:
        """Write a job file from what the files of traces say, for `subsalt init`."""

    def check(self, job: Any) -> Any:
        """Apply all its rules, those of memory and GPU included; collective."""

    def draw_map(self, job: Any, result: Any, place: Callable[[str], Path]) -> Path | None:
        """Draw the survey into ``map.png``, whose path `place` returns; None when there is nothing to draw."""

    def draw_repairs(self, job: Any, result: Any, place: Callable[[str], Path]) -> Path | None:
        """Draw what the checks change in its model into a file whose path `place` returns; None when nothing is."""

    def plan(self, job: Any, request: Any) -> Any:
        """Return memory, disk and time of a run."""

    def nodes_model(self, job: Any, run_dir: Path | None) -> Any:
        """Return a `plan.nodes.NodesModel`: predictions for the run on many nodes."""

    def open_run(self, job: Any, state: Any) -> Any:
        """Return a `run.method_run.ImagingRun`: what a run of this method does beside `run.engine`."""

    def view(self, folder: Path, path: Path, how: Any, say: Callable[[str], None]) -> list[Path]:
        """Draw the image of a run directory, finished or so far, into PNG files beside `path`; the image first."""

    def report_rows(self, facts: Any) -> Any:
        """Return the part of the report that runs of this method have."""

    def misfits(self, folder: Path) -> Sequence[float]:
        """Return the misfit of a run directory by iteration, over that of the start; empty without iterations."""

    def misfit_is_of(self, folder: Path) -> str:
        """Return the units whose misfit that is, in words; empty where it is that of all."""

    def identity_text(self, again: Sequence[str]) -> str:
        """Return the work that a changed job takes again, `again` being what of a unit depends on the change."""

    def tiny_job(self) -> str:
        """Return a job on the tiny ``shots.sgy`` of `plan.program`, by which the memory of the program is measured."""

    def velocity_scanner(self, job: Any, request: Any) -> Any:
        """Return what scans its velocity by a `run.velocity_scan.ScanRequest`, as `cli.vscan_command` takes it; None
        when it has no such scan.
        """


def method_of(name: str) -> Method:
    """Return a method by its name; a `KeyError` where there is none."""
    method: Method = import_module(METHODS[name]).METHOD
    return method


def method_of_run(facts: Mapping[str, Any]) -> Method:
    """Return the method of a run from its run.json; a run that names none is of the default method.

    Parameters
    ----------
    facts : mapping
        Content of run.json, or of the resolved job.
    """
    job = facts.get("job")
    named = facts.get("method") or (job.get("method") if isinstance(job, Mapping) else None)
    return method_of(str(named) if str(named) in METHODS else DEFAULT)
