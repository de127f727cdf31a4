"""`subsalt plan --nodes`: a table that says it is a model, and what it is off where something was measured."""

import json

import pytest
from plan_cases import CORES, needs, shot_row

import kirchhoff_jobs
from job_files import MIGRATE, OWN_GRID, survey, write_files, write_job
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.kernels import cpu
from subsalt.machine import machine_file as machines
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.duration import prediction_of
from subsalt.methods.rtm.grouping import decide
from subsalt.plan import World
from subsalt.plan.cuts import exchange_of
from subsalt.plan.model import Network, Surroundings
from subsalt.plan.network import Link


@pytest.fixture(autouse=True)
def _whole_grids():
    # shots that reach more of their grid than others would take longer
    with cpu.forced(front=False):
        yield


@pytest.fixture
def folder(tmp_path):
    write_files(tmp_path, survey(6))
    write_job(tmp_path, MIGRATE + OWN_GRID)
    sections = {"shots": [shot_row(81 * 51)]}
    facts = {"cpu": "made up", "system": "Linux", "cores": CORES, "ram_bytes": 10**10}
    (tmp_path / "machine.json").write_text(json.dumps(Machine(facts, sections).to_dict()))
    return tmp_path


def plan(capsys, folder, *args, job="line.toml"):
    words = ["plan", str(folder / job), "--machine", str(folder / "machine.json"), *map(str, args)]
    code = guard.run(app, words)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_table_is_a_model_with_its_assumptions(folder, capsys):
    code, out, err = plan(capsys, folder, "--nodes", "1,2,6,100", "--network", "10GB/s,1us", "--json")
    assert code == 0
    result = json.loads(out.splitlines()[-1])
    assert result["kind"] == "model"
    assert err.startswith("MODEL, no measurement")
    rows = {r["nodes"]: r for r in result["rows"]}
    # as many groups as there are shots to do side by side; then ranks share them
    assert [rows[n]["groups"] for n in (1, 2, 6)] == [1, 2, 6]
    assert rows[100]["per_shot"] > 1
    # no slab is thinner than its halo: 6 shots cannot keep 100 ranks busy
    idle = 100 - 6 * rows[100]["per_shot"]
    assert rows[100]["lost"] == pytest.approx(idle / 100)
    # even shares of alike shots: the kernel takes half as long on twice as many
    assert rows[2]["kernel"] == pytest.approx(rows[1]["kernel"] / 2)
    assert rows[6]["kernel"] == pytest.approx(rows[1]["kernel"] / 6)
    kernels = [r["kernel"] for r in result["rows"]]
    assert kernels == sorted(kernels, reverse=True)
    for r in result["rows"]:
        parts = sum(r[k] for k in ("kernel", "halo", "checkpoint", "io", "image_sum", "rest"))
        assert r["wall"] == pytest.approx(parts)
        assert r["efficiency"] == pytest.approx(rows[1]["wall"] / (r["wall"] * r["nodes"]))
    # a line has no rows along y to cut; the step on all ranks takes less the more there are
    steps = result["steps"]
    assert [(r["nodes"], r["cut"]) for r in steps][:3] == [
        (1, "slabs 1 x 1"),
        (2, "slabs 2 x 1"),
        (6, "slabs 6 x 1"),
    ]
    assert [r["ranks"] <= r["nodes"] for r in steps] == [True] * 4
    assert [r["step"] for r in steps] == sorted((r["step"] for r in steps), reverse=True)
    assert "one time step of the largest shot" in err
    said = "\n".join(result["assumptions"])
    for what in (
        "time steps: the largest shot on all ranks at once",
        "1 M point-steps/s",
        "2026-11-22",
        "10 GB/s (given)",
        "70% of its memory",
        "--files",
    ):
        assert what in said
    assert "error on measured points: not known" in err


def test_without_a_network_the_halo_is_not_known(folder, capsys):
    code, out, err = plan(capsys, folder, "--nodes", "100", "--json")
    assert code == 0
    row = json.loads(out.splitlines()[-1])["rows"][0]
    assert row["halo"] is None
    assert row["wall"] > 0
    assert "measure with subsalt lab network" in err


def test_a_file_system_that_all_share_limits_them(folder, capsys):
    rows = []
    for files in ("1e9", "1e-6"):
        _, out, _ = plan(capsys, folder, "--nodes", "6", "--files", files, "--json")
        rows.append(json.loads(out.splitlines()[-1])["rows"][0])
    assert rows[1]["io"] > 10 * rows[0]["io"]
    assert rows[1]["image_sum"] > 10 * rows[0]["image_sum"]
    assert rows[1]["kernel"] == pytest.approx(rows[0]["kernel"], rel=1e-12)


def test_without_a_rate_there_is_no_time(folder, capsys):
    (folder / "machine.json").write_text(json.dumps(Machine({"cores": 2, "ram_bytes": 10**10}, {}).to_dict()))
    code, out, _ = plan(capsys, folder, "--nodes", "1,2")
    assert code == 0
    assert "subsalt lab kernels" in out
    assert " wall s" not in out


def test_a_survey_that_does_not_fit_says_so_in_its_row(folder, capsys):
    code, out, _ = plan(capsys, folder, "--nodes", "1,2", "--memory-per-rank", "10MB", "--json")
    assert code == 0
    rows = json.loads(out.splitlines()[-1])["rows"]
    assert all("needs" in r["problem"] for r in rows)
    assert all(r["wall"] is None for r in rows)


@pytest.mark.parametrize(
    ("args", "code", "named"),
    [
        (("--nodes", "0"), 78, "E971"),
        (("--nodes", "many"), 78, "E971"),
        (("--nodes", "2.5"), 78, "E971"),
        (("--nodes", ""), 78, "E971"),
        (("--nodes", "2", "--ranks-per-node", "0"), 78, "E125"),
        (("--nodes", "2", "--ranks-per-node", "5"), 78, "E971"),
        (("--nodes", "2", "--network", "quick"), 78, "E970"),
        (("--nodes", "2", "--files", "-1"), 78, "E970"),
        (("--network", "10"), 78, "E971"),
        (("--nodes", "2", "--ranks", "4"), 78, "E971"),
        (("--nodes", "2", "--measured", "nothing.json"), 66, "E110"),
        (("--nodes", "2", "--memory-per-rank", "much"), 78, "E662"),
    ],
)
def test_wrong_input_is_named(folder, capsys, args, code, named):
    got, _, err = plan(capsys, folder, *args)
    assert (got, named in err) == (code, True)
    assert "fix:" in err


def test_the_error_on_measured_points_stands_below(folder, capsys):
    run = folder / "line.run"
    run.mkdir()
    content = {
        "predicted": {"phases": {"start": 9.0, "source": 2.0, "receivers": 2.0, "output": 1.0}},
        "phases": {"source": 1.0, "receivers": 1.2, "output": 1.0, "unexplained": 0.1, "wall": 3.3},
        "parallel": {"ranks": 1},
    }
    (run / "run.json").write_text(json.dumps(content))
    # the run of the job itself is found; its start lies outside of the clock of a run
    code, out, _ = plan(capsys, folder, "--nodes", "2", "--json")
    assert code == 0
    (point,) = json.loads(out.splitlines()[-1])["measured"]
    assert point["ratio"] == pytest.approx(5.0 / 3.3)
    # at its own rate the source takes 1 s, and the receivers were expected to take as long
    assert point["rescaled_ratio"] == pytest.approx(3.0 / 3.3)
    code, out, _ = plan(capsys, folder, "--nodes", "2", "--measured", run)
    assert "error on measured points: 9% at most" in out


@pytest.mark.parametrize(
    "text", ["nonsense", "[1]", "{}", '{"phases": {"wall": 1}, "parallel": {"ranks": 1}}']
)
def test_a_file_that_holds_nothing_measured_is_refused(folder, capsys, text):
    (folder / "other.json").write_text(text)
    code, _, err = plan(capsys, folder, "--nodes", "2", "--measured", folder / "other.json")
    assert (code, "E972" in err) == (65, True)


def test_a_table_of_layouts_is_held_against_the_model(folder, capsys):
    row = {"threads": 1, "grid": "10 x 8 x 8", "point_steps": 6400, "marks": ""}
    rows = [
        row | {"ranks": 1, "cores": 1, "time": 10.0},
        row | {"ranks": 3, "cores": 3, "time": 5.0},
        row | {"ranks": 8, "cores": 2, "time": 99.0, "marks": "oversubscribed"},
    ]
    result = {
        "schema": "subsalt-lab-1",
        "measurement": "scaling",
        "settings": {"what": "kernel"},
        "rows": rows,
    }
    (folder / "scaling.json").write_text(json.dumps(result))
    code, out, _ = plan(capsys, folder, "--nodes", "2", "--measured", folder / "scaling.json", "--json")
    assert code == 0
    printed = json.loads(out.splitlines()[-1])
    # four planes at most of ten
    assert [p["predicted_seconds"] for p in printed["measured"]] == [pytest.approx(4.0)]
    assert printed["largest_error"] == pytest.approx(0.2)


def test_blocks_of_a_time_migration_are_dealt_to_nodes(tmp_path, capsys, monkeypatch):
    kirchhoff_jobs.areal(tmp_path / "traces.sgy")
    kirchhoff_jobs.write_job(tmp_path)
    kind = {
        "amplitude": "3d",
        "antialias": "bands",
        "bands": 4,
        "interpolation": "sinc",
        "eta": False,
        "gathers": False,
        "threads": 1,
        "samples": kirchhoff_jobs.NT,
        "contributions_per_s": 1e5,
        "prepared_samples_per_s": 1e7,
        "start_seconds": 0.5,
    }
    machine = Machine({"cores": 1, "ram_bytes": 10**10}, {"kirchhoff": [kind]})
    (tmp_path / "machine.json").write_text(json.dumps(machine.to_dict()))
    code, out, err = plan(capsys, tmp_path, "--nodes", "1,4,100000", "--json", job="survey.toml")
    assert code == 0
    result = json.loads(out.splitlines()[-1])
    one, four, many = result["rows"]
    assert one["kernel"] > four["kernel"] > 0.99 * one["kernel"] / 4
    # 120 locations: more ranks have nothing to do
    assert many["lost"] > 0.99
    assert many["kernel"] > 0
    assert "blocks of the image need nothing of each other" in err
    assert "per shot" not in err


def test_an_exchange_by_hand():
    requirements = needs()
    shot = requirements.shots[0]
    slabs = requirements.domain(shot, (0, 2)).slabs
    seen, nz = requirements.seen_from_above(shot)
    plane, cut = seen.ny * nz, requirements.domain(shot, (0, 2)).cut
    slow = exchange_of(seen, nz, cut, 1.0, Link(0.0, 1.0, "node", "given"), 1.0)
    ghost_planes = slabs[1].ghost_lo
    assert slow.seconds == pytest.approx(4 * plane * ghost_planes)
    assert slow.nbytes == 4 * plane * (slabs[0].ghost_hi + slabs[1].ghost_lo)
    # everything but the planes that travel hides it: of a step of 1 s of the thickest slab
    owned = [s.hi - s.lo for s in slabs]
    least = min((o - ghost_planes) / max(owned) for o in owned)
    assert slow.exposed == pytest.approx(slow.seconds - least)
    quick = exchange_of(seen, nz, cut, 1.0, Link(0.0, 1e12, "node", "given"), 1.0)
    assert quick.exposed == 0.0


def test_the_halo_is_counted_in_the_time_steps():
    requirements = needs()
    sections = {"shots": [shot_row(requirements.points, dim=3, threads=2)]}
    machine = machines.Machine({"cores": 2}, sections)
    decision = decide(requirements, World(2, 10**12, 1, 2, True), 2)
    bare = prediction_of(requirements, decision, machine)
    assert bare.halo is None
    assert any("subsalt lab network" in n for n in bare.notes)
    slow = Network({"node": Link(0.0, 1e3, "node", "given")})
    waits = prediction_of(requirements, decision, machine, around=Surroundings(slow))
    stepping = ("source", "receivers")
    assert waits.halo == pytest.approx(sum(waits.phases[p] - bare.phases[p] for p in stepping))
    assert waits.halo > 0
    # the same link as the lab writes it into machine.json
    row = {"what": "point_to_point", "where": "node", "a_s": 0.0, "bytes_per_s": 1e3}
    known = machines.Machine({"cores": 2}, sections | {"network": [row]})
    assert prediction_of(requirements, decision, known).halo == pytest.approx(waits.halo)
    # ranks of different nodes do not use what was measured on one
    apart = decide(requirements, World(2, 10**12, 2, 1, True), 2)
    assert prediction_of(requirements, apart, known).halo is None


def test_a_large_survey_is_planned_by_some_of_its_shots():
    from plan_cases import setup
    from plan_cases import survey as shots_of

    from subsalt.methods.rtm.need import Needs

    few, many = (Needs(setup(), shots_of(n).shots, 1) for n in (64, 640))
    machine = machines.Machine({"cores": 1}, {"shots": [shot_row(few.points, dim=3, threads=1)]})
    one = [prediction_of(n, decide(n, World(1, 10**12, 1, 1, True)), machine) for n in (few, many)]
    assert one[1].phases["receivers"] == pytest.approx(10 * one[0].phases["receivers"], rel=0.02)
