"""Codes 85x: playing back what a shot did."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E850": (
        "The movie does not fit",
        "Thinned as far as a movie still shows waves, its frames take more than --max-size allows, or than the "
        "--size and --every that were asked for leave room for.",
        "Give a larger --max-size, a smaller --size, a larger --every or fewer --fields, or look at it with --serve.",
    ),
    "E851": (
        "No server on a node of a batch system",
        "`subsalt play --serve` was started inside a batch job, on a node that others may use as well.",
        "Write a page with -o, serve from a workstation, or insist with --force.",
    ),
    "E852": (
        "Cannot listen",
        "The port on 127.0.0.1 that `subsalt play --serve` was to listen on is taken or not allowed.",
        "Leave --port out to take any free one, or name another.",
    ),
    "E853": (
        "Options of play",
        "An option of `subsalt play` has no meaning, or two of them do not go together.",
        "See `subsalt play --help`.",
    ),
}
