"""Codes 86x: images from what a run has kept."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E860": (
        "What is kept cannot make this image",
        "The imaging of a run has changed. Its partial images do not hold the sums that this needs, and the wavefields "
        "of some shots were not kept, so that they would have to be propagated again.",
        'Choose another directory with --run. With [checkpoint] keep = "both" a run can be imaged again by any '
        "condition.",
    ),
    "E862": (
        "Wrong region",
        "--region does not have the form x0:x1,z0:z1 (3-D: x0:x1,y0:y1,z0:z1) in metres of the model's local frame, or "
        "holds no point of the image.",
        "The message says the limits of the image; `subsalt play` prints the region that is picked with the mouse.",
    ),
}
