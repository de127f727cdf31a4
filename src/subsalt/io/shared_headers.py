"""A SEG-Y volume that one rank opened, told to the others: who reads planes need not read the headers of all traces."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.errors import Finding
from subsalt.io.file_layout import FileLayout
from subsalt.io.segy_volume import SegyPlanes
from subsalt.io.volume import OpenVolume
from subsalt.parallel.relay import plain


def tell(volume: OpenVolume) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Return what another rank needs of an open SEG-Y volume: JSON, and the order of its traces.

    The order is empty when the traces stand in the file as they do in the volume.
    """
    planes = volume.planes
    assert isinstance(planes, SegyPlanes)
    sorted_already = np.array_equal(planes.order, np.arange(len(planes.order)))
    told = {
        "grid": asdict(volume.grid),
        "frame": asdict(volume.frame),
        "layout": plain(asdict(planes.layout)),
        "findings": plain([asdict(f) for f in volume.findings]),
        "unit": volume.unit,
        "source": volume.source,
        "traces": 0 if sorted_already else len(planes.order),
    }
    return told, np.empty(0, np.int64) if sorted_already else planes.order


def heard(told: dict[str, Any], order: NDArray[np.int64]) -> OpenVolume:
    """Return the open volume that `tell` described."""
    layout = told["layout"]
    findings = [Finding(**f) for f in layout.pop("findings")]
    lay = FileLayout(**layout | {"revision": tuple(layout["revision"])}, findings=findings)
    grid = Grid(**{k: tuple(v) for k, v in told["grid"].items()})
    rows = order if told["traces"] else np.arange(lay.n_traces, dtype=np.int64)
    return OpenVolume(
        grid,
        Frame(**told["frame"]),
        SegyPlanes(lay, rows, grid.shape),
        told["unit"],
        told["source"],
        [Finding(**f) for f in told["findings"]],
    )
