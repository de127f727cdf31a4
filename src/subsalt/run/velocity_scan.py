"""The frame of a velocity scan, whatever its method: its request, its scales, and one run directory for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from subsalt.errors import ConfigError
from subsalt.io import own
from subsalt.io.publish import make_folder

#: scales of a scan: more are a mistake in its step
MOST_SCALES = 41
#: scales outside have no meaning for a velocity
LEAST, MOST = 0.2, 5.0


@dataclass(frozen=True)
class ScanRequest:
    """A request for a scan of the velocity.

    Parameters
    ----------
    scales : str
        First, last and step of the factors on the velocity.
    places : sequence of places
        Where gathers are drawn.
    below : str, optional
        Depth (m), or text file of x and depth, below which alone the velocity of a depth image is scaled.
    mask : Path, optional
        Volume on the grid of the model that is not zero where alone it is scaled.
    by : {"scan", "curvature"}
        Migrate at every scale; or once, and invert the moveout.
    update : bool
        Write the updated velocity.
    """

    scales: str
    places: Sequence[Sequence[float]] = ()
    below: str | None = None
    mask: Path | None = None
    by: Literal["scan", "curvature"] = "scan"
    update: bool = False

    @property
    def of_depth(self) -> list[str]:
        """Options that only depth scans have."""
        given = {
            "--below": self.below is not None,
            "--mask": self.mask is not None,
            "--by curvature": self.by != "scan",
            "--update": self.update,
        }
        return [name for name, there in given.items() if there]


def scales_of(text: str) -> tuple[float, ...]:
    """Return the scales of a text such as ``0.9:1.1:0.05``: first, last and step.

    Raises
    ------
    ConfigError
        For anything else, and for ranges that are no scan.
    """
    cure = "write FIRST:LAST:STEP around 1, such as 0.9:1.1:0.05"
    try:
        first, last, step = (float(part) for part in text.split(":"))
    except ValueError:
        raise ConfigError(f"scales {text!r} are not three numbers", cure, "E834") from None
    if not all(math.isfinite(v) for v in (first, last, step)):
        raise ConfigError(f"scales {text!r} have a number that is not finite", cure, "E834")
    if step <= 0 or last <= first:
        what = "the step is not above 0" if step <= 0 else "the last one is not above the first"
        raise ConfigError(f"scales {text!r}: {what}", cure, "E834")
    if first < LEAST or last > MOST:
        raise ConfigError(
            f"scales {text!r}: scales are factors on the velocity, from {LEAST:g} to {MOST:g}",
            f"{cure}; percent and m/s are not understood",
            "E834",
        )
    count = math.floor((last - first) / step + 1e-6) + 1
    if not 2 <= count <= MOST_SCALES:
        raise ConfigError(
            f"scales {text!r} make {count} migration{'s' * (count != 1)}; a scan has 2 to {MOST_SCALES}",
            "choose another step",
            "E834",
        )
    # twelve digits: 0.9 + 2 * 0.05 is 1 and its folder is called so
    return tuple(round(first + k * step, 12) for k in range(count))


def folder_of(run: Path, part: str = "") -> Path:
    """Return the folder of the scan of a run: ``NAME.vscan`` beside ``NAME.run``.

    Parameters
    ----------
    run : Path
        Run directory.
    part : str
        A word for the part of the model that alone is scaled: scans of it lie in ``NAME_PART.vscan``.
    """
    name = run.name.removesuffix(".run")
    return run.with_name(f"{name}_{part}.vscan" if part else f"{name}.vscan")


def migrate_scales(
    scales: Sequence[float],
    scaled: Callable[[float], Any],
    folder: Path,
    migrate: Callable[[Any, Path, str], Any],
) -> list[Path]:
    """Migrate at every scale, each into a run directory of its own; collective when `migrate` is.

    Parameters
    ----------
    scales : sequence of float
        Factors on the velocity.
    scaled : callable
        Returns the job of a scale.
    folder : Path
        For the run directories; what is finished in it is not made again.
    migrate : callable
        Called with the job of a scale, its run directory, and a word on it.
    """
    make_folder(folder)
    own.refuse_links(folder, ("scale_*.run", "vscan.json"), outermost=("*",))
    own.claim(folder, [run_of(scale) for scale in scales])
    runs = []
    for n, scale in enumerate(scales):
        run = folder / run_of(scale)
        migrate(scaled(scale), run, f"scale {scale:g}, {n + 1} of {len(scales)}")
        runs.append(run)
    return runs


def run_of(scale: float) -> str:
    """Return the name of the run directory of a scale."""
    return f"scale_{scale:.4g}.run"


def left_of(scales: Sequence[float], folder: Path) -> int:
    """Return how many scales have no image in the folder of a scan."""
    return sum(not (folder / run_of(scale) / "image.sgy").is_file() for scale in scales)
