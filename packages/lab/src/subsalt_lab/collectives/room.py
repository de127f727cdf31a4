"""Are there idle cores for all ranks: ranks that take turns measure the scheduler, not an algorithm."""

from __future__ import annotations

import time
from collections import Counter

from subsalt.errors import SubsaltError
from subsalt.machine.load import TOLERATED_CORES, Watch
from subsalt_lab.collectives.plan import Answer

#: seconds for which others are watched
WATCHED = 0.5


def cores_of_others() -> float:
    """Return how many cores of this host others use, watched for half a second."""
    with Watch(0) as watch:
        time.sleep(WATCHED)
    return watch.others if watch.others is not None else watch.average


def crowded(told: Answer, others: float) -> str:
    """Return what is wrong with the room of these ranks, in words; empty when each has an idle core.

    Parameters
    ----------
    told : Answer
        Where the ranks were found.
    others : float
        Cores that others use, if all ranks are on this host; of other hosts nothing is known.
    """
    here = others if len(set(told.hosts)) == 1 else 0.0
    for host, ranks in Counter(told.hosts).items():
        cores = told.cores[host]
        if ranks > cores - here + 2 * TOLERATED_CORES:
            busy = f", of which others use {here:.1f}" if ranks <= cores else ""
            return f"{ranks} ranks on {cores} core{'s' * (cores != 1)}{busy}"
    return ""


def refused(what: str) -> SubsaltError:
    """Return the error of ranks without room."""
    error = SubsaltError(
        f"{what}: ranks that take turns measure nothing",
        "use a smaller --np, or wait; --oversubscribe-ok measures all the same, and nothing of it is applied",
        code="E930",
    )
    error.exit_code = 69
    return error
