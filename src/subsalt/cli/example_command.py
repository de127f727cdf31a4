"""`subsalt example`: a survey to learn with, made in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.app_root import app, example
from subsalt.cli.output import Out
from subsalt.cli.talk import Json


@app.command(
    "example",
    short_help="Make a small survey to learn with.",
    epilog=example("subsalt example marine marine"),
)
def make(
    name: Annotated[
        str | None, typer.Argument(help="marine, vti3d, time3d or land; a list of them when left out.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Argument(help="New or empty folder for the files.  [default: NAME]", readable=False),
    ] = None,
    shots: Annotated[
        int | None, typer.Option(help="Number of shots of the marine line, 1 to 1001.  [default: 60]")
    ] = None,
    json: Json = False,
) -> None:
    """Make a survey to learn with, offline and within a minute: shots, velocity, and a text about them."""
    from subsalt.examples import EXAMPLES, NOTE, example_of, make_example

    out = Out(json)
    if name is None:
        summaries = {known: example_of(known).summary for known in EXAMPLES}
        for known, summary in summaries.items():
            out.say(f"{known:<8} {summary}")
        out.say("make one: subsalt example NAME [FOLDER]")
        out.json(summaries)
        return
    place = folder if folder is not None else Path(name)
    made = make_example(name, place, shots)
    width = max(len(file) for file in made.files)
    out.say(f"{name:<{width}}  {made.summary}   {place}")
    for file, text in made.files.items():
        out.say(f"{file:<{width}}  {text}")
    out.say(f"try these in {place} ({NOTE} lists them again):")
    for command in made.commands:
        out.say(f"    {command}")
    out.json({"example": name, "folder": str(place), "files": [str(place / file) for file in made.files]})
