"""The `subsalt` command itself: its name, its help, and the options that several sub-commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from subsalt import errors, extensions
from subsalt.cli.talk import TalkOfRun

if TYPE_CHECKING:
    from subsalt.run.resume import ResumeOptions

#: sub-commands that other packages bring, with what the help says of them; the package is imported when one is named
BROUGHT = {"lab": "Measure this machine, and programs on it."}


class Commands(TyperGroup):
    """The sub-commands: our own, and those of `BROUGHT`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names as the help lists them."""
        return [*super().list_commands(ctx), *BROUGHT]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a sub-command, None when there is none of that name."""
        if cmd_name not in BROUGHT:
            return super().get_command(ctx, cmd_name)
        command = extensions.extensions(extensions.COMMANDS).get(cmd_name)
        return typer.main.get_command(command or _not_installed(cmd_name))


def _not_installed(name: str) -> typer.Typer:
    """Return a command that says how to get the package which brings it, whatever follows."""
    stub = typer.Typer(add_completion=False)
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    @stub.command(name, short_help=BROUGHT[name], add_help_option=False, context_settings=anything)
    def missing() -> None:
        raise errors.lab_missing(f"subsalt {name}")

    return stub


app = typer.Typer(
    name="subsalt",
    cls=Commands,
    help="Seismic imaging by one job file: reverse time migration to a depth image, "
    "Kirchhoff time migration to an image or gathers.",
    epilog="Start with: subsalt demo. Every command has --help with an example.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Strict = Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")]
#: files that may not be read are an error of their own (exit code 66), not one of usage
JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="Job file (TOML).", readable=False)]

RunDir = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", readable=False)]
Shots = Annotated[str | None, typer.Option(help='Only these shots, such as "1-100:5, 201".')]
NewRunDir = Annotated[
    Path | None, typer.Option("--run", readable=False, help="Run directory; JOB.run beside the job.")
]


@dataclass(frozen=True)
class Start:
    """What a run is started with."""

    run: NewRunDir = None
    shots: Shots = None
    recompute: Annotated[
        bool,
        typer.Option("--recompute", help="Move the result of a changed job to RUN/previous and start anew."),
    ] = False


@dataclass(frozen=True)
class Again(TalkOfRun):
    """Options of a run that may have been started before."""

    strict: Strict = False
    retry_quarantined: Annotated[
        bool, typer.Option("--retry-quarantined", help="Retry shots that were quarantined.")
    ] = False
    accept_changed_inputs: Annotated[
        bool,
        typer.Option(
            "--accept-changed-inputs", help="Keep finished shots although files of traces have changed since."
        ),
    ] = False
    time_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Stop cleanly (exit code 75) after so long: 90s, 45m, 3h, 2d or 1:30:00."
        ),
    ] = None

    def options(self) -> ResumeOptions:
        """Return what a start does with what an earlier one left, and when it stops."""
        from subsalt.cli.commands import seconds_of
        from subsalt.run.resume import ResumeOptions

        return ResumeOptions(self.retry_quarantined, self.accept_changed_inputs, seconds_of(self.time_limit))


def example(*lines: str) -> str:
    """Return the epilog of a command: a runnable example."""
    return "Example: " + "; ".join(lines)


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
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; anywhere on the line.")
    ] = False,
) -> None:
    """Hold the options of the command itself."""
