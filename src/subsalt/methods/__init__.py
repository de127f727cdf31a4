"""The methods of imaging: the table of them, and the contract that each fulfils.

A method is a folder. Commands, the job schema, `run`, `plan` and `report` reach it through `METHODS` alone: nothing
else imports a method or compares its name. A new method is a new folder and a line of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

#: where each method is, by the word of the key `method` of a job file
METHODS = {
    "rtm": "subsalt.methods.rtm.method",
    "kirchhoff": "subsalt.methods.kirchhoff.method",
}
#: the method of a job file without the key `method`
DEFAULT = "rtm"


class Method(Protocol):
    """The contract of a method of imaging.

    It is lower than the job, `plan` and `run` that it speaks of, hence `Any` where one of their classes is meant:
    `BaseJob`, `job.checking.CheckResult`, `plan.planning.PlanRequest`, `plan.plan.Plan`, `plan.nodes.NodesPlan`,
    `run.method_run.RunState` and `ImagingRun`.

    Attributes
    ----------
    name : str
        The value of the key `method`.
    unit : str
        What a run distributes among its ranks, in the singular, as the ledger and run.json call it.
    domain : {"depth", "time"}
        The vertical axis of its image.
    """

    name: str
    unit: str
    domain: Literal["depth", "time"]

    def job_class(self) -> Any:
        """Return the class of its jobs, derived from `BaseJob`."""

    def start(self, job: Path, files: Sequence[str], **options: Any) -> Any:
        """Write a job file from what the files of traces say, for `subsalt init`."""

    def check(self, job: Any) -> Any:
        """Apply all its rules, those of memory and GPU included; collective."""

    def draw_map(self, job: Any, result: Any, place: Callable[[], Path]) -> Path | None:
        """Draw the survey into the file that `place` names; None when there is nothing to draw."""

    def plan(self, job: Any, request: Any) -> Any:
        """Return memory, disk and time of a run."""

    def nodes_model(self, job: Any, run_dir: Path | None) -> Any:
        """Return a `plan.nodes.NodesModel`: what the run takes on many nodes."""

    def open_run(self, job: Any, state: Any) -> Any:
        """Return a `run.method_run.ImagingRun`: what a run of this method does beside `run.engine`."""

    def read_image(self, folder: Path) -> Any:
        """Return the image of a run directory, or the sum so far, as `view` draws it."""


def method_of(name: str) -> Method:
    """Return a method by its name; a `KeyError` where there is none."""
    found: Method = import_module(METHODS[name]).METHOD
    return found


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
