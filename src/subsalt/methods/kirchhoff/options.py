"""Options of Kirchhoff time migration, with the defaults that a job file may leave out."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Literal, get_args

from subsalt.errors import ConfigError

Amplitude = Literal["3d", "2.5d", "none"]
Antialias = Literal["bands", "triangle", "none"]
BandChoice = Literal["interpolate", "nearest"]
Interpolation = Literal["sinc", "linear"]
Traveltime = Literal["straight", "curved"]

#: more bands than any antialiasing needs; each is a copy of the traces
MOST_BANDS = 64


@dataclass(frozen=True)
class KirchhoffOptions:
    """How traces are summed into the image.

    Parameters
    ----------
    amplitude : {"3d", "2.5d", "none"}
        Amplitude and phase correction. ``"3d"``: the weight W3 and the derivative -d/dt of a 3-D survey; ``"2.5d"``:
        the weight W2 and the half derivative of one line over a 3-D earth; ``"none"``: weight 1, phase as recorded.
    aperture : float, optional
        Largest distance of a midpoint from an output location, m; no limit when None.
    aperture_taper : float
        Last part of that distance over which a trace fades, raised cosine.
    dip : float, optional
        Largest dip, degrees: a trace counts where its midpoint is nearer than (v t0 / 2) tan(dip). No limit when None.
    dip_taper : float
        Last part of that distance over which a trace fades.
    antialias : {"bands", "triangle", "none"}
        ``"bands"``: copies of every trace low-passed at some corners; ``"triangle"``: a triangle filter as long as the
        operator is steep, continuously.
    antialias_spacing : tuple of float, optional
        Spacing of the input midpoints from inline to inline and from crossline to crossline, m, that the antialiasing
        protects; the distance from one line number to the next when None, whatever the increments of the output.
    bands : int
        Number of alias bands B: band j = 0 ... B-1 is low-passed at f_Nyquist (B - j) / B.
    band_choice : {"interpolate", "nearest"}
        Between two bands, or the highest one below the limit.
    stretch_mute : float, optional
        Largest stretch dt0/dt - 1 (0.3 is 30 %); no mute when None.
    stretch_taper : float
        Last part of it over which samples fade.
    interpolation : {"sinc", "linear"}
        Between the samples of a trace; ``"sinc"`` is right to 1e-3 below 0.7 of the Nyquist frequency.
    traveltime : {"straight", "curved"}
        Hyperbola of the rms velocity, or with the fourth-order term of a layered earth.
    """

    amplitude: Amplitude = "3d"
    aperture: float | None = None
    aperture_taper: float = 0.1
    dip: float | None = None
    dip_taper: float = 0.1
    antialias: Antialias = "bands"
    antialias_spacing: tuple[float, float] | None = None
    bands: int = 10
    band_choice: BandChoice = "interpolate"
    stretch_mute: float | None = 0.3
    stretch_taper: float = 0.2
    interpolation: Interpolation = "sinc"
    traveltime: Traveltime = "straight"

    def __post_init__(self) -> None:
        for name, known in (
            ("amplitude", Amplitude),
            ("antialias", Antialias),
            ("band_choice", BandChoice),
            ("interpolation", Interpolation),
            ("traveltime", Traveltime),
        ):
            if getattr(self, name) not in get_args(known):
                raise ConfigError(
                    f"{name} = {getattr(self, name)!r}",
                    f"use one of {', '.join(get_args(known))}",
                    code="E104",
                )
        for name in ("aperture_taper", "dip_taper", "stretch_taper"):
            part = getattr(self, name)
            if not _is_number(part) or not 0 <= part <= 1:
                raise ConfigError(
                    f"{name} = {part!r} is no part of the limit that it belongs to",
                    "use a number from 0 (a sharp end) to 1",
                    code="E104",
                )
        _check_limits(self)
        _check_antialias(self)


def _check_limits(options: KirchhoffOptions) -> None:
    """Refuse limits that leave nothing of the operator."""
    aperture, dip, stretch = options.aperture, options.dip, options.stretch_mute
    if aperture is not None and not (_is_number(aperture) and aperture > 0):
        raise ConfigError(
            f"aperture = {aperture!r} m reaches no midpoint",
            'give the largest distance of a midpoint from an output location, for example 3000, or "all"',
            code="E763",
        )
    if dip is not None and not (_is_number(dip) and 0 < dip < 90):
        raise ConfigError(
            f"dip = {dip!r} degrees limits the operator to nothing",
            'give an angle above 0 and below 90 degrees, for example 60, or "all"',
            code="E763",
        )
    if stretch is not None and not (_is_number(stretch) and stretch > 0):
        raise ConfigError(
            f"stretch_mute = {stretch!r} mutes everything, zero offset included",
            'give the largest stretch, for example 0.3 or "30 %", or "off"',
            code="E764",
        )


def _check_antialias(options: KirchhoffOptions) -> None:
    """Refuse numbers of bands and spacings that protect nothing."""
    bands, spacing = options.bands, options.antialias_spacing
    if not isinstance(bands, numbers.Integral) or isinstance(bands, bool) or not 1 <= bands <= MOST_BANDS:
        raise ConfigError(
            f"bands = {bands!r}: there must be one alias band at least, the whole trace, and {MOST_BANDS} at most",
            'use bands = 10; antialias = "none" switches antialiasing off',
            code="E762",
        )
    if spacing is None:
        return
    if len(spacing) != 2 or not all(_is_number(d) and d > 0 for d in spacing):
        raise ConfigError(
            f"antialias_spacing = {spacing!r}",
            "give two distances above 0 m, along inline and crossline: those of the input midpoints",
            code="E767",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
