"""Codes of ``subsalt lab collectives``: what cannot be measured."""

ENTRIES = {
    "E930": (
        "More ranks than idle cores",
        "Ranks that take turns on a core wait for each other far longer than any message takes: the times say nothing "
        "about algorithms. An 8-byte sum of 2 ranks took 3 us on a quiet machine and 2000 us on a busy one.",
        "Use fewer ranks with --np, wait until the machine is idle, or look at times that are never applied with "
        "--oversubscribe-ok.",
    ),
    "E931": (
        "This MPI lets nobody choose",
        "The MPI in use has no control variable for the collectives asked for: its algorithms cannot be compared, and "
        "no other one can be chosen for a program.",
        "Use MPICH 4 or newer, Open MPI 4.1 or newer, or Intel MPI; or ask for other collectives with --collectives.",
    ),
    "E932": (
        "A collective does not work",
        "What the library does by itself ended the program, or gave wrong sums, before anything was changed.",
        "Try subsalt doctor and another launcher or MPI; nothing can be measured with this one.",
    ),
}
