"""Which traces belong to one shot: by field record number, or by source position when the numbers are
ambiguous.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError

#: sources closer than this are the same, m: coordinates are stored to a centimetre or worse
SAME_PLACE = 0.05


@dataclass(frozen=True)
class ShotTable:
    """Shots of a set of traces.

    Parameters
    ----------
    key : {"ffid", "source"}
        What tells the shots apart.
    ids : ndarray, (n shots,), int64
        Number of each shot; the field record number, or 1, 2, ... in order of first appearance.
    member : ndarray, (n traces,), int64
        Index into `ids` for each trace.
    spread : float
        Largest distance of sources within one field record, m.
    """

    key: str
    ids: NDArray[np.int64]
    member: NDArray[np.int64]
    spread: float


def _group(values: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (index of the first trace of each group, group of each trace), groups in order of first
    appearance.
    """
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.reshape(-1)]


def shot_table(ffid: NDArray, src: NDArray[np.float64], key: str) -> ShotTable:
    """Return the shots of traces.

    Parameters
    ----------
    ffid : ndarray, (n,), int
        Field record numbers.
    src : ndarray, (n, 3)
        Source positions, m.
    key : {"auto", "ffid", "source"}
        ``auto`` takes the field record number unless one number stands for sources in several places, or one
        number for all traces while sources move, or it is absent.
    """
    if key not in ("auto", "ffid", "source"):
        raise ConfigError(f"shot_key = {key!r}", "use auto, ffid or source")
    first, member = _group(ffid)
    d = src[:, :2] - src[first[member], :2]
    spread = float(np.sqrt((d**2).sum(axis=1)).max()) if len(src) else 0.0
    if key == "ffid" or (key == "auto" and spread <= SAME_PLACE and (ffid.any() or not src.any())):
        return ShotTable("ffid", ffid[first].astype(np.int64), member, spread)
    # one 64-bit number per place; a centimetre over +-20,000 km leaves no collision
    place = np.round(src[:, :2] / SAME_PLACE).astype(np.int64)
    code = place[:, 0] * np.int64(1 << 31) + place[:, 1]
    first, member = _group(code)
    return ShotTable("source", np.arange(1, len(first) + 1, dtype=np.int64), member, spread)
