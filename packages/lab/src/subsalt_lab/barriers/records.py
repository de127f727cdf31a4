"""Records of barriers from the audit: one for each place, communicator and phase, over all ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from subsalt.errors import DataError
from subsalt.timing import phase_label


@dataclass(frozen=True)
class Follow:
    """The call that follows barriers of a place: the next one of the same thread that other ranks can notice.

    Parameters
    ----------
    call : str
        Its plain name: MPI_Allreduce_c counts as MPI_Allreduce.
    relation : str
        How its communicator stands to that of the barrier: same, larger, smaller, other, none (it has none),
        empty: the call moves no byte, so that it need not wait for anyone.
    site : str
        Place of the call that follows, if that is a barrier; else empty.
    calls : int
        Times, over all ranks.
    """

    call: str
    relation: str
    site: str
    calls: int


@dataclass(frozen=True)
class BarrierRecord:
    """The barriers of one place, on one communicator, in one phase.

    Parameters
    ----------
    call : str
        ``"MPI_Barrier"`` or ``"MPI_Ibarrier"``.
    site : str
        Where it is called: ``"program+0x11db"``, ``"script.py:34"``.
    comm : str
        The communicator, such as ``"world"``.
    comm_size : int
        Its ranks.
    phase : str
        Phase that MPI_Pcontrol named; empty before it was called.
    calls, skipped : tuple of int
        Barriers that every rank of the run called, and those that it skipped in a trial.
    seconds : tuple of float
        In them, of every rank.
    stored : int
        Barriers whose times were kept one by one; the sums below are over these.
    stored_seconds : tuple of float
        In these, of every rank.
    own, tight, loose : float
        Sums of seconds; see `audit_write.c` for their meaning.
    aligned : bool
        Whether all ranks of the communicator came through this place together each time; the sums mean nothing else.
    follows : tuple of Follow
        Calls that followed.
    reasons : dict of str to int
        Why it may be needed, and how often that was seen.
    wildcard : bool
        Whether a receive or probe from any source was seen anywhere in the run.
    ready : bool
        Whether a ready send was seen anywhere in the run.
    """

    call: str
    site: str
    comm: str
    comm_size: int
    phase: str
    calls: tuple[int, ...]
    skipped: tuple[int, ...]
    seconds: tuple[float, ...]
    stored: int
    stored_seconds: tuple[float, ...]
    own: float
    tight: float
    loose: float
    aligned: bool
    follows: tuple[Follow, ...]
    reasons: Mapping[str, int]
    wildcard: bool
    ready: bool = False

    @property
    def count(self) -> int:
        """How often the ranks of the communicator met here."""
        return max(self.calls, default=0)

    @property
    def late_share(self) -> float | None:
        """The part of the time over ranks that is waiting for ranks that came later; None where it is not known."""
        over_ranks = sum(self.stored_seconds)
        if not self.aligned or over_ranks <= 0 or self.call != "MPI_Barrier":
            return None
        return max(0.0, 1.0 - self.comm_size * self.own / over_ranks)

    @property
    def own_cost(self) -> float | None:
        """Seconds that the last rank to come spent, summed over all barriers; those not kept one by one are like the
        others.
        """
        if self.late_share is None:
            return None
        return self.own * (self.count / self.stored) if self.stored else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BarrierRecord:
        """Return the record of `to_dict`."""
        known = dict(values)
        for name in ("calls", "skipped", "seconds", "stored_seconds"):
            known[name] = tuple(known[name])
        known["follows"] = tuple(Follow(**f) for f in known["follows"])
        return cls(**known)


def barriers(audit: Mapping[str, Any]) -> tuple[BarrierRecord, ...]:
    """Return the records of what the interposer wrote.

    Parameters
    ----------
    audit : mapping
        Rows that `audit_write.c` writes; without rows there was no barrier.

    Raises
    ------
    DataError
        When it is something else (E906).
    """
    try:
        rows = audit.get("rows", [])
        follows: list[dict[tuple[str, str, str], int]] = [{} for _ in rows]
        reasons: list[dict[str, int]] = [{} for _ in rows]
        for line in audit.get("details", []):
            number, kind, what, relation, site, times = line.split("\t")
            if kind == "next":
                key = (what.removesuffix("_c"), relation, site)
                follows[int(number)][key] = follows[int(number)].get(key, 0) + int(times)
            else:
                # ranks see the same barrier: what one of them did before it concerns all
                reasons[int(number)][what] = max(reasons[int(number)].get(what, 0), int(times))
        return tuple(
            BarrierRecord(
                call=row["call"],
                site=row["site"],
                comm=row["comm"],
                comm_size=row["size"],
                phase=phase_label(row["phase"]) if row["phase"] else "",
                calls=tuple(int(n) for n in row["calls"]),
                skipped=tuple(int(n) for n in row["skipped"]),
                seconds=tuple(row["seconds"]),
                stored=row["stored"],
                stored_seconds=tuple(row["stored_seconds"]),
                own=row["own"],
                tight=row["tight"],
                loose=row["loose"],
                aligned=row["aligned"],
                follows=tuple(
                    Follow(*key, n) for key, n in sorted(next_.items(), key=lambda item: (-item[1], item[0]))
                ),
                reasons=why,
                wildcard=audit["wildcard"],
                ready=audit.get("ready", False),  # records of before 0.8 do not say
            )
            for row, next_, why in zip(rows, follows, reasons, strict=True)
        )
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(
            f"the record of barriers cannot be read: {error!r}",
            "make it again with this version of subsalt",
            code="E906",
        ) from None
