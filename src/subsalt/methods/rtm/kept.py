"""The sums of an imaging condition from wavefields that were kept, without propagating: same kernels, same order.

While wavefields propagate, the illumination grows with ascending samples of the source field, the correlation with
descending ones, as the receiver field runs backward in time. The same additions in the same order give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels
from subsalt.earth.grid import Box
from subsalt.errors import MemoryPlanError
from subsalt.host import available_memory
from subsalt.methods.rtm.image_sum import ILLUMINATION
from subsalt.methods.rtm.rtm import window_taper
from subsalt.methods.rtm.setup import MigrationSetup

CORRELATION = "correlation"


class KeptField(Protocol):
    """The imaged field of one wavefield at the samples of a shot, window interior."""

    def expect(self, samples: Sequence[int]) -> None:
        """Say in which order samples will be read."""

    def read(self, sample: int) -> NDArray[np.float32]:
        """Return sample `sample` (from 1; time index ``sample`` times the image step), shape of the window."""


def sums_of_kept(
    setup: MigrationSetup,
    window: Box,
    names: Sequence[str],
    samples: Sequence[int],
    source: KeptField,
    receiver: KeptField | None,
    progress: Callable[[float], None] | None = None,
) -> dict[str, NDArray[np.float32]]:
    """Return the accumulated fields of a shot, as `subsalt.methods.rtm.rtm.migrate_shot` would.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices; its image step gives the weight of a sample.
    window : Box
        Of the shot, on the model grid.
    names : sequence of str
        ``"correlation"``, ``"illumination"``: what is wanted.
    samples : sequence of int
        Numbers of the samples that count, ascending.
    source, receiver : KeptField
        u, and w at the times at which it meets u; the illumination alone needs no w.
    progress : callable, optional
        Called with the fraction done.

    Raises
    ------
    MemoryPlanError
        When the sums and two samples do not fit into memory.
    """
    device = kernels.get(setup.propagation.device)
    need = 4 * window.size * (len(names) + 2)
    if need > available_memory():
        raise MemoryPlanError(
            f"the sums and two samples of a window of {window.shape} points take {need / 1e9:.2f} GB, "
            f"{available_memory() / 1e9:.2f} GB are available",
            "use fewer ranks on this machine",
            code="E612",
        )
    scale = setup.image_step * setup.axis.dt
    sums = {name: device.zeros(window.shape) for name in names}
    total, done = max(1, len(names) * len(samples)), 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / total)

    if ILLUMINATION in sums:
        source.expect(samples)
        for i in samples:
            u = device.to_device(source.read(i))
            device.product(sums[ILLUMINATION], u, u, scale)
            tell()
    if CORRELATION in sums:
        assert receiver is not None, "a correlation needs both wavefields"
        backwards = samples[::-1]
        source.expect(backwards)
        receiver.expect(backwards)
        for i in backwards:
            u, w = device.to_device(source.read(i)), device.to_device(receiver.read(i))
            device.product(sums[CORRELATION], u, w, scale)
            tell()
    found = {name: device.to_host(a) for name, a in sums.items()}
    for weight in window_taper(setup, window):
        for a in found.values():
            a *= weight
    return found
