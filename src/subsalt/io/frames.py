"""The frame of a volume as four numbers: x0, y0, azimuth (radians), flip."""

from __future__ import annotations

import math
from collections.abc import Sequence

from subsalt.errors import ModelError
from subsalt.grid import Frame


def frame_from(values: Sequence[float], path: object) -> Frame:
    """Return the frame that a file describes; refuse numbers that are not finite."""
    x0, y0, azimuth, flip = (float(v) for v in values)
    if not all(math.isfinite(v) and abs(v) < 1e12 for v in (x0, y0, azimuth, flip)):
        raise ModelError(f"{path}: the frame {x0}, {y0}, {azimuth} is not finite", "mend it", code="E230")
    return Frame(x0, y0, azimuth, bool(flip))
