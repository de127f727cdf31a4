"""`subsalt reimage`: read the options, make the image, print where it is."""

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
class ReimageOptions:
    """Options of `subsalt reimage`."""

    folder: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="NEW",
            readable=False,
            help="Run directory of the new image.",
            show_default="RUN.reimage-HASH.run in the folder of RUN",
        ),
    ] = None
    condition: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Imaging condition; `subsalt explain condition` lists them.",
            show_default="that of RUN",
        ),
    ] = None
    filter: Annotated[
        str | None,
        typer.Option(
            "--filter", metavar="NAME", help="Filter: none or laplacian.", show_default="that of RUN"
        ),
    ] = None
    normalise: Annotated[
        float | None,
        typer.Option(
            help="Stabilisation of the division by the illumination, relative to its mean.",
            show_default="that of RUN",
        ),
    ] = None
    top_mute: Annotated[
        str | None,
        typer.Option(
            metavar="DEPTH",
            help='Set the image to zero above this depth: 200 (m) or "0.2 km".',
            show_default="that of RUN",
        ),
    ] = None
    illumination: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Divide by the illumination of the whole survey, or shot by shot: survey or shot.",
            show_default="that of RUN",
        ),
    ] = None
    gathers: Annotated[
        str | None,
        typer.Option(
            metavar="KEYS",
            help='Gathers: "kind=angle, max=400, every=8", any keys of [imaging.gathers]; auto or none.',
            show_default="those of RUN",
        ),
    ] = None
    region: Annotated[
        str | None,
        typer.Option(
            metavar="BOX",
            help="Image only this box, in m of the local frame: x0:x1,z0:z1 or x0:x1,y0:y1,z0:z1.",
        ),
    ] = None
    shots: Shots = None
    time_range: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST",
            help="Image only these times of the stored wavefields, in s: 0.5:2, 0.5: or :2.",
        ),
    ] = None
    image_step: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Time steps between imaged samples: a multiple of that of RUN.",
            show_default="that of RUN",
        ),
    ] = None
    wavefields: Annotated[
        bool,
        typer.Option(
            "--from-wavefields", help="Use the stored wavefields also where partial images would suffice."
        ),
    ] = False


def reimage(run: Path, options: ReimageOptions, out: Out) -> None:
    """Make a new image from the partial images and wavefields of a run."""
    from subsalt.methods.rtm.reimage import Wish

    given = {
        f.name: getattr(options, f.name) for f in fields(options) if f.name not in ("folder", "time_range")
    }
    wish = Wish(times=None if options.time_range is None else times_of(options.time_range), **given)
    make(run, options.folder or default_name(run, wish), wish, out)


def go_on(folder: Path, out: Out) -> bool:
    """Continue a new image from its directory alone; return whether the directory is one."""
    from subsalt.io.run_folder import own_run
    from subsalt.methods.rtm.reimage import made_of

    earlier = made_of(own_run(folder), out.note)
    if earlier is None:
        return False
    make(earlier[0], folder, earlier[1], out)
    return True


def make(run: Path, folder: Path, wish: Wish, out: Out) -> None:
    """Make the image, and print where it is and which shots are missing in it."""
    from subsalt.methods.rtm.reimage import reimage_run

    with out.progress("imaging") as bar:
        result = reimage_run(run, folder, wish, bar, out.note)
    show_result(out, result)
    end_with_holes(out, result, f"the reasons are in {result.report}")


def default_name(run: Path, wish: Wish) -> Path:
    """Return the run directory of a new image next to its run: the same for the same wish, so that it is continued."""
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
