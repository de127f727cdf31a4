"""Mistakes of models, datums, depths and files beyond the forty: 59 to 68."""

from __future__ import annotations

import numpy as np

from planted.form import plants
from planted.mistakes_evidence import OUT
from planted.mistakes_models import AGAIN, AXES, model, moved, turned
from planted.surveys import write_volume
from planted.trace_files import FIELDS
from subsalt.earth.grid import Grid

MODEL = (r"check|model|velocit|interval|depth|spacing|give|replace", AGAIN)

# 59: models of another kind


def averaged(squared):
    """Return a change of interval velocities to rms (squared) or average velocities, as functions of depth."""

    def change(v):
        steps = 1.0 / v
        t = np.cumsum(steps, axis=-1)
        return np.sqrt(np.cumsum(v**2 * steps, axis=-1) / t) if squared else np.cumsum(v * steps, axis=-1) / t

    return change


def lowered(v, nodes):
    """Return a model moved down by some nodes, its edge repeated."""
    at = np.clip(np.arange(v.shape[-1]) - nodes, 0, v.shape[-1] - 1)
    return v[..., at]


ECHO = "echo|interval|rms|average"
model(59, "rms velocity", "line patch spread", "vp", averaged(True), ECHO, deed=MODEL)
model(59, "average velocity", "line patch spread", "vp", averaged(False), ECHO, deed=MODEL)
for metres in (50, 100, -50):
    model(
        59,
        f"{abs(metres)} m too {'deep' if metres > 0 else 'shallow'}",
        "line patch",
        "vp",
        lambda v, m=metres: lowered(v, round(m / (10 if v.ndim == 2 else 25))),
        "echo|datum|depth|shift",
        deed=MODEL,
    )
model(
    59,
    "density of the rock",
    "line spread",
    "vp",
    lambda v: 310 * v**0.25,
    "echo|density|velocit",
    deed=MODEL,
)
model(
    59,
    "ten per cent too fast below the water",
    "line",
    "vp",
    lambda v: np.where(v > 1501, 1.1 * v, v),
    "echo",
    deed=MODEL,
)
model(
    59,
    "thirty per cent too slow",
    "line patch spread",
    "vp",
    lambda v: 0.7 * v,
    "echo|times too slow",
    deed=MODEL,
)
model(
    59,
    "constant: 2000 m/s",
    "line ghosts",
    "vp",
    lambda v: np.full_like(v, 2000.0),
    "water|constant|echo",
    deed=MODEL,
)
model(
    59,
    "mirrored about the middle of the line",
    "ghosts tti",
    "vp",
    lambda v: v[::-1],
    "mirror|flip|backward|echo|revers",
    deed=MODEL,
)
model(
    59,
    "moved by 500 m along x",
    "line spread",
    "vp",
    lambda v: np.roll(v, 50, axis=0),
    "echo|origin|place",
    deed=MODEL,
)

# 60: spacings of a grid


def spaced(factor, axis=0):
    """Return a change of one spacing."""
    return lambda g: Grid(
        g.shape, tuple(factor * h if k == axis else h for k, h in enumerate(g.spacing)), g.origin
    )


SPACING = "spacing|wide|long|echo|extent|outside"
model(
    60, "12.5 m for 10 m", "line foothills spread", "vp", lambda v: v, SPACING, grid=spaced(1.25), deed=MODEL
)
model(60, "31.25 m for 25 m along y", "patch", "vp", lambda v: v, SPACING, grid=spaced(1.25, 1), deed=MODEL)
model(60, "doubled along x", "line spread", "vp", lambda v: v, SPACING, grid=spaced(2.0), deed=MODEL)
model(60, "halved along x", "line spread", "vp", lambda v: v, SPACING, grid=spaced(0.5), deed=MODEL)
model(
    60,
    "depth step 12.5 m for 10 m",
    "line spread",
    "vp",
    lambda v: v,
    SPACING + "|deep",
    grid=spaced(1.25, 1),
    deed=MODEL,
)

# 61: axes of small models

plants(
    61,
    "x and z exchanged",
    bases="small",
    where="model",
    says="ax(i|e)s|transpos|order",
    place="vp|model",
    deed=AXES,
)(turned(1, 0))
plants(
    61,
    "as many columns as rows",
    bases="square",
    where="model",
    says="ax(i|e)s|transpos|order|echo",
    place="vp|model",
    deed=(AXES[0] + "|check", AGAIN),
)(turned(1, 0))


@plants(
    61,
    "as many columns as rows, the header as it was",
    bases="square",
    where="model",
    says="ax(i|e)s|transpos|order|echo",
    place="vp|model",
    deed=(AXES[0] + "|check", AGAIN),
)
def values_turned(case, which):
    for name, v in case.world.model.items():
        write_volume(case.folder / f"{name}.rsf", case.world.grid, v.T)


# 62: what is anisotropic


def eta(case, which):
    """Write eta in place of epsilon."""
    m = case.world.model
    case.volume("epsilon", lambda v: (m["epsilon"] - m["delta"]) / (1 + 2 * m["delta"].astype(float)))


plants(
    62,
    "eta in place of epsilon",
    bases="tti vti",
    where="model",
    says=r"\beta\b",
    place="epsilon",
    deed=(r"eta|epsilon", AGAIN),
)(eta)
model(
    62,
    "epsilon of the other sign",
    "tti",
    "epsilon",
    lambda v: -v,
    "sign|negative|epsilon",
    deed=(r"sign|epsilon|check", AGAIN),
)
model(
    62,
    "tilt twice as steep",
    "tti",
    "theta",
    lambda v: 2 * v,
    "theta|tilt|dip|steep",
    deed=(r"theta|tilt|check", AGAIN),
)

# 63: land and its datum

LAND = r"above|elevation|ground|datum|origin|surface"


@plants(
    63,
    "the model begins at sea level",
    bases="land",
    where="model",
    says=LAND,
    place="vp|origin|datum|elevation",
)
def model_from_zero(case, which):
    g = case.world.grid
    for name, v in case.world.model.items():
        write_volume(case.folder / f"{name}.rsf", Grid(g.shape, g.spacing, (g.origin[0], 0.0)), v)


@plants(
    63,
    "elevations of sources missing",
    bases="land",
    where="all one",
    says=r"(elevation|surface)[^|]*source|source[^|]*elevation",
    deed=OUT,
)
def no_elevations(case, which):
    case.edit(lambda f: f.put(source_elevation=0, source_depth=100), which)


@plants(
    63,
    "air of velocity 0 above the rock",
    bases="spread",
    where="model",
    says="air|above the ground|topograph|zero",
    place="vp|model",
    deed=(r"topograph|replace|fill|above", AGAIN),
)
def air(case, which):
    case.volume("vp", lambda v: np.where(np.arange(v.shape[1]) < 1, 0.0, v))


# 64: depths of stations, scalars


@plants(
    64, "depths of sources and nodes exchanged", bases="nodes", where="all", says="depth|exchang", deed=OUT
)
def depths_exchanged(case, which):
    case.edit(
        lambda f: f.put(source_depth=-f.get("receiver_elevation"), receiver_elevation=-f.get("source_depth")),
        which,
    )


@plants(64, "both scalars -10000, in whole metres", bases="whole-metres", where="all", says="scalar")
def ten_thousand(case, which):
    case.edit(lambda f: f.put(coordinate_scalar=-10000, elevation_scalar=-10000), which)


@plants(
    64, "scalar of depths -10000, in whole metres", bases="whole-metres", where="all", says="scalar|depth"
)
def depths_ten_thousand(case, which):
    case.edit(lambda f: f.put(elevation_scalar=-10000), which)


GHOSTS = "ghost|notch|depth"


@plants(64, "stations twice as deep as their ghosts say", bases="ghosts", where="all", says=GHOSTS, deed=OUT)
def ghosts_deeper(case, which):
    case.edit(
        lambda f: f.put(
            source_depth=2 * f.get("source_depth"), receiver_elevation=2 * f.get("receiver_elevation")
        ),
        which,
    )


@plants(
    64,
    "ghosts in the data, no free surface in the job",
    bases="ghosts",
    where="job",
    says="free.surface|ghost",
    place="free_surface|ghost",
)
def no_free_surface(case, which):
    case.job["propagation"].pop("free_surface")


@plants(
    64,
    "a free surface in the job, no ghosts in the data",
    bases="line spread",
    where="job",
    says="free.surface|ghost",
    place="free_surface|ghost",
)
def free_surface(case, which):
    case.job["propagation"] = {**case.job.get("propagation", {}), "free_surface": True}


# 65: words that hold something else


def words(f, name, values, kind):
    """Write header values of another type where four bytes stand."""
    byte = FIELDS[name][0]
    column = np.broadcast_to(np.asarray(values), (len(f),)).astype(f.order + kind)
    f.rows[:, byte - 1 : byte - 1 + column.itemsize] = column.view(np.uint8).reshape(len(f), -1)


@plants(65, "coordinates are IEEE floats", bases="line patch", where="all", says="float|IEEE", deed=OUT)
def float_coordinates(case, which):
    def change(f):
        for name in ("source_x", "source_y", "receiver_x", "receiver_y"):
            words(f, name, 0.1 * f.get(name) + 0.25, "f4")
        f.put(coordinate_scalar=1, cdp_x=0, cdp_y=0)

    case.edit(change, which)


@plants(
    65,
    "y holds the height above the bottom",
    bases="nodes",
    where="all",
    says=r"y holds|depth|height|\by\b",
    deed=OUT,
)
def y_is_depth(case, which):
    def change(f):
        source, receiver = f.get("source_depth"), f.get("receiver_elevation")
        f.put(source_y=8500 - source, receiver_y=8500 + receiver, source_depth=0, receiver_elevation=0)

    case.edit(change, which)


@plants(65, "record numbers that count traces", bases="line", where="all", says="record|byte 9|ffid|shot")
def records_count_traces(case, which):
    for i in which:
        case.edit(lambda f, i=i: f.put(ffid=1 + i * len(f) + np.arange(len(f)), source_point=0), [i])


# 66: two of what should be one


@plants(
    66,
    "two components in one file",
    bases="patch line",
    where="all one",
    says="component|twice|two|same (place|position)",
)
def two_components(case, which):
    def change(f):
        other = f.rows.copy()
        n = len(f)
        f.rows = np.concatenate([f.rows, other])
        x = f.samples
        x[n:] = 0.3 * np.gradient(x[n:], axis=1)
        f.samples = x
        f.put(channel=1 + np.arange(2 * n))

    case.edit(change, which)


@plants(
    66,
    "shots fired together",
    bases="line patch",
    where="all",
    says="blend|simultaneous|overlap|two (shots|sources)|second",
    deed=OUT,
)
def blended(case, which):
    late = round(0.4 / case.world.time.dt)
    shots = [case.trace_file(i).samples for i in which]

    def mixed(i):
        def change(f):
            other = np.zeros_like(shots[i])
            other[:, late:] = shots[(i + 1) % len(shots)][:, :-late]
            f.samples = shots[i] + other

        return change

    for i in which:
        case.edit(mixed(i), [i])


@plants(
    66,
    "two intervals: every second file at half the interval",
    bases="line patch",
    where="job",
    says=r"interval|\bdt\b|two",
    keeps=0.4,
)
def two_systems(case, which):
    def change(f):
        f.samples = np.repeat(f.samples, 2, axis=1)[:, : case.world.time.nt]
        f.put(dt=round(case.world.time.dt * 5e5)).binary(3217, "h", round(case.world.time.dt * 5e5))

    case.edit(change, range(1, len(case.files), 2))


# 67: one name in many folders


@plants(
    67,
    "noisy traces in one of nine files of one name",
    bases="line",
    where="one",
    says="nois|amplitude|strong|energy|rms",
    place=(r"run_0106/shot\.sgy", r"\b106\b"),
)
def one_name(case, which):
    from planted.mistakes_traces import ROWS, noise, on_traces

    case.edit(on_traces(noise, ROWS), which)
    for p in case.files:
        folder = case.folder / p.stem.replace("shot", "run")
        folder.mkdir()
        p.rename(folder / "shot.sgy")
    case.job["data"]["files"] = ["run_*/shot.sgy"]


# 68: velocities of a time migration


def velocity(form, change, says=r"velocit|moveout|interval|rms|time"):
    """Register a mistake of the velocity of a time migration: ``change(times, values)``."""

    def plant(case, which):
        v = case.job["velocity"]["v"]
        t, value = change(np.array(v["t"]), np.array(v["value"]))
        case.job["velocity"]["v"] = {"t": np.round(t, 4).tolist(), "value": np.round(value, 1).tolist()}

    plants(
        68,
        form,
        bases="time",
        where="job",
        says=says,
        place="velocity",
        deed=(r"check|velocity|times", _right),
    )(plant)


def _right(case):
    """Put back the velocity that the clean survey has."""
    import tomllib

    case.job["velocity"] = tomllib.loads((case.clean / "survey.toml").read_text())["velocity"]


def interval(t, v):
    """Return the interval velocities of rms velocities, Dix."""
    gap = np.diff(v**2 * t) / np.maximum(np.diff(t), 1e-6)
    return t, np.sqrt(np.abs(np.concatenate([[v[0] ** 2], gap])))


velocity("interval velocities for rms", interval)
velocity("one-way times", lambda t, v: (0.5 * t, v))
velocity("half as fast", lambda t, v: (t, 0.5 * v))
velocity("thirty per cent too fast", lambda t, v: (t, 1.3 * v))
velocity("in ft/s", lambda t, v: (t, v / 0.3048), says=r"ft/s|feet")

__all__ = ["moved"]
