"""The `subsalt` command itself: its name, its help, and the options that several sub-commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="subsalt",
    help="Seismic imaging by one job file: reverse time migration to a depth image, "
    "Kirchhoff time migration to an image or gathers.",
    epilog="Start with: subsalt demo. Every command has --help with an example; --debug shows tracebacks.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object last on standard output.")]
Strict = Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")]
#: files that may not be read are an error of their own (exit code 66), not one of usage
JobFile = Annotated[Path, typer.Argument(metavar="JOB", help="Job file (TOML).", readable=False)]

RunDir = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.", readable=False)]
NewRunDir = Annotated[
    Path | None, typer.Option("--run", readable=False, help="Run directory; JOB.run beside the job.")
]
Shots = Annotated[str | None, typer.Option(help='Only these shots, such as "1-100:5, 201".')]
RetryQuarantined = Annotated[
    bool, typer.Option("--retry-quarantined", help="Try shots again that were set aside.")
]
AcceptChangedInputs = Annotated[
    bool,
    typer.Option(
        "--accept-changed-inputs", help="Keep finished shots although files of traces have changed since."
    ),
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Stop cleanly (exit code 75) after so long: 90s, 45m, 3h, 2d or 1:30:00."
    ),
]


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
) -> None:
    """Hold the options of the command itself."""
