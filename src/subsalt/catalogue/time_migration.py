"""Codes 76x: the job, the options and the image grid of Kirchhoff time migration."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E760": (
        "Corner points make no image grid",
        "Corner points are too few, lie on one line, or no regular grid of inlines and crosslines goes through them "
        "to within 1 % of a bin.",
        "Give three or more points [inline, crossline, x, y] of the grid that span an area; the message names the "
        "distance of each from the grid that fits best.",
    ),
    "E761": (
        "Range of lines or times is wrong",
        "A first, a last and a step do not lead from one to the other.",
        "The message names ends that the step reaches.",
    ),
    "E762": (
        "Number of alias bands is wrong",
        "Antialiasing by bands takes every trace in some low-passed copies; the first of them is the trace itself, "
        "so that there is one at least.",
        'Use bands = 10; antialias = "none" switches antialiasing off.',
    ),
    "E763": (
        "Aperture leaves nothing",
        "A largest distance or dip of 0 or less excludes every trace.",
        'Give metres above 0, degrees between 0 and 90, or "all".',
    ),
    "E764": (
        "Stretch mute leaves nothing",
        "The stretch of a sample is 0 at zero offset and grows with offset; a limit of 0 or less mutes all of them.",
        'Give the largest stretch, for example 0.3 or "30 %", or "off".',
    ),
    "E765": (
        "Times of the image lie outside the records",
        "The image begins before time zero, or no sample of it lies within the length of the records.",
        "Give [kirchhoff] time = {first, last, step} in seconds, or as texts with a unit.",
    ),
    "E767": (
        "Antialias spacing is wrong",
        "The spacing of the input midpoints along inline and crossline decides which frequencies a steep operator "
        "may carry; it must be two distances above 0.",
        'Give both in metres, or "bins" for the spacing of the output bins.',
    ),
    "E768": (
        "Classes of gathers are wrong",
        "Offset classes and azimuth sectors say into which image traces of a location the data are summed; the ranges "
        "given make no classes, or belong to another kind of gathers.",
        "Give offset = {first, last, step}: the middle of the first and of the last class, and their width.",
    ),
    "E769": (
        "Key of another method",
        "The job holds a table, a key or an option that another method of migration knows; it would have had no "
        "effect.",
        'Remove it, or ask for the other method at the top of the file: method = "rtm" or method = "kirchhoff".',
    ),
}
