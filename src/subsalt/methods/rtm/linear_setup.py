"""Setup that linearised modelling and its adjoint share: time axes, wavelet of what scatters, weights of the image."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels, physics
from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.timemap import TraceMap
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike
from subsalt.errors import ConfigError
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.methods.rtm.traces import propagation_axis, source_samples, to_record
from subsalt.propagation.options import ImagingOptions, PropagationOptions


def linear_setup(
    model: ModelLike,
    wavelet: Wavelet,
    record: TimeAxis,
    propagation: PropagationOptions,
    aperture: float | None = None,
    image_grid: Grid | None = None,
) -> MigrationSetup:
    """Return the setup of linearised modelling and of its adjoint.

    Parameters
    ----------
    model : ModelLike
        Background, on the grid on which waves are computed.
    wavelet : Wavelet
        Source signature.
    record : TimeAxis
        Time axis of the traces.
    propagation : PropagationOptions
        Scheme.
    aperture : float, optional
        Width of the part of the model around a shot that it propagates and scatters in, m; all when None.
    image_grid : Grid, optional
        Grid to which an image is carried in the end; that of the model when None.

    Raises
    ------
    ConfigError
        E754, below a free surface inside the model: what lies above it has no exact adjoint.
    """
    if propagation.topography is not None:
        raise ConfigError(
            "the Born operator has no exact adjoint below a free surface inside the model",
            "leave topography out",
            code="E754",
        )
    imaging = ImagingOptions(
        mode="adjoint", condition="source-normalised", filter="none", aperture=aperture, top_mute=0.0
    )
    setup = MigrationSetup.build(model, wavelet, record, propagation, imaging, image_grid)
    if propagation.time_dispersion:
        # the inverse transform of a trace needs the whole event that the record cuts
        axis = propagation_axis(record, wavelet, setup.axis.dt, 2.0 / wavelet.f0)
        setup = replace(
            setup, axis=axis, signature=source_samples(wavelet, axis, propagation.time_dispersion)
        )
    pairs = physics.medium_of(setup.model, propagation.medium) != "isotropic"
    signature = second_difference(setup.signature, setup.axis.dt)
    return replace(setup, signature=signature, scatters=True, pairs=pairs)


def refuse_pairs_on_gpu(setup: MigrationSetup) -> None:
    """Raise for anisotropic waves on a GPU: the adjoint takes both of their fields on the host.

    Raises
    ------
    ConfigError
        E897.
    """
    device = setup.propagation.device
    if setup.pairs and kernels.get(device).OWN_MEMORY:
        raise ConfigError(
            f"linearised modelling of anisotropic media on the device {device}: both fields are taken on the host",
            'use device = "cpu"',
            code="E897",
        )


def second_difference(signature: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
    """Return ``(f[n+1] - 2 f[n] + f[n-1]) / dt^2``, zero beyond both ends: the source of u_tt."""
    padded = np.concatenate([[0.0], signature, [0.0]])
    return np.asarray((padded[2:] - 2.0 * padded[1:-1] + padded[:-2]) / dt**2)


def record_map(setup: MigrationSetup) -> TraceMap:
    """Return the map from recorded samples to the record's axis; it leaves out what lies above the source's band."""
    ends = [end for end in (setup.highest, setup.wavelet.fmax) if end is not None]
    dispersion = setup.propagation.time_dispersion
    return to_record(setup.axis, setup.record, time_dispersion=dispersion, fmax=min(ends))


def sums_to_gradient(setup: MigrationSetup, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return J^T d of the sums over shots of the products of both wavefields, on the grid of the model.

    Notes
    -----
    A sum has the weight ``k dt`` of its samples, and along a stretched depth axis dz / dzeta once, for an image; a
    source is divided by the volume of a cell, and the operator is symmetric with the weight (dz / dzeta)^2 there.
    """
    grid = setup.model.grid
    out = sums * (-grid.cell_volume / setup.axis.dt)
    scale = grid.depth_scale
    return out if scale is None else out / scale
