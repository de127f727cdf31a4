"""Parts that other distributions add by entry points: the lab brings commands, messages, and a counter of MPI calls.

Nothing of them is imported before it is asked for.
"""

from __future__ import annotations

from typing import Any

#: groups of entry points: sub-commands, files of messages, and the class that counts the MPI calls of a process
COMMANDS, MESSAGES, MPI_PROFILE = "subsalt.commands", "subsalt.messages", "subsalt.mpi_profile"


def extensions(group: str) -> dict[str, Any]:
    """Return the installed entry points of a group, by name."""
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group=group)}
