"""Mistakes of keys of the job: frequency, aperture, the size of the model, mutes; 15, 35, 48."""

from __future__ import annotations

import numpy as np

from planted.form import plants
from planted.mistakes_models import write_volume
from planted.mistakes_times import put
from subsalt.earth.grid import Grid


def key(number, form, bases, says, place, change, **more):
    """Register a mistake of a key."""
    plants(number, form, bases=bases, where="job", says=says, place=place, **more)(
        lambda case, which: change(case.job)
    )


# 15: the numbers of a Ricker wavelet; the data peak near 12 Hz (line), 6 Hz (patch)

F0 = r"f0|peak|frequenc"
# a frequency read from a spectrum is good to a tenth; the grid of the patch carries 6 Hz with one per cent to spare
COARSE = ("W530",)


def frequency(form, bases, times):
    """Register a peak frequency that is wrong by a factor."""

    def change(j):
        put(j, "source", f0=j["source"]["f0"] * times)

    key(15, form, bases, F0, "f0|frequenc", change, allows=COARSE)


frequency("five times", "line patch tti", 5)
frequency("three times", "line patch", 3)
frequency("a third", "line patch", 1 / 3)
frequency("in kHz", "line patch", 1e-3)
frequency("a thousand times", "line patch", 1e3)

# 35

key(35, "aperture of 60 m", "line patch", "aperture", "aperture", lambda j: put(j, "imaging", aperture=60.0))
key(35, "aperture in km", "line patch", "aperture", "aperture", lambda j: put(j, "imaging", aperture=1.5))
key(35, "aperture of 20 m", "time", "aperture", "aperture", lambda j: put(j, "kirchhoff", aperture=20.0))
key(35, "aperture in km", "time", "aperture", "aperture", lambda j: put(j, "kirchhoff", aperture=0.5))
LARGER = (r"extend|larger", lambda case: case.restore())


def cropped(*keep):
    """Return a plant that keeps a part of the model."""

    def plant(case, which):
        g = case.world.grid
        for name, v in case.world.model.items():
            part = v[tuple(slice(0, n) for n in keep)]
            write_volume(case.folder / f"{name}.rsf", Grid(part.shape, g.spacing, g.origin), part)

    return plant


SMALL = r"outside the model|too small|ends|bottom|record"
plants(
    35, "model too short", bases="line", where="model", says=SMALL, place="model|vp", deed=LARGER, keeps=0.3
)(cropped(180, 86))
plants(
    35, "model too short", bases="patch", where="model", says=SMALL, place="model|vp", deed=LARGER, keeps=0.1
)(cropped(35, 47, 33))
plants(
    35,
    "model too shallow",
    bases="line",
    where="model",
    says=SMALL + "|shallow|deep",
    place="model|vp",
    deed=(r"deep|extend", lambda case: case.restore()),
)(cropped(261, 22))
plants(
    35,
    "model too shallow",
    bases="patch",
    where="model",
    says=SMALL + "|shallow|deep",
    place="model|vp",
    deed=(r"deep|extend", lambda case: case.restore()),
)(cropped(53, 47, 8))

# 48

NOTHING = r"nothing|zero|all of|every|no sample|leaves|empt"
key(
    48,
    "a mute that leaves nothing",
    "line patch",
    NOTHING,
    "mute",
    lambda j: put(j, "data", mute={"velocity": 100.0, "delay": 1.4}),
)
key(
    48,
    "a mute velocity in km/s",
    "line patch",
    NOTHING,
    "mute",
    lambda j: put(j, "data", mute={"velocity": 1.5}),
)
key(
    48,
    "top_mute below the model",
    "line patch",
    NOTHING,
    "top_mute",
    lambda j: put(j, "imaging", top_mute=3000.0),
)


@plants(
    48,
    "all samples zero",
    bases="line patch time",
    where="all",
    says="zero",
    deed=(r"again|data|format", lambda case: case.restore()),
)
def nothing_recorded(case, which):
    def change(f):
        f.samples = np.zeros_like(f.samples)

    case.edit(change, which)
