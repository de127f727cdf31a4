"""`subsalt view`: pictures of a run, a volume, image gathers or shots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from subsalt.cli.output import Out
from subsalt.errors import ConfigError

#: titles of the options that only some pictures use
TIME_PANEL, SIGNAL_PANEL = "Time images and gathers", "Trace processing"


@dataclass(frozen=True)
class ViewOptions:
    """Options of `subsalt view`."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            readable=False,
            help="Picture (PNG) to be written, or a folder for it. NAME.html is a page with sliders for a 3-D image.",
            show_default="INPUT.png in the folder of INPUT",
        ),
    ] = None
    clip: Annotated[
        float, typer.Option(metavar="PERCENT", help="Percentile of |amplitude| that is drawn black.")
    ] = 99.0
    key: Annotated[str | None, typer.Option(metavar="NAME", help="Array in an .npz or .nc file.")] = None
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="Where to cut a volume and draw gathers. Depth volume: x,y,z in m. Time image: "
            "inline,crossline or inline,crossline,time; the CDP of a line. Repeatable for gathers.",
        ),
    ] = None
    along: Annotated[
        str | None,
        typer.Option(
            metavar="HORIZON",
            help="Least-squares migration: draw the amplitude of the event at this depth, m, or along a text file "
            "of x and depth; in 3-D of x, y and depth.",
            show_default="the event through --at, or the strongest in the middle of the line",
        ),
    ] = None
    gathers: Annotated[
        bool,
        typer.Option(
            "--gathers",
            help="Draw the gathers of a depth image beside the stack, and their flatness: at --at X, or evenly.",
        ),
    ] = False
    gathers_every: Annotated[
        int | None,
        typer.Option(metavar="N", help="Draw the gathers at every Nth location.", rich_help_panel=TIME_PANEL),
    ] = None
    velocity: Annotated[
        bool,
        typer.Option("--velocity", help="Draw the rms velocity over the image.", rich_help_panel=TIME_PANEL),
    ] = False
    gain: Annotated[
        float,
        typer.Option(
            metavar="POWER", help="Multiply amplitudes by time to this power.", rich_help_panel=TIME_PANEL
        ),
    ] = 0.0
    draw: Annotated[
        str,
        typer.Option(
            metavar="STYLE",
            help="Style of gathers: auto, wiggle, grey or residual.",
            rich_help_panel=TIME_PANEL,
        ),
    ] = "auto"
    signal: Annotated[
        bool,
        typer.Option(
            "--signal",
            help="INPUT is a job file: draw a shot before and after every step of [[signal]].",
            rich_help_panel=SIGNAL_PANEL,
        ),
    ] = False
    shot: Annotated[
        int | None,
        typer.Option(
            metavar="ID",
            help="With --signal, the shot, by its field record.",
            show_default="the middle one",
            rich_help_panel=SIGNAL_PANEL,
        ),
    ] = None
    whole: Annotated[
        bool, typer.Option("--whole", help="Draw all of an image, not only what the survey illuminates.")
    ] = False
    open: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Open the picture in the viewer of the desktop; of a 3-D image a page with sliders, in the browser.",
        ),
    ] = False


def view(what: Path, options: ViewOptions, as_json: bool) -> None:
    """Draw a run or a file."""
    from subsalt.cli.commands import must_exist

    out = Out(as_json)
    must_exist(what)
    if not 0 < options.clip <= 100:
        raise ConfigError(
            f"--clip {options.clip:g} is not a percentile", "use a value above 0, up to 100", code="E125"
        )
    if options.shot is not None and not options.signal:
        raise ConfigError("--shot goes with --signal", "add --signal, and name a job file", code="E836")
    page = _page(what, options)
    if options.signal:
        paths = [_signal(what, options, out)]
    else:
        paths = [] if _only_page(options) else [Path(p) for p in _made(what, options, out)]
    for path in paths:
        out.row("picture", str(path))
    if page is not None:
        out.row("page", str(page))
    if options.open:
        import webbrowser

        webbrowser.open((page or paths[0]).resolve().as_uri())
    out.json({"pictures": paths} | ({"page": page} if page is not None else {}))


def _only_page(options: ViewOptions) -> bool:
    """Return whether a page was asked for by its name, and no picture."""
    return options.out is not None and options.out.suffix.lower() == ".html"


def _page(what: Path, options: ViewOptions) -> Path | None:
    """Write the page of a 3-D image where one is opened or named; return it."""
    only = _only_page(options)
    if options.signal or not (options.open or only):
        if only:
            raise ConfigError("a page shows a 3-D image, not steps on traces", "end the name in .png", "E836")
        return None
    from subsalt.view.reading import named
    from subsalt.view.volume_page import volume_page

    places = [place_of(text) for text in options.at or []]
    path = named(what, options.out).with_suffix(".html")
    made = volume_page(what, path, key=options.key, at=places[0] if places else None, clip=options.clip)
    if made is None and only:
        raise ConfigError(f"{what} is no 3-D image, which a page would show", "end the name in .png", "E836")
    return made


def _made(what: Path, options: ViewOptions, out: Out) -> list[Path]:
    from subsalt import view as pictures
    from subsalt.io.export import is_time_volume
    from subsalt.view.reading import RunStyle, is_gathers, is_run_directory, named, view_run

    places = [place_of(text) for text in options.at or []]
    drawn: dict[str, Any] = {"clip": options.clip, "draw": options.draw}
    how = RunStyle(
        whole=options.whole,
        places=places,
        every=options.gathers_every,
        gathers=options.gathers,
        velocity="overlay" if options.velocity else "moveout",
        gain=options.gain,
        along=options.along,
        **drawn,
    )
    if not is_run_directory(what):
        how.refuse_horizon(what)
    if options.gathers and not is_run_directory(what):
        raise ConfigError(f"{what} is no run, whose gathers --gathers draws", "leave --gathers out", "E836")
    if is_run_directory(what):
        return view_run(what, named(what, options.out), how, out.say)
    if what.is_file() and is_gathers(what):
        drawn |= {"places": places, "every": options.gathers_every, "gain": options.gain}
        return pictures.gather_file(what, named(what, options.out), **drawn)
    if what.is_file() and is_time_volume(what):
        at = places[0] if places else None
        return pictures.time_file(what, named(what, options.out), at=at, clip=options.clip, gain=options.gain)
    return pictures.picture(what, options.out, key=options.key, at=how.only_of_depth(what), **drawn)


def _signal(what: Path, options: ViewOptions, out: Out) -> Path:
    """Draw a shot of a job before and after every step on its traces."""
    from subsalt.job.base import read_job
    from subsalt.job.signal.summary import stages
    from subsalt.view.reading import named
    from subsalt.view.signal import Stage, signal_steps

    job = read_job(what)
    shot, headers, between = stages(job.signal_source(), options.shot)
    panels = [Stage(b.label, b.traces, b.time, headers.offset, b.curves) for b in between]
    for place, panel in enumerate(panels):
        out.row(f"step {place}" if place else "input", panel.label)
    path = named(what, options.out)
    if options.out is None:
        path = path.with_name(f"{path.stem}-shot{shot}.png")
    title = f"{job.title or job.name}: shot {shot}"
    return signal_steps(panels, path, title=title, clip=options.clip, draw=options.draw, gain=options.gain)


def place_of(text: str) -> tuple[float, ...]:
    """Return the numbers of a place such as ``1200,340`` or ``605``."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(
            f"--at {text!r} is not a place",
            "give inline,crossline of a time image (the CDP of a line), maybe with ,time; x,y,z of a depth volume",
            code="E833",
        ) from None
