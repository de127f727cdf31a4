"""Kirchhoff prestack time migration as `subsalt.methods` knows it; its parts are imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods import Method
    from subsalt.methods.kirchhoff.job import KirchhoffJob
    from subsalt.plan.nodes import NodesModel
    from subsalt.plan.planning import PlanRequest
    from subsalt.run.method_run import ImagingRun, RunState
    from subsalt.view.time_volume import TimeRun


class KirchhoffTimeMigration:
    """See `subsalt.methods.Method`: a run distributes blocks of the image, which is in two-way time."""

    name = "kirchhoff"
    unit = "block"
    domain: Literal["depth", "time"] = "time"

    def job_class(self) -> type[KirchhoffJob]:
        """Return the class of its jobs."""
        from subsalt.methods.kirchhoff.job import KirchhoffJob

        return KirchhoffJob

    def start(self, job: Path, files: Sequence[str], **options: Any) -> Any:
        """Write a job file from what the files of traces say."""
        from subsalt.methods.kirchhoff.starter import write_time_job

        return write_time_job(job, files, **options)

    def check(self, job: KirchhoffJob) -> CheckResult:
        """Apply all its rules; collective."""
        from subsalt.methods.kirchhoff.check import check_kirchhoff

        return check_kirchhoff(job)

    def draw_map(self, job: KirchhoffJob, result: CheckResult, place: Callable[[], Path]) -> Path | None:
        """Draw midpoints, fold and sources on the image grid, and the offsets."""
        from subsalt.methods.kirchhoff.fold_maps import midpoint_map

        context = result.context
        if context.table is None:
            return None
        return midpoint_map(
            context.table, context.grid, place(), aperture=context.aperture, title=job.title or job.name
        )

    def plan(self, job: KirchhoffJob, request: PlanRequest) -> Any:
        """Return memory, disk and time of a migration."""
        from subsalt.methods.kirchhoff.plan import plan_kirchhoff

        return plan_kirchhoff(job, request)

    def nodes_model(self, job: KirchhoffJob, run_dir: Path | None) -> NodesModel:
        """Return what the run takes on many nodes."""
        from subsalt.methods.kirchhoff.nodes import BlocksOnNodes

        return BlocksOnNodes(job, run_dir)

    def open_run(self, job: KirchhoffJob, state: RunState) -> ImagingRun:
        """Return what a run of this method does beside the engine."""
        from subsalt.methods.kirchhoff.migrate import BlocksRun

        return BlocksRun(job, state)

    def read_image(self, folder: Path) -> TimeRun:
        """Return image and gathers of a run directory, or what its blocks have summed so far."""
        from subsalt.methods.kirchhoff.time_run import read_time_run

        return read_time_run(folder)


METHOD: Method = KirchhoffTimeMigration()
