"""Mistakes of models: units, axes, parameters taken for others; 3, 16 to 23, 41 to 43."""

from __future__ import annotations

import numpy as np

from planted.form import plants
from planted.surveys import write_volume
from subsalt.earth.grid import Grid

AGAIN = lambda case: case.restore()  # noqa: E731


def model(number, form, bases, name, change, says, *, place=None, grid=None, **more):
    """Register a mistake of one volume: ``change(values)``, and ``grid(grid)`` where the grid changes, too."""

    def plant(case, which):
        case.volume(name, change, grid and grid(case.world.grid))

    plants(number, form, bases=bases, where="model", says=says, place=place or rf"\b{name}\b", **more)(plant)


def scaled(grid, factor):
    """Return the grid with other numbers for its lengths."""
    return Grid(grid.shape, tuple(factor * h for h in grid.spacing), tuple(factor * o for o in grid.origin))


# 3

model(3, "vp in ft/s", "line patch tti", "vp", lambda v: v / 0.3048, r"ft/s")
model(
    3,
    "model in feet, velocities too",
    "line",
    "vp",
    lambda v: v / 0.3048,
    r"ft|feet",
    grid=lambda g: scaled(g, 1 / 0.3048),
)
model(
    3,
    "spacing of the model in feet",
    "line",
    "vp",
    lambda v: v,
    r"ft|feet",
    grid=lambda g: scaled(g, 1 / 0.3048),
)

# 16

model(16, "a volume", "line patch tti", "vp", lambda v: v / 1000, "km/s")


@plants(16, "values of a function of depth", bases="profile", where="job", says="km/s", place="vp")
def profile_in_km(case, which):
    vp = case.job["model"]["vp"]
    case.job["model"]["vp"] = {**vp, "value": [v / 1000 for v in vp["value"]]}


@plants(16, "velocity of a time migration", bases="time", where="job", says="km/s", place="velocity")
def time_velocity_in_km(case, which):
    v = case.job["velocity"]["v"]
    case.job["velocity"]["v"] = {**v, "value": [a / 1000 for a in v["value"]]}


# 17

AXES = (r"\(x, z\)|\(x, y, z\)|z fastest|order of (the )?axes|transpose", AGAIN)


def turned(*axes):
    """Return a plant that writes all volumes with their axes in another order, spacings with them."""

    def plant(case, which):
        g = case.world.grid
        grid = Grid(
            tuple(g.shape[a] for a in axes),
            tuple(g.spacing[a] for a in axes),
            tuple(g.origin[a] for a in axes),
        )
        for name, values in case.world.model.items():
            write_volume(case.folder / f"{name}.rsf", grid, values.transpose(axes))

    return plant


plants(
    17,
    "x and z exchanged",
    bases="line tti vti foothills spread",
    where="model",
    says="ax(i|e)s|transpos|order",
    place="vp|model",
    deed=AXES,
)(turned(1, 0))
plants(
    17,
    "x and z exchanged",
    bases="patch",
    where="model",
    says="ax(i|e)s|transpos|order",
    place="vp|model",
    deed=AXES,
)(turned(2, 1, 0))
plants(
    17,
    "x and y exchanged",
    bases="patch",
    where="model",
    says="ax(i|e)s|transpos|order",
    place="vp|model",
    deed=AXES,
)(turned(1, 0, 2))
FLIP = (r"turn|flip|revers", AGAIN)
for bases in ("line spread foothills", "patch", "tti"):
    plants(
        17,
        "depth axis upward",
        bases=bases,
        where="model",
        says="flip|upside|upward",
        place="vp|model",
        deed=FLIP,
    )(lambda case, which: [case.volume(n, lambda v: v[..., ::-1]) for n in case.world.model])
plants(
    17,
    "x axis backward",
    bases="line spread patch foothills",
    where="model",
    says="flip|revers|mirror|backward",
    place="vp|model",
    deed=FLIP,
)(lambda case, which: [case.volume(n, lambda v: v[::-1]) for n in case.world.model])
plants(
    17,
    "rows cut wrongly: n1 and n2 exchanged in the header",
    bases="line foothills",
    where="model",
    says="ax(i|e)s|transpos|order|n1",
    place="vp|model",
    deed=(AXES[0] + "|n1|header", AGAIN),
)(
    lambda case, which: write_volume(
        case.folder / "vp.rsf",
        Grid(case.world.grid.shape[::-1], case.world.grid.spacing[::-1], case.world.grid.origin[::-1]),
        case.world.model["vp"].reshape(case.world.grid.shape[::-1]),
    )
)

# 18

PERCENT = r"per ?cent|%"
model(18, "epsilon", "tti vti", "epsilon", lambda v: 100 * v, PERCENT)
model(18, "delta", "tti vti", "delta", lambda v: 100 * v, PERCENT)
model(18, "delta, small: 0.8 %", "tti", "delta", lambda v: 10 * v, PERCENT, deed=(r"file|fraction", AGAIN))


@plants(18, "both", bases="tti vti", where="model", says=PERCENT, place="epsilon|delta")
def both_in_percent(case, which):
    for name in ("epsilon", "delta"):
        case.volume(name, lambda v: 100 * v)


# 19


@plants(19, "exchanged in the job", bases="tti vti", where="job", says="exchang", place="epsilon|delta")
def exchanged_in_job(case, which):
    case.job["model"] |= {"epsilon": "delta.rsf", "delta": "epsilon.rsf"}


@plants(19, "exchanged in the files", bases="tti vti", where="model", says="exchang", place="epsilon|delta")
def exchanged_in_files(case, which):
    g, m = case.world.grid, case.world.model
    write_volume(case.folder / "epsilon.rsf", g, m["delta"])
    write_volume(case.folder / "delta.rsf", g, m["epsilon"])


model(
    19,
    "above epsilon in a layer",
    "tti vti",
    "delta",
    lambda v: np.where(np.arange(v.shape[-1]) > 60, 0.2, v),
    "delta > epsilon|delta[^|]*above",
    deed=(r"correct|delta", AGAIN),
)

# 20

THETA = "theta"
model(20, "radians", "tti", THETA, np.deg2rad, "radian")
model(
    20,
    "radians, one node with a null value",
    "tti",
    THETA,
    lambda v: _one(np.deg2rad(v), 9.0),
    "radian",
    # a null value is mended in the file alone
    deed=("replace", AGAIN),
)
model(
    20,
    "radians, one angle above a right one",
    "tti",
    THETA,
    lambda v: _one(np.deg2rad(v), 1.8),
    "radian",
    allows=("W425", "W539"),
)
model(20, "of the other sign", "tti", THETA, lambda v: -v, "sign|other side|dip", deed=(r"sign|theta", AGAIN))
model(
    20,
    "from the horizontal",
    "tti",
    THETA,
    lambda v: np.where(v == 0, 90.0, 90.0 - v),
    "horizontal|90|vertical",
    deed=(r"90|vertical", AGAIN),
)


def _one(v, value):
    v = v.copy()
    v[130, 40] = value
    return v


def _say_radians(case, which):
    case.job["model"]["theta"] = {"file": "theta.rsf", "unit": "radians"}


plants(20, "in degrees, the job says radians", bases="tti", where="job", says="degrees", place=THETA)(
    _say_radians
)

# 21

SHEAR = r"\bvs\b|shear|S[- ]wave|S velocit"
VP = (r"\bvp\b|P velocit", AGAIN)
model(21, "half of vp throughout", "line patch spread", "vp", lambda v: v / 1.9, SHEAR, deed=VP)
model(21, "zero in the water", "line", "vp", lambda v: np.where(v < 1501, 0.0, v / 1.9), SHEAR, deed=VP)
model(21, "water kept", "line tti", "vp", lambda v: np.where(v < 1501, v, v / 1.9), SHEAR, deed=VP)

# 22

SLOW = "slow|s/"
for words, change in (
    ("s/m", lambda v: 1 / v),
    ("s/km", lambda v: 1e3 / v),
    ("ms/m", lambda v: 1e3 / v),
    ("us/m", lambda v: 1e6 / v),
    ("us/ft", lambda v: 0.3048e6 / v),
    ("s2/m2", lambda v: 1 / v**2),
    ("s2/km2", lambda v: 1e6 / v**2),
):
    model(22, words, "line patch", "vp", change, SLOW)


@plants(22, "s/km, of a time migration", bases="time", where="job", says=SLOW, place="velocity")
def time_slowness(case, which):
    v = case.job["velocity"]["v"]
    case.job["velocity"]["v"] = {**v, "value": [1000 / a for a in v["value"]]}


# 23

WATER = (r"water|sea", AGAIN)
model(
    23,
    "the model begins at the sea bed",
    "line tti ghosts",
    "vp",
    lambda v: np.concatenate([v[:, 15:], np.repeat(v[:, -1:], 15, axis=1)], axis=1),
    "water",
    deed=WATER,
)
model(
    23,
    "rock in place of the water",
    "line ghosts",
    "vp",
    lambda v: np.where(v < 1501, 1900.0, v),
    "water",
    deed=WATER,
)
TIME = (r"depth", AGAIN)


def in_time(v, grid, dt):
    """Return velocities at two-way times, as many samples as there were depths."""
    h = grid.spacing[-1]
    out = np.empty_like(v)
    for at in np.ndindex(v.shape[:-1]):
        t = np.concatenate([[0], np.cumsum(2 * h / v[at])[:-1]])
        out[at] = np.interp(dt * np.arange(v.shape[-1]), t, v[at])
    return out


@plants(
    23,
    "in time, step in ms",
    bases="line patch",
    where="model",
    says="in time|two-way",
    place="vp|model",
    deed=TIME,
)
def model_in_time_ms(case, which):
    g = case.world.grid
    step = 12.0 if g.ndim == 2 else 30.0
    grid = Grid(g.shape, (*g.spacing[:-1], step), g.origin)
    write_volume(case.folder / "vp.rsf", grid, in_time(case.world.model["vp"], g, step / 1000))


@plants(
    23,
    "in time, step in s",
    bases="line patch",
    where="model",
    says="in time|two-way|second",
    place="vp|model",
    deed=TIME,
)
def model_in_time(case, which):
    g = case.world.grid
    step = 0.012 if g.ndim == 2 else 0.030
    grid = Grid(g.shape, (*g.spacing[:-1], step), g.origin)
    write_volume(case.folder / "vp.rsf", grid, in_time(case.world.model["vp"], g, step))


# 41

KM = "km"
model(
    41,
    "spacing in km",
    "line patch",
    "vp",
    lambda v: v,
    KM,
    grid=lambda g: scaled(g, 1e-3),
    place="spacing|grid|vp",
)
model(
    41,
    "spacing and velocity in km",
    "line",
    "vp",
    lambda v: v / 1000,
    KM,
    grid=lambda g: scaled(g, 1e-3),
    place="spacing|grid|vp",
)
model(
    41,
    "depth step alone in km",
    "line",
    "vp",
    lambda v: v,
    KM,
    grid=lambda g: Grid(g.shape, (*g.spacing[:-1], 1e-3 * g.spacing[-1]), g.origin),
    place="spacing|grid|vp",
)

# 42

NULL = r"null|not finite|not known|<= 0|missing value|NaN"
FILL = (r"fill|replace", AGAIN)


def hole(value):
    """Return a change that leaves a corner of the model unknown."""

    def change(v):
        v = v.copy()
        v[: v.shape[0] // 6, ..., v.shape[-1] // 2 :] = value
        return v

    return change


for value in (0.0, -999.25, 1e30, 99999.0, np.nan):
    model(42, f"{value:g} where nothing is known", "line patch", "vp", hole(value), NULL, deed=FILL)
model(42, "-999.25 in epsilon", "tti", "epsilon", hole(-999.25), NULL, deed=FILL)
model(42, "-999.25 in theta", "tti", "theta", hole(-999.25), NULL, deed=FILL)

# 43


def moved(*by):
    """Return a change of the grid's origin."""
    return lambda g: Grid(g.shape, g.spacing, tuple(o + d for o, d in zip(g.origin, by, strict=True)))


PLACE = r"\[data\]|\[model|frame|origin|vp"
model(
    43,
    "500 km east",
    "line",
    "vp",
    lambda v: v,
    "overlap|origin|frame",
    grid=moved(5e5, 0.0),
    place=PLACE,
    deed=(r"origin", AGAIN),
)
model(
    43,
    "at the map's coordinates, the survey at its own",
    "patch",
    "vp",
    lambda v: v,
    "overlap|origin|frame",
    grid=moved(431_200.0, 6_520_400.0, 0.0),
    place=PLACE,
    deed=(r"origin", AGAIN),
)
model(
    43,
    "depth begins at 2000",
    "line",
    "vp",
    lambda v: v,
    "surface|above|origin",
    grid=moved(0.0, 2000.0),
    place=PLACE,
    deed=(r"origin|begin the model", AGAIN),
)

# 50


def unset(*axes):
    """Return a change that leaves the spacing of axes at 1."""
    return lambda g: Grid(g.shape, tuple(1.0 if k in axes else h for k, h in enumerate(g.spacing)), g.origin)


model(50, "spacing 1 along x", "line spread", "vp", lambda v: v, "spacing", grid=unset(0))
model(50, "spacing 1 along x and y", "patch", "vp", lambda v: v, "spacing", grid=unset(0, 1))

# 51


def deeper(factor, by=0.0):
    """Return a change of depths: all of them, as of a model in another unit or with another datum."""
    return lambda g: Grid(
        g.shape, (*g.spacing[:-1], factor * g.spacing[-1]), (*g.origin[:-1], g.origin[-1] + by)
    )


DEPTHS = (r"check depths", AGAIN)
for factor in (0.5, 2.0):
    model(
        51,
        f"{factor:g} times as deep",
        "line patch",
        "vp",
        lambda v: v,
        "echoes",
        grid=deeper(factor),
        deed=DEPTHS,
    )
