"""Codes 717, 718 and 76x: the traces, the job, the options and the image grid of Kirchhoff time migration."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E717": (
        "Traces do not fit their time axis",
        "Traces that are to be migrated have another number of samples than their time axis, or fewer than two.",
        "Give an array (traces, samples) with the TimeAxis of these samples.",
    ),
    "E718": (
        "Traces hold values that cannot be filtered",
        "A sample is not a number, infinite, or above 1e28, which no recorded amplitude is: its filters would fill the "
        "whole trace, and the image around it, with what is not a number.",
        'Repair the trace or leave it out. [data] bad_traces = "zero" sets samples that are not finite to zero; huge '
        "ones often mean that the file is read with a wrong sample format.",
    ),
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
    "E766": (
        "Nothing says the output grid",
        "The job gives neither corner points nor an origin, and the headers of the traces hold no line numbers, or "
        "numbers that do not go with the positions.",
        "The message holds a grid around the midpoints: put it, or that of your survey, into [kirchhoff].",
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
    "W760": (
        "Grid not at right angles",
        "Inlines and crosslines of the output are not perpendicular on the map. Rarely is a survey numbered so; a "
        "mistake in a corner point often looks like that.",
        "Check the corner points; a skewed grid is migrated as it is.",
    ),
    "W761": (
        "Image longer than the records",
        "Output samples later than the end of the records have no data; they stay zero.",
        "Shorten [kirchhoff] time.",
    ),
    "W762": (
        "Image sampled coarser than the data",
        "The image keeps frequencies up to the Nyquist frequency of its own sample interval; what the data hold above "
        "it is aliased.",
        "Use the sample interval of the data, or filter the data first.",
    ),
    "W763": (
        "Antialias spacing is not that of the bins",
        "The antialias filter is made for input midpoints so far apart. More than their distance loses frequencies of "
        "steep dips, less leaves aliased energy in the image.",
        'Give the spacing of the input midpoints along inline and crossline, or "bins".',
    ),
    "W764": (
        "Output grid larger than the survey",
        "Many output locations have no midpoint within the aperture; they cost memory and stay empty.",
        "Restrict inline and crossline to the survey, or check the corner points.",
    ),
    "W765": (
        "Offset classes and data do not go together",
        "Some classes of the gathers hold no trace, or some traces belong to no class and are left out.",
        "Choose first, last and step of [kirchhoff] offset from the offsets of the data, which `subsalt check` shows.",
    ),
    "W766": (
        "Amplitude correction of another dimension",
        "The 3-D correction integrates over midpoints of an area, the 2.5-D correction over those of one line.",
        'Leave amplitude out: "auto" looks at the midpoints.',
    ),
    "W767": (
        "Stretch mute far above 100 %",
        "Fractions such as 0.3 and texts such as 30 % are understood; a bare 30 is 3000 %.",
        "Write percentages with their sign.",
    ),
    "W768": (
        "Aperture smaller than two bins",
        "An operator that narrow images flat events only; lengths without a unit are metres.",
        "Write the unit, or a larger aperture.",
    ),
    "W769": (
        "Nothing limits the operator",
        "Without an aperture or a dip limit every trace is added to every output location. On a large survey that "
        "takes long, and steep operators bring noise from far away.",
        "Set [kirchhoff] aperture or dip to what the steepest events need.",
    ),
}
