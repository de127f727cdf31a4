"""Exact solutions of the wave equations that subsalt solves: the measure of every propagator and image.

All waveforms follow the conventions of the package: the source stands on the right of ``(1/v^2) p_tt - lap
p``, VTI media are excited and recorded through ``(p + q) / 2``, sample 0 of every trace is time zero of the
wavelet's samples, and everything is float64. None of it is needed to make an image; all of it is public, so
that users can measure their own setups against it.
"""

from subsalt.analytic.dipping import dipping_reflection_point, mirror_source, reflection_time
from subsalt.analytic.layered import reflection_coefficient, reflection_waveform
from subsalt.analytic.primaries import Diffractor, Plane, primaries
from subsalt.analytic.uniform import elliptical_waveform, isotropic_waveform
from subsalt.analytic.vti import group_velocity, phase_velocity, traveltime, vti_waveform

__all__ = [
    "Diffractor",
    "Plane",
    "dipping_reflection_point",
    "elliptical_waveform",
    "group_velocity",
    "isotropic_waveform",
    "mirror_source",
    "phase_velocity",
    "primaries",
    "reflection_coefficient",
    "reflection_time",
    "reflection_waveform",
    "traveltime",
    "vti_waveform",
]
