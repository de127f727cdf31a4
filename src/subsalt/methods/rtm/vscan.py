"""Depth scans: reverse time migrations at scaled velocities, the scale of the flattest gathers, and a new velocity."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError
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
from subsalt.methods.rtm.scaled_part import CODE, ScaledPart, name_of, part_of
from subsalt.methods.rtm.source_band import SourceBand
from subsalt.methods.rtm.stored_gathers import PlacedGathers, read_gathers
from subsalt.parallel.comm import world
from subsalt.run.settings import settings_of
from subsalt.run.velocity_scan import ScanRequest, folder_of, left_of, migrate_scales, run_of, scales_of

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

#: places with gathers along a section whose job does not say which, and along the longer side of a volume
PLACES, PLACES_3D = 40, 12


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
        places = {"x_m": plain(self.best.x)}
        if len(self.best.y):
            places["y_m"] = plain(self.best.y)
        return {
            "folder": str(self.folder),
            "by": self.by,
            "part": self.part,
            "scales": list(self.scales),
            "runs": [str(r) for r in self.runs],
            **places,
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
            shape = self.grid.shape
            table["every"] = max(1, shape[0] // PLACES if len(shape) == 2 else max(shape[:2]) // PLACES_3D)
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
        """Refuse parts that are not in the model, and places outside it."""
        _ = self.part
        across = [self.grid.axis(i) for i in range(self.grid.ndim - 1)]
        names = "xy"[: len(across)]
        for place in self.request.places:
            if len(place) != len(across) or not all(
                a[0] <= v <= a[-1] for a, v in zip(across, place, strict=True)
            ):
                text = ",".join(f"{v:g}" for v in place)
                spans = " and ".join(
                    f"from {a[0]:g} to {a[-1]:g} m along {name}"
                    for name, a in zip(names, across, strict=True)
                )
                raise ConfigError(
                    f"--at {text} is no {','.join(names)} of the model, which goes {spans}",
                    f"give one {','.join(names)} in m",
                    "E833",
                )

    def _folder(self, run: Path) -> Path:
        """Return the folder of the scan beside a run directory: every part has one of its own."""
        return folder_of(run, name_of(self.request))

    def left(self, run: Path) -> int:
        """Return how many scales have no image yet, beside a run directory."""
        return left_of(self.scales, self._folder(run))

    def migrate(self, run: Path, migrate: Callable[[Any, Path, str], Any]) -> None:
        """Migrate at every scale, beside a run directory; collective when `migrate` is."""
        self.folder = self._folder(run)
        self.runs = migrate_scales(self.scales, self._scaled, self.folder, migrate)

    def velocity(self, scale: float) -> NDArray[np.float32]:
        """Return the velocity that is migrated with at a scale, on the grid of the model, m/s."""
        return self.part.flooded(self._unsmoothed.vp, scale)

    def _scaled(self, scale: float) -> Job:
        """Return the job of a scale; its velocity lies in the folder of the scan. Collective."""
        path, name = (self.folder / f"vp_{scale:.4g}.rsf").absolute(), ""
        with world().together():
            if world().is_root:
                make_folder(self.folder)
                self._write(path, self.velocity(scale))
                name = self._name_in_job(path, self.folder / run_of(scale))
        return self.job.changed("model", vp={"file": world().bcast(name)})

    def _name_in_job(self, path: Path, run: Path) -> str:
        """Return the name of a velocity as seen from the job file, so that both can be moved together.

        Scans that were begun with absolute names go on with them where they were begun.
        """
        try:
            begun = str(json.loads(settings_of(run)["key"])["job"]["model"]["vp"]["file"])
        except (KeyError, TypeError, ValueError):
            begun = ""
        if begun == str(path):
            return begun
        # through links, ".." leads elsewhere
        return Path(os.path.relpath(path.resolve(), self.given.base.resolve())).as_posix()

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

        gathers = [PlacedGathers(read_gathers(run)) for run in self.runs]
        image = volume.read(self.runs[self._middle] / "image.sgy").values
        scan = DepthScan(
            self.folder,
            self.scanned,
            self.runs,
            self._measured(gathers, image),
            self.request.by,
            self.part.words,
        )
        if np.isfinite(scan.best.scale).any():
            self._volumes(scan)
        publish_text(self.folder / "vscan.json", json.dumps(scan.to_dict(), indent=1, sort_keys=True) + "\n")
        pictures = vscan_view.draw(scan, gathers, image, self.request.places)
        return scan.folder, vscan_view.table(scan), pictures, scan.to_dict()

    @property
    def _middle(self) -> int:
        """The number of the scale nearest to one."""
        return int(np.argmin(np.abs(np.array(self.scales) - 1.0)))

    def _measured(self, gathers: Sequence[PlacedGathers], image: NDArray[np.float32]) -> ScaleMap:
        """Return the best scales of all places."""
        reference = gathers[self._middle]
        axes, places = reference.axes, reference.places
        z = reference.grid.axis(reference.grid.ndim - 1)
        columns = [self._column(place) for place in places]
        base = self._at_columns(self.velocity(1.0), columns, z)
        speeds = [self._at_columns(self.velocity(scale), columns, z) for scale in self.scales]
        windows = windows_for(image, axes.dz)
        band = self._band(self.runs[self._middle])
        scans: list[PlaceScan] = []
        used: list[list[Window]] = []
        for i, column in enumerate(columns):
            own = self._windows(windows, column, z, base[i] / (2.0 * band.middle))
            used.append(own)
            common = Reference(base[i], axes.dz, axes.angles, band)
            each = [at_equal_time(g.of_place(i), v[i], common) for g, v in zip(gathers, speeds, strict=True)]
            if self.request.by == "curvature":
                scans.append(curvature_scales(each[0], axes, own, np.array(self.scanned)))
            else:
                scans.append(scan_place(each, np.array(self.scales), axes, own, self.part.layer))
        depth = np.array([[0.5 * (z[a] + z[b - 1]) for a, b in own] for own in used])
        return self._map(reference, depth, columns, scans)

    def _map(
        self,
        reference: PlacedGathers,
        depth: NDArray[np.float64],
        columns: Sequence[tuple[int, ...]],
        scans: Sequence[PlaceScan],
    ) -> ScaleMap:
        """Return the scans of all places as a map: scales only where the scan tells one."""
        ends = np.array([[p.at_end for p in one.peaks] for one in scans])
        scale = np.array([[p.best for p in one.peaks] for one in scans])
        sigma = np.array([[p.sigma for p in one.peaks] for one in scans])
        inside = np.array(
            [
                [self.part.layer or self._touches(c, float(d)) for d in row]
                for c, row in zip(columns, depth, strict=True)
            ]
        )
        unclear = inside & unclear_of(np.array([one.energy for one in scans]), sigma, self.scanned)
        good = inside & ~ends & ~unclear & np.isfinite(sigma)
        x, y = np.array(reference.places, np.float64).T
        return ScaleMap(
            x,
            depth,
            np.where(good, scale, np.nan),
            np.where(good, sigma, np.inf),
            ends & inside & ~unclear,
            unclear & (ends | np.isfinite(sigma)),
            np.stack([one.semblance for one in scans], axis=1),
            y if reference.grid.ndim == 3 else np.zeros(0),
            reference.lines,
        )

    def _column(self, place: tuple[float, float]) -> tuple[int, ...]:
        """Return the column of the model nearest to a place."""
        return tuple(int(np.argmin(np.abs(self.grid.axis(i) - place[i]))) for i in range(self.grid.ndim - 1))

    def _at_columns(
        self, vp: NDArray[np.float32], columns: Sequence[tuple[int, ...]], z: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """Return the velocity at the depths of the image, column by column."""
        own = self.grid.axis(self.grid.ndim - 1)
        return [np.interp(z, own, vp[column]) for column in columns]

    def _band(self, run: Path) -> SourceBand:
        """Return the band of the source, sampled as a run propagated it."""
        dt = float(read_json(run / "run.json")["dt"])
        return SourceBand.of(self.given.wavelet(dt).samples, dt)

    def _touches(self, column: tuple[int, ...], depth: float) -> bool:
        """Return whether anything above a depth is scaled at a column."""
        above = self.grid.axis(self.grid.ndim - 1) <= depth
        return bool(self.part.inside[column][above].any())

    def _windows(
        self,
        windows: list[Window],
        column: tuple[int, ...],
        z: NDArray[np.float64],
        wavelength: NDArray[np.float64],
    ) -> list[Window]:
        """Return the windows of a column: of a layer the one around its base, two and a half wavelengths at z long.

        The wavelength is that of the source: that of the whole image is shorter by the noise in it.
        """
        if not self.part.layer:
            return windows
        inside = np.flatnonzero(self.part.inside[column])
        depths = self.grid.axis(self.grid.ndim - 1)[inside] if len(inside) else np.array([z[0]])
        base = float(depths[-1])
        half = 0.5 * WAVELENGTHS * float(np.interp(base, z, wavelength))
        # not the top of the layer, which no scale moves
        first = max(base - half, 0.5 * (float(depths[0]) + base)) if len(inside) else z[0]
        a = int(np.clip(np.searchsorted(z, first), 0, len(z) - 2))
        b = int(np.clip(np.searchsorted(z, base + half), a + 2, len(z)))
        return [(a, b)]

    def _volumes(self, scan: DepthScan) -> None:
        """Write the map of scales, and the updated velocity when it is wanted."""
        x, *between, z = (self.grid.axis(i) for i in range(self.grid.ndim))
        scales = np.where(self.part.inside, spread(scan.best, x, z, *between), 1.0)
        path = self.folder / "scale.rsf"
        self._write(path, scales.astype(np.float32))
        scan.files["scale_file"] = str(path)
        if self.request.update:
            path = self.folder / "vp_updated.rsf"
            self._write(path, self.part.scaled(self._unsmoothed.vp, scales))
            scan.files["updated_file"] = str(path)
