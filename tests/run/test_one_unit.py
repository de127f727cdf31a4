"""Units computed by processes that do not own the run: equal bytes, whichever attempt counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from launch import forked, needs_mpi
from launch import run as launch
from rounds_case import ROUNDS, FixedPoint, Job, expected, iterate, job_file
from small_run import digest, make
from time_case import hashes as results
from time_case import make as make_time

from patience import PATIENCE
from subsalt.acquisition.survey import Shot
from subsalt.errors import ConfigError, MissingInputError, NumericalFailure
from subsalt.io.event_log import read_events
from subsalt.job.base import read_job
from subsalt.methods.kirchhoff import memory as kirchhoff_memory
from subsalt.methods.kirchhoff.cutting import cut
from subsalt.methods.rtm import migrate as shots
from subsalt.run import one_unit
from subsalt.run.attempts import Published, unit_folder
from subsalt.run.engine import Engine
from subsalt.run.job_of_run import job_of_run
from subsalt.run.ledger_copy import PlannedLedger
from subsalt.run.ledger_file import peek
from subsalt.run.method_run import RunRequest, RunState
from subsalt.run.migrate import migrate_job, prepare_checked
from subsalt.run.one_unit import Wanted
from subsalt.run.quarantine import read_record
from subsalt.run.result import RunResult
from subsalt.run.resume import ResumeOptions
from subsalt.run.run_directory import RunDirectory


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult]:
    """Return the job of three shots and its run by one process."""
    job = make(tmp_path_factory.mktemp("line"))
    return job, migrate_job(read_job(job), job.parent / "whole.run")


def prepare(job: Path, run: Path) -> list[int]:
    return prepare_checked(read_job(job), RunState.of(RunRequest(run)))


def compute(run: Path, *units: int, **wanted: object) -> list[Published]:
    return list(one_unit.compute_units(job_of_run(run), run, Wanted(units, **wanted)))  # type: ignore[arg-type]


def test_attempts_have_equal_bytes_and_the_owner_makes_the_image_of_them(
    line: tuple[Path, RunResult], tmp_path: Path
) -> None:
    job, whole = line
    run = tmp_path / "parts.run"
    assert prepare(job, run) == [1, 2, 3]
    (first,) = compute(run, 2, attempt=7)
    (other,) = compute(run, 2, attempt=1)
    compute(run, 0, 2, by_place=True)
    name = "shot_000002.planes"
    whole_bytes = (whole.run_dir / "images" / name).read_bytes()
    assert {(p.folder / "images" / name).read_bytes() for p in (first, other)} == {whole_bytes}
    assert first.line["sha256"] == other.line["sha256"]
    assert first.line["bytes"] == len(whole_bytes)
    # nothing is entered by those who compute
    assert [row["state"] for row in peek(run)] == ["planned"] * 3
    done = migrate_job(read_job(job), run)
    assert (done.point_steps, done.sha256, digest(run)) == (
        whole.point_steps,
        whole.sha256,
        digest(whole.run_dir),
    )
    assert not (run / "attempts").exists()
    log = read_events(run).known
    assert [e["shots"] for e in log if e["event"] == "adopted"] == [[1, 2, 3]]
    assert [e["host"] for e in log if e["event"] == "done"] == [first.host] * 3


def test_an_attempt_that_comes_late_changes_nothing(line: tuple[Path, RunResult], tmp_path: Path) -> None:
    job, whole = line
    run = tmp_path / "late.run"
    prepare(job, run)
    compute(run, 1)
    assert migrate_job(read_job(job), run).sha256 == whole.sha256
    (late,) = compute(run, 1, attempt=2)
    assert late.line["sha256"] == peek(run)[0]["sha256"]
    assert migrate_job(read_job(job), run).sha256 == whole.sha256
    assert not late.folder.exists()


def test_what_is_not_complete_or_of_another_run_does_not_count(
    line: tuple[Path, RunResult], tmp_path: Path
) -> None:
    job, whole = line
    run = tmp_path / "broken.run"
    prepare(job, run)
    taken = [compute(run, unit)[0].outcome["work"]["point_steps"] for unit in (1, 2, 3)]
    records = {unit: unit_folder(run, 0, unit) / "1/unit.json" for unit in (1, 2, 3)}
    records[1].unlink()
    records[2].write_text(json.dumps(json.loads(records[2].read_text()) | {"identity": "0" * 64}))
    partial = records[3].parent / "images/shot_000003.planes"
    damaged = bytearray(partial.read_bytes())
    damaged[-1] ^= 1
    partial.write_bytes(bytes(damaged))
    done = migrate_job(read_job(job), run)
    assert done.sha256 == whole.sha256
    # shot 3 was taken, found damaged, and computed again like the others
    assert done.point_steps == whole.point_steps + taken[2]


def test_bad_data_are_failures_of_their_unit_and_two_put_it_aside(
    line: tuple[Path, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, whole = line
    run = tmp_path / "bad.run"
    prepare(job, run)
    real = shots.migrate_shot

    def migrate(setup: object, which: Shot, *args: object, **options: object) -> object:
        if which.id == 2:
            raise NumericalFailure("the wavefield is not finite " * 100)
        return real(setup, which, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(shots, "migrate_shot", migrate)
    for attempt, state in ((1, "planned"), (2, "quarantined")):
        (bad,) = compute(run, 2, attempt=attempt)
        assert "not finite" in bad.line["reason"]
        assert len(json.dumps(bad.line)) < 1000
        prepare(job, run)
        assert peek(run)[1]["state"] == state
    record = read_record(run, 2)
    assert record["source"] == [210.0, 0.0, 0.0]
    assert len(record["failures"]) == 2
    assert np.load(run / record["copy"]).shape == (21, 126)
    monkeypatch.undo()
    mended = migrate_job(read_job(job), run, resume=ResumeOptions(retry_quarantined=True))
    assert (mended.shots_failed, mended.sha256) == ([], whole.sha256)


def test_blocks_of_a_time_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_blocks(
        shape: object, classes: int, nt: int, most: object = None, *more: int, **names: object
    ) -> object:
        return cut(shape, classes, nt, 90_000, *more, **names)  # type: ignore[arg-type]

    monkeypatch.setattr(kirchhoff_memory, "cut", in_blocks)
    job = make_time(tmp_path)
    whole = migrate_job(read_job(job), tmp_path / "whole.run")
    run = tmp_path / "parts.run"
    blocks = prepare(job, run)
    assert len(blocks) > 1
    compute(run, *blocks)
    assert migrate_job(read_job(job), run).sha256 == whole.sha256
    assert results(run) == results(whole.run_dir)
    assert {e["event"] for e in read_events(run).known} >= {"adopted", "done"}


def test_units_of_every_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, job = tmp_path / "run", Job.from_toml(job_file(tmp_path))
    monkeypatch.setattr(one_unit, "method_of", lambda name: SimpleNamespace(open_run=FixedPoint))
    for number in range(ROUNDS):
        # enters what was published of the round before, and closes it
        owner = FixedPoint(job, RunState.of(RunRequest(run)))
        left = Engine(owner, RunDirectory(owner)).plan()
        assert (owner.state.round, left) == (number, [1, 2, 3, 4, 5])
        with pytest.raises(ConfigError, match=f"is in round {number}, not in round 3"):
            list(one_unit.compute_units(job, run, Wanted(left, round=3)))
        list(one_unit.compute_units(job, run, Wanted(left, round=number)))
    assert np.load(iterate(run).image).tobytes() == expected().tobytes()
    assert {row["attempt"] for row in peek(run)} == {0}


def test_a_process_of_another_class_of_numerics_is_refused(
    line: tuple[Path, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "other.run"
    prepare(line[0], run)
    monkeypatch.setattr(shots, "numerics_of", lambda device, *more: device | {"class": "another"})
    with pytest.raises(ConfigError, match="in the numerics class 'another'"):
        compute(run, 1)
    assert not (run / "attempts").exists()


def test_wavefields_are_not_kept_elsewhere(line: tuple[Path, RunResult], tmp_path: Path) -> None:
    job = line[0].with_name("keep.toml")
    job.write_text(line[0].read_text() + '[checkpoint]\nkeep = "source"\n')
    with pytest.raises(ConfigError, match="keep"):
        prepare(job, tmp_path / "keep.run")


def test_a_folder_without_a_prepared_run(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="--prepare"):
        PlannedLedger(tmp_path)


def test_the_command_prints_a_line_and_ends_with_its_code(
    line: tuple[Path, RunResult], tmp_path: Path, subsalt_command: Callable[..., tuple[int, str, str]]
) -> None:
    run = tmp_path / "command.run"
    code, out, _ = subsalt_command("migrate", line[0], "--run", run, "--prepare", "--json")
    assert (code, json.loads(out)["left"]) == (0, [1, 2, 3])
    done = forked(["unit", run, "--unit", "3", "--attempt", "4"])
    out, err = done.communicate(timeout=PATIENCE)
    assert (done.returncode, err) == (0, "")
    assert len(out) < 1000
    said = json.loads(out)
    assert set(said) == {"unit", "attempt", "sha256", "bytes", "seconds", "host"}
    assert (said["unit"], said["attempt"]) == (3, 4)
    for wrong, code in ((["--unit", "9"], 78), ([], 2), (["--unit", "1", "--place", "0"], 2)):
        assert subsalt_command("unit", run, *wrong)[0] == code


@needs_mpi
def test_ranks_that_share_a_unit(line: tuple[Path, RunResult], tmp_path: Path) -> None:
    job, whole = line
    several = tmp_path / "several.toml"
    several.write_text(
        job.read_text().replace("shots/", f"{job.parent}/shots/") + "[parallel]\nshots_at_once = 2\n"
    )
    prepare(several, tmp_path / "ranks.run")
    done = launch(2, ["subsalt", "unit", tmp_path / "ranks.run", "--place", "0"])
    assert done.rc == 0, done
    # what of the job has no effect is said where it has none
    assert done.err[0].count("W666 [parallel] shots_at_once = 2 has no effect, since there are 2 ranks") == 1
    assert "W666" not in done.err[1]
    assert json.loads(done.out[0])["sha256"] == peek(whole.run_dir)[0]["sha256"]
    assert done.out[1] == ""
