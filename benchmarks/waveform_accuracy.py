"""How long does a waveform take that is right to 1 % after 40 wavelengths, with Taylor and with fitted weights?

    python benchmarks/waveform_accuracy.py [--orders 8 12] [--rounds 5] [--json FILE]

A shot in a uniform isotropic 3-D model, each kind of weights on the grid that it needs (`Stencil`, and for Taylor
weights the points of `benchmarks/fit_stencils.py` for the same error). Sides take turns; timed is the whole call of
`subsalt.forward`. Errors are relative L2 against the exact solution, along an axis, a diagonal of a face and a diagonal
of the cube. The box is closed: its echoes come after the record.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from facts import machine, spread
from fit_stencils import Waves, needed, taylor

from subsalt import EarthModel, Grid, Survey, analytic, forward, ricker
from subsalt.kernels import cores
from subsalt.numerics.stencil import Stencil

F0, VP, DT = 20.0, 2000.0, 0.002
SHORTEST = VP / (2.5 * F0)
FAR = 40 * SHORTEST
#: end of the record after the traveltime, s; and how far the sides are, in units of what its echoes just miss
TAIL, ROOM = 2.4 / F0, 1.3
WAYS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])


def shot(stencil: Stencil, points: float) -> dict[str, Any]:
    """Model the shot on a grid of so many points per shortest wavelength."""
    h = SHORTEST / points
    far = ROOM * 0.5 * math.sqrt((FAR + TAIL * VP) ** 2 - FAR**2)
    n = int((FAR + 2 * far) / h) + 2
    model = EarthModel(Grid((n,) * 3, (h,) * 3), VP)
    nt = round((FAR / VP + TAIL) / DT)
    offsets = FAR * WAYS / np.linalg.norm(WAYS, axis=1)[:, None]
    src = far + h * np.array([0.0, 0.3, 0.4])
    survey = Survey.from_arrays([tuple(src)], src + offsets, nt=nt, dt=DT)
    wavelet = ricker(F0, DT / 4)
    begin = time.perf_counter()
    got = forward(
        model,
        survey,
        wavelet,
        order=stencil.order,
        stencil=stencil.kind,
        boundary="none",
        source_taper=None,
        device="cpu",
    )
    seconds = time.perf_counter() - begin
    samples = np.pad(wavelet.samples, (0, max(0, 4 * nt - len(wavelet.samples))))
    exact = analytic.isotropic_waveform(offsets, VP, samples, DT / 4, 4 * nt)[:, ::4]
    errors = np.linalg.norm(got.data[0] - exact, axis=1) / np.linalg.norm(exact, axis=1)
    return {"seconds": seconds, "n": n, "errors": [float(f"{e:.4f}") for e in errors]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, nargs="+", default=[8, 12])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    waves = Waves("upright", fine=True)
    sides = {
        stencil: needed(waves, taylor(order), 0.01) if kind == "taylor" else stencil.points()
        for order in given.orders
        for kind in ("taylor", "fitted")
        for stencil in [Stencil(order, kind)]
    }
    done: dict[Stencil, list[dict[str, Any]]] = {s: [] for s in sides}
    for i in range(given.rounds):
        for s in list(sides) if i % 2 == 0 else list(reversed(sides)):
            done[s].append(shot(s, sides[s]))
    first = next(iter(sides))
    rows = []
    print(
        "weights             points     grid   error % axis  face  cube        s   times faster than the first"
    )
    for s, points in sides.items():
        seconds = [d["seconds"] for d in done[s]]
        ratio = [a["seconds"] / b["seconds"] for a, b in zip(done[first], done[s], strict=True)]
        errors = done[s][0]["errors"]
        rows.append(
            {
                "order": s.order,
                "stencil": s.kind,
                "points": round(points, 3),
                "n": done[s][0]["n"],
                "errors": errors,
                "seconds": median(seconds),
                "spread": spread(seconds),
                "ratio": median(ratio),
            }
        )
        shown = "".join(f"{100 * e:6.2f}" for e in errors)
        print(
            f"{f'{s.order}, {s.kind}':18s}{points:8.2f}{done[s][0]['n']:7d}^3      {shown}{median(seconds):9.2f}"
            f"{median(ratio):10.2f}"
        )
    by_name = {"machine": machine(cores()), "rounds": given.rounds, "rows": rows}
    if given.json:
        given.json.write_text(json.dumps(by_name, indent=1) + "\n")
    print(json.dumps(by_name))


if __name__ == "__main__":
    main()
