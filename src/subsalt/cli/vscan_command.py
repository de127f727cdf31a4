"""What `subsalt migrate --vscan` does: migrate at scaled velocities, show the panels and which scale is best when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.cli import ranks
from subsalt.cli.output import Out
from subsalt.errors import ConfigError
from subsalt.methods import method_of

if TYPE_CHECKING:
    from subsalt.cli.app_root import Again, Start
    from subsalt.cli.app_run import Scan
    from subsalt.methods.kirchhoff.vscan import VelocityScan

#: locations whose gathers are drawn when nobody says where
PLACES = 1
#: window over which the amplitudes of panels are balanced, s
BALANCE = 0.5


def refuse_with(scan: Scan, **others: str | None) -> None:
    """Refuse --at without --vscan, and --vscan with options that it does not go with."""
    if scan.vscan is None and scan.at:
        raise ConfigError(
            "--at says where --vscan draws gathers", "add --vscan, or leave --at out", code="E834"
        )
    for name in (n for n in others.values() if n and scan.vscan is not None):
        raise ConfigError(
            f"--vscan does not go with {name}",
            f"leave {name} out; in a batch script call `subsalt migrate JOB --vscan ...` itself",
            code="E834",
        )


def vscan(job_file: Path, scan: Scan, start: Start, again: Again) -> None:
    """Migrate at every scale, each into a run of its own, then measure and draw."""
    from subsalt.cli.commands import check_or_stop
    from subsalt.cli.view_command import place_of
    from subsalt.methods.kirchhoff.vscan import folder_of, measure, migrate_scales, scales_of
    from subsalt.run import progress
    from subsalt.run.migrate import migrate_job
    from subsalt.view.time_sections import indices_at

    how = again.options()
    out = Out(again.json)
    scales = scales_of(scan.vscan or "")
    places = [place_of(p) for p in scan.at or []]
    with ranks.on_all_ranks(job_file, out) as found:
        job: Any = found
        if method_of(job.method).domain != "time":
            raise ConfigError(
                f"{job_file} is a job of method {job.method}, and --vscan scales the rms velocity of a time migration",
                'set method = "kirchhoff", with [velocity] in place of [model]',
                code="E834",
            )
        check_or_stop(job, out, again.strict)
        with ranks.together():
            grid = job.image_grid(job.open_table())
            for place in places:
                indices_at(grid, place)

        def migrate(scaled: Any, run: Path, word: str) -> None:
            out.say(f"{word}: {run}")
            with progress.for_stream("migrating", units="blocks") as bar:
                migrate_job(scaled, run, bar, resume=how, say=out.say, recompute=start.recompute)

        folder = folder_of(start.run or job.default_run_dir)
        runs = migrate_scales(job, scales, folder, migrate)
        with ranks.together():
            if not out.quiet:
                _show(measure(folder, scales, runs), places, job.title or job.name, out)


def _show(scan: VelocityScan, places: Sequence[Sequence[float]], title: str, out: Out) -> None:
    pictures = draw(scan, places, title)
    for line in table(scan):
        out.say(line)
    for path in pictures:
        out.row("picture", str(path))
    out.row("runs", str(scan.folder))
    out.json(scan.to_dict() | {"pictures": pictures})


def table(scan: VelocityScan) -> list[str]:
    """Return the lines of the table: the measure of every scale by window of time, and the best scale."""
    values = scan.semblance if scan.by_gathers else scan.power / max(float(scan.power.max()), 1e-300)
    what = "semblance of the gathers" if scan.by_gathers else "power of the stack, relative"
    lines = [
        f"{what}, by scale of the velocity",
        f"{'time (s)':>15}  " + " ".join(f"{s:>7g}" for s in scan.scales) + "    best",
    ]
    for k, (first, last) in enumerate(scan.windows):
        row = " ".join(f"{v:7.3f}" if np.isfinite(v) else f"{'-':>7}" for v in values[:, k])
        best = "" if np.isnan(scan.best[k]) else f"{scan.best[k]:7.3f}"
        best += " (the scan ends there)" if scan.at_end[k] else ""
        lines.append(f"{first:7.3f} {last:7.3f}  {row} {best}".rstrip())
    if not scan.by_gathers:
        lines.append(
            "the job makes no image gathers: with [kirchhoff] gathers the moveout decides, which is sharper"
        )
    return lines


def draw(scan: VelocityScan, places: Sequence[Sequence[float]], title: str) -> list[Path]:
    """Draw stacks and gathers at every scale, and the map of what was measured; return the pictures."""
    from subsalt import view
    from subsalt.view.gather_pages import locations_of
    from subsalt.view.image_gathers import MUTED
    from subsalt.view.time_sections import indices_at, line_name
    from subsalt.view.time_volume import TraceVolume, grid_of_traces

    first = scan.runs[0]
    grid = grid_of_traces(first.image)
    made = [
        view.scan_map(
            scan.scales,
            scan.windows,
            scan.semblance if scan.by_gathers else scan.power,
            scan.best,
            scan.folder / "vscan.png",
            label="semblance" if scan.by_gathers else "power of the stack",
            title=title,
        )
    ]
    i = indices_at(grid, places[0])[0] if places else grid.shape[0] // 2
    inline = grid.inlines[0] + i * grid.inlines[2]
    stacks = [(f"{r.scale:g} v", TraceVolume(r.image, grid).read(i, i + 1)[0]) for r in scan.runs]
    numbers = grid.crosslines[0] + grid.crosslines[2] * np.arange(grid.shape[1])
    made.append(
        view.scan_panels(
            stacks,
            scan.time,
            scan.folder / "vscan_stack.png",
            across=numbers,
            balance=BALANCE,
            name=line_name(grid),
            title=title,
            about="stacks" if line_name(grid) == "CDP" else f"stacks of inline {inline}",
        )
    )
    if first.gathers is None:
        return made
    chosen = locations_of(grid, None, places, None)
    for i, j in chosen if places else chosen[len(chosen) // 2 :][:PLACES]:
        here = grid.inlines[0] + i * grid.inlines[2], int(numbers[j])
        panels = [(f"{r.scale:g} v", r.gathers.gather(*here)) for r in scan.runs if r.gathers is not None]
        name = f"CDP {here[1]}" if line_name(grid) == "CDP" else f"inline {here[0]}, crossline {here[1]}"
        made.append(
            view.scan_panels(
                [(label, traces) for label, (_, traces) in panels],
                scan.time,
                scan.folder / f"vscan_{here[0]}_{here[1]}.png",
                across=panels[0][1][0],
                name="offset (m)",
                muted=MUTED,
                balance=BALANCE,
                title=title,
                about=f"image gathers at {name}",
            )
        )
    return made
