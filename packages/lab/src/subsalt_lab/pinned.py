"""Run a module of this package on some hardware threads: ``python -m subsalt_lab.pinned LISTS MODULE ARGUMENTS``.

LISTS has the hardware threads of each rank of a node, such as ``0-1;2-3``; ``-`` leaves the placement to the launcher
and the system. The place is taken before the compiled kernels start their threads.
"""

from __future__ import annotations

import os
import runpy
import sys

from subsalt_lab.topology import parse_list

#: variables in which launchers tell a rank its number on its node: Hydra (MPICH, Intel), Open MPI, Slurm
LOCAL_RANK = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")


def local_rank() -> int:
    """Return the number of this rank on its node, 0 without a launcher."""
    return next((int(os.environ[n]) for n in LOCAL_RANK if n in os.environ), 0)


def pin(lists: str) -> None:
    """Restrict this process to the hardware threads of its rank."""
    if lists != "-":
        os.sched_setaffinity(0, parse_list(lists.split(";")[local_rank()]))


if __name__ == "__main__":
    pin(sys.argv[1])
    module = sys.argv[2]
    if not module.startswith("subsalt"):
        sys.exit(f"{module} is no module of subsalt")
    sys.argv = sys.argv[2:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
