"""The profile of a run in MPI: what was called, by call, place, communicator and phase, on every rank."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from subsalt.errors import DataError, MissingInputError
from subsalt_lab.barriers.records import BarrierRecord, barriers

#: name and version of the format of a profile
SCHEMA = "subsalt-mpi-profile-1"


@dataclass(frozen=True)
class SizeBin:
    """Calls whose bytes lie from `bytes_from` to below its double; 0 stands for calls without any.

    Parameters
    ----------
    bytes_from : int
        0, 1, 2, 4, ...
    calls, bytes : int
        Summed over ranks.
    seconds : float
        Summed over ranks.
    """

    bytes_from: int
    calls: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class CallRow:
    """Calls of one function.

    Parameters
    ----------
    call : str
        Its plain name: MPI_Send_c counts as MPI_Send.
    site : str
        Where it was called: ``"program+0x11db"``, ``"file.c:12"``, ``"script.py:34"``; empty for all places.
    comm : str
        Communicator, such as ``"world"`` or ``"world/1.0"``; empty for all, and for calls without one.
    comm_size : int
        Its ranks; 0 without one.
    phase : str
        Phase that MPI_Pcontrol named; empty before it was called.
    calls, bytes : int
        Summed over ranks.
    seconds : float
        Summed over ranks.
    per_rank : tuple of float
        Seconds of every rank.
    sizes : tuple of SizeBin
        Calls and seconds by size, of functions that carry bytes.
    least, most : float
        The shortest and the longest call, s.
    """

    call: str
    site: str
    comm: str
    comm_size: int
    phase: str
    calls: int
    seconds: float
    bytes: int
    per_rank: tuple[float, ...]
    sizes: tuple[SizeBin, ...] = ()
    least: float = 0.0
    most: float = 0.0

    @property
    def is_io(self) -> bool:
        """Whether it works on a file."""
        return self.call.startswith("MPI_File_")


@dataclass(frozen=True)
class PhaseRow:
    """The time of one phase.

    Parameters
    ----------
    phase : str
        Its name; empty for what is outside of all.
    per_rank : tuple of float
        Seconds of every rank.
    waiting : bool
        Whether the program said that it waits for others, between its looks at MPI.
    """

    phase: str
    per_rank: tuple[float, ...]
    waiting: bool = False


@dataclass(frozen=True)
class MpiProfile:
    """MPI profile of a program.

    Parameters
    ----------
    command : str
        Command that was run.
    mpi : str
        The library, such as ``"MPICH 5.0.2"``.
    ranks : int
        Number of ranks.
    hosts : tuple of str
        Host of every rank, numbered: ``"node 1"``.
    wall : tuple of float
        Seconds of every rank from the end of MPI_Init to the beginning of MPI_Finalize.
    mpi_seconds : tuple of float
        Seconds of every rank's main thread in calls of MPI.
    calls : tuple of CallRow
        By call, site, communicator and phase; those of the main threads.
    source : str
        ``"interposer"`` or ``"wrapper"``.
    phases : tuple of PhaseRow
        Seconds of every phase; they sum to `wall`.
    background : tuple of CallRow
        Calls of other threads.
    audit : mapping
        Records of the audit of barriers.
    init_seconds : tuple of float
        Seconds of every rank in MPI_Init.
    places : mapping of str to str
        Lines of source by site, of programs with debug information: ``{"program+0x11db": "file.c:12"}``.
    notes : tuple of str
        Lines that a reader of the numbers must know.
    """

    command: str
    mpi: str
    ranks: int
    hosts: tuple[str, ...]
    wall: tuple[float, ...]
    mpi_seconds: tuple[float, ...]
    calls: tuple[CallRow, ...]
    source: Literal["interposer", "wrapper"] = "interposer"
    phases: tuple[PhaseRow, ...] = ()
    background: tuple[CallRow, ...] = ()
    audit: Mapping[str, Any] = field(default_factory=dict)
    init_seconds: tuple[float, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def barriers(self) -> tuple[BarrierRecord, ...]:
        """Records of the audit of barriers, one for each place, communicator and phase."""
        return barriers(self.audit)

    @property
    def mean_wall(self) -> float:
        """Seconds from the end of MPI_Init to the beginning of MPI_Finalize, mean over ranks."""
        return sum(self.wall) / len(self.wall)

    @property
    def mpi_time(self) -> float:
        """Seconds in MPI, mean over ranks."""
        return sum(self.mpi_seconds) / len(self.mpi_seconds)

    @property
    def mpi_percent(self) -> float:
        """Part of the wall time in MPI, as document 002 gives it: the mean over ranks, in percent."""
        return 100.0 * self.mpi_time / self.mean_wall if self.mean_wall > 0 else 0.0

    @property
    def waiting(self) -> tuple[float, ...]:
        """Seconds in which every rank waited for others between its looks at MPI, as far as the program tells it.

        A program that gives its core away while it waits, as ours does, is outside of MPI then: this comes on top of
        `mpi_seconds`.
        """
        names = {p.phase for p in self.phases if p.waiting}
        seconds = [0.0] * self.ranks
        for p in self.phases:
            if p.waiting:
                seconds = [a + b for a, b in zip(seconds, p.per_rank, strict=True)]
        for c in self.calls:
            if c.phase in names:
                seconds = [a - b for a, b in zip(seconds, c.per_rank, strict=True)]
        return tuple(max(0.0, s) for s in seconds)

    @property
    def waiting_percent(self) -> float:
        """Part of the wall time in MPI or waiting between looks at it: mean over ranks, in percent."""
        both = self.mpi_time + sum(self.waiting) / len(self.waiting)
        return 100.0 * both / self.mean_wall if self.mean_wall > 0 else 0.0

    def by_call(self) -> list[CallRow]:
        """Return one row for each function, the most expensive first."""
        return merged(self.calls, site=False, comm=False, phase=False)

    def by_phase(self) -> list[CallRow]:
        """Return one row for each function and phase, the most expensive first."""
        return merged(self.calls, site=False, comm=False)

    def by_site(self) -> list[CallRow]:
        """Return one row for each function and call site, the most expensive first."""
        return merged(self.calls, comm=False, phase=False)

    def by_comm(self) -> list[CallRow]:
        """Return one row for each function and communicator, the most expensive first."""
        return merged(self.calls, site=False, phase=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        own = asdict(self)
        own["rows"] = own.pop("calls")
        # for readers that want no more than that: one entry for each function, calls of all threads
        calls = [
            {"call": r.call, "calls": r.calls, "seconds": r.seconds, "bytes": r.bytes}
            for r in merged((*self.calls, *self.background), site=False, comm=False, phase=False)
        ]
        return {"schema": SCHEMA, "mpi_percent": self.mpi_percent, "calls": calls, **own}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> MpiProfile:
        """Return the profile of `to_dict`, or that in a result of `subsalt lab profile`.

        Raises
        ------
        DataError
            When it is none (E906).
        """
        if isinstance(values, Mapping) and "profile" in values:
            values = values["profile"]
        if not isinstance(values, Mapping) or values.get("schema") != SCHEMA:
            schema = values.get("schema") if isinstance(values, Mapping) else type(values).__name__
            raise DataError(
                f"this is no profile of MPI: its schema is {schema!r}, not {SCHEMA!r}",
                "make one with subsalt lab profile --out FILE -- mpiexec -n 4 PROGRAM",
                code="E906",
            )
        try:
            return cls(
                command=values["command"],
                mpi=values["mpi"],
                ranks=values["ranks"],
                hosts=tuple(values["hosts"]),
                wall=tuple(values["wall"]),
                mpi_seconds=tuple(values["mpi_seconds"]),
                calls=tuple(_row(r) for r in values["rows"]),
                source=values["source"],
                phases=tuple(
                    PhaseRow(p["phase"], tuple(p["per_rank"]), p["waiting"]) for p in values["phases"]
                ),
                background=tuple(_row(r) for r in values["background"]),
                audit=values["audit"],
                init_seconds=tuple(values["init_seconds"]),
                places=values["places"],
                notes=tuple(values["notes"]),
            )
        except (KeyError, TypeError) as error:
            raise DataError(
                f"this profile of MPI is not complete: {error}", "make it again", code="E906"
            ) from None


def _row(values: Mapping[str, Any]) -> CallRow:
    sizes = tuple(SizeBin(**b) for b in values["sizes"])
    return CallRow(**{**values, "per_rank": tuple(values["per_rank"]), "sizes": sizes})


def merged(
    rows: Iterable[CallRow], *, site: bool = True, comm: bool = True, phase: bool = True
) -> list[CallRow]:
    """Return rows summed over what is not to be distinguished, the most expensive first.

    Parameters
    ----------
    rows : iterable of CallRow
        To be summed.
    site, comm, phase : bool
        Whether places, communicators and phases stay apart.
    """
    groups: dict[tuple[str, str, str, int, str], list[CallRow]] = {}
    for r in rows:
        key = (
            r.call,
            r.site if site else "",
            r.comm if comm else "",
            r.comm_size if comm else 0,
            r.phase if phase else "",
        )
        groups.setdefault(key, []).append(r)
    sums = [_sum(key, some) for key, some in groups.items()]
    # names decide between equal times, so that a table does not depend on the order of the records
    return sorted(sums, key=lambda r: (-r.seconds, r.call, r.site, r.comm, r.phase))


def _sum(key: tuple[str, str, str, int, str], rows: Sequence[CallRow]) -> CallRow:
    call, site, comm, comm_size, phase = key
    return CallRow(
        call,
        site,
        comm,
        comm_size,
        phase,
        sum(r.calls for r in rows),
        sum(r.seconds for r in rows),
        sum(r.bytes for r in rows),
        tuple(map(sum, zip(*(r.per_rank for r in rows), strict=True))),
        add_sizes(b for r in rows for b in r.sizes),
        min(r.least for r in rows),
        max(r.most for r in rows),
    )


def add_sizes(bins: Iterable[SizeBin]) -> tuple[SizeBin, ...]:
    """Return bins of sizes summed, from the smallest up."""
    sums: dict[int, SizeBin] = {}
    for b in bins:
        old = sums.get(b.bytes_from, SizeBin(b.bytes_from, 0, 0.0, 0))
        sums[b.bytes_from] = SizeBin(
            b.bytes_from, old.calls + b.calls, old.seconds + b.seconds, old.bytes + b.bytes
        )
    return tuple(sums[k] for k in sorted(sums))


def load(path: Path) -> MpiProfile:
    """Return the profile in a file that ``subsalt lab profile --out`` wrote.

    Raises
    ------
    MissingInputError
        When it is not there (E110).
    DataError
        When it is none (E906).
    """
    try:
        text = path.read_text()
    except OSError as error:
        raise MissingInputError(
            f"{path} cannot be read: {error.strerror}", "make it with subsalt lab profile --out", code="E110"
        ) from None
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    return MpiProfile.from_dict(values)
