"""The time steps of `lab io`: two wavefields on this rank's slab, each fed a slice per step, and their image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.earth.model import EarthModel
from subsalt.io.prestack.slice_reader import SliceStream
from subsalt.io.prestack.time_slices import TimeSlices
from subsalt.kernels.problem import State
from subsalt.kernels.work import Correlation, Snapshots, Source
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.propagation.dense import attach
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator
from subsalt_lab.io_case import BLOCK, Case
from subsalt_lab.io_files import DT, RANGES, SPACING, grid_of


class HeldModel:
    """A model of which this rank has some planes in memory, as it read them.

    Parameters
    ----------
    case : Case
        The whole grid.
    first : int
        First plane held.
    volumes : dict of ndarray
        Values of the planes held.
    """

    medium = "vti"

    def __init__(self, case: Case, first: int, volumes: dict[str, NDArray[np.float32]]) -> None:
        self.grid = grid_of(case)
        self.first = first
        last = first + len(volumes["vp"])
        _, ny, nz = case.grid
        self._held = EarthModel(self.grid.window(Box((first, 0, 0), (last, ny, nz))), **volumes)  # type: ignore[arg-type]

    @property
    def fastest(self) -> float:
        """Largest P velocity that the files can hold, m/s."""
        return float(RANGES["vp"][1] * (1 + 2 * RANGES["epsilon"][1]) ** 0.5)

    def window(self, box: Box) -> EarthModel:
        """Return the model in a box of the planes held."""
        shift = self.first
        return self._held.window(Box((box.lo[0] - shift, *box.lo[1:]), (box.hi[0] - shift, *box.hi[1:])))


class Steps:
    """Source and receiver wavefield of one shot on the slab of this rank.

    Parameters
    ----------
    case : Case
        Grid, number of steps, and the share of them that is computed.
    comm : Comm
        All ranks: the group of the shot.
    slab : Slab
        The planes owned.
    model : dict of ndarray
        Volumes on the planes held.
    sets : sequence of TimeSlices
        Source and receivers.
    feeds : sequence of SliceStream
        Their slices, of the x positions from `held` on.
    held : tuple of int
        Range of x positions that the feeds bring.
    """

    def __init__(
        self,
        case: Case,
        comm: Comm,
        slab: Slab,
        model: dict[str, NDArray[np.float32]],
        sets: Sequence[TimeSlices],
        feeds: Sequence[SliceStream],
        held: tuple[int, int],
    ) -> None:
        self.case, self.feeds = case, feeds
        _, ny, nz = case.grid
        self.image = np.zeros((slab.hi - slab.lo, ny, nz), np.float32)
        self.sources: list[Source] = []
        if case.compute == 0:
            return
        options = PropagationOptions(boundary="none", source_taper=None)
        earth = HeldModel(case, held[0], model)
        group = comm if comm.size > 1 else None
        self.propagator = Propagator(earth, options, DT, group=group)  # type: ignore[arg-type]
        self.states: list[State] = [self.propagator.new_state() for _ in sets]
        # two rows below the top: the stencil's own rows are those of any other source
        depth = 2 * SPACING
        self.sources = [
            attach(self.propagator, s, held, f, case.steps, depth) for s, f in zip(sets, feeds, strict=True)
        ]
        self._sample = np.empty(self.propagator.interior.shape, np.float32)

    def run(self) -> None:
        """Take all slices, and compute the share of the steps that was asked for."""
        for begin in range(0, self.case.steps, BLOCK):
            count = min(BLOCK, self.case.steps - begin)
            computed = round(self.case.compute * (begin + count)) - round(self.case.compute * begin)
            if self.sources and computed:
                self._advance(computed)
            for brought in self.feeds:
                for _ in range(count - computed):
                    brought.next_slice()

    def _advance(self, n: int) -> None:
        """Advance both wavefields by `n` steps and add the product of the last samples to the image."""
        box, (src, rcv) = self.propagator.interior, self.states
        last = src.it + n
        keep = Snapshots(box, {last: self._sample})
        self.propagator.advance(src, n, sources=self.sources[:1], snapshots=keep)
        product = Correlation(box, {last: self._sample}, self.image, 1.0)
        self.propagator.advance(rcv, n, sources=self.sources[1:], correlation=product)
