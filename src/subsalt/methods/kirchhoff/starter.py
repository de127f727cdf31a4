"""`subsalt init --method kirchhoff`: a commented job of time migration, filled with what the trace files say."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.turned import ALONG, direction_of_steps
from subsalt.earth.grid import Frame
from subsalt.errors import Finding, SubsaltError
from subsalt.io.objects import as_path
from subsalt.io.segy.headers import HeaderBytes
from subsalt.job import text as toml_out
from subsalt.job import units
from subsalt.job.starter import (
    InitResult,
    add_header_items,
    expand,
    findings_of,
    heading_of,
    positions_of,
    refuse_existing,
    relative,
    round_down,
    trace_file_items,
)

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable

#: bins of a survey whose headers have no line numbers, m
BIN = 25.0
#: traces whose receivers say how the lines of a survey run
STEPS = 100_000
#: offset classes that are proposed for gathers
CLASSES = 30
#: nominal offsets up to which gathers have a trace for each
MOST_OFFSETS = 240

#: further keys below the filled-in tables: every line works when its # is removed
OPTIONS = """\
# Further keys of [kirchhoff], each with its default (subsalt explain kirchhoff.KEY tells more,
# subsalt explain kirchhoff has all keys):
# amplitude = "auto"              # "3d", "2.5d", "none": amplitude and phase correction
# dip = "all"                     # largest dip, degrees
# antialias = "bands"             # "triangle", "none"
# bands = 10                      # number of alias bands
# stretch_mute = 0.3              # largest stretch: 0.3 or "30 %"; "off"
# interpolation = "sinc"          # "linear" is faster
# traveltime = "straight"         # "curved": rays bend in the layers of the velocity
# trace_block = "auto"            # traces at a time
# memory = "auto"                 # per rank, such as "1 GB"
# [parallel]
# threads = "auto"
# [output]
# formats = ["segy"]              # also rsf, npz
"""


def write_time_job(
    path: Path,
    files: Sequence[str],
    *,
    vrms: str | None = None,
    cdp_spacing: str | None = None,
    geometry: Sequence[str] = (),
    preset: str = "rev1",
    force: bool = False,
) -> InitResult:
    """Write a job of Kirchhoff time migration from what the trace files say.

    Parameters
    ----------
    path : Path
        Job file to write.
    files : sequence of str
        Trace files or patterns, as seen from the working directory.
    vrms : str, optional
        Rms velocity: a file, a number or a quantity; without it one that grows with time is guessed.
    cdp_spacing : str, optional
        Distance of CDPs of a 2-D line whose traces have no coordinates, m.
    geometry : sequence of str
        Files of positions (SPS, P1/90, P1/11) or patterns, for traces whose headers have none.
    preset : str
        Header layout.
    force : bool
        Replace an existing file.

    Raises
    ------
    CannotCreateError
        When the file exists and `force` is not given.
    """
    from subsalt.io.publish import publish_text
    from subsalt.methods.kirchhoff.job import KirchhoffJob

    refuse_existing(path, force)
    spacing = None if cdp_spacing is None else units.parse(cdp_spacing, "length")
    survey = _Survey(expand(files), preset, spacing, geometry)
    parts = [
        heading_of(path, {"title": path.stem, "method": "kirchhoff"}),
        _data(files, path.parent, preset, spacing, survey, geometry),
        _velocity(vrms, path.parent, survey),
        _kirchhoff(survey),
        OPTIONS,
    ]
    text = "\n".join(p for p in parts if p)
    KirchhoffJob.from_dict(tomllib.loads(text), path.parent)
    publish_text(path, text)
    return InitResult(path, text, survey.findings, survey.read, survey.made_up)


class _Survey:
    """Survey as the files describe it; a part that cannot be read keeps its default, with a finding."""

    def __init__(
        self, paths: list[Path], preset: str, cdp_spacing: float | None, positions: Sequence[str]
    ) -> None:
        from subsalt.io.prestack.positions import LineGeometry
        from subsalt.io.prestack.table import open_traces
        from subsalt.methods.kirchhoff.image_grid import is_line

        self.findings: list[Finding] = []
        self.read: list[str] = []
        self.made_up: list[str] = []
        self.table: TraceTable | None = None
        self.line = False
        header = HeaderBytes.preset(preset)
        try:
            if cdp_spacing is None:
                table = open_traces(paths, header, geometry=positions_of(positions))
            else:
                # where the first CDP lies decides nothing about distances
                table = open_traces(paths, header, line=LineGeometry(cdp_spacing, 0))
            self.table = table
            self.findings += table.findings
            self.line = is_line(table)
        except SubsaltError as error:
            self.findings += findings_of(error)

    @property
    def record(self) -> float:
        """Length of the records, s."""
        return 4.0 if self.table is None else float(self.table.time.duration)

    def grid(self) -> tuple[ImageGrid | None, str]:
        """Return the grid that the traces have themselves and where it is from, None when they do not say it."""
        from subsalt.methods.kirchhoff.image_grid import image_grid, place
        from subsalt.methods.kirchhoff.sections import KirchhoffSection

        if self.table is None:
            return None, ""
        try:
            return image_grid(KirchhoffSection(), self.table), place(KirchhoffSection(), self.table)[0].how
        except SubsaltError:
            return None, ""


def _data(
    files: Sequence[str],
    folder: Path,
    preset: str,
    spacing: float | None,
    survey: _Survey,
    geometry: Sequence[str],
) -> str:
    items = trace_file_items(files, folder)
    comments: dict[str, str] = {}
    if survey.table is not None:
        t = survey.table.time
        comments["files"] = f"{len(survey.table)} traces, {t.nt} samples of {t.dt * 1e3:g} ms"
        survey.read.append(comments["files"])
    add_header_items(items, comments, preset, geometry, folder)
    if spacing is not None and survey.table is not None:
        items["cdp_line"] = {"spacing": spacing, "first_cdp": int(survey.table.cdp.min())}
        comments["cdp_line"] = "positions from CDP numbers and offsets"
    return toml_out.table("data", items, comments)


def _velocity(vrms: str | None, folder: Path, survey: _Survey) -> str:
    if vrms is None:
        end = math.ceil(survey.record)
        guess = {"t": [0.0, float(end)], "value": [1500.0, 1500.0 + 400.0 * end]}
        survey.made_up.append("v")
        return toml_out.table(
            "velocity", {"v": guess}, {"v": 'rms, a guess: put yours here, or file = "vrms.txt"'}
        )
    if units.split_quantity(vrms) is not None and not as_path(vrms).exists():
        return toml_out.table("velocity", {"v": units.parse(vrms, "velocity")}, {"v": "rms, m/s"})
    items = {"file": relative(vrms, folder)}
    return toml_out.table("velocity", items, {"file": 'rms velocity in two-way time; see kind = "rms"'})


def _kirchhoff(survey: _Survey) -> str:
    """Return the table with output grid, times and a sensible aperture."""
    items: dict[str, object] = {}
    comments: dict[str, str] = {}
    table, (grid, how) = survey.table, survey.grid()
    if grid is not None:
        for name, lines in (("inline", grid.inlines), ("crossline", grid.crosslines)):
            if name == "crossline" or not survey.line:
                items[name] = dict(zip(("first", "last", "step"), lines, strict=True))
        (i0, i1, _), (j0, j1, _) = grid.inlines, grid.crosslines
        points = [(i0, j0), (i0, j1)] if survey.line else [(i0, j0), (i0, j1), (i1, j0)]
        corners = dict(
            zip([(i0, j0), (i1, j0), (i1, j1), (i0, j1)], grid.corners().round(2).tolist(), strict=True)
        )
        if table is not None and table.line is None:
            items["corners"] = [[*p, *corners[p]] for p in points]
            comments["corners"] = f"[inline, crossline, x, y], from {how}"
            survey.read.append("lines and corners")
    elif table is not None:
        items |= _guessed_grid(table)
        comments["origin"] = "a guess, the headers have no line numbers: put the bins of your survey here"
        comments["corners"] = "the straight line nearest to a crooked one: put the bins of your line here"
        survey.made_up.append(f"lines, origin, azimuth, spacing {BIN:g} m")
    if table is not None:
        t = table.time
        items["time"] = {"first": 0.0, "last": round(t.duration, 6), "step": round(t.dt, 9)}
        size = float(np.hypot(*np.ptp(table.midpoint, axis=0)))
        wide = round_down(max(200.0, min(0.5 * size, 600.0 * t.duration)))
        items["aperture"] = wide
        survey.read.append("time")
        survey.made_up.append(f"aperture {wide:g} m")
        comments["aperture"] = (
            "metres from output location to midpoint; larger images steeper dips, and takes longer"
        )
        items |= _classes(table)
        comments["gathers"] = 'image gathers; "image" makes one image alone'
    return toml_out.table("kirchhoff", items, comments)


def _guessed_grid(table: TraceTable) -> dict[str, Any]:
    """Return bins along the lines of receivers, or along the map axes where there are none, that hold all midpoints."""
    from subsalt.methods.kirchhoff.image_grid import along_line, bent_line

    if (fit := bent_line(table)) is not None:
        return {"corners": along_line(fit, BIN)}
    same = (np.diff(table.src[:STEPS], axis=0) == 0).all(axis=1)
    degrees = direction_of_steps(np.diff(table.rcv[:STEPS], axis=0)[same]) or 0.0
    degrees = degrees if abs(degrees) >= ALONG else 0.0
    along = Frame(0.0, 0.0, math.radians(degrees))
    midpoint = along.to_local(np.column_stack([table.midpoint, np.zeros(len(table.midpoint))]))[:, :2]
    low, high = midpoint.min(axis=0), midpoint.max(axis=0)
    origin = [BIN * math.floor(v / BIN) for v in low]
    count = [1 + math.ceil((v - o) / BIN) for v, o in zip(high, origin, strict=True)]
    return {
        "inline": {"first": 1, "last": count[0]},
        "crossline": {"first": 1, "last": count[1]},
        "origin": [round(float(v), 2) + 0.0 for v in along.to_world(np.array([[*origin, 0.0]]))[0, :2]],
        "azimuth": -degrees + 0.0,
        "spacing": [BIN, BIN],
    }


def _classes(table: TraceTable) -> dict[str, Any]:
    """Return gathers of every nominal offset, or of classes that hold the offsets of the data."""
    from subsalt.methods.kirchhoff.classes import Classes

    with suppress(SubsaltError):
        if Classes.full(table.offset).count <= MOST_OFFSETS:
            return {"gathers": "full-offset"}
    low, high = float(table.offset.min()), float(table.offset.max())
    if high - low < 1.0:
        return {}
    step = round_down((high - low) / CLASSES) if high - low > CLASSES else 1.0
    first = step * round(low / step)
    last = first + step * math.ceil((high - first) / step - 0.5)
    return {"gathers": "offset", "offset": {"first": first, "last": last, "step": step}}
