"""The pulse of a reflection at vertical incidence, which a time migration wants to be of zero phase.

A time migration knows no source function: it takes the traces as they are, and its image has the phase of their pulse.
That of a reflection, without the reflectivity, is the source function s with the ghosts of source and receivers and,
where waves spread in two dimensions, with the tail of a line source:

    S [2i sin(w zs / c)] [2i sin(w zr / c)] [1 / sqrt(i w)]

for transforms with exp(-i w t). Times count from the sea surface where there are ghosts, as those of a time migration
do, otherwise from source and receivers. The step `designature` makes it zero-phase.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.acquisition import wavelet as wavelets
from subsalt.acquisition.wavelet import Wavelet
from subsalt.methods.rtm.wavelet_band import faded

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

#: part of its largest value below which a pulse has ended
ENDED = 3e-3


def of_reflections(w: Wavelet, facts: dict[str, Any]) -> Wavelet:
    """Return the pulse of a reflection of coefficient 1, its largest absolute value 1.

    Parameters
    ----------
    w : Wavelet
        The source function.
    facts : dict
        Estimates: ``spreading``, ``free_surface``, ``depths_m`` of source and receivers below the surface,
        ``velocity_m_per_s``.
    """
    size = 1 << math.ceil(math.log2(8 * w.nt))
    first = (size - w.nt) // 4
    samples = np.zeros(size)
    samples[first : first + w.nt] = w.samples
    spectrum = np.fft.rfft(samples)
    omega = 2.0 * math.pi * np.fft.rfftfreq(size, w.dt)
    if facts.get("free_surface") and facts.get("depths_m"):
        for depth in facts["depths_m"]:
            spectrum = spectrum * 2j * np.sin(omega * depth / facts["velocity_m_per_s"])
    if facts.get("spreading") == "2-D":
        spectrum[0] = 0.0
        spectrum[1:] = spectrum[1:] / np.sqrt(1j * omega[1:])
    pulse = np.fft.irfft(spectrum, size)
    # the tail of a line source has no end: it is cut where it is quiet
    live = np.flatnonzero(np.abs(pulse) > ENDED * np.abs(pulse).max())
    start, end = max(0, int(live[0]) - 2), min(size, first + 3 * w.nt, int(live[-1]) + 3)
    pulse = faded(pulse[start:end])
    return wavelets.from_samples(
        pulse / np.abs(pulse).max(), w.dt, w.t0 + (start - first) * w.dt, name="pulse of reflections"
    )


def step_for_job(path: Path, job: Job) -> list[str]:
    """Return the lines of the step that makes the written pulse zero-phase, in the form that the job has its steps."""
    name = Path(os.path.relpath(path, job.base)).as_posix()
    if job.steps_in_list:
        return [f'add to signal = [...]: {{ step = "designature", signature = "{name}" }}']
    return ["[[signal]]", 'step = "designature"', f'signature = "{name}"']
