"""F8: files of a run that were damaged are found out and made again; the image is never another one."""

from __future__ import annotations

import random
import shutil
from itertools import product
from pathlib import Path

import pytest
from small_run import make

from subsalt.errors import ConfigError, CorruptionError
from subsalt.methods.rtm.job import Job
from subsalt.run.ledger_file import peek
from subsalt.run.migrate import migrate_job
from thorough import ALL, sample

#: bytes of a page of SQLite
PAGE = 4096


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.from_toml(make(tmp_path_factory.mktemp("survey")))


@pytest.fixture(scope="module")
def whole(job: Job) -> tuple[str, Path]:
    run = job.base / "whole"
    return migrate_job(job, run).sha256, run


def goes_on(job: Job, run: Path, sha256: str) -> int:
    """Start the same call until it comes through, twice at most; return the shots that were done again."""
    try:
        result = migrate_job(job, run)
    except CorruptionError:
        # found in the middle of the work: the same command again mends it
        result = migrate_job(job, run)
    assert result.sha256 == sha256
    assert result.shots_done == [1, 2, 3]
    return sum(r["attempt"] for r in peek(run))


def flipped(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def test_a_flipped_bit_of_a_partial_image_is_found(job: Job, whole: tuple[str, Path], tmp_path: Path) -> None:
    """In head, table and fields, and cut off at any place: that shot is done again."""
    sha256, run = whole[0], tmp_path / "run"
    shutil.copytree(whole[1], run)
    size, dice = (run / "images" / "shot_000002.planes").stat().st_size, random.Random(8)
    places = [0, 7, 40, 200, size - 1, *(dice.randrange(size) for _ in range(sample(3, 8)))]
    for k, at in enumerate(places):
        flipped(run / "images" / "shot_000002.planes", at, dice.randrange(8))
        before = peek(run)[1]["attempt"]
        assert migrate_job(job, run).sha256 == sha256, at
        assert peek(run)[1]["attempt"] == before + 1, f"the flip at byte {at} was not noticed"
        if k % 5 == 0:
            path = run / "images" / "shot_000003.planes"
            path.write_bytes(path.read_bytes()[: dice.randrange(size)])
            assert migrate_job(job, run).sha256 == sha256
    # only what was damaged is done again
    assert peek(run)[0]["attempt"] == 1


def test_swapped_partial_images_are_found(job: Job, whole: tuple[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole[1], run)
    a, b = (run / "images" / f"shot_00000{i}.planes" for i in (1, 2))
    a.rename(run / "x")
    b.rename(a)
    (run / "x").rename(b)
    assert migrate_job(job, run).sha256 == whole[0]
    assert [r["attempt"] for r in peek(run)] == [2, 2, 1]


def test_a_damaged_ledger_never_gives_another_image(
    job: Job, whole: tuple[str, Path], tmp_path: Path
) -> None:
    """Some bytes of every page: the run goes on; the ledger is rebuilt where the damage is found."""
    sha256, dice = whole[0], random.Random(3)
    size = (whole[1] / "ledger.sqlite").stat().st_size
    rebuilt = refused = 0
    for page in range(size // PAGE):
        first = (0, 1, 5, 20) if ALL else (5,)
        for at in (*first, *(dice.randrange(PAGE) for _ in range(sample(1, 4)))):
            run = tmp_path / "run"
            shutil.rmtree(run, ignore_errors=True)
            shutil.copytree(whole[1], run)
            flipped(run / "ledger.sqlite", page * PAGE + at, dice.randrange(8))
            try:
                goes_on(job, run, sha256)
            except ConfigError as error:
                # the number of the format itself
                refused += error.code == "E803"
            rebuilt += (run / "ledger.sqlite.damaged").exists()
    assert rebuilt > 2
    assert refused < 2


#: every file in every way; every other one of them in ``make test``: each file in two ways, each way with two files
DAMAGE = list(
    product(
        ["gone", "empty", "cut", "noise"],
        ["ledger.json", "events.jsonl", "run.json", "progress.json", "job.resolved.toml"],
    )
)


@pytest.mark.parametrize(("how", "name"), DAMAGE if ALL else DAMAGE[::2])
def test_other_files_of_a_run_may_be_damaged(
    job: Job, whole: tuple[str, Path], tmp_path: Path, name: str, how: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole[1], run)
    data = (run / name).read_bytes()
    (run / name).write_bytes(
        {"empty": b"", "cut": data[: len(data) // 2], "noise": bytes(range(256))}.get(how, b"")
    )
    if how == "gone":
        (run / name).unlink()
    # the ledger as well: what is left of its copy and of the events is all there is
    if name in ("ledger.json", "events.jsonl"):
        (run / "ledger.sqlite").write_bytes(b"junk" * 1000)
    goes_on(job, run, whole[0])
