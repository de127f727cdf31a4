"""Options that choose what computes the units of a run: the ranks of this program, or the workers of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli.output import usage
from subsalt.parallel import comm

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.run.method_run import RunState

PANEL = "Engine options"


class EngineName(StrEnum):
    """Engines with an adapter."""

    DASK = "dask"
    DASK_LOCAL = "dask-local"


@dataclass(frozen=True)
class EngineOptions:
    """Which engine computes the units, and where."""

    engine: Annotated[
        EngineName | None,
        typer.Option(
            metavar="NAME",
            help="Compute the shots by the workers of an engine: dask (a scheduler at --scheduler) or dask-local "
            "(workers of this machine).",
            show_default="the ranks of this program",
            rich_help_panel=PANEL,
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Scheduler of Dask, such as tls://head:8786.", rich_help_panel=PANEL
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Workers of dask-local.", show_default="2", rich_help_panel=PANEL),
    ] = None
    launcher: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help='Words before the program of each shot in a worker, such as "srun -n 4": its ranks share the shot.',
            show_default="one process",
            rich_help_panel=PANEL,
        ),
    ] = None
    running_sum: Annotated[
        bool,
        typer.Option(
            "--running-sum",
            help="Add partial images while others are computed, and remove them: a large survey leaves no file for "
            "each shot. With --engine, and with --prepare of an array.",
            rich_help_panel=PANEL,
        ),
    ] = False

    def refuse(self, option: str) -> None:
        """Refuse an engine beside an option that uses none."""
        if self.engine is not None:
            raise usage(f"{option} computes nothing, --engine does", "leave one of them out")

    def check(self, prepare: bool = False) -> None:
        """Refuse options that do not belong together, before anything is read."""
        if self.running_sum and self.engine is None and not prepare:
            raise usage(
                "--running-sum belongs to --engine and --prepare",
                "leave it out: what computes the shots itself adds them at the end",
            )
        if self.engine is EngineName.DASK and self.scheduler is None:
            raise usage("--engine dask needs --scheduler", "give its address, such as tls://head:8786")
        wanted = {"--scheduler": EngineName.DASK, "--workers": EngineName.DASK_LOCAL}
        for option, engine in wanted.items():
            if getattr(self, option[2:]) is not None and self.engine is not engine:
                raise usage(
                    f"{option} belongs to --engine {engine}", f"add --engine {engine}, or leave it out"
                )
        if self.launcher is not None and self.engine is None:
            raise usage(
                "--launcher belongs to --engine", "start the ranks yourself: mpiexec -n 4 subsalt migrate"
            )
        if self.engine is EngineName.DASK and self.scheduler is not None:
            from subsalt.run.engines.dask import refuse_open_address

            refuse_open_address(self.scheduler)

    @contextmanager
    def opened(self, run: Path, say: Callable[[str], None]) -> Iterator[Callable[[BaseJob, RunState], Any]]:
        """Yield the function that migrates a checked job; workers are there while the block runs.

        Parameters
        ----------
        run : Path
            The run directory.
        say : callable
            Callback for progress text.
        """
        from subsalt.run.migrate import migrate_checked, migrate_on_farm

        if self.engine is None:
            yield migrate_checked
            return
        from subsalt.run.engines.dask import dask_at, dask_here
        from subsalt.run.engines.farm import FarmUnits

        if comm.world().size > 1:
            raise usage("--engine works in one process", "start it without mpiexec or srun")
        folder, launcher = run.resolve(), self.launcher or ""
        farm = (
            dask_here(self.workers or 2, folder, launcher, say)
            if self.engine is EngineName.DASK_LOCAL
            else dask_at(str(self.scheduler), folder, launcher, say)
        )
        with farm as workers:

            def migrate(job: BaseJob, state: RunState) -> Any:
                state.request = replace(state.request, running_sum=self.running_sum)
                threads = job.parallel.threads
                units = FarmUnits(workers, state, None if threads == "auto" else int(threads))
                return migrate_on_farm(job, state, units)

            yield migrate
