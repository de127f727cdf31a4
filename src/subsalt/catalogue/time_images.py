"""Codes 83x: looking at time images, and velocity scans."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E832": (
        "No time image",
        "A SEG-Y or SU file says neither inline and crossline numbers nor CDPs, its line numbers are no range, or its "
        "traces differ in their samples: it is neither a time image nor a file of image gathers.",
        "Take image.sgy or gathers.sgy of a run, or look at shots with `subsalt view` as they are.",
    ),
    "E833": (
        "Place outside the image",
        "A location, time or number of locations that was asked for is not in the image.",
        "The message says which inlines, crosslines and times there are.",
    ),
    "E834": (
        "No velocity scan",
        "--vscan wants first:last:step, factors on the rms velocity such as 0.9:1.1:0.05, of a job whose method is "
        "kirchhoff.",
        "Choose scales around 1; 2 to 41 of them. The gathers of the job show which is best.",
    ),
    "E835": (
        "A time image does not become a depth volume",
        "An image or gathers in two-way time were to be exported to a format that holds volumes in depth, or its "
        "locations fill no rectangle, so that they are no array.",
        "Export it to .sgy, .su, .rsf, .npz or .npy.",
    ),
    "E836": (
        "An option of another kind of image",
        "An option was given that this kind of run or file has no use for, such as --gathers-every for a depth volume "
        "or --key for a file of one image.",
        "Leave the option out.",
    ),
}
