"""Mistakes of places: longitudes, zones, cables, channels, headers that are zero; 32, 33, 37 to 40, 47."""

from __future__ import annotations

import numpy as np

from planted.form import plants
from planted.mistakes_coordinates import XY

# 32

PROJECTED = (r"project", lambda case: case.restore())


def angles(f, per_degree, unit, scalar):
    """Write longitudes and latitudes near 2 degrees east, 58 degrees north."""
    s = float(-1 / scalar if scalar < 0 else scalar or 1)
    now = -1.0 / f.get("coordinate_scalar")[0]
    out = {}
    for name in XY:
        middle, metres = (2.0, 58_900.0) if name.endswith("x") else (58.0, 111_300.0)
        out[name] = np.round((middle + f.get(name) * now / metres) * per_degree / s)
    f.put(**out, coordinate_units=unit, coordinate_scalar=scalar)


@plants(
    32,
    "arc seconds, code 2",
    bases="line patch time",
    where="all one",
    says=r"angle|longitude|degree|arc",
    deed=PROJECTED,
)
def arc_seconds(case, which):
    case.edit(lambda f: angles(f, 3600.0, 2, -100), which)


@plants(
    32,
    "degrees, code 3",
    bases="line patch time",
    where="all one",
    says=r"angle|longitude|degree",
    deed=PROJECTED,
)
def degrees(case, which):
    case.edit(lambda f: angles(f, 1.0, 3, -10000), which)


def sexagesimal(f):
    """Write degrees, minutes and seconds, DDDMMSS.ss."""
    angles(f, 3600.0, 4, -100)
    out = {}
    for name in XY:
        seconds = f.get(name) / 100.0
        d, rest = np.divmod(seconds, 3600)
        m, s = np.divmod(rest, 60)
        out[name] = np.round((d * 10000 + m * 100 + s) * 100)
    f.put(**out)


@plants(
    32,
    "degrees, minutes, seconds, code 4",
    bases="line time",
    where="all one",
    says=r"angle|longitude|degree",
    deed=PROJECTED,
)
def degrees_minutes(case, which):
    case.edit(sexagesimal, which)


@plants(
    32,
    "degrees called lengths, code 1",
    bases="line patch time",
    where="all one",
    says=r"angle|longitude|degree",
    deed=PROJECTED,
)
def degrees_called_metres(case, which):
    case.edit(lambda f: angles(f, 1.0, 1, -10000), which)


@plants(
    32,
    "arc seconds without a code",
    bases="line patch time",
    where="all one",
    says=r"angle|longitude|degree|arc",
    deed=PROJECTED,
)
def seconds_without_code(case, which):
    case.edit(lambda f: angles(f, 3600.0, 0, -100), which)


# 33

ZONE = (-3_340_000, -12_000)
PUT_RIGHT = (r"project|zone|datum", lambda case: case.restore())


def zone(f, names=("source", "receiver")):
    """Move to the neighbouring zone, 334 km west, in decimetres."""
    for n in names:
        f.put(**{f"{n}_x": f.get(f"{n}_x") + ZONE[0], f"{n}_y": f.get(f"{n}_y") + ZONE[1]})


@plants(
    33,
    "all in another zone",
    bases="far-line far-patch",
    where="all",
    says="zone|frame|coordinate|overlap|origin",
    deed=PUT_RIGHT,
)
def other_zone(case, which):
    case.edit(zone, which)


@plants(
    33,
    "some files in another zone",
    bases="line patch time far-patch",
    where="one",
    says="zone|frame|km|elsewhere|outside",
    deed=PUT_RIGHT,
)
def zone_of_files(case, which):
    case.edit(zone, which)


@plants(
    33,
    "receivers alone in another zone",
    bases="line patch time",
    where="all one",
    says="receivers?|offset",
    deed=PUT_RIGHT,
)
def zone_of_receivers(case, which):
    case.edit(lambda f: zone(f, ("receiver",)), which)


# 37

SOURCES_AGAIN = (
    r"source (coordinates|positions)|source_x|\[data\.geometry\]|geometry",
    lambda case: case.restore(),
)


@plants(
    37,
    "sources of all shots at the first one",
    bases="line patch time",
    where="all",
    says=r"(sources|shots)[^|]*(one place|same place|stand where|at one|share)",
    deed=SOURCES_AGAIN,
)
def one_place(case, which):
    first = case.trace_file(0)
    x, y = first.get("source_x")[0], first.get("source_y")[0]
    case.edit(lambda f: f.put(source_x=x, source_y=y), which)


@plants(
    37,
    "the source of a shot at that of the one before",
    bases="line patch",
    where="one",
    says=r"(sources|shots?)[^|]*(one place|same place|stand where|at one|share)",
    deed=SOURCES_AGAIN,
)
def place_of_the_one_before(case, which):
    before = case.trace_file(which[0] - 1)
    x, y = before.get("source_x")[0], before.get("source_y")[0]
    case.edit(lambda f: f.put(source_x=x, source_y=y), which)


# 38

TURNED = (
    r"revers|turn (it|the)|other way|exchange",
    lambda case: case.restore(),
)


def reversed_cable(f):
    """Give the receivers of the shot in the reverse order."""
    f.put(**{n: f.get(n)[::-1] for n in ("receiver_x", "receiver_y", "receiver_elevation", "offset")})


@plants(
    38,
    "in coordinates",
    bases="line patch time",
    where="all one",
    says="revers|far end|other end",
    deed=TURNED,
)
def cable_reversed(case, which):
    case.edit(reversed_cable, which)


@plants(
    38,
    "in the order of traces",
    bases="line patch time",
    where="all one",
    says="revers|far end|other end",
    deed=TURNED,
)
def order_reversed(case, which):
    def change(f):
        f.samples = f.samples[::-1]

    case.edit(change, which)


# 39


@plants(
    39,
    "reversed, positions by table",
    bases="tables",
    where="all one",
    says="revers|far end|other end|channel",
)
def channels_reversed(case, which):
    case.edit(lambda f: f.put(channel=len(f) + 1 - f.get("channel")), which)


# no key of the job numbers channels otherwise: that is done in the files
@plants(
    39,
    "shifted by four, positions by table",
    bases="tables",
    where="all one",
    says="channel.*shift",
    deed=("byte 13", lambda case: case.restore()),
)
def channels_shifted(case, which):
    def change(f):
        n = f.get("channel") - 1
        f.put(channel=1 + (n + 4) % len(f))

    case.edit(change, which)


@plants(
    39,
    "beginning at 0, positions by table",
    bases="tables",
    where="all one",
    says="channel",
    deed=(r"byte 13|channel", lambda c: c.restore()),
)
def channels_from_zero(case, which):
    case.edit(lambda f: f.put(channel=f.get("channel") - 1), which)


@plants(
    39,
    "all one, positions by table",
    bases="tables",
    where="all one",
    says="channel",
    deed=(r"channel", lambda case: case.restore()),
)
def channels_one(case, which):
    case.edit(lambda f: f.put(channel=1), which)


# channels that are all one beside positions in the headers are no mistake: nothing takes them, and the image is right

# 40

HEADERS_AGAIN = (r"\[data\.bytes\]|header|geometry|again", lambda case: case.restore())


@plants(40, "all zero", bases="line patch", where="all one", says="zero", deed=HEADERS_AGAIN)
def headers_zero(case, which):
    def change(f):
        f.rows[:, :240] = 0

    case.edit(change, which)


@plants(40, "all zero", bases="time", where="all one", says="zero", deed=HEADERS_AGAIN)
def headers_zero_in_time(case, which):
    def change(f):
        f.rows[:, :240] = 0

    case.edit(change, which)


@plants(40, "coordinates zero", bases="line patch time", where="all one", says="zero", deed=HEADERS_AGAIN)
def coordinates_zero(case, which):
    case.edit(lambda f: f.put(**dict.fromkeys(XY, 0)), which)


@plants(
    40,
    "of three traces",
    bases="line patch time",
    where="one",
    says="zero",
    place=(
        r"shot_0106[^|]*\btraces?\b[^|]*\b(11|12|21)\b",
        r"shots?\b[^|]*106[^|]*\btraces?\b[^|]*\b(11|12|21)\b",
    ),
    deed=HEADERS_AGAIN,
)
def headers_of_three(case, which):
    def change(f):
        f.rows[[10, 11, 20], :240] = 0

    case.edit(change, which)


# 47


@plants(
    47,
    "sail lines with four cables on one line",
    bases="cables",
    where="job",
    says="cable|3-D|3d|beside the line|wide",
    place=r"\[data\]|line|m\b",
)
def four_cables(case, which):
    case.job["data"]["line"] = "2d"
