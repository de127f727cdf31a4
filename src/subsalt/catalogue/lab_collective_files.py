"""Codes E940 to E949: files of collective algorithms and hints of MPI-IO."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E940": (
        "An algorithm cannot be written for this MPI",
        "The file of algorithms that this MPI reads has no place for it: its name is not known there, one of its "
        "parameters is missing, or the library holds no table to start from.",
        "Leave it out, or write variables with --as-variables: they hold for all sizes.",
    ),
    "E941": (
        "No choices of algorithms in this folder",
        "The folder holds no record of choices, or something else under its name.",
        "Measure and write them with subsalt lab collectives --folder DIR, and name that folder.",
    ),
    "E942": (
        "The MPI does not use what was written",
        "Everything was written once more with a rule that no call survives, given to the ranks in the same way, and "
        "the calls went through: the file is not read, or calls do not come to its rules. Open MPI says nothing about "
        "a file that is missing or that it cannot read.",
        "Let all nodes see the folder, give the variables to the ranks, and use the MPI that was measured.",
    ),
    "E943": (
        "The MPI fails without any choice of ours",
        "A call with a known answer fails, or the program does not start, although no file and no variable of ours "
        "is set.",
        "Look whether mpiexec starts programs at all; its own message is repeated.",
    ),
    "E944": (
        "There are no choices to verify",
        "What was written is empty: the library's own choices were the best, or the measurement was too noisy to tell.",
        "Nothing needs to be done; measure again on a quiet machine to be sure.",
    ),
    "E945": (
        "The MPI does not take the hints",
        "Hints of MPI-IO were written and given to a program in the way in which they would be used; the library told "
        "other ones when it was asked for them.",
        "Give the variables to the ranks, and let all nodes see the file of hints.",
    ),
    "E946": (
        "MPI-IO gave wrong data",
        "A file written or read by collective calls of MPI-IO, under the hints that are named, does not hold what was "
        "written. Every value is compared.",
        "Do not use these hints on that file system, and report it to the makers of the MPI.",
    ),
}
