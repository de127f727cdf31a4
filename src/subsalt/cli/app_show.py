"""Sub-commands on what a run has left: reimage, view, play, export, report, explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli import play_command, reimage_command, view_command
from subsalt.cli.app_root import RunDir, app, example
from subsalt.cli.commands import must_exist
from subsalt.cli.output import Out, plain, spread
from subsalt.cli.talk import Json, TalkOfRun
from subsalt.errors import ConfigError


@app.command(
    short_help="Make another image of a run, without propagating.",
    epilog=example(
        "subsalt reimage survey.run --condition inverse-scattering --top-mute 200",
        "subsalt reimage survey.run --filter laplacian --region 0:2000,500:1500 -o salt.run",
        "mpiexec -n 4 subsalt reimage survey.run --condition source-normalised",
    ),
)
@spread
def reimage(
    run: RunDir,
    options: reimage_command.Options,
    talk: TalkOfRun,
) -> None:
    """Make another image of a run from its partial images and kept wavefields: other condition, filter, part."""
    reimage_command.reimage(run, options, talk.out())


@app.command(
    short_help="Draw a run, a model, an image, gathers or shots.",
    epilog=example(
        "subsalt view survey.run -o image.png",
        "subsalt view line.run --at 605 --at 608 --velocity",
        "subsalt view line.run/gathers.sgy --gathers-every 50",
        "subsalt view survey.toml --signal --shot 8",
    ),
)
@spread
def view(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|FILE",
            help="Run directory, or a model, image or shot file; with --signal a job file.",
            readable=False,
        ),
    ],
    options: view_command.Options,
    json: Json = False,
) -> None:
    """Draw pictures of a run (also of a partial image) or of any volume, shot or gather file.

    A time migration gives its image, image gathers beside their stack with the moveout that is left, the fold map and
    the hit count.
    """
    view_command.view(what, options, json)


@app.command(
    short_help="Play back a shot: its wavefields and the growing image.",
    epilog=example(
        "subsalt play survey.run --shot 118 -o shot118.html",
        "subsalt play survey.run --shot 118 --serve --open",
    ),
)
@spread
def play(
    run: RunDir,
    options: play_command.Options,
    json: Json = False,
) -> None:
    """Play back a shot in a browser: source, receivers and the growing image over the velocity model.

    The frames come from kept wavefields ([checkpoint] keep), or the shot is propagated again. The page is one
    file that needs no network; a box drawn in it gives the --region of `subsalt reimage`.
    """
    play_command.play(run, options, json)


@app.command(
    short_help="Convert an image, model or shots.", epilog=example("subsalt export survey.run image.sgy")
)
def export(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="Run directory, or a volume or shot file.", readable=False)
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File whose suffix says the format; - writes SU to a pipe.", readable=False
        ),
    ],
    key: Annotated[
        str | None,
        typer.Option(
            help="Name of the array in an .npz or .nc file; of a time migration image, gathers or hits."
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Unit of the values, when the file does not say it.")
    ] = None,
    spacing: Annotated[
        str | None,
        typer.Option(help="Spacing of a volume whose file does not say it, m: dx,dz or dx,dy,dz."),
    ] = None,
    json: Json = False,
) -> None:
    """Convert an image, model or shots: .sgy .su .rsf .npy .npz .vti .nc .zarr."""
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
            f"--spacing {text} is not two or three lengths", "write metres along x, (y,) z: --spacing 12.5,10"
        )
    return out


@app.command(short_help="Write one HTML page about a run.", epilog=example("subsalt report survey.run"))
def report(
    run: RunDir,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="HTML file; RUN/report.html when left out."),
    ] = None,
    json: Json = False,
) -> None:
    """Write one self-contained HTML page: image, survey, job, phases, warnings, provenance."""
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


@app.command(
    short_help="Explain a code or a key of the job file.",
    epilog=example("subsalt explain E412", "subsalt explain imaging.aperture"),
)
def explain(
    what: Annotated[
        str, typer.Argument(metavar="CODE|KEY", help="A code such as E412, or a key of the job file.")
    ],
    json: Json = False,
) -> None:
    """Explain an error or warning code, or a key of the job file."""
    from subsalt import error_texts

    out = Out(json)
    entry = error_texts.lookup(what)
    if entry is not None:
        out.say(f"{entry.code}  {entry.title}\n\n{entry.meaning}\n\nfix: {entry.cure}")
        out.json(entry)
        return
    from subsalt.job.text import explain_key

    explanation = explain_key(what)
    if explanation is None:
        raise ConfigError(
            f"{what!r} is neither a code nor a key of the job file", error_texts.suggest(what), code="E126"
        )
    out.say(explanation["text"])
    out.json(explanation)
