"""Records of the interposer, rank by rank, merged into a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from subsalt.errors import DataError
from subsalt.timing import phase_label, phase_of
from subsalt_lab.pmpi.places import places
from subsalt_lab.pmpi.records import CallRow, MpiProfile, PhaseRow, SizeBin, add_sizes

#: name and version of the format of write.c
SCHEMA = "subsalt-pmpi-raw-1"


def profile_of(raw: Mapping[str, Any], command: str, mpi: str, notes: Sequence[str] = ()) -> MpiProfile:
    """Return the profile of all ranks.

    Parameters
    ----------
    raw : mapping
        The content of SUBSALT_PMPI_OUT.
    command : str
        Command that was run.
    mpi : str
        The library, such as ``"MPICH 5.0.2"``.
    notes : sequence of str
        Lines for the reader.

    Raises
    ------
    DataError
        When it is not what the interposer writes (E906).
    """
    try:
        if raw["schema"] != SCHEMA:
            raise KeyError(f"schema {raw['schema']}")
        ranks = sorted(raw["ranks"], key=lambda r: r["rank"])
        # names of machines are private; that two ranks share one is not
        nodes = list(dict.fromkeys(r["host"] for r in ranks))
        return MpiProfile(
            command=command,
            mpi=mpi,
            ranks=len(ranks),
            hosts=tuple(f"node {nodes.index(r['host']) + 1}" for r in ranks),
            wall=tuple(r["wall"] for r in ranks),
            mpi_seconds=tuple(sum(c["seconds"] for c in r["calls"] if c["main"]) for r in ranks),
            calls=tuple(_rows(ranks, main=True)),
            phases=tuple(_phases(ranks)),
            background=tuple(_rows(ranks, main=False)),
            audit=raw.get("audit", {}),
            init_seconds=tuple(r["init"] for r in ranks),
            places=places(
                sorted({c["site"] for r in ranks for c in r["calls"]}),
                sorted({o for r in ranks for o in r.get("objects", ())}),
            ),
            notes=tuple(notes),
        )
    except (KeyError, TypeError, IndexError) as error:
        raise DataError(
            f"what the interposer wrote cannot be read: {error}", "run the program again", code="E906"
        ) from None


def label(number: int) -> str:
    """Return what tables call a phase; 0 is where a program that tells none is."""
    return phase_label(number) if number else ""


def _rows(ranks: Sequence[Mapping[str, Any]], *, main: bool) -> list[CallRow]:
    """Return the rows of the main threads or of the others, summed over ranks and threads."""
    by_call: dict[tuple[str, str, str, str], list[tuple[int, Mapping[str, Any]]]] = {}
    for number, rank in enumerate(ranks):
        for c in rank["calls"]:
            if bool(c["main"]) == main:
                name = c["call"].removesuffix("_c")
                by_call.setdefault((name, c["site"], c["comm"], label(c["phase"])), []).append((number, c))
    rows = []
    for (call, site, comm, phase), some in by_call.items():
        per_rank = [0.0] * len(ranks)
        for number, c in some:
            per_rank[number] += c["seconds"]
        rows.append(
            CallRow(
                call,
                site,
                comm,
                max(c["size"] for _, c in some),
                phase,
                sum(c["calls"] for _, c in some),
                sum(per_rank),
                sum(c["bytes"] for _, c in some),
                tuple(per_rank),
                add_sizes(_bin(b) for _, c in some for b in c.get("sizes", ())),
                min(c["least"] for _, c in some),
                max(c["most"] for _, c in some),
            )
        )
    return sorted(rows, key=lambda r: (-r.seconds, r.call, r.site, r.comm, r.phase))


def _bin(values: Sequence[Any]) -> SizeBin:
    number, calls, seconds, size = values
    return SizeBin(1 << (number - 1) if number else 0, calls, seconds, size)


def _phases(ranks: Sequence[Mapping[str, Any]]) -> list[PhaseRow]:
    """Return the seconds of every phase that a rank was in, in the order of the first rank that was."""
    numbers = dict.fromkeys(number for r in ranks for number, _ in r["phases"])
    phases = []
    for number in numbers:
        known = phase_of(number)
        per_rank = tuple(sum(s for k, s in r["phases"] if k == number) for r in ranks)
        phases.append(PhaseRow(label(number), per_rank, known[1] if known else False))
    return phases
