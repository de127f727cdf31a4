"""How fast is a time migration here: contributions of its sum, and samples of its traces prepared, per second?

A plan asks this for the job's own geometry, velocity and options: some locations in the middle of the image, and some
of the traces that reach them, take a second or two.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import numpy as np

from subsalt import __version__, kernels
from subsalt.acquisition.image_grid import LocationBox
from subsalt.kernels.kirchhoff import Medium, sum_traces
from subsalt.kernels.kirchhoff_arguments import TraceGeometry
from subsalt.machine.load import Watch
from subsalt.machine.shot_rates import start_seconds
from subsalt.methods.kirchhoff.prepare import prepare
from subsalt.methods.kirchhoff.reach import reach
from subsalt.methods.kirchhoff.setup import KirchhoffSetup

#: locations, and traces of a call, that are timed
LOCATIONS, TRACES = 192, 64
#: seconds of a timing, and timings; the fastest counts
SECONDS, REPEATS = 0.3, 3
#: classes that the traces of the timing fall into
CLASSES = 32


def kind(setup: KirchhoffSetup, threads: int) -> dict[str, Any]:
    """Return what a rate holds for, whatever the survey."""
    o = setup.options
    point = setup.grid.positions(LocationBox(0, 1, 0, 1))
    return {
        "amplitude": o.amplitude,
        "antialias": o.antialias,
        "bands": o.bands if o.antialias == "bands" else 1,
        "interpolation": o.interpolation,
        "eta": setup.velocity.at(point, setup.grid.time)[1] is not None,
        "gathers": setup.classes.kind != "image",
        "threads": threads,
    }


def measure(setup: KirchhoffSetup, threads: int) -> dict[str, Any] | None:
    """Return a row for the section ``kirchhoff`` of machine.json; None when no trace reaches the middle of the image.

    Returns
    -------
    dict
        The case; ``contributions_per_s`` of the sum, ``prepared_samples_per_s`` of the preparation,
        ``start_seconds`` of the program.
    """
    box = middle(setup)
    points = setup.grid.positions(box)
    near = reach(setup.table, points, setup.options.aperture)
    near = near[setup.group[near] >= 0]
    if not len(near):
        return None
    rng = np.random.default_rng(4)
    chosen = np.sort(near[rng.integers(0, len(near), TRACES)])
    record, options = setup.table.time, setup.options
    samples = rng.standard_normal((TRACES, record.nt), dtype=np.float32)
    medium = Medium(*setup.velocity.at(points, setup.grid.time))
    count = min(CLASSES, setup.classes.count)
    slot = (setup.group[chosen] % count).astype(np.int32)
    geometry = TraceGeometry(setup.table.src[chosen], setup.table.rcv[chosen], setup.weights[chosen], slot)
    image = np.zeros((len(points), count, setup.nt), np.float32)
    hits = np.zeros((len(points), setup.nt + 1), np.int32)
    fold = np.zeros((len(points), count), np.int32)
    axes, spacing = np.array(setup.grid.axes()), setup.grid.numbered_spacing
    with Watch(threads) as watch:
        prepared = prepare(samples, record, options, threads)
        preparing = _fastest(lambda: prepare(samples, record, options, threads))
        done = 0

        def add() -> None:
            nonlocal done
            done = sum_traces(
                image,
                hits,
                fold,
                points,
                axes,
                medium,
                setup.grid.time,
                prepared,
                geometry,
                options,
                spacing,
                threads,
            )

        add()
        summing = _fastest(add)
    if not done:
        return None
    return {
        **kind(setup, threads),
        "samples": setup.nt,
        "isa": kernels.get("cpu").describe().get("isa"),
        "contributions_per_s": done / summing,
        "prepared_samples_per_s": samples.size / preparing,
        "start_seconds": start_seconds(),
        "noisy": watch.noisy,
        "version": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def middle(setup: KirchhoffSetup) -> LocationBox:
    """Return some locations in the middle of the image."""
    ni, nj = setup.grid.shape
    wide = min(nj, LOCATIONS)
    deep = min(ni, max(1, LOCATIONS // wide))
    i, j = (ni - deep) // 2, (nj - wide) // 2
    return LocationBox(i, i + deep, j, j + wide)


def _fastest(run: Any) -> float:
    """Return the seconds of one call, of the fastest of `REPEATS` timings of about `SECONDS`."""
    begin = time.perf_counter()
    run()
    calls = max(1, int(SECONDS / max(time.perf_counter() - begin, 1e-6)))
    found = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        found.append((time.perf_counter() - begin) / calls)
    return min(found)
