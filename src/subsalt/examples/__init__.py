"""Surveys to learn with, made offline within a minute: `make_example`, and the table of them, `EXAMPLES`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from subsalt.errors import ConfigError
from subsalt.examples.example import Example
from subsalt.io import own
from subsalt.io.publish import make_folder, publish_text

#: where each example is
EXAMPLES = {
    "marine": "subsalt.examples.marine",
    "vti3d": "subsalt.examples.vti3d",
    "time3d": "subsalt.examples.time3d",
    "land": "subsalt.examples.land",
    "layer": "subsalt.examples.layer",
    "lens": "subsalt.examples.lens",
}
NOTE = "README.txt"


def example_of(name: str) -> Example:
    """Return an example by its name.

    Raises
    ------
    ConfigError
        When there is none of that name.
    """
    if name not in EXAMPLES:
        raise ConfigError(f"there is no example {name!r}", f"use one of: {', '.join(EXAMPLES)}", code="E104")
    example: Example = import_module(EXAMPLES[name]).EXAMPLE
    return example


def make_example(name: str, folder: str | Path, shots: int | None = None) -> Example:
    """Make an example in a folder.

    Parameters
    ----------
    name : str
        One of `EXAMPLES`.
    folder : path-like
        Made when missing; it has to be empty, or hold the same example already.
    shots : int, optional
        How many shots; those of the example when left out.

    Returns
    -------
    Example
        With its files and the commands to try.

    Raises
    ------
    ConfigError
        When there is no such example, it cannot have so many shots, or the folder holds something else.
    """
    example, folder = example_of(name), Path(folder)
    number = example.shots if shots is None else shots
    if not (1 <= number <= example.most and (number == example.shots or example.most > example.shots)):
        most = f"1 to {example.most}" if example.most > example.shots else f"{example.shots}"
        raise ConfigError(f"the example {name} cannot have {number} shots", f"use {most}", code="E104")
    text = example.readme(name, number)
    if folder.exists():
        if not folder.is_dir():
            raise ConfigError(f"{folder} is a file", "name a folder", code="E811")
        note = folder / NOTE
        same = note.is_file() and own.read_text(note) == text
        if not same and any(folder.iterdir()):
            raise ConfigError(f"{folder} is not empty", "name a new folder", code="E811")
    make_folder(folder)
    own.refuse_links(folder, tuple(example.files))
    publish_text(folder / NOTE, text)
    example.make(folder, number)
    return example
