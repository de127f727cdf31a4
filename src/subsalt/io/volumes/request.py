"""Requests for a volume: what a job says of its grid, and what counts where the file differs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError, ModelError

#: names of the last axis of a model
DEPTH = ("z", "depth")


def spacing_cure(path: object, ndim: int) -> str:
    """Return how to give the spacing of a volume whose file does not say it: in a job, a command, a program."""
    axes = "dx, dz" if ndim == 2 else "dx, dy, dz"
    return (
        f'in a job: {{file = "{os.path.basename(str(path))}", spacing = [{axes}]}}; with subsalt export: '
        f"--spacing {axes.replace(' ', '')}; in Python: spacing = ({axes})"
    )


@dataclass(frozen=True)
class VolumeRequest:
    """A caller's request for a volume, beside its name.

    Parameters
    ----------
    key : str, optional
        Name of the array in formats that hold several; optional if the file holds only one.
    spacing, origin : sequence of float, optional
        Replace the file's; m, x first.
    rsf_outside : bool
        Let an RSF header name data outside its folder.
    data : path-like, optional
        The data of an RSF header, instead of the file that it names.
    last : tuple of str
        Names that the last axis may have in an NPZ file.
    """

    key: str | None = None
    spacing: Sequence[float] | None = None
    origin: Sequence[float] | None = None
    rsf_outside: bool = False
    last: tuple[str, ...] = DEPTH
    data: str | os.PathLike[str] | None = None

    def pick(self, path: object, names: Sequence[str], holds: str = "holds", none: str = "no volume") -> str:
        """Return the name of the array to read: the one asked for, or the only one."""
        if self.key is None and len(names) == 1:
            return names[0]
        if self.key is None or self.key not in names:
            raise ModelError(
                f"{path} {holds} {', '.join(names) or none}", 'say which: key = "..."', code="E231"
            )
        return self.key

    def grid(
        self,
        path: object,
        shape: tuple[int, ...],
        spacing: Sequence[float] | None = None,
        origin: Sequence[float] | None = None,
    ) -> Grid:
        """Return the grid of values whose file says `spacing` and `origin`; what was asked for counts first.

        Raises
        ------
        ModelError
            When the shape is no volume's, or the spacing of an axis is not given.
        """
        spacing, origin = self.spacing or spacing, self.origin or origin
        if len(shape) not in (2, 3):
            raise ModelError(
                f"{path} has {len(shape)} axes {shape}", "a volume has 2 (x, z) or 3 (x, y, z)", code="E230"
            )
        if spacing is None:
            raise ModelError(f"{path} does not say its spacing", spacing_cure(path, len(shape)), code="E225")
        if len(spacing) != len(shape) or (origin is not None and len(origin) != len(shape)):
            raise ModelError(
                f"{path} has shape {shape}; spacing {list(spacing)}, origin "
                f"{None if origin is None else list(origin)}",
                "give one value per axis",
                code="E225",
            )
        try:
            return Grid(shape, tuple(spacing), tuple(origin) if origin is not None else ())
        except ConfigError as e:  # of a file, it is the data that are wrong
            cure = e.fix or "correct the file, or say spacing and origin in the job"
            raise ModelError(f"{path}: {e.message}", cure, code="E230") from e
