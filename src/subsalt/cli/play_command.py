"""`subsalt play`: make the movie of a shot, then write it as one page, or serve it to this machine."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli.output import Out
from subsalt.cli.plan_command import memory_bytes
from subsalt.errors import CannotCreateError, ConfigError

if TYPE_CHECKING:
    from subsalt.view.movie import Movie

#: frames of a page, of which a browser holds all, and of a server, which keeps them in a file
PAGE_BYTES, SERVED_BYTES = "50MB", "4GB"


#: title of the options that only a server uses
SERVER_PANEL = "Server options"


@dataclass(frozen=True)
class PlayOptions:
    """Options of `subsalt play`."""

    shot: Annotated[
        int | None,
        typer.Option(metavar="ID", help="Id of the shot.", show_default="the first shot with stored data"),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            readable=False,
            help="HTML file to be written.",
            show_default="RUN-shotID.html in the current folder",
        ),
    ] = None
    fields: Annotated[
        str, typer.Option(metavar="LIST", help="Fields to show: source, receiver and image.")
    ] = "source,receiver,image"
    every: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="One frame for every N imaged time samples.",
            show_default="as small as --max-size allows",
        ),
    ] = None
    size: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Largest number of grid points along an axis.",
            show_default="as large as --max-size allows",
        ),
    ] = None
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help='First time, such as "0.5 s" or "500 ms".')
    ] = None
    stop: Annotated[str | None, typer.Option("--to", metavar="TIME", help='Last time, such as "2 s".')] = None
    max_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Largest size of all frames before compression.",
            show_default=f"{PAGE_BYTES}; with --serve {SERVED_BYTES}",
        ),
    ] = None
    serve: Annotated[
        bool,
        typer.Option(
            "--serve",
            help="Write no file; serve the page to browsers on this machine only.",
            rich_help_panel=SERVER_PANEL,
        ),
    ] = False
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Port of the server.",
            show_default="a free one",
            rich_help_panel=SERVER_PANEL,
        ),
    ] = None
    open: Annotated[
        bool,
        typer.Option("--open", help="Open the page in the browser.", rich_help_panel=SERVER_PANEL),
    ] = False
    force: Annotated[
        bool,
        typer.Option("--force", help="Also serve on a node of a batch system.", rich_help_panel=SERVER_PANEL),
    ] = False


def play(run: Path, options: PlayOptions, out: Out) -> None:
    """Write or serve the movie of a shot."""
    _refuse_together(options)
    fields = field_names(options.fields)
    start, stop = _seconds(options.start, "--from"), _seconds(options.stop, "--to")
    most = memory_bytes(options.max_size or (SERVED_BYTES if options.serve else PAGE_BYTES), "--max-size")
    if options.out is not None:
        _refuse_target(options.out)
    if options.serve:
        from subsalt.view.movie_server import refuse_batch_node

        refuse_batch_node(options.force)
    from subsalt.methods.rtm.playback import movie_of

    with out.progress("play") as bar:
        movie = movie_of(
            run,
            options.shot,
            fields=fields,
            every=options.every,
            size=options.size,
            max_bytes=most,
            start=start,
            stop=stop,
            folder=_scratch(run) if options.serve else None,
            # its stages are parts of the one shot
            progress=lambda done, total, message="": bar(done / total, 1, message),
            say=out.note,
        )
    movie.reimage = f"subsalt reimage {shlex.quote(str(run))}"
    if options.serve:
        _serve(movie, options, out)
    else:
        _write(movie, options.out or Path(f"{run.resolve().stem}-shot{movie.shot}.html"), out)


def field_names(text: str) -> tuple[str, ...]:
    """Return the fields of a list such as "source,image", in the order in which they are shown."""
    from subsalt.view.movie import FIELDS

    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in names if name not in FIELDS]
    if wrong or not names:
        what = f"no field is called {wrong[0]!r}" if wrong else "no field is named"
        raise ConfigError(f"--fields {text!r}: {what}", f"give some of {','.join(FIELDS)}", code="E853")
    return tuple(name for name in FIELDS if name in names)


def _refuse_together(options: PlayOptions) -> None:
    """Refuse options that do not go together."""
    if options.serve and options.out is not None:
        raise ConfigError(
            "-o writes a page, --serve serves one: not both", "leave one of them out", code="E853"
        )
    alone = {"--port": options.port is not None, "--open": options.open, "--force": options.force}
    given = [name for name, there in alone.items() if there]
    if given and not options.serve:
        raise ConfigError(f"{given[0]} is for the server", "add --serve, or leave it out", code="E853")


def _seconds(text: str | None, option: str) -> float | None:
    from subsalt.job.units import parse

    try:
        return None if text is None else parse(text, "time")
    except ConfigError as e:
        raise ConfigError(f"{option}: {e.message}", e.fix, code="E853") from e


def _refuse_target(target: Path) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if target.is_dir():
        raise CannotCreateError(
            f"{target} is a folder", "give the name of a file, such as movie.html", code="E630"
        )
    if not target.parent.is_dir():
        raise CannotCreateError(
            f"the folder {target.parent} does not exist", "make it, or name another file", code="E630"
        )


def _scratch(run: Path) -> Path:
    """Return where frames too many for memory go: the run's disk, if it may be written."""
    return run if os.access(run, os.W_OK) else Path(tempfile.gettempdir())


def _write(movie: Movie, target: Path, out: Out) -> None:
    from subsalt.view.movie_page import write_page

    size = write_page(movie, target)
    shape = " x ".join(str(n) for n in movie.shape)
    for name, value in movie.facts.items() if out.verbose else ():
        out.row(name, value)
    span = f"{movie.times[0]:.3f} to {movie.times[-1]:.3f} s"
    out.row("movie", f"{target}  {size / 1e6:.3g} MB, {len(movie.times)} frames of {shape}, {span}")
    out.json(
        {
            "movie": target,
            "bytes": size,
            "shot": movie.shot,
            "frames": len(movie.times),
            "shape": list(movie.shape),
            "times": [float(movie.times[0]), float(movie.times[-1])],
            "fields": list(movie.fields),
            "facts": movie.facts,
        }
    )


def _serve(movie: Movie, options: PlayOptions, out: Out) -> None:
    from subsalt.view.movie_server import IDLE, MovieServer

    server = MovieServer(movie, options.port or 0)
    out.row("open", server.address)
    port = server.port
    out.row("", f"for this machine only; from another one first: ssh -L {port}:127.0.0.1:{port} HOST")
    out.row("", f"Ctrl-C ends it, and {IDLE / 60:.0f} minutes without a look")
    out.json({"address": server.address, "port": server.port, "shot": movie.shot, "frames": len(movie.times)})
    with ExitStack() as stack:
        if options.open:
            _open(
                server.address, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="subsalt-play-")))
            )
        try:
            server.run()
        except KeyboardInterrupt:
            out.note("ended")


def _open(address: str, folder: Path) -> None:
    """Open an address in the desktop's browser by a page in `folder`, which nobody else may read: what a program is
    started with can be seen by all users of a machine, and the address holds the token.
    """
    import webbrowser

    from subsalt.io.publish import publish_text

    page = folder / "open.html"
    publish_text(
        page, f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">\n'
    )
    webbrowser.open(page.resolve().as_uri())
