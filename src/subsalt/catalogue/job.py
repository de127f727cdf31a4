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
        "Add it; docs/reference/job.md explains every key.",
    ),
    "E103": (
        "Not a quantity",
        "A value is neither a number (SI; angles in degrees) nor a number with a unit that measures "
        "the right thing.",
        'Write 12.5 or "12.5 m", 2000 or "2 km/s", 0.004 or "4 ms", 15 or "15 Hz", 30 or "30 deg".',
    ),
    "E104": (
        "Impossible value",
        "A key of the job file has a value of the wrong kind or outside its limits, or keys "
        "contradict each other.",
        "The message names the key, its line, the value and what it may be.",
    ),
    "E105": (
        "Unknown medium",
        "The wave equation asked for is not one of those that this version solves.",
        "Use auto, isotropic, vti or tti.",
    ),
    "E106": (
        "Not a TOML file",
        "The job file cannot be read as TOML text; the message gives line and column.",
        "Put texts in quotes, tables in [brackets], lists in [1, 2]; `subsalt init` writes a file to "
        "start from.",
    ),
    "E107": (
        "CSV of positions unreadable",
        "A table of sources or receivers lacks a column or holds something that is not a number.",
        "Its first line names the columns: shot,sx,sy,sz for sources, shot,chan,gx,gy,gz for receivers.",
    ),
    "E110": (
        "File missing",
        "A file that the command or the job names does not exist, is a directory, or may not be read.",
        "Names in a job file count from the folder of that file.",
    ),
    "E111": (
        "File cannot be opened",
        "The file exists, but the system refuses to open it.",
        "Check its permissions.",
    ),
    "E112": (
        "Pattern matches nothing",
        "A file pattern of [data] files matches no file.",
        "Names count from the folder of the job file; quote patterns on the command line.",
    ),
    "E113": (
        "Zarr is not installed",
        "Reading or writing .zarr needs the optional package zarr.",
        "Install it beside subsalt: pip install 'zarr>=3'.",
    ),
    "E114": (
        "Run without image",
        "The run directory holds no finished image.",
        "Wait until the run has finished, or name a file.",
    ),
    "E116": (
        "Wavelet file missing",
        "The file named as the source wavelet does not exist.",
        "Correct [source] file.",
    ),
    "E121": (
        "Unknown medium",
        "The medium of the options is not one of those that can be solved.",
        "Use auto, isotropic, vti or tti.",
    ),
    "E122": (
        "VTI without parameters",
        "VTI was asked for, but the model has neither epsilon nor delta.",
        "Give them, or use isotropic.",
    ),
    "E123": (
        "Packed models of a TTI medium",
        "16-bit model arrays are for isotropic and VTI media; the step of TTI computes more than it reads, and "
        "would gain nothing.",
        "Leave out model_storage, or set it to f32.",
    ),
    "W123": (
        "Coarse packed velocities",
        "16-bit velocities are spaced evenly in their square: where the slowest are more than sixteen times slower "
        "than the fastest, they are off by more than 0.1 %.",
        "Use f32, or correct the slowest velocities of the model.",
    ),
    "E124": (
        "No shot files",
        "`init` needs recorded shots to look at.",
        "Name them with --from; patterns are allowed. A job that models shots has none: write it by hand, with "
        "[acquisition].",
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
    "E128": (
        "A measurement asked wrongly",
        "A medium, order, table, number of threads or size given to `subsalt lab` is not known or not possible here.",
        "`subsalt lab COMMAND --help` lists what is; `subsalt doctor` says how many cores there are.",
    ),
    "E130": (
        "Unknown imaging condition",
        "The imaging condition does not exist.",
        "Use source-normalised, cross-correlation or inverse-scattering.",
    ),
    "E132": (
        "Target is the source",
        "A file would be exported onto itself.",
        "Give the copy another name.",
    ),
    "E150": (
        "Unknown boundary",
        "The absorbing boundary is not one of pml, damping, none.",
        "Use pml (default), damping or none.",
    ),
    "E151": (
        "Layer too thin",
        "An absorbing layer needs at least one cell.",
        "Leave the width out: 12 cells for pml, 40 for damping.",
    ),
    "E152": (
        "Layer profile out of range",
        "The reflection of the layer must lie between 0 and 1, its exponent between 0 and 8.",
        "Leave both out, or use 1e-5 and 2.",
    ),
    "E153": (
        "Layers do not fit",
        "The absorbing layers at both ends of an axis are longer than the axis.",
        "Enlarge the grid or use a thinner layer.",
    ),
    "E154": (
        "Sinc radius out of range",
        "Off-grid weights exist for radii of 1 to 8 cells.",
        "Use 4.",
    ),
    "E160": (
        "Wavelet parameters",
        "Frequencies, delay, length or sampling interval of the wavelet make no sense.",
        "Use positive rising frequencies in Hz, a delay of 1.5 / f0 and a dt in seconds.",
    ),
    "E161": (
        "Wavelet without dt",
        "A wavelet file of one column does not say its sampling interval.",
        "Give dt, or a file with a time column.",
    ),
    "E162": (
        "Wavelet above Nyquist",
        "The wavelet has frequencies its sampling interval cannot carry.",
        "Use a smaller dt or lower frequencies.",
    ),
    "E163": (
        "Trace map arguments",
        "Time axes, dispersion, derivative or the shape of the traces given to a trace map are wrong.",
        "Order traces as (trace, sample), and give positive intervals in seconds.",
    ),
}
