"""Options of Kirchhoff time migration, with the defaults that a job file may leave out."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Literal, TypeGuard

from subsalt.errors import ConfigError
from subsalt.option_fields import CheckedOptions, documented, one_of, option

Amplitude = Literal["3d", "2.5d", "none"]
Antialias = Literal["bands", "triangle", "none"]
BandChoice = Literal["interpolate", "nearest"]
Interpolation = Literal["sinc", "linear"]
Traveltime = Literal["straight", "curved"]

#: more bands than any antialiasing needs; each is a copy of the traces
MOST_BANDS = 64


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def _part(name: str, value: object) -> None:
    """Refuse values that are no part of a limit."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise ConfigError(
            f"{name} = {value!r} is not a fraction of its limit",
            "use a number from 0 (a sharp end) to 1",
            code="E104",
        )


@documented
@dataclass(frozen=True)
class KirchhoffOptions(CheckedOptions):
    """How traces are summed into the image."""

    amplitude: Amplitude = option(
        "3d",
        "amplitude and phase correction; auto: 2.5d for a line, otherwise 3d",
        one_of(Amplitude),
        more="3d: the weight W3 and the derivative -d/dt of a 3-D survey; 2.5d: the weight W2 and the half derivative "
        "of one line over a 3-D earth; none: weight 1, phase as recorded",
    )
    aperture: float | None = option(
        None, "largest distance of a midpoint from the output location, m; all: no limit"
    )
    aperture_taper: float = option(
        0.1,
        "outer part of the aperture over which traces are tapered, a fraction",
        _part,
        more="as a raised cosine",
    )
    dip: float | None = option(
        None, "largest dip, degrees: uses midpoints nearer than (v t0 / 2) tan(dip); all: no limit"
    )
    dip_taper: float = option(
        0.1, "outer part of the dip limit over which samples are tapered, a fraction", _part
    )
    antialias: Antialias = option(
        "bands",
        "antialias filter: pre-filtered bands, a continuous triangle filter, or none",
        one_of(Antialias),
        more="bands: copies of every trace low-passed at some corners; triangle: as long as the operator is steep",
    )
    antialias_spacing: tuple[float, float] | None = option(
        None,
        "spacing of midpoints across inlines and crosslines, m; bins: from one line number to the next",
        more="of the input, which the antialiasing protects, whatever the increments of the output",
    )
    bands: int = option(
        10, "number of alias bands", more="B: band j = 0 ... B-1 is low-passed at f_Nyquist (B - j) / B"
    )
    band_choice: BandChoice = option(
        "interpolate",
        "interpolate between two bands, or nearest: use the highest one below the limit",
        one_of(BandChoice),
    )
    stretch_mute: float | None = option(
        0.3, "largest allowed stretch dt0/dt - 1, such as 0.3 or 30 %; off: no mute"
    )
    stretch_taper: float = option(
        0.2, "last part of the stretch limit over which samples are tapered, a fraction", _part
    )
    interpolation: Interpolation = option(
        "sinc",
        "between the samples of a trace: sinc or linear",
        one_of(Interpolation),
        more="sinc is right to 1e-3 below 0.7 of the Nyquist frequency",
    )
    traveltime: Traveltime = option(
        "straight",
        "hyperbola, or curved rays: fourth-order moveout of the layering",
        one_of(Traveltime),
        more="straight: the hyperbola of the rms velocity",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
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
