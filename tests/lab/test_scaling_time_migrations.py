"""`subsalt lab scaling --method kirchhoff`: options, tables from known phases, two builds, a run for real."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from subsalt.io.prestack.table import open_traces
from subsalt_lab import migrations
from subsalt_lab.cli import scaling as scaling_tables
from subsalt_lab.layouts import RankLayout
from subsalt_lab.migrations import MigrationResult
from subsalt_lab.scaling_request import ScalingRequest
from subsalt_lab.time_migrations import GivenJob, MadeTraces, Settings

LAYOUTS = [
    RankLayout(1, 1, cores=1, nodes=1),
    RankLayout(1, 2, cores=2, nodes=1),
    RankLayout(2, 1, cores=2, nodes=1),
]


@pytest.fixture
def run(subsalt_command):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    return lambda *args: subsalt_command("lab", "scaling", *args)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("--method", "fkm"), "E128", "--method fkm: not known"),
        (("--method", "kirchhoff", "--shots", "2"), "E128", "--shots is not for --method kirchhoff"),
        (("--method", "kirchhoff", "--medium", "tti"), "E128", "--medium is not for"),
        (("--method", "kirchhoff", "--grid", "20,100"), "E128", "inlines, crosslines and samples"),
        (("--method", "kirchhoff", "--grid", "2,3,49"), "E128", "50 samples or more"),
        (("--method", "kirchhoff", "--builds", "v9"), "E702", "v9"),
        (("--method", "kirchhoff", "--", "true"), "E128", "a command is not for"),
        (("--builds", "v2"), "E128", "--builds compares time migrations"),
        (("--job", "nowhere.toml"), "E110", "nowhere.toml"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_started(run, monkeypatch, args, code, words):
    monkeypatch.setattr(migrations, "measure", lambda *a, **k: pytest.fail("measured"))
    left, out, _ = run("--json", *args)
    error = json.loads(out)["error"]
    assert left
    assert error["code"] == code, error
    assert words in error["message"] + error["fix"]


def test_a_job_must_leave_its_threads_open_and_be_a_time_migration(run, tmp_path):
    job = MadeTraces(2, 3, 50)
    job.write(tmp_path)
    fixed = tmp_path / "fixed.toml"
    fixed.write_text((tmp_path / "measure.toml").read_text() + "[parallel]\nthreads = 2\n")
    other = tmp_path / "other.toml"
    other.write_text('[data]\nfiles = ["traces.sgy"]\n[model]\nvp = "vp.rsf"\n[source]\nf0 = 20\n')
    for path, words in ((fixed, "threads = 2"), (other, "its method is rtm")):
        left, out, _ = run("--json", "--job", path)
        error = json.loads(out)["error"]
        assert (left, error["code"]) == (2, "E128")
        assert words in error["message"]


def request(**given: object) -> ScalingRequest:
    usual = {"command": [], "ranks": ["1"], "threads": ["1"], "grid": None, "medium": "vti", "steps": None}
    usual |= dict.fromkeys(("weak", "whole", "cached", "pin", "hyperthreads"), False)
    usual |= dict.fromkeys(("shots", "directory", "against", "launcher", "time_from"))
    return ScalingRequest(**{**usual, "ranks_per_shot": "auto", "repeats": 1, "timeout": 9.0, **given})


def test_the_build_in_use_stands_beside_the_oldest(monkeypatch):
    monkeypatch.delenv("SUBSALT_ISA", raising=False)
    builds = request(method="kirchhoff").time_migrations().builds
    assert builds[-1] == "v2"
    assert len(builds) == len(set(builds)) <= 2
    assert request(method="kirchhoff", builds=["v2"]).time_migrations().builds == ["v2"]


def test_the_figures_of_known_phases(tmp_path):
    def answer(settings, case):
        k, slower = case.layout.cores, 2.0 if case.build == "v2" else 1.0
        phases = {
            "check": 0.5,
            "trace input": 0.25,
            "prepare": 1.0 / k,
            "sum": slower * 6.0 / k,
            "output": 0.125,
        }
        # an eighth of a second goes by before the first phase
        total = 0.125 + sum(phases.values())
        assert (case.key["grid"], case.key["traces_in"]) == ("2 x 6 x 50", 48)
        assert {f.name for f in case.files} == {"traces.sgy"}
        return MigrationResult(total, phases | {"wall": total - 0.125}, 6_000, case.build, 100)

    settings = Settings(LAYOUTS, (2, 6, 50), builds=("v4", "v2"), repeats=3, directory=tmp_path)
    result = migrations.measure(settings, run=answer)
    rows = result.rows
    assert [r["total"] for r in rows] == [8.0, 4.5, 4.5]
    assert [r["total_b"] for r in rows] == [14.0, 7.5, 7.5]
    assert [r["build_gain"] for r in rows] == pytest.approx([1.75, 7.5 / 4.5, 7.5 / 4.5])
    assert [r["kernel_gain"] for r in rows] == [2.0] * 3
    assert [(r["init"], r["traces"], r["image"]) for r in rows] == [(0.625, 0.25, 0.125)] * 3
    assert [r["prepare"] for r in rows] == [1.0, 0.5, 0.5]
    assert [r["kernel_speed_up"] for r in rows] == [1.0, 2.0, 2.0]
    assert [r["rate_per_core"] for r in rows] == [1000.0] * 3
    assert [r["traces_in"] for r in rows] == [48] * 3
    assert rows[2]["against_fewest_ranks"] == 1.0
    assert "build for v4; B is the build for v2" in result.notes
    text = scaling_tables.table(rows, scaling_tables.TIME_MIGRATION, "text")
    assert "sum B/A" in text
    assert scaling_tables.title(result).startswith(
        "strong scaling of time migrations: 2 x 6 bins of 50 samples"
    )
    # nothing stays behind
    assert not list(tmp_path.iterdir())


def test_builds_may_differ_and_layouts_may_not(tmp_path):
    def answer(wrong, settings, case):
        bits = "other" if case.layout.ranks == 2 and case.build == wrong else "same"
        return MigrationResult(1.0, {"wall": 1.0, "sum": 0.5}, 10, bits + case.build)

    settings = Settings(LAYOUTS, (2, 3, 50), builds=("v4", "v2"), repeats=1, directory=tmp_path)
    migrations.measure(settings, run=partial(answer, "none"))
    for wrong in ("v4", "v2"):
        with pytest.raises(Exception, match="2 different results on 2 x 3 x 50 points") as caught:
            migrations.measure(settings, run=partial(answer, wrong))
        assert caught.value.code == "E710"


def test_a_job_of_ones_own_stands_in_the_title_and_nothing_is_made(tmp_path):
    seen = []

    def answer(settings, case):
        seen.append((case.job, case.files, case.key["grid"]))
        return MigrationResult(1.0, {"wall": 1.0, "sum": 0.5}, 10, "same")

    given = GivenJob(Path("/data/line.toml"), "line", (Path("/data/line.sgy"),))
    settings = Settings(LAYOUTS[:1], job=given, repeats=1, directory=tmp_path)
    result = migrations.measure(settings, run=answer)
    assert seen == [(given.path, given.files, "")]
    assert scaling_tables.title(result) == "strong scaling of time migrations: line"


def test_weak_scaling_gives_every_rank_its_crosslines():
    settings = Settings(LAYOUTS, (2, 6, 50), weak=True)
    assert [settings.survey_of(x).crosslines for x in LAYOUTS] == [6, 6, 12]


def test_made_traces_fill_every_bin_of_the_output(tmp_path):
    made = MadeTraces(3, 5, 60, 2)
    (path,) = made.write(tmp_path)
    table = open_traces([path])
    assert len(table.number) == made.traces == 30
    assert sorted(set(table.offset.tolist())) == [250.0, 650.0]
    middle = table.midpoint
    assert {tuple(m) for m in middle.tolist()} == {(15.0 * j, 15.0 * i) for i in range(3) for j in range(5)}
    assert path.stat().st_size <= made.bytes_needed


@pytest.mark.slow
def test_a_time_migration_for_real(run, tmp_path):
    options = (
        "--method",
        "kirchhoff",
        "--ranks",
        "1",
        "--threads",
        "1",
        "--grid",
        "2,12,80",
        "--repeats",
        "1",
    )
    code, out, err = run(*options, "--directory", tmp_path, "--json")
    assert code == 0, err
    (row,) = json.loads(out)["rows"]
    assert 0 < row["kernel"] < row["total"]
    assert row["rate"] == pytest.approx(row["contributions"] / row["kernel"])
    assert 0 < row["contributions"] <= 96 * 24 * 80
    assert row["total_b"] > 0
    assert row["init"] > 0
    assert not list(tmp_path.iterdir())
