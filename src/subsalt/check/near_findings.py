"""What is said of direct waves that come at another time than the model's: of single shots, and of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.acquisition.first_breaks import ShotBreaks
from subsalt.check.break_findings import say_shift, shift_cure, without
from subsalt.check.break_fits import Verdict
from subsalt.check.context import Context, named, unchecked, warning
from subsalt.check.near_source import Compared, Constant
from subsalt.check.picked import expected, seen
from subsalt.errors import Finding


def single_shots(
    context: Context, shots: list[ShotBreaks], told: list[Constant], all_of: Compared
) -> Iterator[Finding]:
    """Yield shots whose direct waves are late or early beside the others', or whose source stands elsewhere.

    Parameters
    ----------
    shots, told : list of ShotBreaks and of Constant, (n,)
        Shots that fit the model, and what their direct waves say.
    all_of : Compared
        The same held against each other.
    """
    others = f"those of the others, which agree within {_ms(max(all_of.scatter, 1e-4))} with the model"
    moved = [(b, c) for b, c, odd in zip(shots, told, all_of.moved, strict=True) if odd]
    if moved:
        by = ", ".join(f"{c.moved:+.0f}" for _, c in moved[:6])
        found = [b for b, _ in moved]
        yield warning(
            "W394",
            f"first breaks on both sides of {named(context, found)} are those of a source {by} m farther along the "
            f"spread, unlike {others} ({len(shots)} shots)",
            without(context, found, "correct the place of these sources"),
            moved_m=[c.moved for _, c in moved],
            shots=[b.shot.id for b in found],
        )
    late = [
        (b, c)
        for b, c, odd, aside in zip(shots, told, all_of.late, all_of.moved, strict=True)
        if odd and not aside
    ]
    if late:
        found = [b for b, _ in late]
        by = ", ".join(f"{1e3 * (c.time - all_of.time):+.0f}" for _, c in late[:6])
        far = max(abs(c.time - all_of.time) * c.speed for _, c in late)
        one_side = not all(c.both for _, c in late)
        shift = all_of.time - float(np.median([c.time for _, c in late]))
        yield warning(
            "W394",
            f"direct waves of {named(context, found)} come {by} ms off {others} ({len(shots)} shots): time zero is "
            "wrong there" + (f", or the source, by {far:.0f} m" if one_side else ""),
            shift_cure(context, found, shift, every=False),
            late_s=[c.time - all_of.time for _, c in late],
            shots=[b.shot.id for b in found],
        )


def time_of_all(
    context: Context, shots: list[ShotBreaks], told: list[Constant], all_of: Compared
) -> Iterator[Finding]:
    """Yield a time zero that is off in all shots by less than a period, the waveform being that of the wavelet."""
    if all(c.both for c in told):
        # the same on both sides of the sources: a time and no distance
        verdicts = [Verdict("shift", -all_of.time) for _ in shots]
        yield from say_shift(context, shots, verdicts, True, len(shots))
        return
    far = abs(all_of.time) * float(np.median([c.speed for c in told]))
    later = all_of.time > 0
    yield warning(
        "W346",
        f"first breaks in {len(shots)} shots looked at: {seen(shots)}; the model and the wavelet, whose waveform they "
        f"have, allow {expected(context, shots)}: all times are {_ms(abs(all_of.time))} too "
        f"{'late' if later else 'early'}, or sources and receivers {far:.0f} m "
        f"{'farther apart' if later else 'closer'} than the coordinates say; on one side of the sources the two look alike",
        "compare the near offset and the recording delay (byte 109) with the observer's log, and the time at which the "
        "wavelet of [source] peaks with that of the data",
        shift_s=-all_of.time,
        distance_m=far,
    )


def phase_or_time(
    context: Context, shots: list[ShotBreaks], told: list[Constant], all_of: Compared
) -> Iterator[Finding]:
    """Yield that a difference of all shots is left open, as the wavelet has another waveform than the direct wave."""
    yield unchecked(
        "first breaks",
        f"{seen(shots)}; the model and the wavelet allow {expected(context, shots)}: {_ms(abs(all_of.time))} "
        f"{'earlier' if all_of.time > 0 else 'later'}, and the direct waves have not the waveform of the wavelet, so "
        "that its phase may be the reason as well as time zero",
        constant_s=all_of.time,
    )


def _ms(time: float) -> str:
    return f"{1e3 * time:.2g} ms"
