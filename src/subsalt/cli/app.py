"""The `subsalt` command: importing a module of sub-commands registers them. What they do is imported when one runs."""

from __future__ import annotations

import os
import sys

from subsalt.cli import app_make as app_make
from subsalt.cli import app_run as app_run
from subsalt.cli import app_show as app_show
from subsalt.cli import lab_barriers as lab_barriers
from subsalt.cli import lab_checkpoint as lab_checkpoint
from subsalt.cli import lab_collectives as lab_collectives
from subsalt.cli import lab_io as lab_io
from subsalt.cli import lab_machine as lab_machine
from subsalt.cli import lab_model as lab_model
from subsalt.cli import lab_network as lab_network
from subsalt.cli import lab_profile as lab_profile
from subsalt.cli import lab_scaling as lab_scaling
from subsalt.cli import lab_storage as lab_storage
from subsalt.cli.app_root import app as app
from subsalt.cli.lab import lab

app.add_typer(lab, short_help="Measure this machine, and programs on it.")


def main(argv: list[str] | None = None) -> None:
    """Run the command and leave with the exit code of what happened."""
    # to find plug-ins, pydantic reads the description of every package installed: on each rank, from a shared disk
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from subsalt.cli import guard

    sys.exit(guard.run(app, sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    main()
