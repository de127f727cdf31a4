"""Codes 8xx: the state of runs."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E801": (
        "Interrupted",
        "Ctrl-C, SIGTERM or SIGUSR1 ended the command. Finished shots are kept, nothing half-written remains.",
        "The same command goes on from there.",
    ),
    "E802": (
        "Run directory in use",
        "Another process works in this run directory.",
        "Wait for it, stop it, or choose another directory with --run.",
    ),
    "E803": (
        "Newer run directory",
        "The run directory was written by a newer version with another format.",
        "Use that version, or another directory.",
    ),
    "E810": (
        "Run of another job",
        "The run directory holds a run of another job, other inputs or another numerics class; the "
        "message shows what differs.",
        "Restore the job, or choose another directory with --run.",
    ),
    "E811": (
        "Shots of another job",
        "The folder holds shots that another job or model made.",
        "Choose another folder with --out.",
    ),
    "E820": (
        "No shot succeeded",
        "Every shot failed or was set aside, so there is no image.",
        "The ledger and events.jsonl hold the reasons; mend the first.",
    ),
    "E821": (
        "No image to draw",
        "The run directory holds neither an image nor readable partial images with a known grid.",
        "Start or continue the run with `subsalt migrate`.",
    ),
    "E822": (
        "Shots are missing in the image",
        "Some shots were set aside: their traces are wrong or their wavefield failed. The image holds the others.",
        "Read the reasons in the report, mend the traces or leave the shots out, and use a new run directory.",
    ),
    "E830": (
        "The folder is not shared",
        "Ranks on several nodes work on one run directory, and one of them does not see in it what rank 0 wrote.",
        "Choose a folder on a file system that all nodes mount, with --run or --out.",
    ),
    "E831": (
        "A format needs the whole image on one rank",
        "SEG-Y, RSF and NPY are written by all ranks, each its planes. The other formats are written by rank 0 alone, "
        "which has no memory for the whole image.",
        "Leave them out of [output] formats, and convert the image later with `subsalt export`.",
    ),
    "E870": (
        "No schedule for a shot",
        "The numbers of a checkpoint scheme contradict each other: a block longer than the shot, slots with a "
        "strategy that keeps no states.",
        "The message names the number; leave the choice to strategy = auto.",
    ),
}
