"""Noisy traces that a step zeroes, and swell that a step removes, are not faults: `check` knows these steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import spread
from subsalt.acquisition.survey import Shot, Survey
from subsalt.errors import Finding, SubsaltError
from subsalt.io.scan.statistics import SWELL
from subsalt.job.data_sections import parse_ranges
from subsalt.job.signal.bandpass import Bandpass
from subsalt.job.signal.edit import Edited
from subsalt.job.signal.swell import Calmed
from subsalt.job.signal.traces import flow_of

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable
    from subsalt.job.signal.flow import Flow
    from subsalt.job.signal.step import Headers


#: examined noisy traces, evenly spread over all of a survey: conditions on samples read their shots
MOST = 50


def knowing_edits(findings: Sequence[Finding], source: Survey | TraceTable) -> list[Finding]:
    """Return findings in which noisy traces (E246) are a warning (W246) where steps zero them, and swell is in order
    where steps take it.

    Parameters
    ----------
    findings : sequence of Finding
        Findings of the rules on samples as recorded.
    source : Survey or TraceTable
        With the steps of the job on its traces; noise in shots that it does not have is of no account.

    Notes
    -----
    Looks at no more than `MOST` of the traces.
    """
    findings = [_of_these(f, source) if f.code == "E246" else f for f in findings]
    flow = flow_of(source)
    kills = (
        [] if flow is None else [m for m in flow.operators if isinstance(m, Edited) and m.step.do == "kill"]
    )
    if flow is None:
        return findings
    findings = [_calmed(f, flow) if f.code in ("W270", "E246", "W246") else f for f in findings]
    if not kills:
        return findings
    return [_known(f, flow, kills, source) if f.code == "E246" else f for f in findings]


def _of_these(finding: Finding, source: Survey | TraceTable) -> Finding:
    """Return a finding on noise as in order where all noisy traces are in shots that are not used."""
    numbers = cast("dict[str, str]", finding.evidence["numbers"])
    if not _are_counted(source) or len(_rows(numbers, source)):
        return finding
    said = f"{finding.message}; none of them is in the shots that are used"
    return replace(finding, code="I000", level="ok", message=said, fix="")


def _calmed(finding: Finding, flow: Flow) -> Finding:
    """Return a finding on swell as in order where a step takes what lies below `SWELL` Hz."""
    names = [
        flow.name(place)
        for place, (step, made) in enumerate(zip(flow.steps, flow.operators, strict=True))
        if isinstance(made, Calmed) or (isinstance(step, Bandpass) and _stopped(step))
    ]
    of_swell = finding.code == "W270" or str(finding.evidence.get("kind", "")).startswith("swell")
    if not names or not of_swell:
        return finding
    said = f"{finding.message}; {' and '.join(names)} take{'s' * (len(names) == 1)} it"
    return replace(finding, code="I000", level="ok", message=said, fix="")


def _stopped(step: Bandpass) -> bool:
    """Return whether a band-pass lets less than a tenth of the power of swell pass, at half its highest frequency."""
    return float(step.amplitude(np.array([0.5 * SWELL]))[0]) ** 2 < 0.1


def _known(finding: Finding, flow: Flow, kills: list[Edited], source: Survey | TraceTable) -> Finding:
    """Return the finding as a warning where all examined traces are zeroed."""
    noisy = _rows(cast("dict[str, str]", finding.evidence["numbers"]), source)
    looked_at = noisy[spread(len(noisy), MOST)]
    try:
        zeroed = sum(
            int(np.any([made.edited(its) for made in kills], axis=0).sum())
            for its in _headers(looked_at, source)
        )
    except SubsaltError:
        # samples that cannot be read are another finding
        return finding
    if not len(noisy):
        return finding
    names, s = " and ".join(flow.name(made.place) for made in kills), "s" * (len(kills) == 1)
    whole = len(noisy) == len(looked_at)
    which = f"the {len(noisy)}" if whole else f"{len(looked_at)} that were looked at, of {len(noisy)}"
    if zeroed < len(looked_at):
        said = f"{names} leave{s} {len(looked_at) - zeroed} of {which} in these shots"
        return replace(finding, message=f"{finding.message}; {said}")
    return replace(
        finding,
        code="W246",
        level="warning",
        message=f"{finding.message}; {names} zero{'e' * bool(s)}{s} {'' if whole else 'all '}{which} in these shots",
        fix="nothing, if that is what the step is for; subsalt view JOB.toml --signal shows the shots",
    )


def _files(source: Survey | TraceTable) -> Any:
    """Return the reader of the files of a survey or of a table, below the steps on its traces."""
    if not isinstance(source, Survey):
        return source.files
    return getattr(source.reader, "inner", source.reader)


def _are_counted(source: Survey | TraceTable) -> bool:
    """Return whether it is known which trace of which file is which trace of the source."""
    return hasattr(_files(source), "first")


def _rows(numbers: dict[str, str], source: Survey | TraceTable) -> NDArray[np.int64]:
    """Return which traces of a survey, counted shot by shot, or which rows of a table have these numbers in files."""
    if not _are_counted(source):
        return np.empty(0, np.int64)
    files = _files(source)
    first = dict(zip(files.paths, files.first.tolist(), strict=False))
    wanted = [
        first[path] + np.arange(a, b + 1, step) - 1
        for path, text in numbers.items()
        if path in first
        for a, b, step in parse_ranges(text)
    ]
    have = (
        np.concatenate([_indices(s) for s in source.shots]) if isinstance(source, Survey) else source.number
    )
    return np.flatnonzero(np.isin(have, np.concatenate(wanted))) if wanted else np.empty(0, np.int64)


def _indices(shot: Shot) -> NDArray[Any]:
    """Return the numbers of the traces of a shot; -1 where it is in no file."""
    return np.full(len(shot.rcv), -1) if shot.trace_index is None else shot.trace_index


def _headers(rows: NDArray[np.int64], source: Survey | TraceTable) -> Iterator[Headers]:
    """Yield the headers with marks of traces that `_rows` counts, those of a shot together."""
    if not isinstance(source, Survey):
        yield source.treatment.marked(rows)  # type: ignore[union-attr]
        return
    ends = np.cumsum([len(s.rcv) for s in source.shots])
    for k, shot in enumerate(source.shots):
        own = rows[(rows >= ends[k] - len(shot.rcv)) & (rows < ends[k])]
        if len(own):
            yield source.reader.marked(shot).take(own - (ends[k] - len(shot.rcv)))  # type: ignore[union-attr]
