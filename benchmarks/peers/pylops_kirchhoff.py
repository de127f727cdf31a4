"""PyLops' side of a Kirchhoff migration: the adjoint of its `Kirchhoff` operator, Numba engine.

``pylops_kirchhoff.py CASE VARIANT``. The variant is ``float64``, ``float32`` (of data and image), or ``tables32`` (its
traveltime tables too). The tables are made before the clock starts; the wavelet is a spike.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import kirchhoff_case
import numpy as np
import pylops
from cases import parse
from protocol import save_fields, serve
from pylops.waveeqprocessing import Kirchhoff


class PyLopsMigration:
    """Operator and traces of one case."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = parse(name)
        warnings.simplefilter("ignore", FutureWarning)  # advice on tables for its next version
        src, rcv = kirchhoff_case.shots(case)
        nx, ny, nz = case.interior
        # its first axis is the slower one of the map: x here
        axes = [np.arange(n) * kirchhoff_case.SPACING for n in (nx, ny)]
        depth = 0.5 * kirchhoff_case.V * kirchhoff_case.DT0 * np.arange(1, nz + 1)
        at = [np.column_stack([p, np.zeros(len(p))]).T for p in (src, rcv)]
        t = kirchhoff_case.DT * np.arange(kirchhoff_case.samples(case))
        dtype = np.float64 if variant == "float64" else np.float32
        by_name: dict[str, Any] = {"y": axes[0], "wavfilter": False, "engine": "numba", "dtype": dtype}
        first = (depth, axes[1], t, *at)
        wavelet = np.ones(1, dtype)
        if variant == "tables32":
            tables = Kirchhoff._traveltime_table(
                depth, axes[1], *at, kirchhoff_case.V, y=axes[0], mode="analytic"
            )
            pair = tuple(table.astype(np.float32) for table in tables[:2])
            self.operator = Kirchhoff(*first, kirchhoff_case.V, wavelet, 0, mode="byot", trav=pair, **by_name)
        else:
            self.operator = Kirchhoff(*first, kirchhoff_case.V, wavelet, 0, mode="analytic", **by_name)
        self.data = kirchhoff_case.traces(case).astype(dtype).ravel()
        self.image = self.operator.H @ self.data  # compiled by its first call
        self.about = {
            "peer": "PyLops",
            "version": pylops.__version__,
            "variant": variant,
            "points": int(np.prod(case.interior)),
        }

    def round(self) -> float:
        """Return the seconds of one migration: wall clock of the call a user makes."""
        start = time.perf_counter()
        self.image = self.operator.H @ self.data
        return time.perf_counter() - start

    def save(self, out: str) -> float:
        """Save the image; return its largest absolute value."""
        return save_fields(out, [self.image.reshape(self.case.interior)])


if __name__ == "__main__":
    serve(PyLopsMigration)
