"""Codes 96x: programs that the lab drives for storage and for campaigns."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E960": (
        "No fio",
        "`subsalt lab storage --engine fio` drives fio, which is not on PATH, or is older than version 3.",
        "Install it (Debian: apt install fio), or use --engine own: threads of this program make the transfers.",
    ),
    "E961": (
        "fio failed",
        "fio ended with an error or reported one for its job; its complaint is in the message. No figure is given, and "
        "its files are removed.",
        "Fix what it complains about, such as a full disk, or use --engine own.",
    ),
    "E962": (
        "The answer of fio cannot be read",
        "The JSON of fio is cut off, of a version before 3, or lacks what every version since has; no figure is given.",
        "Use --engine own; report the version that `fio --version` prints.",
    ),
    "E963": (
        "No ReFrame",
        "`subsalt lab scaling --engine reframe` drives ReFrame, which is not installed here, or is older than 4.7.",
        "`pip install 'subsalt-imaging[lab]'` (in a clone `pip install -e '.[lab]'`), "
        "or use --engine own: this process makes the runs, one after the other.",
    ),
    "E964": (
        "A run failed in ReFrame",
        "ReFrame calls a run of the campaign failed, for a reason that the command itself did not give, such as a "
        "scheduler that refused the job. No figure is given.",
        "Fix what the message names; --engine own shows what the command itself prints.",
    ),
    "E965": (
        "The report of ReFrame cannot be used",
        "The report is cut off, of a format before 4, lacks runs, or lists runs that were made at the same time, "
        "which measures how they disturb each other. No figure is given.",
        "Use --engine own; report the version that `reframe --version` prints.",
    ),
}
