"""Least-squares migration as `subsalt.methods` knows it: the rest is reverse time migration's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from subsalt.methods import StartOption

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods import Method
    from subsalt.methods.lsrtm.job import LeastSquaresJob
    from subsalt.plan.nodes import NodesModel
    from subsalt.plan.planning import PlanRequest
    from subsalt.report.facts import MethodRows, RunFacts
    from subsalt.run.method_run import ImagingRun, RunState
    from subsalt.run.velocity_scan import ScanRequest
    from subsalt.view.reading import RunStyle


class LeastSquaresMigration:
    """See `subsalt.methods.Method`: a run distributes shots, in several rounds; the image is one in depth."""

    name = "lsrtm"
    unit = "shot"
    title = "least-squares reverse time migration"
    axis: Literal["depth", "time"] = "depth"
    rate_keys: tuple[str, ...] = ()
    start_options: Sequence[StartOption] = ()

    def job_class(self) -> type[LeastSquaresJob]:
        """Return the class of its jobs."""
        from subsalt.methods.lsrtm.job import LeastSquaresJob

        return LeastSquaresJob

    def start(self, job: Path, files: Sequence[str], **options: Any) -> Any:
        """Refuse: a job of it is one of a migration that one has seen, with a line more (E104)."""
        from subsalt.errors import ConfigError

        raise ConfigError(
            "init writes no job of least-squares migration",
            f'subsalt init {job} --from {" ".join(files)}; migrate it, then add method = "lsrtm" above its first table '
            "and take out what [imaging] has beside aperture",
            code="E125",
        )

    def check(self, job: LeastSquaresJob) -> CheckResult:
        """Apply the rules of a migration, and look at steps, mask and starting image; collective."""
        from subsalt.methods.lsrtm.check import check_least_squares

        return check_least_squares(job)

    def draw_map(
        self, job: LeastSquaresJob, result: CheckResult, place: Callable[[str], Path]
    ) -> Path | None:
        """Draw shots and receivers on the model."""
        from subsalt.methods.rtm.view import draw_survey

        return draw_survey(job, result, place)

    def draw_repairs(
        self, job: LeastSquaresJob, result: CheckResult, place: Callable[[str], Path]
    ) -> Path | None:
        """Draw where the anisotropy cannot be propagated as it is, and the axis."""
        from subsalt.methods.rtm.view import draw_gate

        return draw_gate(job, result, place)

    def plan(self, job: LeastSquaresJob, request: PlanRequest) -> Any:
        """Return memory, disk and time of all iterations."""
        from subsalt.methods.lsrtm.plan import plan_least_squares

        return plan_least_squares(job, request)

    def nodes_model(self, job: LeastSquaresJob, run_dir: Path | None) -> NodesModel:
        """Refuse: times on many nodes are those of one migration (E897)."""
        from subsalt.errors import ConfigError

        raise ConfigError(
            "plan --nodes has no model of least-squares migration",
            'plan the same job with method = "rtm": an iteration takes about two such migrations',
            code="E897",
        )

    def open_run(self, job: LeastSquaresJob, state: RunState) -> ImagingRun:
        """Return what a run of this method does beside the engine."""
        if job.inversion.domain == "image":
            from subsalt.methods.lsrtm.image_domain import ImageDomainRun

            return ImageDomainRun(job, state)
        if job.inversion.draws:
            from subsalt.methods.lsrtm.subsets import SubsetRun

            return SubsetRun(job, state)
        from subsalt.methods.lsrtm.run import LeastSquaresRun

        return LeastSquaresRun(job, state)

    def view(self, folder: Path, path: Path, how: RunStyle, say: Callable[[str], None]) -> list[Path]:
        """Draw image, misfit, images by iteration, their difference, and the amplitude along an event."""
        from subsalt.methods.lsrtm.view import view_run

        return view_run(folder, path, how, say)

    def report_rows(self, facts: RunFacts) -> MethodRows:
        """Return the part of the report of its runs: the misfit, and parameters."""
        from subsalt.methods.lsrtm.report import rows

        return rows(facts)

    def misfits(self, folder: Path) -> Sequence[float]:
        """Return the misfit of a run by iteration, over that of the start."""
        from subsalt.methods.lsrtm.course import misfits_of

        return misfits_of(folder)

    def misfit_is_of(self, folder: Path) -> str:
        """Return the shots whose misfit an iteration has, where it draws some."""
        from subsalt.methods.lsrtm.course import history_of, misfit_is_of

        return misfit_is_of(history_of(folder))

    def identity_text(self, again: Sequence[str]) -> str:
        """Return the work that a changed job takes again."""
        return "all iterations"

    def tiny_job(self) -> str:
        """Return a job of a shallow model."""
        from subsalt.methods.rtm.method import TINY

        return f'method = "lsrtm"\n{TINY}'

    def velocity_scanner(self, job: LeastSquaresJob, request: ScanRequest) -> None:
        """Return None: velocities are scanned by migration."""


METHOD: Method = LeastSquaresMigration()
