"""Whether direct waves want the ghost of a free surface: two estimates beside each other.

The wavelet is estimated twice from the same traces, with the mirrored direct wave and without it. A ghost makes the
direct wave fall off with one more power of the distance, and, where the mirrored wave comes late, gives it another
shape, which one wavelet for all offsets cannot follow. What is left of the direct waves says which of the two they
want.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from subsalt.acquisition.source_shape import ShotFit, ShotSums, common_shape

#: energy that one reading leaves over that of the other, up to which the direct waves want it. Noise is left by both
#: readings alike and only brings the two closer
DECIDED = 0.5
#: traces that the better reading keeps, as a part of those of the other: it may not be better by leaving out more
KEPT = 0.9


@dataclass(frozen=True)
class Both:
    """Residuals of direct waves with the ghost of a free surface and without.

    Parameters
    ----------
    with_ghost, without_ghost : float
        Rms amplitude of what is left, as a part of that of the direct waves, 0 to 1.
    used : bool
        The wavelet was estimated with the ghost.
    wanted : bool, optional
        The direct waves have the ghost; None where the two readings leave nearly as much.
    """

    with_ghost: float
    without_ghost: float
    used: bool
    wanted: bool | None

    def said(self) -> str:
        """Return the two residuals in words."""
        return (
            f"residual {100 * self.with_ghost:.1f} % with the ghost of a free surface, "
            f"{100 * self.without_ghost:.1f} % without"
        )


def compared(fits: Sequence[ShotFit], others: Sequence[ShotSums], used: bool) -> Both | None:
    """Return what both readings leave; None where the other one has no shot.

    Parameters
    ----------
    fits : sequence of ShotFit
        Fits by the hypothesis that is used.
    others : sequence of ShotSums
        Sums of the same shots by the other hypothesis.
    used : bool
        The reading that is used has the ghost.
    """
    if not others:
        return None
    _, second = common_shape(others)
    own, other = _left(fits), _left(second)
    better = other < own
    explained, against = (_traces(second), _traces(fits)) if better else (_traces(fits), _traces(second))
    decided = min(own, other) ** 2 <= DECIDED * max(own, other) ** 2 and explained >= KEPT * against
    with_ghost, without = (own, other) if used else (other, own)
    return Both(with_ghost, without, used, (used != better) if decided else None)


def _left(fits: Sequence[ShotFit]) -> float:
    """Return the rms residual of the shots that fit; of all where none does."""
    good = [s.residual for s in fits if not s.reason] or [s.residual for s in fits]
    return float(np.sqrt(np.mean(np.square(good))))


def _traces(fits: Sequence[ShotFit]) -> int:
    return sum(s.traces for s in fits)
