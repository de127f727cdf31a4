"""The course of a run as its directory tells it, to anyone who looks, finished or not: misfits, and images kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from subsalt.inversion.cgls import Scalars
from subsalt.io.regular_files import read_json
from subsalt.methods.lsrtm.states import FOLDER as STATES

#: folder of the images by iteration in a run directory
FOLDER = "iterations"


def image_path(folder: Path, iteration: int) -> Path:
    """Return the file of the image of an iteration in a run directory."""
    return folder / FOLDER / f"image_{iteration:03d}.rsf"


def history_of(folder: Path) -> list[Scalars]:
    """Return the numbers of a run before its first iteration and after each; empty where none can be read."""
    for path in sorted((folder / STATES).glob("state_*.json"), reverse=True):
        try:
            return [Scalars.from_dict(numbers) for numbers in read_json(path)["history"]]
        except (OSError, ValueError, LookupError, TypeError):
            continue  # just removed, or damaged: that before it says nearly as much
    return []


def misfits_of(folder: Path) -> list[float]:
    """Return the misfit of a run before its first iteration and after each, over that of the start."""
    return [s.relative for s in history_of(folder)]


def misfit_is_of(history: Sequence[Scalars]) -> str:
    """Return the shots whose misfit an iteration has, in words; empty where it is that of all."""
    if len(history) < 2 or not history[-1].shots:
        return ""
    drawn, every = history[-1].shots, history[0].shots
    return f"the {drawn} of {every} shots drawn, before the step"


def pass_misfits(history: Sequence[Scalars]) -> list[float]:
    """Return the misfit of all shots in each pass that has taken every one, over that of the start.

    Each shot counts as it was before the step that took it: the mean over the images of a pass, which no single image
    has. Empty where iterations take all shots.
    """
    out, taken, misfit, start = [], 0, 0.0, 0.0
    for s in history[1:]:
        taken, misfit, start = taken + s.shots, misfit + s.misfit, start + s.start
        if taken and taken == history[0].shots:
            out.append(misfit / start if start > 0 else 0.0)
            taken, misfit, start = 0, 0.0, 0.0
    return out


@dataclass(frozen=True)
class KeptImage:
    """An image that an iteration has left.

    Parameters
    ----------
    iteration : int
        Steps taken; 0 where the iteration started from an image.
    path : Path
        Its file.
    """

    iteration: int
    path: Path

    @property
    def name(self) -> str:
        """Its name in a picture."""
        return "start" if self.iteration == 0 else f"iteration {self.iteration}"


def kept_images(folder: Path) -> list[KeptImage]:
    """Return the images that a run has kept, by iteration."""
    out = []
    for path in (folder / FOLDER).glob("image_*.rsf"):
        number = path.stem.removeprefix("image_")
        if number.isdigit() and path.is_file() and not path.is_symlink():
            out.append(KeptImage(int(number), path))
    return sorted(out, key=lambda image: image.iteration)
