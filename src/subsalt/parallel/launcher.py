"""Who started this process: mpiexec, srun or nobody; read from the environment, without MPI."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

#: launchers by the variables of rank and size that they set, and what their MPI library calls itself
_LAUNCHERS = (
    ("Open MPI's mpiexec", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ("Open MPI",)),
    ("mpiexec", "PMI_RANK", "PMI_SIZE", ()),
    ("mpiexec", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ()),
    ("the launcher", "PALS_RANKID", "PALS_SIZE", ()),
    ("srun", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", ()),
    ("the launcher", "PMIX_RANK", "PMIX_SIZE", ()),
)


@dataclass(frozen=True)
class Launch:
    """How this process was started.

    Parameters
    ----------
    name : str
        The launcher, for people.
    rank, size : int
        Of this process among all.
    library : tuple of str
        Words of which the library's own description has one; empty when any library may do.
    connected : bool
        Whether the launcher tells its processes how to reach each other.
    """

    name: str
    rank: int
    size: int
    library: tuple[str, ...] = ()
    connected: bool = True

    def fits(self, description: str) -> bool:
        """Return whether an MPI library can work under this launcher.

        Parameters
        ----------
        description : str
            What the library says of itself, such as ``"MPICH Version: 5.0.2"``.
        """
        return not self.library or any(word in description for word in self.library)


def launched(environment: Mapping[str, str] | None = None) -> Launch | None:
    """Return the launcher of this process, None when there is none.

    Parameters
    ----------
    environment : mapping, optional
        Variables; those of this process when left out. ``SUBSALT_MPI=off`` there makes every rank work for itself.
    """
    env = os.environ if environment is None else environment
    if env.get("SUBSALT_MPI", "").lower() in ("off", "0", "no"):
        return None
    for name, rank, size, library in _LAUNCHERS:
        if rank in env and size in env:
            try:
                return Launch(name, int(env[rank]), int(env[size]), library)
            except ValueError:
                continue
    # a batch script has Slurm's variables too, but only a step of srun has this one
    tasks, task = env.get("SLURM_STEP_NUM_TASKS", ""), env.get("SLURM_PROCID", "")
    if tasks.isdigit() and task.isdigit() and int(tasks) > 1:
        return Launch("srun", int(task), int(tasks), connected=False)
    return None
