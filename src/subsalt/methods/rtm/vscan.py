"""Depth scans: reverse time migrations at scaled velocities, the scale of the flattest gathers, and a new velocity."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError, ModelError
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.regular_files import read_json
from subsalt.io.volumes import volume
from subsalt.methods.rtm.depth_scan import (
    PlaceScan,
    Reference,
    ScaleMap,
    at_equal_time,
    curvature_scales,
    scan_place,
    spread,
    unclear_of,
)
from subsalt.methods.rtm.earth_model import load_model, model_frame
from subsalt.methods.rtm.flatness import WAVELENGTHS, Window, windows_for
from subsalt.methods.rtm.source_band import SourceBand
from subsalt.methods.rtm.stored_gathers import StoredGathers, read_gathers
from subsalt.parallel.comm import world
from subsalt.run.velocity_scan import ScanRequest, folder_of, left_of, migrate_scales, scales_of

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

#: places with gathers along a line whose job does not say which
PLACES = 40
CODE = "E834"


@dataclass(frozen=True)
class ScaledPart:
    """The part of a section whose velocity is scaled.

    Parameters
    ----------
    inside : ndarray of bool, (nx, nz)
        The part.
    words : str
        Its name for people.
    layer : bool
        It is a layer: what lies at its base and just below tells its scale.
    """

    inside: NDArray[np.bool_]
    words: str
    layer: bool = False

    def scaled(self, vp: NDArray[np.floating], scale: NDArray[np.float64] | float) -> NDArray[np.float32]:
        """Return a velocity times `scale` inside, as it is elsewhere."""
        return np.where(self.inside, vp * scale, vp).astype(np.float32)

    def flooded(self, vp: NDArray[np.floating], scale: float) -> NDArray[np.float32]:
        """Return the velocity in which a scale is judged: that of a layer goes on below its base.

        Notes
        -----
        A contrast in the model scatters waves back onto their own way. Their correlation is smooth above the contrast
        and ends there; the Laplacian makes an event of that end, 90 degrees out of phase, at the depth of the model's
        contrast at every angle and every scale. On the image of the base it would pull towards the scale that is given.
        """
        values = self.scaled(vp, scale)
        if not self.layer:
            return values
        nz = self.inside.shape[1]
        base = nz - 1 - np.argmax(self.inside[:, ::-1], axis=1)
        below = self.inside.any(axis=1, keepdims=True) & (np.arange(nz) > base[:, None])
        return np.where(below, np.take_along_axis(values, base[:, None], axis=1), values)


def part_of(request: ScanRequest, grid: Grid) -> ScaledPart:
    """Return the part of a section that a request scales.

    Raises
    ------
    ConfigError
        E834: both a horizon and a mask are given, or the horizon does not lie in the model.
    ModelError
        E834: the mask has another grid, or is zero throughout.
    """
    if request.below is not None and request.mask is not None:
        raise ConfigError(
            "--below and --mask: one part of the model is scaled", "leave one of them out", CODE
        )
    if request.below is not None:
        depth = _horizon(request.below, grid)
        return ScaledPart(grid.axis(1)[None] >= depth[:, None], f"below {request.below}")
    if request.mask is not None:
        opened = volume.read(request.mask)
        if opened.grid != grid:
            raise ModelError(
                f"{request.mask} has {opened.grid.shape} points every {opened.grid.spacing} m from "
                f"{opened.grid.origin}; the model has {grid.shape} every {grid.spacing} m from {grid.origin}",
                "give a mask on the grid of the model",
                CODE,
            )
        inside = np.asarray(opened.values) != 0
        if not inside.any():
            raise ModelError(
                f"{request.mask} is zero throughout: nothing would be scaled", "mark the layer by ones", CODE
            )
        return ScaledPart(inside, f"inside {request.mask.name}", layer=True)
    return ScaledPart(np.ones(grid.shape, bool), "everywhere")


def _horizon(text: str, grid: Grid) -> NDArray[np.float64]:
    """Return the depth of a horizon at every column: one number, or a text file of x and depth."""
    x, z = grid.axis(0), grid.axis(1)
    try:
        depth = np.full(len(x), float(text))
    except ValueError:
        try:
            table = np.atleast_2d(np.loadtxt(text, dtype=np.float64))
            order = np.argsort(table[:, 0])
            depth = np.interp(x, table[order, 0], table[order, 1])
        except (OSError, ValueError, IndexError) as error:
            raise ConfigError(
                f"--below {text}: neither a depth nor a readable table of x and depth ({error})",
                "give a depth in m, or a text file with x and depth (m) in its first two columns",
                CODE,
            ) from None
    outside = ~((depth > z[0]) & (depth < z[-1]))
    if outside.any():
        i = int(np.argmax(outside))
        raise ConfigError(
            f"--below {text}: at x = {x[i]:g} m the horizon lies at {depth[i]:g} m, the model goes from {z[0]:g} to "
            f"{z[-1]:g} m",
            "give a horizon inside the model, with depths in m below its datum",
            CODE,
        )
    return depth


@dataclass
class DepthScan:
    """Result of a depth scan.

    Parameters
    ----------
    folder : Path
        Where its runs and volumes lie.
    scales : tuple of float
        Factors, ascending.
    runs : list of Path
        Runs, by scale; of one scale where the moveout was inverted.
    best : ScaleMap
        Best scales.
    by : str
        ``"scan"`` or ``"curvature"``.
    part : str
        The part that was scaled, in words.
    files : dict of str to str
        Volumes that were written.
    """

    folder: Path
    scales: tuple[float, ...]
    runs: list[Path]
    best: ScaleMap
    by: str
    part: str
    files: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``--json`` and ``vscan.json``; what is not finite as None."""

        def plain(values: NDArray[Any]) -> Any:
            return [
                plain(v) if isinstance(v, np.ndarray) and v.ndim else float(v) if np.isfinite(v) else None
                for v in values
            ]

        median, spread_of = self.best.median()
        return {
            "folder": str(self.folder),
            "by": self.by,
            "part": self.part,
            "scales": list(self.scales),
            "runs": [str(r) for r in self.runs],
            "x_m": plain(self.best.x),
            "depth_m": plain(self.best.depth),
            "best_scale": plain(self.best.scale),
            "sigma": plain(self.best.sigma),
            "best_at_an_end": self.best.at_end.tolist(),
            "unclear": self.best.unclear.tolist(),
            "semblance": plain(self.best.semblance),
            "median_scale": median if np.isfinite(median) else None,
            "median_sigma": spread_of if np.isfinite(spread_of) else None,
            **self.files,
        }


class DepthScanner:
    """A scan of the velocity of a depth image; see `subsalt.methods.Method.velocity_scanner`.

    Raises
    ------
    ConfigError
        E834: its scales cannot be read, or its options do not go together.
    """

    def __init__(self, job: Job, request: ScanRequest) -> None:
        self.given, self.request, self.scanned = job, request, scales_of(request.scales)
        if request.by == "curvature" and (request.below is not None or request.mask is not None):
            raise ConfigError(
                "--by curvature with --below or --mask: the moveout of one image tells the error of the whole "
                "overburden, not of a part",
                "leave --by curvature out, or scale everything",
                CODE,
            )
        self.runs: list[Path] = []
        self.folder = Path()

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales at which is migrated."""
        return (1.0,) if self.request.by == "curvature" else self.scanned

    @cached_property
    def job(self) -> Job:
        """The job with angle gathers and without pictures; its velocity as it is."""
        wanted = self.given.imaging.gathers
        table = {} if wanted is None else wanted.model_dump(mode="json", exclude_unset=True)
        if wanted is None:
            table["every"] = max(1, self.grid.shape[0] // PLACES)
        job = self.given.changed("imaging", gathers=table | {"kind": "angle"})
        return job.changed("output", pictures=False)

    @cached_property
    def _unsmoothed(self) -> Any:
        """The model as the files give it, on the grid of the job."""
        return load_model(self.given.changed("model", smoothing=0.0, tilt_smoothing=0.0))

    @property
    def grid(self) -> Grid:
        """Grid of the model."""
        grid: Grid = self._unsmoothed.grid
        return grid

    @cached_property
    def part(self) -> ScaledPart:
        """The part of the model that is scaled."""
        return part_of(self.request, self.grid)

    def check_places(self) -> None:
        """Refuse 3-D models, parts that are not in the model, and places outside it."""
        if self.grid.ndim != 2:
            raise ConfigError(
                f"{self.given.name} is 3-D: depth scans need angle gathers, which are made in 2-D",
                "scan a 2-D line of the survey",
                CODE,
            )
        _ = self.part
        x = self.grid.axis(0)
        for place in self.request.places:
            if len(place) != 1 or not x[0] <= place[0] <= x[-1]:
                text = ",".join(f"{v:g}" for v in place)
                raise ConfigError(
                    f"--at {text} is no x of the model, which goes from {x[0]:g} to {x[-1]:g} m",
                    "give one x in m",
                    "E833",
                )

    def left(self, run: Path) -> int:
        """Return how many scales have no image yet, beside a run directory."""
        return left_of(self.scales, folder_of(run))

    def migrate(self, run: Path, migrate: Callable[[Any, Path, str], Any]) -> None:
        """Migrate at every scale, beside a run directory; collective when `migrate` is."""
        self.folder = folder_of(run)
        self.runs = migrate_scales(self.scales, self._scaled, self.folder, migrate)

    def velocity(self, scale: float) -> NDArray[np.float32]:
        """Return the velocity that is migrated with at a scale, on the grid of the model, m/s."""
        return self.part.flooded(self._unsmoothed.vp, scale)

    def _scaled(self, scale: float) -> Job:
        """Return the job of a scale; its velocity lies in the folder of the scan. Collective."""
        path = (self.folder / f"vp_{scale:.4g}.rsf").absolute()
        with world().together():
            if world().is_root:
                make_folder(self.folder)
                self._write(path, self.velocity(scale))
        return self.job.changed("model", vp={"file": str(path)})

    def _write(self, path: Path, values: NDArray[np.float32]) -> None:
        """Write a volume on the model's grid, unless the same one is there: runs would hash a new file again."""
        if path.is_file():
            there = volume.read(path)
            if there.grid == self.grid and np.array_equal(there.values, values):
                return
        volume.write(path, self.grid, values, model_frame(self.given), name="values")

    def measure(self) -> tuple[Path, list[str], list[Path], dict[str, Any]]:
        """Return the folder of the scan, the lines of its table, its pictures, and its result as plain values."""
        from subsalt.methods.rtm import vscan_view

        stored = [read_gathers(run)[0] for run in self.runs]
        scan = DepthScan(
            self.folder, self.scanned, self.runs, self._measured(stored), self.request.by, self.part.words
        )
        if np.isfinite(scan.best.scale).any():
            self._volumes(scan)
        publish_text(self.folder / "vscan.json", json.dumps(scan.to_dict(), indent=1, sort_keys=True) + "\n")
        middle = int(np.argmin(np.abs(np.array(self.scales) - 1.0)))
        pictures = vscan_view.draw(
            scan, stored, volume.read(self.runs[middle] / "image.sgy").values, self.request.places
        )
        return scan.folder, vscan_view.table(scan), pictures, scan.to_dict()

    def _measured(self, stored: Sequence[StoredGathers]) -> ScaleMap:
        """Return the best scales of all places."""
        middle = int(np.argmin(np.abs(np.array(self.scales) - 1.0)))
        reference = stored[middle]
        dz, n = reference.grid.spacing3[2], len(reference.x)
        image = volume.read(self.runs[middle] / "image.sgy").values
        z = reference.grid.axis(1)
        # velocities at the depths of the image, column by column
        columns = [int(np.argmin(np.abs(self.grid.axis(0) - x))) for x in reference.x]
        speeds = [
            [np.interp(z, self.grid.axis(1), v[c]) for c in columns]
            for v in (self.velocity(scale) for scale in self.scales)
        ]
        base = [np.interp(z, self.grid.axis(1), self.velocity(1.0)[c]) for c in columns]
        windows = windows_for(image, dz)
        band = self._band(self.runs[middle])
        peaks: list[PlaceScan] = []
        used: list[list[Window]] = []
        for i in range(n):
            own = self._windows(windows, columns[i], z, base[i] / (2.0 * band.middle))
            used.append(own)
            common = Reference(base[i], dz, reference.axes.angles, band)
            each = [at_equal_time(s.values[i, 0], v[i], common) for s, v in zip(stored, speeds, strict=True)]
            if self.request.by == "curvature":
                peaks.append(curvature_scales(each[0], reference.axes, own, np.array(self.scanned)))
            else:
                peaks.append(scan_place(each, np.array(self.scales), own, self.part.layer))
        depth = np.array([[0.5 * (z[a] + z[b - 1]) for a, b in own] for own in used])
        ends = np.array([[p.at_end for p in one.peaks] for one in peaks])
        scale = np.array([[p.best for p in one.peaks] for one in peaks])
        sigma = np.array([[p.sigma for p in one.peaks] for one in peaks])
        inside = np.array(
            [
                [self.part.layer or self._touches(c, float(d)) for d in row]
                for c, row in zip(columns, depth, strict=True)
            ]
        )
        unclear = inside & unclear_of(np.array([one.energy for one in peaks]), sigma, self.scanned)
        good = inside & ~ends & ~unclear & np.isfinite(sigma)
        return ScaleMap(
            reference.x,
            depth,
            np.where(good, scale, np.nan),
            np.where(good, sigma, np.inf),
            ends & inside & ~unclear,
            unclear & (ends | np.isfinite(sigma)),
            np.stack([one.semblance for one in peaks], axis=1),
        )

    def _band(self, run: Path) -> SourceBand:
        """Return the band of the source, sampled as a run propagated it."""
        dt = float(read_json(run / "run.json")["dt"])
        return SourceBand.of(self.given.wavelet(dt).samples, dt)

    def _touches(self, column: int, depth: float) -> bool:
        """Return whether anything above a depth is scaled at a column."""
        above = self.grid.axis(1) <= depth
        return bool(self.part.inside[column, above].any())

    def _windows(
        self, windows: list[Window], column: int, z: NDArray[np.float64], wavelength: NDArray[np.float64]
    ) -> list[Window]:
        """Return the windows of a column: of a layer the one around its base, two and a half wavelengths at z long.

        The wavelength is that of the source: that of the whole image is shorter by the noise in it.
        """
        if not self.part.layer:
            return windows
        inside = np.flatnonzero(self.part.inside[column])
        depths = self.grid.axis(1)[inside] if len(inside) else np.array([z[0]])
        base = float(depths[-1])
        half = 0.5 * WAVELENGTHS * float(np.interp(base, z, wavelength))
        # not the top of the layer, which no scale moves
        first = max(base - half, 0.5 * (float(depths[0]) + base)) if len(inside) else z[0]
        a = int(np.clip(np.searchsorted(z, first), 0, len(z) - 2))
        b = int(np.clip(np.searchsorted(z, base + half), a + 2, len(z)))
        return [(a, b)]

    def _volumes(self, scan: DepthScan) -> None:
        """Write the map of scales, and the updated velocity when it is wanted."""
        x, z = self.grid.axis(0), self.grid.axis(1)
        scales = np.where(self.part.inside, spread(scan.best, x, z), 1.0)
        path = self.folder / "scale.rsf"
        self._write(path, scales.astype(np.float32))
        scan.files["scale_file"] = str(path)
        if self.request.update:
            path = self.folder / "vp_updated.rsf"
            self._write(path, self.part.scaled(self._unsmoothed.vp, scales))
            scan.files["updated_file"] = str(path)
