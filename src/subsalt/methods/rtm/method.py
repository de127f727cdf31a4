"""Reverse time migration as `subsalt.methods` knows it; its parts are imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods import Method
    from subsalt.methods.rtm.job import Job
    from subsalt.plan.nodes import NodesModel
    from subsalt.plan.planning import PlanRequest
    from subsalt.run.method_run import ImagingRun, RunState
    from subsalt.view.run_image import RunImage


class ReverseTimeMigration:
    """See `subsalt.methods.Method`: a run distributes shots, the image is one in depth."""

    name = "rtm"
    unit = "shot"
    domain: Literal["depth", "time"] = "depth"

    def job_class(self) -> type[Job]:
        """Return the class of its jobs."""
        from subsalt.methods.rtm.job import Job

        return Job

    def start(self, job: Path, files: Sequence[str], **options: Any) -> Any:
        """Write a job file from what the files of shots say."""
        from subsalt.methods.rtm.starter import write_job

        return write_job(job, files, **options)

    def check(self, job: Job) -> CheckResult:
        """Apply all its rules; collective."""
        from subsalt.methods.rtm.check import check_rtm

        return check_rtm(job)

    def draw_map(self, job: Job, result: CheckResult, place: Callable[[], Path]) -> Path | None:
        """Draw shots and receivers on the model."""
        from subsalt import view

        context = result.context
        if context.survey is None or context.model is None or not context.survey.shots:
            return None
        return Path(view.survey_map(context.survey, context.model, place(), title=job.title or job.name))

    def plan(self, job: Job, request: PlanRequest) -> Any:
        """Return memory, disk and time of a migration, or of modelling."""
        from subsalt.methods.rtm.plan import plan_rtm

        return plan_rtm(job, request)

    def nodes_model(self, job: Job, run_dir: Path | None) -> NodesModel:
        """Return what the run takes on many nodes."""
        from subsalt.methods.rtm.nodes import ShotsOnNodes

        return ShotsOnNodes(job, run_dir)

    def open_run(self, job: Job, state: RunState) -> ImagingRun:
        """Return what a run of this method does beside the engine."""
        from subsalt.methods.rtm.migrate import ShotsRun

        return ShotsRun(job, state)

    def read_image(self, folder: Path) -> RunImage:
        """Return the image of a run directory, or the sum of the partial images that are there."""
        from subsalt.view.run_image import read_run

        return read_run(folder)


METHOD: Method = ReverseTimeMigration()
