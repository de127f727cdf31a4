"""Velocity scans: one migration per scale of the velocity, each a run of its own, and what they say of it.

The best velocity is measured by semblance of the gathers and power of the stack, in windows of time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.io.publish import publish_text
from subsalt.io.volumes.image_traces import ImageTraces, open_image_traces
from subsalt.run.velocity_scan import ScanRequest, folder_of, left_of, migrate_scales, scales_of
from subsalt.view.flatness import FEWEST_LIVE, peak
from subsalt.view.time_sections import indices_at

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.job import KirchhoffJob


#: windows a scan is measured in
WINDOWS = 12
#: a window of less than this share of the power of the strongest one says nothing: amplitudes of field data fall by
#: thousands along a trace
QUIET = 1e-8


@dataclass
class Flatness:
    """Sums over the locations of one image, per sample, so that windows may be chosen later.

    Parameters
    ----------
    time : TimeAxis
        Samples of the image.
    """

    time: TimeAxis
    locations: int = 0
    gathers: int = 0
    summed: NDArray[np.float64] = field(init=False)
    energy: NDArray[np.float64] = field(init=False)
    power: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.summed, self.energy, self.power = (np.zeros(self.time.nt) for _ in range(3))

    def add(self, gather: NDArray | None, stack: NDArray) -> None:
        """Add a location: its gather (n, nt), None without one, and its stack (nt,)."""
        self.locations += 1
        self.power += np.asarray(stack, dtype=np.float64) ** 2
        if gather is None or len(gather) < FEWEST_LIVE:
            return
        self.gathers += 1
        a = np.asarray(gather, dtype=np.float64)
        live = np.count_nonzero(a, axis=0)
        enough = live >= FEWEST_LIVE
        self.summed += np.where(enough, a.sum(axis=0) ** 2, 0.0)
        self.energy += np.where(enough, live * (a**2).sum(axis=0), 0.0)

    def windows(self, count: int = WINDOWS) -> list[tuple[int, int]]:
        """Return windows of equal length as ranges of samples."""
        edges = np.linspace(0, self.time.nt, min(count, self.time.nt) + 1).round().astype(int)
        return [(int(a), int(b)) for a, b in pairwise(edges)]

    def by_window(self, windows: list[tuple[int, int]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean power of the stack and semblance in each window; semblance is NaN where nothing is."""
        power = np.array([self.power[a:b].mean() for a, b in windows]) / max(self.locations, 1)
        top = np.array([self.summed[a:b].sum() for a, b in windows])
        bottom = np.array([self.energy[a:b].sum() for a, b in windows])
        return power, np.divide(top, bottom, out=np.full(len(windows), np.nan), where=bottom > 0)


def best_scales(
    scales: NDArray[np.float64], power: NDArray[np.float64], semblance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the best scale of every window, and where it lies at an end of the scan.

    Parameters
    ----------
    scales : ndarray, (ns,)
        Ascending.
    power, semblance : ndarray, (ns, nw)
        Results of `Flatness.by_window` for each scale.

    Returns
    -------
    best : ndarray, (nw,)
        Where the parabola through the best scale and its neighbours peaks: of semblance, of power without gathers; NaN
        where a window is quiet.
    at_end : ndarray of bool, (nw,)
        The best is the first or the last scale: a wider scan is needed.
    """
    loud = power.max(axis=0) > QUIET * power.max(initial=0.0)
    # semblance near the top is of few traces: one scale without any there counts as the least
    measured = semblance if np.isfinite(semblance).any() else power
    best, at_end = np.full(power.shape[1], np.nan), np.zeros(power.shape[1], bool)
    for k in np.flatnonzero(loud):
        column = np.nan_to_num(measured[:, k], nan=-np.inf)
        if np.isfinite(column).all():
            best[k] = peak(scales, column)
            at_end[k] = np.argmax(column) in (0, len(scales) - 1)
    return best, at_end


#: locations that are measured, evenly over the image
MEASURED = 200


def scaled(job: Any, scale: float) -> Any:
    """Return the job with its velocity times `scale`, and no other change of the image.

    Pictures are left out: those of the scan show all scales.
    """
    return job.changed("velocity", scale=job.velocity.scale * scale).changed("output", pictures=False)


@dataclass
class Scanned:
    """One migration of a scan."""

    scale: float
    run: Path
    image: ImageTraces
    gathers: ImageTraces | None


@dataclass
class VelocityScan:
    """Result of a velocity scan.

    Parameters
    ----------
    folder : Path
        Where its runs lie, with ``vscan.json``.
    runs : list of Scanned
        By ascending scale.
    time : TimeAxis
        Samples of the images.
    windows : list of tuple of float
        First and last time of each window, s.
    power, semblance : ndarray, (ns, nw)
        Mean power of the stack, and semblance of the gathers (NaN without any).
    best : ndarray, (nw,)
        Best scale of each window; NaN where nothing is.
    at_end : ndarray of bool, (nw,)
        It lies at an end of the scan.
    """

    folder: Path
    runs: list[Scanned]
    time: TimeAxis
    windows: list[tuple[float, float]]
    power: NDArray[np.float64]
    semblance: NDArray[np.float64]
    best: NDArray[np.float64]
    at_end: NDArray[np.bool_]

    @property
    def scales(self) -> NDArray[np.float64]:
        """The scales, ascending."""
        return np.array([r.scale for r in self.runs])

    @property
    def by_gathers(self) -> bool:
        """Whether semblance says which scale is best; the power of the stack otherwise."""
        return bool(np.isfinite(self.semblance).any())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``--json`` and ``vscan.json``; NaN as None."""

        def plain(values: NDArray[np.float64]) -> list[Any]:
            return [[None if np.isnan(v) else float(v) for v in row] for row in np.atleast_2d(values)]

        return {
            "folder": str(self.folder),
            "scales": [float(s) for s in self.scales],
            "runs": [str(r.run) for r in self.runs],
            "windows_s": [list(w) for w in self.windows],
            "stack_power": plain(self.power),
            "semblance": plain(self.semblance),
            "measure": "semblance" if self.by_gathers else "stack power",
            "best_scale": plain(self.best)[0],
            "best_at_an_end": [bool(v) for v in self.at_end],
        }


def measure(folder: Path, scales: Sequence[float], runs: Sequence[Path]) -> VelocityScan:
    """Measure finished runs of a scan, and write ``vscan.json``.

    Notes
    -----
    At most `MEASURED` locations are looked at, evenly over the image. Semblance of a window is the energy of the sums
    of gathers over the energy of their traces, both summed over window and locations.
    """
    scanned = [_opened(s, r) for s, r in zip(scales, runs, strict=True)]
    time = scanned[0].image.time
    sums = []
    for one in scanned:
        total = Flatness(time)
        places = one.image.locations
        # locations of several scales are the same: the grid does not depend on the velocity
        for inline, crossline in places[:: max(1, -(-len(places) // MEASURED))]:
            gather = None if one.gathers is None else one.gathers.gather(inline, crossline)[1]
            stack = one.image.gather(inline, crossline)[1]
            total.add(gather, stack[0])
        sums.append(total)
    windows = sums[0].windows()
    measured = [s.by_window(windows) for s in sums]
    power, semblance = (np.stack([m[k] for m in measured]) for k in (0, 1))
    best, at_end = best_scales(np.asarray(scales, dtype=np.float64), power, semblance)
    t = time.values()
    spans = [(float(t[a]), float(t[b - 1])) for a, b in windows]
    scan = VelocityScan(folder, scanned, time, spans, power, semblance, best, at_end)
    publish_text(folder / "vscan.json", json.dumps(scan.to_dict(), indent=1, sort_keys=True) + "\n")
    return scan


def _opened(scale: float, run: Path) -> Scanned:
    """Open image and gathers of a run."""
    gathers = run / "gathers.sgy"
    opened = open_image_traces(gathers) if gathers.is_file() else None
    return Scanned(float(scale), run, open_image_traces(run / "image.sgy"), opened)


class VelocityScanner:
    """A scan of the velocity of a job; see `subsalt.methods.Method.velocity_scanner`.

    Raises
    ------
    ConfigError
        When its scales cannot be read, or an option is one of depth scans.
    """

    def __init__(self, job: KirchhoffJob, request: ScanRequest) -> None:
        if request.of_depth:
            raise ConfigError(
                f"{', '.join(request.of_depth)}: {job.name} is a time migration, whose scan has no such option",
                "leave it out: the velocity of a time migration is scaled as a whole",
                "E834",
            )
        self.job, self.places, self.scales = job, request.places, scales_of(request.scales)
        self.runs: list[Path] = []
        self.folder = Path()

    def check_places(self) -> None:
        """Refuse places outside the image."""
        grid = self.job.image_grid(self.job.open_table())
        for place in self.places:
            indices_at(grid, place)

    def left(self, run: Path) -> int:
        """Return how many scales have no image yet, beside a run directory."""
        return left_of(self.scales, folder_of(run))

    def migrate(self, run: Path, migrate: Callable[[Any, Path, str], Any]) -> None:
        """Migrate at every scale, beside a run directory; collective when `migrate` is."""
        self.folder = folder_of(run)
        self.runs = migrate_scales(self.scales, lambda scale: scaled(self.job, scale), self.folder, migrate)

    def measure(self) -> tuple[Path, list[str], list[Path], dict[str, Any]]:
        """Return the folder of the scan, the lines of its table, its pictures, and what it says as plain values."""
        from subsalt.methods.kirchhoff import vscan_view

        scan = measure(self.folder, self.scales, self.runs)
        pictures = vscan_view.draw(scan, self.places, self.job.title or self.job.name)
        return scan.folder, vscan_view.table(scan), pictures, scan.to_dict()
