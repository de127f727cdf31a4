"""Codes 74x: the velocity of Kirchhoff time migration."""

ENTRIES: dict[str, tuple[str, str, str]] = {
    "E740": (
        "Impossible velocity",
        "A velocity is zero, negative, NaN or infinite, or eta is -0.5 or less.",
        "Replace those values; zeros are often nulls where the velocity is not known. The message says where.",
    ),
    "E741": (
        "Velocity text cannot be read",
        "A line does not hold the numbers of its columns, or the columns are not known.",
        'Mend the line, or name the columns: [velocity] columns = "cdp t v".',
    ),
    "E742": (
        "Times of a velocity function do not increase",
        "A function of time needs every time once, in order, from 0 on.",
        "Sort the lines by place and time. Where several functions follow each other, a column must tell their places.",
    ),
    "E748": (
        "Two functions at one place",
        "A velocity text holds two functions with the same CDP, line numbers or coordinates.",
        "Keep one of them.",
    ),
}
