"""Codes of messages between ranks, and of the benchmarks of others that measure them."""

ENTRIES = {
    "E950": (
        "A C program of the lab cannot be compiled",
        "The lab compiles small C programs on this machine, with the compiler of the MPI in use; it could not be started, "
        "or failed.",
        "The message has its last lines; try that compiler by itself. A C compiler (gcc or clang) must be on PATH.",
    ),
}
