"""Findings on direct waves that come at another time than the model's: of single shots, and of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.acquisition.first_breaks import ShotBreaks
from subsalt.check.break_findings import say_shift, shift_cure, without
from subsalt.check.break_fits import Verdict
from subsalt.check.context import LISTED, Context, named, unchecked, warning
from subsalt.check.near_source import ShotLateness, SurveyLateness
from subsalt.check.picked import expected, seen
from subsalt.errors import Finding


def single_shots(
    context: Context, shots: list[ShotBreaks], latenesses: list[ShotLateness], all_of: SurveyLateness
) -> Iterator[Finding]:
    """Yield shots whose direct waves are late or early beside the others', or whose source stands elsewhere.

    Parameters
    ----------
    shots, latenesses : list of ShotBreaks and of ShotLateness, (n,)
        Shots that fit the model, and what their direct waves say.
    all_of : SurveyLateness
        The comparison of these shots with each other.
    """
    others = f"those of the others, which agree within {_ms(max(all_of.scatter, 1e-4))} with the model"
    moved = [(b, c.moved) for b, c, odd in zip(shots, latenesses, all_of.moved, strict=True) if odd]
    if moved:
        by = ", ".join(f"{np.hypot(*d):.0f} m (x {d[0]:+.0f}, y {d[1]:+.0f})" for _, d in moved[:LISTED])
        odd_shots = [b for b, _ in moved]
        yield warning(
            "W394",
            f"first breaks of {named(context, odd_shots)} are those of a source {by} from the place that it is said to "
            f"have, unlike {others} ({len(shots)} shots)",
            without(context, odd_shots, "correct the place of these sources"),
            moved_m=[d.tolist() for _, d in moved],
            shots=[b.shot.id for b in odd_shots],
        )
    late = [(b, c) for b, c, odd in zip(shots, latenesses, all_of.late, strict=True) if odd]
    if late:
        odd_shots = [b for b, _ in late]
        by = ", ".join(f"{1e3 * (c.time - all_of.time):+.0f}" for _, c in late[:LISTED])
        far = max(abs(c.time - all_of.time) * c.speed for _, c in late)
        one_side = not all(c.placed for _, c in late)
        shift = all_of.time - float(np.median([c.time for _, c in late]))
        yield warning(
            "W394",
            f"direct waves of {named(context, odd_shots)} come {by} ms off {others} ({len(shots)} shots): time zero is "
            "wrong there" + (f", or the source, by {far:.0f} m" if one_side else ""),
            shift_cure(context, odd_shots, shift, every=False),
            late_s=[c.time - all_of.time for _, c in late],
            shots=[b.shot.id for b in odd_shots],
        )


def time_of_all(context: Context, shots: list[ShotBreaks], late: float) -> Iterator[Finding]:
    """Yield a time zero that is off in all shots by less than a period, the waveform being that of the wavelet."""
    yield from say_shift(context, shots, [Verdict("shift", -late) for _ in shots], True, len(shots))


def phase_or_time(context: Context, shots: list[ShotBreaks], late: float) -> Iterator[Finding]:
    """Yield that a difference of all shots is left open, as the wavelet has another waveform than the direct wave."""
    yield unchecked(
        "first breaks",
        f"{seen(shots)}; the model and the wavelet allow {expected(context, shots)}: {_ms(abs(late))} "
        f"{'earlier' if late > 0 else 'later'}, and the direct waves have not the waveform of the wavelet, so "
        "that its phase may be the reason as well as time zero",
        constant_s=late,
    )


def _ms(time: float) -> str:
    return f"{1e3 * time:.2g} ms" if time < 0.1 else f"{1e3 * time:.0f} ms"
