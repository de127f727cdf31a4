"""Ways to read a model that are tried against the echoes of the data: turned, exchanged, in other units, elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subsalt.check.units import FOOT
from subsalt.earth.grid import Grid

Array = NDArray[np.float64]

#: factors of the spacing that are tried: of grids in common use that are taken for each other
SPACINGS = (FOOT, 0.5, 0.8, 1.25, 2.0, 1 / FOOT)
#: depths by which a model may lie too high or too low, in quarter wavelengths below its top
SHIFTS = (-4, -3, -2, -1, 1, 2, 3, 4)
#: parts of a model's length by which it may lie to one side
SIDES = (-0.25, -0.125, -0.0625, -0.03125, 0.03125, 0.0625, 0.125, 0.25)


@dataclass(frozen=True)
class EchoReading:
    """A way to read a model.

    Parameters
    ----------
    what : str
        The assumption of this reading, in words; empty for the model as it is given.
    place : callable
        Midpoints on the model as it is given, (n, 3), of those on the survey.
    family : str
        Readings of one family differ by a number alone.
    factor, shift : float
        Depths below the top are multiplied, and added to, m.
    scaled_top : bool
        That of the top is multiplied, too.
    timed : bool
        The last axis is two-way time in ms.
    held : str
        Kind of the velocities: ``"interval"``, or ``"rms"`` or ``"average"`` down to each depth.
    speed : float
        Factor of the velocities.
    flip, axes : str
        Axes that run backwards, and their order, slowest first.
    spacing : tuple of float
        Factors of the spacing along each axis; empty when it stays.
    """

    what: str = ""
    place: Callable[[Array], Array] = np.array
    family: str = ""
    factor: float = 1.0
    shift: float = 0.0
    scaled_top: bool = False
    timed: bool = False
    held: str = "interval"
    speed: float = 1.0
    flip: str = ""
    axes: str = ""
    spacing: tuple[float, ...] = ()

    def faster(self, by: float) -> EchoReading:
        """Return the same with all velocities multiplied."""
        return replace(self, speed=self.speed * by)


def readings(
    grid: Grid, middle: Array, src: Array, shot: NDArray[np.int64], quarter: float
) -> list[EchoReading]:
    """Return the ways to read a model, the one that is given first.

    Parameters
    ----------
    middle : ndarray, (n, 3)
        Midpoints of the traces, m.
    src : ndarray, (n, 3)
        Sources of the traces, m.
    shot : ndarray, (n,), int
        Which of the shots each is of.
    quarter : float
        Quarter of a wavelength, m.
    """
    timed = EchoReading("its last axis is two-way time in ms, not depth in m", family="time", timed=True)
    feet = EchoReading(
        "its lengths are in feet",
        lambda p: p / FOOT,
        "feet",
        FOOT,
        scaled_top=True,
        spacing=(FOOT,) * grid.ndim,
    )
    out = [EchoReading(), _turned(grid, "x"), timed, feet]
    if grid.ndim == 3:
        exchanged = EchoReading(
            "its x and y axes are exchanged", lambda p: p[:, [1, 0, 2]], "axes", axes="yxz"
        )
        out += [_turned(grid, "y"), _turned(grid, "xy"), exchanged]
    out += [
        _spaced(grid, sides, f) for f in SPACINGS for sides in ("z", "x", "xz") if (sides, f) != ("xz", FOOT)
    ]
    out += [
        EchoReading(f"its velocities are {kind} velocities down to each depth", family="kind", held=kind)
        for kind in ("rms", "average")
    ]
    out += [_deeper(quarter * k) for k in SHIFTS]
    length = (grid.shape[0] - 1) * grid.spacing[0]
    out += [_aside(length * part) for part in SIDES]
    if (backward := _shots_backward(middle, shot)) is not None:
        out.append(EchoReading("the shots stand in the reverse order", lambda p: backward, "shots"))
    other = np.array([2.0, 2.0, 1.0]) * src + np.array([-1.0, -1.0, 0.0]) * middle
    out.append(EchoReading("receivers stand on the other side of their sources", lambda p: other, "side"))
    return out


def _turned(grid: Grid, letters: str) -> EchoReading:
    """Return the reading of a model whose axes run backwards."""
    low = np.array(grid.origin3)
    both = 2 * low + (np.array(grid.shape3) - 1) * np.array(grid.spacing3)
    axes = ["xyz".index(x) for x in letters]
    words = " and ".join(letters) + (" axes run" if len(letters) > 1 else " axis runs")
    return EchoReading(
        f"the {words} backward",
        lambda p: np.where(np.isin(np.arange(3), axes), both - p, p),
        f"turned {letters}",
        flip=letters,
    )


def _spaced(grid: Grid, sides: str, factor: float) -> EchoReading:
    """Return the reading of a model with another spacing, along z, across, or both."""
    low = np.array(grid.origin3)
    across = factor if "x" in sides else 1.0
    down = factor if "z" in sides else 1.0
    new = [f"{across * h:.4g}" for h in grid.spacing[:-1]] + [f"{down * grid.spacing[-1]:.4g}"]
    what = {
        "z": f"its spacing along z is {new[-1]} m",
        "x": f"its spacing along {' and '.join('xy'[: grid.ndim - 1])} is {' x '.join(new[:-1])} m",
        "xz": f"its spacing is {' x '.join(new)} m",
    }[sides]
    factors = (*(across for _ in grid.shape[:-1]), down)
    return EchoReading(what, lambda p: low + (p - low) / across, f"spacing {sides}", down, spacing=factors)


def _deeper(far: float) -> EchoReading:
    side = "deeper" if far > 0 else "higher"
    return EchoReading(f"it lies about {float(f'{abs(far):.2g}'):g} m {side}", family=side, shift=far)


def _aside(far: float) -> EchoReading:
    """Return the reading of a model that lies further along x."""
    side = "larger" if far > 0 else "smaller"
    by = np.array([far, 0.0, 0.0])
    return EchoReading(
        f"it lies about {float(f'{abs(far):.2g}'):g} m further to {side} x", lambda p: p - by, f"to {side} x"
    )


def _shots_backward(middle: Array, shot: NDArray[np.int64]) -> Array | None:
    """Return the midpoints of the shots in the reverse order; None where shots have other numbers of traces."""
    rows = [np.flatnonzero(shot == s) for s in np.unique(shot)]
    if len(rows) < 3 or len({len(r) for r in rows}) > 1:
        return None
    return middle[np.concatenate(rows[::-1])]
