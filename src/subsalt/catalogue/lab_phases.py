"""Codes of the profile that a run of ours makes of itself."""

ENTRIES = {
    "E910": (
        "No profile can be written there",
        "SUBSALT_MPI_PROFILE asks for a profile of the run, and the file that it names cannot be made: its folder is "
        "missing, may not be written to, or the name is that of a folder. Nothing was started.",
        "Name a file in a folder that exists on the machine of rank 0, or unset SUBSALT_MPI_PROFILE.",
    ),
    "E911": (
        "The program makes no profile of itself",
        "The built-in profile counts the calls that subsalt makes through its own communicators. Another program, or a "
        "command of subsalt that works alone, has none.",
        "`subsalt lab profile` without `--built-in` profiles any MPI program; it needs a C compiler.",
    ),
}
