"""Is a reflection right on the grid that is chosen, wherever the interface lies in a cell, and a shallow station too?

    python benchmarks/reflections.py [--orders 4 6 8] [--only KIND] [--json FILE]

`forward(grid="auto")` with every order that has fitted weights. Errors are relative L2 of whole records against exact
solutions, and must stay below `accuracy`, 0.01:

reflection
    A flat interface at ten depths within a cell, at offset 0 and beyond; weak, usual and strong contrasts, either side
    the slow one; 15 and 32 Hz; 2-D and 3-D; isotropic, elliptical VTI, and elliptical TTI with an axis tilted by 34
    degrees. The direct wave is taken away by a run without the interface and with the same time step. The exact
    reflection of an elliptical medium is that of an isotropic one in coordinates in which it is isotropic.
station
    Source and receivers at 0.05 to 8 cells below a free surface, against the source and its negative image.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from facts import machine

from subsalt import EarthModel, Grid, Survey, Wavelet, analytic, forward, ricker
from subsalt.api import ForwardResult
from subsalt.kernels import cores
from subsalt.numerics.stencil import FITTED_ORDERS, Stencil
from subsalt.propagation.grid_choice import chosen_grid
from subsalt.propagation.options import PropagationOptions

ACCURACY = 0.01
#: of the records, s
DT = 0.002
#: depth of an interface below the source, in peak wavelengths of the medium above
BELOW = 3.0


@dataclass(frozen=True)
class Reflection:
    """A flat interface below a source and a receiver.

    Parameters
    ----------
    above, below : float
        Velocities, m/s.
    f0 : float
        Peak frequency, Hz.
    epsilon : float
        Of the whole medium, in which delta is the same.
    tilt : float
        Of its axis, radians.
    ndim : int
        2 or 3.
    offset : float
        In peak wavelengths.
    per_cell : int
        Points of the model per cell of the waves, about: the depths of the interface within a cell.
    """

    above: float = 2000.0
    below: float = 2400.0
    f0: float = 15.0
    epsilon: float = 0.0
    tilt: float = 0.0
    ndim: int = 2
    offset: float = 0.0
    per_cell: int = 5


@dataclass(frozen=True)
class Station:
    """Source and receivers below a free surface: depths in cells of the waves."""

    source: float
    receiver: float
    v: float = 2000.0
    f0: float = 15.0


def spacing_of(model: EarthModel, order: int, wavelet: Wavelet) -> float:
    """Return the spacing that ``grid = "auto"`` takes for modelling, m."""
    options = PropagationOptions(order=order, stencil="fitted")
    return chosen_grid(model, options, wavelet, ACCURACY, imaging=False).spacing[0]


def least_spacing(order: int, v: float, f0: float, tilted: bool) -> float:
    """Return a spacing, m, about as fine as what is chosen."""
    return v / (2.5 * f0) / max(4.4, Stencil(order, "fitted").points(tilted))


def samples(wavelet: Wavelet, nt: int) -> np.ndarray:
    """Return the wavelet at a quarter of the interval of the records, as long as four of these."""
    return np.pad(wavelet.samples, (0, max(0, 4 * nt - wavelet.nt)))


def exact_reflection(case: Reflection, src: np.ndarray, rcv: np.ndarray, depth: float, nt: int) -> np.ndarray:
    """Return the exact reflection, (nt,).

    Notes
    -----
    With ``E = s^2 (1 - n n) + n n`` and ``s^2 = 1 + 2 epsilon`` the medium is isotropic in ``y = E^(-1/2) x``, and a
    plane is a plane. Source and record hold (p + q) / 2, which gives ``((s + 1) / 2)^2``, the volume s^(1 - ndim).
    """
    n, s = np.zeros(case.ndim), math.sqrt(1 + 2 * case.epsilon)
    n[0], n[-1] = math.sin(case.tilt), math.cos(case.tilt)
    along = np.outer(n, n)
    across = np.eye(case.ndim) - along
    normal = (s * across + along)[:, -1]
    length = np.linalg.norm(normal)
    way = (across / s + along) @ (rcv - src)
    offset = np.linalg.norm(way - (way @ normal) * normal / length**2)
    heights = [(depth - at[-1]) / length for at in (src, rcv)]
    wave = samples(ricker(case.f0, DT / 4), nt)
    waveform = analytic.reflection_waveform(
        (offset,),
        0.0,
        heights[0] - heights[1],
        heights[0],
        case.above,
        case.below,
        wave,
        DT / 4,
        4 * nt,
        case.ndim,
    )[0, ::4]
    return (0.5 * (s + 1)) ** 2 * s ** (1 - case.ndim) * waveform


def reflection_errors(case: Reflection, order: int, depths: int, grid: str | float = "auto") -> list[float]:
    """Return the errors of a reflection for an interface at so many depths within a cell of the waves."""
    wavelet, slow = ricker(case.f0, DT / 4), min(case.above, case.below)
    cell, wave = least_spacing(order, slow, case.f0, case.tilt != 0), case.above / case.f0
    fine = cell / case.per_cell
    # a tilted axis returns to the vertical in front of the layer, which reflects
    edge = max(40 * cell, 3 * wave) if case.tilt else max(3 * cell, wave)
    source, interface = edge + 0.37 * cell, edge + BELOW * wave
    nt = round((2.2 * BELOW * wave / case.above + 2.6 / case.f0) / DT)
    wide = 2 * edge + (case.offset + (10.0 if case.ndim == 2 else 4.0)) * wave
    deep = interface + edge + 2 * wave
    shape = (math.ceil(wide / fine),) * (case.ndim - 1) + (math.ceil(deep / fine),)
    src = np.array(
        [0.5 * (wide - case.offset * wave) + 0.21 * cell] + [0.5 * wide] * (case.ndim - 2) + [source]
    )
    rcv = src + np.array([case.offset * wave] + [0.0] * (case.ndim - 2) + [2.3 * cell])
    survey = Survey.from_arrays([tuple(src)], rcv[None], nt=nt, dt=DT)

    def model(first: int | None) -> EarthModel:
        vp = np.full(shape, case.above, np.float32)
        if first is not None:
            vp[..., first:] = case.below
        thomsen = {"epsilon": case.epsilon, "delta": case.epsilon} if case.epsilon else {}
        if case.tilt:
            thomsen["theta"] = case.tilt
        named = {name: np.full(shape, value, np.float32) for name, value in thomsen.items()}
        return EarthModel(Grid(shape, (fine,) * case.ndim), vp, **named)

    first = math.ceil(interface / fine)
    h = spacing_of(model(first), order, wavelet) if grid == "auto" else grid
    step = (fine if h == "model" else float(h)) / fine / depths

    def traces(first: int | None, dt: float | None) -> ForwardResult:
        return forward(
            model(first), survey, wavelet, grid=h, order=order, dt=dt, source_taper=None, device="cpu"
        )

    errors, without = [], {}
    for i in range(depths):
        now = first + round(i * step)
        waves = traces(now, None)
        if waves.dt not in without:
            without[waves.dt] = traces(None, waves.dt).data[0, 0]
        exact = exact_reflection(case, src, rcv, (now - 0.5) * fine, nt)
        error = waves.data[0, 0] - without[waves.dt] - exact
        errors.append(float(np.linalg.norm(error) / np.linalg.norm(exact)))
    return errors


def station_errors(case: Station, order: int) -> list[float]:
    """Return the errors of records near, far and deep below a source, all below a free surface."""
    wavelet, wave = ricker(case.f0, DT / 4), case.v / case.f0
    fine = least_spacing(order, case.v, case.f0, False) / 1.7
    shape = (math.ceil(8 * wave / fine), math.ceil(4 * wave / fine))
    model = EarthModel(Grid(shape, (fine, fine)), np.full(shape, case.v, np.float32))
    h = spacing_of(model, order, wavelet)
    nt = round(7.6 / case.f0 / DT)
    src = np.array([2 * wave + 0.3 * h, case.source * h])
    near = [[src[0] + x * wave, case.receiver * h] for x in (0.8, 2.0, 4.0)]
    rcv = np.array([*near, [src[0] + 0.3 * wave, 3 * wave]])
    survey = Survey.from_arrays([tuple(src)], rcv, nt=nt, dt=DT)
    traces = forward(model, survey, wavelet, grid=h, order=order, free_surface=True, device="cpu").data[0]
    exact = np.zeros_like(traces, dtype=np.float64)
    for sign in (1, -1):
        way = rcv - np.array([src[0], sign * src[1]])
        wave_form = analytic.isotropic_waveform(way, case.v, samples(wavelet, nt), DT / 4, 4 * nt)
        exact += sign * wave_form[:, ::4]
    return [float(e) for e in np.linalg.norm(traces - exact, axis=1) / np.linalg.norm(exact, axis=1)]


#: what is measured at every order; the strong and weak contrasts, 3-D and 32 Hz
REFLECTIONS = [
    Reflection(above=a, below=b, f0=f0, epsilon=e, tilt=t, offset=x)
    for f0 in (15.0, 32.0)
    for a, b in ((2000.0, 2400.0), (2400.0, 2000.0), (2000.0, 2060.0), (1500.0, 4500.0), (4500.0, 1500.0))
    for e, t in ((0.0, 0.0), (0.2, 0.0), (0.2, 0.6))
    for x in (0.0, 3.0)
] + [Reflection(ndim=3, epsilon=e, tilt=t, per_cell=3) for e, t in ((0.0, 0.0), (0.2, 0.0), (0.2, 0.6))]
DEPTHS = (0.05, 0.3, 0.5, 1.25, 2.6, 4.4, 8.0)
STATIONS = [Station(a, b) for a in DEPTHS for b in DEPTHS if a <= b]


def cases(only: str | None) -> Iterator[Reflection | Station]:
    """Return what is measured."""
    if only != "station":
        yield from REFLECTIONS
    if only != "reflection":
        yield from STATIONS


def main() -> None:
    """Measure, print, and fail where an error is above the accuracy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, nargs="+", default=list(FITTED_ORDERS))
    parser.add_argument("--depths", type=int, default=10, help="of the interface within a cell")
    parser.add_argument("--only", choices=["reflection", "station"])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, object]] = []
    todo = [(order, case) for order in given.orders for case in cases(given.only)]
    begin, where = time.process_time(), machine(cores())
    for order, case in todo:
        if isinstance(case, Reflection):
            errors = reflection_errors(case, order, given.depths if case.ndim == 2 else 3)
        else:
            errors = station_errors(case, order)
        worst = max(errors)
        kind = type(case).__name__.lower()
        rows.append({"order": order, "kind": kind, **asdict(case), "worst": round(worst, 5)})
        print(f"order {order:2d}  {100 * worst:6.2f} %  {case}", flush=True)
        if given.json:
            # after every case: all of them take an hour
            given.json.write_text(
                json.dumps({"machine": where, **summary(rows, len(todo), begin)}, indent=1) + "\n"
            )
    wrong = sum(float(str(row["worst"])) > ACCURACY for row in rows)
    print(f"{len(rows)} cases, {wrong} above {ACCURACY:g}")
    raise SystemExit(wrong > 0)


def summary(rows: list[dict[str, object]], cases: int, begin: float) -> dict[str, object]:
    """Return what the JSON file holds."""
    orders = sorted({int(str(row["order"])) for row in rows})
    return {
        "accuracy": ACCURACY,
        "worst": {str(o): max(float(str(r["worst"])) for r in rows if r["order"] == o) for o in orders},
        "cases": cases,
        "done": len(rows),
        "cpu_seconds": round(time.process_time() - begin),
        "rows": rows,
    }


if __name__ == "__main__":
    main()
