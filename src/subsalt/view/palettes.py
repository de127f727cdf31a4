"""Colours of pictures: palettes, and values or overlays as bytes of colour."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: points that are coloured at a time
COLOURED = 1 << 15
#: points of a section that are drawn to a pixel, along each axis
PER_PIXEL = 2
# positive amplitudes are dark, as the filled lobes of a wiggle are
PALETTES = {"grey": "gray_r", "residual": "RdBu_r", "velocity": "viridis", "fold": "YlGnBu"}


def palette(name: str) -> str:
    """Return the colour map of a palette name.

    Parameters
    ----------
    name : {"grey", "residual", "velocity", "fold"}
        Meaning of the values.
    """
    if name not in PALETTES:
        raise ConfigError(f"palette = {name!r}", f"use one of {', '.join(PALETTES)}")
    return PALETTES[name]


def veil() -> Any:
    """Return the colours of velocity laid over an image: lightened, so that the grey shows through."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(0.4 + 0.6 * colormaps[PALETTES["velocity"]](np.linspace(0, 1, 256)), name="veil")


def reduced(values: NDArray, pixels: tuple[float, float]) -> NDArray:
    """Return a section (n, m) as means over bins, where it has more than `PER_PIXEL` points to a pixel along an axis.

    What Matplotlib makes of every point takes dozens of bytes; nobody sees more of them than this.

    Parameters
    ----------
    values : ndarray, (n, m)
        A section of any size.
    pixels : tuple of float
        Pixels of the picture along both axes.
    """
    for axis, room in enumerate(pixels):
        n, bins = values.shape[axis], max(1, round(PER_PIXEL * room))
        if n > bins:
            first = np.arange(bins) * n // bins
            counts = np.diff(np.append(first, n)).astype(values.dtype)
            sums = np.add.reduceat(values, first, axis=axis)
            values = sums / (counts[:, None] if axis == 0 else counts)
    return values


def pixels_of(ax: Axes) -> tuple[float, float]:
    """Return the pixels of axes, down and across."""
    room = ax.get_window_extent()
    return room.height, room.width


def in_bytes(shape: tuple[int, ...], colours: Callable[[slice], NDArray]) -> NDArray[np.uint8]:
    """Return colours as bytes (n, m, 4), opaque, made some rows at a time.

    Parameters
    ----------
    shape : tuple of int
        Shape of the section.
    colours : callable
        Returns the colours (k, m, 3) or (k, m, 4), 0 to 1, of some of its rows.

    Notes
    -----
    In floating point the colours of a section, and what is made of them on the way to a picture, take fifty times its
    own memory.
    """
    out = np.full((*shape[:2], 4), 255, np.uint8)
    rows = max(1, COLOURED // max(1, shape[1]))
    for a in range(0, shape[0], rows):
        out[a : a + rows, :, :3] = np.rint(255 * np.clip(colours(slice(a, a + rows))[..., :3], 0, 1))
    return out


def laid(
    ax: Axes, values: NDArray, limits: tuple[float, float], colours: Any, interpolation: str, **common: Any
) -> Any:
    """Draw a section in the colours of a map; return what a colour bar needs.

    Parameters
    ----------
    values : ndarray, (n, m)
        Values that are shown; white where it is not finite.
    limits : tuple of float
        Values at the ends of the colours.
    colours : colour map or its name
        Colour map of Matplotlib.
    interpolation : str
        Between points; in values where they are few, in colours where they are many.
    **common
        Further arguments of ``imshow``.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    if values.size <= COLOURED:
        low, high = limits
        return ax.imshow(values, cmap=colours, vmin=low, vmax=high, interpolation=interpolation, **common)
    named = colormaps[colours] if isinstance(colours, str) else colours
    key = ScalarMappable(Normalize(*limits), named.with_extremes(bad="white"))
    in_colour = in_bytes(values.shape, lambda rows: key.to_rgba(np.ma.masked_invalid(values[rows])))
    ax.imshow(in_colour, interpolation=interpolation, **common)
    return key


def tinted(
    values: NDArray,
    limits: tuple[float, float],
    name: str,
    over: NDArray,
    over_limits: tuple[float, float],
    tint: float,
) -> tuple[NDArray[np.uint8], Any]:
    """Return an image tinted by velocity, (n, m, 4), and what a colour bar of the tint needs.

    Parameters
    ----------
    values, limits, name
        The image, the values at the ends of its palette, and that palette.
    over, over_limits
        Velocity of the same shape, and the values at the ends of its colours.
    tint : float
        Strength of the colours, 0 (none) to 1.

    Notes
    -----
    Soft light, ``b' = (1 - 2 c) b^2 + 2 c b`` per channel: black and white of the image stay, so that no
    contrast is lost; the grey of zero amplitude takes the colour ``0.25 + 0.5 c``, which the bar shows.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    scale, span = Normalize(*limits, clip=True), Normalize(*over_limits, clip=True)
    base = colormaps[palette(name)].with_extremes(bad="white")
    # lightened a little, so that dark reflectors stand out of the slow, dark end too
    colours = 0.5 + tint * (0.7 * colormaps[PALETTES["velocity"]](np.linspace(0, 1, 256))[:, :3] - 0.2)
    tints = ListedColormap(colours)

    def mixed(rows: slice) -> NDArray[np.float64]:
        b = base(scale(np.ma.masked_invalid(values[rows])))[..., :3]
        c = tints(span(np.ma.masked_invalid(over[rows])))[..., :3]
        return (1 - 2 * c) * b**2 + 2 * c * b

    return in_bytes(values.shape, mixed), ScalarMappable(span, ListedColormap(0.25 + 0.5 * colours))
