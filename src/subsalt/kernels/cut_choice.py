"""Rows and depth of a pass that suit the caches of a processor, where no trial chooses them; no bit depends on it.

Each step of a pass follows the one before M + 1 planes behind (`native/isa/tiles.hpp`), so the steps of a tile still
read a *ring* of planes: its rows, in ``(M + 1) depth + M`` planes of the arrays that a step reads. A pass whose ring
stays in the cache of its core takes planes from memory once; one whose ring leaves it runs at 0.6 of that rate and
below single steps (docs/notes/kernels.md, "Passes that leave L3"). Threads have rings of their own: one that several
share would be as large for all of them as it is for one, but is not built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: rows per tile, steps per pass, and what is fetched (`subsalt.kernels.tuning.Cut`)
Cut = tuple[int, ...]

#: cuts in 3-D, the first that fits is taken; few rows need what lies beside a tile to be fetched
LADDER: tuple[Cut, ...] = ((48, 4, 1), (32, 4, 1), (24, 4, 2), (16, 4, 2), (12, 3, 2))
#: the cut where none fits: single steps, whose planes come from memory every time
SINGLE: Cut = (64, 1, 1)
#: rings up to so many times the cache are tried, since a cache keeps part of what leaves it
TRIED = 2.0

#: arrays of fields and of models that a step reads, by medium
ARRAYS = {"isotropic": (2, 1), "vti": (4, 3)}


@dataclass(frozen=True)
class Caches:
    """Caches that a core has to itself when all cores compute.

    Parameters
    ----------
    l2, l3 : int
        Bytes of its L2, and its share of the L3; 0 where there is none.
    """

    l2: int
    l3: int

    @property
    def ring(self) -> int:
        """Bytes of a ring that stays in the larger of both."""
        return max(self.l2, self.l3)


@dataclass(frozen=True)
class Planes:
    """Row of a plane, as a pass reads it.

    Parameters
    ----------
    points : int
        Points of a row along z.
    medium : str
        ``"isotropic"`` or ``"vti"``.
    storage : str
        Models in ``"f32"`` or ``"u16"``.
    radius : int
        Stencil radius M.
    """

    points: int
    medium: str
    storage: str
    radius: int

    def ring(self, cut: Cut) -> int:
        """Return the bytes of the ring of a thread."""
        rows, depth = cut[:2]
        fields, models = ARRAYS[self.medium]
        of_a_point = 4 * fields + (2 if self.storage == "u16" else 4) * models
        return rows * self.points * of_a_point * ((self.radius + 1) * depth + self.radius)


def suiting(planes: Planes, caches: Caches | None) -> Cut:
    """Return the cut whose ring stays in the caches of a core; four steps over 48 rows where these are not known."""
    if caches is None or caches.ring == 0:
        return LADDER[0]
    return next((cut for cut in LADDER if planes.ring(cut) <= caches.ring), SINGLE)


def worth_trying(cuts: Sequence[Cut], planes: Planes, caches: Caches | None) -> tuple[Cut, ...]:
    """Return those of some cuts whose rings a cache may hold, and single steps."""
    if caches is None or caches.ring == 0:
        return tuple(cuts)
    return tuple(c for c in cuts if c[1] == 1 or planes.ring(c) <= TRIED * caches.ring)


def read_caches(root: Path = Path("/sys/devices/system/cpu/cpu0")) -> Caches | None:
    """Return the caches of a core of this machine; None where the system does not tell.

    Notes
    -----
    Every core that shares an L3 counts as active: other ranks, shots and programs use what this process leaves. Two
    threads of one core share its caches and count as one.
    """
    sizes: dict[int, int] = {}
    try:
        siblings = _cpus((root / "topology" / "thread_siblings_list").read_text())
        for folder in sorted((root / "cache").glob("index*")):
            level, kind, size, sharing = (
                (folder / name).read_text().strip() for name in ("level", "type", "size", "shared_cpu_list")
            )
            if kind != "Instruction":
                unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[size[-1]]
                sizes[int(level)] = int(size[:-1]) * unit // max(1, _cpus(sharing) // siblings)
    except (OSError, ValueError, KeyError, IndexError):
        return None
    return Caches(sizes.get(2, 0), sizes.get(3, 0)) if sizes else None


def _cpus(text: str) -> int:
    """Return how many processors a list such as ``0-3,8`` names."""
    ends = [part.split("-") for part in text.strip().split(",")]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in ends)
