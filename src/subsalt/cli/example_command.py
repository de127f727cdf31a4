"""`subsalt example`: a survey to learn with, made in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt.cli.app_root import command
from subsalt.cli.output import Out
from subsalt.cli.talk import Json


@command(
    "Make a small survey to learn with.",
    "subsalt example",
    "subsalt example marine",
    "subsalt example marine line --shots 20",
    name="example",
)
def make(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Survey: marine, vti3d, time3d, land, layer or lens. Without a name the surveys are listed.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="New or empty folder for the files.", readable=False, show_default="NAME"
        ),
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(
            help="Number of shots: marine to 1001, layer to 41, lens to 79; the others are fixed.",
            show_default="60, 31, 16",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a survey to learn with: shots, velocity, and a text that describes them.

    It needs no network and takes less than a minute.
    """
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
    for words in made.commands:
        out.say(f"    {words}")
    out.json({"example": name, "folder": str(place), "files": [str(place / file) for file in made.files]})
