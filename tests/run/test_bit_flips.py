"""Flipped bits in the files of a stopped run: the image of the undisturbed one, or an error; never another image.

Each trial copies a run that was stopped, or finished and asked for again, flips one bit, and goes on from the directory
alone, as `subsalt resume` does. The bits are drawn with a seed; `SUBSALT_FLIPS` sets how many are drawn from each file.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from small_run import make

from subsalt.errors import CorruptionError, SubsaltError
from subsalt.io.event_log import events_of, log_event, read_events
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.reimage import Wish, made_of, reimage_run
from subsalt.run.job_of_run import job_of_run
from subsalt.run.ledger_file import peek
from subsalt.run.migrate import migrate_job
from subsalt.run.resume import ResumeOptions
from subsalt.run.stop_request import RunStopped
from thorough import ALL, sample, thorough

FLIPS = int(os.environ.get("SUBSALT_FLIPS", sample(1, 2)))
#: keys of the job with other values than a job without them has: what is lost shows
IMAGING = '[imaging]\nfilter = "laplacian"\ntop_mute = 40\nnormalise = 0.05\n'
RECORD = Path(__file__).resolve().parents[1] / "record" / "run-0.7.0.tar.xz"


def flipped(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def go_on(run: Path, **more: bool) -> str:
    """Return the hash of the image that a directory goes on to, or the code of the error that ends it."""
    try:
        return migrate_job(job_of_run(run), run, **more).sha256
    except CorruptionError:
        # found in the middle of the work: the same command again mends it, or says it again
        try:
            return migrate_job(job_of_run(run), run, **more).sha256
        except SubsaltError as error:
            return error.code
    except SubsaltError as error:
        return error.code


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return begun(tmp_path_factory.mktemp("survey"))


def begun(base: Path) -> tuple[Path, str]:
    """Return a run that was stopped after its second shot, and the hash of the image without a stop."""
    job = Job.from_toml(make(base, IMAGING))
    image = migrate_job(job, base / "whole").sha256

    def stop(done: float, *_: object) -> None:
        if done > 2:
            raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, RunStopped)):
        migrate_job(job, base / "stopped.run", stop)
    assert [r["state"] for r in peek(base / "stopped.run")] == ["done", "done", "planned"]
    log_event(base / "stopped.run", event="something else", number=1)
    return base / "stopped.run", image


def trial(stopped: tuple[Path, str]) -> Path:
    """Return a fresh copy of the stopped run, beside it."""
    run = stopped[0].with_name("trial.run")
    shutil.rmtree(run, ignore_errors=True)
    return Path(shutil.copytree(stopped[0], run))


def files_of(run: Path) -> list[str]:
    return sorted(str(p.relative_to(run)) for p in run.rglob("*") if p.is_file() and p.stat().st_size)


def test_no_flipped_bit_gives_another_image(stopped: tuple[Path, str]) -> None:
    dice, ended = random.Random(33), Counter[str]()
    names = files_of(stopped[0])
    assert {"job.resolved.toml", "ledger.json", "ledger.sqlite", "events.jsonl", "run.json"} <= set(names)
    for name in names:
        for _ in range(FLIPS):
            run = trial(stopped)
            bit = dice.randrange(8 * (run / name).stat().st_size)
            flipped(run / name, bit)
            outcomes = go_on(run)
            assert outcomes != "E001"
            assert outcomes == stopped[1] or outcomes.startswith("E"), f"bit {bit} of {name}: another image"
            ended[name + (" the same" if outcomes == stopped[1] else f" {outcomes}")] += 1
    # most damage is mended without a word of the user
    assert sum(n for name, n in ended.items() if name.endswith("the same")) > 0.8 * FLIPS * len(names), ended


def test_the_job_of_a_run_is_the_one_in_its_ledger(stopped: tuple[Path, str]) -> None:
    """Every kind of damage to job.resolved.toml: bits of the imaging keys, and any place where it is cut."""
    run, begun = trial(stopped), job_of_run(stopped[0]).resolved()
    path, dice = run / "job.resolved.toml", random.Random(7)
    whole = path.read_bytes()
    first = 8 * whole.index(b"[imaging]")
    for bit in [dice.randrange(first, first + 8 * 1500) for _ in range(60)]:
        flipped(path, bit)
        said: list[str] = []
        assert job_of_run(run, said.append).resolved() == begun, bit
        assert said == [f"{path} is not as the run wrote it: the job is the one in the ledger"]
        path.write_bytes(whole)
    for cut in (0, whole.index(b"[imaging]"), whole.index(b"top_mute"), len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert job_of_run(run).resolved() == begun
    path.write_bytes(whole[: whole.index(b"[imaging]")])
    assert go_on(run) == stopped[1]
    assert path.read_bytes() == whole, "the copy is mended as well"


@pytest.mark.parametrize("name", ["ledger.sqlite", "ledger.json"])
def test_the_job_survives_the_loss_of_one_copy(stopped: tuple[Path, str], name: str) -> None:
    run = trial(stopped)
    (run / name).write_bytes(b"junk" * 1000)
    (run / "job.resolved.toml").unlink()
    assert go_on(run) == stopped[1]


def without_job(run: Path) -> None:
    """Make a directory as versions before 0.9 left it: the ledger knows no resolved job, the log no checksums."""
    from subsalt.run.ledger import Ledger
    from subsalt.run.settings import CHECK, JOB

    with Ledger(run) as ledger:
        ledger._db.execute("DELETE FROM meta WHERE key = ?", (JOB,))
        ledger.set("old", "1")
    copy = json.loads((run / "ledger.json").read_text())
    (run / "ledger.json").write_text(json.dumps({k: v for k, v in copy.items() if k != CHECK}))
    events = read_events(run).known
    (run / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"normalise = 0.05", b"normalise = 0.01"),
        pytest.param(b"top_mute = 40.0", b"top_mute = 50.0", marks=thorough),
        (b"filter = ", b"gilter = "),
        (b'filter = "laplacian"', b'filter = "none"     '),
        (b"[imaging]", None),
        pytest.param(b"order = ", b"order = 1", marks=thorough),
    ],
)
def test_a_run_of_before_goes_on_as_far_as_its_ledger_agrees(
    stopped: tuple[Path, str], old: bytes, new: bytes | None
) -> None:
    run = trial(stopped)
    without_job(run)
    path = run / "job.resolved.toml"
    whole = path.read_bytes()
    assert old in whole
    path.write_bytes(whole[: whole.index(old)] if new is None else whole.replace(old, new))
    with pytest.raises(CorruptionError) as caught:
        job_of_run(run)
    assert caught.value.code in ("E813", "E641")
    path.write_bytes(whole)
    assert go_on(run) == stopped[1]


def test_the_run_of_0_7_goes_on_from_its_directory_and_not_with_another_job(tmp_path: Path) -> None:
    with tarfile.open(RECORD) as packed:
        packed.extractall(tmp_path)
    run = tmp_path / "line" / "job.run"
    path = run / "job.resolved.toml"
    whole = path.read_text()
    assert job_of_run(run).resolved()["imaging"]["normalise"] == 0.01
    path.write_text(whole.replace("normalise = 0.01", "normalise = 0.03"))
    with pytest.raises(CorruptionError, match=r"imaging\.normalise: 0\.01 -> 0\.03") as caught:
        job_of_run(run)
    assert caught.value.code == "E813"
    # the cure
    done = migrate_job(Job.from_toml(tmp_path / "line" / "job.toml"), run)
    assert len(done.shots_done) == 5
    assert path.read_text() != whole, "it is written again"
    assert job_of_run(run).resolved()["imaging"]["normalise"] == 0.01


def test_every_bit_of_the_log_may_flip(stopped: tuple[Path, str]) -> None:
    """Read line by line; each flip costs its line and no other, and is said."""
    run = trial(stopped)
    whole = (run / "events.jsonl").read_bytes()
    known = read_events(run).known
    assert len(known) == 3
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        events = events_of(bytes(data))
        line = whole[: bit // 8].count(b"\n")
        # a line feed that comes or goes costs one line more at most; the checksum itself may have gone unseen
        left = [e for e in known if e in events.known]
        assert len(left) >= (1 if whole[bit // 8] == 10 else 2), bit
        assert events.damaged or events.known[line].items() >= known[line].items(), bit


#: keys, and whether the log has checksums, as that of older versions has not; each once in ``make test``
KEYS = [
    (key, with_sums)
    for i, key in enumerate(["checkpoint", "sha256", "event", "counted", "shot", "sum"])
    for with_sums in ((True, False) if ALL else (i % 2 == 0 or key == "sum",))
]


@pytest.mark.parametrize(("key", "with_sums"), KEYS)
def test_damaged_keys_of_the_log_stop_nothing(stopped: tuple[Path, str], key: str, with_sums: bool) -> None:
    run = trial(stopped)
    if not with_sums:
        without_job(run)
    elif f'"{key}"' not in (run / "events.jsonl").read_text():
        pytest.skip("only logs of this version have checksums")
    text = (run / "events.jsonl").read_text()
    (run / "events.jsonl").write_text(text.replace(f'"{key}"', f'"{key[:-1]}~"'))
    said: list[str] = []
    done = migrate_job(job_of_run(run), run, say=said.append)
    assert done.sha256 == stopped[1]
    if with_sums and key != "sum":
        lines = "1, 2, 3" if key == "event" else "1, 2"
        assert f"events.jsonl: lines {lines} are damaged and skipped" in said
        assert [f.code for f in done.findings if f.code == "W814"] == ["W814"]
    # a ledger that must be made of it
    run = trial(stopped)
    (run / "events.jsonl").write_text(text.replace(f'"{key}"', f'"{key[:-1]}~"'))
    (run / "ledger.sqlite").write_bytes(b"junk" * 1000)
    assert go_on(run) == stopped[1]


@pytest.mark.parametrize(
    "value", ["[1]", "{}", "null", '"x"', "99999999999999999999999"] + ["1e400", "true"] * ALL
)
def test_odd_values_in_an_old_log_stop_nothing(stopped: tuple[Path, str], value: str) -> None:
    run = trial(stopped)
    without_job(run)
    lines = []
    for line in (run / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        lines += [line.replace(f'"{k}": {json.dumps(v)}', f'"{k}": {value}') for k, v in event.items()]
        lines += [
            f'{{"event": "kept", "shot": 1, "wavefields": {value}}}',
            f'{{"event": "done", "shot": {value}}}',
        ]
    (run / "events.jsonl").write_text("\n".join(lines))
    (run / "ledger.sqlite").write_bytes(b"junk" * 1000)
    assert go_on(run) == stopped[1]


def test_a_torn_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    log_event(tmp_path, event="one")
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"time": "2026')
    log_event(tmp_path, event="two")
    events = read_events(tmp_path)
    assert [e["event"] for e in events.known] == ["one", "two"]
    assert events.damaged == [2]


def imaged(run: Path, target: Path, wish: Wish) -> str:
    """Return the hash of a new image, or the code of the error; E822 where a shot is left out, and that is said."""
    try:
        done = reimage_run(run, target, wish)
    except SubsaltError as error:
        return error.code
    return "E822" if done.shots_failed else done.sha256


KEPT = '[checkpoint]\nstrategy = "store"\nplace = "disk"\nkeep = "both"\n'


def test_flips_in_kept_wavefields_and_in_a_new_image(tmp_path: Path) -> None:
    """What `reimage` reads of its run, and what a stopped `reimage` goes on from."""
    job = Job.from_toml(make(tmp_path, KEPT + IMAGING))
    migrate_job(job, tmp_path / "source")
    wish = Wish(normalise=0.2, top_mute=60.0, times=(0.02, 0.2), region="50:350,50:250", wavefields=True)
    image = reimage_run(tmp_path / "source", tmp_path / "new", wish).sha256
    dice = random.Random(5)
    names = [n for n in files_of(tmp_path / "source") if not n.startswith("image.")]
    for name in dice.sample(names, min(len(names), 5 * FLIPS)):
        for _ in range(max(1, FLIPS // 5)):
            for folder in ("trial", "made"):
                shutil.rmtree(tmp_path / folder, ignore_errors=True)
            run = Path(shutil.copytree(tmp_path / "source", tmp_path / "trial"))
            bit = dice.randrange(8 * (run / name).stat().st_size)
            flipped(run / name, bit)
            outcome = imaged(run, tmp_path / "made", wish)
            assert outcome == image or outcome[0] == "E", f"bit {bit} of {name}: {outcome}"
            assert outcome != "E001"
    # the new image, from its own directory
    facts = tmp_path / "new" / "run.json"
    whole = facts.read_bytes()
    at = 8 * whole.index(b'"wish"')
    for bit in [dice.randrange(at, at + 8 * 250) for _ in range(40)]:
        flipped(facts, bit)
        assert made_of(tmp_path / "new") == (tmp_path / "source", wish)
        facts.write_bytes(whole)


def test_a_restart_point_that_says_another_step_is_not_used(tmp_path: Path) -> None:
    """Whichever number of its description changes: the shot goes on from a sound point, or begins again."""
    keys = '[checkpoint]\nstrategy = "store"\nplace = "disk"\nrestart_every = 20\n'
    job = Job.from_toml(make(tmp_path, keys + IMAGING))
    image = migrate_job(job, tmp_path / "whole").sha256

    def stop(done: float, *_: object) -> None:
        if done >= 1.6:
            raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, RunStopped)):
        migrate_job(job, tmp_path / "stopped", stop, resume=ResumeOptions())
    points = sorted((tmp_path / "stopped").glob("snapshots/shot_*/restart.g?.r00.json"))
    assert len(points) == 2
    stored = [json.loads(p.read_text()) for p in points]
    changes = [("task", 3), ("it", 8), ("receiving", None)]
    for key, more in changes:
        run = Path(shutil.copytree(tmp_path / "stopped", tmp_path / f"trial {key}"))
        for point, known in zip(points, stored, strict=True):
            value = not known[key] if more is None else known[key] + more
            path = run / point.relative_to(tmp_path / "stopped")
            path.write_text(json.dumps(known | {key: value}))
        assert go_on(run) == image, key
