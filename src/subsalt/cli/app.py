"""The `subsalt` command: importing a module of sub-commands registers them; their code is imported when one runs."""

from __future__ import annotations

import os
import sys

from subsalt.cli import app_make as app_make
from subsalt.cli import app_run as app_run
from subsalt.cli import app_show as app_show
from subsalt.cli import example_command as example_command
from subsalt.cli.app_root import app as app


def main(argv: list[str] | None = None) -> None:
    """Run the command and leave with the exit code of what happened."""
    # to find plug-ins, pydantic reads the description of every package installed: on each rank, from a shared disk
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from subsalt.cli import guard

    sys.exit(guard.run(app, sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    main()
