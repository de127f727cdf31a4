"""Shots side by side in one process: same bytes in any number and order, and stops, failures and crashes as of one."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from small_run import make

from patience import PATIENCE, wait_for
from subsalt.errors import NumericalFailure
from subsalt.kernels import cpu
from subsalt.methods.rtm import migrate as shots
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.run import live
from subsalt.run.crash_evidence import CrashNote, collect_crash_stacks
from subsalt.run.ledger_file import peek
from subsalt.run.live import read_progress
from subsalt.run.migrate import migrate_job
from subsalt.run.quarantine import read_record
from subsalt.run.stop_request import RunStopped, request_stop
from subsalt.timing import Phases
from thorough import each, thorough

VOLUME = """
[model]
vp = { z = [0, 120, 121, 240], value = [2000, 2000, 2400, 2400] }
epsilon = 0.1
delta = 0.05
[acquisition]
shots = { first = [60, 50, 0], last = [240, 50, 0], n = 3 }
receivers = { first = [23, 40, 10], last = [277, 80, 10], n = [14, 3] }
record_length = 0.16
dt = 0.002
files = "per-shot"
"""
VOLUME_GRID = """
[grid]
spacing = [10, 10, 10]
shape = [31, 13, 25]
[source]
f0 = 18
[propagation]
grid = "model"
layer = 6
"""
VOLUME_JOB = """
[data]
files = ["shots/*.sgy"]
first_breaks = "ignore"
[model]
vp = 2000
epsilon = 0.1
delta = 0.05
[output]
pictures = false
[imaging]
filter = "laplacian"
"""


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.from_toml(make(tmp_path_factory.mktemp("line")))


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("volume")
    (folder / "model.toml").write_text(VOLUME + VOLUME_GRID)
    (folder / "job.toml").write_text(VOLUME_JOB + VOLUME_GRID)
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    return Job.from_toml(folder / "job.toml")


@pytest.fixture(scope="module")
def whole(line: Job) -> str:
    return migrate_job(at_once(line, 1), line.base / "whole").sha256


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch):
    """Leave the threads of other tests as they are; look for requests often."""
    monkeypatch.setattr(live, "LOOK", 0.02)
    monkeypatch.setattr(live, "WRITE", 0.02)
    before = cpu.in_use()[0]
    yield
    cpu.set_threads(before)


def at_once(job: Job, count: int, **more: object) -> Job:
    return job.changed("parallel", shots_at_once=count, **more)


def together(monkeypatch: pytest.MonkeyPatch, count: int, order=()) -> list[int]:
    """Let the first `count` shots wait for each other, and end in an order; return the ids as shots end."""
    real, meet, ended, turn = shots.migrate_shot, threading.Barrier(count), [], threading.Condition()
    left = [count]

    def migrate(setup, shot, *args, **options):
        with turn:
            left[0] -= 1
            first = left[0] >= 0
        if first:
            meet.wait(PATIENCE)
        image = real(setup, shot, *args, **options)
        with turn:
            if shot.id in order:
                before = order[: order.index(shot.id)]
                assert turn.wait_for(lambda: set(before) <= set(ended), PATIENCE)
            ended.append(shot.id)
            turn.notify_all()
        return image

    monkeypatch.setattr(shots, "migrate_shot", migrate)
    return ended


CHECKPOINTS = {
    "store": {"strategy": "store", "place": "memory"},
    "disk": {"strategy": "store", "place": "disk"},
    "revolve": {"strategy": "revolve", "place": "both", "slots": 2},
    "kept": {"strategy": "store", "place": "disk", "keep": "both"},
}


@pytest.mark.parametrize(
    ("survey", "checkpoint", "count"), each(["line", "volume"], list(CHECKPOINTS), [2, 3, 3, 2])
)
def test_shots_side_by_side_have_the_bytes_of_one_after_the_other(
    survey, checkpoint, count, tmp_path, monkeypatch, request
):
    job = request.getfixturevalue(survey).changed("checkpoint", **CHECKPOINTS[checkpoint])
    one = migrate_job(at_once(job, 1), tmp_path / "one")
    ended = together(monkeypatch, count)  # they meet: so many are indeed in hand at the same time
    several = migrate_job(at_once(job, count), tmp_path / "several")
    assert len(ended) == 3
    assert several.sha256 == one.sha256
    for part in sorted((tmp_path / "one" / "images").iterdir()):
        assert (tmp_path / "several" / "images" / part.name).read_bytes() == part.read_bytes()
    assert several.grid_point_steps == one.grid_point_steps


@pytest.mark.parametrize(
    "order", [(3, 2, 1), *(pytest.param(o, marks=thorough) for o in ((2, 3, 1), (3, 1, 2)))]
)
def test_the_order_in_which_shots_end_changes_no_byte(line, whole, order, tmp_path, monkeypatch):
    ended = together(monkeypatch, 3, order)
    assert migrate_job(at_once(line, 3), tmp_path / "run").sha256 == whole
    assert tuple(ended) == order


def test_threads_are_shared_while_shots_are_computed_and_whole_again_after_them(line, tmp_path, monkeypatch):
    seen, real = [], shots.migrate_shot

    def migrate(*args, **options):
        seen.append(cpu.in_use()[0])
        return real(*args, **options)

    monkeypatch.setattr(shots, "migrate_shot", migrate)
    migrate_job(at_once(line, 2, threads=4), tmp_path / "run")
    assert seen == [2, 2, 2]
    assert cpu.in_use()[0] == 4


def test_modelled_shots_have_the_bytes_of_one_after_the_other(line, tmp_path):
    job = Job.from_toml(line.base / "model.toml")
    for count in (1, 3):
        model_job(at_once(job, count), tmp_path / str(count))
    for path in sorted((tmp_path / "1").glob("*.sgy")):
        assert (tmp_path / "3" / path.name).read_bytes() == path.read_bytes()


def test_an_image_made_again_of_kept_wavefields_is_that_of_one_after_the_other(line, whole, tmp_path):
    job = line.changed("checkpoint", keep="both")
    migrate_job(at_once(job, 2), tmp_path / "kept")
    wish = Wish(condition="cross-correlation", wavefields=True)
    again = reimage_run(tmp_path / "kept", tmp_path / "again", wish)
    new = migrate_job(line.changed("imaging", condition="cross-correlation"), tmp_path / "new")
    assert again.sha256 == new.sha256


def test_phases_sum_to_the_wall_time(line, tmp_path):
    """Those of the main thread: what the others do meanwhile is in no row."""
    phases = migrate_job(at_once(line, 3), tmp_path / "run").phases
    assert sum(s for name, s in phases.items() if name != "wall") == pytest.approx(phases["wall"])
    assert min(phases.values()) >= 0


def test_a_clock_counts_the_thread_that_made_it():
    clock, inside, over = Phases(), threading.Event(), threading.Event()
    seen = []

    def work():
        with clock("receivers"):
            seen.append(clock.current)
            inside.set()
            over.wait(PATIENCE)

    thread = threading.Thread(target=work)
    with clock("source"):
        thread.start()
        assert inside.wait(PATIENCE)
        seen.append(clock.current)
        over.set()
        thread.join()
    assert seen == ["receivers", "source"]
    assert list(clock.seconds) == ["source"]


def test_a_stop_gives_all_shots_in_hand_back(line, whole, tmp_path, monkeypatch):
    together(monkeypatch, 2)
    run, stops = tmp_path / "run", []

    def progress(done, total, message=""):
        if not stops and len(read_progress(run).get("in_hand", ())) == 2:
            stops.append(request_stop(run, patience=0))
            wait_for(lambda: False)  # until the signal comes

    with pytest.raises(RunStopped, match="given back"):
        migrate_job(at_once(line, 2), run, progress)
    assert [r["deaths"] for r in peek(run)] == [0, 0, 0]
    assert threading.active_count() == 1 or not [
        t for t in threading.enumerate() if t.name.startswith("units")
    ]
    # and another number goes on
    assert migrate_job(at_once(line, 3), run).sha256 == whole


def test_a_stop_may_let_all_shots_in_hand_be_finished(line, whole, tmp_path, monkeypatch):
    together(monkeypatch, 2)
    run, stops = tmp_path / "run", []

    def progress(done, total, message=""):
        if not stops:
            stops.append(request_stop(run, patience=0, finish=True))
            wait_for(lambda: read_progress(run).get("state") == "stopping")

    with pytest.raises(RunStopped, match="finished first"):
        migrate_job(at_once(line, 2), run, progress)
    assert sorted(r["state"] for r in peek(run)) == ["done", "done", "planned"]
    assert migrate_job(at_once(line, 1), run).sha256 == whole


@pytest.mark.parametrize("bad", [pytest.param(1, marks=thorough), 2, pytest.param(3, marks=thorough)])
def test_a_shot_that_fails_is_set_aside_and_the_others_are_imaged(line, bad, tmp_path, monkeypatch):
    real = shots.migrate_shot

    def migrate(setup, shot, *args, **options):
        if shot.id == bad:
            raise NumericalFailure("the wavefield is not finite")
        return real(setup, shot, *args, **options)

    monkeypatch.setattr(shots, "migrate_shot", migrate)
    holes = [migrate_job(at_once(line, n), tmp_path / str(n)) for n in (1, 3)]
    for run in holes:
        assert (run.shots_failed, run.shots_done) == ([bad], [s for s in (1, 2, 3) if s != bad])
    assert holes[0].sha256 == holes[1].sha256
    assert len(read_record(tmp_path / "3", bad)["failures"]) == 2


@pytest.mark.parametrize("bad", [1, 3])
def test_what_no_shot_can_get_over_ends_the_run_with_its_error(line, whole, bad, tmp_path, monkeypatch):
    """Also where it happens beside the main thread; what was finished is kept."""
    real = shots.write_partial

    def write(images, part, *args):
        if part.shot == bad:
            raise OSError("the disk is gone")
        return real(images, part, *args)

    monkeypatch.setattr(shots, "write_partial", write)
    run = tmp_path / "run"
    with pytest.raises(OSError, match="the disk is gone"):
        migrate_job(at_once(line, 3), run)
    assert not [t for t in threading.enumerate() if t.name.startswith("units")]
    monkeypatch.undo()
    assert migrate_job(at_once(line, 2), run).sha256 == whole


KILLED = """
import faulthandler, os, sys, threading
from pathlib import Path
from patience import PATIENCE
from subsalt.methods.rtm import migrate as shots
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job

folder, run, how = map(Path, sys.argv[1:4])
real, meet = shots.migrate_shot, threading.Barrier(2)

def migrate(setup, shot, *args, **options):
    # the first of the queue, and the next that nobody has read ahead
    assert shot.id in (1, 3)
    meet.wait(PATIENCE)
    real(setup, shot, *args, **options)
    if shot.id == 3:
        if how.name == "kill":
            os.kill(os.getpid(), 9)
        faulthandler._sigsegv()
    threading.Event().wait(PATIENCE)

shots.migrate_shot = migrate
migrate_job(Job.from_toml(folder / "job.toml").changed("parallel", shots_at_once=2), run)
"""


def killed(line: Job, run: Path, how: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, line.base, run, how],
        cwd=Path(__file__).parents[1],
        timeout=PATIENCE,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


def test_a_run_killed_with_several_shots_in_hand_goes_on_with_another_number(line, whole, tmp_path):
    run = tmp_path / "run"
    assert killed(line, run, "kill") < 0
    assert {r["id"] for r in peek(run) if r["state"] == "running"} == {1, 3}
    assert migrate_job(at_once(line, 3), run).sha256 == whole
    assert not list(run.glob("crash.*"))


def test_a_crash_counts_for_the_shot_of_the_thread_that_crashed(line, whole, tmp_path):
    run = tmp_path / "run"
    assert killed(line, run, "crash") < 0
    assert migrate_job(at_once(line, 3), run).sha256 == whole
    events = [json.loads(e) for e in (run / "events.jsonl").read_text().splitlines()]
    failed = [e["shot"] for e in events if e["event"] == "failed"]
    assert failed == [3]


def test_a_note_names_all_units_when_the_stack_names_none_of_their_threads(tmp_path):
    with CrashNote(tmp_path, 0) as note:
        note.now(4)
        note.round = 2
        other = threading.Thread(target=note.now, args=(7,))
        other.start()
        other.join()
        text = note.path.read_text() + "Fatal Python error: Segmentation fault\n\n<no Python frame>\n"
    (tmp_path / "crash.r0000.txt").write_text(text)
    assert set(collect_crash_stacks(tmp_path)) == {(2, 4), (2, 7)}


@pytest.mark.parametrize("value", ["0", "-1", "2.5", '"all"', "true"])
def test_wrong_values_are_refused_with_a_cure(line, value, tmp_path, subsalt_command):
    path = line.base / f"wrong_{abs(hash(value))}.toml"
    path.write_text((line.base / "job.toml").read_text() + f"\n[parallel]\nshots_at_once = {value}\n")
    code, out, err = subsalt_command("check", path)
    assert code == 78
    assert "shots_at_once" in out + err
