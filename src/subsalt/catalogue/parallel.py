"""Codes of ranks: how MPI was started, what travels between ranks, and how the work is cut."""

ENTRIES = {
    "E711": (
        "MPI cannot be used",
        "A launcher (mpiexec, srun) started several ranks, but mpi4py is missing, finds no MPI library, or the ranks "
        "have no way to reach each other. Every rank would compute the whole survey.",
        "`pip install 'subsalt-imaging[mpi]'` (in a clone `pip install -e '.[mpi]'`), "
        "or name the site's MPI with MPI4PY_LIBMPI; under Slurm use `srun --mpi=pmi2` or "
        "`--mpi=pmix`; `SUBSALT_MPI=off` for independent runs.",
    ),
    "E712": (
        "The MPI library does not match the launcher",
        "The launcher belongs to another MPI than the library that mpi4py loads, so that every rank believes to be "
        "alone.",
        "Start with the mpiexec beside the Python of subsalt, or set MPI4PY_LIBMPI to the launcher's library.",
    ),
    "E713": (
        "A rank stopped responding",
        "A rank gave no sign of life for longer than [parallel] watchdog allows: its process was stopped, its host "
        "froze, or the network between hosts broke. The others would have waited without end.",
        "Check the named host. Finished work is kept, and the same command continues, on any number of ranks.",
    ),
    "E714": (
        "A rank failed",
        "An error without a code of its own arose on one rank and ended the work of all.",
        "The message names the rank and what happened there; --debug shows where.",
    ),
    "E715": (
        "The launcher died",
        "The process that started the ranks is gone, and with it the way to end them in order.",
        "What was finished is kept; start the same command again.",
    ),
    "W711": (
        "Hosts do not watch over each other",
        "The MPI library was started for one thread only, so that signs of life cannot travel beside the work. On each "
        "host the ranks still watch over each other.",
        "Give the job a time limit, or use an MPI library with MPI_THREAD_MULTIPLE; `subsalt doctor` shows the level.",
    ),
}
