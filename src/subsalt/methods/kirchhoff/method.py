"""Kirchhoff prestack time migration as `subsalt.methods` knows it; its parts are imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from subsalt.methods import StartOption

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods import Method
    from subsalt.methods.kirchhoff.job import KirchhoffJob
    from subsalt.methods.kirchhoff.vscan import VelocityScanner
    from subsalt.plan.nodes import NodesModel
    from subsalt.plan.planning import PlanRequest
    from subsalt.report.facts import MethodRows, RunFacts
    from subsalt.run.method_run import ImagingRun, RunState
    from subsalt.run.velocity_scan import ScanRequest
    from subsalt.view.reading import RunStyle


#: a job on the traces that `plan.program` writes
TINY = """method = "kirchhoff"

[data]
files = ["shots.sgy"]

[velocity]
v = 2000

[kirchhoff]
inline = {first = 1, last = 1}
crossline = {first = 1, last = 40}
corners = [[1, 1, 0, 0], [1, 2, 20, 0], [2, 1, 0, 20]]

[output]
pictures = false
"""


class KirchhoffTimeMigration:
    """See `subsalt.methods.Method`: a run distributes blocks of the image, which is in two-way time."""

    name = "kirchhoff"
    unit = "block"
    title = "prestack time migration"
    axis: Literal["depth", "time"] = "time"
    rate_keys: tuple[str, ...] = (
        "amplitude",
        "antialias",
        "bands",
        "interpolation",
        "eta",
        "gathers",
        "isa",
        "threads",
        "samples",
    )
    start_options: Sequence[StartOption] = (
        StartOption("vrms", "Rms velocity: a file, or a number in m/s."),
        StartOption("cdp_spacing", "Distance between CDPs in m, for a line without coordinates."),
    )

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

    def draw_map(self, job: KirchhoffJob, result: CheckResult, place: Callable[[str], Path]) -> Path | None:
        """Draw midpoints, fold and sources on the image grid, and the offsets."""
        from subsalt.methods.kirchhoff.view import draw_survey

        return draw_survey(job, result, place)

    def draw_repairs(self, job: KirchhoffJob, result: CheckResult, place: Callable[[str], Path]) -> None:
        """Return None: the checks change nothing in its velocity."""

    def plan(self, job: KirchhoffJob, request: PlanRequest) -> Any:
        """Return memory, disk and time of a migration."""
        from subsalt.methods.kirchhoff.plan import plan_kirchhoff

        return plan_kirchhoff(job, request)

    def nodes_model(self, job: KirchhoffJob, run_dir: Path | None) -> NodesModel:
        """Return predictions for the run on many nodes."""
        from subsalt.methods.kirchhoff.nodes import BlocksOnNodes

        return BlocksOnNodes(job, run_dir)

    def open_run(self, job: KirchhoffJob, state: RunState) -> ImagingRun:
        """Return what a run of this method does beside the engine."""
        from subsalt.methods.kirchhoff.migrate import BlocksRun

        return BlocksRun(job, state)

    def view(self, folder: Path, path: Path, how: RunStyle, say: Callable[[str], None]) -> list[Path]:
        """Draw image, gathers, fold and hit count of a run directory, or what its blocks have summed so far."""
        from subsalt.methods.kirchhoff.view import view_run

        return view_run(folder, path, how, say)

    def report_rows(self, facts: RunFacts) -> MethodRows:
        """Return numbers, parameters and titles of the report of its runs."""
        from subsalt.methods.kirchhoff.report import report_rows

        return report_rows(facts)

    def misfits(self, folder: Path) -> Sequence[float]:
        """Return nothing: it does not iterate."""
        return ()

    def misfit_is_of(self, folder: Path) -> str:
        """Return an empty text: there are no iterations."""
        return ""

    def identity_text(self, again: Sequence[str]) -> str:
        """Return the work that a changed job takes again: all of it."""
        return "the sum over all traces"

    def tiny_job(self) -> str:
        """Return a job of 40 locations."""
        return TINY

    def velocity_scanner(self, job: KirchhoffJob, request: ScanRequest) -> VelocityScanner:
        """Return what migrates at scales of the velocity and measures which is best."""
        from subsalt.methods.kirchhoff.vscan import VelocityScanner

        return VelocityScanner(job, request)


METHOD: Method = KirchhoffTimeMigration()
