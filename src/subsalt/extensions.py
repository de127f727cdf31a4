"""What other distributions add to the program by entry points: the lab brings commands, messages, and a counter of MPI
calls. Nothing of them is imported before it is asked for.
"""

from __future__ import annotations

from typing import Any

from subsalt.errors import DeviceError

#: groups of entry points: sub-commands, files of messages, and the class that counts the MPI calls of a process
COMMANDS, MESSAGES, MPI_PROFILE = "subsalt.commands", "subsalt.messages", "subsalt.mpi_profile"


def find(group: str) -> dict[str, Any]:
    """Return what is installed of a group, by name."""
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group=group)}


def lab_missing(what: str) -> DeviceError:
    """Return the error of asking for a part of the lab where it is not installed."""
    return DeviceError(
        f"{what} is part of the package subsalt-lab, which is not installed",
        "pip install subsalt-lab, or in a clone pip install -e packages/lab",
        code="E904",
    )
