"""Codes 90x: the profile of an MPI program."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E900": (
        "The program is not there",
        "The launch line names no program, or one that is not on PATH, cannot be executed, or needs a library of MPI "
        "that the dynamic linker does not find.",
        "Write the whole launch line after --, such as `subsalt lab profile -- mpiexec -n 4 ./program`.",
    ),
    "E901": (
        "A program linked statically",
        "Calls of MPI are seen by a library loaded between a program and MPI. Nothing can be loaded into one that "
        "holds its MPI inside.",
        "Link it against the shared library of MPI (with most compilers by leaving -static out).",
    ),
    "E902": (
        "No MPI",
        "The program is not linked to a library of MPI, its Python has no mpi4py, or what was given as that library "
        "is none.",
        "Give an MPI program; where it loads MPI in a way that is not seen from outside, name the library with --mpi.",
    ),
    "E903": (
        "No C compiler",
        "The library that sees calls of MPI is compiled on the machine where it is used, and there is no compiler.",
        "Install gcc or clang, or name a compiler in CC. Runs of subsalt itself have a lighter profile without one: "
        "`subsalt lab profile --built-in`.",
    ),
    "E905": (
        "No mpi.h",
        "The library that sees calls of MPI is made from the header of that MPI, which is not installed.",
        "Install the headers; the message names the packages.",
    ),
    "E906": (
        "Not a profile of MPI",
        "A file is not what `subsalt lab profile --out` writes, or not complete.",
        "Make the profile again.",
    ),
    "E907": (
        "The profiled program failed",
        "The program ended with an exit code, by a signal or by MPI_Abort. What it did in MPI is written when MPI "
        "ends, so there is no profile. The exit code of the command is that of the program.",
        "Look at what the program says, and let it run by itself first.",
    ),
    "E908": (
        "No profile",
        "The program ended well, but never ended MPI: it does not use MPI, leaves without MPI_Finalize, or uses "
        "another library of MPI than the one that was found.",
        "Name its library with --mpi, and see to it that MPI_Finalize is called.",
    ),
    "E909": (
        "Another MPI",
        "The program loads another library of MPI than the one that was found for it, as a script that starts it may "
        "well do. It was ended before MPI began.",
        "Name its library with --mpi, and start it with the launcher of that MPI.",
    ),
}
