"""How much a command prints: --json, --quiet, --verbose and --profile, declared once for all commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from subsalt.cli.output import Out

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on standard output.")]


@dataclass(frozen=True)
class Talk:
    """How much a command prints."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only results and errors.")] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every finding with its evidence.")
    ] = False
    json: Json = False

    def out(self) -> Out:
        """Return where the command prints, that much."""
        return Out(self.json, quiet=self.quiet, verbose=self.verbose)


@dataclass(frozen=True)
class TalkOfRun(Talk):
    """How much a command that computes prints."""

    profile: Annotated[bool, typer.Option("--profile", help="Print the time of every phase.")] = False

    def out(self) -> Out:
        """Return where the command prints, that much."""
        return Out(self.json, quiet=self.quiet, verbose=self.verbose, profile=self.profile)
