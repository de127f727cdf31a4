"""What the player must show, in NumPy: the pixels of a plane of a frame."""

import numpy as np

from subsalt.view.movie import PERCENTILES, TOP
from subsalt.view.movie_page import COLOURS, facts_of, velocity_levels

GROUND = 168.0
ENDS = {
    "grey": ((255, 255, 255), (0, 0, 0)),
    "residual": ((20, 60, 200), (200, 20, 20)),
    "neon": ((0, 240, 255), (255, 120, 0)),
}


def pixels(
    movie, field, frame, *, axis=None, index=0, clip=99.0, gain=0.0, palette="grey", under=0.6, each=False
):
    """Return (rows, columns, 3) uint8 of a plane, depth downwards, y upwards."""
    frames = movie.fields[field]
    level = frames.level(frame)
    shade = velocity_levels(movie)[0]
    if axis is not None:
        level, shade = np.take(level, index, axis=axis), np.take(shade, index, axis=axis)
    level, shade = level.T.astype(int), shade.T.astype(int) * COLOURS // 256
    j = PERCENTILES.index(clip)
    facts = facts_of(movie)
    scale = float(frames.scale[frame])
    law = (np.arange(TOP + 1) / TOP) * (np.arange(TOP + 1) / TOP)
    if each:
        limit = law[frames.clips()[frame, j]] * scale
    else:
        limit = next(f for f in facts["fields"] if f["name"] == field)["clips"][j]
    strength = scale * 10 ** (gain / 20) / limit if limit > 0 else 0.0
    hexed = bytes.fromhex(facts["velocity"]["colours"])
    base = GROUND + (np.frombuffer(hexed, np.uint8).reshape(-1, 3) - GROUND) * under
    part = np.minimum(1.0, law * strength)[np.abs(level)][..., None]
    ends = np.array(ENDS[palette], dtype=np.float64)[(level >= 0).astype(int)]
    under_it = base[shade]
    out = np.floor(under_it + (ends - under_it) * part + 0.5).astype(np.uint8)
    return out[::-1] if axis == 2 else out
