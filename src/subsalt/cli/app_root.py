"""The `subsalt` command itself: the groups of its help, and the options that several sub-commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt import errors, extensions
from subsalt.cli.help_page import HelpCommand, HelpGroup, examples
from subsalt.cli.talk import TalkOfRun

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.run.resume import ResumeOptions

#: sub-commands of other packages and their summaries; the package is imported when its command is called
OTHER_PACKAGES = {"lab": "Measure this machine and MPI programs on it."}

#: the sub-commands as `subsalt --help` lists them
GROUPS = {
    "Prepare": ("example", "scan", "init", "wavelet", "check", "explain", "plan"),
    "Run": ("model", "migrate", "vscan", "submit", "unit", "resume", "stop", "watch"),
    "Results": ("view", "report", "export", "reimage", "play"),
    "Machine": ("doctor", "demo", "lab"),
}


class Commands(HelpGroup):
    """The sub-commands: our own, and those of `OTHER_PACKAGES`."""

    groups = GROUPS

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return [*super().list_commands(ctx), *OTHER_PACKAGES]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a sub-command, None when there is none of that name."""
        if cmd_name not in OTHER_PACKAGES:
            return super().get_command(ctx, cmd_name)
        command = extensions.extensions(extensions.COMMANDS).get(cmd_name)
        return _built(command or _not_installed(cmd_name))

    def summary(self, ctx: Any, name: str) -> str:
        """Return the summary of a sub-command, without importing its package."""
        return OTHER_PACKAGES.get(name) or super().summary(ctx, name)


# a process that runs several commands builds their options once
@cache
def _built(commands: typer.Typer) -> Any:
    return typer.main.get_command(commands)


def _not_installed(name: str) -> typer.Typer:
    """Return a command that says how to install the package of a sub-command, whatever its arguments."""
    stub = typer.Typer(add_completion=False)
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    @stub.command(name, short_help=OTHER_PACKAGES[name], add_help_option=False, context_settings=anything)
    def missing() -> None:
        raise errors.lab_missing(f"subsalt {name}")

    return stub


app = typer.Typer(
    name="subsalt",
    cls=Commands,
    help="Seismic imaging from one job file: reverse time migration to a depth image, also by least squares, "
    "Kirchhoff time migration to a time image or gathers.",
    epilog=examples("subsalt demo --quick", "subsalt example", "subsalt migrate --help"),
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def command(
    summary: str, *lines: str, name: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a function a sub-command.

    Parameters
    ----------
    summary : str
        One sentence for the list of commands.
    *lines : str
        Examples: whole commands, each of which runs as it stands.
    name : str, optional
        The name of the function when None.
    """
    return app.command(name, cls=HelpCommand, short_help=summary, epilog=examples(*lines))


Strict = Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")]
#: a file that cannot be read is an error of its own (exit code 66), not one of usage
JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="Job file (TOML).", readable=False)]

RunDir = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", readable=False)]
Shots = Annotated[
    str | None, typer.Option(metavar="LIST", help='Use only these shots, such as "1-100:5, 201".')
]
NewRunDir = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="DIR",
        readable=False,
        help="Run directory.",
        show_default="JOB.run in the folder of the job file",
    ),
]
Preset = Annotated[str, typer.Option(metavar="NAME", help="Header layout: rev1, su, marine2d or obn.")]
#: where header bytes may lie, as `Preset` names it
REV1 = "rev1"
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Threads of each rank. Does not change the result.",
        show_default="[parallel] threads of the job, OMP_NUM_THREADS, or all cores",
    ),
]


@dataclass(frozen=True)
class StartOptions:
    """Options of a run that may be new."""

    run: NewRunDir = None
    shots: Shots = None
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute",
            help="If the job has changed, move the earlier result to RUN/previous and start again.",
        ),
    ] = False


@dataclass(frozen=True)
class ParallelOptions:
    """Options that decide how a run uses threads and ranks: they replace keys of `[parallel]` for one start."""

    threads: Threads = None
    ranks_per_shot: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="MPI ranks that share each shot. Does not change the result.",
            show_default="[parallel] ranks_per_shot of the job, or the fewest whose memory suffices",
        ),
    ] = None

    def applied_to(self, job: BaseJob) -> BaseJob:
        """Return the job with these numbers in `[parallel]`.

        Raises
        ------
        ConfigError
            When the method of the job does not distribute shots (E769).
        """
        given = {"threads": self.threads, "ranks_per_shot": self.ranks_per_shot}
        values = {name: value for name, value in given.items() if value is not None}
        if "ranks_per_shot" in values and "ranks_per_shot" not in type(job.parallel).model_fields:
            raise errors.ConfigError(
                "--ranks-per-shot: a time migration distributes blocks of its image, not shots",
                "leave it out",
                code="E769",
            )
        return job.changed("parallel", **values) if values else job


@dataclass(frozen=True)
class RestartOptions(TalkOfRun):
    """Options of a run that may have been started before."""

    strict: Strict = False
    retry_quarantined: Annotated[
        bool, typer.Option("--retry-quarantined", help="Retry the shots that failed and were quarantined.")
    ] = False
    accept_changed_inputs: Annotated[
        bool,
        typer.Option(
            "--accept-changed-inputs",
            help="Keep the finished shots although trace files have changed since.",
        ),
    ] = False
    time_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Stop after this time with exit code 75: 90s, 45m, 3h, 2d or 1:30:00."
        ),
    ] = None

    def options(self) -> ResumeOptions:
        """Return how the run treats earlier results, and when it stops."""
        from subsalt.cli.commands import seconds_of
        from subsalt.run.resume import ResumeOptions

        return ResumeOptions(self.retry_quarantined, self.accept_changed_inputs, seconds_of(self.time_limit))


def _version(value: bool) -> None:
    if value:
        from subsalt import __version__

        print(f"subsalt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options of the command itself."""
