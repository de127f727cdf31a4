"""The half opening angles that a survey can have: by its offsets, the depth of the image, and the velocities above.

In constant velocity source and receiver, X apart, see the point midway between them, z below, under ``2 atan(X / 2z)``,
and no point at that depth under more. Where velocity grows with depth rays bend away from the vertical. In layers with
waves of v_min to v_max the slowness along x, ``p = sin(gamma) / v``, brings a ray X/2 away within z, so that ::

    X / 2 >= z tan(asin(p v_min))        sin(gamma) <= (v_max / v_min) sin(atan(X / 2z))

What lies less than a wavelength below sources and receivers is no image: z is a wavelength there, or `top_mute`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from subsalt.acquisition.survey import Shot
from subsalt.errors import ConfigError
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import GatherOptions

#: no angle is wider, degrees: sources and receivers beside a point
WIDEST = 89.0


def largest_offset(shots: Sequence[Shot]) -> float:
    """Return the largest distance of a source and a receiver of it along the surface, m."""
    return max(float(np.hypot(*(s.rcv[:, :2] - s.src[:2]).T).max()) for s in shots if len(s.rcv))


def shallowest_image(setup: MigrationSetup) -> float:
    """Return the depth below sources and receivers from which on there is an image, m: a wavelength, or the mute."""
    return max(float(setup.model.vp_min) / setup.wavelet.f0, setup.imaging.top_mute)


def widest_opening(offset: float, depth: float, speeds: tuple[float, float]) -> float:
    """Return the largest half opening angle, degrees.

    Parameters
    ----------
    offset : float
        Distance of source and receiver, m.
    depth : float
        Depth of the point below them, m.
    speeds : tuple of float
        Slowest and fastest wave above it, m/s.
    """
    sine = speeds[1] / speeds[0] * math.sin(math.atan2(offset, 2.0 * depth))
    return min(WIDEST, math.degrees(math.asin(min(1.0, sine))))


def with_range(options: GatherOptions, setup: MigrationSetup, shots: Sequence[Shot]) -> GatherOptions:
    """Return options with the largest angle that they leave open: the default, or what the survey can have.

    Parameters
    ----------
    options : GatherOptions
        Options of gathers; those by half offset stay as they are.
    setup : MigrationSetup
        Model, wavelet and mute.
    shots : sequence of Shot
        All of the survey; of none nothing is said.

    Raises
    ------
    ConfigError
        E756: no source and receiver see a point under the angle asked for, or under any step of angles.
    """
    if options.kind != "angle" or not any(len(s.rcv) for s in shots):
        return options
    offset, depth = largest_offset(shots), shallowest_image(setup)
    speeds = float(setup.model.vp_min), float(setup.model.fastest)
    widest = widest_opening(offset, depth, speeds)
    wanted, step = options.degrees
    fits = step * math.floor(widest / step + 1e-9)
    where = f"offsets go to {offset:.4g} m, and the image begins {depth:.4g} m below sources and receivers"
    if fits == 0:
        raise ConfigError(
            f'gathers kind = "angle", every {step:g} degrees: {where}: no wave opens by more than {widest:.2g} degrees '
            "on either side",
            'use kind = "lag", or a smaller angle_step',
            code="E756",
        )
    if options.angle is None:
        return replace(options, angle=min(wanted, fits))
    if options.angle > widest:
        raise ConfigError(
            f"gathers angle = {wanted:g} degrees: {where}: no wave opens by more than {widest:.3g} degrees on either "
            "side",
            f"use angle = {fits:g} or less",
            code="E756",
        )
    return options
