"""Whether the MPI library sends and receives in the memory of a GPU: it is asked, never guessed."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any

from subsalt.errors import ParallelError
from subsalt.parallel import mpi_library

#: variable that decides in place of the library: "direct" or "staged"
SETTING = "SUBSALT_GPU_MPI"

#: how mpi_memory_alloc_kinds names the memory of NVIDIA GPUs
_MEMORY_KIND = "cuda"

#: MPIX_GPU_SUPPORT_CUDA of MPICH's mpi_proto.h, the first of its kinds
_CUDA_OF_MPICH = 0


@dataclass(frozen=True)
class Reach:
    """Whether messages go straight from and to the memory of a GPU, and who says so."""

    yes: bool
    why: str


def reaches_gpus() -> Reach:
    """Return whether MPI may be given pointers of a GPU.

    In this order: `SUBSALT_GPU_MPI`, the kinds of memory that MPI 4.1 lists for the run, the functions by which MPICH
    and Open MPI answer. A library that says nothing is not trusted: a pointer that it cannot read ends the program.

    Raises
    ------
    ParallelError
        When `SUBSALT_GPU_MPI` is neither ``direct`` nor ``staged``.
    """
    asked = os.environ.get(SETTING, "").strip().lower()
    if asked in ("direct", "staged"):
        return Reach(asked == "direct", f"{SETTING}={asked}")
    if asked not in ("", "auto"):
        raise ParallelError(
            f"{SETTING}={asked} is not one of direct, staged, auto",
            f"leave {SETTING} out: MPI is asked what it can; staged always works",
            code="E992",
        )
    if not mpi_library.is_running():
        return Reach(False, "MPI does not run")
    return _listed() or _asked() or Reach(False, "the library does not say")


def _listed() -> Reach | None:
    """Return what the memory kinds of MPI 4.1 say; None when there is no list, or CUDA is not in it.

    A library lists what it was asked for: without CUDA in the list, it may still reach GPUs.
    """
    kinds = mpi_library.module().COMM_WORLD.Get_info().Get("mpi_memory_alloc_kinds")
    if kinds and any(kind.split(":")[0].strip() == _MEMORY_KIND for kind in kinds.split(",")):
        return Reach(True, f"mpi_memory_alloc_kinds = {kinds}")
    return None


def _asked() -> Reach | None:
    """Return what the library answers by the functions that MPICH and Open MPI have; None when it has none."""
    library: Any = ctypes.CDLL(mpi_library.module().__spec__.origin)
    for name in ("MPIX_Query_cuda_support", "MPIX_GPU_query_support"):
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        if name == "MPIX_Query_cuda_support":
            return Reach(function() == 1, f"{name} says {'yes' if function() == 1 else 'no'}")
        answer = ctypes.c_int()
        if function(_CUDA_OF_MPICH, ctypes.byref(answer)) == 0:
            return Reach(answer.value == 1, f"{name} says {'yes' if answer.value == 1 else 'no'}")
    return None
