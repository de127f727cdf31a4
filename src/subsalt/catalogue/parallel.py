"""Codes of ranks: how MPI was started, what travels between ranks, and how the work is cut."""

ENTRIES = {
    "E711": (
        "MPI cannot be used",
        "A launcher (mpiexec, srun) started several ranks, but mpi4py is missing, finds no MPI library, or the ranks "
        "have no way to reach each other. Every rank would compute the whole survey.",
        "`pip install 'subsalt[mpi]'`, or name the site's MPI with MPI4PY_LIBMPI; under Slurm use `srun --mpi=pmi2` or "
        "`--mpi=pmix`; `SUBSALT_MPI=off` for independent runs.",
    ),
    "E712": (
        "The MPI library does not match the launcher",
        "The launcher belongs to another MPI than the library that mpi4py loads, so that every rank believes to be "
        "alone.",
        "Start with the mpiexec beside the Python of subsalt, or set MPI4PY_LIBMPI to the launcher's library.",
    ),
    "E714": (
        "A rank failed",
        "An error without a code of its own arose on one rank and ended the work of all.",
        "The message names the rank and what happened there; --debug shows where.",
    ),
}
