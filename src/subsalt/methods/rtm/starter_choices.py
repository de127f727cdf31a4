"""Choices of `subsalt init` that the files do not settle: chosen first, then corrected by the rules of `check`.

A new job shall not be refused for something that `init` itself has chosen: a wavelet that the grid of the model
does not carry, or that peaks at another time than the first breaks; noisy traces that a step would zero; a sea surface
whose ghosts are in the traces.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from subsalt.errors import SubsaltError
from subsalt.job.cures import cures_in

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods.rtm.job import Job

#: times that the rules are asked: each may object to what the one before let through
ROUNDS = 5
#: highest over peak frequency of a Ricker wavelet
RICKER = 2.5
#: step that zeroes traces far stronger than the others of their shot
NOISY = "rms > 20*median"
#: Hz; a band that ends below is no choice but a mistake in the model or its unit
LOWEST_BAND = 8.0
#: periods of f0 from the time of the shot between which a pulse can peak; beyond them times or velocities are wrong
EARLIEST_PEAK, LATEST_PEAK = -0.5, 2.0


@dataclass(frozen=True)
class Choices:
    """Choices of a new job.

    Parameters
    ----------
    f0 : float
        Peak frequency of the Ricker wavelet, Hz.
    given : bool
        Whether the user named f0, which then stays.
    band : float or None
        Highest frequency of a band-pass, Hz; None: there is none.
    noise : {"unknown", "zeroed", "left"}
        Whether a step zeroes noisy traces; ``"left"`` where that would not take all of them.
    t0 : float or None
        Time at which the wavelet peaks, s; None: as `SourceSection` has it.
    t0_by : {"data", "first breaks"}
        Whether `t0` is that of a wavelet with the frequency of the data, or was measured on first breaks.
    free_surface : bool
        Whether the sea surface reflects.
    vp_guessed : bool
        Whether the velocities are a guess, by which times of first breaks say nothing of the wavelet.
    """

    f0: float
    given: bool
    band: float | None = None
    noise: Literal["unknown", "zeroed", "left"] = "unknown"
    t0: float | None = None
    t0_by: Literal["data", "first breaks"] = "data"
    free_surface: bool = False
    vp_guessed: bool = False


def confirmed(first: Choices, job_with: Callable[[Choices], Job]) -> Choices:
    """Return the choices to which the rules have no objection, or the best of some rounds.

    Parameters
    ----------
    first : Choices
        To begin with.
    job_with : callable
        Makes the job with some choices.
    """
    from subsalt.methods.rtm.check import check_rtm

    choices = first
    for _ in range(ROUNDS):
        try:
            better = corrected(choices, check_rtm(job_with(choices)))
        except SubsaltError:
            # what cannot be checked is reported by the files, or by check itself
            return choices
        if better == choices:
            break
        choices = better
    return choices


def corrected(choices: Choices, result: CheckResult) -> Choices:
    """Return the choices without what one run of the rules objects to.

    Times and ghosts come after noise and band, without which they are measured on other traces. A band-pass of zero
    phase leaves the peak of a pulse at its time, so the wavelet of a lower frequency keeps its own, unless first breaks
    contradict it.
    """
    codes, before = {f.code for f in result.findings}, choices
    if "E246" in codes:
        choices = replace(choices, noise="zeroed" if choices.noise == "unknown" else "left")
    if codes & {"E531", "W530"} and choices.band is None and not choices.given:
        clean = result.context.facts.get("fmax_without_dispersion")
        if clean is not None and clean >= LOWEST_BAND:
            band = math.floor(clean)
            choices = replace(choices, band=float(band), f0=math.floor(10.0 * band / RICKER) / 10.0)
            wavelet = result.context.wavelet
            if wavelet is not None and choices.t0 is None:
                choices = replace(choices, t0=_milliseconds(wavelet.peak_time))
    if choices != before:
        return choices
    for finding in result.findings:
        for cure in cures_in(finding.fix) if finding.is_fault else ():
            if len(cure) != 1:
                continue
            key = cure[0]
            if (key.section, key.key) == ("source", "t0") and isinstance(key.value, float | int):
                return replace(choices, t0=float(key.value), t0_by="first breaks")
            if (key.section, key.key, key.value) == ("propagation", "free_surface", True):
                return replace(choices, free_surface=True)
    late = None if choices.vp_guessed else _lateness(result)
    if late is not None and result.context.wavelet is not None:
        t0 = _milliseconds(result.context.wavelet.peak_time + late)
        if EARLIEST_PEAK <= t0 * choices.f0 <= LATEST_PEAK:
            return replace(choices, t0=t0, t0_by="first breaks")
    return choices


def _lateness(result: CheckResult) -> float | None:
    """Return by how much direct waves come after those of the job, s, where a rule leaves open why; else None.

    The job is new, and so is its wavelet: its peak is moved, since nothing speaks against the times of the traces.
    """
    for finding in result.findings:
        late = finding.evidence.get("constant_s") if finding.level == "unchecked" else None
        if isinstance(late, float | int):
            return float(late)
    return None


def _milliseconds(time: float) -> float:
    """Return a time in s, rounded to a tenth of a millisecond."""
    return round(time, 4)


def steps_of(choices: Choices) -> list[str]:
    """Return the lines of the steps on the traces that the choices ask for, in their order."""
    lines = []
    if choices.noise == "zeroed":
        lines.append(f'  {{ step = "edit", where = "{NOISY}" }},  # zero noisy traces')
    if choices.band is not None:
        corners = [2.0, 4.0, round(0.7 * choices.band), choices.band]
        text = ", ".join(f"{f:g}" for f in corners)
        lines.append(f'  {{ step = "bandpass", corners = [{text}] }},  # Hz; the grid carries no more')
    return lines
