"""Mistakes of coordinates: scalars, units, axes, depths, offsets; 1 to 5, 12 to 14, 31."""

from __future__ import annotations

import numpy as np

from planted.form import plants

XY = ("source_x", "source_y", "receiver_x", "receiver_y")
SHOT_AND_TRACE = (
    r"(shot_0106|\bshots?\b[^|]*\b106\b)[^|]*\b(trace|channel|receiver)s?\b[^|]*\b41\b",
    r"41\b[^|]*\b106",
)


def times(f, factor, names=XY):
    """Multiply header values."""
    f.put(**{n: np.round(f.get(n) * factor) for n in names})


# 1


@plants(1, "wrong sign", bases="line patch time", where="all one", says="scalar")
def scalar_sign(case, which):
    case.edit(lambda f: f.put(coordinate_scalar=10), which)


@plants(1, "missing: 1 for values in decimetres", bases="line patch time", where="all one", says="scalar")
def scalar_missing(case, which):
    case.edit(lambda f: f.put(coordinate_scalar=1), which)


@plants(1, "-100 for values in decimetres", bases="line patch time", where="all one", says="scalar")
def scalar_power(case, which):
    case.edit(lambda f: f.put(coordinate_scalar=-100), which)


# 2


@plants(2, "0 for values in decimetres", bases="line patch time", where="all one", says="scalar")
def scalar_zero(case, which):
    case.edit(lambda f: f.put(coordinate_scalar=0), which)


@plants(2, "0 for values in centimetres", bases="line time", where="all one", says="scalar")
def scalar_zero_cm(case, which):
    case.edit(lambda f: (times(f, 10), f.put(coordinate_scalar=0)), which)


# 3


def in_feet(f):
    """Write positions and depths in feet."""
    times(f, 1 / 0.3048, (*XY, "receiver_elevation", "source_depth", "offset"))


@plants(
    3,
    "coordinates in feet, the header says metres",
    bases="line patch time",
    where="all one",
    says=r"\bft\b|feet",
)
def feet_called_metres(case, which):
    case.edit(in_feet, which)


@plants(
    3,
    "coordinates in metres, the header says feet",
    bases="line patch time",
    where="all one",
    says=r"\bft\b|feet",
)
def metres_called_feet(case, which):
    case.edit(lambda f: f.binary(3255, "h", 2), which)


# 4


def exchanged(f):
    """Exchange x and y."""
    sx, sy, gx, gy = (f.get(n) for n in XY)
    f.put(source_x=sy, source_y=sx, receiver_x=gy, receiver_y=gx)


@plants(4, "x and y exchanged", bases="line patch time", where="all one", says=r"x and y|swap_xy|exchang")
def xy_exchanged(case, which):
    case.edit(exchanged, which)


def no_bins(f):
    """Leave the positions of bins out, as many files do."""
    f.put(cdp_x=0, cdp_y=0)


def unexchanged(case):
    """Take the coordinates as they are in the clean survey."""
    case.edit(exchanged)


@plants(
    4,
    "x and y exchanged, no bins",
    bases="patch",
    where="all",
    says=r"exchang[^|]*coordinates[^|]*model",
    deed=(r"exchange them where they are wrong", unexchanged),
)
def xy_exchanged_without_bins(case, which):
    case.edit(lambda f: (no_bins(f), exchanged(f)), which)


@plants(
    4, "x and y exchanged, on the map", bases="far-line", where="all one", says=r"x and y|swap_xy|exchang"
)
def xy_exchanged_far(case, which):
    case.edit(exchanged, which)


@plants(4, "x and y of the receivers exchanged", bases="patch", where="all one", says=r"x and y|exchang")
def xy_of_receivers(case, which):
    case.edit(lambda f: f.put(receiver_x=f.get("receiver_y"), receiver_y=f.get("receiver_x")), which)


# 5


def ends_exchanged(f):
    """Exchange source and receiver."""
    sx, sy, gx, gy = (f.get(n) for n in XY)
    f.put(source_x=gx, source_y=gy, receiver_x=sx, receiver_y=sy)


@plants(
    5,
    "source and receiver exchanged",
    bases="line patch time",
    where="all one",
    says=r"source(s)? and receiver(s)?[^|]*exchang|exchang[^|]*source",
)
def source_and_receiver(case, which):
    case.edit(ends_exchanged, which)


# 12


@plants(12, "a receiver 10 km away", bases="line patch", where="one", says="receiver", place=SHOT_AND_TRACE)
def far_receiver(case, which):
    def change(f):
        x = f.get("receiver_x")
        x[40] += 100_000
        f.put(receiver_x=x)

    case.edit(change, which)


@plants(
    12, "a receiver 1000 km away", bases="time", where="one", says="receiver|midpoint", place=SHOT_AND_TRACE
)
def far_receiver_in_time(case, which):
    def change(f):
        x = f.get("receiver_x")
        x[40] += 10_000_000
        f.put(receiver_x=x)

    case.edit(change, which)


@plants(
    12,
    "half the traces 1000 km away",
    bases="time",
    where="job",
    says="midpoint|receiver|trace",
    place=r"shot_0106|shots?[^|]*106",
    keeps=0.5,
)
def half_far(case, which):
    def change(f):
        f.put(source_x=f.get("source_x") + 10_000_000, receiver_x=f.get("receiver_x") + 10_000_000)

    case.edit(change, range(5, 9))


@plants(12, "the receivers of a shot beside the model", bases="line patch", where="one", says="receivers")
def receivers_beside(case, which):
    case.edit(lambda f: f.put(receiver_x=f.get("receiver_x") + 30_000), which)


@plants(
    12,
    "the survey reaches beyond the model",
    bases="line patch",
    where="job",
    says="(sources|receivers)[^|]*outside the model",
    place="shots?[^|]*1[01][0-9]",
    image=False,  # it is the survey that moved
    keeps=0.1,
)
def beyond(case, which):
    case.edit(
        # with their bins: it is the survey that is larger
        lambda f: f.put(**{n: f.get(n) + 4000 for n in ("source_x", "receiver_x", "cdp_x")}),
        range(len(case.files) // 2, len(case.files)),
    )


# 13


@plants(13, "depths negative", bases="line patch", where="all one", says="source depth|sources? .*above")
def depth_negative(case, which):
    case.edit(lambda f: f.put(source_depth=-f.get("source_depth")), which)


# the other sign: 10 for -10; the streamer then lies at 800 m, above the bottom of the model
@plants(13, "600 m deep by the scalar of depths", bases="line", where="all one", says="scalar|depth")
def depth_scaled(case, which):
    case.edit(lambda f: f.put(elevation_scalar=10), which)


@plants(
    13,
    "sources 600 m deep, receivers right",
    bases="line",
    where="all one",
    says="source[^|]*dep|dep[^|]*source",
)
def sources_deep(case, which):
    case.edit(lambda f: f.put(source_depth=6000), which)


@plants(13, "scalar of depths missing: 60 m for 6", bases="line", where="all one", says="scalar|depth")
def depth_scalar_missing(case, which):
    case.edit(lambda f: f.put(elevation_scalar=1), which)


@plants(13, "depths a hundredth: 6 cm for 6 m", bases="line", where="all one", says="depth")
def depth_hundredth(case, which):
    case.edit(lambda f: f.put(elevation_scalar=-1000), which)


@plants(
    13,
    "0 under a free surface",
    bases="ghosts",
    where="all one",
    says="free surface",
    allows=("W242",),
)
def zero_depth(case, which):
    case.edit(lambda f: f.put(source_depth=0), which)


# 14


@plants(
    14, "depths of the cable written as elevations", bases="line", where="all one", says="elevation|z_sign"
)
def elevation_sign(case, which):
    case.edit(lambda f: f.put(receiver_elevation=-f.get("receiver_elevation")), which)


@plants(14, "elevations of the land written downward", bases="land", where="all one", says="elevation|z_sign")
def land_sign(case, which):
    def change(f):
        f.put(receiver_elevation=-f.get("receiver_elevation"), source_elevation=-f.get("source_elevation"))

    case.edit(change, which)


# 31


@plants(31, "offsets in feet", bases="line patch time", where="all one", says=r"offset")
def offset_feet(case, which):
    case.edit(lambda f: times(f, 1 / 0.3048, ("offset",)), which)


@plants(31, "offsets ten times", bases="line patch time", where="all one", says=r"offset")
def offset_tenfold(case, which):
    case.edit(lambda f: times(f, 10, ("offset",)), which)


@plants(
    31,
    "offsets of the neighbouring group",
    bases="line time",
    where="all one",
    says=r"offset",
)
def offset_shifted(case, which):
    case.edit(lambda f: f.put(offset=f.get("offset") - 300), which)


@plants(31, "offsets in a random order", bases="line patch time", where="all one", says=r"offset")
def offset_random(case, which):
    case.edit(lambda f: f.put(offset=np.random.default_rng(1).permutation(f.get("offset"))), which)


@plants(31, "receivers from offsets, and these in feet", bases="offsets", where="all", says=r"offset")
def offset_that_counts(case, which):
    case.edit(lambda f: times(f, 1 / 0.3048, ("offset",)), which)


@plants(31, "receivers from offsets ten times as large", bases="offsets", where="all", says=r"offset")
def offset_that_counts_tenfold(case, which):
    case.edit(lambda f: times(f, 10, ("offset",)), which)
