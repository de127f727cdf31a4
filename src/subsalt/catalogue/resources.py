"""Codes 6xx and 7xx: memory, disk, damaged files, devices."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E600": (
        "Reading or writing failed",
        "The system reported an error.",
        "Check path, permissions and space.",
    ),
    "E601": (
        "Read error",
        "The system reported an error while a file was read.",
        "Check the disk and the network.",
    ),
    "E610": (
        "Not enough memory",
        "The job needs more memory than this process may use; nothing was started.",
        "The message names the smallest change that fits: a smaller aperture or a larger image step.",
    ),
    "E611": ("Out of memory", "The system refused memory.", "Use a coarser grid or a smaller aperture."),
    "E622": (
        "Ledger cannot be written",
        "The ledger of the run could not be brought to disk: no space, or no permission.",
        "Free space, then start the same command again: it goes on where it stopped.",
    ),
    "E640": (
        "Damaged file",
        "A file of the run directory fails its checksum.",
        "Start the same command again.",
    ),
    "E700": (
        "Device unavailable",
        "The device or instruction set is not available here.",
        "`subsalt doctor` shows what is.",
    ),
}
