"""The gathers that a migration makes: half offsets, offsets, columns, and angles, from what options leave open.

Half offsets are metres. Where their step is no whole number of cells of the grid on which waves are computed, they are
interpolated between those of all cells. A column of the image is made of all columns of sums that an interpolation or a
Laplacian looks at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels
from subsalt.acquisition.survey import Shot
from subsalt.earth.grid import Grid
from subsalt.earth.regrid import OF_IMAGE, Regridder, window
from subsalt.errors import ConfigError
from subsalt.methods.rtm.angle_range import with_range
from subsalt.methods.rtm.conditions import WHOLE, LagAxis, Lags, refuse_device, refuse_own_memory
from subsalt.methods.rtm.dips import FEWEST_LINES
from subsalt.methods.rtm.image_sum import reach_of
from subsalt.methods.rtm.offset_classes import OffsetClasses, offset_axis
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import GatherOptions

#: half offsets on either side of zero when nobody says how far they go
STEPS = 20


def lag_axis(axis: int, options: GatherOptions, spacing: float) -> LagAxis:
    """Return the half offsets that options ask for along an axis.

    Parameters
    ----------
    spacing : float
        Distance of the points along it on which waves are computed, m.
    """
    step = options.step or spacing
    count = STEPS if options.max is None else math.floor(options.max / step + WHOLE)
    wanted = np.arange(-count, count + 1)
    lags = tuple(float(step * k) for k in wanted)
    per_step = step / spacing
    if abs(per_step - round(per_step)) < WHOLE and round(per_step) > 0:
        return LagAxis(axis, tuple(int(k) * round(per_step) for k in wanted), lags)
    far = math.ceil(count * per_step) + OF_IMAGE.reach
    cells = np.arange(-far, far + 1)
    distances: NDArray[np.float64] = per_step * wanted[:, None].astype(np.float64) - cells[None]
    weights = window(distances, OF_IMAGE)
    weights /= weights.sum(axis=1, keepdims=True)
    return LagAxis(axis, tuple(cells.tolist()), lags, weights)


def lags_of(options: GatherOptions, waves: Grid, image: Grid, reach: int) -> Lags:
    """Return the gathers that options ask for.

    Parameters
    ----------
    waves, image : Grid
        Grid on which waves are computed, and grid of the image.
    reach : int
        Columns on either side of one that condition and filter look at.

    Raises
    ------
    ConfigError
        E756: half offsets along y in 2-D, none beside zero, or too few lines for the dips of angle gathers in 3-D.
    """
    if image.ndim == 2 and options.along != "x":
        raise ConfigError(
            f'gathers along = "{options.along}": the image is 2-D, a section along x',
            'use along = "x", or leave it out',
            code="E756",
        )
    if image.ndim == 3 and options.kind == "angle":
        for name in options.along:
            across, lines = "yx"["xy".index(name)], image.shape3[1 - "xy".index(name)]
            if lines < FEWEST_LINES:
                raise ConfigError(
                    f'gathers kind = "angle" along {name}: angles depend on the dip of the reflector along {across}, '
                    f"which is measured on {FEWEST_LINES} lines of the image, and it has {lines}",
                    f'use kind = "lag", or {FEWEST_LINES} lines along {across} and more',
                    code="E756",
                )
    axes = tuple(
        lag_axis("xy".index(name), options, waves.spacing3["xy".index(name)]) for name in options.along
    )
    if any(len(a.lags) == 1 for a in axes):
        raise ConfigError(
            f"gathers max = {options.max:g} m is less than their step, "
            f"{options.step or max(waves.spacing[:-1]):g} m: there is no half offset beside zero",
            "use a larger max, or a smaller step",
            code="E756",
        )
    return Lags(axes, *_columns_of(options, waves, image, reach))


#: numbers along x, and along y
Columns = tuple[tuple[int, ...], tuple[int, ...]]


def _columns_of(options: GatherOptions, waves: Grid, image: Grid, reach: int) -> tuple[Columns, Columns]:
    """Return the columns of the image that get gathers, and those that are summed for them (`Lags`)."""
    wanted = [range(0, n, options.every) for n in image.shape3[:2]]
    summed = [_summed_along(axis, some, waves, image, reach) for axis, some in enumerate(wanted)]
    return (tuple(wanted[0]), tuple(wanted[1])), (summed[0], summed[1])


def _summed_along(axis: int, columns: range, waves: Grid, image: Grid, reach: int) -> tuple[int, ...]:
    """Return the columns along an axis of the grid of the waves that columns of the image are made of."""
    if axis == 1 and image.ndim == 2:
        return (0,)
    n = image.shape3[axis]
    spans = [(max(0, c - reach), min(n, c + reach + 1)) for c in columns]
    if waves != image:
        carry = Regridder(waves, image, "mirror")
        spans = [carry.needed(axis, lo, hi) for lo, hi in spans]
    return tuple(sorted({i for lo, hi in spans for i in range(lo, hi)}))


def with_gathers(setup: MigrationSetup, shots: Sequence[Shot] = ()) -> MigrationSetup:
    """Return a setup with the gathers that its options ask for, or without.

    Parameters
    ----------
    setup : MigrationSetup
        Its gathers are chosen anew.
    shots : sequence of Shot
        Shots in whose windows the half offsets must have room.

    Raises
    ------
    ConfigError
        E756: gathers that the image or a window has no room for, or angles that no source and receiver see; E757: the
        device has no kernels for them.
    """
    options = setup.imaging.gathers
    if options is None:
        return replace(setup, lags=None, offsets=None)
    if options.kind == "offset":
        return _with_offsets(setup, options, shots)
    refuse_device(kernels.get(setup.propagation.device))
    options = with_range(options, setup, shots)
    setup = replace(setup, imaging=replace(setup.imaging, gathers=options))
    lags = lags_of(options, setup.model.grid, setup.image_grid, reach_of(setup))
    for axis in lags.axes if shots else ():
        narrow = min(shots, key=lambda s: setup.window(s).shape[axis.axis])
        lags.refuse_wide(setup.window(narrow), setup.model.grid, narrow.id)
    return replace(setup, lags=lags, offsets=None)


def _with_offsets(setup: MigrationSetup, options: GatherOptions, shots: Sequence[Shot]) -> MigrationSetup:
    """Return a setup with gathers by surface offset; of no shots, with the classes that it has."""
    model, grid = setup.model, setup.model.grid
    refuse_own_memory(kernels.get(setup.propagation.device), '[imaging.gathers] kind = "offset"')
    known = setup.offsets.axes[0] if setup.offsets is not None and not shots else None
    axis = known or offset_axis(options, shots, grid.ndim)
    # half a wavelength of the image, of which v / (2 f0) is one
    half = 0.25 * 0.5 * (model.vp_min + model.fastest) / setup.wavelet.f0 / grid.spacing3[2]
    columns, summed = _columns_of(options, grid, setup.image_grid, reach_of(setup))
    classes = OffsetClasses((axis,), columns, summed, half_window=max(1, round(half)))
    return replace(setup, lags=None, offsets=classes)
