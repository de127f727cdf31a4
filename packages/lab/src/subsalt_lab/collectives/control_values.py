"""Values that control variables of an MPI have when nobody sets them; a process of its own asks the library."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from subsalt.machine import launcher
from subsalt_lab.collectives.mpit import Tool
from subsalt_lab.pmpi.mpi_in_use import MpiInUse


def values(mpi: MpiInUse, names: Sequence[str]) -> dict[str, str]:
    """Return the values of control variables by name, as the environment takes them; without those it does not have.

    Parameters
    ----------
    mpi : MpiInUse
        The MPI that is asked.
    names : sequence of str
        Of its control variables.
    """
    return dict(_values(mpi.library, tuple(names))) if names else {}


@cache
def _values(library: Path, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    ran = launcher.run(
        [sys.executable, "-m", "subsalt_lab.collectives.control_values", str(library), *names],
        what=f"asking {library.name} for its control variables",
        timeout=60.0,
    )
    return tuple(json.loads(ran.stdout.strip().splitlines()[-1]).items())


def main() -> None:
    """Print the values of the named variables of a library, as JSON."""
    tool = Tool(Path(sys.argv[1]))
    known = tool.variables(re.escape(n) for n in sys.argv[2:])
    print(json.dumps({v.name: tool.text(v.name) for v in known}))


if __name__ == "__main__":
    main()
