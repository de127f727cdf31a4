"""`lab storage --advise`: directories ranked for the checkpoints of a job, by its own plan and measured rates."""

import json
import shutil
from collections import namedtuple

import pytest

from job_files import MIGRATE, write_files, write_job
from subsalt.machine import machine_file as machine
from subsalt.machine import storage
from subsalt.machine.storage import Mount
from subsalt.methods.rtm import advice
from subsalt.methods.rtm.job import Job
from subsalt.plan import World, plan_job

MEMORY = 4 * 10**9


@pytest.fixture
def job(tmp_path):
    write_files(tmp_path)
    return Job.from_toml(write_job(tmp_path))


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return folders that lie on file systems of their own: fast, slow, and one in memory."""
    kinds = {"fast": "ext4", "slow": "nfs4", "memory": "tmpfs", "new": "xfs"}
    paths = {name: tmp_path / name for name in kinds}
    for folder in paths.values():
        folder.mkdir()

    def mount_of(path):
        name = next((n for n in kinds if str(path).startswith(str(paths[n]))), None)
        return Mount(f"/{name}", kinds[name]) if name else Mount("/", "ext4")

    for module in (advice, storage):
        monkeypatch.setattr(module, "mount_of", mount_of)
    return paths


def rated(*measured):
    """Return a machine on which file systems were measured: name, GB/s, threads, access."""
    rows = [
        {
            "mount": f"/{name}",
            "pattern": "record",
            "how": how,
            "bytes": 1 << 25,
            "threads": threads,
            "what": what,
            "reaches": "memory" if name == "memory" else reaches,
            "rate": rate,
        }
        for name, rate, threads, how in measured
        for what, reaches in (("put", "durable"), ("get", "storage"))
    ]
    return machine.Machine.here().merged("storage", rows)


def places(job, folders, known, **world):
    given = {"ranks": 1, "memory_per_rank": MEMORY, "threads": 1} | world
    advised = advice.advise(job, list(folders.values()), World.planned(**given), known)
    return advised, {p.directory.rsplit("/", 1)[-1]: p for p in advised.places}


def test_the_faster_disk_comes_first_and_memory_is_no_disk(job, folders):
    known = rated(
        ("fast", 1.0, 1, "buffered"), ("slow", 1e-5, 1, "buffered"), ("memory", 50.0, 1, "buffered")
    )
    lines, by_name = places(job, folders, known)
    assert [p.directory.rsplit("/", 1)[-1] for p in lines.places] == ["fast", "slow", "memory", "new"]
    assert by_name["fast"].hides
    assert "hide behind" in by_name["fast"].reason
    assert not by_name["slow"].hides
    # so slow that computing again is faster
    assert by_name["slow"].again > 0
    assert "computes samples again" in by_name["slow"].reason
    assert "no disk" in by_name["memory"].reason
    assert "not measured" in by_name["new"].reason
    assert not by_name["new"].hides
    assert lines.lines() == ["[checkpoint]", f'directories = ["{folders["fast"]}"]', "threads = 1"]
    # a shot this small needs no disk, and that is said
    assert lines.needs_none
    assert lines.as_it_stands == "store, memory"
    assert lines.kernels == "assumed"
    assert json.loads(json.dumps(lines.to_dict()))["places"][0]["hides"] is True


def test_bytes_and_counts_are_those_of_the_plan(job, folders, tmp_path):
    known = rated(("slow", 1e-5, 1, "buffered"))
    given = '\n[checkpoint]\nstrategy = "store"\n'
    (tmp_path / "store.toml").write_text(MIGRATE + given)
    place = places(Job.from_toml(tmp_path / "store.toml"), {"slow": folders["slow"]}, known)[1]["slow"]
    assert "stands still" in place.reason
    text = MIGRATE + given + f'place = "disk"\ndirectories = ["{folders["slow"]}"]\nthreads = 1\n'
    (tmp_path / "there.toml").write_text(text)
    file = tmp_path / "machine.json"
    machine.save(file, "storage", known.sections["storage"])
    shot = plan_job(Job.from_toml(tmp_path / "there.toml"), 1, MEMORY, 1, machine=file).basis.largest_shot
    assert (place.put_bytes, place.get_bytes) == (shot.written, shot.read)
    assert place.puts == shot.counts.states_stored_disk + shot.counts.snapshots_written
    assert place.gets == shot.counts.states_loaded_disk + shot.counts.snapshots_read
    assert place.puts > 0
    # at the rate of the machine, and longer than the steps: the rest is waited for
    assert place.put_seconds == pytest.approx(shot.written / 1e4)
    assert place.waits > 0


def test_threads_and_direct_access_only_where_they_gain(job, folders):
    slow, fast = ("slow", 1e-5), ("fast", 1.0)
    known = rated(
        (*slow, 1, "buffered"),
        ("slow", 3e-2, 4, "buffered"),
        ("slow", 5e-2, 4, "direct"),
        (*fast, 1, "buffered"),
        ("fast", 1.001, 16, "direct"),
    )
    lines, by_name = places(job, {k: folders[k] for k in ("slow", "fast")}, known)
    assert (by_name["slow"].threads, by_name["slow"].direct) == (4, True)
    # everything hides: the simplest
    assert (by_name["fast"].threads, by_name["fast"].direct) == (1, False)
    only, _ = places(job, {"slow": folders["slow"]}, known)
    assert only.lines()[-2:] == ["threads = 4", "direct = true"]
    assert lines.lines()[1].endswith('/fast"]')


def test_a_full_directory_is_last(job, folders, monkeypatch):
    usage = namedtuple("usage", "total used free")
    real = shutil.disk_usage
    monkeypatch.setattr(
        shutil, "disk_usage", lambda p: usage(100, 90, 10) if str(p).endswith("fast") else real(p)
    )
    known = rated(("fast", 1.0, 1, "buffered"), ("slow", 1e-5, 1, "buffered"))
    lines, by_name = places(job, {k: folders[k] for k in ("fast", "slow")}, known)
    assert [p.directory.rsplit("/", 1)[-1] for p in lines.places] == ["slow", "fast"]
    assert "of disk" in by_name["fast"].problem
    assert lines.lines()[1].endswith('/slow"]')


def test_only_memory_gives_no_lines(job, folders):
    lines, _ = places(job, {"memory": folders["memory"]}, rated(("memory", 5.0, 1, "buffered")))
    assert lines.lines() == []


@pytest.fixture
def run(subsalt_command, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda *words: subsalt_command("lab", "storage", *words)


def test_the_command_measures_and_ranks(run, job, tmp_path):
    path = next(p for p in tmp_path.iterdir() if p.suffix == ".toml")
    place = tmp_path / "scratch"
    place.mkdir()
    sizes = ("--size", "2MiB", "--record", "1MiB", "--threads", "1", "--repeats", "1", "--buffered")
    code, out, err = run(place, "--advise", path, *sizes)
    assert code == 0, err
    for text in ("Snapshots: put and get", "Checkpoints of", f"1. {place}:"):
        assert text in out
    assert not list(place.iterdir())
    code, out, err = run(place, "--advise", path, "--known", "--json")
    assert code == 0, err
    assert json.loads(out)["advice"]["places"][0]["directory"] == str(place)
    code, out, _ = run(place, "--advise", path, "--known", "--table", "csv")
    assert out.splitlines()[1].split(",")[1] == str(place)


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (None, ("--known",), "--known belongs to --advise"),
        (None, ("--ranks", "2"), "--ranks belongs to --advise"),
        (
            'method = "kirchhoff"\n[data]\nfiles = ["shots.sgy"]\n[velocity]\nv = 2000.0\n',
            (),
            "kirchhoff",
        ),
        ('[model]\nvp = "vp.rsf"\n[source]\nf0 = "10 Hz"\n', (), "no [data]"),
    ],
)
def test_what_cannot_be_advised(run, job, tmp_path, text, more, said):
    path = tmp_path / "other.toml"
    if text is not None:
        path.write_text(text)
        more = ("--advise", path, *more)
    code, _, err = run(tmp_path, *more)
    assert code == 2
    assert said in err
