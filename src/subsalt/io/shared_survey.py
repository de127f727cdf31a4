"""A survey that one rank read, told to the others: geometry of shots and traces, so that headers are read once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.grid import Frame
from subsalt.errors import Finding
from subsalt.io.file_layout import FileLayout
from subsalt.io.headers import Fix
from subsalt.io.segy_read import TraceReader
from subsalt.parallel.comm import Comm
from subsalt.parallel.relay import plain


def read_once(read: Callable[[], Survey], comm: Comm) -> Survey:
    """Return the survey that `read` returns on rank 0, on all ranks. Collective.

    Parameters
    ----------
    read : callable
        Reads a survey from SEG-Y or SU files, its traces left there (`read_survey`); called on rank 0 alone.
    comm : Comm
        All ranks.

    Raises
    ------
    SubsaltError
        On all ranks, what `read` raises.
    """
    if comm.size == 1:
        return read()
    survey: Survey | None = None
    told: dict[str, Any] = {}
    arrays: list[NDArray] = []
    with comm.together():
        if comm.is_root:
            survey = read()
            told, arrays = _tell(survey)
    told = comm.bcast(told)
    for i, (shape, kind) in enumerate(told["arrays"]):
        if not comm.is_root:
            arrays.append(np.empty(shape, kind))
        comm.bcast_array(arrays[i])
    return survey if survey is not None else _heard(told, arrays)


def _tell(survey: Survey) -> tuple[dict[str, Any], list[NDArray]]:
    """Return what another rank needs of a survey: JSON, and arrays of positions, trace numbers, dead traces, delays."""
    reader = survey.reader
    assert isinstance(reader, TraceReader)
    shots = survey.shots
    index = [np.asarray(s.trace_index, dtype=np.int64) for s in shots]
    late = np.empty(0, np.int32) if reader.shift is None else reader.shift
    arrays = [
        np.ascontiguousarray(a)
        for a in (
            np.array([s.id for s in shots], np.int64),
            np.array([len(s.rcv) for s in shots], np.int64),
            np.stack([s.src for s in shots]),
            np.concatenate([s.rcv for s in shots]),
            np.concatenate(index),
            reader.first,
            reader.dead,
            late,
        )
    ]
    told = {
        "arrays": [[list(a.shape), a.dtype.str] for a in arrays],
        "time": asdict(survey.time),
        "ndim": survey.ndim,
        "frame": asdict(survey.frame),
        "files": survey.source_files,
        "notes": plain(survey.notes),
        "layouts": plain([asdict(lay) for lay in reader.layouts]),
        # what was left out is no part of the shots any more
        "fix": plain(asdict(replace(reader.fix, exclude=(), trace_ids=None))),
        "late": reader.shift is not None,
    }
    return told, arrays


def _heard(told: dict[str, Any], arrays: list[NDArray]) -> Survey:
    """Return the survey that `_tell` described."""
    ids, counts, src, rcv, index, first, dead, late = arrays
    time = TimeAxis(**told["time"])
    layouts = []
    for facts in told["layouts"]:
        findings = [Finding(**f) for f in facts.pop("findings")]
        layouts.append(FileLayout(**facts | {"revision": tuple(facts["revision"])}, findings=findings))
    reader = TraceReader(layouts, first, time, late if told["late"] else None, dead, Fix(**told["fix"]))
    ends = np.cumsum(counts)
    shots = [
        Shot(int(i), src[k], rcv[e - n : e], trace_index=index[e - n : e])
        for k, (i, n, e) in enumerate(zip(ids, counts, ends, strict=True))
    ]
    frame = replace(Frame(), **told["frame"])
    return Survey(shots, time, told["ndim"], frame, reader, told["files"], told["notes"])
