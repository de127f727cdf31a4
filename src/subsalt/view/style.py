"""How every picture looks: fonts, pages, units of the axes; and how a figure becomes a PNG file.

Matplotlib is imported inside the functions, so that ``import subsalt`` stays cheap. Figures are made without
pyplot, hence without a display, a backend choice or a global list of open figures.
"""

from __future__ import annotations

import gc
import io
import math
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError
from subsalt.view import palettes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 120
#: between two facts below a heading
FACT = " · "


_RC: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.7,
    "axes.edgecolor": palettes.INK,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "legend.fontsize": 8.0,
    "legend.framealpha": 0.85,
    # a $ in a file name or a title is a dollar sign
    "text.parse_math": False,
    "axes.formatter.useoffset": False,
}


def printable(text: object, limit: int = 200) -> str:
    """Return `text` on one line, with control, format and unassigned characters shown as escapes.

    Names come from files; a bidirectional mark in them must not change how a picture reads.
    """
    out = []
    for c in str(text)[: limit + 1]:
        harmless = unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029"
        out.append(c if harmless else f"\\u{ord(c):04x}")
    joined = "".join(out)
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"


@dataclass(frozen=True)
class Length:
    """The unit of the axes of one picture."""

    unit: str
    metres: float

    @classmethod
    def fitting(cls, *extents: float) -> Length:
        """Return km when the largest extent (m) reaches 5 km, metres otherwise."""
        return cls("km", 1e3) if max(abs(e) for e in extents) >= 5e3 else cls("m", 1.0)

    def __call__(self, metres: Any) -> Any:
        """Return metres in this unit."""
        return np.asarray(metres, dtype=np.float64) / self.metres

    def text(self, metres: float) -> str:
        """Return a length with its unit, to the metre or the decimetre."""
        return f"{metres / 1e3:.3f} km" if self.unit == "km" else f"{metres:.10g} m"


def clip_limit(values: NDArray, clip: float = 99.0) -> float:
    """Return the symmetric display limit: the `clip` percentile of |a| over finite values that are not zero.

    Zeros don't count, since a partial or muted image would otherwise be clipped to nothing. At most about two
    million values are looked at, at a fixed stride.

    Parameters
    ----------
    values : ndarray, any shape
        Amplitudes.
    clip : float
        Percentile, above 0 up to 100.
    """
    if not 0 < clip <= 100:
        raise ConfigError(f"clip = {clip:g}", "give a percentile above 0 and up to 100")
    a = np.asarray(values)
    # `flat` takes these few without a copy of the whole, which may be a file
    flat = np.abs(a.flat[:: max(1, a.size // 2_000_000)].astype(np.float64))
    flat = flat[np.isfinite(flat) & (flat > 0)]
    return float(np.percentile(flat, clip)) if flat.size else 1.0


#: part of an image, from the top, that shows the acquisition more than the earth: mutes, and sources and receivers
SHALLOW = 0.25


def below_surface(values: NDArray) -> NDArray:
    """Return the samples (..., nz) of an image that set its clip: all but the shallow ones, where these are not 0."""
    deep = values[..., int(SHALLOW * values.shape[-1]) :]
    return deep if np.any(deep) else values


def telling_sample(*sections: NDArray) -> int:
    """Return the index of the depth, or time, at which a slice shows most, below the shallow part of sections (n, nz).

    Notes
    -----
    Where the amplitude varies most: a slice along a level reflector has one shade of grey. Where nothing varies by a
    tenth of the strongest amplitude, at the strongest reflector.
    """
    nz = sections[0].shape[-1]
    first = int(SHALLOW * nz)
    energy, contrast = np.zeros(nz), np.zeros(nz)
    for values in sections:
        a = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
        energy += np.square(a).sum(axis=0)
        contrast += np.square(a - a.mean(axis=0)).sum(axis=0)
    energy, contrast = energy[first:], contrast[first:]
    if not energy.any():
        return nz // 2
    varied = contrast.max() >= 0.01 * energy.max()
    return first + int(np.argmax(contrast if varied else energy))


def exponent(values: NDArray) -> int:
    """Return the power of ten in which values are labelled: 0 where their largest lies between 0.001 and 10,000."""
    most = float(np.nanmax(np.abs(values), initial=0.0))
    power = math.floor(math.log10(most)) if 0 < most < np.inf else 0
    return 0 if -3 <= power < 4 else power


def value_limits(values: NDArray | Planes) -> tuple[float, float]:
    """Return the smallest and largest finite value, a little apart when they are equal."""
    if isinstance(values, Planes):
        low, high = values.limits()
    else:
        good = np.asarray(values)[np.isfinite(values)]
        low, high = (float(good.min()), float(good.max())) if good.size else (np.nan, np.nan)
    if np.isnan(low):
        return 0.0, 1.0
    if high - low <= 1e-6 * max(abs(low), abs(high), 1e-30):
        pad = 0.05 * abs(low) if low else 1.0
        return low - pad, high + pad
    return low, high


@contextmanager
def page(
    path: str | Path, size: tuple[float, float], *, title: str = "", run_id: str = "", about: str = ""
) -> Iterator[Figure]:
    """Give a figure to draw on, and publish it as a PNG when the block ends without an error.

    Parameters
    ----------
    path : path
        The PNG to write.
    size : tuple of float
        Width and height, inches.
    title, run_id, about : str
        Written into the PNG's metadata; the run id also in small letters into the lower right corner.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        # a name in a script that the bundled font lacks is drawn as boxes; that is no reason for a warning
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*missing.*")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        fig = Figure(figsize=size, dpi=DPI)
        canvas = FigureCanvasAgg(fig)
        yield fig
        if run_id:
            fig.text(
                1 - 0.06 / size[0],
                0.05 / size[1],
                f"subsalt run {printable(run_id[:16])}",
                ha="right",
                va="bottom",
                fontsize=6,
                color=palettes.FAINT,
            )
        facts = {"Title": title, "Description": about, "Run": run_id}
        data = png_bytes(fig, {k: printable(v, 1000) for k, v in facts.items() if v})
        # a figure, its artists and its canvas point to each other: the memory of one picture would lie beside the next
        fig.clear()
        del fig, canvas
    gc.collect()
    from subsalt.io.publish import publish_bytes

    publish_bytes(Path(path), data)


def png_bytes(fig: Figure, facts: dict[str, str]) -> bytes:
    """Return the figure as PNG bytes that depend on the drawing and `facts` alone: no date, no version."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    canvas: Any = fig.canvas
    canvas.draw()
    # opaque, so three channels say it all: a quarter less to store in every report
    rgb = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
    info = PngInfo()
    for key, value in {"Software": "subsalt", **facts}.items():
        info.add_itxt(key, value)
    out = io.BytesIO()
    # level 9 takes six times as long for a twentieth of the bytes
    Image.fromarray(rgb).save(out, "PNG", pnginfo=info, dpi=(DPI, DPI), compress_level=6)
    return out.getvalue()


def place(fig: Figure, box: tuple[float, float, float, float]) -> Axes:
    """Add axes at ``(left, top, width, height)``, in inches from the upper left corner of the figure."""
    w, h = fig.get_size_inches()
    left, top, width, height = box
    return fig.add_axes((left / w, 1 - (top + height) / h, width / w, height / h))


def heading(fig: Figure, title: str, subtitle: str = "") -> None:
    """Write a title and a smaller line of facts at the upper left of the figure; two lines where one is too long."""
    w, h = fig.get_size_inches()
    fig.text(
        0.12 / w, 1 - 0.08 / h, printable(title), va="top", fontsize=11, fontweight="bold", color=palettes.INK
    )
    if not subtitle:
        return
    text = fig.text(0.12 / w, 1 - 0.30 / h, printable(subtitle), va="top", fontsize=8, color=palettes.FAINT)
    room, parts = DPI * (w - 0.2), text.get_text().split(FACT)
    if _width(text) <= room:
        return
    text.set(fontsize=7, y=1 - 0.25 / h, linespacing=1.05)
    for first in range(len(parts) - 1, 0, -1):
        text.set_text(f"{FACT.join(parts[:first])}\n{FACT.join(parts[first:])}")
        if first == 1 or _width(text.get_text().partition("\n")[0], text) <= room:
            break
    while _width(text) > room and len(text.get_text()) > 2:
        text.set_text(text.get_text()[:-2] + "…")


def _width(text: Any, like: Any = None) -> float:
    """Return the pixels that a text takes across; of a string, drawn as the text `like`."""
    if like is None:
        return float(text.get_window_extent().width)
    whole = like.get_text()
    like.set_text(text)
    wide = float(like.get_window_extent().width)
    like.set_text(whole)
    return wide


def colour_bar(
    fig: Figure, drawn: Any, box: tuple[float, float, float, float], label: str, *, counts: bool = False
) -> None:
    """Add a colour bar at `box` (inches, as in `place`) for a drawn image; of counts with whole numbers."""
    from matplotlib.ticker import MaxNLocator

    bar = fig.colorbar(drawn, cax=place(fig, box))
    # six figures beside the bar would push its label off the page
    bar.ax.ticklabel_format(axis="y", scilimits=(-3, 4))
    if counts:
        bar.locator = MaxNLocator(integer=True)
    bar.update_ticks()
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.ax.yaxis.get_offset_text().set_fontsize(7)
    bar.outline.set_linewidth(0.6)


def thin(points: NDArray[np.float64], most: int = 20_000) -> NDArray[np.float64]:
    """Return at most about `most` of the points (n, d), every n-th, for drawing."""
    return points[:: max(1, -(-len(points) // most))]


def unique_points(points: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the distinct positions (n, 3), to the centimetre, of several sets of positions, sorted."""
    known = np.zeros((0, 3), dtype=np.int64)
    waiting: list[NDArray[np.int64]] = []
    last: NDArray[np.float64] | None = None
    for p in points:
        # a fixed spread is the same for every shot: no need to sort it a thousand times
        if last is not None and (p is last or np.array_equal(p, last)):
            continue
        last = p
        waiting.append(np.round(p * 100).astype(np.int64))
        # merged occasionally, so that memory follows the distinct positions and not the traces
        if sum(map(len, waiting)) > 500_000 + len(known):
            known, waiting = _distinct([known, *waiting]), []
    return _distinct([known, *waiting]) / 100.0


def _distinct(sets: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the distinct rows (n, 3) of sets of integer positions, sorted by x, then y, then z."""
    rows = np.concatenate(list(sets))
    rows = rows[np.lexsort(rows.T[::-1])]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return rows[new]
