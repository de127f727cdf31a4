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
        "A 2-D line can be placed by CDP numbers and offsets: [data] cdp_line; else say where coordinates lie: "
        "[data.bytes].",
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
}
