"""`lab checkpoint`: as many checkpoints as asked for, counted as the schedule says, compared only with their like."""

import json

import numpy as np
import pytest

from subsalt.checkpoint.schedule.tasks import Counts, counts_of
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.errors import ConfigError, SubsaltError
from subsalt.machine.records import Passed
from subsalt.machine.storage import Mount
from subsalt.methods.rtm.engine import migrate_shot
from subsalt_lab import checkpoint
from subsalt_lab.checkpoint_case import CheckpointCase
from subsalt_lab.cli import checkpoint as checkpoint_tables

GRID, SAMPLES = (40, 40, 44), 60


def case(strategy="store"):
    return CheckpointCase(GRID, SAMPLES, strategy, 1)


def short_of_states():
    return CheckpointCase(GRID, 24, "revolve", 1)


@pytest.fixture(scope="module", params=["store", "revolve"])
def measured(request, tmp_path_factory):
    folders = [tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")]
    if request.param == "store":
        settings = checkpoint.Settings(case("store"), folders, [4, 12], [1, 2], repeats=2)
    else:
        settings = checkpoint.Settings(short_of_states(), folders[:1], [4, 12], [2], repeats=1)
    return folders, settings, checkpoint.measure(settings)


def test_a_shot_has_as_many_steps_as_samples():
    made = case()
    assert made.setup(5).axis.nt - 1 == SAMPLES
    image = migrate_shot(made.setup(5), made.shot, made.traces())
    assert np.isfinite(image.sums["correlation"]).all()
    assert image.sums["correlation"].any()


@pytest.mark.parametrize("strategy", ["store", "revolve"])
def test_as_many_checkpoints_as_asked_for(strategy):
    for count in (1, 7, 20, SAMPLES):
        counts = counts_of(case(strategy).scheme(count, on_disk=True))
        if strategy == "store":
            # every (samples // count)-th step, which may be a few more than asked for
            count_made = SAMPLES // (SAMPLES // count)
            assert (counts.snapshots_written, counts.snapshots_read) == (count_made, count_made)
            assert counts.states_stored_disk == 0
        else:
            scheme = case(strategy).scheme(count, on_disk=True)
            assert scheme.disk_slots == count
            # x_0 needs no slot, and with as many slots as states nothing is made twice
            assert counts.states_stored_disk >= min(count, SAMPLES - 1)
            assert counts.snapshots_written == counts.states_stored_memory == 0
    with pytest.raises(ConfigError, match="61 checkpoints of 60"):
        case().scheme(61, on_disk=True)


def test_every_case_has_its_rows_and_leaves_nothing(measured):
    folders, settings, result = measured
    for folder in folders:
        assert not list(folder.iterdir())
    cases = [
        (c, t, str(d)) for c in settings.checkpoints for t in settings.threads for d in settings.directories
    ]
    overlapped = [r for r in result.rows if r["mode"] == "overlapped"]
    assert [(r["checkpoints"], r["threads"], r["directory"]) for r in overlapped] == cases
    for row in overlapped:
        counts = counts_of(settings.case.scheme(row["checkpoints"], on_disk=True))
        assert row["puts"] == counts.snapshots_written + counts.states_stored_disk
        assert row["gets"] == counts.snapshots_read + counts.states_loaded_disk
        assert row["put_bytes"] == row["puts"] * settings.case.record_bytes
        assert row["shot_seconds"] > row["stall_seconds"]
        assert len(row["seconds"]) == settings.repeats
    bare = [r for r in result.rows if r["mode"] == "bare"]
    assert {(r["checkpoints"], r["threads"], r["directory"]) for r in bare} == set(cases)
    for row in bare:
        assert row["puts"] == row["gets"] == row["checkpoints"]
        assert row["put_bytes"] == row["get_bytes"] == row["checkpoints"] * settings.case.record_bytes
        assert row["total_seconds"] == row["put_seconds"] + row["get_seconds"]
    json.dumps(result.rows, allow_nan=False)


@pytest.mark.parametrize("how", ["text", "markdown", "csv"])
def test_tables_show_every_row(measured, how):
    folders, _, result = measured
    text = "\n".join(checkpoint_tables.tables(result.rows, how))
    assert sum(str(f) in line for line in text.splitlines() for f in folders) == len(result.rows)


def test_an_image_that_depends_on_where_checkpoints_were_gives_no_figure(tmp_path, monkeypatch):
    def wrong(*args, scratch=None, **more):
        image = migrate_shot(*args, scratch=scratch, **more)
        if scratch is not None:
            image.sums["correlation"][3, 3, 3] += 1
        return image

    monkeypatch.setattr(checkpoint, "migrate_shot", wrong)
    settings = checkpoint.Settings(case(), [tmp_path], [4], [1], modes=["overlapped"])
    with pytest.raises(SubsaltError, match="wrong answer") as error:
        checkpoint.measure(settings)
    assert error.value.code == "E710"
    assert not list(tmp_path.iterdir())


def passed(seconds):
    return Passed(seconds, 10**9, seconds, 0.25, 10**9)


def row(directory, threads, seconds, durable=True):
    label = {"directory": directory, "checkpoints": 8, "threads": threads, "how": "buffered"}
    return label | checkpoint.bare(8, passed(seconds), passed(seconds), durable=durable)


def test_only_what_reached_the_same_is_compared():
    rows = [
        row("a", 1, 8.0),
        row("b", 1, 4.0),
        row("a", 16, 2.0),
        row("b", 16, 1.0),
        row("a", 16, 0.1, durable=False),
    ]
    ratios = [(r["over_first"], r["over_one"]) for r in checkpoint.compared(rows)]
    assert ratios == [(None, None), (2.0, None), (None, 4.0), (2.0, 4.0), (None, None)]


def test_rows_say_what_was_reached():
    assert row("a", 1, 2.0)["put_rate"] == 0.5
    assert (row("a", 1, 2.0)["put_reaches"], row("a", 1, 2.0)["get_reaches"]) == ("durable", "storage")
    counts = StoreCounts(
        puts=3, gets=2, bytes_written=300, bytes_read=200, disk_read=210, put_seconds=3.0, stall_seconds=0.5
    )
    did = Counts(snapshots_written=3, snapshots_read=2)
    over = checkpoint.overlapped(did, counts, 9.0, 0, direct=False)
    assert (over["put_reaches"], over["get_reaches"], over["put_rate"]) == ("cached", "memory", 1e-7)
    assert (over["shot_seconds"], over["stall_seconds"], over["total_seconds"]) == (9.0, 0.5, 3.0)
    assert over["get_rate"] is None
    assert checkpoint.overlapped(did, counts, 9.0, 200, direct=True)["put_reaches"] == "device"
    for kind, reaches in (("tmpfs", "memory"), ("ext4", "durable")):
        assert checkpoint.in_memory(row("a", 1, 2.0), Mount("/", kind))["put_reaches"] == reaches


def test_the_middle_sample_counts():
    samples = [row("a", 1, s) for s in (5.0, 1.0, 3.0)]
    middle_row = checkpoint.middle(samples)
    assert middle_row["put_seconds"] == 3.0
    assert middle_row["seconds"] == [10.0, 2.0, 6.0]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--checkpoints", "0"], 2, "--checkpoints 0"),
        (["--checkpoints", "61", "--samples", "60"], 2, "61: not numbers from 1 to 60"),
        (["--grid", "20,20,20"], 2, "--grid 20,20,20"),
        (["--strategy", "boundary"], 2, "choose from store, revolve"),
        (["--mode", "fast"], 2, "--mode fast"),
        (["--table", "html"], 2, "--table html"),
        (["--grid", "40000,4000,4000"], 69, "takes about 41.0 TB"),
        (["--names", "one,two"], 2, "2 names for 1 directories"),
        (["--out", "."], 74, "cannot be written"),
        (["missing"], 74, "missing is no directory"),
    ],
)
def test_wrong_options_are_refused_with_the_cure(subsalt_command, words, code, said):
    printed, _, err = subsalt_command("lab", "checkpoint", *words)
    assert printed == code
    assert said in err


def test_a_checkpoint_table_from_the_command_line(subsalt_command, tmp_path):
    file = tmp_path / "result.json"
    small = [
        "--grid",
        "44,44,44",
        "--samples",
        "20",
        "--checkpoints",
        "5",
        "--threads",
        "1",
        "--names",
        "here",
    ]
    code, out, err = subsalt_command("lab", "checkpoint", tmp_path, *small, "--out", file)
    assert code == 0, err
    assert "Overlapped: a shot" in out
    result = json.loads(file.read_text())
    assert result["measurement"] == "checkpoint"
    assert result["settings"]["case"]["grid"] == [44, 44, 44]
    # a published result names no path of the machine
    assert result["settings"]["directories"] == ["here"] == list({r["directory"] for r in result["rows"]})
    assert str(tmp_path) not in file.read_text()
    assert "Examples:\n  subsalt lab checkpoint" in subsalt_command("lab", "checkpoint", "--help")[1]
