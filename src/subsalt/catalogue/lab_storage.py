"""Codes 96x: programs that the lab drives for storage and for campaigns, and advice about directories."""

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
        "Mend what it complains about, such as a full disk, or use --engine own.",
    ),
    "E962": (
        "The answer of fio cannot be read",
        "The JSON of fio is cut off, of a version before 3, or lacks what every version since has; no figure is given.",
        "Use --engine own; report the version that `fio --version` prints.",
    ),
}
