"""A least-squares migration, killed at any file operation, goes on to the same bytes, files and no state too many."""

from __future__ import annotations

from small_run import LEAST_SQUARES as JOB
from strikes import KILL, TORN, one_of_each, spread
from struck_survey import Case

from thorough import ALL, sample

__all__ = ["JOB"]


def test_killed_in_and_between_rounds_it_goes_on_to_the_same_bytes(case: Case) -> None:
    """Strikes on every kind of operation on states and images of iterations, some on the rest of the run.

    `Case.verdict` compares image and names of all files: what later rounds do not read is gone in both.
    """
    inside = [p for p in case.points if p.part in ("state", "image of an iteration")]
    assert {"state", "image of an iteration"} == {p.part for p in inside}
    # the first state is removed when the last round is closed
    assert any(p.operation.startswith("unlink") and p.path.endswith("state_000.npy") for p in inside), inside
    others = [p for p in case.points if p not in inside]
    struck = spread(inside, 40) if ALL else one_of_each(inside)
    points = [*struck, *spread(others, sample(1, 20))]
    case.striker.struck.clear()
    faults = []
    for i, point in enumerate(points):
        again = 1 + (i * 37) % 120 if i % 3 == 2 else 0
        fault, _ = case.kill(point, again, by_directory=i % 2 == 1, mode=TORN if i % 4 > 1 else KILL)
        faults += [f"{point}: {fault}"] if fault else []
    assert not faults, "\n".join(faults)
    assert sum(case.striker.struck.values()) >= len(points)
