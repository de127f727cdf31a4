"""Codes 85x: playing back what a shot did."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E850": (
        "The movie does not fit",
        "Thinned as far as a movie still shows waves, its frames take more than --max-size allows, or than the "
        "--size and --every that were asked for leave room for.",
        "Give a larger --max-size, a smaller --size, a larger --every or fewer --fields, or look at it with --serve.",
    ),
}
