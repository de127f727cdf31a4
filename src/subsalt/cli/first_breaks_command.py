"""`subsalt scan --first-breaks`: a table of the lines through the first breaks of each shot, and their picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.cli.output import Out

if TYPE_CHECKING:
    from subsalt.acquisition.first_breaks import BreakLine, ShotBreaks
    from subsalt.acquisition.survey import Survey
    from subsalt.io.segy.headers import HeaderBytes

#: shots of the table; --json holds all that were picked
SHOWN = 20


def show(files: Sequence[Path], header: HeaderBytes, picture: Path | None, out: Out) -> dict[str, Any]:
    """Print the table, draw the picture, and return the values for ``--json``.

    Parameters
    ----------
    picture : Path, optional
        PNG to write; ``first-breaks.png`` in the current folder when None.
    """
    from subsalt.acquisition.first_breaks import first_breaks
    from subsalt.view.break_panels import first_breaks as draw

    survey, places = _survey(files, header)
    breaks = first_breaks(survey)
    if out.mute:
        return {}
    out.say()
    out.say(
        f"first breaks  {len(breaks)} of {len(survey.shots)} shots, up to "
        f"{max((len(b.rows) for b in breaks), default=0)} "
        f"traces of each; offsets from {places}"
    )
    out.say(
        "    shot  picked     offsets (m)    v (m/s)  t0 (ms)  off line (ms)   left of source    right of source  notes"
    )
    for b in breaks[:SHOWN]:
        out.say(_row(b))
    if len(breaks) > SHOWN:
        out.say(f"  and {len(breaks) - SHOWN} shots more (--json has all)")
    drawn = draw(breaks, picture or Path("first-breaks.png"), title="first breaks")
    out.row("picture", str(drawn))
    return {"picture": drawn, "offsets_from": places, "shots": [to_dict(b) for b in breaks]}


def _survey(files: Sequence[Path], header: HeaderBytes) -> tuple[Survey, str]:
    """Return the survey of the files, by coordinates, or by offsets where there are none; and which."""
    from subsalt.errors import GeometryError
    from subsalt.io.segy.reading import read_survey

    try:
        return read_survey(files, header), "coordinates"
    except GeometryError as error:
        if error.code not in ("E322", "E323"):
            raise
        try:
            return read_survey(files, header, ndim=2, receivers="offset"), "byte 37"
        except GeometryError:
            raise error from None


def notes(b: ShotBreaks) -> str:
    """Return the reasons why the picks of a shot are suspicious."""
    from subsalt.check.channel_fits import centre, reversed_order

    if b.line is None:
        return "too few picks for a line"
    out = []
    if reversed_order(b):
        out.append("channels reversed: in the reverse order the picks lie on a line")
    c = centre(b)
    if c is not None and abs(c) > b.period * 0.25 / abs(b.line.slowness):
        out.append(f"earliest {c:+.0f} m from the source")
    if b.muted > 0.5:
        out.append("muted")
    if not b.good:
        out.append("not clear")
    return ", ".join(out)


def _speed(line: BreakLine | None) -> str:
    return "" if line is None else f"{_velocity(line)} {1e3 * line.intercept:7.0f} ms"


def _velocity(line: BreakLine) -> str:
    return f"{line.velocity:7.0f}" if abs(line.slowness) > 1e-5 else "   flat"


def _row(b: ShotBreaks) -> str:
    line = b.line
    span = f"{b.offset.min():.0f} .. {b.offset.max():.0f}"
    whole = (
        " " * 33
        if line is None
        else f"{_velocity(line):>9} {1e3 * line.intercept:8.0f} {1e3 * line.scatter:14.1f}"
    )
    left, right = (f"{_speed(side):>18}" for side in b.sides)
    picked = f"{int(b.picked.sum()):4d}/{len(b.rows):<3d}"
    return f"{b.shot.id:>8} {picked} {span:>15} {whole} {left} {right}  {notes(b)}".rstrip()


def to_dict(b: ShotBreaks) -> dict[str, Any]:
    """Return the picks and lines of a shot as plain values."""

    def line(one: BreakLine | None) -> dict[str, float | int | None] | None:
        if one is None:
            return None
        velocity = one.velocity if math.isfinite(one.velocity) else None
        return {
            "velocity_m_per_s": velocity,
            "intercept_s": one.intercept,
            "scatter_s": one.scatter,
            "picks": one.n,
        }

    return {
        "shot": b.shot.id,
        "traces": [int(i) + 1 for i in b.rows],
        "offset_m": [float(x) for x in b.offset],
        "time_s": [float(t) if math.isfinite(t) else None for t in b.time],
        "period_s": b.period,
        "coherence": b.coherence,
        "muted": b.muted,
        "clear": b.good,
        "line": line(b.line),
        "left": line(b.sides[0]),
        "right": line(b.sides[1]),
        "notes": notes(b),
    }
