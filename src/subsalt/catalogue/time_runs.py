"""Codes 89x: runs of Kirchhoff time migration."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E890": (
        "Offsets are not nominal",
        "Gathers of every offset need offsets that repeat, as those of a cable towed straight behind its source do. "
        "The offsets of these data fill the axis, so that every trace would have an image trace of its own.",
        'Use gathers = "offset" with offset classes; the message proposes some.',
    ),
    "E891": (
        "Time migration does not fit into memory",
        "A rank holds the sums of at least one image trace of one location, besides the blocks of traces that are "
        "read, prepared and summed.",
        "Allow more with [kirchhoff] memory, or make trace_block smaller.",
    ),
    "E892": (
        "Arrays of a time migration do not belong together",
        "Traces, source and receiver positions need one row per trace, and finite numbers.",
        "Give traces (n, samples), src (n, 2) and rcv (n, 2); zero or leave out dead traces.",
    ),
}
