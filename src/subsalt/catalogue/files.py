"""Codes 2xx: SEG-Y and SU files, traces, wavelet files."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E200": (
        "Wrong data",
        "Input data cannot be used as they are.",
        "The message names the file and the value.",
    ),
    "E280": (
        "Sampling interval unlikely",
        "Records with more than 0.1 s between samples do not exist; the header probably holds milliseconds, or microseconds "
        "times a thousand.",
        "Give the interval: [data.fix] dt.",
    ),
    "W281": (
        "Very short records",
        "The sampling interval is below 50 microseconds and the whole record below 50 ms.",
        "If the header meant milliseconds, give the interval: [data.fix] dt.",
    ),
    "W282": (
        "Dead traces",
        "Some traces are zero from begin to end. They add nothing to the image, but there may be more wrong with them.",
        "Nothing to do if they are known to be dead; else check sample format and header bytes.",
    ),
    "E283": (
        "Shot without signal",
        "Every trace of a shot is zero.",
        "Leave the shot out with [data] shots, or check the sample format.",
    ),
    "E284": (
        "NaN in traces",
        "Samples are NaN or infinite; one of them would spoil the whole image.",
        'Repair the file, or set [data] bad_traces = "zero".',
    ),
    "E285": (
        "Impossible amplitudes",
        "Samples are larger than any measurement: IBM floats were read as IEEE floats, or with the wrong byte order.",
        "Say the format: [data.fix] format = 1 (IBM) or 5 (IEEE), or endian.",
    ),
    "W286": (
        "Constant traces",
        "Some traces hold one value from begin to end.",
        "Check sample format and header bytes; they add nothing to the image.",
    ),
    "W287": (
        "Clipped traces",
        "Many samples have exactly the largest value of the shot: the recording or a conversion to integers was clipped.",
        "Use the data before they were clipped.",
    ),
    "W288": (
        "Signal before the first possible arrival",
        "Most of the energy of many traces lies before the straight ray at the model's largest velocity can arrive.",
        "Check time zero ([data.fix] delay), the sampling interval, and the coordinates.",
    ),
    "E289": (
        "Wavelet beyond the record",
        "The source wavelet peaks after the records end.",
        "Check the units of [source] f0 and t0 and the sampling interval of the data.",
    ),
}
