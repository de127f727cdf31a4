"""Coordinates of a depth grid as those of labelled arrays: x, (y,) z in metres, z positive down."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.libraries import labelled

_NAMES = {"x": "distance along x, inline", "y": "distance along y, crossline", "z": "depth"}


def coordinates(grid: Grid) -> dict[str, tuple[str, NDArray, dict[str, Any]]]:
    """Return the coordinates of a grid by dimension, in the order of its axes."""
    dims = ("x", "z") if grid.ndim == 2 else ("x", "y", "z")
    out = {}
    for i, name in enumerate(dims):
        more = {"axis": name.upper()}
        if name == "z":
            more |= {"positive": "down", "standard_name": "depth"}
        out[name] = labelled.axis(name, grid.axis(i), grid.spacing[i], "length", _NAMES[name], **more)
    return out
