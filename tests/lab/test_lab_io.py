"""`subsalt lab io`: bytes counted against the formulas, the same image by both ways, rows, refusals."""

import json

import pytest
from launch import needs_mpi

from subsalt.errors import ConfigError, DiskError, MemoryPlanError, SubsaltError
from subsalt_lab import io as measurement
from subsalt_lab import io_case
from subsalt_lab.cli.io import tables
from subsalt_lab.io import notes, rows_of
from subsalt_lab.io_case import VOLUMES, ReadingCase


@pytest.fixture
def run(subsalt_command):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    return lambda *args: subsalt_command("lab", "io", *args)


def settings(directory, **changes):
    case = ReadingCase((40, 18, 16), 12, changes.pop("compute", 1.0), changes.pop("suffix", ".rsf"))
    plain = {"ranks": [1], "caches": ["warm"], "repeats": 1, "directory": directory}
    return measurement.Settings(case, **(plain | changes))


@needs_mpi
@pytest.mark.parametrize(
    ("suffix", "ranks", "caches"), [(".rsf", [1, 3], ["warm"]), (".sgy", [3], ["cold", "warm"])]
)
def test_counted_bytes_are_those_of_the_formula(tmp_path, suffix, ranks, caches):
    wanted = settings(tmp_path, ranks=ranks, suffix=suffix, caches=caches, compute=0.5)
    case, (nx, ny, nz) = wanted.case, wanted.case.grid
    result = measurement.measure(wanted)
    assert list(tmp_path.iterdir()) == []  # removed
    assert [(r["table"], r["ranks"], r["cache"]) for r in result.rows] == [
        (t, n, c) for n in ranks for t in ("init", "trace", "total") for c in caches
    ]
    for row in result.rows:
        n, table = row["ranks"], row["table"]
        planes = nx + 8 * (n - 1)
        whole = {"init": 3 * 4 * nx * ny * nz, "trace": 2 * case.steps * 4 * nx * ny}
        whole["total"] = whole["init"] + whole["trace"]
        # headers are read as well, by whoever opens a file: of slices all ranks, of volumes those that read it
        slack = {"init": 3 * 600 * n, "trace": 2 * 600 * n}
        if suffix == ".sgy":
            # found out and then read: headers lie between the samples
            slack["init"] += n * 3 * 2 * (3600 + (240 + 4 * nz) * nx * ny)
            assert (row["broadcast_formula"] is None) == (table != "trace")
        slack["total"] = slack["init"] + slack["trace"]
        assert row["wanted"] == whole[table] * planes // nx
        for way, moved in (("broadcast", n * whole[table]), ("per_rank", whole[table] * planes // nx)):
            assert moved <= row[f"{way}_moved"] <= moved + slack[table], (row, way)
            assert row[f"{way}_s"] >= 0
        assert row["nodes"] == 1
    assert result.to_dict()["settings"]["ranks"] == ranks
    assert str(tmp_path) not in json.dumps(result.to_dict())


def test_slices_alone_move_exactly_what_is_wanted(tmp_path):
    """Without headers the count is exact: those of the two sets are read once each, before the first slice."""
    row = next(r for r in measurement.measure(settings(tmp_path, compute=0.0)).rows if r["table"] == "trace")
    headers = row["per_rank_moved"] - row["wanted"]
    assert headers == row["broadcast_moved"] - row["wanted"]
    assert 0 < headers < 2 * 600
    assert row["per_rank_redundancy"] == row["per_rank_moved"] / row["wanted"]


def sample(way, seconds, image="a", cold=False, number=0):
    traffic = {
        p: {"wanted": 100, "read": 100, "received": 300 if way == "broadcast" else 0}
        for p in ("init", "steps")
    }
    return {
        "way": way,
        "cold": cold,
        "round": number,
        "seconds": {"init": seconds, "trace": seconds / 2, "reading": 0.5, "total": 10 * seconds},
        "traffic": traffic,
        "storage": {"init": 50, "steps": None},
        "dropped": True,
        "image": image,
    }


def launched(*samples, ranks=4):
    return {"ranks": ranks, "nodes": 1, "samples": list(samples)}


def test_rows_are_medians_of_rounds_and_ratios_within_a_round():
    # the machine became half as fast in round 1: a ratio of medians would show it, the median of ratios does not
    made = [
        sample(way, seconds * slow, number=k)
        for k, slow in enumerate((1.0, 2.0, 1.5))
        for way, seconds in (("broadcast", 8.0), ("per-rank", 2.0))
    ]
    rows = rows_of(ReadingCase((64, 8, 8), 4), launched(*made), 2)
    init, trace, total = rows
    assert (init["broadcast_s"], init["per_rank_s"], init["ratio"], init["ratio_spread"]) == (
        12.0,
        3.0,
        4.0,
        0.0,
    )
    assert (trace["per_rank_s"], trace["per_rank_reading_s"], trace["reading_ratio"]) == (1.5, 0.5, 12.0)
    assert total["broadcast_s"] == 120.0
    assert (init["broadcast_moved"], init["broadcast_redundancy"], init["per_rank_redundancy"]) == (
        400,
        4.0,
        1.0,
    )
    assert init["broadcast_gb_s"] == pytest.approx(100 / 12.0 / 1e9)
    assert trace["per_rank_gb_s"] == pytest.approx(100 / 0.5 / 1e9)
    assert init["broadcast_from_storage"] == 0.5
    assert "broadcast_from_storage" not in trace
    assert all(r["oversubscribed"] for r in rows)
    assert not any(r["oversubscribed"] for r in rows_of(ReadingCase((64, 8, 8), 4), launched(*made), 4))
    text = "\n".join(tables(rows, "text"))
    for words in ("Initialisation", "Trace input", "Total", "original s", "per-rank s", "oversubscribed"):
        assert words in text
    assert next(iter(tables(rows, "csv"))).startswith("table,ranks,cache,broadcast_s")
    assert "\n\n| ranks |" in "\n".join(tables(rows, "markdown"))
    assert "4 ranks take turns" in " ".join(notes(rows, True))


def test_no_time_is_given_for_images_that_differ():
    two = launched(sample("broadcast", 1.0), sample("per-rank", 1.0, image="b"))
    with pytest.raises(SubsaltError, match="depends on how input was read") as e:
        rows_of(ReadingCase((64, 8, 8), 4), two, 2)
    assert e.value.code == "E710"


def test_the_formula_is_that_of_the_founding_document():
    # 1243 x 1151 x 1231 on 24 nodes, 2 x 800 slices: 10.57 GB by all nodes, against 24 times 9.16 GB
    case = ReadingCase((1243, 1151, 1231), 800)
    assert case.formula("per-rank", 24)["trace"] == pytest.approx(10.57e9, rel=1e-3)
    assert case.formula("broadcast", 24)["trace"] == pytest.approx(24 * 9.16e9, rel=1e-3)
    assert case.formula("per-rank", 1) == case.formula("broadcast", 1) == case.wanted(1)
    assert case.wanted(24)["init"] == 3 * 4 * 1151 * 1231 * (1243 + 8 * 23)


def test_files_are_what_the_case_says(tmp_path):
    case = ReadingCase((20, 17, 16), 5, suffix=".sgy")
    with io_case.files(tmp_path, case, keep=True) as folder:
        taken = sum(p.stat().st_size for p in folder.iterdir())
        # the image is not there yet
        assert (
            case.disk_bytes - case.volume_bytes - (64 << 10) <= taken <= case.disk_bytes - case.volume_bytes
        )
        assert all(p.exists() for p in io_case.inputs(folder, case))
    assert folder.exists()
    with pytest.raises(DiskError, match="already there") as e, io_case.files(tmp_path, case, keep=False):
        pass
    assert e.value.code == "E774"
    values = [io_case.model_planes(n, case, 3, 5) for n in VOLUMES]
    assert (values[2] <= values[1]).all()
    assert (values[0][0] != values[0][1]).any()


def test_what_has_no_room_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(io_case, "free_bytes", lambda path: 1000)
    with pytest.raises(DiskError, match=r"take .*has 1.0 kB") as e:
        measurement.measure(settings(tmp_path))
    assert e.value.code == "E773"
    monkeypatch.setattr(io_case, "free_bytes", lambda path: 1 << 60)
    monkeypatch.setattr(io_case, "machine_facts", lambda: {"ram_bytes": 1 << 20})
    with pytest.raises(MemoryPlanError, match="memory"):
        measurement.measure(settings(tmp_path))
    with pytest.raises(ConfigError, match="at most --ranks 10"):
        measurement.measure(settings(tmp_path, ranks=[11]))
    assert list(tmp_path.iterdir()) == []


def test_a_launcher_of_another_mpi_is_noticed(tmp_path):
    # starts one run that knows of no other, as a foreign mpiexec starts many of them
    with pytest.raises(SubsaltError, match="was to start 2 ranks") as e:
        measurement.measure(settings(tmp_path, ranks=[2], launcher="env RANKS={ranks}"))
    assert e.value.code == "E775"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("--ranks", "0"), "E128", "--ranks 0"),
        (("--ranks", "two"), "E128", "--ranks two"),
        (("--grid", "64,64"), "E128", "--grid 64,64"),
        (("--grid", "64,64,8"), "E128", "from 16"),
        (("--format", "vti"), "E128", "--format vti"),
        (("--cache", "hot"), "E128", "--cache hot"),
        (("--table", "latex"), "E128", "latex"),
        (("--out", "/nowhere/x.json"), "E620", "/nowhere/x.json"),
        (("--launcher", "no-such-launcher"), "E780", "no-such-launcher"),
    ],
)
def test_wrong_options_are_refused(run, tmp_path, args, code, words):
    _, out, err = run("--json", "--directory", tmp_path, *args)
    error = json.loads(out)["error"]
    assert error["code"] == code
    assert words in error["message"] + error["fix"]
    assert error["message"] in err
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_three_tables_and_writes_its_result(run, tmp_path):
    where = ("--directory", tmp_path / "files", "--out", tmp_path / "io.json")
    case = ("--grid", "32,18,16", "--steps", "8", "--ranks", "1", "--repeats", "2", "--cache", "warm")
    code, out, err = run(*case, *where, "--keep")
    assert code == 0, err
    for words in ("Initialisation", "Trace input", "Total", "counted where they move"):
        assert words in out
    assert "io: making" in err
    result = json.loads((tmp_path / "io.json").read_text())
    assert (result["schema"], result["measurement"], len(result["rows"])) == ("subsalt-lab-1", "io", 3)
    assert len(result["rows"][0]["broadcast_seconds"]) == 2
    assert (tmp_path / "files" / io_case.FOLDER / "vp.rsf").exists()
    assert "Examples:\n  subsalt lab io" in run("--help")[1]
