"""Write the tables and the picture of docs/theory/kirchhoff.md from the filters; with --check, only compare.

The picture shows what the alias bands and the triangle pass, and the error of interpolation. One table is measured by
migrating exact reflections of a flat and a dipping plane, a second or two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.analytic import Plane, primaries
from subsalt.kernels.kirchhoff import Medium, sum_traces
from subsalt.kernels.kirchhoff_arguments import TraceGeometry
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import AFTER, BEFORE, design, prepare, taps, transform
from subsalt.numerics import fixedmath
from subsalt.view import palettes

PAGE = Path(__file__).with_name("theory") / "kirchhoff.md"
PICTURE = Path(__file__).with_name("kirchhoff-filters.svg")

#: parts of the Nyquist frequency
PARTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
#: the migration of the table: midpoints every STEP m, a reflector at 1 s
STEP, V, DEPTH, F0, R = 20.0, 2000.0, 1000.0, 30.0, 0.2
TRACES, IMAGE = TimeAxis(400, 0.004), TimeAxis(300, 0.004)
KINDS: dict[str, dict[str, object]] = {
    "none": {"antialias": "none"},
    **{f"{b} bands, interpolated": {"bands": b} for b in (5, 10, 20, 40)},
    **{f"{b} bands, nearest": {"bands": b, "band_choice": "nearest"} for b in (10, 40)},
    "triangle": {"antialias": "triangle"},
}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table, its first column words."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def interpolation_error(kind: str, part: float) -> float:
    """Return the largest error over phase, for a tone of amplitude 1."""
    w, at = fixedmath.PI * part, np.arange(-BEFORE, AFTER + 1)
    f = np.linspace(0, 1, 101)
    powers = np.array([[1.0] * len(f), f, f * f, f * f * f, f * f * f * f])
    real, imag = np.zeros(len(f)), np.zeros(len(f))
    for row, power in zip(taps(kind), powers, strict=False):  # type: ignore[arg-type]
        real += fixedmath.dot(row, fixedmath.cos(w * at)) * power
        imag += fixedmath.dot(row, fixedmath.sin(w * at)) * power
    return float(np.sqrt((real - fixedmath.cos(w * f)) ** 2 + (imag - fixedmath.sin(w * f)) ** 2).max())


def image(dip: float, **options: object) -> tuple[NDArray, float]:
    """Return image traces between two midpoints of a line, and the two-way time of the reflector below them."""
    x = np.arange(-int(1600 / STEP), int(1600 / STEP)) * STEP + STEP / 2 + DEPTH * np.tan(np.radians(dip))
    place = np.stack([x, np.zeros_like(x)], axis=1)
    plane = Plane(DEPTH, R, np.radians(dip), np.radians(90.0))
    traces = primaries(place, place, [plane], V, ricker(F0, 0.002, delay=0.0), TRACES).astype(np.float32)
    chosen = KirchhoffOptions(amplitude="2.5d", stretch_mute=None, **options)  # type: ignore[arg-type]
    points = np.stack([np.arange(9) * STEP / 8, np.zeros(9)], axis=1)
    out, hits = np.zeros((9, 1, IMAGE.nt), np.float32), np.zeros((9, IMAGE.nt + 1), np.int32)
    slot = np.zeros(len(x), np.int32)
    geometry = TraceGeometry(place, place, np.full(len(x), STEP, np.float32), slot)
    medium = Medium(np.full((9, IMAGE.nt), V, np.float32))
    axes = np.array([[0.0, 1.0], [1.0, 0.0]])
    prepared = prepare(traces, TRACES, chosen)
    where = (out, hits, np.zeros((9, 1), np.int32), points, axes, medium, IMAGE)
    sum_traces(*where, prepared, geometry, chosen, (STEP, STEP))
    return out[:, 0], 2 * DEPTH / V


def antialiasing() -> list[tuple[str, str, str, str]]:
    """Return for every kind the aliasing noise and the amplitudes of the events, as the page shows them."""
    t = IMAGE.values()
    noisy = (t > 0.15) & (t < 0.85)
    none = (image(0.0, antialias="none")[0][:, noisy] ** 2).sum()
    rows = []
    for name, options in KINDS.items():
        flat, _ = image(0.0, **options)
        noise = 10 * np.log10((flat[:, noisy] ** 2).sum() / none)
        peaks = []
        for dip in (0.0, 25.0):
            traces, at = image(dip, **options)
            peaks.append(traces[0, abs(t - at) < 0.03].max())
        rows.append((name, f"{noise:.0f}", *(f"{round(100 * (p / R - 1), 1) + 0.0:.1f}" for p in peaks)))
    return rows


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    return {
        "interpolation": table(
            ["part of Nyquist", *map(str, PARTS)],
            [
                [kind, *(f"{interpolation_error(kind, part):.1e}" for part in PARTS)]
                for kind in ("sinc", "linear")
            ],
        ),
        "antialiasing": table(
            ["antialias", "noise, dB", "flat event, %", "25 degrees, %"],
            antialiasing(),
        ),
    }


def page(text: str) -> str:
    """Return the page with its tables made anew."""
    for name, made in tables().items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{made}\n{end}{rest.split(end, 1)[1]}"
    return text


LEFT, WIDTH, TOP, HEIGHT, GAP = 60.0, 800.0, 40.0, 200.0, 80.0


def curve(x: NDArray, y: NDArray, top: float, kind: str) -> str:
    """Return a line through points with both coordinates between 0 and 1."""
    points = " ".join(
        f"{LEFT + WIDTH * a:.1f},{top + HEIGHT * (1 - b):.1f}" for a, b in zip(x, y, strict=True)
    )
    return f'<polyline class="{kind}" points="{points}"/>'


def frame(title: str, top: float, marks: Iterable[tuple[float, str]]) -> list[str]:
    """Return axes with marks: parts of Nyquist to the right, `marks` upwards."""
    out = [
        f'<text x="{LEFT}" y="{top - 14}" class="title">{title}</text>',
        f'<rect class="frame" x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}"/>',
    ]
    for i in range(11):
        x = LEFT + WIDTH * i / 10
        out.append(f'<text x="{x:.1f}" y="{top + HEIGHT + 18}" text-anchor="middle">{i / 10:g}</text>')
    for part, word in marks:
        y = top + HEIGHT * (1 - part)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f} h{WIDTH}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{word}</text>')
    return out


def band_responses(bands: int) -> tuple[NDArray, NDArray]:
    """Return parts of Nyquist and the responses of all bands."""
    impulse = design(1000, 0.004, "none", bands).impulse
    points, reach = 1024, impulse.shape[1] // 2
    lags = np.zeros((bands, points))
    lags[:, : reach + 1], lags[:, -reach:] = impulse[:, reach:], impulse[:, :reach]
    real, _ = transform(lags, np.zeros_like(lags))
    return np.arange(points // 2 + 1) / (points // 2), real[:, : points // 2 + 1]


def picture() -> str:
    """Return the picture: bands above, error of interpolation below."""
    shapes = frame("What ten bands and a triangle pass", TOP, [(0, "0"), (0.475, "0.5"), (0.95, "1")])
    part, responses = band_responses(10)
    shapes += [curve(part[::4], 0.95 * row[::4], TOP, "band") for row in responses]
    limit = 0.44  # of an operator: 0.6 of the way from band 5 (0.5) to band 6 (0.4)
    mixed = 0.4 * responses[5] + 0.6 * responses[6]
    shapes.append(curve(part[::4], 0.95 * mixed[::4], TOP, "local"))
    passed = fixedmath.sinc(part / (2 * limit))
    shapes.append(curve(part[::8], 0.95 * (passed * passed)[::8], TOP, "triangle"))
    x = LEFT + WIDTH * limit
    shapes.append(f'<path class="limit" d="M{x:.1f} {TOP} v{HEIGHT}"/>')
    shapes.append(f'<text x="{x + 6:.1f}" y="{TOP - 5}">alias limit of an operator</text>')

    top = TOP + HEIGHT + GAP
    decades = 5

    def height(error: NDArray) -> NDArray:
        return np.clip(1 + fixedmath.log(error) / (decades * float(fixedmath.log(10.0))), 0, 1)

    marks = [(1 - k / decades, f"1e-{k}" if k else "1") for k in range(decades + 1)]
    shapes += frame("Largest error of interpolation between samples, tone of amplitude 1", top, marks)
    frequencies = np.arange(2, 101) / 100
    for kind in ("sinc", "linear"):
        errors = np.array([interpolation_error(kind, p) for p in frequencies])
        shapes.append(curve(frequencies, height(errors), top, kind))
    x = LEFT + WIDTH * 0.7
    shapes.append(f'<path class="limit" d="M{x:.1f} {top} v{HEIGHT}"/>')
    foot = top + HEIGHT + 40
    legend = (
        "To the right: frequency in parts of Nyquist. Above: grey the bands, blue what the sum takes at the limit",
        "marked (interpolated), orange the triangle filter there. Below: blue sinc, orange linear.",
    )
    shapes += [f'<text x="{LEFT}" y="{foot + 16 * i}">{line}</text>' for i, line in enumerate(legend)]
    style = (
        "text{font:13px sans-serif;fill:#333}.title{font-weight:bold}polyline{fill:none;stroke-width:1.6}"
        f".frame{{fill:none;stroke:{palettes.FAINT}}}.grid{{stroke:{palettes.GRID_LINE}}}.band{{stroke:#bbb}}"
        f".local,.sinc{{stroke:{palettes.BLUE};stroke-width:2.4}}"
        f".triangle,.linear{{stroke:{palettes.ORANGE};stroke-width:2.4}}"
        f".limit{{stroke:{palettes.INK};stroke-dasharray:5 4}}"
    )
    size = f"{LEFT + WIDTH + 30:.0f} {foot + 30:.0f}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">'
    parts = [head, f"<style>{style}</style>", '<rect width="100%" height="100%" fill="#fff"/>', *shapes]
    return "\n".join(parts) + "\n</svg>\n"


def main() -> int:
    """Write, or compare."""
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        return int(page(text) != text or PICTURE.read_text(encoding="utf-8") != picture())
    PAGE.write_text(page(text), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
