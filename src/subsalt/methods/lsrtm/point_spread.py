"""Point-spread functions of a survey: a lattice of points is modelled and migrated by the exact pair of operators."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from subsalt.errors import ConfigError
from subsalt.inversion.point_spread import CODE, TOO_NEAR, Lattice, PointSpread, lattice_every
from subsalt.methods.lsrtm.operator import BornOperator
from subsalt.methods.rtm.setup import MigrationSetup

#: distance of the nodes where none is given, in wavelengths of the peak frequency at the fastest velocity
WAVELENGTHS = 2.0


def point_spread(operator: BornOperator, distance: float | Sequence[float] | None = None) -> PointSpread:
    """Return the point-spread functions of a survey: its Hessian by columns on a lattice.

    Parameters
    ----------
    operator : BornOperator
        Linearised modelling of the survey, from `born_operator`, or that of a result of `lsrtm`.
    distance : float or sequence of float, optional
        From one node of the lattice to the next, m, along every axis; two wavelengths when left out. Smaller follows
        the model better, larger keeps the functions apart: `PointSpread.overlap` says how far they are.

    Returns
    -------
    PointSpread
        Its `deconvolve` takes the image of the adjoint of `operator`.

    Raises
    ------
    ConfigError
        When `distance` is no distance, no lattice fits, or no light comes to it (E898).

    Warns
    -----
    UserWarning
        When half of the functions or more reach out of their windows.

    Notes
    -----
    It takes one product with J and one with its adjoint, as much as one iteration of least-squares migration.

    Examples
    --------
    >>> op = subsalt.born_operator(model, survey, subsalt.ricker(15.0, 0.001))   # doctest: +SKIP
    >>> spread = subsalt.point_spread(op, 300.0)                                 # doctest: +SKIP
    >>> dm = spread.deconvolve(op.adjoint(data)).image                           # doctest: +SKIP
    """
    lattice = lattice_of(operator.setup, distance)
    spread = PointSpread.of_response(lattice, operator.adjoint(operator.forward(lattice.points())))
    if spread.typical_overlap > TOO_NEAR:
        warnings.warn(
            f"point-spread functions every {lattice.step} points reach out of their windows, whose outer quarter holds "
            f"{100 * spread.typical_overlap:.0f} % of the energy in the median: give a larger distance",
            stacklevel=2,
        )
    return spread


def lattice_of(setup: MigrationSetup, distance: float | Sequence[float] | None = None) -> Lattice:
    """Return the lattice of points on the grid of the waves; parameters and errors as of `point_spread`."""
    model = setup.model
    if distance is None:
        distance = WAVELENGTHS * model.fastest / setup.wavelet.f0
    given = np.asarray(distance, dtype=np.float64)
    if given.shape not in ((), (model.grid.ndim,)) or not (np.isfinite(given) & (given > 0)).all():
        raise ConfigError(
            f"distance = {distance!r}",
            "give the distance of nodes in m, one number or one per axis",
            code=CODE,
        )
    apart = np.broadcast_to(given, model.grid.ndim).tolist()
    return lattice_every(model.grid.shape, model.grid.spacing, apart)
