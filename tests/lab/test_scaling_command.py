"""`subsalt lab scaling` as users meet it: options, refusals, tables; runs of our own on one rank."""

import json
import sys

import numpy as np
import pytest

from subsalt.earth.grid import Box
from subsalt.machine import programs
from subsalt.machine.programs import Queued
from subsalt_lab import external, job_queue, migrations, scaling, scaling_worker, whole
from subsalt_lab.layouts import RankLayout, WorkRule


@pytest.fixture
def run(subsalt_command):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    return lambda *args: subsalt_command("lab", "scaling", *args)


@pytest.mark.parametrize(
    ("args", "code", "exit_code", "words"),
    [
        (("--ranks", "0"), "E128", 2, "--ranks 0"),
        (("--threads", "two"), "E128", 2, "--threads two"),
        (("--grid", "64,64"), "E128", 2, "--grid 64,64"),
        (("--grid", "64,64,31"), "E128", 2, "from 32"),
        (("--medium", "orthorhombic"), "E128", 2, "orthorhombic"),
        (("--ranks", "40", "--grid", "64,64,64"), "E128", 2, "thinner than their halo"),
        (("--shots", "2"), "E128", 2, "--shots belongs to whole migrations"),
        (("--against", "/tmp"), "E128", 2, "--against"),
        (("--whole", "--ranks-per-shot", "some"), "E128", 2, "--ranks-per-shot some"),
        (("--time-from", "(x)"), "E128", 2, "--time-from belongs to a command"),
        (("--grid", "64,64,64", "--", "true"), "E128", 2, "--grid is not for a command"),
        (("--grid", "9000,9000,9000", "--ranks", "1"), "E612", 69, "take"),
        (("--launcher", "no-such-launcher"), "E780", 69, "no-such-launcher"),
        (("--table", "latex"), "E128", 2, "latex"),
        (("--out", "/nowhere/x.json"), "E620", 74, "/nowhere/x.json"),
        (("--against", "/tmp", "--", "true"), "E128", 2, "compares with --directory"),
        (("--ranks", "1", "--directory", "/nowhere", "--", "cat", "{directory}"), "E128", 2, "/nowhere"),
        (("--ranks", "1", "--directory", "/tmp", "--", "true"), "E783", 2, "{directory}"),
        (("--ranks", "1", "--cases", "a,b", "--", "true"), "E783", 2, "{case}"),
        (("--cases", "a,b"), "E128", 2, "--cases belongs to a command"),
        (("--nodes", "1,2", "--", "true"), "E128", 2, "--nodes belongs to a queue"),
        (("--jobs", "4", "--ranks", "2", "--", "true"), "E128", 2, "--ranks is not for --jobs"),
        (("--jobs", "2", "--nodes", "1,3", "--", "true"), "E783", 2, "fewer than the 3 nodes"),
        (("--jobs", "4", "--nodes", "2", "--hosts", "a", "--", "true"), "E783", 2, "names 1 of 2"),
        (("--jobs", "4", "--nodes", "2", "--hosts", "a,b", "--", "true"), "E783", 2, "{node}"),
        (("--ranks", "1,2", "--", "true"), "E783", 2, "{ranks}"),
        (("--ranks", "1", "--time-from", "(", "--", "true"), "E783", 2, "--time-from"),
        (("--ranks", "1", "--time-from", "x", "--", "true"), "E783", 2, "no group"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_started(run, monkeypatch, args, code, exit_code, words):
    for measurement in (scaling, migrations, external):
        monkeypatch.setattr(measurement, "measure", lambda *a, **k: pytest.fail("measured"))
    left, out, err = run("--json", *args)
    error = json.loads(out)["error"]
    assert (left, error["code"], error["exit"]) == (exit_code, code, exit_code)
    assert words in error["message"] + error["fix"]
    assert error["message"] in err


def test_a_command_of_ones_own_with_both_numbers(run, tmp_path):
    """The time printed is 12 over the product of ranks and threads: everything scales."""
    program = "import sys; print('step 1'); print('elapsed', 12 / int(sys.argv[1]) / int(sys.argv[2]), 's')"
    words = (sys.executable, "-c", program, "{ranks}", "{threads}")
    path = tmp_path / "result.json"
    options = (
        "--ranks",
        "1,2",
        "--threads",
        "1,3",
        "--repeats",
        "2",
        "--time-from",
        "elapsed ([0-9.]+)",
    )
    code, out, err = run(*options, "--out", path, "--json", "--", *words)
    assert code == 0, err
    result = json.loads(out)
    assert result == json.loads(path.read_text())
    assert (result["schema"], result["measurement"]) == ("subsalt-lab-1", "scaling")
    assert result["settings"]["command"].startswith("python")
    row_at = {(r["ranks"], r["threads"]): r for r in result["rows"]}
    assert {k: r["time"] for k, r in row_at.items()} == {(1, 1): 12.0, (2, 1): 6.0, (1, 3): 4.0, (2, 3): 2.0}
    assert {k: r["speed_up"] for k, r in row_at.items()} == {
        (1, 1): 1.0,
        (2, 1): 2.0,
        (1, 3): 3.0,
        (2, 3): 6.0,
    }
    assert all(r["efficiency"] == 1.0 and not r["superlinear"] for r in row_at.values())
    assert row_at[2, 1]["rating"] == 86400 / 6
    assert "sys" in result["settings"]["command"]


def test_words_of_a_command_stay_words(run):
    """No shell: what looks like one's syntax arrives as it is."""
    program = "import sys; print('t', 1 + (sys.argv[1:] != ['$HOME;', 'a b', '{ranks', '{}']))"
    code, out, _ = run(
        *(
            "--ranks",
            "1",
            "--repeats",
            "1",
            "--time-from",
            "t ([0-9]+)",
            "--table",
            "csv",
            "--",
        ),
        *(sys.executable, "-c", program, "$HOME;", "a b", "{ranks", "{}"),
    )
    assert code == 0
    assert out.splitlines()[1].split(",")[3] == "1.0"


def test_a_command_that_fails_gives_no_figure(run, tmp_path):
    path = tmp_path / "result.json"
    code, out, err = run(
        "--ranks",
        "1",
        "--out",
        path,
        "--",
        sys.executable,
        "-c",
        "raise SystemExit('broken')",
    )
    assert code == 70
    assert "E781" in err
    assert "broken" in err
    assert out == ""
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("took 2 s\ntook 4 s", (4.0, 0.5)),
        ("took 4.25 s", (4.25, 0.005)),
        ("took 1.50e2 s", (150.0, 0.5)),
        ("took .5 s", (0.5, 0.05)),
    ],
)
def test_the_last_time_printed_and_its_digits(text, seconds):
    assert external.printed_time(text, r"took (\S+) s") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "took long", "took 0 s", "took -1 s", "took x s"])
def test_no_time_is_an_error(text):
    with pytest.raises(Exception, match="--time-from") as caught:
        external.printed_time(text, r"took (\S+) s")
    assert caught.value.code == "E784"


def test_cases_in_two_directories_stand_in_one_table(run, tmp_path):
    """The time is what a file of the directory says, times the case: B/A and ratings are known."""
    for name, seconds in (("fast", 2), ("slow", 5)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "seconds").write_text(str(seconds))
    program = 'echo "t $(($(cat "$0/seconds") * $1))"'
    options = ("--ranks", "1", "--threads", "1,2", "--repeats", "2", "--time-from", "t ([0-9]+)")
    places = ("--directory", tmp_path / "fast", "--against", tmp_path / "slow")
    words = ("sh", "-c", program, "{directory}", "{case}")
    code, out, err = run(*options, *places, "--cases", "1,4", "--json", "--", *words)
    assert code == 0, err
    result = json.loads(out)
    assert [(r["case"], r["threads"], r["time"], r["time_b"], r["b_over_a"]) for r in result["rows"]] == [
        ("1", 1, 2.0, 5.0, 2.5),
        ("1", 2, 2.0, 5.0, 2.5),
        ("4", 1, 8.0, 20.0, 2.5),
        ("4", 2, 8.0, 20.0, 2.5),
    ]
    # every case scales against its own smallest run
    assert [r["speed_up"] for r in result["rows"]] == [1.0, 1.0, 1.0, 1.0]
    assert (result["settings"]["directories"], result["settings"]["engine"]) == (2, "own")
    assert str(tmp_path) not in json.dumps(result["settings"])
    code, out, _ = run(*options, *places, "--cases", "1,4", "--table", "markdown", "--", *words)
    assert "| ranks | threads | cores | 1 | 4 |" in out
    assert "| 1 | 2 | 2 | 43200.0 | 10800.0 |" in out


def test_a_queue_gives_every_job_to_a_node_that_is_free(run, tmp_path):
    program = "import sys, pathlib; pathlib.Path(sys.argv[1], sys.argv[2]).write_text(sys.argv[3])"
    words = (sys.executable, "-c", program, tmp_path, "{job}", "{node}")
    code, out, err = run(
        "--jobs", "5", "--nodes", "1,2", "--hosts", "n07,n09", "--repeats", "1", "--json", "--", *words
    )
    assert code == 0, err
    result = json.loads(out)
    assert [r["nodes"] for r in result["rows"]] == [1, 2]
    assert {p.name for p in tmp_path.iterdir()} == {"1", "2", "3", "4", "5"}
    # two nodes came last, both had work
    assert {p.read_text() for p in tmp_path.iterdir()} == {"n07", "n09"}
    assert all(0 <= r["idle"] < 1 for r in result["rows"])
    assert result["rows"][0]["jobs_per_hour"] == pytest.approx(5 * 3600 / result["rows"][0]["time"])


def test_time_to_completion_scales_as_founding_document_001_counts():
    """400 jobs of SAS Grid on 2 to 7 nodes: 379, 275, 210, 192, 174, 164 min; 2.31 times at 7 nodes, 66 %."""
    minutes = {2: 379, 3: 275, 4: 210, 5: 192, 6: 174, 7: 164}

    def answer(settings, nodes):
        seconds = 60.0 * minutes[nodes]
        return Queued(seconds, (60.0,) * 400, (seconds,) * nodes)

    settings = job_queue.Settings(["p"], 400, list(minutes), repeats=3)
    last = job_queue.measure(settings, run=answer).rows[-1]
    # speed-up counts from the nodes of the smallest run: 2 x 2.31
    assert last["speed_up"] / 2 == pytest.approx(2.31, abs=0.005)
    assert last["efficiency"] == pytest.approx(0.66, abs=0.005)
    assert last["idle"] == 0.0


def test_a_job_of_a_queue_that_fails_ends_the_others(tmp_path):
    def words(job, slot):
        return [
            sys.executable,
            "-c",
            "import time; time.sleep(60)" if job == 0 else "raise SystemExit('broken')",
        ]

    with pytest.raises(Exception, match=r"job 2 of q ended with exit code 1: broken") as caught:
        programs.queue(words, 2, 2, what="q")
    assert caught.value.code == "E781"
    with pytest.raises(Exception, match=r"a job of q did not end within 0\.2 s"):
        programs.queue(words, 1, 1, what="q", timeout=0.2)


def test_weak_scaling_of_a_command_counts_the_work_of_the_ranks():
    layouts = [RankLayout(1, 1), RankLayout(4, 1)]
    settings = external.Settings(["p", "{ranks}"], layouts, repeats=3, work=WorkRule("ranks"))
    result = external.measure(
        settings, run=lambda settings, start: ({1: 10.0, 4: 12.5}[start.layout.ranks], 0.0)
    )
    assert result.rows[1]["efficiency"] == pytest.approx(0.8)


LAYOUTS = [
    RankLayout(1, 1, cores=1, nodes=1),
    RankLayout(1, 2, cores=2, nodes=1),
    RankLayout(2, 1, cores=2, nodes=1),
]


def test_no_figure_when_layouts_give_different_fields():
    def answer(settings, layout, work):
        return {"seconds": 1.0, "point_steps": 10, "field": "a" if layout.ranks == 1 else "b"}

    settings = scaling.Settings(LAYOUTS, repeats=2)
    with pytest.raises(Exception, match="2 different results on 256 x 256 x 256 points") as caught:
        scaling.measure(settings, run=answer)
    assert caught.value.code == "E710"


def test_weak_scaling_of_time_steps_grows_the_grid_with_the_ranks():
    seen = []

    def answer(settings, layout, work):
        seen.append((layout.name, work.grid, work.steps))
        return {"seconds": 1.0, "point_steps": 8 * work.grid[0], "field": str(work.grid)}

    settings = scaling.Settings(LAYOUTS, grid=(64, 32, 32), steps=5, repeats=1, weak=True)
    result = scaling.measure(settings, run=answer)
    assert seen == [("1 x 1", (64, 32, 32), 5), ("1 x 2", (64, 32, 32), 5), ("2 x 1", (128, 32, 32), 5)]
    assert [r["efficiency"] for r in result.rows] == [1.0, 0.5, 1.0]
    assert [r["rate_per_core"] for r in result.rows] == [512.0, 256.0, 512.0]
    # other grids, other work: nothing to compare at equal cores
    assert [r["against_fewest_ranks"] for r in result.rows] == [None, None, None]


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_the_model_made_in_pieces_is_one_model(medium):
    """Any window, inside or across the edges, has the values of the whole; its few numbers are those of the whole."""
    made = scaling_worker.MadeModel(scaling_worker.RankWork((60, 34, 44), medium, 1, 1, 1))
    whole_model = made.window(made.grid.box)
    assert whole_model.grid.shape == (36, 10, 20)
    assert made.medium == whole_model.medium == medium
    assert made.fastest == whole_model.fastest
    assert made.choose_dt(8, None, 0.0) == whole_model.choose_dt(8, None, 0.0)
    for box in (Box((3, 2, 1), (9, 5, 17)), Box((-12, -12, -12), (5, 22, 32)), Box((30, 0, 0), (48, 10, 20))):
        piece, right = made.window(box), whole_model.window(box)
        assert piece.grid == right.grid
        assert (piece.vp == right.vp).all()
        assert len(np.unique(piece.vp[:, 0, 0])) > 1


def test_whole_migrations_from_known_phases(tmp_path):
    """Kernel share, scaling of total and of time steps, and one directory against another."""

    def answer(settings, case):
        k = case.layout.cores
        slow = 2.0 if case.side == "directory B" else 0.0
        phases = {"check": 0.5, "model input": 0.5 + slow, "source": 4.0 / k, "receivers": 4.0 / k}
        # a quarter of a second goes by before the first phase
        phases["wall"] = 10.0 / k + slow - 0.25
        assert case.key["grid"] == "40 x 32 x 32"
        assert {f.name for f in case.files} >= {"vp.rsf", "shots.sgy"}
        return migrations.MigrationResult(10.0 / k + slow, phases, 4_000, "same")

    settings = whole.Settings(
        LAYOUTS, "isotropic", (40, 32, 32), 20, 2, repeats=3, directory=tmp_path / "a", against=tmp_path / "b"
    )
    rows = migrations.measure(settings, run=answer).rows
    assert [r["total"] for r in rows] == [10.0, 5.0, 5.0]
    assert [r["total_b"] for r in rows] == [12.0, 7.0, 7.0]
    assert [r["b_over_a"] for r in rows] == [1.2, 1.4, 1.4]
    assert [(r["init"], r["init_b"]) for r in rows] == [(1.25, 3.25)] * 3
    assert [r["kernel"] for r in rows] == [8.0, 4.0, 4.0]
    assert [r["kernel_share"] for r in rows] == [0.8, 0.8, 0.8]
    assert [r["kernel_efficiency"] for r in rows] == [1.0, 1.0, 1.0]
    assert [r["rate_per_core"] for r in rows] == [500.0] * 3
    assert rows[2]["against_fewest_ranks"] == 1.0
    # nothing stays behind
    assert not list((tmp_path / "a").iterdir()) + list((tmp_path / "b").iterdir())


def test_weak_scaling_of_whole_migrations_gives_every_rank_its_shots(tmp_path):
    """Windows between the edges of the model may hold one line of receivers more than those at them."""
    settings = whole.Settings([], "isotropic", (40, 32, 32), 20, 1, weak=True)
    made = settings.survey_of(RankLayout(4, 1))
    assert (made.grid, made.shots, made.spread) == ((160, 32, 32), 4, 40)
    lines = [len(shot.rcv) for shot in made.survey().shots]
    assert len(lines) == 4
    assert max(lines) > min(lines)
    assert sum(f.stat().st_size for f in made.write(tmp_path)) < made.bytes_needed


def test_no_room_for_a_survey(tmp_path):
    settings = whole.Settings(LAYOUTS, "vti", (10**5, 10**4, 10**4), directory=tmp_path)
    with pytest.raises(Exception, match="are free") as caught:
        migrations.measure(settings, run=lambda settings, case: pytest.fail("migrated"))
    assert caught.value.code == "E785"


def test_time_steps_on_threads_for_real(run):
    code, out, err = run(
        *(
            "--ranks",
            "1",
            "--threads",
            "1,2",
            "--grid",
            "40,36,32",
            "--steps",
            "4",
            "--repeats",
            "1",
            "--json",
        ),
    )
    assert code == 0, err
    result = json.loads(out)
    assert [(r["ranks"], r["threads"]) for r in result["rows"]] == [(1, 1), (1, 2)]
    assert all(r["point_steps"] == 4 * 40 * 36 * 32 and r["rate"] > 0 for r in result["rows"])
    assert all(len(r["seconds"]) == 1 for r in result["rows"])
    assert "all layouts gave the same bits" in result["notes"]
    assert result["settings"]["launcher"] == "none"


@pytest.mark.slow
def test_a_whole_migration_for_real(run, tmp_path):
    code, out, err = run(
        *("--whole", "--ranks", "1", "--grid", "40,32,32", "--steps", "40", "--shots", "1", "--repeats", "1"),
        *("--directory", tmp_path, "--json"),
    )
    assert code == 0, err
    row = json.loads(out)["rows"][0]
    assert 0 < row["kernel"] < row["total"]
    assert row["kernel_share"] == pytest.approx(row["kernel"] / row["total"])
    assert row["init"] > 0
    assert not list(tmp_path.iterdir())
