"""Codes 8xx: the state of runs."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E800": ("Stopped", "The run was asked to stop and stopped cleanly.", "The same command goes on."),
    "E801": (
        "Interrupted",
        "Ctrl-C or SIGTERM ended the command. Finished shots are kept, nothing half-written remains.",
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
}
