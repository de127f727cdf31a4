"""Echoes of the model against those of the data: is the model the right way round, in depth, and in metres.

Near a source the data hold the echoes of the layers below it. Those of the model follow from its columns
(`echo_columns`). They are compared by a correlation (`echo_fits`), after the direct wave has passed, over some traces
at small offsets of shots along the survey. The same model read in another way (`echo_readings`: x backward, another
spacing, depths that are milliseconds of two-way time, feet, rms velocities, shots in the reverse order) gives other
echoes. Where one of those fits and the model as it is does not, that is the mistake. A model that is known to
some ten per cent is none. A smooth model has no echoes; then, in noise and over steep layers, nothing can be told, and
that is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, SurveyExtent, ok, rule, unchecked, warning
from subsalt.check.echo_columns import Near
from subsalt.check.echo_fits import EchoAgreement, EchoComparison, compare
from subsalt.check.echo_readings import EchoReading
from subsalt.check.first_breaks import placed
from subsalt.check.line import exchanged_in_3d, model_axes_key
from subsalt.check.looked_at import samples, traces_of
from subsalt.check.orientation import flipped_tables
from subsalt.check.units import in_feet
from subsalt.errors import Finding, SubsaltError

Array = NDArray[np.float64]

#: periods of the wavelet that records hold at least
PERIODS = 3
#: shots and traces of each that are compared
SHOTS, TRACES = 24, 6
#: what others have said, and what makes the comparison meaningless
SAID = ("_axes_wrong", "_mirrored", "_perhaps_feet", "_null_vp", "_corrected", "_reversed")
#: share of the shots whose first breaks may come early, and from which those of another velocity are said to be of all
FEW_SHOTS, MOST_SHOTS = 0.2, 2 / 3
#: shares of the stations that must lie on a model for a reading of it to be tried
MOST = 0.95


def near_traces(context: Context) -> Near | None:
    """Return the traces nearest to their sources of some shots, before any mute; None where they cannot be had.

    Dense records of time slices are not read again: the shots that were sampled before are used.
    """
    survey = context.survey
    assert survey is not None
    if not survey.shots:
        return None
    reader = getattr(survey.reader, "inner", survey.reader)
    cheap = hasattr(reader, "layouts") or any(s.data is not None for s in survey.shots)
    few = np.unique(np.linspace(0, len(survey.shots) - 1, SHOTS).round().astype(int))
    shots = [survey.shots[int(i)] for i in few] if cheap else [s.shot for s in context.samples]
    held = {id(s.shot): s.data for s in samples(context)}
    src, rcv, data = [], [], []
    for shot in shots:
        rows = np.sort(np.argsort(shot.offset, kind="stable")[:TRACES])
        try:
            traces = held[id(shot)][rows] if id(shot) in held else traces_of(context, shot, rows)
        except SubsaltError:
            continue  # whoever reads all of the data says so
        if len(rows) and traces.shape[1] == survey.time.nt and np.isfinite(traces).all():
            src.append(np.broadcast_to(shot.src, (len(rows), 3)))
            rcv.append(shot.rcv[rows])
            data.append(traces.astype(np.float64))
    if not data:
        return None
    number = np.repeat(np.arange(len(data)), [len(d) for d in data])
    return Near(number, np.concatenate(src), np.concatenate(rcv), np.concatenate(data))


def near_enough(context: Context, near: Near) -> Near:
    """Return the traces whose offset is at most half of the depth from which echoes come at the end of the records.

    There an echo comes down steeper than 15 degrees, and the rms velocity tells its time.
    """
    assert context.model is not None
    assert context.survey is not None
    v = context.model.at(np.ascontiguousarray(near.src)).astype(np.float64)
    in_reach = near.offset <= 0.5 * (0.5 * np.nan_to_num(v, posinf=0.0) * context.survey.time.duration)
    return Near(near.shot[in_reach], near.src[in_reach], near.rcv[in_reach], near.data[in_reach])


@rule("echoes", "survey", "velocity", "wavelet")
def echoes_agree(context: Context) -> Iterator[Finding]:
    """The echoes of the model against those of the data: alike, not comparable, or alike in another reading only."""
    verdicts = context.facts.get("first_breaks", {}).get("verdicts", {})
    shots = sum(verdicts.values())
    if context.modelling or not context.judge_breaks or verdicts.keys() & {"interval", "shift"}:
        return
    if verdicts.get("early", 0) > FEW_SHOTS * shots:
        return
    if verdicts.get("velocity", 0) >= MOST_SHOTS * shots > 0:
        yield unchecked(
            "echoes", "first breaks say that the velocities near the surface are wrong: correct them first"
        )
        return
    if any(context.facts.get(k) for k in SAID) or not placed(context):
        return
    if context.facts.get("_no_water"):
        yield unchecked("echoes", "the model has no water (W433): correct that first")
        return
    if (near := near_traces(context)) is None:
        return
    if not len((near := near_enough(context, near)).data):
        yield unchecked("echoes", "there are no traces at small offsets")
        return
    fit = _compared(context, near)
    context.facts["echoes"] = {
        "given": fit.given,
        "inexact": fit.inexact,
        "least": fit.least,
        "best": fit.best,
        "reading": fit.tried,
        "why": fit.why,
    }
    where = f"{len(near.data)} traces of {near.shots} shots at {_offsets(near)}"
    if fit.other and not fit.why:
        yield _read_otherwise(context, fit, where)
    elif fit.given >= fit.least > 0:
        yield ok(
            f"echoes  correlation {fit.given:.2f} with those of the model ({where})",
            given=fit.given,
        )
    elif fit.why:
        yield unchecked("echoes", f"{fit.why} ({where}, correlation {fit.given:.2f})", given=fit.given)
    elif fit.inexact >= fit.surely:
        side = "higher" if fit.speed > 1 else "lower"
        yield ok(
            f"echoes  correlation {fit.inexact:.2f} with those of the model with velocities "
            f"{abs(fit.speed - 1):.0%} {side}, {fit.given:.2f} as it is: as near as velocities before migration "
            f"are ({where})",
            given=fit.given,
            inexact=fit.inexact,
        )
    elif context.propagation.topography is not None:
        why = f"below topography a correlation of {fit.given:.2f} with those of the model says little"
        yield unchecked("echoes", f"{why} ({where})", given=fit.given)
    else:
        yield _strangers(fit, where)


def _offsets(near: Near) -> str:
    """Return how far the traces are from their sources."""
    deep = float(np.abs(near.rcv[:, 2] - near.src[:, 2]).max())
    if deep > 0.5 * float(near.offset.max()):
        return f"distances to {near.distance.max():.0f} m"
    return f"offsets to {near.offset.max():.0f} m"


def _compared(context: Context, near: Near) -> EchoAgreement:
    """Return how the echoes of the data agree with those of the model as given, and read otherwise."""
    assert context.model is not None
    assert context.wavelet is not None
    assert context.survey is not None
    model, wavelet, time = context.model, context.wavelet, context.survey.time
    if time.nt < 2 or model.grid.shape[-1] < 3:
        return EchoAgreement(why="the records, or the model, have no depth")
    if wavelet.f0 * time.duration < PERIODS:
        return EchoAgreement(why=f"the records hold fewer than {PERIODS} periods of the wavelet")
    lowest, after = model.at(np.ascontiguousarray(near.src)), after_direct(context, near)
    if not (np.isfinite(lowest).all() and (lowest > 0).all() and np.isfinite(after).all()):
        return EchoAgreement(why="vp is no velocity at the sources")
    of = EchoComparison(model, near, time, wavelet, after)
    if not of.usable():
        return EchoAgreement(why="vp is no velocity below the stations")
    return compare(of, _Stations(context).held_by)


class _Stations:
    """Stations of the survey, of which a model that is read in some way must hold most; collected when first needed.

    Parameters
    ----------
    context : Context
        With survey and model.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    @cached_property
    def _extent(self) -> SurveyExtent:
        assert self.context.model is not None
        assert self.context.survey is not None
        return SurveyExtent.of(self.context.survey, self.context.model.grid)

    @cached_property
    def _some(self) -> Array:
        """All sources and some receivers, (n, 3), m."""
        rcv = self._extent.rcv
        return np.concatenate([self._extent.src, rcv[:: max(1, len(rcv) // 5000)]])

    def held_by(self, how: EchoReading) -> bool:
        """Return whether a model that is read in some way holds them."""
        if how.family in ("shots", "side"):
            return True
        return float(self._extent.outside(how.place(self._some)).mean()) <= 1 - MOST


def after_direct(context: Context, near: Near) -> Array:
    """Return the times at which the direct wave has passed, s."""
    assert context.model is not None
    assert context.wavelet is not None
    v = context.model.at(np.ascontiguousarray(near.src)).astype(np.float64)
    way = np.divide(near.distance, v, out=np.full_like(v, np.inf), where=v > 0)
    return np.asarray(way + context.wavelet.peak_time + 1.5 / context.wavelet.f0)


def _read_otherwise(context: Context, fit: EchoAgreement, where: str) -> Finding:
    """Return the finding on echoes that fit the model only when it is read in another way."""
    agree = f"echoes of [model] vp are not those of the data ({where}, correlation {fit.given:.2f}"
    if abs(fit.inexact - fit.given) > 0.05:
        agree += f", {fit.inexact:.2f} with velocities {fit.speed - 1:+.0%}"
    if fit.how is not None:
        return warning(
            "W371",
            f"{agree}), but would be if {fit.how.what} ({fit.best:.2f})",
            _cure(context, fit.how),
            given=fit.given,
            best=fit.best,
        )
    return warning(
        "W372",
        f"{agree}); they would be if {fit.tried} ({fit.best:.2f}), or nearly so if {fit.second}",
        "check spacing, origin and depths of the model against the coordinates of the survey: the echoes alone do not "
        "tell which of them is wrong",
        given=fit.given,
        best=fit.best,
    )


def _strangers(fit: EchoAgreement, where: str) -> Finding:
    """Return the finding on echoes that fit the model in no reading."""
    tried = (
        "velocities up to 12 % slower and faster, axes that run backward, other spacings, feet, two-way time, "
        "rms velocities, other places, shots in the reverse order and receivers on the other side"
    )
    best = f"; the best, if {fit.tried}, has {fit.best:.2f}" if fit.tried else ""
    return warning(
        "W372",
        f"echoes of the data ({where}) are not those of [model] vp: correlation {fit.given:.2f}, where right models "
        f"have {fit.least:.2f} and more; nothing else that was tried fits ({tried}){best}",
        "check whether the model is that of this line, its depths and datum, the places of the shots, and the side on "
        "which receivers stand",
        given=fit.given,
        best=fit.best,
    )


def _cure(context: Context, how: EchoReading) -> str:
    """Return how to say that a model is to be read in another way."""
    vp = context.parameters.get("vp")
    words = {
        "kind": "convert the velocities of [model] vp to interval velocities (Dix), and give these",
        "deeper": "check the datum of the model and of the survey: origin of [model] vp along z, depths of sources",
        "higher": "check the datum of the model and of the survey: origin of [model] vp along z, depths of sources",
        "to larger x": "check the origin of [model] vp along x, and [data] frame",
        "to smaller x": "check the origin of [model] vp along x, and [data] frame",
        "shots": "check the coordinates of the shots: they are right for the shots in the reverse order",
        "side": "check the signs of offsets and the direction of the line in the coordinates of receivers",
        "time": "if it is, convert [model] vp from time to depth first; if not, its depths and velocities do not give "
        "the times of the data",
    }
    if how.family in words:
        return words[how.family]
    if vp is None or vp.grid is None or context.resampling:
        return "correct [model]"
    if how.family == "feet":
        return in_feet(context) or "give spacing and origin of [model] vp in metres"
    if how.spacing:
        return f"if it is: [model] {_spaced(context, how.spacing)}"
    if how.axes:
        if not model_axes_key(context):
            return "exchange the axes of [model]"
        cure = exchanged_in_3d(context)
        if "[model] vp" not in cure:
            return f"x and y are exchanged {cure}"
    else:
        cure = f"[model] {flipped_tables(context, vp, how.flip)}"
    return (
        f"if it is stored so: {cure}; else look for the same in the coordinates of the survey ([data] frame)"
    )


def _spaced(context: Context, factors: tuple[float, ...]) -> str:
    """Return the tables of the model's volumes with their spacing multiplied."""
    tables = []
    for p in context.parameters.values():
        if p.grid is not None:
            spacing = [float(f"{f * h:.6g}") for f, h in zip(factors, p.grid.spacing, strict=True)]
            tables.append(p.table(spacing=spacing))
    return "; ".join(tables)
