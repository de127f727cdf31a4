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
        'Correct the line, or name the columns: [velocity] columns = "cdp t v".',
    ),
    "E742": (
        "Times of a velocity function do not increase",
        "A function of time needs every time once, in order, from 0 on.",
        "Sort the lines by place and time. Where several functions follow each other, a column must tell their places.",
    ),
    "E743": (
        "Times of a velocity in another unit",
        "Times of velocity functions look like milliseconds where seconds are said, or the reverse, or both are mixed.",
        'Say the unit: [velocity] time_unit = "ms" or "s"; write all functions in one.',
    ),
    "E744": (
        "Velocity in another unit than m/s",
        "The velocities lie where km/s, mm/s or slowness lie.",
        'Declare the unit: [velocity] unit = "km/s".',
    ),
    "E745": (
        "Velocity in feet per second",
        "The velocities begin above 4700 and pass 7500, or begin there and the data count in feet: rms velocities in "
        "m/s do not.",
        'Declare the unit: [velocity] unit = "ft/s"; unit = "m/s" says that they are right.',
    ),
    "E746": (
        "Velocity in depth",
        "A time migration needs rms velocities by two-way time; the last axis of this volume is depth.",
        "Convert the velocity to time first.",
    ),
    "E747": (
        "Velocities cannot be placed",
        "The file does not say where on the image grid its functions or traces stand.",
        "Give inline and crossline numbers or map coordinates; for SEG-Y say which bytes hold them.",
    ),
    "E748": (
        "Two functions at one place",
        "A velocity text holds two functions with the same CDP, line numbers or coordinates.",
        "Keep one of them.",
    ),
    "W740": (
        "Interval velocities given as rms",
        "Rms velocities rise or fall so fast that no layer has the interval velocity this needs (Dix's formula gives "
        "none, or one beyond 7.5 km/s or three times the rms velocity). Interval velocities look like that.",
        'Say what they are: kind = "interval", "layers" or "average"; noisy rms velocities are smoothed.',
    ),
    "W741": (
        "Velocity perhaps in depth",
        "The name of a volume says depth; its headers cannot tell steps of metres from steps of milliseconds.",
        "Convert a velocity in depth to time first.",
    ),
    "W742": (
        "Unusual velocity",
        "Rms velocities are below 300 or above 10000 m/s.",
        "Check the unit, and null values in the file.",
    ),
    "W743": (
        "Large eta",
        "Effective eta is above 0.5, or below -0.5 with curved rays.",
        "Check the values; rocks have up to about 0.3.",
    ),
    "W744": (
        "Velocities outside the image",
        "No function or trace of the velocity lies within the lines of the image; the nearest ones are used.",
        "Check line numbers and coordinates of both.",
    ),
    "W745": (
        "Diffraction times fold",
        "The velocity grows so fast with time that a later image sample is reached by an earlier time at the same "
        "distance: the operator turns over within aperture and mute.",
        "Smooth the velocity in time, or use a smaller aperture or stretch mute.",
    ),
    "W746": (
        "Interval velocities clamped",
        "Curved rays need interval velocities from the rms velocities; where these were impossible they were kept "
        "within a third and three times the rms velocity.",
        "Smooth the rms velocity in time, or check it.",
    ),
}
