"""Kept wavefields of runs as arrays for notebooks, and new images from them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.wavefield import StoredWavefield
from subsalt.earth.even_depths import EvenDepths
from subsalt.earth.grid import Grid
from subsalt.errors import MissingInputError
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.methods.rtm.source_run import SourceRun
from subsalt.methods.rtm.wavefields import CURE, by_shot, open_wavefield
from subsalt.option_arguments import refuse_unknown, takes_options
from subsalt.run.result import RunResult
from subsalt.view.run_image import grid_of, run_facts

if TYPE_CHECKING:
    from subsalt.option_keywords import ReimageKeywords


class Samples:
    """The samples of a kept wavefield, each an array (nx, nz) or (nx, ny, nz); read when they are asked for."""

    def __init__(self, stored: StoredWavefield, grid: Grid, depths: EvenDepths | None) -> None:
        self._stored, self._grid, self._depths = stored, grid, depths

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._stored.samples)

    def __getitem__(self, i: int) -> NDArray[np.float32]:
        """Return sample `i`, a copy; negative numbers count from the end."""
        field = self._stored.read(self._stored.samples[i])
        if self._depths is not None:
            return self._depths.field(field).reshape(self._grid.shape)
        return field.reshape(self._grid.shape).copy()


class ShotWavefields:
    """The wavefields that a run has kept of a shot; a context manager.

    Attributes
    ----------
    source, receiver : Samples or None
        u, and w at the same times; None where it was not kept.
    times : ndarray, (samples,)
        Times of the samples on the axis of the propagation, s: 0 is that of the traces.
    grid : Grid
        Grid of the shot's window, in the local frame of the model; of equal spacing along z also where waves were
        computed on a depth axis that follows the rock.
    """

    def __init__(self, run: str | Path, shot: int) -> None:
        source = SourceRun.open(Path(run))
        wavefields = by_shot(source.wavefields).get(shot)
        if not wavefields:
            known = sorted(by_shot(source.wavefields))
            some = f"; kept are shots {', '.join(map(str, known[:10]))}" if known else ""
            raise MissingInputError(f"{run} has kept no wavefield of shot {shot}{some}", CURE, code="E861")
        facts = run_facts(Path(run))
        whole = grid_of(facts, Path(run))
        if whole is None:
            raise MissingInputError(f"{run}/run.json does not say the grid of the run", CURE, code="E110")
        self.shot, self._stack = shot, ExitStack()
        opened = {n: self._stack.enter_context(open_wavefield(Path(run), w)) for n, w in wavefields.items()}
        first = next(iter(opened.values()))
        window = whole.window(first.box)
        # samples lie on the nodes of the waves, at depths that need not be equally far apart
        depths = None if window.depth_axis is None else EvenDepths(window)
        self.grid = window if depths is None else depths.even
        start = float(facts.get("t0") or 0.0)
        self.times = start + np.array(first.samples) * first.image_step * first.dt
        samples = {n: Samples(k, self.grid, depths) for n, k in opened.items()}
        self.source, self.receiver = samples.get("source"), samples.get("receiver")

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def __enter__(self) -> ShotWavefields:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def saved_wavefields(run: str | Path, shot: int) -> ShotWavefields:
    """Return the wavefields that a run has kept of a shot.

    Parameters
    ----------
    run : path
        Run directory of a job with ``[checkpoint] keep``.
    shot : int
        Its id.

    Raises
    ------
    MissingInputError
        When nothing of the shot was kept.

    Examples
    --------
    >>> with subsalt.saved_wavefields("survey.run", 7) as shot:              # doctest: +SKIP
    ...     energy = sum(u.astype(float) ** 2 for u in shot.source)
    """
    return ShotWavefields(run, shot)


@takes_options(Wish, none="None leaves a setting as the run had it.")
def reimage(
    run: str | Path,
    out: str | Path,
    *,
    progress: Callable[..., None] | None = None,
    **wish: Unpack[ReimageKeywords],
) -> RunResult:
    """Make a new image of a run from its partial images and kept wavefields; nothing is propagated.

    Parameters
    ----------
    run : path
        Run directory; only read.
    out : path
        Run directory of the new image; an existing one of the same settings goes on.
    progress : callable, optional
        ``progress(done, total, message)``.
    **wish
        Fields of `subsalt.methods.rtm.reimage.Wish`.

    Returns
    -------
    RunResult
        Where the image is, and its hash: that of a fresh run with the same job.

    Raises
    ------
    UnknownOptionError
        For an argument that does not exist; a `TypeError`.
    """
    refuse_unknown(wish, (f.name for f in fields(Wish)), "reimage", "E864")
    return reimage_run(Path(run), Path(out), Wish(**wish), progress)
