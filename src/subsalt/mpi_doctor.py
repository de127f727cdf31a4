"""What `subsalt doctor` says of MPI: whether ranks could be started here, and how those started see each other."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from subsalt.errors import install
from subsalt.host import usable_cores
from subsalt.parallel import comm, mpi_library
from subsalt.parallel.gpu_messages import reaches_gpus
from subsalt.parallel.launcher import launched
from subsalt.propagation import devices


@dataclass
class Mpi:
    """What was found; every value is plain, for ``--json``.

    Parameters
    ----------
    mpi4py : str or None
        Version of MPI for Python, None where it is missing.
    library, standard, module : str
        The MPI library that it loads, the MPI standard of that, and the part of mpi4py that drives it.
    mpiexec : str or None
        The launcher beside this Python, or on PATH.
    launcher : str or None
        What started this process, when something did.
    ranks : int
        Processes that see each other.
    hosts : dict
        Ranks by host.
    threads : str
        The thread level that was granted, when MPI runs.
    gpus : list of str
        What is worth saying of the GPUs of the ranks; empty where no rank has one.
    cuda_aware : bool or None
        Whether MPI sends from and receives into the memory of a GPU; None when MPI does not run.
    problem, fix : str
        Why no ranks can be started, and the cure.
    """

    mpi4py: str | None = None
    library: str = ""
    standard: str = ""
    module: str = ""
    mpiexec: str | None = None
    launcher: str | None = None
    ranks: int = 1
    hosts: dict[str, int] = field(default_factory=dict)
    threads: str = ""
    gpus: list[str] = field(default_factory=list)
    cuda_aware: bool | None = None
    problem: str = ""
    fix: str = ""

    def lines(self) -> list[str]:
        """Return the text for people."""
        if self.mpi4py is None:
            return [f"mpi none: one process (for more: {install('mpi')})"]
        if self.problem:
            return [f"mpi mpi4py {self.mpi4py}, not usable: {self.problem}", f"    fix: {self.fix}"]
        text = f"mpi {self.library}, MPI {self.standard}, mpi4py {self.mpi4py} ({self.module})"
        if self.ranks == 1:
            start = (
                f"start ranks with {self.mpiexec} -n 2"
                if self.mpiexec
                else "no mpiexec here: the site's srun?"
            )
            return [f"{text}; {start}"]
        places = ", ".join(f"{count} on {host}" for host, count in self.hosts.items())
        out = [f"{text}; {self.ranks} ranks by {self.launcher}: {places}; {self.threads}"]
        if self.threads != "MPI_THREAD_MULTIPLE" and len(self.hosts) > 1:
            out.append("    a host that freezes is not noticed by the others: give jobs a time limit")
        cores, here = usable_cores(), self.hosts.get(os.uname().nodename, 1)
        if here > cores:
            out.append(f"    {here} ranks share {cores} core{'s' * (cores > 1)} of {os.uname().nodename}")
        return out + [f"    {text}" for text in self.gpus]


def examine() -> Mpi:
    """Look for mpi4py and its library, and count the ranks; collective where a launcher started several.

    Raises
    ------
    ParallelError
        When several ranks were started that cannot reach each other.
    """
    world = comm.world()
    launch = launched()
    found = Mpi(launcher=None if launch is None else launch.name, ranks=world.size)
    try:
        found.mpi4py = metadata.version("mpi4py")
    except metadata.PackageNotFoundError:
        return found
    found.mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    try:
        facts = mpi_library.describe()
    except (ImportError, RuntimeError, OSError) as error:
        found.problem = " ".join(str(error).split())
        found.fix = f"{install('mpi')}; or set MPI4PY_LIBMPI to the library of the site's MPI"
        return found
    found.library, found.standard = facts["library"], facts["standard"]
    found.module, found.threads = facts["module"], facts["threads"]
    found.hosts = dict(Counter(world.allgather(world.host)))
    if world.size > 1:
        _look_at_gpus(world, found)
    return found


def _look_at_gpus(world: comm.Comm, found: Mpi) -> None:
    """Say which ranks have GPUs, and how messages go between these; collective."""
    reach = reaches_gpus()
    found.cuda_aware = reach.yes
    told = devices.look(world)
    without = [r for r, one in enumerate(told) if not one["gpus"]]
    if len(without) == len(told):
        return
    if without:
        first = told[without[0]]
        found.gpus.append(
            f"no GPU for rank {without[0]} on {first['host']}: {first['why']}; all would use CPUs"
        )
    else:
        taken = devices.Gpus.of(told)
        gpus = len({(s.host, s.bus) for s in taken.seats})
        found.gpus.append(f"{world.size} ranks on {gpus} GPU{'s' * (gpus != 1)}")
        found.gpus += [f"{f.message}: {f.fix}" for f in taken.findings()]
    how = "go straight from GPU to GPU" if reach.yes else "pass through the memory of the host"
    found.gpus.append(f"CUDA-aware: {'yes' if reach.yes else 'no'} ({reach.why}); ghost planes {how}")
