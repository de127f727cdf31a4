"""All colours of pictures: of lines and marks, the palettes of values, and values or overlays as bytes of colour.

Lines and marks are colours of Okabe and Ito, which people with any colour vision can tell apart (K. Ito and M. Okabe,
Color Universal Design, 2008). The lightness of a palette changes in one direction, on either side of zero if need be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

#: points that are coloured at a time
COLOURED = 1 << 15
#: points of a section that are drawn to a pixel, along each axis
PER_PIXEL = 2
#: colours of a palette
SHADES = 256

#: the colours of Okabe and Ito, by their names for them
ORANGE, SKY_BLUE, BLUISH_GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILION, REDDISH_PURPLE = "#0072b2", "#d55e00", "#cc79a7"
#: text, frames and curves; and remarks
INK, FAINT = "#222222", "#777777"
SOURCE, RECEIVER = ORANGE, BLUE
#: what a picture points at: a known depth, a pick, the edge of a mute, a station outside the model
MARK = VERMILION
#: curves of one picture, in this order; where there are more, marks and dashes distinguish them
CURVES = (BLUE, VERMILION, BLUISH_GREEN, REDDISH_PURPLE, SKY_BLUE, ORANGE, "#7f7f7f")
#: flagged nodes over `veil`, in the order of the flags
FLAGS = (VERMILION, "#000000")
#: muted samples: neither white nor the grey of a measured zero
MUTED = "#f4efe3"
GRID_LINE = "#dddddd"

#: colour maps of Matplotlib, and which part of each; positive amplitudes are dark, as the filled lobes of a wiggle are,
#: and the fold ends before it is too dark for lines drawn over it
PALETTES = {
    "grey": ("gray_r", 0.0, 1.0),
    "residual": ("RdBu_r", 0.0, 1.0),
    "velocity": ("viridis", 0.0, 1.0),
    "fold": ("YlGnBu", 0.05, 0.75),
}


def palette(name: str) -> Colormap:
    """Return the colour map of a palette name.

    Parameters
    ----------
    name : {"grey", "residual", "velocity", "fold", "veil"}
        Meaning of the values; ``"veil"`` is velocity lightened, for what is drawn over it.
    """
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    if name == "veil":
        return ListedColormap(0.4 + 0.6 * colours_of("velocity"), name="veil")
    if name not in PALETTES:
        raise ConfigError(f"palette = {name!r}", f"use one of {', '.join((*PALETTES, 'veil'))}")
    of, first, last = PALETTES[name]
    # of a part, colours between those of the whole
    fine = colormaps[of].resampled(round(SHADES / (last - first)))
    return ListedColormap(fine(np.linspace(first, last, SHADES)), name=name)


def colours_of(name: str, shades: int = SHADES) -> NDArray[np.float64]:
    """Return the colours (shades, 4) of a palette, 0 to 1."""
    return np.asarray(palette(name)(np.linspace(0, 1, shades)))


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
    ax: Axes, values: NDArray, limits: tuple[float, float], name: str, interpolation: str, **common: Any
) -> Any:
    """Draw a section in the colours of a map; return what a colour bar needs.

    Parameters
    ----------
    values : ndarray, (n, m)
        Values that are shown; white where it is not finite.
    limits : tuple of float
        Values at the ends of the colours.
    name : str
        Name of the palette, see `palette`.
    interpolation : str
        Between points; in values where they are few, in colours where they are many.
    **common
        Further arguments of ``imshow``.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colours = palette(name)
    if values.size <= COLOURED:
        low, high = limits
        return ax.imshow(values, cmap=colours, vmin=low, vmax=high, interpolation=interpolation, **common)
    key = ScalarMappable(Normalize(*limits), colours.with_extremes(bad="white"))
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
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    scale, span = Normalize(*limits, clip=True), Normalize(*over_limits, clip=True)
    base = palette(name).with_extremes(bad="white")
    # lightened a little, so that dark reflectors stand out of the slow, dark end too
    colours = 0.5 + tint * (0.7 * colours_of("velocity")[:, :3] - 0.2)
    tints = ListedColormap(colours)

    def mixed(rows: slice) -> NDArray[np.float64]:
        b = base(scale(np.ma.masked_invalid(values[rows])))[..., :3]
        c = tints(span(np.ma.masked_invalid(over[rows])))[..., :3]
        return (1 - 2 * c) * b**2 + 2 * c * b

    return in_bytes(values.shape, mixed), ScalarMappable(span, ListedColormap(0.25 + 0.5 * colours))
