"""A run by any strategy has the image of every other, does what its plan says, and cleans up behind itself."""

import contextlib
import json
import shutil
import sqlite3
from types import SimpleNamespace

import pytest

from job_files import OWN_GRID, RUN, write_files, write_job
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.storage.store import file_bytes
from subsalt.errors import ConfigError, DiskError, FindingsError
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.restart import scheme_left
from subsalt.methods.rtm.run_schemes import RunSchemes
from subsalt.methods.rtm.scheme_records import NAMES, SECONDS, differing, findings_of, records_of_shots
from subsalt.plan import plan_job
from subsalt.run.identity import of_the_run
from subsalt.run.migrate import migrate_job
from subsalt.run.settings import NAME

MIGRATE = RUN + OWN_GRID


def run(folder, name, section=""):
    """Migrate the line of `job_files` with a [checkpoint]; return the result and what run.json says of it."""
    job = Job.from_toml(write_job(folder, f"{MIGRATE}\n[checkpoint]\n{section}\n", f"{name}.toml"))
    result = migrate_job(job, folder / f"{name}.run")
    return result, json.loads((folder / f"{name}.run" / "run.json").read_text())["checkpoint"]


def test_every_strategy_makes_the_same_image_and_counts_what_was_planned(tmp_path):
    write_files(tmp_path)
    (tmp_path / "fast").mkdir()
    plain, facts = run(tmp_path, "plain")
    assert facts["strategy"] == "store, memory"
    assert facts["sums"]["source_steps"] == 3 * facts["taken"]["counts"]["source_steps"] > 0
    for number, (section, name) in enumerate(
        {
            'strategy = "revolve"\nplace = "memory"\nslots = 3': "revolve, memory",
            'strategy = "revolve"\nplace = "both"\nslots = 1\ndisk_slots = 3\nblock = 2': "revolve, both",
            'strategy = "store"\nplace = "disk"\ndirectories = ["fast"]\nthreads = 1': "store, disk",
            'strategy = "revolve"\nmemory = "1MB"\nplace = "memory"': "revolve, memory",
            'strategy = "revolve"\nplace = "disk"\nkeep = "source"\nrestart_every = 60': "revolve, disk",
        }.items()
    ):
        got, facts = run(tmp_path, f"job{number}", section)
        assert got.sha256 == plain.sha256, section
        assert facts["strategy"] == name
        assert facts["differing"] == []
        planned = plan_job(Job.from_toml(tmp_path / f"job{number}.toml")).basis.survey.to_dict()
        assert {k: v for k, v in facts["sums"].items() if k in planned} == {
            k: v for k, v in planned.items() if k != "scratch_bytes"
        }
        assert len(facts["shots"]) == 3
        for shot in facts["shots"].values():
            assert shot["planned"] == shot["counted"]
            assert shot["bytes_written"][0] == shot["bytes_written"][1]
            assert shot["bytes_read"][0] == shot["bytes_read"][1]
        moved = facts["sums"]["bytes_written"]
        assert (moved > 0) == ("disk" in name or "both" in name)
        left = sorted(p.name for p in (tmp_path / f"job{number}.run" / "snapshots").rglob("*.snap"))
        assert left == (["source.r00.snap"] * 3 if "keep" in section else [])
    assert not list((tmp_path / "fast").rglob("*.snap"))


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_wavefield_that_runs_backwards_is_planned_and_is_a_class_of_its_own(tmp_path, place):
    write_files(tmp_path)
    text = f'strategy = "boundary"\nplace = "{place}"'
    _, facts = run(tmp_path, "line", text)
    planned = plan_job(Job.from_toml(tmp_path / "line.toml")).basis.survey
    assert facts["differing"] == []
    sums = facts["sums"]
    assert (sums["bytes_written"], sums["bytes_read"]) == (planned.written, planned.read)
    assert (planned.written > 0) == (place == "disk")
    with pytest.raises(ConfigError, match="boundary"):
        run(tmp_path, "line")


def test_a_change_of_strategy_goes_on_in_the_same_run(tmp_path):
    write_files(tmp_path)
    first, _ = run(tmp_path, "line")
    (tmp_path / "line.run" / "images" / "shot_000002.r00.img").unlink(missing_ok=True)
    again, facts = run(tmp_path, "line", 'strategy = "revolve"\nslots = 2')
    assert again.sha256 == first.sha256
    assert facts["strategy"] == "revolve, memory"


def test_folders_that_cannot_be_used_are_named_before_the_first_shot(tmp_path):
    write_files(tmp_path)
    (tmp_path / "file").write_text("")
    for name, why in (("nowhere", "does not exist"), ("file", "is no folder")):
        with pytest.raises(FindingsError) as caught:
            run(tmp_path, "line", f'directories = ["{name}"]')
        (finding,) = [f for f in caught.value.findings if f.level == "error"]
        assert (finding.code, why in finding.message) == ("E665", True)
    assert not (tmp_path / "line.run").exists()


def test_what_every_shot_did_is_planned_shot_by_shot(tmp_path):
    """Windows differ under an aperture, and with them the bytes."""
    write_files(tmp_path)
    narrow = MIGRATE + "[imaging]\naperture = 60\n[checkpoint]\n"
    text = narrow + 'strategy = "revolve"\nplace = "disk"\ndisk_slots = 4\nblock = 2\n'
    job = Job.from_toml(write_job(tmp_path, text))
    plan = plan_job(job)
    migrate_job(job, tmp_path / "line.run")
    facts = json.loads((tmp_path / "line.run" / "run.json").read_text())
    assert facts["plan"]["arrays"] == plan.basis.decision.need.arrays
    sums = facts["checkpoint"]["sums"]
    assert (sums["bytes_written"], sums["bytes_read"]) == (plan.basis.survey.written, plan.basis.survey.read)
    assert plan.basis.survey.written > 0


def shot_facts(**changes):
    """Return what a shot says that did what was planned, but for some changes."""
    same = dict.fromkeys(("puts", "gets", "damaged", "recomputed", "resumed"), 0)
    same |= dict.fromkeys(("stall_seconds", "put_seconds", "get_seconds"), 0.0)
    counts = {"planned": [5] * len(NAMES), "counted": [5] * len(NAMES)}
    return same | counts | {"bytes_written": [8, 8], "bytes_read": [8, 8]} | changes


def test_buffers_of_another_scheme_are_given_back_before_a_shot():
    given = []
    of_shots = {1: "store", 2: "store", 3: "revolve", 4: "store"}
    schemes = RunSchemes.__new__(RunSchemes)
    schemes.scratch = SimpleNamespace(give_back=lambda: given.append(shot), compression="none")
    schemes._go_on = lambda shot: None
    schemes.choice = lambda shot: SimpleNamespace(scheme=of_shots[shot])
    for shot in of_shots:
        assert schemes.of(shot)["scheme"] == of_shots[shot]
    assert given == [1, 3, 4]


def test_a_shot_that_does_something_else_is_told():
    off = {"counted": [6] + [5] * (len(NAMES) - 1)}
    shots = {
        1: shot_facts(),
        2: shot_facts(**off),
        3: shot_facts(bytes_written=[8, 9]),
        4: shot_facts(bytes_read=[8, 4], resumed=10),
        5: shot_facts(**off, damaged=1, recomputed=7),
    }
    assert differing(shots) == [2, 3]
    (finding,) = findings_of(shots)
    assert (finding.code, finding.level) == ("W664", "warning")
    assert "2, 3" in finding.message
    assert findings_of({1: shot_facts()}) == []


def test_what_shots_said_is_read_from_the_events(tmp_path):
    whole = dict.fromkeys(("puts", "gets", "damaged", "recomputed", "resumed", *SECONDS), 1)
    whole |= {"bytes_written": [1, 2], "bytes_read": [1, 2], "planned": [0] * len(NAMES)}
    whole["counted"] = whole["planned"]
    events = [
        {"event": "start", "shot": 1},
        {"event": "done", "shot": 1, "checkpoint": whole},
        {"event": "done", "shot": 1, "checkpoint": whole | {"puts": 2}},
        {"event": "done", "shot": 2},
        # what is damaged counts for nothing, whatever is wrong with it
        *({"event": "done", "shot": 3, "checkpoint": {**whole, k: None}} for k in whole),
        {"event": "done", "shot": 3, "checkpoint": {k: v for k, v in whole.items() if k != "counted"}},
    ]
    text = "\n".join(json.dumps(e) for e in events) + '\n{"event": "do'
    (tmp_path / "events.jsonl").write_text(text)
    assert records_of_shots(tmp_path, [1, 2, 3]) == {1: whole | {"puts": 2}}
    assert records_of_shots(tmp_path / "none", [1]) == {}


def test_a_disk_that_is_too_small_is_told_before_the_first_shot(tmp_path, monkeypatch):
    write_files(tmp_path)
    text = MIGRATE + '[checkpoint]\nkeep = "both"\n'
    job = Job.from_toml(write_job(tmp_path, text))
    plan = plan_job(job)
    room = plan.disk.parts["kept wavefields"]
    # two fields of every sample of three shots, in what is imaged, as files have them
    assert room == 3 * 2 * file_bytes(81 * 51, plan.basis.decision.choice.scheme.samples)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda where: usage._replace(free=plan.disk.total - 1))
    with pytest.raises(DiskError, match="kept wavefields") as caught:
        migrate_job(job, tmp_path / "line.run")
    assert caught.value.code == "E663"
    assert not (tmp_path / "line.run").exists()
    assert plan_job(job).error.code == "E663"
    monkeypatch.setattr("shutil.disk_usage", lambda where: usage._replace(free=plan.disk.total))
    assert plan_job(job).fits


@pytest.mark.parametrize("numerics", ["fma", "fma, u16 models, boundary", None])
def test_a_run_keeps_the_class_of_numerics_it_chose(tmp_path, numerics):
    free = CheckpointOptions(exact=False)
    if numerics is None:
        assert of_the_run(free, tmp_path) == free
        return
    with contextlib.closing(sqlite3.connect(tmp_path / NAME)) as db:
        db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        db.execute("INSERT INTO meta VALUES ('key', ?)", (json.dumps({"numerics": numerics}),))
        db.commit()
    chosen = of_the_run(free, tmp_path)
    assert chosen.strategy == ("boundary" if "boundary" in numerics else "auto")
    assert chosen.exact == ("boundary" not in numerics)
    # who asks for a strategy gets it, or a refusal
    forced = CheckpointOptions(strategy="revolve")
    assert of_the_run(forced, tmp_path) == forced


def test_a_shot_keeps_to_the_scheme_of_its_restart_point(tmp_path):
    """Free memory and rates change between two starts; what an interrupted shot left must serve nevertheless."""
    write_files(tmp_path)
    whole, _ = run(tmp_path, "whole")
    text = MIGRATE + '\n[checkpoint]\nstrategy = "revolve"\nplace = "memory"\nrestart_every = 40\nslots = '
    first = Job.from_toml(write_job(tmp_path, text + "4\n", "first.toml"))
    folder = tmp_path / "line.run"

    def enough(done, total, message):
        if list(folder.rglob("shot_000002/restart.g*.json")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_job(first, folder, enough)
    then = migrate_job(Job.from_toml(write_job(tmp_path, text + "2\n", "then.toml")), folder)
    assert then.sha256 == whole.sha256
    facts = json.loads((folder / "run.json").read_text())["checkpoint"]
    assert [facts["shots"][i]["scheme"]["memory_slots"] for i in "123"] == [4, 4, 2]
    assert facts["shots"]["2"]["resumed"] > 0
    assert facts["differing"] == []

    # a description that cannot be read, or of another run, is none
    scratch = tmp_path / "none"
    scratch.mkdir()
    (scratch / "restart.g0.r00.json").write_text("{")
    (scratch / "restart.g1.r00.json").write_text('{"format": 1, "run_id": "other", "shot": 2}')
    there = SimpleNamespace(folders=lambda shot: [scratch], run_id="x", rank=0, ranks=1)
    assert scheme_left(there, 2) is None
