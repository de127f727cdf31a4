"""A cable on the wrong side of its sources: receivers outside a model that lie inside when mirrored at their source."""

from __future__ import annotations

import numpy as np

from subsalt.check.context import Context, SurveyExtent

#: share of the receivers of a survey that stand on one side of their sources, when it is shot from an end
ONE_SIDE = 0.95


def reversed_cable(lay: SurveyExtent, context: Context) -> str:
    """Return the cure of receivers outside the model that all lie on it on the other side of their sources; else empty.

    The traces of a whole side are not to be left out then: with the cable turned they are right, and without them the
    image lacks what the far offsets saw. That the model is too small is as likely where a ship tows its cable behind.
    """
    assert context.survey is not None
    shots = [s for s in context.survey.shots if len(s.rcv)]
    if context.modelling or not shots or lay.outside(lay.src).any():
        return ""
    source = np.repeat(np.stack([s.src for s in shots]), [len(s.rcv) for s in shots], axis=0)
    way = lay.rcv - source
    way[:, 2] = 0.0
    if lay.outside(lay.rcv - 2.0 * way).any():
        return ""
    # along x in 2-D; from the middle of all spreads in 3-D
    axis = np.array([1.0, 0.0, 0.0]) if lay.axes == (0,) else way.mean(axis=0)
    side = way @ axis
    if max((side >= 0).mean(), (side <= 0).mean()) < ONE_SIDE:
        return ""
    sailed = float(np.diff([float(s.src @ axis) for s in shots]).sum())
    ahead = sailed * float(np.median(side)) > 0
    turned = (
        "mirrored at their sources, all receivers lie on the model: if the cable is reversed"
        + ", which it leads here in the order of shooting" * ahead
        + f", {_turn(context)}"
    )
    parts = (turned, "extend the model") if ahead or not sailed else ("extend the model", turned)
    return f"{parts[0]}; else {parts[1]}"


def _turn(context: Context) -> str:
    """Return what turns the cable: offsets, where their signs say that it lies on the other side."""
    scan, assumed = context.scan, "correct the receivers (bytes 81, 85) in the files, to twice sx less gx"
    stations = getattr(scan, "stations", None) or []
    if not stations or context.survey is None or context.survey.ndim != 2:
        return assumed
    frame = context.survey.frame
    for s in stations:
        src, rcv = (frame.to_local(p[s.live])[:, 0] for p in (s.positions.src, s.positions.rcv))
        said = s.positions.offset[s.live]
        if not said.any() or (np.abs(said + (rcv - src)) > 1.5 + 0.01 * np.abs(said)).any():
            return assumed
    return 'as the signs of the offsets (byte 37) say: [data] receivers = "offset"'
