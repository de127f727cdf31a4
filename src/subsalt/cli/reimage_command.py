"""What `subsalt reimage` does: read the wish, make the image, say where it is."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli.app_root import Shots
from subsalt.cli.commands import end_with_holes, show_result
from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.cli.output import Out
    from subsalt.methods.rtm.reimage import Wish
    from subsalt.methods.rtm.reuse import Times


@dataclass(frozen=True)
class Options:
    """What the new image is to be, as it was typed."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", readable=False, help="Run directory of the new image; beside RUN when left out."
        ),
    ] = None
    condition: Annotated[
        str | None,
        typer.Option(help="Imaging condition (subsalt explain condition lists them); that of RUN."),
    ] = None
    filter: Annotated[str | None, typer.Option("--filter", help="none or laplacian; that of RUN.")] = None
    normalise: Annotated[
        float | None, typer.Option(help="Stabilisation, relative to the mean illumination.")
    ] = None
    top_mute: Annotated[
        str | None, typer.Option(help='Depth above which the image is zero: 200, "0.2 km".')
    ] = None
    illumination: Annotated[
        str | None, typer.Option(help="survey or shot: divide the sums, or shot by shot.")
    ] = None
    region: Annotated[
        str | None,
        typer.Option(help="Only this part, m of the local frame: x0:x1,z0:z1 or x0:x1,y0:y1,z0:z1."),
    ] = None
    shots: Shots = None
    time_range: Annotated[
        str | None, typer.Option(help="Only samples between these times, s: 0.5:2; kept wavefields alone.")
    ] = None
    image_step: Annotated[
        int | None, typer.Option(min=1, help="Time steps between samples: a multiple of that of RUN.")
    ] = None
    wavefields: Annotated[
        bool,
        typer.Option(
            "--from-wavefields", help="Sum anew from kept wavefields even what partial images hold."
        ),
    ] = False


def reimage(run: Path, options: Options, out: Out) -> None:
    """Make a new image from what a run has kept."""
    from subsalt.methods.rtm.reimage import Wish

    given = {f.name: getattr(options, f.name) for f in fields(options) if f.name not in ("out", "time_range")}
    wish = Wish(times=None if options.time_range is None else times_of(options.time_range), **given)
    make(run, options.out or default_name(run, wish), wish, out)


def go_on(folder: Path, out: Out) -> bool:
    """Go on in the directory of a new image, from what it says of itself; return whether it is one."""
    from subsalt.io.run_folder import own_run
    from subsalt.methods.rtm.reimage import made_of

    earlier = made_of(own_run(folder), out.note)
    if earlier is None:
        return False
    make(earlier[0], folder, earlier[1], out)
    return True


def make(run: Path, folder: Path, wish: Wish, out: Out) -> None:
    """Make the image, and say where it is and what is missing in it."""
    from subsalt.methods.rtm.reimage import reimage_run

    with out.progress("imaging") as bar:
        result = reimage_run(run, folder, wish, bar, out.note)
    show_result(out, result)
    end_with_holes(out, result, f"the reasons are in {result.report}")


def default_name(run: Path, wish: Wish) -> Path:
    """Return the run directory of a new image beside its run: the same for the same wish, so that it goes on there."""
    run = run.resolve()
    mark = hashlib.sha256(json.dumps(wish.said(), sort_keys=True).encode()).hexdigest()[:6]
    return run.with_name(f"{run.name.removesuffix('.run')}.reimage-{mark}.run")


def times_of(text: str) -> Times:
    """Return the two times, s, of a text such as ``0.5:2``; one left out is no limit."""
    parts = text.split(":")
    try:
        first, last = (float(p) if p.strip() else None for p in parts)
        if any(t is not None and not math.isfinite(t) for t in (first, last)):
            raise ValueError
    except ValueError:
        raise ConfigError(
            f"--time-range {text!r} is not two times", "give seconds, for example 0.5:2 or 0.5:", code="E864"
        ) from None
    return first, last
