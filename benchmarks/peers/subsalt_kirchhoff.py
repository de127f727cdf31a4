"""Our side of a Kirchhoff migration: traces prepared and summed, as a block of ``subsalt migrate`` does it.

``subsalt_kirchhoff.py CASE VARIANT``. ``linear`` sums what the peer sums: samples read by linear interpolation, no
weight, no antialias, no mute. ``bands`` is what a production run asks for: 16-point interpolation, ten alias bands, the
3-D weight.
"""

from __future__ import annotations

import time

import kirchhoff_case
import numpy as np
from cases import parse
from protocol import save_fields, serve

import subsalt
from subsalt import kernels
from subsalt.acquisition.survey import TimeAxis
from subsalt.kernels.kirchhoff import Medium, sum_traces
from subsalt.kernels.kirchhoff_arguments import TraceGeometry
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import prepare

#: traces prepared at a time: their coefficients stay small
BLOCK = 256


class SubsaltMigration:
    """Traces and image of one case."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = parse(name)
        src, rcv = kirchhoff_case.shots(case)
        pairs = np.stack(np.meshgrid(np.arange(len(src)), np.arange(len(rcv)), indexing="ij"), -1).reshape(
            -1, 2
        )
        self.src, self.rcv = src[pairs[:, 0]], rcv[pairs[:, 1]]
        nx, ny, nz = case.interior
        axes = np.meshgrid(*[np.arange(n) * kirchhoff_case.SPACING for n in (nx, ny)], indexing="ij")
        self.points = np.stack(axes, axis=-1).reshape(-1, 2)
        self.time = TimeAxis(nz, kirchhoff_case.DT0, kirchhoff_case.DT0)
        self.trace_time = TimeAxis(kirchhoff_case.samples(case), kirchhoff_case.DT)
        self.data = kirchhoff_case.traces(case)
        bare = KirchhoffOptions(amplitude="none", antialias="none", stretch_mute=None, interpolation="linear")
        self.options = bare if variant == "linear" else KirchhoffOptions(stretch_mute=None)
        self.threads = kernels.threads_to_use()
        self.medium = Medium(np.full((len(self.points), nz), kirchhoff_case.V, np.float32))
        self.round()
        facts = kernels.get("cpu").describe()
        self.about = {"peer": "subsalt", "version": subsalt.__version__, "variant": variant, **facts}
        self.about["points"] = int(np.prod(case.interior))

    def round(self) -> float:
        """Return the seconds of one migration: traces prepared, and summed into an image that is zero before."""
        start = time.perf_counter()
        nloc = len(self.points)
        self.image = np.zeros((nloc, 1, self.time.nt), np.float32)
        hits, fold = np.zeros((nloc, self.time.nt + 1), np.int32), np.zeros((nloc, 1), np.int32)
        for a in range(0, len(self.data), BLOCK):
            b = slice(a, a + BLOCK)
            n = len(self.data[b])
            geometry = TraceGeometry(self.src[b], self.rcv[b], np.ones(n, np.float32), np.zeros(n, np.int32))
            ready = prepare(self.data[b], self.trace_time, self.options, self.threads)
            sum_traces(
                self.image,
                hits,
                fold,
                self.points,
                np.eye(2),
                self.medium,
                self.time,
                ready,
                geometry,
                self.options,
                (kirchhoff_case.SPACING, kirchhoff_case.SPACING),
                self.threads,
            )
        return time.perf_counter() - start

    def save(self, out: str) -> float:
        """Save the image; return its largest absolute value."""
        return save_fields(out, [self.image.reshape(self.case.interior)])


if __name__ == "__main__":
    serve(SubsaltMigration)
