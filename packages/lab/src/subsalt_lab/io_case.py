"""The case of `lab io`: a grid, its model volumes, two dense sets of traces, and the bytes that reading them moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: parameters of the medium, one volume each
VOLUMES = ("vp", "epsilon", "delta")
#: dense sets of traces: what the source and what the receivers put in
SETS = ("source", "receivers")
#: ways to read, in the order of the tables: as the original code did, as subsalt does
WAYS = ("broadcast", "per-rank")
#: planes read beyond the slab on either side: the reach of a point, and the radius of the stencil of order 8
GHOSTS = 4
#: time steps between two images
BLOCK = 10


@dataclass(frozen=True)
class Case:
    """What is read, computed and written.

    Parameters
    ----------
    grid : tuple of int
        Points nx, ny, nz.
    steps : int
        Time steps; one slice of each set is read for each.
    compute : float
        Share of the steps whose wavefields are computed, 0 to 1: the more, the longer reading ahead can hide.
    suffix : str
        Format of the model volumes: ``.rsf`` or ``.sgy``.
    """

    grid: tuple[int, int, int]
    steps: int
    compute: float = 1.0
    suffix: str = ".rsf"

    @property
    def volume_bytes(self) -> int:
        """Samples of one volume, bytes."""
        nx, ny, nz = self.grid
        return 4 * nx * ny * nz

    @property
    def slice_bytes(self) -> int:
        """Samples of one slice, bytes."""
        nx, ny, _ = self.grid
        return 4 * nx * ny

    @property
    def disk_bytes(self) -> int:
        """Bytes of all files at once, the image included; headers of SEG-Y traces too."""
        nx, ny, _ = self.grid
        headers = 3600 + 240 * nx * ny if self.suffix == ".sgy" else 0
        volumes = len(VOLUMES) * (self.volume_bytes + headers)
        return volumes + len(SETS) * self.steps * self.slice_bytes + self.volume_bytes + (64 << 10)

    def memory_bytes(self, ranks: int) -> int:
        """Bytes that all ranks together hold at most, about: slabs, their ghost planes, points and buffers."""
        nx, ny, nz = self.grid
        planes = nx + 2 * GHOSTS * (ranks - 1)
        # model as read and as used, p and q at two times of two fields, image and one sample of the source field
        fields = len(VOLUMES) * 2 + 8 + 2
        return planes * ny * (4 * nz * fields + 500) + ranks * (min(32 << 20, self.volume_bytes) + (80 << 20))

    def planes(self, ranks: int) -> int:
        """Planes that all ranks together want: their own, and up to `GHOSTS` on both sides of every cut."""
        return self.grid[0] + 2 * GHOSTS * (ranks - 1)

    def wanted(self, ranks: int) -> dict[str, int]:
        """Return the bytes that all ranks together want, by phase."""
        nx = self.grid[0]
        return {
            "init": len(VOLUMES) * self.volume_bytes // nx * self.planes(ranks),
            "trace": len(SETS) * self.steps * self.slice_bytes // nx * self.planes(ranks),
        }

    def formula(self, way: str, ranks: int) -> dict[str, int]:
        """Return the bytes of samples that must move, by phase: the founding document's formulas.

        Per rank: nx / n + 8 planes on each of n ranks. Broadcast: everything on every rank.
        """
        nx = self.grid[0]
        whole = {"init": len(VOLUMES) * self.volume_bytes, "trace": len(SETS) * self.steps * self.slice_bytes}
        planes = nx + 2 * GHOSTS * ranks if way == "per-rank" and ranks > 1 else nx
        times = ranks if way == "broadcast" else 1
        return {phase: times * planes * total // nx for phase, total in whole.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Case:
        """Return the case that `to_dict` described."""
        return cls(tuple(values["grid"]), values["steps"], values["compute"], values["suffix"])
