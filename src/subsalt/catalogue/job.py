"""Codes 0xx and 1xx: the command line, the job file, options, missing files."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E001": (
        "Internal error",
        "Something failed that the program does not expect. It is a defect of the program, not of your data.",
        "Report it with the file that the message names; --debug shows the traceback.",
    ),
    "E002": (
        "Wrong use of the command line",
        "A command, option or argument is unknown or missing.",
        "Every command explains itself with --help.",
    ),
    "E100": (
        "Wrong setting",
        "A setting of the job or an argument of a function has a value it cannot have.",
        "The message names the setting and what it may be.",
    ),
    "E101": (
        "Unknown key",
        "The job file holds a key that does not exist where it stands; it would have had no effect.",
        "Correct its spelling, or move it into the table that the message names.",
    ),
    "E102": (
        "Missing key or table",
        "The job cannot be understood without this key.",
        "Add it; docs/job.md explains every key.",
    ),
    "E103": (
        "Not a quantity",
        "A value is neither a number (SI; angles in degrees) nor a number with a unit that measures the right thing.",
        'Write 12.5 or "12.5 m", 2000 or "2 km/s", 0.004 or "4 ms", 15 or "15 Hz", 30 or "30 deg".',
    ),
    "E104": (
        "Impossible value",
        "A key of the job file has a value of the wrong kind or outside its limits, or keys contradict each other.",
        "The message names the key, its line, the value and what it may be.",
    ),
    "E105": (
        "Unknown medium",
        "The wave equation asked for is not one of those that this version solves.",
        "Use auto, isotropic or vti.",
    ),
    "E106": (
        "Not a TOML file",
        "The job file cannot be read as TOML text; the message gives line and column.",
        "Put texts in quotes, tables in [brackets], lists in [1, 2]; `subsalt init` writes a file to start from.",
    ),
    "E107": (
        "CSV of positions unreadable",
        "A table of sources or receivers lacks a column or holds something that is no number.",
        "Its first line names the columns: shot,sx,sy,sz for sources, shot,chan,gx,gy,gz for receivers.",
    ),
    "E110": (
        "File missing",
        "A file that the command or the job names does not exist, is a directory, or may not be read.",
        "Names in a job file count from the folder of that file.",
    ),
    "E112": (
        "Pattern matches nothing",
        "A file pattern of [data] files matches no file.",
        "Names count from the folder of the job file; quote patterns on the command line.",
    ),
    "E124": (
        "No shot files",
        "`init` needs recorded shots to look at.",
        "Name them with --from; patterns are allowed.",
    ),
    "E125": (
        "Not a percentile",
        "--clip takes a percentile of the absolute amplitudes.",
        "Use a value above 0, up to 100.",
    ),
    "E126": (
        "Nothing to explain",
        "The word is neither a code of the catalogue nor a key of the job file.",
        "Codes look like E412, keys like imaging.aperture.",
    ),
    "E127": (
        "Job file exists",
        "`init` does not replace a job file that is already there.",
        "Choose another name, or replace it with --force.",
    ),
}
