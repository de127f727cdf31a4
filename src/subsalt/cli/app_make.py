"""Sub-commands before an image: demo, doctor, scan, init, check, model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.app_root import JobFile, Json, Strict, app, example


@app.command(
    short_help="Model and migrate a small 3-D salt survey.", epilog=example("subsalt demo --out demo")
)
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", readable=False, help="Folder for everything the demo makes.")
    ] = Path("demo"),
    quick: Annotated[
        bool, typer.Option("--quick", help="One line of four shots over the salt: a quarter of the time.")
    ] = False,
    json: Json = False,
) -> None:
    """Model a small 3-D VTI salt survey to SEG-Y, migrate it from those files, and check the reflectors."""
    from subsalt.cli import commands

    commands.demo(out, quick, json)


@app.command(short_help="Examine this machine and test the program on it.", epilog=example("subsalt doctor"))
def doctor(
    json: Json = False,
    scratch: Annotated[Path, typer.Option(help="Folder whose speed is measured.", readable=False)] = Path(
        "."
    ),
) -> None:
    """Say what this machine offers, and test that the program computes rightly on it."""
    from subsalt.cli import commands

    commands.doctor(scratch, json)


@app.command(
    short_help="Show what SEG-Y and SU files hold.",
    epilog=example("subsalt scan shots/*.sgy", "subsalt scan shots/*.sgy --first-breaks -o breaks.png"),
)
def scan(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES...", help="SEG-Y or SU files.", readable=False)
    ],
    preset: Annotated[str, typer.Option(help="Header layout: rev1, su, marine2d, obn.")] = "rev1",
    first_breaks: Annotated[
        bool,
        typer.Option(
            "--first-breaks",
            help="Pick first breaks and fit a line to those of each shot: table and picture.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", readable=False, help="PNG of the first breaks; first-breaks.png when left out."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show what SEG-Y and SU files hold: shots, channels, coordinates, sampling, format, oddities.

    --first-breaks picks the first arrivals of at most 200 shots and 64 traces of each, evenly spread, and fits lines to
    them: velocity and intercept on each side of the source. They tell reversed or shifted channels, a wrong sampling
    interval, and a wrong time zero.
    """
    from subsalt.cli import commands

    commands.scan(files, preset, json, first_breaks, out)


@app.command(
    short_help="Write a job file from what the files say.",
    epilog=example("subsalt init survey.toml --from 'shots/*.sgy' --vp vp.rsf --f0 15")
    + "; subsalt init time.toml --from line.sgy --method kirchhoff --vrms vrms.txt",
)
def init(
    job: JobFile,
    from_: Annotated[
        list[str] | None, typer.Option("--from", help="Recorded shots; repeat it for more.")
    ] = None,
    vp: Annotated[str | None, typer.Option(help='Velocity: a file, a number, or "2 km/s".')] = None,
    epsilon: Annotated[str | None, typer.Option(help="Thomsen epsilon: a file or a number.")] = None,
    delta: Annotated[str | None, typer.Option(help="Thomsen delta: a file or a number.")] = None,
    theta: Annotated[
        str | None, typer.Option(help='Tilt of the symmetry axis: a file, degrees, or "0.5 rad".')
    ] = None,
    phi: Annotated[str | None, typer.Option(help="Azimuth of the tilt: a file or degrees.")] = None,
    f0: Annotated[str | None, typer.Option(help="Peak frequency of the wavelet, Hz.")] = None,
    method: Annotated[str, typer.Option(help="rtm, or kirchhoff: prestack time migration.")] = "rtm",
    vrms: Annotated[
        str | None, typer.Option(help="kirchhoff: rms velocity in time, a file or a number.")
    ] = None,
    cdp_spacing: Annotated[
        str | None, typer.Option(help="kirchhoff: distance of CDPs of a line without coordinates.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Header layout: rev1, su, marine2d, obn.")] = "rev1",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing job file.")] = False,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]...", help="More files for --from.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a commented job file, filled with what the files say."""
    from subsalt.cli import commands

    shots = [*(from_ or []), *(files or [])]
    model = {"vp": vp, "epsilon": epsilon, "delta": delta, "theta": theta, "phi": phi, "f0": f0}
    time = {"vrms": vrms, "cdp_spacing": cdp_spacing}
    commands.init(job, shots, method, {"rtm": model, "kirchhoff": time}, preset, force, json)


@app.command(
    short_help="Apply every rule to a job; compute nothing.", epilog=example("subsalt check survey.toml")
)
def check(
    job: JobFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Folder for the map; JOB.check beside the job."),
    ] = None,
    map_: Annotated[
        bool, typer.Option("--map/--no-map", help="Draw the survey on its model or image grid.")
    ] = True,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Apply every rule on units, geometry, models, stability and dispersion; draw the survey on the model."""
    from subsalt.cli import commands

    commands.check(job, out, map_, strict, json)


@app.command(
    short_help="Model the shots of a job to SEG-Y.", epilog=example("subsalt model survey.toml -o shots")
)
def model(
    job: JobFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Folder for the shots; JOB.shots beside the job."),
    ] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Model the shots of [acquisition] to SEG-Y."""
    from subsalt.cli import commands

    commands.model(job, out, strict, json)
