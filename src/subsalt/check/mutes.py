"""Mutes that leave nothing, or next to nothing: said before anything is computed, with what they leave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, error, ok, rule, warning
from subsalt.check.reach import two_way_time
from subsalt.errors import Finding
from subsalt.numerics.fixedmath import ramp

#: share of rows or samples below which a mute leaves next to nothing
LITTLE = 0.1
#: shots whose offsets are compared with the mute line; offsets and locations of a time migration
SHOTS = 50


@rule("mutes", "model", "survey")
def top_mute(context: Context) -> Iterator[Finding]:
    """A top mute as deep as the model, or below everything that the records reach."""
    depth = context.imaging.top_mute
    if context.modelling or depth <= 0:
        return
    assert context.model is not None
    assert context.survey is not None
    grid = context.model.grid
    z = np.arange(grid.shape[-1], dtype=np.float64) * grid.spacing[-1]
    weight = ramp((z - depth) / (0.5 * depth))
    evidence = {"top_mute": depth, "depth": float(z[-1])}
    if not weight.any():
        yield error(
            "E314",
            f"top_mute = {depth:g} m zeros the whole image: the model is {z[-1]:g} m deep",
            _shallower(depth, float(z[-1])),
            **evidence,
        )
        return
    share = float((weight >= 0.5).mean())
    if share < LITTLE:
        yield warning(
            "W314",
            f"top_mute = {depth:g} m leaves half of the amplitude or more in {share:.0%} of the rows of the image: "
            f"the model is {z[-1]:g} m deep",
            _shallower(depth, float(z[-1])),
            **evidence,
        )
        return
    if context.velocity is None:
        return
    reach = float(np.interp(context.survey.time.duration, two_way_time(context.velocity), z))
    if reach <= depth:
        yield warning(
            "W314",
            f"top_mute = {depth:g} m zeros all that can be imaged: records of {context.survey.time.duration:.4g} s "
            f"reach {reach:.4g} m below the top of the model",
            _shallower(depth, reach),
            **evidence | {"reach": reach},
        )


def _shallower(depth: float, deepest: float) -> str:
    """Return the cure of a top mute: the unit that was meant where one fits, else a depth that leaves most."""
    for unit, factor in (("ft", 0.3048), ("cm", 0.01), ("mm", 0.001)):
        if 0 < 1.5 * depth * factor < 0.5 * deepest and round(depth * factor, 6) >= 1:
            return f'[imaging] top_mute = "{depth:g} {unit}" if it was meant so; else above {0.5 * deepest:.3g} m, or 0'
    return f"set [imaging] top_mute well above {0.5 * deepest:.3g} m, or 0"


@rule("mutes", "survey")
def data_mute(context: Context) -> Iterator[Finding]:
    """Mutes of the traces that leave nothing of them, or next to nothing."""
    assert context.survey is not None
    flow = getattr(context.survey.reader, "flow", None)
    shots = context.survey.shots[:: max(1, len(context.survey.shots) // SHOTS)]
    offsets = [s.offset for s in shots if len(s.rcv)]
    if flow is not None and offsets:
        # of a shift or another interval before them the samples that were read know nothing
        first = flow.time == context.survey.time and len(flow.steps) == 1
        yield from mute_findings(flow, np.concatenate(offsets), len(shots), context if first else None)


def mute_findings(
    flow: Any, x: NDArray[np.float64], shots: int, context: Context | None = None
) -> Iterator[Finding]:
    """Yield what the mutes of a flow leave of traces, where that is little.

    Parameters
    ----------
    flow : Flow
        The steps on the traces.
    x : ndarray, (n,)
        Offsets of traces, m.
    shots : int
        From which they are, for the message; 0 for traces without shots.
    context : Context, optional
        Whose samples the mute sees as they were read.
    """
    for name, step, made in flow.mutes():
        time = made.time
        if step.measured is not None:
            yield _of_first_breaks(name, step)
        # shots of one spread have the same offsets
        places, traces = np.unique(np.round(x, 1), return_counts=True)
        audible = float(np.average(made.audible_share(places), weights=traces))
        live = audible > 0 and not (context is not None and _zeroed(context, made))
        if audible >= LITTLE and live:
            yield from _long_taper(name, step.taper, time)
            continue
        line = step.edge(np.array([x.min(), x.max()])) if step.file is None else None
        where = (
            ""
            if line is None
            else (
                f": its edge runs from {line[0]:.4g} s at {x.min():.5g} m to {line[1]:.4g} s at {x.max():.5g} m, the "
                f"records from {time.t0:g} to {time.duration:.4g} s"
            )
        )
        of_shots = f" in {shots} shots" if shots else ""
        text = f"{name} leaves {audible:.1%} of the samples of {len(x)} traces{of_shots}{where}"
        evidence = {"kept": audible, "traces": len(x)}
        cure = _mute_cure(x, name, step, time)
        if live:
            yield warning("W314", text, cure, **evidence)
        else:
            more = "" if audible == 0 else ", and none that is not zero"
            yield error("E314", text + more, cure, **evidence)


def _of_first_breaks(name: str, step: Any) -> Finding:
    """Return where a mute behind the first breaks lies, or a warning when they are poor, and nothing is muted."""
    edge = step.measured
    if not edge.reason:
        return ok(
            f"{name}  zero before {step.delay:g} s + x / {step.velocity:g} m/s, behind the first breaks of "
            f"{edge.clear} of {edge.looked} shots"
        )
    return warning(
        "W319",
        f"{name} mutes nothing: {edge.reason}",
        'give the edge: kind = "linear", velocity = 1500, delay = 0.2; or leave the step out',
        clear=edge.clear,
        looked=edge.looked,
    )


def _long_taper(name: str, taper: float, time: Any) -> Iterator[Finding]:
    """Yield an error for a mute whose taper is longer than the records: no sample keeps its amplitude."""
    if taper > time.duration - time.t0:
        yield error(
            "E314",
            f"the taper of {name}, {taper:g} s, is longer than the records ({time.duration - time.t0:.4g} s): all "
            "samples are weakened",
            f'{name} taper = "{taper:g} ms", if that was meant; else a part of a second',
            taper=taper,
        )


def _unmuted(x: NDArray[np.float64], velocity: float, delay: float, time: Any) -> float:
    """Return the share of samples that lie behind the line of a mute."""
    first = np.ceil((delay + x / velocity - time.t0) / time.dt)
    return float((time.nt - np.clip(first, 0, time.nt)).mean() / time.nt)


def _zeroed(context: Context, made: Any) -> bool:
    """Return whether all traces that were read have something in them, and nothing where the mute keeps them."""
    before = behind = False
    for item in context.samples:
        if item.data.shape[1] != made.time.nt:
            continue
        before = before or bool(item.data.any())
        behind = behind or not made.silences(item.data, item.shot.offset)
    return before and not behind


def _mute_cure(x: NDArray[np.float64], name: str, section: Any, time: Any) -> str:
    """Return the keys that were meant: those in another unit with which enough of the samples are left."""
    out = "leave [data] mute out" if name == "[data.mute]" else "leave the step out"
    if section.kind != "linear" or section.side != "above":
        return f"{out}, or move its edge: offsets are in m, times in s"
    v, delay = section.velocity, section.delay
    # no wave is slower than 20 m/s, no mute begins after ten seconds
    km, ms = v < 20, delay > 10
    also = f', taper = "{section.taper:g} ms"' if section.taper > 1 else ""
    tried = [
        (1e3 * v, delay, f'velocity = "{v:g} km/s"', km),
        (v, 1e-3 * delay, f'delay = "{delay:g} ms"{also}', ms),
        (1e3 * v, 1e-3 * delay, f'velocity = "{v:g} km/s", delay = "{delay:g} ms"{also}', km and ms),
        (v, 0.0, "delay = 0", delay > 0),
    ]
    for velocity, start, text, likely in tried:
        if likely and _unmuted(x, velocity, start, time) > 2 * LITTLE:
            return f"{name} {text}, if that was meant; or {out}"
    return f"{out}, or give it a higher velocity or a smaller delay"
