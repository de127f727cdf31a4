"""Velocity scans: one migration per scale of the velocity, each a run of its own, and what they say of it.

The best velocity is measured by semblance of the gathers and power of the stack, in windows of time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.io import own
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.volumes.image_traces import ImageTraces, open_image_traces
from subsalt.view.flatness import FEWEST_LIVE, peak
from subsalt.view.time_sections import indices_at

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
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


#: scales of a scan: more are a mistake in its step
MOST_SCALES = 41
#: scales outside have no meaning for a velocity
LEAST, MOST = 0.2, 5.0
#: locations that are measured, evenly over the image
MEASURED = 200


def scales_of(text: str) -> tuple[float, ...]:
    """Return the scales of a text such as ``0.9:1.1:0.05``: first, last and step.

    Raises
    ------
    ConfigError
        For anything else, and for ranges that are no scan.
    """
    cure = "write FIRST:LAST:STEP around 1, such as 0.9:1.1:0.05"
    try:
        first, last, step = (float(part) for part in text.split(":"))
    except ValueError:
        raise ConfigError(f"scales {text!r} are not three numbers", cure, "E834") from None
    if not all(math.isfinite(v) for v in (first, last, step)):
        raise ConfigError(f"scales {text!r} have a number that is not finite", cure, "E834")
    if step <= 0 or last <= first:
        what = "the step is not above 0" if step <= 0 else "the last one is not above the first"
        raise ConfigError(f"scales {text!r}: {what}", cure, "E834")
    if first < LEAST or last > MOST:
        raise ConfigError(
            f"scales {text!r}: scales are factors on the velocity, from {LEAST:g} to {MOST:g}",
            f"{cure}; percent and m/s are not understood",
            "E834",
        )
    count = math.floor((last - first) / step + 1e-6) + 1
    if not 2 <= count <= MOST_SCALES:
        raise ConfigError(
            f"scales {text!r} make {count} migration{'s' * (count != 1)}; a scan has 2 to {MOST_SCALES}",
            "choose another step",
            "E834",
        )
    # twelve digits: 0.9 + 2 * 0.05 is 1 and its folder is called so
    return tuple(round(first + k * step, 12) for k in range(count))


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


def folder_of(run: Path) -> Path:
    """Return the folder of the scan of a run: ``NAME.vscan`` beside ``NAME.run``."""
    return run.with_name(f"{run.name.removesuffix('.run')}.vscan")


def migrate_scales(
    job: BaseJob,
    scales: Sequence[float],
    folder: Path,
    migrate: Callable[[Any, Path, str], Any],
) -> list[Path]:
    """Migrate at every scale, each into a run directory of its own; collective when `migrate` is.

    Parameters
    ----------
    job : BaseJob
        Job that is migrated, with `[velocity]`.
    scales : sequence of float
        Factors on its velocity.
    folder : Path
        For the run directories; what is finished in it is not made again.
    migrate : callable
        Called with the job of a scale, its run directory, and a word on it.
    """
    make_folder(folder)
    own.refuse_links(folder, ("scale_*.run", "vscan.json"), outermost=("*",))
    own.claim(folder, [_run_of(scale) for scale in scales])
    runs = []
    for n, scale in enumerate(scales):
        run = folder / _run_of(scale)
        migrate(scaled(job, scale), run, f"scale {scale:g}, {n + 1} of {len(scales)}")
        runs.append(run)
    return runs


def _run_of(scale: float) -> str:
    """Return the name of the run directory of a scale."""
    return f"scale_{scale:.4g}.run"


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
        When its scales cannot be read.
    """

    def __init__(self, job: KirchhoffJob, scan: str, places: Sequence[Sequence[float]]) -> None:
        self.job, self.places, self.scales = job, places, scales_of(scan)
        self.runs: list[Path] = []
        self.folder = Path()

    def check_places(self) -> None:
        """Refuse places outside the image."""
        grid = self.job.image_grid(self.job.open_table())
        for place in self.places:
            indices_at(grid, place)

    def migrate(self, run: Path, migrate: Callable[[Any, Path, str], Any]) -> None:
        """Migrate at every scale, beside a run directory; collective when `migrate` is."""
        self.folder = folder_of(run)
        self.runs = migrate_scales(self.job, self.scales, self.folder, migrate)

    def measure(self) -> tuple[Path, list[str], list[Path], dict[str, Any]]:
        """Return the folder of the scan, the lines of its table, its pictures, and what it says as plain values."""
        from subsalt.methods.kirchhoff import vscan_view

        scan = measure(self.folder, self.scales, self.runs)
        pictures = vscan_view.draw(scan, self.places, self.job.title or self.job.name)
        return scan.folder, vscan_view.table(scan), pictures, scan.to_dict()
