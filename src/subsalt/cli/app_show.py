"""Sub-commands on what a run has left: reimage, view, play, export, report, explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.app_root import Json, RunDir, Shots, app, example
from subsalt.cli.commands import must_exist
from subsalt.cli.output import Out, plain
from subsalt.errors import ConfigError


@app.command(
    short_help="Make another image of a run, without propagating.",
    epilog=example(
        "subsalt reimage survey.run --condition inverse-scattering --top-mute 200",
        "subsalt reimage survey.run --filter laplacian --region 0:2000,500:1500 -o salt.run",
        "mpiexec -n 4 subsalt reimage survey.run --condition source-normalised",
    ),
)
def reimage(
    run: RunDir,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", readable=False, help="Run directory of the new image; beside RUN when left out."
        ),
    ] = None,
    condition: Annotated[
        str | None,
        typer.Option(help="source-normalised, cross-correlation or inverse-scattering; that of RUN."),
    ] = None,
    filter_: Annotated[str | None, typer.Option("--filter", help="none or laplacian; that of RUN.")] = None,
    normalise: Annotated[
        float | None, typer.Option(help="Stabilisation, relative to the mean illumination.")
    ] = None,
    top_mute: Annotated[
        str | None, typer.Option(help='Depth above which the image is zero: 200, "0.2 km".')
    ] = None,
    illumination: Annotated[
        str | None, typer.Option(help="survey or shot: divide the sums, or shot by shot.")
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(help="Only this part, m of the local frame: x0:x1,z0:z1 or x0:x1,y0:y1,z0:z1."),
    ] = None,
    shots: Shots = None,
    time_range: Annotated[
        str | None, typer.Option(help="Only samples between these times, s: 0.5:2; kept wavefields alone.")
    ] = None,
    image_step: Annotated[
        int | None, typer.Option(min=1, help="Time steps between samples: a multiple of that of RUN.")
    ] = None,
    wavefields: Annotated[
        bool,
        typer.Option(
            "--from-wavefields", help="Sum anew from kept wavefields even what partial images hold."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Make another image of a run from its partial images and kept wavefields: other condition, filter, part."""
    from subsalt.cli import reimage_command

    reimage_command.reimage(
        run,
        out,
        json,
        time_range,
        condition=condition,
        filter=filter_,
        normalise=normalise,
        top_mute=top_mute,
        illumination=illumination,
        region=region,
        shots=shots,
        image_step=image_step,
        wavefields=wavefields,
    )


@app.command(
    short_help="Draw a run, a model, an image, gathers or shots.",
    epilog=example(
        "subsalt view survey.run -o image.png",
        "subsalt view line.run --at 605 --at 608 --velocity",
        "subsalt view line.run/gathers.sgy --gathers-every 50",
    ),
)
def view(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|FILE", help="Run directory, or a model, image or shot file.", readable=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="PNG file; beside the input when left out."),
    ] = None,
    clip: Annotated[float, typer.Option(help="Percentile of |amplitude| that becomes black.")] = 99.0,
    key: Annotated[str | None, typer.Option(help="Name of the array in an .npz or .nc file.")] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="Where to cut and whose gathers to draw: inline,crossline[,time] of a time image (the CDP of a "
            "line), repeat it for more gathers; x,y,z in m of a depth volume.",
        ),
    ] = None,
    gathers_every: Annotated[
        int | None, typer.Option(metavar="N", help="Image gathers at every N locations of the inline.")
    ] = None,
    velocity: Annotated[
        bool, typer.Option("--velocity", help="Lay the rms velocity over the time image.")
    ] = False,
    gain: Annotated[
        float, typer.Option(help="Multiply time images and gathers by time to this power.")
    ] = 0.0,
    draw: Annotated[str, typer.Option(help="Gathers: auto, wiggle, grey or residual.")] = "auto",
    open_: Annotated[bool, typer.Option("--open", help="Show the picture in the desktop's viewer.")] = False,
    json: Json = False,
) -> None:
    """Draw pictures of a run (also of a partial image) or of any volume, shot or gather file.

    A time migration gives its image, image gathers beside their stack with the moveout that is left, the fold map and
    the hit count.
    """
    from subsalt.cli import view_command

    asked = view_command.Options(clip, key, at, gathers_every, velocity, gain, draw)
    view_command.view(what, out, asked, open_, json)


@app.command(
    short_help="Play back a shot: its wavefields and the growing image.",
    epilog=example(
        "subsalt play survey.run --shot 118 -o shot118.html",
        "subsalt play survey.run --shot 118 --serve --open",
    ),
)
def play(
    run: RunDir,
    shot: Annotated[
        int | None, typer.Option(help="Id of the shot; the first one with something to show.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", readable=False, help="HTML file; RUN-shotN.html in this folder when left out."
        ),
    ] = None,
    fields: Annotated[str, typer.Option(help="What to show.")] = "source,receiver,image",
    every: Annotated[
        int | None, typer.Option(min=1, help="A frame every so many imaged samples; as fits when left out.")
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(min=2, help="Most grid points along an axis; as many as fit when left out."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help='First time, such as "0.5 s" or "500 ms".')
    ] = None,
    to: Annotated[str | None, typer.Option("--to", help="Last time.")] = None,
    max_size: Annotated[
        str | None,
        typer.Option(help="Most bytes of frames, unpacked: 50MB, and 4GB with --serve, when left out."),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Write no file; show it from a server on this machine alone.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the server; a free one when left out.")
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open what is served in the desktop's browser.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Serve on a node of a batch system too.")] = False,
    json: Json = False,
) -> None:
    """Play back a shot in a browser: source, receivers and the growing image over the velocity model.

    The frames come from kept wavefields ([checkpoint] keep), or the shot is propagated again. The page is one
    file that needs no network; a box drawn in it gives the --region of `subsalt reimage`.
    """
    from subsalt.cli import play_command

    asked = play_command.Options(
        shot, out, fields, every, size, from_, to, max_size, serve, port, open_, force
    )
    play_command.play(run, asked, json)


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
    json: Json = False,
) -> None:
    """Convert an image, model or shots: .sgy .su .rsf .npy .npz .vti .nc .zarr."""
    from subsalt.io.export import export as convert

    must_exist(source)
    result = convert(source, target, key=key, unit=unit)
    out = Out(json or str(target) == "-")
    if str(target) != "-":
        out.row("wrote", str(target))
        out.json({"path": target, "result": plain(result)})


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
    from subsalt import messages

    out = Out(json)
    entry = messages.lookup(what)
    if entry is not None:
        out.say(f"{entry.code}  {entry.title}\n\n{entry.meaning}\n\nfix: {entry.cure}")
        out.json(entry)
        return
    from subsalt.job.text import explain_key

    found = explain_key(what)
    if found is None:
        raise ConfigError(
            f"{what!r} is neither a code nor a key of the job file", messages.suggest(what), code="E126"
        )
    out.say(found["text"])
    out.json(found)
