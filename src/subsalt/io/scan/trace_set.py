"""Usable traces of all files of a scan together: keys, positions and offsets, for the rules that compare traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.io.segy.exclude import leave_out, short_names, spans
from subsalt.io.segy.geometry import ScannedFile, column
from subsalt.io.segy.shot_table import SAME_PLACE


@dataclass
class TraceSet:
    """The live traces of many files side by side: numbers and positions, and what names them.

    Parameters
    ----------
    paths : list of str
        The files.
    file, number : ndarray, int
        File of each trace, and its number there from 0.
    offset : ndarray
        Offsets of the headers, m.
    present : tuple of ndarray
        Field records, channels and sources of these traces and of those that are dead or left out, which of them
        count, and their receivers.
    """

    paths: list[str]
    file: NDArray[np.int64]
    number: NDArray[np.int64]
    ffid: NDArray
    channel: NDArray
    offset: NDArray[np.float64]
    src: NDArray[np.float64]
    rcv: NDArray[np.float64]
    present: tuple[NDArray, NDArray, NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]

    @classmethod
    def of_files(cls, scanned: list[ScannedFile]) -> TraceSet:
        """Return the live traces of scanned files."""
        live = np.concatenate([s.live for s in scanned])
        usable = ~np.concatenate([s.auxiliary for s in scanned])

        def rows(pick: Callable[[ScannedFile], NDArray], there: bool = False) -> NDArray:
            return np.concatenate([pick(s) for s in scanned])[usable if there else live]

        def values(name: str) -> Callable[[ScannedFile], NDArray]:
            return lambda s: column(s.values, name, s.layout.n_traces)

        return cls(
            [s.layout.path for s in scanned],
            np.repeat(np.arange(len(scanned)), [int(s.live.sum()) for s in scanned]),
            np.concatenate([np.flatnonzero(s.live) for s in scanned]),
            rows(values("ffid")),
            rows(values("channel")),
            rows(lambda s: s.positions.offset),
            rows(lambda s: s.positions.src),
            rows(lambda s: s.positions.rcv),
            (
                rows(values("ffid"), True),
                rows(values("channel"), True),
                rows(lambda s: s.positions.src, True),
                rows(lambda s: s.live, True),
                rows(lambda s: s.positions.rcv, True),
            ),
        )

    def __len__(self) -> int:
        return len(self.number)

    def path(self, row: int) -> str:
        """Return the file of a trace."""
        return self.paths[self.file[row]]

    def where(self, rows: NDArray[np.int64], most: int = 3) -> str:
        """Return the traces as ``a.sgy traces 3-12 (shot 7)``, by files."""
        parts = []
        files = np.unique(self.file[rows])
        for f in files[:most]:
            own = rows[self.file[rows] == f]
            shots = np.unique(self.ffid[own])
            shot = f" (shot {spans(shots.tolist())})" if shots.any() else ""
            many = "traces" if len(own) > 1 else "trace"
            parts.append(f"{self.paths[f]} {many} {spans((self.number[own] + 1).tolist())}{shot}")
        return "; ".join(parts) + (f"; and in {len(files) - most} more files" if len(files) > most else "")

    def repeated_records(self, most: int = 3) -> str:
        """Return the field records that stand for sources at several places, with their files."""
        _, first, member = np.unique(self.ffid, return_index=True, return_inverse=True)
        away = np.abs(self.src[:, :2] - self.src[first[member], :2]).max(axis=1) > SAME_PLACE
        records = np.unique(self.ffid[away])
        files = np.unique(self.file[np.isin(self.ffid, records[:most])])
        short = short_names(self.paths)
        names = ", ".join(short[self.paths[f]] for f in files[:most])
        more = f" and {len(files) - most} more" * (len(files) > most)
        return f"record {spans(records.tolist())} in {names}{more}"

    def cure(self, rows: NDArray[np.int64]) -> str:
        """Return the key that leaves the traces out; files of which nothing would be left are named as a whole."""
        traces = []
        for f in np.unique(self.file[rows]):
            own = rows[self.file[rows] == f]
            whole = len(own) == int((self.file == f).sum())
            traces.append((self.paths[f], None if whole else (self.number[own] + 1).tolist()))
        return leave_out(traces, self.paths)

    def first(self, rows: NDArray[np.int64]) -> list[dict[str, object]]:
        """Return the first traces for programs."""
        return [
            {"file": self.path(int(i)), "shot": int(self.ffid[i]), "trace": int(self.number[i]) + 1}
            for i in rows[:50]
        ]
