"""Codes of prestack traces as time migration takes them: positions without shots, in any order."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E721": (
        "Distance of CDPs",
        "The CDPs of a line must lie some positive distance apart.",
        "Give the distance of neighbouring midpoints, half the group spacing as a rule.",
    ),
    "E722": (
        "Traces without coordinates",
        "Sources and receivers are all at zero, so that nothing says where the midpoints are.",
        "A 2-D line can be placed by CDP numbers and offsets: [data] cdp_line; bins that have positions by these: "
        "[data] bins; else say where coordinates lie: [data.bytes].",
    ),
    "E723": (
        "CDP numbers missing",
        "A line was to be placed by CDP numbers, but byte 21 is zero everywhere.",
        "Say where they are: [data.bytes] cdp = ...",
    ),
    "E724": (
        "Offsets missing on a line",
        "A line was to be placed by CDP numbers and offsets, but byte 37 is zero everywhere.",
        "[data.bytes] offset = ...; for a stacked section: [data] cdp_line offset = 0.",
    ),
    "E725": (
        "Receivers at their sources",
        "Coordinates of sources and receivers are the same while the headers have offsets: they are those of midpoints "
        "or stations.",
        "[data.bytes] receiver_x = ..., or [data] cdp_line for a 2-D line.",
    ),
    "W725": (
        "All offsets are zero",
        "Every source lies at its receiver: the traces are migrated as a stacked section.",
        "Say where coordinates are, if these are prestack traces.",
    ),
    "E726": (
        "Bins without positions",
        "Traces were to be placed at the positions of their bins, but bytes 181 and 185 are zero everywhere.",
        "Say where they are: [data.bytes] cdp_x = ..., cdp_y = ...",
    ),
    "W726": (
        "Some traces without coordinates",
        "Some traces have no coordinates, others do; the former would lie at map 0, 0.",
        "Mark them as dead (trace id 2), or correct their headers.",
    ),
    "E727": (
        "Sample interval a thousand times off",
        "Records of hours or of milliseconds: seconds, milliseconds or microseconds were mixed.",
        '[data.fix] dt = "4 ms".',
    ),
    "E728": (
        "Traces that are there twice",
        "Field record, channel, source and receiver repeat: a file named twice, or overlapping files. Such traces "
        "would count double.",
        'Name each file once; [data] duplicates = "first" leaves them out, "keep" uses all.',
    ),
    "W728": (
        "Repeated traces are used",
        "Field record, channel, source and receiver repeat, and the job says to use all.",
        'If that is not meant: [data] duplicates = "first".',
    ),
    "E729": (
        "Image times outside the records",
        "The times of the image and those of the records have nothing in common.",
        "Times are in seconds; write others with their unit.",
    ),
    "W729": (
        "Trace numbers repeat",
        "Traces at different places have one field record and channel, as several lines or vessels do.",
        "Ignore it for several lines; else check bytes 9 and 13.",
    ),
    "E730": (
        "All traces outside the output",
        "No midpoint lies on the output grid, or within the aperture of it. The message draws both on a map, and names "
        "the single mistake that would explain it: exchanged axes, a wrong azimuth, side or scalar.",
        "Correct the grid or the coordinates as the message says.",
    ),
    "W730": (
        "Output grid misplaced",
        "Less than half of the midpoints lie on the output grid and a good part of the grid has none, or another "
        "azimuth, side or scalar would bring nearly all of them onto it. The message draws both on a map.",
        "Correct the grid or the coordinates as the message says.",
    ),
    "W731": (
        "Bins are numbered otherwise",
        "The headers of most traces have another inline, crossline or CDP number than the output grid at their "
        "midpoint.",
        "If both should be the same, correct the corners of the grid, or its azimuth and spacing.",
    ),
    "W732": (
        "Not at one level",
        "Sources or receivers lie at different heights; time migration knows one datum.",
        "Apply statics to a flat datum first.",
    ),
}
