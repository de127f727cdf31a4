"""Settings of `lab storage`, and the sizes of its tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20

#: transfers at a time of the random tests: one, and the founding documents' 32
OUTSTANDING = (1, 32)
#: transfer sizes of the service times, bytes
SIZES = tuple(4 * KIB << i for i in range(9))
#: threads that write slabs of one file: one stream against many
STREAMS = (1, 2, 4, 8, 16)
#: what drives the tests beside put and get: fio where there is one, fio, threads of this program, or both
ENGINES = ("auto", "fio", "own", "both")


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    directories : sequence of Path
        Each is measured.
    nbytes : int
        Put and got for one figure.
    threads : sequence of int
        Threads that put and get.
    record : int
        Bytes of a snapshot.
    direct : bool, optional
        Past the page cache, through it, or both when None.
    quick : bool
        Put and get alone.
    repeats : int
        Samples of put and get.
    seconds : float
        Length of each of the other tests.
    names : sequence of str
        Names of the directories in the result; their paths when left out.
    engine : str
        One of `ENGINES`.
    streams : sequence of int
        Threads that write one file; none leaves that test out.
    sustained : float
        Seconds of random writes whose rate is followed; 0 leaves that test out.
    """

    directories: Sequence[Path]
    nbytes: int = 1 << 30
    threads: Sequence[int] = (1, 4)
    record: int = 32 * MIB
    direct: bool | None = None
    quick: bool = False
    repeats: int = 3
    seconds: float = 1.0
    names: Sequence[str] = ()
    engine: str = "own"
    streams: Sequence[int] = ()
    sustained: float = 0.0

    def name(self, directory: Path) -> str:
        """Return what a directory is called."""
        return self.names[list(self.directories).index(directory)] if self.names else str(directory)

    @property
    def count(self) -> int:
        """Snapshots put and got for one figure."""
        return max(1, self.nbytes // self.record)

    @property
    def stream_records(self) -> int:
        """Snapshots of a file that streams write: a quarter, for there are many of these tests."""
        return max(1, self.nbytes // 4 // self.record)

    @property
    def file_bytes(self) -> int:
        """Bytes of the file of the other tests: whole MiB."""
        return -(-self.nbytes // MIB) * MIB
