"""What the report of a ReFrame session says about the runs of a campaign."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from subsalt.errors import SubsaltError

#: format of the reports that are known: of ReFrame 4.7 and later
FORMAT = "4."
#: letters of a reason that an error repeats
SAID = 300
#: seconds by which clocks of submission and completion may disagree
CLOCK = 0.05


@dataclass(frozen=True)
class Run:
    """One run of a campaign.

    Parameters
    ----------
    number : int
        In the order in which the runs were wanted.
    seconds, resolution : float
        Its time, and how far off it may be.
    begin, end : float
        When ReFrame handed it to the system, and when it was done, s of the clock of the day.
    """

    number: int
    seconds: float
    resolution: float
    begin: float
    end: float


def unreadable(why: str) -> SubsaltError:
    """Return the error of a report that cannot be used."""
    error = SubsaltError(
        f"the report of ReFrame cannot be read: {why}",
        "use --engine own, and report the version that reframe --version prints",
        code="E965",
    )
    error.exit_code = 70
    return error


def failed(number: int, why: str) -> SubsaltError:
    """Return the error of a run that ReFrame calls failed."""
    error = SubsaltError(
        f"run {number + 1} of the campaign failed in ReFrame: {why}",
        "mend it, or use --engine own to see what the command itself says",
        code="E964",
    )
    error.exit_code = 70
    return error


def parse(text: str, count: int) -> list[Run]:
    """Return the runs of a report in their order.

    Parameters
    ----------
    text : str
        JSON of ReFrame's ``--report-file``.
    count : int
        Runs that there must be.

    Raises
    ------
    SubsaltError
        E964 when a run failed; E965 when the text is cut, of another format, lacks runs, or when runs were made at the
        same time.
    """
    try:
        report = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise unreadable("it is empty" if not text.strip() else f"its JSON is not whole ({error})") from None
    try:
        version = str(report["session_info"]["data_version"])
        if not version.startswith(FORMAT):
            raise unreadable(f"its format is {version}, {FORMAT}x is known")
        cases: Sequence[Mapping[str, Any]] = [c for run in report["runs"] for c in run["testcases"]]
        found = sorted((_run(case) for case in cases), key=lambda r: r.number)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise unreadable(f"{type(error).__name__} {error}") from None
    if [r.number for r in found] != list(range(count)):
        raise unreadable(f"it has {len(found)} of {count} runs")
    in_time = sorted(found, key=lambda r: r.begin)
    for first, second in pairwise(in_time):
        if second.begin < first.end - CLOCK:
            raise unreadable(f"runs {first.number + 1} and {second.number + 1} were made at the same time")
    return found


def in_order(runs: Sequence[Run]) -> bool:
    """Whether the runs were made in the order in which they were wanted."""
    begins = [r.begin for r in runs]
    return begins == sorted(begins)


def _run(case: Mapping[str, Any]) -> Run:
    number = int(case["number"])
    if case["result"] != "pass":
        raise failed(number, " ".join(str(case.get("fail_reason") or case["result"]).split())[:SAID])
    # the names are system:partition:variable
    values = {key.rsplit(":", 1)[1]: float(given[0]) for key, given in case["perfvalues"].items()}
    return Run(
        number,
        values["time"],
        values["resolution"],
        float(case["job_submit_time"]),
        float(case["job_completion_time_unix"]),
    )
