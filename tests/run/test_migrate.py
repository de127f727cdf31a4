"""Runs of small jobs: the same bytes after stops, damage and other thread counts; refusals; holes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from subsalt.errors import ConfigError, FindingsError, SubsaltError
from subsalt.io.faults import FaultCounter, FaultHook, set_fault
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.run.identity import differences
from subsalt.run.migrate import migrate_job
from thorough import sample

COMMON = """
[grid]
spacing = 10
shape = [61, 41]
[source]
f0 = 15
[propagation]
grid = "model"
"""

#: shots that are no mirror images of each other: to try the cures of what looks wrong takes longer than a migration
MODEL = (
    """
[model]
vp = { z = [0, 240, 241, 400], value = [2000, 2000, 2400, 2400] }
[acquisition]
shots = { first = [100, 0], last = [460, 0], n = 4 }
receivers = { first = [0, 0], last = [600, 0], n = 61 }
record_length = 0.4
dt = 0.002
files = "per-shot"
"""
    + COMMON
)

MIGRATE = (
    """
[data]
files = ["shots/*.sgy"]
first_breaks = "ignore"
[model]
vp = 2000
[output]
pictures = false
"""
    + COMMON
)


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with job.toml and four modelled shots."""
    folder = tmp_path_factory.mktemp("survey")
    (folder / "model.toml").write_text(MODEL)
    (folder / "job.toml").write_text(MIGRATE)
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    return folder


@pytest.fixture(scope="module")
def undisturbed(survey: Path) -> str:
    """Hash of the image of a run that was left alone."""
    return migrate_job(Job.from_toml(survey / "job.toml"), survey / "undisturbed").sha256


def test_snapshots_are_gone_when_pictures_are_drawn_and_what_was_computed_is_counted(
    survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools, held = [], []
    take = SnapshotPool.take

    def taken(pool: SnapshotPool, *given, **named):  # type: ignore[no-untyped-def]
        pools.append(pool)
        return take(pool, *given, **named)

    def draw(*given, **named):  # type: ignore[no-untyped-def]
        held.extend(len(pool._stores) for pool in pools)
        return []

    monkeypatch.setattr(SnapshotPool, "take", taken)
    monkeypatch.setattr("subsalt.methods.rtm.outputs.RunOutputs._draw", draw)
    text = (survey / "job.toml").read_text().replace("pictures = false", "pictures = true")
    (survey / "drawn.toml").write_text(text)
    result = migrate_job(Job.from_toml(survey / "drawn.toml"), tmp_path / "run")
    assert held
    assert not any(held)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    # 4 shots, both wavefields, and the layer around the model
    whole = facts["grid_point_steps"]
    assert whole % (4 * (61 + 2 * 12) * (41 + 2 * 12)) == 0
    assert 0 < facts["point_steps"] < whole
    assert (result.point_steps, result.grid_point_steps) == (facts["point_steps"], whole)


def test_modelled_shots_are_not_modelled_again(survey: Path) -> None:
    stamps = {p.name: p.stat().st_mtime_ns for p in (survey / "shots").glob("*.sgy")}
    again = model_job(Job.from_toml(survey / "model.toml"), survey / "shots")
    assert again.point_steps == 0
    assert stamps == {p.name: p.stat().st_mtime_ns for p in (survey / "shots").glob("*.sgy")}


def test_shots_of_another_model_are_not_overwritten(survey: Path, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(MODEL.replace("2400, 2400", "2500, 2500"))
    with pytest.raises(ConfigError, match="another job"):
        model_job(Job.from_toml(tmp_path / "other.toml"), survey / "shots")


def test_result_lists_what_was_done(survey: Path, tmp_path: Path) -> None:
    result = migrate_job(Job.from_toml(survey / "job.toml"), tmp_path / "run")
    assert result.shots_done == [1, 2, 3, 4]
    assert result.shots_failed == []
    assert result.point_steps > 0
    phases = result.phases
    assert sum(v for k, v in phases.items() if k != "wall") == pytest.approx(phases["wall"], rel=1e-9)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["image"]["sha256"] == result.sha256
    for name in (
        "job.resolved.toml",
        "ledger.sqlite",
        "events.jsonl",
        "image.sgy",
        "image.rsf",
        "report.html",
    ):
        assert (tmp_path / "run" / name).exists(), name
    assert not list((tmp_path / "run").rglob("*.tmp*"))


def test_the_image_does_not_depend_on_threads_or_place(
    survey: Path, undisturbed: str, tmp_path: Path
) -> None:
    (tmp_path / "job.toml").write_text(
        MIGRATE.replace('"shots/*.sgy"', f'"{survey}/shots/*.sgy"') + "[parallel]\nthreads = 3\n"
    )
    assert migrate_job(Job.from_toml(tmp_path / "job.toml"), tmp_path / "run").sha256 == undisturbed


def test_a_finished_run_computes_nothing_again(survey: Path, undisturbed: str) -> None:
    again = migrate_job(Job.from_toml(survey / "job.toml"), survey / "undisturbed")
    assert again.point_steps == 0
    assert again.sha256 == undisturbed


def test_a_changed_filter_uses_the_partial_images(survey: Path, undisturbed: str) -> None:
    job = Job.from_dict(
        {**Job.from_toml(survey / "job.toml").resolved(), "imaging": {"filter": "laplacian"}}, base=survey
    )
    changed = migrate_job(job, survey / "undisturbed")
    assert changed.point_steps == 0
    assert changed.sha256 != undisturbed


def test_a_changed_job_is_refused_with_the_difference(survey: Path, undisturbed: str, tmp_path: Path) -> None:
    (survey / "slower.toml").write_text(MIGRATE.replace("vp = 2000", "vp = 1900"))
    with pytest.raises(ConfigError, match=r"model.vp.value: 2000.0 -> 1900.0"):
        migrate_job(Job.from_toml(survey / "slower.toml"), survey / "undisturbed")


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_a_damaged_partial_image_is_made_again(
    survey: Path, undisturbed: str, tmp_path: Path, damage: str
) -> None:
    run = Path(shutil.copytree(survey / "undisturbed", tmp_path / "run"))
    part = run / "images" / "shot_000002.planes"
    data = bytearray(part.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
        part.write_bytes(data)
    elif damage == "truncate":
        part.write_bytes(data[:100])
    else:
        part.unlink()
    again = migrate_job(Job.from_toml(survey / "job.toml"), run)
    assert again.sha256 == undisturbed
    assert again.point_steps > 0


def test_interrupted_in_the_middle_of_a_shot(survey: Path, undisturbed: str, tmp_path: Path) -> None:
    """Ctrl-C arrives between two time steps; the shot is planned again and nothing half-written is left."""
    calls = 0

    def interrupt(done: float, total: float, message: str = "") -> None:
        nonlocal calls
        calls += 1
        if 1.3 < done < 2:
            raise KeyboardInterrupt

    job = Job.from_toml(survey / "job.toml")
    with pytest.raises(KeyboardInterrupt):
        migrate_job(job, tmp_path / "run", interrupt)
    assert [p.name for p in sorted((tmp_path / "run" / "images").iterdir())] == ["shot_000001.planes"]
    assert migrate_job(job, tmp_path / "run").sha256 == undisturbed


def test_every_write_that_fails_leaves_a_run_that_goes_on(
    survey: Path, undisturbed: str, tmp_path: Path
) -> None:
    """F4: no space at the k-th file operation; afterwards the same call finishes with the same bytes."""
    job = Job.from_toml(survey / "job.toml")

    def writes(counter: FaultCounter) -> FaultHook:
        return lambda operation, path, n: None if operation == "read" else counter(operation, path, n)

    counting = FaultCounter()
    set_fault(writes(counting))
    try:
        migrate_job(job, tmp_path / "whole")
    finally:
        set_fault(None)
    failures = 0
    for k in range(1, counting.count, max(1, counting.count // sample(3, 6))):
        set_fault(writes(FaultCounter(k, errno.ENOSPC)))
        code = 0
        try:
            migrate_job(job, tmp_path / f"run{k}")
        except SubsaltError as error:
            code = error.exit_code
        finally:
            set_fault(None)
        assert code in (0, 73, 74)
        failures += code != 0
        assert migrate_job(job, tmp_path / f"run{k}").sha256 == undisturbed
        assert not [p for p in (tmp_path / f"run{k}").rglob("*") if ".tmp" in p.name]
    assert failures > sample(1, 4)


def test_a_bad_shot_becomes_a_hole_and_the_survey_finishes(survey: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from subsalt.methods.rtm import job_setup as runner

    job = Job.from_toml(survey / "job.toml")
    original = runner.survey_of

    def with_nan(job: Job, model: object) -> object:
        whole = original(job, model)  # type: ignore[arg-type]
        inner = whole.reader

        def read(shot: object, rows: object = None) -> np.ndarray:
            data = inner(shot, rows).copy()
            if shot.id == 3:
                data[0, 0] = np.nan
            return data

        return replace(whole, reader=read)

    runner.survey_of = with_nan
    try:
        result = migrate_job(job, tmp_path / "run")
    finally:
        runner.survey_of = original
    assert result.shots_failed == [3]
    assert result.shots_done == [1, 2, 4]
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["state"] == "finished with holes"


def test_a_wrong_job_starts_nothing(survey: Path, tmp_path: Path) -> None:
    (survey / "feet.toml").write_text(
        MIGRATE.replace("vp = 2000", 'vp = { z = [0, 400], value = ["2", "3"] }')
    )
    with pytest.raises((FindingsError, ConfigError)):
        migrate_job(Job.from_toml(survey / "feet.toml"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_two_processes_do_not_share_a_run(survey: Path, tmp_path: Path) -> None:
    from subsalt.run.ledger import Ledger

    run = tmp_path / "run"
    run.mkdir()
    with Ledger(run):
        other = subprocess.run(
            [sys.executable, "-m", "subsalt", "migrate", str(survey / "job.toml"), "--run", str(run)],
            capture_output=True,
            text=True,
            env=os.environ | {"NO_COLOR": "1"},
            check=False,
        )
    assert other.returncode == 73
    assert "Traceback" not in other.stderr


def test_differences_name_the_place() -> None:
    assert differences({"a": {"b": 1}}, {"a": {"b": 2}}) == ["a.b: 1 -> 2"]
    assert differences({"a": [1, 2]}, {"a": [1, 3]}) == ["a[1]: 2 -> 3"]
    assert differences({"a": 1}, {}) == ["a: 1 -> (none)"]
    assert differences({"a": 1}, {"a": 1}) == []


def test_a_run_of_an_older_version_goes_on(survey: Path, undisturbed: str, tmp_path: Path) -> None:
    """Partial images in NPZ, hashed as a whole, as 0.2 left them: they are used, and the rest is written again."""
    import hashlib
    import sqlite3

    from subsalt.io.volumes.plane_file import PlaneFile
    from subsalt.view.run_image import read_run

    run = Path(shutil.copytree(survey / "undisturbed", tmp_path / "run"))
    job = Job.from_toml(survey / "job.toml")
    db = sqlite3.connect(run / "ledger.sqlite")
    for path in sorted((run / "images").glob("*.planes"))[:3]:
        with PlaneFile(path) as file:
            box = file.layout.box
            fields = file.read(box.lo[0], box.hi[0])
        np.savez(path.with_suffix(".npz"), lo=np.array(box.lo), hi=np.array(box.hi), **fields)
        path.unlink()
        sha = hashlib.sha256(path.with_suffix(".npz").read_bytes()).hexdigest()
        db.execute("UPDATE shot SET sha256 = ? WHERE id = ?", (sha, int(path.stem[5:])))
    (run / "images" / "shot_000004.planes").unlink()
    db.execute("UPDATE shot SET state = 'planned', sha256 = NULL WHERE id = 4")
    db.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
    db.commit()
    db.close()
    again = migrate_job(job, run)
    assert again.sha256 == undisturbed
    names = sorted(p.name for p in (run / "images").iterdir())
    assert names == [*(f"shot_{i:06d}.npz" for i in (1, 2, 3)), "shot_000004.planes"]
    assert sqlite3.connect(run / "ledger.sqlite").execute(
        "SELECT value FROM meta WHERE key = 'format'"
    ).fetchone() == ("3",)
    # an old partial image that is damaged is made again, in the new way
    (run / "images" / "shot_000002.npz").write_bytes(b"damaged")
    assert migrate_job(job, run).sha256 == undisturbed
    assert (run / "images" / "shot_000002.planes").exists()
    # and a look at a run on its way takes the new one
    (run / "run.json").write_text(json.dumps({"grid": {"shape": [61, 41], "spacing": [10, 10]}}))
    assert "4 shots so far" in read_run(run).title
