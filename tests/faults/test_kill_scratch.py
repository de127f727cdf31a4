"""F1 with snapshots, states, kept wavefields and restart points on two disks: struck anywhere, the same bytes."""

from __future__ import annotations

import errno
import json

import pytest
from small_run import digest
from strikes import FOREVER, KILL, ONCE, SHORT, TORN, spread
from struck_survey import Case
from test_fault_loop import failed

from thorough import ALL, sample, some, thorough

DIRECTORIES = 'directories = ["FOLDER/scratch/a", "FOLDER/scratch/b"]\n'
#: what a job says of its checkpoints, by what is struck
JOBS = {
    "kept": '[checkpoint]\nstrategy = "store"\nplace = "disk"\nkeep = "both"\nrestart_every = 25\n'
    + DIRECTORIES,
    "states": '[checkpoint]\nstrategy = "revolve"\nplace = "both"\nslots = 2\ndisk_slots = 3\nblock = 2\n'
    "restart_every = 25\n" + DIRECTORIES,
}


@pytest.fixture(scope="module", params=list(JOBS))
def jobs(request: pytest.FixtureRequest, case: Case) -> Case:
    """The survey with its wavefields on disk; the image must be that of the survey without."""
    job = case.folder / f"{request.param}.toml"
    job.write_text(case.job.read_text() + JOBS[request.param].replace("FOLDER", str(case.folder)))
    other = Case(case.folder, job, case.striker)
    assert other.sha256 == case.sha256, "checkpoints changed the image"
    return other


def test_killed_with_records_on_two_disks(jobs: Case) -> None:
    inside = [p for p in jobs.points if p.part == "scratch"]
    points = [
        *inside[1 :: len(inside) // sample(2, 18)],
        *spread([p for p in jobs.points if p.part != "scratch"], sample(1, 8)),
    ]
    jobs.striker.struck.clear()
    faults = []
    for i, point in enumerate(points):
        fault, _ = jobs.kill(point, by_directory=i % 2 == 1, mode=TORN if i % 4 > 1 else KILL)
        faults += [f"{point}: {fault}"] if fault else []
    assert not faults, "\n".join(faults)
    assert sum(jobs.striker.struck.values()) == len(points)
    assert sum(n for (_, part), n in jobs.striker.struck.items() if part == "scratch") >= sample(2, 18)


@thorough  # a run killed twice: `test_kill_points`
def test_killed_again_with_records_on_two_disks(jobs: Case) -> None:
    """Twice in the same shot, early, in the middle and late."""
    inside = [p for p in jobs.points if p.part == "scratch"]
    for i, point in enumerate(inside[5 :: max(1, len(inside) // sample(1, 6))]):
        fault, _ = jobs.kill(point, again=30 + 11 * i, by_directory=i % 2 == 0)
        assert not fault, f"{point}: {fault}"


def test_a_killed_shot_goes_on_from_its_restart_point(jobs: Case) -> None:
    """Less is computed than when what it left is taken away."""
    inside = [p for p in jobs.points if p.part == "scratch"]
    point, steps = inside[len(inside) // 2], []
    for left in (True, False):
        jobs.fresh()
        assert jobs.start(point, KILL).code == -9
        if not left:
            for file in jobs.scratch.rglob("restart*"):
                file.unlink()
        end = jobs.striker("migrate", jobs.job, "--run", jobs.run, "--json")
        assert jobs.verdict(end) == ""
        steps.append(json.loads(end.out.splitlines()[-1])["point_steps"])
        resumed = json.loads((jobs.run / "run.json").read_text())["checkpoint"]["sums"]["resumed"]
        assert (resumed > 0) == left
    assert steps[0] < steps[1]


@pytest.mark.parametrize(
    ("number", "mode"), some([(errno.ENOSPC, ONCE), (errno.ENOSPC, FOREVER), (errno.EIO, ONCE)], 1)
)
def test_records_that_cannot_be_written(jobs: Case, number: int, mode: int) -> None:
    """The threads behind the stores included."""
    inside = [p for p in jobs.points if p.part == "scratch"]
    written = [p for p in inside if p.operation == "pwrite"]
    chosen = [*(inside[:: max(1, len(inside) // 14)] if ALL else []), written[len(written) // 2]]
    results = [failed(jobs, point, number, mode) for point in chosen]
    faults = [fault for fault, _ in results if fault]
    assert not faults, "\n".join(faults)
    # a folder that is there already and a file that is taken away late may be missed without harm
    writes = [code for point, (_, code) in zip(chosen, results, strict=True) if point.operation == "pwrite"]
    assert writes
    assert set(writes) <= {73, 74}


def test_short_transfers_of_records_are_invisible(jobs: Case) -> None:
    """F6, over the threads behind the stores."""
    jobs.fresh()
    assert jobs.verdict(jobs.start(0, SHORT, 1000)) == ""
    assert digest(jobs.run) == jobs.sha256
