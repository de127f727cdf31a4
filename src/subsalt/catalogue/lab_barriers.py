"""Codes of the lab's barrier audit, and of runs of a program with and without something."""

ENTRIES = {
    "E920": (
        "No output to compare",
        "The globs of --outputs match no file that the program wrote. Files that were there before and were not "
        "written again do not count: they would compare as equal to themselves.",
        "Quote the globs and give them relative to the folder where the command is started; without --outputs the text "
        "that the program prints is compared.",
    ),
    "E921": (
        "More ranks than cores",
        "Ranks that take turns on a core wait for the system's scheduler, which has nothing to do with how they would "
        "wait for each other on cores of their own.",
        "Use as many ranks as cores, or --oversubscribe-ok to look at a result that is marked and never applied.",
    ),
    "E922": (
        "The program's outputs are not the same twice",
        "Two runs of the unchanged program gave different outputs, so that a difference after a change would say "
        "nothing about it. Times and dates in the output are the usual cause.",
        "Name files that are the same every time with --outputs, or what to leave out of the printed text with "
        "--ignore REGEX.",
    ),
    "E923": (
        "The changed program fails or hangs",
        "The program ended well as it is, and did not with the change that was tried, such as barriers left out: it "
        "depends on what was changed.",
        "Leave it as it is; `subsalt lab barriers --try` with fewer sites tells which one.",
    ),
    "E924": (
        "No such barrier to try",
        "The numbers or names given with --try are not among the sites of the audit, the program calls no barrier, or "
        "it does not come to a site any more that an earlier audit found.",
        "Give numbers of the table that the audit prints, or all-candidates; make an old audit again.",
    ),
    "E925": (
        "Not an audit of barriers",
        "The file given with --from is missing, or was not written by `subsalt lab barriers --out`.",
        "Make one: subsalt lab barriers --out audit.json -- mpiexec -n 4 PROGRAM.",
    ),
    "E926": (
        "Outputs differ without the barriers",
        "The program gave other outputs when the barriers were left out: they order something that the audit cannot "
        "see, such as a file that one rank writes and another one reads.",
        "Keep these barriers; --try with fewer sites tells which of them it is.",
    ),
}
