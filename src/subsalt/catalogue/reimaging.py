"""Codes 86x: images from what a run has kept."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E860": (
        "What is kept cannot make this image",
        "The imaging of a run has changed. Its partial images do not hold the sums that this needs, and the wavefields "
        "of some shots were not kept, so that they would have to be propagated again.",
        'Choose another directory with --run. With [checkpoint] keep = "both" a run can be imaged again by any '
        "condition.",
    ),
    "E861": (
        "Not kept",
        "What is asked for needs wavefields that the run has not kept, or shots that it has not finished.",
        'Migrate with [checkpoint] keep = "both" into a new directory; "source" is enough for the illumination.',
    ),
    "E862": (
        "Wrong region",
        "--region does not have the form x0:x1,z0:z1 (3-D: x0:x1,y0:y1,z0:z1) in metres of the model's local frame, or "
        "holds no point of the image.",
        "The message says the limits of the image; `subsalt play` prints the region that is picked with the mouse.",
    ),
    "E863": (
        "A kept wavefield cannot be used",
        "The files of a kept wavefield are gone, damaged, not those that the ledger of the run knows, or hold other "
        "samples. Its shot is left out of the new image, and the others are used.",
        'Make it again: run the job with [checkpoint] keep = "both" in a new directory.',
    ),
    "E864": (
        "Wrong wish for a new image",
        "An option of `subsalt reimage` makes no sense for this run: times without a sample, its own directory for the "
        "result, or another class of numerics than the run was computed with.",
        "The message says which, and what is possible.",
    ),
    "E865": (
        "Nothing to play",
        "The run has no such shot, or the shot has no sample between these times, or the field is none that is shown.",
        "The message says what there is.",
    ),
}
