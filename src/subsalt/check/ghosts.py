"""Ghosts of the free surface: what traces hold of them, the depths in the headers, and the job.

Two witnesses are heard: direct waves say whether there are ghosts (`ghost_direct`), and the notches in the spectrum of
reflections say of which depths (`ghost_notches`). Sources must lie in water; on land nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.analytic.direct_wave import CONTRAST
from subsalt.check.context import Context, ok, rule, unchecked, warning
from subsalt.check.ghost_direct import Direct, direct_waves
from subsalt.check.ghost_notches import LAG, WATER, Notches, alike, fitted, spectrum
from subsalt.earth.model_like import ModelLike
from subsalt.errors import Finding

#: velocities of water, m/s
SLOWEST, FASTEST = 1400.0, 1600.0
#: traces of a shot whose reflections are looked at, and their largest offset, m
NEAR, OFFSET = 8, 400.0
#: time after the direct wave from which on there are reflections, s, and twice the time of the direct wave, if later
AFTER, LATE = 0.12, 2.0
#: samples of the shortest records that are looked at
SAMPLES = 32
#: what others have said of times and positions, after which ghosts say nothing more
SAID = ("_corrected", "_vp_wrong", "_grid_wrong", "_perhaps_feet")


@dataclass(frozen=True)
class GhostEvidence:
    """Evidence of direct waves and of notches; a text is the reason why one of them is not available."""

    direct: Direct | str
    notches: Notches | str
    source: float
    receiver: float

    @property
    def present(self) -> bool | None:
        """Whether the traces hold ghosts."""
        if isinstance(self.direct, Direct) and self.direct.ghost is not None:
            return self.direct.ghost
        return True if self.seen else None

    @property
    def seen(self) -> bool:
        """Whether a notch is seen."""
        return isinstance(self.notches, Notches) and self.notches.seen

    @property
    def missed(self) -> bool:
        """Whether the depths of the headers have a notch where the data have none."""
        return isinstance(self.notches, Notches) and not self.notches.seen and self.notches.given_wrong


@rule("ghosts", "velocity", "survey", "samples")
def sea_surface(context: Context) -> Iterator[Finding]:
    """Ghosts in the traces against the free surface of the job and the depths in the headers."""
    if context.modelling or context.propagation.topography is not None or not _at_sea(context):
        return
    if any(context.facts.get(name) for name in SAID) or _times_wrong(context):
        yield unchecked(
            "ghosts of the free surface", "velocities, times or positions are wrong, as said above"
        )
        return
    evidence = _gather_evidence(context)
    context.facts["ghosts"] = _facts(evidence)
    free = context.propagation.free_surface
    if evidence.present is not None and evidence.present != free:
        yield _surface(evidence, free)
    elif evidence.present is not None:
        yield ok(f"ghosts  {'there' if free else 'none'}, as the job says: {_evidence(evidence)}")
    elif evidence.missed and not free:
        assert isinstance(evidence.notches, Notches)
        yield ok(f"ghosts  none, as the job says: {_no_notch(evidence, evidence.notches)}")
    else:
        yield unchecked("ghosts of the free surface", _why_not(evidence))
    if evidence.notches != evidence.direct and (evidence.present or (evidence.present is None and free)):
        yield from _depths(evidence)


def _depths(evidence: GhostEvidence) -> Iterator[Finding]:
    """Compare the depths in the headers with the notches of traces that hold ghosts."""
    what = "depths of source and receivers by their ghosts"
    notches = evidence.notches
    if isinstance(notches, str):
        yield unchecked(what, notches)
    elif notches.seen and (not notches.given_wrong or notches.agrees(evidence.source, evidence.receiver)):
        yield ok(f"depths  {_given(evidence)}; {_seen(notches)}")
    elif notches.seen:
        yield warning(
            "W395",
            f"{_given(evidence)} by the headers, but {_seen(notches)}",
            _cure(evidence, notches),
            given=(evidence.source, evidence.receiver),
            found=notches.best,
        )
    elif notches.given_wrong:
        yield warning(
            "W395",
            f"{_given(evidence)} by the headers, but {_no_notch(evidence, notches)}: "
            f"both lie above {notches.shallowest:.1f} m"
            + ("" if evidence.present else ", or there are no ghosts"),
            ("" if evidence.present else "where ghosts were removed: [propagation] free_surface = false; or ")
            + "take the depths from the observer's log: [data.fix] source_depth and receiver_depth, in m",
            given=(evidence.source, evidence.receiver),
            shallower_than=notches.shallowest,
        )
    else:
        yield unchecked(what, _why_depths_open(evidence, notches))


def _why_depths_open(evidence: GhostEvidence, notches: Notches) -> str:
    deep = max(evidence.source, evidence.receiver)
    if deep < notches.shallowest:
        return (
            f"the first notch, at {notches.notch(deep):.0f} Hz for {deep:g} m, does not lie clearly inside the band of "
            f"the data, {notches.low:.0f} to {notches.high:.0f} Hz"
        )
    return (
        f"the spectrum does not tell whether it has the notch of {deep:g} m, at {notches.notch(deep):.0f} Hz (left: "
        f"{notches.left_none:.1f} dB without ghosts, as given {notches.left_given:.1f} dB)"
    )


def _surface(evidence: GhostEvidence, free: bool) -> Finding:
    """Return the finding of a job whose free surface is not that of the traces."""
    has = "hold the ghosts of a free surface" if evidence.present else "hold no ghosts of a free surface"
    key = "true" if evidence.present else "false"
    return warning(
        "W397",
        f"the traces {has}, and the job has free_surface = {str(free).lower()}: {_evidence(evidence)}",
        f"[propagation] free_surface = {key}",
        present=evidence.present,
    )


def _cure(evidence: GhostEvidence, notches: Notches) -> str:
    """Return which depths to set: a notch does not say whose it is, unless the other depth is in order."""
    own = {"source_depth": evidence.source, "receiver_depth": evidence.receiver}
    shallow, deep = notches.best
    # below the band only the deeper one is resolved
    pairs = [(deep, shallow)] if shallow < notches.shallowest else [(deep, shallow), (shallow, deep)]
    single: list[str] = []
    for key, other in (("source_depth", "receiver_depth"), ("receiver_depth", "source_depth")):
        for new, rest in pairs:
            stays = own[other] < notches.shallowest if rest < notches.shallowest else alike(own[other], rest)
            if stays and not alike(own[key], new):
                single.append(f"[data.fix] {key} = {new:g}")
    if single:
        return "by the observer's log: " + "; or ".join(dict.fromkeys(single))
    if shallow < notches.shallowest:
        return (
            f"one of the depths is {deep:g} m; take both from the observer's log: [data.fix] source_depth and "
            "receiver_depth, in m"
        )
    return (
        f"by the observer's log: [data.fix] source_depth = {shallow:g} and receiver_depth = {deep:g}; or "
        f"[data.fix] source_depth = {deep:g} and receiver_depth = {shallow:g}"
    )


def _given(evidence: GhostEvidence) -> str:
    return f"sources lie at {evidence.source:g} m, receivers at {evidence.receiver:g} m"


def _seen(notches: Notches) -> str:
    """Return the resolved depths, in words."""
    shallow, deep = notches.best
    numbers = (
        f"(left: {notches.left_best:.1f} dB, without ghosts {notches.left_none:.1f} dB, as given "
        f"{notches.left_given:.1f} dB)"
    )
    if shallow < notches.shallowest:
        return (
            f"the spectrum has the notch of a ghost of {deep:g} m, at {notches.notch(deep):.0f} Hz, of the source, the "
            f"receivers or both, and none of another deeper than {notches.shallowest:.1f} m {numbers}"
        )
    return (
        f"the spectrum has the notches of ghosts of {shallow:g} and {deep:g} m, from {notches.notch(deep):.0f} Hz on, "
        f"in whichever order {numbers}"
    )


def _no_notch(evidence: GhostEvidence, notches: Notches) -> str:
    deep = max(evidence.source, evidence.receiver)
    return (
        f"the spectrum has no notch at {notches.notch(deep):.0f} Hz, where a ghost of {deep:g} m has one "
        f"(left: {notches.left_none:.1f} dB without ghosts, as given {notches.left_given:.1f} dB)"
    )


def _evidence(evidence: GhostEvidence) -> str:
    """Return what decided whether there are ghosts."""
    if isinstance(evidence.direct, Direct) and evidence.direct.ghost is not None:
        return evidence.direct.said()
    assert isinstance(evidence.notches, Notches)
    return _seen(evidence.notches)


def _why_not(evidence: GhostEvidence) -> str:
    """Return why neither witness says anything."""
    if isinstance(evidence.direct, str):
        return evidence.direct
    return f"{evidence.direct.said()}: that does not tell"


def _facts(evidence: GhostEvidence) -> dict[str, object]:
    notches = evidence.notches
    out: dict[str, object] = {"present": evidence.present}
    if isinstance(evidence.direct, Direct):
        out |= {"with_ghost": evidence.direct.with_ghost, "without_ghost": evidence.direct.without_ghost}
    if isinstance(notches, Notches):
        out |= {"depths": notches.best if notches.seen else None, "band_hz": (notches.low, notches.high)}
    return out


def _times_wrong(context: Context) -> bool:
    verdicts = dict(context.facts.get("first_breaks", {}).get("verdicts", {}))
    verdicts.pop("unclear", None)
    return 2 * verdicts.get("fits", 0) < sum(verdicts.values())


def _at_sea(context: Context) -> bool:
    """Return whether all sources that are looked at stand in water, below the top of the model."""
    model = context.velocity
    assert model is not None
    src = np.stack([item.shot.src for item in context.samples])
    v = model.at(src)
    return bool(((v >= SLOWEST) & (v <= FASTEST)).all() and (src[:, 2] > model.grid.origin3[2]).all())


def _gather_evidence(context: Context) -> GhostEvidence:
    """Hear both witnesses."""
    assert context.velocity is not None
    surface = context.velocity.grid.origin3[2]
    shots = [item.shot for item in context.samples]
    source = float(np.median([s.src[2] for s in shots])) - surface
    receiver = float(np.median(np.concatenate([s.rcv[:, 2] for s in shots]))) - surface
    reason = _no_cable(context, surface)
    if reason:
        return GhostEvidence(reason, reason, source, receiver)
    return GhostEvidence(
        direct_waves(context, surface), _notches(context, source, receiver), source, receiver
    )


def _no_cable(context: Context, surface: float) -> str:
    """Return why receivers are none of a cable in water; empty where they are."""
    assert context.velocity is not None
    assert context.survey is not None
    if context.survey.time.nt < SAMPLES:
        return f"the records have {context.survey.time.nt} samples"
    rcv = np.concatenate([item.shot.rcv for item in context.samples])
    v = context.velocity.at(rcv)
    if not ((v >= SLOWEST) & (v <= FASTEST)).all():
        return "receivers do not lie in water"
    return "" if (rcv[:, 2] > surface).all() else "receivers lie on the surface itself"


def _notches(context: Context, source: float, receiver: float) -> Notches | str:
    """Return what the spectrum of the reflections at small offsets says, or why it says nothing."""
    assert context.survey is not None
    assert context.velocity is not None
    water = min(_water(context.velocity, item.shot) for item in context.samples)
    if water < 0.5 * LAG * WATER:
        return f"the water is {water:.0f} m deep, and its multiples look like ghosts"
    data, offset = [], []
    for item in context.samples:
        rows = np.argsort(item.shot.offset, kind="stable")[:NEAR]
        rows = rows[(item.shot.offset[rows] <= OFFSET) & np.isfinite(item.data[rows]).all(axis=1)]
        data.append(item.data[rows].astype(np.float64))
        offset.append(item.shot.offset[rows])
    near: NDArray[np.float64] = np.concatenate(offset)
    if not len(near):
        return f"no offset is smaller than {OFFSET:g} m"
    first = np.maximum(near / WATER + AFTER, LATE * near / WATER)
    made = spectrum(np.concatenate(data), near, context.survey.time.values(), first)
    notches = None if made is None else fitted(made, source, receiver)
    return "records are too short, or their band is too narrow" if notches is None else notches


def _water(model: ModelLike, shot: Shot) -> float:
    """Return the depth below the surface at which the velocity first differs from that at the source, m."""
    z = model.grid.axis(-1)
    where = np.repeat(shot.src[None], len(z), axis=0)
    where[:, 2] = z
    column = model.at(where)
    own = float(model.at(shot.src[None])[0])
    other = np.flatnonzero((z > shot.src[2]) & (np.abs(column - own) > CONTRAST * own))
    return float(z[other[0]] - z[0]) if len(other) else float("inf")
