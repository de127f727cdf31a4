"""Sub-commands on the results of a run: reimage, view, play, export, report, explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli import play_command, reimage_command, view_command
from subsalt.cli.app_root import RunDir, command
from subsalt.cli.commands import must_exist
from subsalt.cli.output import Out, plain, spread
from subsalt.cli.talk import Json, Talk, TalkOfRun
from subsalt.errors import ConfigError


@command(
    "Make another image of a run without propagating again.",
    "subsalt reimage survey.run --condition inverse-scattering --top-mute 200",
    "subsalt reimage survey.run --filter laplacian --run salt.run",
    "mpiexec -n 4 subsalt reimage survey.run --region 0:2000,500:1500",
)
@spread
def reimage(
    run: RunDir,
    options: reimage_command.ReimageOptions,
    talk: TalkOfRun,
) -> None:
    """Make another image from the partial images and stored wavefields of a run.

    The new image can have another imaging condition, filter, region or selection of shots. Another condition needs the
    wavefields, which a run stores with [checkpoint] keep = "both".
    """
    reimage_command.reimage(run, options, talk.out())


@command(
    "Draw an image, a model, gathers or shots.",
    "subsalt view survey.run -o image.png",
    "subsalt view volume.run --open",
    "subsalt view line.run --at 605 --at 608 --velocity",
    "subsalt view line.run/gathers.sgy --gathers-every 50",
    "subsalt view survey.toml --signal --shot 8",
)
@spread
def view(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="Run directory, or a file with a model, image, gathers or shots. With --signal a job file.",
            readable=False,
        ),
    ],
    options: view_command.ViewOptions,
    json: Json = False,
) -> None:
    """Draw pictures of a run, also of an unfinished one, or of a file with a volume, shots or gathers.

    A time migration is drawn as image, image gathers next to their stack with the residual moveout, fold map and hit
    count.

    A least-squares migration is drawn with its misfit, its images by iteration, and the amplitude along an event.
    """
    view_command.view(what, options, json)


@command(
    "Play a shot in the browser: wavefields and growing image.",
    "subsalt play survey.run --shot 118 -o shot118.html",
    "subsalt play survey.run --shot 118 --serve --open",
)
@spread
def play(
    run: RunDir,
    options: play_command.PlayOptions,
    talk: Talk,
) -> None:
    """Write a page that plays a shot: source wavefield, receiver wavefield and growing image over the velocity.

    The frames come from stored wavefields ([checkpoint] keep = "both"); without them the shot is propagated again. The
    page is one file and needs no network. A box drawn in it gives the --region of `subsalt reimage`.
    """
    play_command.play(run, options, talk.out())


@command(
    "Convert an image, a model or shots to another format.",
    "subsalt export survey.run image.sgy",
    "subsalt export vp.npy vp.rsf --spacing 12.5,10",
    "subsalt export shots/shot_00001.sgy -",
)
def export(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="Run directory, or a file with a volume or shots.", readable=False
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT",
            help="File to write; its suffix is the format. The name - writes SU traces to standard output.",
            readable=False,
        ),
    ],
    key: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Array in an .npz or .nc file. For a time migration: image, gathers or hits."
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="Unit of the values, if the file does not store it.")
    ] = None,
    spacing: Annotated[
        str | None,
        typer.Option(
            metavar="DX,DZ", help="Grid spacing in m, if the file does not store it: dx,dz or dx,dy,dz."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Convert an image, a model or shots. The suffix of OUTPUT is the format.

    Formats: .sgy .su .rsf .npy .npz .vti .nc .zarr
    """
    from subsalt.io.export import export as convert

    must_exist(source)
    result = convert(source, target, key=key, unit=unit, spacing=_lengths(spacing))
    out = Out(json or str(target) == "-")
    if str(target) != "-":
        out.row("wrote", str(target))
        out.json({"path": target, "result": plain(result)})


def _lengths(text: str | None) -> list[float] | None:
    """Return the numbers of an option such as ``12.5,10``."""
    if text is None:
        return None
    try:
        out = [float(part) for part in text.split(",")]
    except ValueError:
        out = []
    if len(out) not in (2, 3) or not all(0 < h < 1e6 for h in out):
        raise ConfigError(
            f"--spacing {text} is not two or three lengths",
            "write metres along x, (y,) z, such as --spacing 12.5,10",
        )
    return out


@command(
    "Write an HTML page about a run.",
    "subsalt report survey.run",
    "subsalt report survey.run -o survey.html",
)
def report(
    run: RunDir,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            readable=False,
            help="HTML file to be written.",
            show_default="RUN/report.html",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write one HTML page with image, survey, job, run time, warnings, and hashes of all inputs."""
    from subsalt import report as pages
    from subsalt.report.time_spent import comparison_of

    printer = Out(json)
    must_exist(run)
    path = pages.write(run, out)
    compared = comparison_of(pages.gather(run).run)
    for line in [] if compared is None else compared.lines():
        printer.say(line)
    printer.row("report", str(path))
    printer.json({"report": path, "model": None if compared is None else compared.to_dict()})


@command(
    "Explain an error code or a key of the job file.",
    "subsalt explain E412",
    "subsalt explain imaging.aperture",
)
def explain(
    what: Annotated[
        str, typer.Argument(metavar="TOPIC", help="Code such as E412, or key such as imaging.aperture.")
    ],
    json: Json = False,
) -> None:
    """Explain an error or warning code, or a key or table of the job file."""
    from subsalt import error_texts

    out = Out(json)
    entry = error_texts.lookup(what)
    if entry is not None:
        out.say(f"{entry.code}  {entry.title}\n\n{entry.meaning}\n\nfix: {entry.cure}")
        out.json(entry)
        return
    from subsalt.job.text import explain_key
    from subsalt.job.topics import subject

    explanation, about = explain_key(what), subject(what)
    if about is not None:
        explanation = explanation or {"key": what, "description": about, "default": ""}
        explanation["text"] = "\n\n".join(filter(None, [explanation.get("text"), about]))
    if explanation is None:
        raise ConfigError(
            f"{what!r} is neither a code nor a key of the job file", error_texts.suggest(what), code="E126"
        )
    out.say(explanation["text"])
    out.json(explanation)
