"""An example survey: how it is made, what its files hold, what is true of it, and what to try with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Example:
    """A survey that can be made anywhere, from formulas or by modelling.

    Parameters
    ----------
    summary : str
        One line, for the help.
    make : callable
        ``make(folder, shots)`` writes the files into a folder that is there.
    files : mapping of str to str
        Each file or folder that it writes, with what it holds.
    truth : str
        Where the reflectors are.
    commands : tuple of str
        To try in the folder, in this order.
    shots : int
        Shots that are made unless another number is asked for.
    most : int
        Largest number of shots; the same as `shots` where the number is fixed.
    """

    summary: str
    make: Callable[[Path, int], None]
    files: Mapping[str, str]
    truth: str
    commands: tuple[str, ...]
    shots: int
    most: int

    def readme(self, name: str, shots: int) -> str:
        """Return the text that says what the folder holds."""
        width = max(len(file) for file in self.files)
        return "\n".join(
            [
                f"{name}: {self.summary}, {shots} shots",
                f"made by: subsalt example {name} FOLDER --shots {shots}",
                "",
                *(f"{file:<{width}}  {text}" for file, text in self.files.items()),
                "",
                f"True: {self.truth}.",
                "",
                "Try, in this folder:",
                "",
                *(f"    {command}" for command in self.commands),
                "",
            ]
        )
