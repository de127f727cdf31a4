"""Noisy traces that steps of type `edit` zero are no error: what `check` says of them knows these steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.errors import Finding, SubsaltError
from subsalt.job.signal.edit import Edited
from subsalt.job.signal.traces import flow_of

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable
    from subsalt.job.signal.flow import Flow
    from subsalt.job.signal.step import Headers


def knowing_edits(findings: Sequence[Finding], source: Survey | TraceTable) -> list[Finding]:
    """Return findings in which noisy traces (E246) are a warning (W246) where steps zero those that it lists.

    Parameters
    ----------
    findings : sequence of Finding
        Of the rules on samples as recorded.
    source : Survey or TraceTable
        With the steps of the job on its traces.

    Notes
    -----
    Reads the shots of the traces that are listed, at most 50, if a condition looks at samples.
    """
    flow = flow_of(source)
    kills = (
        [] if flow is None else [m for m in flow.operators if isinstance(m, Edited) and m.step.do == "kill"]
    )
    if flow is None or not kills:
        return list(findings)
    return [_known(f, flow, kills, source) if f.code == "E246" else f for f in findings]


def _known(finding: Finding, flow: Flow, kills: list[Edited], source: Survey | TraceTable) -> Finding:
    """Return the finding as a warning where all traces that it lists are zeroed."""
    listed: list[dict[str, Any]] = finding.evidence["traces"]  # type: ignore[assignment]
    try:
        headers = _headers(listed, source)
    except SubsaltError:
        # samples that cannot be read are another finding
        return finding
    if not headers:
        return finding
    zeroed = np.zeros(len(listed), bool)
    for rows, its in headers:
        for made in kills:
            zeroed[rows] |= made.edited(its)
    names, one = " and ".join(flow.name(made.place) for made in kills), len(kills) == 1
    if zeroed.all():
        of_how_many = (
            "all of them" if len(listed) == finding.evidence["count"] else f"the first {len(listed)}"
        )
        return replace(
            finding,
            code="W246",
            level="warning",
            message=f"{finding.message}; {names} zero{'es' * one} {of_how_many}",
            fix="nothing, if that is what the step is for; subsalt view JOB.toml --signal shows the shots",
        )
    left = f"leave{'s' * one} {int((~zeroed).sum())} of the first {len(listed)}"
    return replace(finding, message=f"{finding.message}; {names} {left}")


def _headers(
    listed: list[dict[str, Any]], source: Survey | TraceTable
) -> list[tuple[NDArray[np.int64], Headers]]:
    """Return the headers with marks of traces named by file and number, and which of them they are."""
    files = source.reader.inner if isinstance(source, Survey) else source.files  # type: ignore[union-attr]
    if not hasattr(files, "first"):
        return []
    first = dict(zip(files.paths, files.first.tolist(), strict=False))
    number = np.array(
        [first[t["file"]] + t["trace"] - 1 if t["file"] in first else -1 for t in listed], np.int64
    )
    if not isinstance(source, Survey):
        at, found = _places(source.number, number)
        return [(found, source.treatment.marked(at))] if len(found) else []  # type: ignore[union-attr]
    out = []
    for shot in source.shots:
        if shot.trace_index is None:
            continue
        at, found = _places(shot.trace_index, number)
        if len(found):
            out.append((found, source.reader.marked(shot).take(at)))  # type: ignore[union-attr]
    return out


def _places(numbers: NDArray[Any], wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where wanted numbers stand among others, and which of the wanted ones do."""
    order = np.argsort(numbers, kind="stable")
    at = np.minimum(np.searchsorted(numbers, wanted, sorter=order), len(numbers) - 1)
    found = np.flatnonzero(numbers[order[at]] == wanted) if len(numbers) else np.empty(0, np.int64)
    return order[at[found]] if len(found) else np.empty(0, np.int64), found
