"""A part of an image, given as text: ``x0:x1[,y0:y1],z0:z1`` in m of the model's local frame."""

from __future__ import annotations

import math

from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError

#: a node this close to a limit counts as on it, in cells
ON_LIMIT = 1e-6


def region_text(limits: list[tuple[float, float]]) -> str:
    """Return limits (low, high) of every axis as a region is written."""
    return ",".join(f"{lo:.10g}:{hi:.10g}" for lo, hi in limits)


def parse_region(text: str, grid: Grid) -> Box:
    """Return the nodes of a grid inside a region, limits included.

    Parameters
    ----------
    text : str
        ``x0:x1,z0:z1`` in 2-D, ``x0:x1,y0:y1,z0:z1`` in 3-D, m; a limit may be left out: ``:2000`` is all up to 2000.
    grid : Grid
        Grid of the image.

    Raises
    ------
    ConfigError
        When the text says no region, or one without a node of the grid.
    """
    names = ("x", "z") if grid.ndim == 2 else ("x", "y", "z")
    form = ",".join(f"{n}0:{n}1" for n in names)
    parts = text.replace(" ", "").split(",")
    if len(parts) != len(names) or any(p.count(":") != 1 for p in parts):
        raise ConfigError(
            f"--region {text!r} has not the form {form}",
            f"the image has {grid.ndim} axes, for example {region_text(_all(grid))}",
            code="E862",
        )
    lo, hi = [], []
    for i, (name, part) in enumerate(zip(names, parts, strict=True)):
        first, last = _all(grid)[i]
        low, high = (_number(v, text, form) for v in part.split(":"))
        a = 0 if low is None else math.ceil((low - first) / grid.spacing[i] - ON_LIMIT)
        b = grid.shape[i] - 1 if high is None else math.floor((high - first) / grid.spacing[i] + ON_LIMIT)
        a, b = max(a, 0), min(b, grid.shape[i] - 1)
        if a > b:
            raise ConfigError(
                f"--region {text!r}: no point of the image lies in {name} = {part}",
                f"the image goes from {name} = {first:g} to {last:g} m, every {grid.spacing[i]:g} m",
                code="E862",
            )
        lo.append(a)
        hi.append(b + 1)
    if grid.ndim == 2:
        lo.insert(1, 0)
        hi.insert(1, 1)
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def _all(grid: Grid) -> list[tuple[float, float]]:
    """Return the limits of the whole grid."""
    return list(zip(grid.origin, grid.last, strict=True))


def _number(text: str, region: str, form: str) -> float | None:
    """Return a limit; None where it is left out."""
    try:
        value = float(text) if text else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise ConfigError(f"--region {region!r}: {text!r} is not a number", f"write {form} in m", code="E862")
    return value
