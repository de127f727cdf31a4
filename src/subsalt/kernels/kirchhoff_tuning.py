"""Tuning of the Kirchhoff sum to this machine: locations per tile and instruction set. It changes speed, no bit.

The first traces of a run on a large enough block of locations are summed in several ways in turn. The fastest is kept,
like the cuts of time steps (`tuning`): by processor, kind of sum, threads, and rough number of locations. Only
instruction sets with the bits of the best one are tried; with ``SUBSALT_ISA``, only the one that it names.
``SUBSALT_TUNE=off`` takes the defaults.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from subsalt import _native
from subsalt.kernels import cpu, tuning

if TYPE_CHECKING:
    from subsalt.kernels.kirchhoff_arguments import SumOptions

#: locations per tile, floats per vector
Way = tuning.Cut

#: tiles worth trying; a trace stays in the second cache for all locations of a tile
TILES = (64, 32, 16)

#: instruction sets of one numerics class, by floats per vector
ISAS = {16: "v4", 8: "v3"}

#: samples of images that one trial goes over per thread, at least: about 20 ms
TRIAL = 2e7

#: images with fewer samples are summed before a trial has said anything
SMALLEST = 1e5


class SumTuner(tuning.Tuner):
    """Choose how traces are summed into blocks of one kind, while a migration runs.

    Parameters
    ----------
    locations, nt : int
        Locations of a block, and samples of an image trace.
    options : SumOptions
        Options of the sum.
    eta : bool
        Whether the moveout is anisotropic.
    threads : int
        Threads to compute with.
    """

    def __init__(self, locations: int, nt: int, options: SumOptions, eta: bool, threads: int) -> None:
        self.best = (0, 0)  # as the compiled sum and the processor have it
        self.threads, self.points = threads, locations * nt
        bands = f"{options.antialias} {options.band_choice} {options.bands}"
        kind = f"kirchhoff {options.amplitude} {bands} {options.interpolation}" + " eta" * eta
        size = f"{2 ** round(math.log2(max(locations, 1)))} locations"
        isa = cpu.in_use()[1] or os.environ.get("SUBSALT_ISA", "").strip()
        sets = [n for n, name in ISAS.items() if name in cpu.available() and isa in ("", name)]
        self.key = " | ".join((tuning.machine(), isa or _native.isa(), kind, size, f"t{threads}"))
        choices = tuple((tile, lanes) for lanes in sets for tile in TILES)
        self.choose_among(choices, worth_it=self.points >= SMALLEST)

    def steps(self, tried: Way) -> int:
        """Return the traces of a trial."""
        return max(1, math.ceil(TRIAL * self.threads / self.points))

    def parts(self, traces: int) -> Iterator[tuple[Way, slice]]:
        """Cut a block of traces into trials, as long as nothing is settled, and the rest."""
        at = 0
        while at < traces:
            way, count = self.trial(traces - at)
            yield way, slice(at, at + count)
            at += count

    def summed(self, way: Way, traces: slice, contributions: int, seconds: float) -> None:
        """Note how long a part took; traces that reach nothing say nothing."""
        if contributions > 0:
            count = traces.stop - traces.start
            self.took(way, count, count * seconds / contributions)


_tuners: dict[tuple[str, str], SumTuner] = {}


def tuner_of(locations: int, nt: int, options: SumOptions, eta: bool, threads: int) -> SumTuner:
    """Return the tuner for blocks of this kind; a process has one."""
    made = SumTuner(locations, nt, options, eta, threads)
    return _tuners.setdefault((made.key, os.environ.get("SUBSALT_TUNE", "")), made)
