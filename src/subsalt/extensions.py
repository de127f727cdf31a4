"""Parts that need other distributions: what these add by entry points, and conversions to libraries of users.

The lab brings commands, messages, and a counter of MPI calls; subsalt-cuda the kernels for GPUs. `subsalt.libraries`
converts models, surveys and results to xarray, ObsPy, PyLops and Jupyter. Nothing of them is imported before it is
asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

#: groups of entry points: sub-commands, files of messages, and the class that counts the MPI calls of a process
COMMANDS, MESSAGES, MPI_PROFILE = "subsalt.commands", "subsalt.messages", "subsalt.mpi_profile"
#: group of the file with the compiled kernels for GPUs
CUDA_PLUGIN = "subsalt.cuda_plugin"


# to find them, the descriptions of all installed packages are read: 20 ms
@cache
def extensions(group: str) -> dict[str, Any]:
    """Return the installed entry points of a group, by name."""
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group=group)}


def library(adapter: str) -> Any:
    """Return a module of `subsalt.libraries`, imported now.

    It knows the classes that it converts; these know its name alone, for methods such as `to_xarray`.
    """
    return import_module(f"subsalt.libraries.{adapter}")
