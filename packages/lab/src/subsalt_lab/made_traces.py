"""Made-up prestack traces for ``lab scaling --method kirchhoff``: their image means nothing, its cost is real."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.io.prestack.writing import write_traces
from subsalt.io.publish import publish_text

#: m between bins; m/s; s between samples; peak frequency in Hz
BIN, V, DT, F0 = 15.0, 2500.0, 0.008, 15.0
#: m between the offsets of a bin, and the first of them
OFFSETS = 250.0, 400.0
#: bytes of a trace header and of what other files take
HEADER, OTHER = 240, 1 << 20

JOB = """\
title = "made-up traces for measurements"
method = "kirchhoff"

[data]
files = ["traces.sgy"]

[velocity]
v = {v:g}

[kirchhoff]
inline = {{first = 1, last = {ni}}}
crossline = {{first = 1, last = {nj}}}
corners = [[1, 1, 0, 0], [1, 2, {bin:g}, 0], [2, 1, 0, {bin:g}]]
gathers = "full-offset"
amplitude = "3d"
antialias_spacing = [{bin:g}, {bin:g}]
stretch_mute = 0.15

[output]
pictures = false
"""


@dataclass(frozen=True)
class MadeTraces:
    """What is made: in every bin of the output one trace of each offset, in the words of the founding case.

    Parameters
    ----------
    inlines, crosslines : int
        Bins of the output, and of the midpoints.
    samples : int
        Of a trace.
    offsets : int
        Traces in a bin.
    """

    inlines: int
    crosslines: int
    samples: int
    offsets: int = 4

    @property
    def grid(self) -> tuple[int, int, int]:
        """Inlines, crosslines and samples of the output."""
        return self.inlines, self.crosslines, self.samples

    @property
    def traces(self) -> int:
        """Number of traces."""
        return self.inlines * self.crosslines * self.offsets

    @property
    def bytes_needed(self) -> int:
        """Bytes of all files, those of a run included: sums of the blocks, gathers, image and hits."""
        image = self.inlines * self.crosslines * (HEADER + 4 * self.samples)
        return self.traces * (HEADER + 4 * self.samples) + image * (2 * self.offsets + 4) + OTHER

    def write(self, folder: Path) -> list[Path]:
        """Write traces, in shot order, and their job into a folder; return the input files."""
        first, step = OFFSETS
        il, xl, h = (
            a.ravel()
            for a in np.meshgrid(
                np.arange(self.inlines),
                np.arange(self.crosslines),
                first + step * np.arange(self.offsets),
                indexing="ij",
            )
        )
        middle = np.stack([BIN * xl, BIN * il], axis=1)
        half = np.stack([0.5 * h, np.zeros(len(h))], axis=1)
        src, rcv = middle - half, middle + half
        order = np.lexsort((rcv[:, 0], src[:, 0], src[:, 1]))
        time = TimeAxis(self.samples, DT)

        def samples(block: slice) -> NDArray[np.float32]:
            # two pulses, at the times of flat reflectors
            length = np.sqrt(((rcv - src)[order[block]] ** 2).sum(axis=1))
            out = np.zeros((len(length), self.samples), np.float32)
            for part in (0.3, 0.7):
                at = np.sqrt((part * time.duration) ** 2 + (length / V) ** 2)
                a = (np.pi * F0 * (time.values() - at[:, None])) ** 2
                out += ((1 - 2 * a) * np.exp(-a)).astype(np.float32)
            return out

        traces = write_traces(folder / "traces.sgy", src[order], rcv[order], time, samples)
        publish_text(folder / "measure.toml", JOB.format(v=V, ni=self.inlines, nj=self.crosslines, bin=BIN))
        return [traces]
