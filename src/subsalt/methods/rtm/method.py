"""Reverse time migration as `subsalt.methods` knows it; its parts are imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from subsalt.methods import StartOption

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods import Method
    from subsalt.methods.rtm.job import Job
    from subsalt.methods.rtm.vscan import DepthScanner
    from subsalt.plan.nodes import NodesModel
    from subsalt.plan.planning import PlanRequest
    from subsalt.report.facts import MethodRows, RunFacts
    from subsalt.run.method_run import ImagingRun, RunState
    from subsalt.run.velocity_scan import ScanRequest
    from subsalt.view.reading import RunStyle


#: a job on the traces that `plan.program` writes
TINY = """
[data]
files = ["shots.sgy"]
line = "x"

[model]
vp = 2000

[grid]
spacing = 20
depth = 600

[source]
f0 = 10

[output]
pictures = false
"""


class ReverseTimeMigration:
    """See `subsalt.methods.Method`: a run distributes shots, the image is one in depth."""

    name = "rtm"
    unit = "shot"
    title = "reverse time migration"
    axis: Literal["depth", "time"] = "depth"
    rate_keys: tuple[str, ...] = ()
    start_options: Sequence[StartOption] = (
        StartOption("vp", 'P velocity: a file, a number in m/s, or "2 km/s".'),
        StartOption("epsilon", "Thomsen epsilon: a file or a number."),
        StartOption("delta", "Thomsen delta: a file or a number."),
        StartOption("theta", 'Tilt of the symmetry axis: a file, degrees or "0.5 rad".'),
        StartOption("phi", "Azimuth of the symmetry axis: a file or degrees."),
        StartOption(
            "f0", "Peak frequency of the source wavelet in Hz. Without it the spectrum of the traces decides."
        ),
    )

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

    def draw_map(self, job: Job, result: CheckResult, place: Callable[[str], Path]) -> Path | None:
        """Draw shots and receivers on the model."""
        from subsalt.methods.rtm.view import draw_survey

        return draw_survey(job, result, place)

    def draw_repairs(self, job: Job, result: CheckResult, place: Callable[[str], Path]) -> Path | None:
        """Draw where the anisotropy cannot be propagated as it is, and the axis."""
        from subsalt.methods.rtm.view import draw_gate

        return draw_gate(job, result, place)

    def plan(self, job: Job, request: PlanRequest) -> Any:
        """Return memory, disk and time of a migration, or of modelling."""
        from subsalt.methods.rtm.plan import plan_rtm

        return plan_rtm(job, request)

    def nodes_model(self, job: Job, run_dir: Path | None) -> NodesModel:
        """Return predictions for the run on many nodes."""
        from subsalt.methods.rtm.nodes import ShotsOnNodes

        return ShotsOnNodes(job, run_dir)

    def open_run(self, job: Job, state: RunState) -> ImagingRun:
        """Return what a run of this method does beside the engine."""
        from subsalt.methods.rtm.migrate import ShotsRun

        return ShotsRun(job, state)

    def view(self, folder: Path, path: Path, how: RunStyle, say: Callable[[str], None]) -> list[Path]:
        """Draw the image of a run directory, or the sum of the partial images that are there."""
        from subsalt.methods.rtm.view import view_run

        return view_run(folder, path, how, say)

    def report_rows(self, facts: RunFacts) -> MethodRows:
        """Return the part of the report of its runs: flatness of gathers, and parameters."""
        from subsalt.methods.rtm.report import cards, parameters
        from subsalt.report.facts import MethodRows

        return MethodRows(cards=cards(facts), parameters=parameters(facts))

    def misfits(self, folder: Path) -> Sequence[float]:
        """Return nothing: it does not iterate."""
        return ()

    def misfit_is_of(self, folder: Path) -> str:
        """Return an empty text: there are no iterations."""
        return ""

    def identity_text(self, again: Sequence[str]) -> str:
        """Return the wavefields that a changed job takes again."""
        return f"{' and '.join(again)} of every shot"

    def tiny_job(self) -> str:
        """Return a job of a shallow model."""
        return TINY

    def velocity_scanner(self, job: Job, request: ScanRequest) -> DepthScanner:
        """Return what migrates at scales of the velocity and measures where gathers are flattest."""
        from subsalt.methods.rtm.vscan import DepthScanner

        return DepthScanner(job, request)


METHOD: Method = ReverseTimeMigration()
